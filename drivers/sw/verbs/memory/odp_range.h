/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranges of a process's addresses, whose pages come and go. An explicit region with on-demand
 * paging has one. An implicit one, which is the whole address space, has them where pages are
 * asked for. There are so many and no more; the one that has not been used for longest makes
 * room, and its pages have to be asked for again.
 */
#ifndef RHCA_SW_VERBS_MEMORY_ODP_RANGE_H
#define RHCA_SW_VERBS_MEMORY_ODP_RANGE_H

#include <linux/mm_types.h>
#include <linux/mmu_notifier.h>
#include <linux/rwsem.h>
#include <linux/xarray.h>
#include <rdma/ib_umem_odp.h>

struct rhca_mem;

/* Who may have found pages of a region */
struct rhca_odp_users {
	struct rw_semaphore lock;	/* for writing, where @mem changes */
	const struct rhca_mem *mem;	/* NULL when it is deregistered: it has no users then */
};

/* Pages of a process that nobody has pinned */
struct rhca_odp_range {
	struct rhca_odp_users *users;	/* of the region */
	struct ib_umem_odp *umem;	/* ib_core's: process, addresses, and their notifier */
	struct page **pages;		/* or NULL; written under umem_mutex, read by users */
	bool used;			/* a user of the region has looked here of late */
};

/* Tables of 8 KiB, as those of ib_core, for each range */
#define RHCA_ODP_RANGE_SHIFT	21
#define RHCA_ODP_RANGE_BYTES	BIT_ULL(RHCA_ODP_RANGE_SHIFT)
/* So a region has pages of 1 GiB at a time, and some MiB of tables */
#define RHCA_ODP_MAX_RANGES	512

/* Ranges of an implicit region */
struct rhca_odp_ranges {
	struct ib_umem_odp *root;	/* the process and its rights; NULL: none is implicit */
	struct rhca_odp_users *users;	/* of the region */
	/* by their address in RHCA_ODP_RANGE_BYTES; one changes it, users of the region read */
	struct xarray ranges;
	unsigned int num;		/* how many */
	unsigned long hand;		/* the next one to be dropped is looked for from here on */
};

extern const struct mmu_interval_notifier_ops rhca_odp_notifier_ops;

struct rhca_odp_range *rhca_odp_range_create(struct rhca_odp_users *users,
					     struct ib_umem_odp *umem);
void rhca_odp_range_destroy(struct rhca_odp_range *range);
int rhca_odp_range_bring_in(struct rhca_odp_range *range, u64 user_addr,
			    u64 bytes);

void rhca_odp_ranges_destroy(struct rhca_odp_ranges *all);
struct rhca_odp_range *rhca_odp_ranges_get(struct rhca_odp_ranges *all,
					   u64 user_addr);
struct page *rhca_odp_ranges_page(struct rhca_odp_ranges *all, u64 addr);

#endif
