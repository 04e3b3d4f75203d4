/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests that change memory keys: registration, invalidation. */
#ifndef CONNECTX_UMR_H
#define CONNECTX_UMR_H

#include "qp.h"

/* A field of a key's context that a request changes if this bit of its mask is set. */
struct umr_field {
	u8 mask_bit;
	const char *name;
	u32 bit;
	u32 bits;
};

extern const struct umr_field umr_fields[];	/* ends with one without a name */

/* Execute a local work request. Return: CQE_OK or the reason of failure. */
enum cqe_syndrome umr_execute(struct qp *qp, const struct send_op *op);

/* Likewise for a raw WQE of an Ethernet send queue. */
enum cqe_syndrome umr_apply(struct device *dev, u32 pd, bool reserved_lkey, const u8 *wqe,
			    u32 bytes);

/*
 * A digest of everything in a request's list. Return: 0 if it has no list outside of itself, or
 * none that the adapter can read.
 */
u64 umr_list_digest(const struct qp *qp, const struct send_op *op);

#endif
