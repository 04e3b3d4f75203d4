/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_VERBS_MEMORY_SGE_H
#define RHCA_SW_VERBS_MEMORY_SGE_H

#include <linux/types.h>

/**
 * struct rhca_sge - Scatter/gather entry; the layout of struct rxe_sge
 * @addr: address in the region
 * @length: bytes
 * @lkey: the region's local key
 */
struct rhca_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

#endif
