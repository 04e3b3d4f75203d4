/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions: ib_core's objects over the memory that keys name. */
#ifndef RHCA_SW_VERBS_MEMORY_MR_H
#define RHCA_SW_VERBS_MEMORY_MR_H

#include <rdma/ib_verbs.h>

#include "sw/verbs/memory/mem.h"

/**
 * struct rhca_mapping - What ib_map_mr_sg() has listed for the next registration
 * @pages: as many as the region has room for
 * @num_pages: entries of @pages
 * @first_offset: of the first byte in the first page
 * @is_new: no registration has used it yet
 *
 * Users post the invalidation of a key and the next registration in one list, and
 * map before that: the old key works still, and so must the pages behind it.
 */
struct rhca_mapping {
	struct page **pages;
	u32 num_pages;
	u32 first_offset;
	bool is_new;
};

/**
 * struct rhca_mr - Memory region
 * @ibmr: ib_core's part
 * @mem: what keys find
 * @umem: pinned pages of a process, or NULL
 * @mapping: of a region that work requests register; its user's until then
 */
struct rhca_mr {
	struct ib_mr ibmr;
	struct rhca_mem mem;
	struct ib_umem *umem;
	struct rhca_mapping mapping;
};

static inline struct rhca_mr *to_rhca_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rhca_mr, ibmr);
}

extern const struct ib_device_ops rhca_mr_verbs;

#endif
