/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address ranges of a process, whose pages may change at any time. An explicit region with
 * on-demand paging has one. An implicit one, the whole address space, has them where pages are
 * requested. Their number is limited; the least recently used one is dropped, and its pages must be
 * faulted in again.
 */
#ifndef RHCA_SW_VERBS_MEMORY_ODP_RANGE_H
#define RHCA_SW_VERBS_MEMORY_ODP_RANGE_H

#include <linux/mm_types.h>
#include <linux/mmu_notifier.h>
#include <linux/rwsem.h>
#include <linux/xarray.h>
#include <rdma/ib_umem_odp.h>

struct rhca_mem;

/* Users that may have found pages of a region */
struct rhca_odp_users {
	struct rw_semaphore lock;	/* taken for writing to change @mem */
	const struct rhca_mem *mem;	/* NULL once deregistered, and so without users */
};

/* Unpinned pages of a process */
struct rhca_odp_range {
	struct rhca_odp_users *users;	/* of the region */
	struct ib_umem_odp *umem;	/* ib_core's: process, addresses, and their notifier */
	struct page **pages;		/* or NULL; written under umem_mutex, read by users */
	bool used;			/* accessed since the last scan */
};

/* Tables of 8 KiB per range with pages of 4 KiB, like those of ib_core */
#define RHCA_ODP_RANGE_SHIFT	21
#define RHCA_ODP_RANGE_BYTES	BIT_ULL(RHCA_ODP_RANGE_SHIFT)
/* Up to 1 GiB of pages per region at a time, and some MiB of tables */
#define RHCA_ODP_MAX_RANGES	512

/* Ranges of an implicit region */
struct rhca_odp_ranges {
	struct ib_umem_odp *root;	/* the process and its rights; NULL if not implicit */
	struct rhca_odp_users *users;	/* of the region */
	/* by address / RHCA_ODP_RANGE_BYTES; a single writer, read by users of the region */
	struct xarray ranges;
	unsigned int num;		/* how many */
	unsigned long hand;		/* where to look for the next one to drop */
};

extern const struct mmu_interval_notifier_ops rhca_odp_notifier_ops;

struct rhca_odp_range *rhca_odp_range_create(struct rhca_odp_users *users,
					     struct ib_umem_odp *umem);
void rhca_odp_range_destroy(struct rhca_odp_range *range);
int rhca_odp_range_fault_in(struct rhca_odp_range *range, u64 user_addr,
			    u64 bytes);

void rhca_odp_ranges_destroy(struct rhca_odp_ranges *all);
struct rhca_odp_range *rhca_odp_ranges_get(struct rhca_odp_ranges *all,
					   u64 user_addr);
struct page *rhca_odp_ranges_page(struct rhca_odp_ranges *all, u64 addr);

#endif
