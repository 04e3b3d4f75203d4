/* SPDX-License-Identifier: GPL-2.0 */
/* Checks on requests, and what they can say. */
#ifndef RHCA_SW_RX_CHECK_H
#define RHCA_SW_RX_CHECK_H

struct rhca_rx;
struct rhca_sw_qp;

/* Result of the checks of a request */
enum rhca_request_status {
	RHCA_PASS,		/* go on with the next check */
	RHCA_DUPLICATE,		/* it has been executed before */
	RHCA_PSN_GAP,		/* packets before it are missing */
	RHCA_DROP,		/* ignore it */
	RHCA_NO_BUFFER,		/* no receive request is posted */
	RHCA_PAGE_FAULT,	/* memory that it needs is being brought in */
	RHCA_NOT_READY,		/* something before it takes long: not now */
	RHCA_BAD_REQUEST,	/* it breaks the protocol */
	RHCA_BAD_LENGTH,	/* it is longer than what it goes to */
	RHCA_BAD_KEY,		/* the key does not allow it */
	RHCA_BAD_OPERATION,	/* the QP does not allow it */
	RHCA_LOCAL_FAULT,	/* our own receive request is not usable */
	RHCA_NUM_REQUEST_STATUSES,
};

enum rhca_request_status rhca_request_check(struct rhca_sw_qp *qp,
					    const struct rhca_rx *rx);

#endif
