/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_RX_RESPONDER_H
#define RHCA_SW_RX_RESPONDER_H

#include "sw/rx/check.h"
#include "sw/qp/qp.h"
#include "sw/packet/parse.h"

/* What RC does about a request that fails a check */
struct rhca_nak_action {
	bool answers;			/* a NAK or RNR NAK is sent */
	enum rhca_syndrome_type type;	/* type of its syndrome */
	enum rhca_nak nak;		/* NAK code */
	bool fatal;			/* the QP moves to ERR */
	/* status of the receive request, when @fatal and one was taken */
	enum ib_wc_status wc;
	enum ib_event_type event;	/* asynchronous event, when @fatal */
};

extern const struct rhca_nak_action rhca_nak_actions[RHCA_NUM_REQUEST_STATUSES];

void rhca_responder_take(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			 struct rhca_batch *batch);
void rhca_responder_waited(struct rhca_sw_qp *qp);
void rhca_responder_reset(struct rhca_sw_qp *qp);
void rhca_responder_fail(struct rhca_sw_qp *qp, struct rhca_batch *batch);
bool rhca_responder_invalidate(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_responder_move_to_error(struct rhca_sw_qp *qp,
				  enum ib_event_type event,
				  struct rhca_batch *batch);

#endif
