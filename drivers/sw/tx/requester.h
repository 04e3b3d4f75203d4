/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requester: sends what has been posted.
 */
#ifndef RHCA_SW_TX_REQUESTER_H
#define RHCA_SW_TX_REQUESTER_H

#include "sw/qp/qp.h"

void rhca_requester_send(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_requester_rewind(struct rhca_sw_qp *qp, u32 psn);
void rhca_requester_reset(struct rhca_sw_qp *qp);

bool rhca_requester_shared_done(struct rhca_sw_qp *qp);
void rhca_requester_shared_left(struct rhca_sw_qp *qp,
				struct rhca_batch *batch);

bool rhca_requester_goes_on(struct rhca_sw_qp *qp);

/**
 * rhca_requester_lock - Take send.lock to send
 * @qp: the QP
 *
 * The processor that takes acknowledgements leaves what has been posted meanwhile to
 * the one that posts: each does its part of the work, at the same time.
 *
 * Context: bottom halves off. The caller calls rhca_requester_send() next.
 */
static inline void rhca_requester_lock(struct rhca_sw_qp *qp)
{
	if (spin_trylock(&qp->send.lock))
		return;
	set_bit(RHCA_SENDER_WAITS, &qp->doorbell.flags);
	spin_lock(&qp->send.lock);
	clear_bit(RHCA_SENDER_WAITS, &qp->doorbell.flags);
}

#endif
