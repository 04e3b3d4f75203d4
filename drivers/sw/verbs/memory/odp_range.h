/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A range of a process's addresses, whose pages come and go: an explicit region with
 * on-demand paging has one, an implicit one has many.
 */
#ifndef RHCA_SW_VERBS_MEMORY_ODP_RANGE_H
#define RHCA_SW_VERBS_MEMORY_ODP_RANGE_H

#include <linux/mm_types.h>
#include <linux/mmu_notifier.h>
#include <linux/rwsem.h>
#include <rdma/ib_umem_odp.h>

struct rhca_mem;

/**
 * struct rhca_odp_users - Who may have found pages of a region
 * @lock: for writing, where @mem changes
 * @mem: the region; NULL when it has been deregistered: it has no users then
 */
struct rhca_odp_users {
	struct rw_semaphore lock;	/* protects: */
	const struct rhca_mem *mem;
};

/**
 * struct rhca_odp_range - Pages of a process that nobody has pinned
 * @users: of the region
 * @umem: ib_core's part: the process, the addresses, and their notifier
 * @pages: those that are there, the others NULL; written under umem_mutex, read by
 *	users of the region
 * @used: a user of the region has looked here of late
 */
struct rhca_odp_range {
	struct rhca_odp_users *users;
	struct ib_umem_odp *umem;
	struct page **pages;
	bool used;
};

extern const struct mmu_interval_notifier_ops rhca_odp_notifier_ops;

struct rhca_odp_range *rhca_odp_range_create(struct rhca_odp_users *users,
					     struct ib_umem_odp *umem);
void rhca_odp_range_destroy(struct rhca_odp_range *range);
int rhca_odp_range_bring_in(struct rhca_odp_range *range, u64 user_addr,
			    u64 bytes);

#endif
