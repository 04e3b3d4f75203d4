/* SPDX-License-Identifier: GPL-2.0 */
/* What the responder sends: acknowledgements, NAKs, responses. */
#ifndef RHCA_SW_RX_ANSWER_H
#define RHCA_SW_RX_ANSWER_H

#include "sw/qp/qp.h"
#include "wire/headers.h"

struct rhca_rx;

void rhca_send_aeth(struct rhca_sw_qp *qp, struct rhca_path *path,
		    u8 syndrome, u32 psn, struct rhca_shared_block *shared);
bool rhca_send_responses(struct rhca_sw_qp *qp, struct rhca_path *path,
			 struct rhca_batch *batch);
void rhca_answer_go_back(struct rhca_responder *recv, u32 refused_psn);
void rhca_answer_withdraw_nak(struct rhca_sw_qp *qp);
void rhca_replay(struct rhca_sw_qp *qp, const struct rhca_rx *rx);

/* Answers keep the order of requests: those after a READ wait for its data */
static inline void rhca_answer(struct rhca_sw_qp *qp, u8 syndrome, u32 psn)
{
	qp->recv.answer_waits = true;
	qp->recv.answer_syndrome = syndrome;
	qp->recv.answer_psn = psn;
}

/* Credits and MSN are filled in together when it is sent */
static inline void rhca_answer_ack(struct rhca_sw_qp *qp, u32 psn)
{
	rhca_answer(qp, rhca_syndrome(RHCA_AETH_ACK, RHCA_CREDIT_INVALID), psn);
}

#endif
