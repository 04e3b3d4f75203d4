// SPDX-License-Identifier: GPL-2.0
/*
 * Responses to READs that are missing behind the oldest one. What is held shows each of
 * them, so a requester need not wait for the answer to one until it asks for the next.
 */
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/qp/hold.h"
#include "sw/qp/hold_rule.h"
#include "sw/tx/missing.h"
#include "sw/tx/recover.h"
#include "sw/tx/window.h"
#include "wire/psn.h"

/* The first response from @psn on that is missing and that a later one has overtaken */
static bool find_overtaken(const struct rhca_requester *send, u32 *psn)
{
	struct rhca_hold *hold = send->recovery->hold;
	u32 end = rhca_psn_add(send->oldest_unacked_psn, RHCA_HOLD_PACKETS);
	bool missing = false;
	u32 at;

	for (at = *psn; rhca_psn_before(at, end); at = rhca_psn_add(at, 1)) {
		if (rhca_hold_has(hold, at)) {
			if (missing)
				return true;
		} else if (!missing) {
			missing = true;
			*psn = at;
		}
	}
	return false;
}

static const struct rhca_send_wqe *find_request(struct rhca_sw_qp *qp, u32 psn)
{
	struct rhca_sq *sq = &qp->base.sq;
	u32 index, end = rhca_requester_sent_end(&qp->send);
	const struct rhca_send_wqe *wqe;

	for (index = sq->head; index != end; index++) {
		wqe = rhca_sq_wqe(sq, index);
		if (wqe->numbered && !wqe->done &&
		    rhca_psn_between(psn, wqe->first_psn, wqe->last_psn))
			return wqe;
	}
	return NULL;
}

/*
 * All of the request that was on the wire is asked for: a peer may forget what is before
 * the place that it was last asked for, and what is held may still be dropped.
 */
static bool find_begin(struct rhca_sw_qp *qp, u32 *psn)
{
	const struct rhca_send_wqe *wqe = find_request(qp, *psn);
	u32 before;

	if (!wqe || wqe->opcode != IB_WR_RDMA_READ)
		return false;
	before = rhca_psn_diff(*psn, wqe->first_psn) % wqe->chunk;
	*psn = rhca_psn_sub(*psn, before);
	return true;
}

/* A response is missing that has not been asked for */
static bool find_response(struct rhca_sw_qp *qp, u32 *psn)
{
	const struct rhca_requester *send = &qp->send;
	u32 asked_end = send->recovery->rule.asked_end;

	*psn = asked_end;
	return rhca_psn_before(send->oldest_unacked_psn, asked_end) &&
	       rhca_hold_num(send->recovery->hold) && find_overtaken(send, psn) &&
	       find_begin(qp, psn) && !rhca_psn_before(*psn, asked_end);
}

/* The peer, which holds what is behind it, misses a request, and has said so */
static bool find_request_lost(struct rhca_sw_qp *qp, u32 *psn)
{
	const struct rhca_recovery *recovery = qp->send.recovery;

	*psn = recovery->nak_psn;
	return recovery->nak_waits && !recovery->nak_asked &&
	       recovery->rule.way == RHCA_PEER_HOLDS &&
	       rhca_psn_before(qp->send.oldest_unacked_psn, *psn);
}

/**
 * rhca_missing_due - Is something else to be asked for, or sent again, now?
 * @qp: the QP
 *
 * Not where responses may only be late, nor where the oldest is still to be asked for.
 *
 * Context: send.lock held.
 * Return: true when it is, from recovery.hole_psn on; send.hole_due says so.
 */
bool rhca_missing_due(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;
	u32 psn;

	lockdep_assert_held(&send->lock);
	if (send->hole_due || recovery->reorder.wait_ns ||
	    !rhca_recover_asks_for_all(&recovery->rule, send->rtt.least))
		return false;
	if (find_response(qp, &psn))	/* it has come, and is asked for by that */
		recovery->nak_asked |= psn == recovery->nak_psn;
	else if (!find_request_lost(qp, &psn))
		return false;
	if (!rhca_psn_before(psn, send->next_psn))
		return false;
	recovery->hole_psn = psn;
	send->hole_due = true;
	return true;
}

/**
 * rhca_missing_asked - A request has been sent again
 * @qp: the QP
 * @psn: of it
 * @end: behind the answers to it
 *
 * Context: send.lock held.
 */
void rhca_missing_asked(struct rhca_sw_qp *qp, u32 psn, u32 end)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;
	bool nak = recovery->nak_waits && !recovery->nak_asked &&
		   psn == recovery->nak_psn;

	lockdep_assert_held(&send->lock);
	recovery->nak_asked |= nak;
	/* Of responses before that some may still be on their way */
	if (!nak || psn == recovery->rule.repeat_psn)
		rhca_recover_asks(&recovery->rule, psn, end);
	if (psn == recovery->rule.repeat_psn)
		return;		/* who has decided about it has told */
	if (!nak)
		rhca_qp_count(&qp->base, RHCA_IMPLIED_NAK_SEQ_ERR);
	trace_rhca_retransmit(rhca_qp_dev_name(&qp->base), qp->base.number, psn, end,
			      nak ? "nak" : "read", send->retries_left);
	rhca_reorder_repeated(&recovery->reorder, psn);
}
