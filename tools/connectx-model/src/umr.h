/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests that change memory keys: registration, invalidation. */
#ifndef CONNECTX_UMR_H
#define CONNECTX_UMR_H

#include "qp.h"

/* A field of a key's context that a request changes where this bit of its mask says so. */
struct umr_field {
	u8 mask_bit;
	const char *name;
	u32 bit;
	u32 bits;
};

extern const struct umr_field umr_fields[];	/* up to one without a name */

/* Execute a local work request. Return: CQE_OK or why it failed. */
enum cqe_syndrome umr_execute(struct qp *qp, const struct send_op *op);

/* The same for a raw WQE of an Ethernet send queue. */
enum cqe_syndrome umr_apply(struct device *dev, u32 pd, bool reserved_lkey, const u8 *wqe,
			    u32 bytes);

/*
 * A number that depends on all that a request's list has. Return: 0 where it has none outside
 * of itself, or none that the adapter can read.
 */
u64 umr_list_digest(const struct qp *qp, const struct send_op *op);

#endif
