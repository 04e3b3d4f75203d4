// SPDX-License-Identifier: GPL-2.0
/*
 * Missing READ responses after the oldest one. The held responses show which are missing, so the
 * requester need not wait for one before it requests the next.
 */
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/qp/clock.h"
#include "sw/qp/hold.h"
#include "sw/qp/hold_rule.h"
#include "sw/tx/missing.h"
#include "sw/tx/recover.h"
#include "sw/tx/window.h"
#include "wire/psn.h"

/* The last held response; @psn itself if there is none */
static u32 furthest_held(struct rhca_hold *hold, u32 psn)
{
	u32 at = rhca_psn_add(psn, RHCA_HOLD_PACKETS - 1);

	while (at != psn && !rhca_hold_has(hold, at))
		at = rhca_psn_sub(at, 1);
	return at;
}

/* The first response to @wqe in [@psn, @end) that is not held */
static bool find_missing(struct rhca_hold *hold, const struct rhca_send_wqe *wqe,
			 u32 *psn, u32 end)
{
	u32 at = rhca_psn_before(wqe->first_psn, *psn) ? *psn : wqe->first_psn;

	for (; rhca_psn_before(at, end) && !rhca_psn_before(wqe->last_psn, at);
	     at = rhca_psn_add(at, 1))
		if (!rhca_hold_has(hold, at)) {
			*psn = at;
			return true;
		}
	return false;
}

/* The first READ or atomic request with a missing response */
static const struct rhca_send_wqe *find_wqe(struct rhca_sw_qp *qp, u32 *psn, u32 end)
{
	u32 index, sent_end = rhca_requester_sent_end(&qp->send);
	struct rhca_hold *hold = qp->send.recovery->hold;
	const struct rhca_send_wqe *wqe;

	for (index = qp->base.sq.head; index != sent_end; index++) {
		wqe = rhca_sq_wqe(&qp->base.sq, index);
		if (wqe->numbered && !wqe->done && rhca_wqe_is_read(wqe) &&
		    find_missing(hold, wqe, psn, end))
			return wqe;
	}
	return NULL;
}

/*
 * Find a missing response that a later one has overtaken and that has not been requested again.
 * Request it from the start of its chunk: a peer may forget what precedes the last place requested,
 * and held responses may still be dropped.
 */
static bool find_response(struct rhca_sw_qp *qp, u32 *psn)
{
	struct rhca_requester *send = &qp->send;
	u32 asked_end = send->recovery->rule.asked_end, end;
	const struct rhca_send_wqe *wqe;

	if (!rhca_hold_num(send->recovery->hold) ||
	    !rhca_psn_before(send->oldest_unacked_psn, asked_end))
		return false;
	*psn = asked_end;
	end = furthest_held(send->recovery->hold, send->oldest_unacked_psn);
	wqe = find_wqe(qp, psn, end);
	if (!wqe)
		return false;
	*psn = rhca_psn_sub(*psn, rhca_psn_diff(*psn, wqe->first_psn) % wqe->chunk);
	return !rhca_psn_before(*psn, asked_end);
}

/* The peer has NAKed a request and holds the packets after it */
static bool find_request(struct rhca_sw_qp *qp, u32 *psn)
{
	const struct rhca_recovery *recovery = qp->send.recovery;

	*psn = recovery->nak_psn;
	return recovery->nak_waits && !recovery->nak_sent_at &&
	       recovery->rule.peer == RHCA_PEER_HOLDS &&
	       rhca_psn_before(qp->send.oldest_unacked_psn, *psn);
}

/**
 * rhca_missing_nak - The peer NAKs a request while an earlier response is missing here
 * @send: requester of the QP
 * @psn: of the request. A responder's expected PSN only grows
 *
 * Context: send.lock held.
 */
void rhca_missing_nak(struct rhca_requester *send, u32 psn)
{
	struct rhca_recovery *recovery = send->recovery;

	if (recovery->nak_waits && !rhca_psn_before(recovery->nak_psn, psn) &&
	    rhca_requester_in_window(send, recovery->nak_psn))
		return;
	recovery->nak_psn = psn;
	recovery->nak_waits = true;
	recovery->nak_sent_at = 0;
}

/**
 * rhca_missing_is_served - May the retransmission for that NAK still be answered?
 * @send: requester of the QP
 *
 * Context: send.lock held.
 */
bool rhca_missing_is_served(const struct rhca_requester *send)
{
	const struct rhca_recovery *recovery = send->recovery;

	return recovery->nak_sent_at &&
	       rhca_now() - recovery->nak_sent_at < 2ULL * send->rtt.smoothed;
}

/**
 * rhca_missing_refused - An out-of-order response cannot be held
 * @send: requester of the QP
 * @psn: of the response
 *
 * It is requested again when it is the oldest. Until then nothing else is requested that would be
 * refused too, unless this response was only too far ahead.
 *
 * Context: send.lock held.
 */
void rhca_missing_refused(struct rhca_requester *send, u32 psn)
{
	rhca_recover_refused(&send->recovery->rule, psn);
	if (rhca_psn_diff(psn, send->oldest_unacked_psn) < RHCA_HOLD_PACKETS)
		send->recovery->no_room = true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_missing_refused);

/**
 * rhca_missing_due - Is there something more to request or retransmit now?
 * @qp: the QP
 *
 * Not if responses may only be late, nor while the oldest has yet to be requested.
 *
 * Return: true if so, with send.hole_due set and recovery.hole_psn where to start.
 */
bool rhca_missing_due(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;
	bool nak = false;
	u32 psn;

	lockdep_assert_held(&send->lock);
	if (send->hole_due || recovery->no_room || recovery->reorder.wait_ns ||
	    !rhca_recover_asks_for_all(&recovery->rule, send->rtt.least))
		return false;
	if (!find_response(qp, &psn)) {
		nak = find_request(qp, &psn);
		if (!nak)
			return false;
	}
	if (!rhca_psn_before(psn, send->next_psn))
		return false;
	recovery->hole_psn = psn;
	recovery->hole_is_nak = nak;
	send->hole_due = true;
	return true;
}

/* Count and trace a loss not yet reported */
static void note_loss(struct rhca_sw_qp *qp, u32 psn, u32 end, bool nak)
{
	if (!nak)
		rhca_qp_count(&qp->base, RHCA_IMPLIED_NAK_SEQ_ERR);
	trace_rhca_retransmit(rhca_qp_dev_name(&qp->base), qp->base.number, psn, end,
			      nak ? "nak" : "read", qp->send.retries_left);
	rhca_reorder_repeated(&qp->send.recovery->reorder, psn);
}

/* A request was retransmitted. @psn: recovery.hole_psn. @end: after its responses. */
void rhca_missing_asked(struct rhca_sw_qp *qp, u32 psn, u32 end)
{
	struct rhca_recovery *recovery = qp->send.recovery;
	bool nak = recovery->hole_is_nak;

	lockdep_assert_held(&qp->send.lock);
	if (psn == recovery->nak_psn)
		recovery->nak_sent_at = rhca_now();
	if (!rhca_requester_brings_again(recovery, rhca_psn_sub(end, 1)))
		recovery->again_end = end;
	if (psn != recovery->rule.repeat_psn)
		note_loss(qp, psn, end, nak);
	/* Responses before the NAKed request may still be in flight */
	if (!nak)
		rhca_recover_asks(&recovery->rule, psn, end);
}
