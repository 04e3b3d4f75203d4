// SPDX-License-Identifier: GPL-2.0
/*
 * Responses to READs that are missing behind the oldest one. What is held shows each of
 * them, so a requester need not wait for the answer to one until it asks for the next.
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

/* The furthest response that is held; @psn itself where none is */
static u32 furthest_held(struct rhca_hold *hold, u32 psn)
{
	u32 at = rhca_psn_add(psn, RHCA_HOLD_PACKETS - 1);

	while (at != psn && !rhca_hold_has(hold, at))
		at = rhca_psn_sub(at, 1);
	return at;
}

/* The first response to @wqe, from @psn on and before @end, that is not held */
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

/* The request that has, or is to have, responses of its own, of which one is missing */
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
 * A response is missing that has not been asked for, and that a later one has overtaken. All
 * of the request that was on the wire is asked for: a peer may forget what is before the
 * place that it was last asked for, and what is held may still be dropped.
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

/* The peer, which holds what is behind it, misses a request, and has said so */
static bool find_request(struct rhca_sw_qp *qp, u32 *psn)
{
	const struct rhca_recovery *recovery = qp->send.recovery;

	*psn = recovery->nak_psn;
	return recovery->nak_waits && !recovery->nak_sent_at &&
	       recovery->rule.way == RHCA_PEER_HOLDS &&
	       rhca_psn_before(qp->send.oldest_unacked_psn, *psn);
}

/**
 * rhca_missing_nak - The peer misses a request, and a response before that is missing here
 * @send: requester of the QP
 * @psn: of the request. What a responder expects only grows
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
 * rhca_missing_is_served - May what has been sent again for that NAK still be answered?
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
 * rhca_missing_refused - A response came before one that is missing, and cannot be held
 * @send: requester of the QP
 * @psn: of the response
 *
 * It is asked for again when it is its turn. Nothing else is asked for meanwhile that would be
 * refused as well, unless this one was only too far ahead.
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
 * rhca_missing_due - Is something else to be asked for, or sent again, now?
 * @qp: the QP
 *
 * Not where responses may only be late, nor where the oldest is still to be asked for.
 *
 * Return: true when it is, from recovery.hole_psn on; send.hole_due says so.
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

/* Nobody has told of it yet */
static void tell(struct rhca_sw_qp *qp, u32 psn, u32 end, bool nak)
{
	if (!nak)
		rhca_qp_count(&qp->base, RHCA_IMPLIED_NAK_SEQ_ERR);
	trace_rhca_retransmit(rhca_qp_dev_name(&qp->base), qp->base.number, psn, end,
			      nak ? "nak" : "read", qp->send.retries_left);
	rhca_reorder_repeated(&qp->send.recovery->reorder, psn);
}

/* A request has left again. @psn: recovery.hole_psn. @end: behind the answers to it. */
void rhca_missing_asked(struct rhca_sw_qp *qp, u32 psn, u32 end)
{
	struct rhca_recovery *recovery = qp->send.recovery;
	bool nak = recovery->hole_is_nak;

	lockdep_assert_held(&qp->send.lock);
	if (psn == recovery->nak_psn)
		recovery->nak_sent_at = rhca_now();
	if (psn != recovery->rule.repeat_psn)
		tell(qp, psn, end, nak);
	/* Of responses before that which a NAK names some may still be on their way */
	if (!nak)
		rhca_recover_asks(&recovery->rule, psn, end);
}
