/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions: ib_core's objects for the memory behind keys. */
#ifndef RHCA_SW_VERBS_MEMORY_MR_H
#define RHCA_SW_VERBS_MEMORY_MR_H

#include <rdma/ib_verbs.h>

#include "sw/verbs/memory/mem.h"

/*
 * Pages that ib_map_mr_sg() has listed for the next registration. Users may map before they post
 * the invalidation of the old key and the next registration in one list: the old key is still valid
 * then, and so must be its pages.
 */
struct rhca_mapping {
	unsigned long *pieces;	/* addresses; in use: @num_pieces */
	u32 max_pieces;		/* room there, and in the region's list */
	u32 num_pieces;
	u32 first_offset;	/* of the first byte in the first one */
	u8 piece_shift;		/* log2 of their bytes */
	bool is_new;		/* no registration has used it yet */
};

struct rhca_mr {
	struct ib_mr ibmr;	/* ib_core's part */
	struct rhca_mem mem;	/* what keys refer to */
	struct ib_umem *umem;	/* pinned pages of a process, or NULL */
	/* for fast registration; owned by the user until that is posted */
	struct rhca_mapping mapping;
};

static inline struct rhca_mr *to_rhca_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rhca_mr, ibmr);
}

extern const struct ib_device_ops rhca_mr_verbs;

#endif
