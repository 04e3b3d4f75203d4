// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that a process has in memory now. The kernel removes a page (swap-out, copy on write after
 * fork(), unmap) through an MMU notifier, which drops the page here and then waits for those that
 * found it before: a region's users are counted.
 */
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rhca/compat.h>

#include "sw/verbs/memory/mem.h"
#include "sw/verbs/memory/odp_range.h"

static u64 index_of(const struct rhca_odp_range *range, u64 user_addr)
{
	return (user_addr - ib_umem_start(range->umem)) >> PAGE_SHIFT;
}

/* --- removal ----------------------------------------------------------------- */

/* False if there were none */
static bool forget_pages(struct rhca_odp_range *range, u64 start, u64 end)
{
	u64 i, last = index_of(range, end);
	bool any = false;

	lockdep_assert_held(&range->umem->umem_mutex);
	for (i = index_of(range, start); i < last; i++) {
		if (!range->pages[i])
			continue;
		WRITE_ONCE(range->pages[i], NULL);
		any = true;
	}
	return any;
}

/* A region deregistered during a fault has no users */
static void wait_for_users(struct rhca_odp_users *users)
{
	down_read(&users->lock);
	if (users->mem)
		rhca_mem_wait_past_users(users->mem);
	up_read(&users->lock);
}

static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *gone,
		       unsigned long seq)
{
	struct ib_umem_odp *umem = container_of(notifier, struct ib_umem_odp,
						notifier);
	/* NULL during creation: there are no pages yet */
	struct rhca_odp_range *range = READ_ONCE(umem->private);
	u64 start, end;

	if (!mmu_notifier_range_blockable(gone))
		return false;
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, seq);
	start = max_t(u64, ib_umem_start(umem), gone->start);
	end = min_t(u64, ib_umem_end(umem), gone->end);
	if (range && forget_pages(range, start, end)) {
		wait_for_users(range->users);
		ib_umem_odp_unmap_dma_pages(umem, start, end);
	}
	mutex_unlock(&umem->umem_mutex);
	return true;
}

const struct mmu_interval_notifier_ops rhca_odp_notifier_ops = {
	.invalidate = invalidate,
};

/* --- faults ------------------------------------------------------------------ */

/*
 * Mark writable pages dirty now: the later writes are invisible to the kernel, which removes a page
 * from here before cleaning it.
 */
static void take_page(struct rhca_odp_range *range, u64 index, struct page *page)
{
	lockdep_assert_held(&range->umem->umem_mutex);
	if (range->umem->umem.writable)
		set_page_dirty(compound_head(page));
	WRITE_ONCE(range->pages[index], page);
}

/*
 * Devices may access secret memory, memfd_secret(2), and ib_core lets them; but the kernel has no
 * mapping of it, and an access from a softirq would be its end.
 */
static bool is_accessible(struct page *page)
{
	u8 byte;

	return !copy_from_kernel_nofault(&byte, page_address(page), sizeof(byte));
}

/* For ib_core, too, it is not there: see invalidate() */
static int refuse_page(struct ib_umem_odp *umem, u64 index)
{
	u64 at = ib_umem_start(umem) + (index << PAGE_SHIFT);

	ib_umem_odp_unmap_dma_pages(umem, at, at + PAGE_SIZE);
	return -EFAULT;
}

/*
 * ib_core would wait for a page with mmap_lock held, which blocks mmap() and exit of the process,
 * and khugepaged, which serves all. So wait for pages first, without the lock. They may be removed
 * again meanwhile, but seldom are.
 */
static int wait_for_pages(struct ib_umem_odp *umem, u64 user_addr, u64 bytes)
{
	unsigned int flags = FAULT_FLAG_REMOTE;
	struct mm_struct *mm = umem->umem.owning_mm;
	u64 at = ALIGN_DOWN(user_addr, PAGE_SIZE);
	bool unlocked;
	int ret = 0;

	if (umem->umem.writable)
		flags |= FAULT_FLAG_WRITE;
	if (!mmget_not_zero(mm))
		return -EINVAL;
	mmap_read_lock(mm);
	for (; at < user_addr + bytes && !ret; at += PAGE_SIZE) {
		ret = fixup_user_fault(mm, at, flags, &unlocked);
		cond_resched();
	}
	mmap_read_unlock(mm);
	mmput(mm);
	return ret;
}

/*
 * Fault in the process's pages and record them. @bytes: all within @range. May sleep; one caller at
 * a time. Returns 0; -EFAULT if the process has no memory there, or no writable memory, or only
 * memory that is secret; -EBUSY if the mapping kept changing; other errors of ib_core.
 */
int rhca_odp_range_fault_in(struct rhca_odp_range *range, u64 user_addr,
			    u64 bytes)
{
	struct ib_umem_odp *umem = range->umem;
	u64 i, last = index_of(range, user_addr + bytes - 1);
	struct page *page;
	unsigned long pfn;
	int ret;

	ret = wait_for_pages(umem, user_addr, bytes);
	if (ret)
		return ret;
	ret = ib_umem_odp_map_dma_and_lock(umem, user_addr, bytes,
					   rhca_odp_access(umem->umem.writable),
					   true);
	if (ret < 0)
		return ret;
	ret = 0;
	for (i = index_of(range, user_addr); i <= last; i++) {
		pfn = rhca_odp_pfns(umem)[i];
		if (!(pfn & HMM_PFN_VALID))
			continue;
		page = hmm_pfn_to_page(pfn);
		if (is_accessible(page))
			take_page(range, i, page);
		else
			ret = refuse_page(umem, i);
	}
	mutex_unlock(&umem->umem_mutex);
	return ret;
}

