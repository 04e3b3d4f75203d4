// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a process makes the kernel lock. RLIMIT_MEMLOCK bounds it as it does an adapter's
 * queues, which lie in pinned pages. The memory cgroup is charged by __GFP_ACCOUNT besides.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "sw/verbs/memory/charge.h"

/*
 * Name RLIMIT_MEMLOCK in the log if it was hit by @bytes more. Programs get a bare -ENOMEM and
 * show it as "Cannot allocate memory" on a machine with gigabytes free.
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
 * rhca_charge_take - Count memory as locked by the calling process
 * @charge: filled in
 * @ibdev: the device, for the log
 * @bytes: how much
 *
 * Return: 0, or -ENOMEM when it is more than RLIMIT_MEMLOCK and the process has
 * no CAP_IPC_LOCK.
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
 * rhca_charge_give - The memory is freed, by any process
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
