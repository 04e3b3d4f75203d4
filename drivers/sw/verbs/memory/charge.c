// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that the kernel locks for a process. RLIMIT_MEMLOCK limits it as it does an adapter's
 * queues, which are in pinned pages. __GFP_ACCOUNT charges the memory cgroup as well.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "sw/verbs/memory/charge.h"

/*
 * Log if @bytes more exceed RLIMIT_MEMLOCK. Programs only get -ENOMEM and print "Cannot allocate
 * memory" on a machine with gigabytes free.
 */
void rhca_charge_explain(struct ib_device *ibdev, u64 bytes)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK);
	u64 pinned = current->mm ?
		(u64)atomic64_read(&current->mm->pinned_vm) << PAGE_SHIFT : 0;

	if (limit == RLIM_INFINITY || capable(CAP_IPC_LOCK) ||
	    pinned + bytes <= limit)
		return;
	ibdev_warn_ratelimited(ibdev,
			       "%s[%d] may lock %llu bytes of memory, has locked %llu and wants %llu more: raise its RLIMIT_MEMLOCK (ulimit -l, LimitMEMLOCK=, /etc/security/limits.d)\n",
			       current->comm, task_pid_nr(current), limit,
			       pinned, bytes);
}

/**
 * rhca_charge_take - Charge locked memory to the calling process
 * @charge: filled in
 * @ibdev: the device, for the log
 * @bytes: how much
 *
 * Return: 0, or -ENOMEM if it exceeds RLIMIT_MEMLOCK and the process lacks CAP_IPC_LOCK.
 */
int rhca_charge_take(struct rhca_charge *charge, struct ib_device *ibdev,
		     size_t bytes)
{
	unsigned long pages = PAGE_ALIGN(bytes) >> PAGE_SHIFT;
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;

	if (atomic64_add_return(pages, &mm->pinned_vm) > limit &&
	    !capable(CAP_IPC_LOCK)) {
		atomic64_sub(pages, &mm->pinned_vm);
		rhca_charge_explain(ibdev, bytes);
		return -ENOMEM;
	}
	mmgrab(mm);
	charge->mm = mm;
	charge->pages = pages;
	return 0;
}

/**
 * rhca_charge_give - Uncharge memory, from any process
 * @charge: from rhca_charge_take(), or zeroed
 */
void rhca_charge_give(struct rhca_charge *charge)
{
	if (!charge->mm)
		return;
	atomic64_sub(charge->pages, &charge->mm->pinned_vm);
	mmdrop(charge->mm);
	charge->mm = NULL;
}