/* --- life cycle -------------------------------------------------------------- */

/*
 * Create a range without pages. @umem: of ib_core, with rhca_odp_notifier_ops; owned by the range
 * from now on, and released on error; may be ib_core's error pointer.
 */
struct rhca_odp_range *rhca_odp_range_create(struct rhca_odp_users *users,
					     struct ib_umem_odp *umem)
{
	struct rhca_odp_range *range;

	if (IS_ERR(umem))
		return ERR_CAST(umem);
	range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);
	if (range)
		range->pages = kvcalloc(ib_umem_odp_num_pages(umem),
					sizeof(*range->pages), GFP_KERNEL_ACCOUNT);
	if (!range || !range->pages) {
		kfree(range);
		ib_umem_odp_release(umem);
		return ERR_PTR(-ENOMEM);
	}
	range->users = users;
	range->umem = umem;
	/* The notifier uses it from now on */
	smp_store_release(&umem->private, range);
	return range;
}

/*
 * @range: of a deregistered region, or no longer reachable for users; or NULL. May sleep, and waits
 * for users of the region that found it before.
 */
void rhca_odp_range_destroy(struct rhca_odp_range *range)
{
	if (!range)
		return;
	wait_for_users(range->users);
	ib_umem_odp_release(range->umem);
	kvfree(range->pages);
	kfree(range);
}

/* --- the ranges of an implicit region ------------------------------------------ */

/* The next range from @hand on, cyclic; there is at least one */
static struct rhca_odp_range *next_range(struct rhca_odp_ranges *all)
{
	struct rhca_odp_range *range;

	range = xa_find(&all->ranges, &all->hand, ULONG_MAX, XA_PRESENT);
	if (range)
		return range;
	all->hand = 0;
	return xa_find(&all->ranges, &all->hand, ULONG_MAX, XA_PRESENT);
}

/*
 * Ranges used since the last scan get a second chance; if all are in use all the time, drop one
 * nevertheless.
 */
static void drop_range(struct rhca_odp_ranges *all)
{
	struct rhca_odp_range *range = next_range(all);
	unsigned int chances;

	for (chances = RHCA_ODP_MAX_RANGES; chances && READ_ONCE(range->used);
	     chances--) {
		WRITE_ONCE(range->used, false);
		all->hand++;
		range = next_range(all);
	}
	xa_erase(&all->ranges, all->hand);
	all->num--;
	rhca_odp_range_destroy(range);
}

static struct rhca_odp_range *make_range(struct rhca_odp_ranges *all,
					 unsigned long index)
{
	struct rhca_odp_range *range;
	int ret;

	range = rhca_odp_range_create(all->users,
				      ib_umem_odp_alloc_child(all->root,
							      index << RHCA_ODP_RANGE_SHIFT,
							      RHCA_ODP_RANGE_BYTES,
							      &rhca_odp_notifier_ops));
	if (IS_ERR(range))
		return range;
	range->used = true;
	ret = xa_err(xa_store(&all->ranges, index, range, GFP_KERNEL));
	if (ret) {
		rhca_odp_range_destroy(range);
		return ERR_PTR(ret);
	}
	all->num++;
	return range;
}

/*
 * Find or create the range of @user_addr, a process address. A peer may choose any; impossible ones
 * do not create a range. May sleep; one caller at a time. Returns the range, or an error.
 */
struct rhca_odp_range *rhca_odp_ranges_get(struct rhca_odp_ranges *all,
					   u64 user_addr)
{
	struct rhca_odp_range *range;

	if (user_addr >= all->root->umem.owning_mm->task_size)
		return ERR_PTR(-EFAULT);
	range = xa_load(&all->ranges, user_addr >> RHCA_ODP_RANGE_SHIFT);
	if (range)
		return range;
	if (all->num == RHCA_ODP_MAX_RANGES)
		drop_range(all);
	return make_range(all, user_addr >> RHCA_ODP_RANGE_SHIFT);
}

/*
 * Find a page of an implicit region in use. @addr: process address. Bottom halves off. Returns the
 * page, valid for the user of the region, or NULL if it is missing.
 */
struct page *rhca_odp_ranges_page(struct rhca_odp_ranges *all, u64 addr)
{
	struct rhca_odp_range *range = xa_load(&all->ranges,
					       addr >> RHCA_ODP_RANGE_SHIFT);

	if (!range)
		return NULL;
	if (!READ_ONCE(range->used))
		WRITE_ONCE(range->used, true);
	return READ_ONCE(range->pages[(addr & (RHCA_ODP_RANGE_BYTES - 1)) >>
				      PAGE_SHIFT]);
}

/* Context: may sleep; no concurrent lookups */
void rhca_odp_ranges_destroy(struct rhca_odp_ranges *all)
{
	struct rhca_odp_range *range;
	unsigned long index;

	xa_for_each(&all->ranges, index, range)
		rhca_odp_range_destroy(range);
	xa_destroy(&all->ranges);
	if (all->root)
		ib_umem_odp_release(all->root);
}
