/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests that a driver writes into a send queue, printed field by field like a command, so that
 * both can be compared between drivers.
 */
#ifndef CONNECTX_TRACE_REQUEST_H
#define CONNECTX_TRACE_REQUEST_H

#include "qp.h"

/* A request that is not about a memory key: control, address, operands, memory. */
void trace_request(const struct qp *qp, const struct send_op *op);

/* Changes to a key by a request of user-mode memory registration. */
struct key_request {
	u8 flags;
	u32 octwords;		/* of its list */
	u64 offset;		/* of that in the key's, in octwords */
	u64 mask;		/* fields that it changes, MLX5_MKEY_MASK_* of the kernel */
	const u8 *context;	/* mkc, as in CREATE_MKEY */
};

/* Print such a request, as executed; the pages of its list may follow. */
void trace_key_request(const struct qp *qp, const struct send_op *op,
		       const struct key_request *request);

#endif
