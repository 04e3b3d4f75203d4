/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_RX_COMPLETER_H
#define RHCA_SW_RX_COMPLETER_H

#include "sw/qp/qp.h"
#include "sw/packet/parse.h"
#include "sw/tx/window.h"
#include "wire/psn.h"

/* The head request if its next response has this PSN. send.lock held */
static inline struct rhca_send_wqe *rhca_completer_awaits(struct rhca_sw_qp *qp, u32 psn)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_sq *sq = &qp->base.sq;
	struct rhca_send_wqe *wqe;

	if (sq->head == send->posted_end || psn != send->oldest_unacked_psn)
		return NULL;
	wqe = rhca_sq_wqe(sq, sq->head);
	return wqe->numbered &&
	       rhca_psn_between(psn, wqe->first_psn,
				wqe->last_psn) ? wqe : NULL;
}

/* Offset of a response in the data of its READ or ATOMIC WRITE */
static inline u32 rhca_completer_offset(const struct rhca_sw_qp *qp,
					const struct rhca_send_wqe *wqe, u32 psn)
{
	return qp->base.mtu_bytes * rhca_psn_diff(psn, wqe->first_psn);
}

/* Bytes the response must have */
static inline u32 rhca_completer_bytes(const struct rhca_sw_qp *qp,
				       const struct rhca_send_wqe *wqe, u32 psn)
{
	if (wqe->opcode == RHCA_WR_ATOMIC_WRITE)
		return 0;
	return min(wqe->length - rhca_completer_offset(qp, wqe, psn), qp->base.mtu_bytes);
}

/* Destination of the response's payload */
static inline struct rhca_span rhca_completer_span(struct rhca_sw_qp *qp,
						   const struct rhca_send_wqe *wqe,
						   const struct rhca_rx *rx)
{
	return rhca_send_span(qp, wqe, rhca_completer_offset(qp, wqe, rx->psn),
			      rx->payload_bytes);
}

void rhca_completer_receive(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			    struct rhca_batch *batch);

#endif
