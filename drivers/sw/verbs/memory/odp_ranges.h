/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ranges of an implicit region, which is the whole address space of a process: they
 * are made where pages are asked for. There are so many and no more; the one that has not
 * been used for longest makes room, and its pages have to be asked for again.
 */
#ifndef RHCA_SW_VERBS_MEMORY_ODP_RANGES_H
#define RHCA_SW_VERBS_MEMORY_ODP_RANGES_H

#include <linux/xarray.h>

#include "sw/verbs/memory/odp_range.h"

/* Tables of 8 KiB, as those of ib_core, for each range */
#define RHCA_ODP_RANGE_SHIFT	21
#define RHCA_ODP_RANGE_BYTES	BIT_ULL(RHCA_ODP_RANGE_SHIFT)
/* So a region has pages of 1 GiB at a time, and some MiB of tables */
#define RHCA_ODP_MAX_RANGES	512

/**
 * struct rhca_odp_ranges - Ranges of an implicit region
 * @root: the process and its rights; NULL when there is no implicit region
 * @users: of the region
 * @ranges: by their address in RHCA_ODP_RANGE_BYTES; changed by one caller at a time,
 *	read by users of the region
 * @num: how many
 * @hand: from here on the next one to be dropped is looked for
 */
struct rhca_odp_ranges {
	struct ib_umem_odp *root;
	struct rhca_odp_users *users;
	struct xarray ranges;
	unsigned int num;
	unsigned long hand;
};

void rhca_odp_ranges_init(struct rhca_odp_ranges *all,
			  struct rhca_odp_users *users);
void rhca_odp_ranges_destroy(struct rhca_odp_ranges *all);
struct rhca_odp_range *rhca_odp_ranges_get(struct rhca_odp_ranges *all,
					   u64 user_addr);
struct page *rhca_odp_ranges_page(struct rhca_odp_ranges *all, u64 addr);

#endif
