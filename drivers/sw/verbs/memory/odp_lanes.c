// SPDX-License-Identifier: GPL-2.0
/*
 * A workqueue per process for its page faults. A fault takes as long as a file system in user
 * space, another process (userfaultfd) or a server likes, and cannot be interrupted. So faults of
 * one process never wait for those of another, and only some of them run at the same time; the
 * others are queued, where they can be cancelled.
 */
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "sw/verbs/memory/odp_lanes.h"

/* Concurrent faults of a process on each NUMA node; one per region */
#define NUM_LANES	4

static DEFINE_HASHTABLE(all_lanes, 6);
static DEFINE_MUTEX(all_mutex);		/* protects all_lanes */
static struct workqueue_struct *end_wq;

static void end(struct work_struct *work)
{
	struct rhca_odp_lanes *lanes = container_of(work, struct rhca_odp_lanes, end);

	destroy_workqueue(lanes->wq);
	mmdrop(lanes->mm);
	kfree(lanes);
}

static struct rhca_odp_lanes *create(struct mm_struct *mm)
{
	struct rhca_odp_lanes *lanes = kzalloc(sizeof(*lanes), GFP_KERNEL_ACCOUNT);

	if (!lanes)
		return NULL;
	lanes->wq = alloc_workqueue("roce_hca_odp", WQ_UNBOUND, NUM_LANES);
	if (!lanes->wq) {
		kfree(lanes);
		return NULL;
	}
	mmgrab(mm);
	lanes->mm = mm;
	refcount_set(&lanes->refs, 1);
	INIT_WORK(&lanes->end, end);
	hash_add(all_lanes, &lanes->entry, (unsigned long)mm);
	return lanes;
}

static struct rhca_odp_lanes *get(struct mm_struct *mm)
{
	struct rhca_odp_lanes *lanes;

	lockdep_assert_held(&all_mutex);
	hash_for_each_possible(all_lanes, lanes, entry, (unsigned long)mm) {
		if (lanes->mm == mm) {
			refcount_inc(&lanes->refs);
			return lanes;
		}
	}
	return create(mm);
}

/* Get the lanes of the calling process, or NULL without memory */
struct rhca_odp_lanes *rhca_odp_lanes_get(void)
{
	struct rhca_odp_lanes *lanes;

	mutex_lock(&all_mutex);
	lanes = get(current->mm);
	mutex_unlock(&all_mutex);
	return lanes;
}

/* Drop a reference. May sleep; may be called by work in a lane. */
void rhca_odp_lanes_put(struct rhca_odp_lanes *lanes)
{
	if (!refcount_dec_and_mutex_lock(&lanes->refs, &all_mutex))
		return;
	hash_del(&lanes->entry);
	mutex_unlock(&all_mutex);
	queue_work(end_wq, &lanes->end);
}

/* Before the first region */
int rhca_odp_lanes_init(void)
{
	end_wq = alloc_workqueue("roce_hca_odp_end", WQ_UNBOUND, 0);
	return end_wq ? 0 : -ENOMEM;
}

/* After the last region: its lanes' last work may still be about to return */
void rhca_odp_lanes_exit(void)
{
	destroy_workqueue(end_wq);
}
