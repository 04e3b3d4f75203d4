// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that a process has in memory just now. The kernel takes a page away, to swap
 * it out, to copy it on a write after fork(), to unmap it, by an MMU notifier. That
 * forgets the page, and then waits for those who found it before: a region's users
 * are counted.
 */
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rhca/compat.h>

#include "sw/verbs/memory/mem.h"
#include "sw/verbs/memory/odp_range.h"

static u64 index_of(const struct rhca_odp_range *range, u64 user_addr)
{
	return (user_addr - ib_umem_start(range->umem)) >> PAGE_SHIFT;
}

/* --- taking away ------------------------------------------------------------- */

/* False when none of them was there */
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

/* A region that is deregistered while a page is being brought in has none any more */
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
	/* NULL while it is created: nothing has been brought in */
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

/* --- bringing in ------------------------------------------------------------- */

/*
 * What is going to be written is dirty from now on: nobody sees the writing. Before
 * the kernel cleans a page, it takes it away from here.
 */
static void take_page(struct rhca_odp_range *range, u64 index, struct page *page)
{
	lockdep_assert_held(&range->umem->umem_mutex);
	if (range->umem->umem.writable)
		set_page_dirty(compound_head(page));
	WRITE_ONCE(range->pages[index], page);
}

/*
 * ib_core waits for a page with the lock of the process's address space held, so that
 * the process could not map anything nor end, and khugepaged, which serves all, stood
 * behind it. So they are waited for before that, without the lock. A page may go again
 * meanwhile, but seldom does.
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
 * Have the process's pages in memory, and know them. @bytes: all of them in @range. May sleep;
 * one caller at a time. Returns 0; -EFAULT when the process has nothing there, or not for
 * writing; -EBUSY when it changed all the time; what else ib_core finds.
 */
int rhca_odp_range_bring_in(struct rhca_odp_range *range, u64 user_addr,
			    u64 bytes)
{
	struct ib_umem_odp *umem = range->umem;
	u64 i, last = index_of(range, user_addr + bytes - 1);
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
	for (i = index_of(range, user_addr); i <= last; i++) {
		pfn = rhca_odp_pfns(umem)[i];
		if (pfn & HMM_PFN_VALID)
			take_page(range, i, hmm_pfn_to_page(pfn));
	}
	mutex_unlock(&umem->umem_mutex);
	return 0;
}

/* --- its life ---------------------------------------------------------------- */

/*
 * Know the pages of some addresses. @umem: of ib_core, with rhca_odp_notifier_ops; the range's
 * from now on, and released after an error; or ib_core's error. Returns a range without pages.
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
	/* The notifier looks at it from now on */
	smp_store_release(&umem->private, range);
	return range;
}

/*
 * @range: of a region that has gone, or that no user finds any more; or NULL. May sleep, and
 * waits for users of the region that have found it before.
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

/* The next one from @hand on, round and round; there is one */
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
 * Who has been used since the last look gets a second chance; when all of them are in
 * use all the time, somebody has to go nevertheless.
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
 * Find or make the range that an address lies in. @user_addr: address of the process; a peer
 * may name any, and what no process can have makes no range. May sleep; one caller at a time.
 * Returns the range, or an error.
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
 * A page of an implicit region in use. @addr: address of the process. Bottom halves off. Returns
 * the page, the region's user may have it; NULL when it is not there.
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

/* Context: may sleep; nobody looks for a range any more */
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
