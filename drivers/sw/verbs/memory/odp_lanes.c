// SPDX-License-Identifier: GPL-2.0
/*
 * Workqueues for the page faults of one process. Bringing a page in takes as long as a
 * file system in user space, another process (userfaultfd) or a server likes, and cannot
 * be interrupted. So each process has queues of its own, in which nothing of another
 * process ever stands, and only so many of its faults are under way at the same time; the
 * others wait in the queues, from where they can be taken back.
 */
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "sw/verbs/memory/odp_lanes.h"

/* Faults of a process at the same time: its regions are spread over so many lanes */
#define NUM_LANES	4

/* Lanes of a process */
struct rhca_odp_lanes {
	struct hlist_node entry;	/* in the table of all */
	struct mm_struct *mm;		/* the process */
	refcount_t refs;		/* regions */
	unsigned int next;		/* of the next region, modulo NUM_LANES; by all_mutex */
	struct work_struct end;		/* destroys them: work in one may drop the last reference */
	struct workqueue_struct *wq[NUM_LANES];	/* one fault at a time each */
};

static DEFINE_HASHTABLE(all_lanes, 6);
static DEFINE_MUTEX(all_mutex);		/* protects all_lanes */
static struct workqueue_struct *end_wq;

static void destroy(struct rhca_odp_lanes *lanes)
{
	int i;

	for (i = 0; i < NUM_LANES; i++)
		if (lanes->wq[i])
			destroy_workqueue(lanes->wq[i]);
	mmdrop(lanes->mm);
	kfree(lanes);
}

static void end(struct work_struct *work)
{
	destroy(container_of(work, struct rhca_odp_lanes, end));
}

static struct rhca_odp_lanes *create(struct mm_struct *mm)
{
	struct rhca_odp_lanes *lanes = kzalloc(sizeof(*lanes),
					       GFP_KERNEL_ACCOUNT);
	int i;

	if (!lanes)
		return NULL;
	mmgrab(mm);
	lanes->mm = mm;
	refcount_set(&lanes->refs, 1);
	INIT_WORK(&lanes->end, end);
	for (i = 0; i < NUM_LANES; i++) {
		lanes->wq[i] = alloc_ordered_workqueue("roce_hca_odp", 0);
		if (!lanes->wq[i]) {
			destroy(lanes);
			return NULL;
		}
	}
	return lanes;
}

static struct rhca_odp_lanes *find(const struct mm_struct *mm)
{
	struct rhca_odp_lanes *lanes;

	lockdep_assert_held(&all_mutex);
	hash_for_each_possible(all_lanes, lanes, entry, (unsigned long)mm)
		if (lanes->mm == mm)
			return lanes;
	return NULL;
}

/*
 * The lanes of the calling process. @lane: that of one more region, which does one thing at a
 * time. Returns lanes with a reference, or NULL without memory.
 */
struct rhca_odp_lanes *rhca_odp_lanes_get(struct workqueue_struct **lane)
{
	struct rhca_odp_lanes *lanes;

	mutex_lock(&all_mutex);
	lanes = find(current->mm);
	if (lanes) {
		refcount_inc(&lanes->refs);
	} else {
		lanes = create(current->mm);
		if (lanes)
			hash_add(all_lanes, &lanes->entry,
				 (unsigned long)lanes->mm);
	}
	if (lanes)
		*lane = lanes->wq[lanes->next++ % NUM_LANES];
	mutex_unlock(&all_mutex);
	return lanes;
}

/* Drop a reference. May sleep; also from work in one of the lanes. */
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

/* Behind the last region: the last work of its lanes may still be about to return */
void rhca_odp_lanes_exit(void)
{
	destroy_workqueue(end_wq);
}
