/* SPDX-License-Identifier: GPL-2.0 */
/* Parsing of posted sends. Hostile input: every length is checked here. */
#ifndef CONNECTX_SEND_QUEUE_H
#define CONNECTX_SEND_QUEUE_H

#include "qp.h"

/**
 * send_op_parse - Parse one WQE
 * @op: op->wqe and op->wqe_bytes are set; the rest is filled in
 *
 * Return: false if it is malformed.
 */
bool send_op_parse(struct send_op *op, enum qp_service service);

/* Fetch requests posted according to the doorbell record. Return: false if that is invalid. */
bool send_queue_fetch(struct qp *qp);

/* Copy payload from the op's memory. */
enum mkey_fault send_op_gather(struct qp *qp, const struct send_op *op, u32 offset, u8 *to,
			       u32 bytes);
/* Does response data go into the completion, as there is one and it fits? */
bool send_op_in_completion(const struct qp *qp, const struct send_op *op);

/* Copy response data into it, or keep it for the completion. */
enum mkey_fault send_op_scatter(struct qp *qp, struct send_op *op, u32 offset,
				const u8 *from, u32 bytes);
bool send_op_is_read(const struct send_op *op);
bool send_op_is_atomic(const struct send_op *op);
bool send_op_is_local(const struct send_op *op);

#endif
