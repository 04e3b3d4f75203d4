// SPDX-License-Identifier: GPL-2.0
/* The ranges of an implicit region with on-demand paging. */
#include <linux/mm.h>
#include <rdma/ib_umem_odp.h>

#include "sw/verbs/memory/odp_ranges.h"

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
	struct ib_umem_odp *umem;
	int ret;

	umem = ib_umem_odp_alloc_child(all->root, index << RHCA_ODP_RANGE_SHIFT,
				       RHCA_ODP_RANGE_BYTES,
				       &rhca_odp_notifier_ops);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	range = rhca_odp_range_create(all->users, umem);
	if (!range) {
		ib_umem_odp_release(umem);
		return ERR_PTR(-ENOMEM);
	}
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
 * A page of an implicit region.
 * @all: the ranges, of a region in use
 * @addr: address of the process
 * Bottom halves off. Returns the page, the region's user may have it; NULL when it is not
 * there.
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

void rhca_odp_ranges_init(struct rhca_odp_ranges *all,
			  struct rhca_odp_users *users)
{
	xa_init(&all->ranges);
	all->users = users;
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
