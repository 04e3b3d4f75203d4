/* SPDX-License-Identifier: GPL-2.0 */
/* Checks on requests, and their results. */
#ifndef RHCA_SW_RX_CHECK_H
#define RHCA_SW_RX_CHECK_H

struct rhca_rx;
struct rhca_sw_qp;

/* Result of the checks of a request */
enum rhca_request_status {
	RHCA_PASS,		/* continue with the next check */
	RHCA_DUPLICATE,		/* already executed */
	RHCA_PSN_GAP,		/* earlier packets are missing */
	RHCA_DROP,		/* ignore it */
	RHCA_NO_BUFFER,		/* no receive request is posted */
	RHCA_PAGE_FAULT,	/* a page that it needs is being faulted in */
	RHCA_NOT_READY,		/* an earlier request takes long: not now */
	RHCA_BAD_REQUEST,	/* it breaks the protocol */
	RHCA_BAD_LENGTH,	/* it is longer than its destination */
	RHCA_BAD_KEY,		/* the key does not allow it */
	RHCA_BAD_OPERATION,	/* the QP does not allow it */
	RHCA_LOCAL_FAULT,	/* our own receive request is unusable */
	RHCA_NUM_REQUEST_STATUSES,
};

enum rhca_request_status rhca_request_check(struct rhca_sw_qp *qp,
					    const struct rhca_rx *rx);

#endif
