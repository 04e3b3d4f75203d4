// SPDX-License-Identifier: GPL-2.0
/* Completer: processes responses for the requester, IBTA vol. 1, 9.7.5-9.7.7. */
#include <rhca/trace.h>

#include "sw/rx/completer.h"
#include "sw/rx/admit.h"
#include "sw/qp/clock.h"
#include "sw/qp/hold.h"
#include "sw/qp/payload.h"
#include "sw/tx/missing.h"
#include "sw/tx/probe.h"
#include "sw/tx/send_completion.h"
#include "sw/tx/ack_timeout.h"
#include "sw/tx/window.h"
#include "sw/tx/send_sched.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

static const enum ib_wc_status nak_status[] = {
	[RHCA_NAK_INVALID]	= IB_WC_REM_INV_REQ_ERR,
	[RHCA_NAK_ACCESS]	= IB_WC_REM_ACCESS_ERR,
	[RHCA_NAK_OPERATION]	= IB_WC_REM_OP_ERR,
};

/*
 * The timed packet was acknowledged. Without a sample the interval of probes stays doubled, in case
 * it is the path that now takes so long
 */
static void take_sample(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;
	u64 now = rhca_now();

	if (unlikely(send->recovering)) {
		if (rhca_recover_delayed(&send->recovery->rule, &send->rtt, now)) {
			rhca_rtt_forget(&send->rtt, send->rtt.psn);
			return;
		}
		rhca_probe_measured(qp);
	}
	rhca_rtt_end(&send->rtt, now);
}

/* New packets were acknowledged: the peer is alive, so restore all retries */
static void note_progress(struct rhca_sw_qp *qp, u32 oldest_unacked)
{
	struct rhca_requester *send = &qp->send;

	rhca_cwnd_acked(&send->cwnd,
			rhca_psn_diff(oldest_unacked, send->oldest_unacked_psn),
			oldest_unacked);
	if (rhca_rtt_ends(&send->rtt, oldest_unacked))
		take_sample(qp);
	send->oldest_unacked_psn = oldest_unacked;
	send->heard = true;
	rhca_block_acked(&send->backoff, oldest_unacked);
	if (unlikely(send->recovering))
		rhca_recovery_acked(qp);
	rhca_probe_answered(send);
	send->retries_left = READ_ONCE(qp->base.attr.retry_cnt);
	send->rnr_retries_left = READ_ONCE(qp->base.attr.rnr_retry);
	send->repeating = false;
	rhca_restart_ack_timer(qp);
	/* Rewound, but the packets to retransmit have arrived, so the peer had a receive buffer */
	if (rhca_psn_before(send->next_psn, oldest_unacked)) {
		rhca_requester_rewind(qp, oldest_unacked);
		/* End the RNR pause now, so that the peer may request another one */
		if (send->pause == RHCA_PAUSE_RNR)
			rhca_pause_send(qp, RHCA_PAUSE_PACE, 0);
	}
}

/* A response to a READ or atomic was lost: request everything from there again */
static void repeat_read(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	if (send->repeating)
		return;		/* once per loss, not per packet */
	send->repeating = true;
	rhca_qp_count(&qp->base, RHCA_IMPLIED_NAK_SEQ_ERR);
	/* Shrink the window if a full queue, not the wire, caused the loss */
	if (rhca_cwnd_overflows(&send->cwnd, &send->rtt))
		rhca_requester_congested(qp, send->oldest_unacked_psn);
	rhca_requester_repeat(qp, send->oldest_unacked_psn, "read");
}

/* The destination is not resident yet: request it again later. The peer is alive */
static void repeat_later(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	send->retries_left = READ_ONCE(qp->base.attr.retry_cnt);
	send->repeating = true;
	rhca_requester_repeat(qp, send->oldest_unacked_psn, "page fault");
	rhca_pause_send(qp, RHCA_PAUSE_PAGE_FAULT, RHCA_PAGE_FAULT_NS);
}

/* Compare distances from the oldest unacknowledged PSN: a request may have up to 2^23 PSNs */
static bool is_behind(const struct rhca_requester *send, const struct rhca_send_wqe *wqe,
		      u32 psn)
{
	return rhca_psn_diff(wqe->first_psn, send->oldest_unacked_psn) >
	       rhca_psn_diff(psn, send->oldest_unacked_psn);
}

/*
 * Is a READ without its last response? The end of one that none has arrived for may be 2^23 PSNs
 * after the oldest unacknowledged one
 */
static bool awaits_responses(const struct rhca_requester *send, const struct rhca_send_wqe *wqe)
{
	u32 oldest = send->oldest_unacked_psn;

	return rhca_wqe_is_read(wqe) && (!rhca_psn_before(wqe->first_psn, oldest) ||
					 !rhca_psn_before(wqe->last_psn, oldest));
}

/*
 * Acknowledge everything up to @psn except READs and atomics, which only their own responses
 * complete. Returns false if one of those blocks it.
 */
static bool acknowledge(struct rhca_sw_qp *qp, u32 psn,
			struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_sq *sq = &qp->base.sq;
	u32 upto = rhca_psn_add(psn, 1);
	struct rhca_send_wqe *wqe;
	bool blocked = false;
	u32 index;

	if (!rhca_psn_before(send->oldest_unacked_psn, upto))
		return true;
	for (index = sq->head; index != send->posted_end; index++) {
		wqe = rhca_sq_wqe(sq, index);
		if (wqe->done)
			continue;
		if (!wqe->numbered || is_behind(send, wqe, psn))
			break;
		if (awaits_responses(send, wqe)) {
			/* Responses received so far may have advanced oldest_unacked beyond */
			upto = wqe->first_psn;
			blocked = true;
			break;
		}
		if (!rhca_psn_before(wqe->last_psn, psn))
			break;
	}
	if (rhca_psn_before(send->oldest_unacked_psn, upto))
		note_progress(qp, upto);
	rhca_requester_retire(qp, batch);
	return !blocked;
}

/* A refused response must be requested again in any case */
static void ask_for_missing(struct rhca_sw_qp *qp, u32 psn, enum rhca_hold_result held)
{
	u64 now = rhca_now();

	if (!rhca_response_is_late(qp, now) || held == RHCA_HOLD_REFUSED)
		rhca_ask_for_response(qp, now, psn, held == RHCA_HOLD_TWICE);
	rhca_missing_due(qp);
}

static bool holds(const struct rhca_sw_qp *qp)
{
	return READ_ONCE(qp->base.port->cc.selective_repeat);
}

/* An answer acknowledges packets after a missing response, and must wait */
static void wait_behind(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			u32 acked_psn)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;
	enum rhca_hold_result held = RHCA_HOLD_KEPT;

	if (!holds(qp)) {
		repeat_read(qp);
		return;
	}
	send->recovering = true;
	if (rx->opcode != IB_OPCODE_RC_ACKNOWLEDGE) {
		held = rhca_hold_put(&recovery->hold, &send->lock, &qp->base, rx,
				     send->oldest_unacked_psn);
		if (held == RHCA_HOLD_REFUSED)
			rhca_missing_refused(send, rx->psn);
	}
	if (!recovery->ack_waits || rhca_psn_before(recovery->ack_psn, acked_psn))
		recovery->ack_psn = acked_psn;
	recovery->ack_waits = true;
	ask_for_missing(qp, rx->psn, held);
}

/* Find out whether the peer holds packets after a gap */
static void look_for_holding(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;
	u32 upto = send->oldest_unacked_psn;

	rhca_repeat_lost(qp, upto,
			 rhca_recover_acked_alone(&send->recovery->rule, upto,
						  rhca_now()), "nak");
}

static void handle_ack(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		       u8 syndrome, u32 msn, struct rhca_batch *batch)
{
	rhca_requester_take_credits(&qp->send,
				    u8_get_bits(syndrome, RHCA_SYNDROME_VALUE), msn);
	if (!acknowledge(qp, rx->psn, batch))
		wait_behind(qp, rx, rx->psn);
	else if (unlikely(qp->send.recovering) && qp->send.recovery->rule.waits)
		look_for_holding(qp);
	rhca_requester_note_probe(qp);
}

/* Go back to @psn: the answer to a single retransmission no longer tells anything */
static void repeat_all(struct rhca_sw_qp *qp, u32 psn)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_loss loss;

	if (send->recovering && send->recovery->rule.waits) {
		loss = rhca_loss_of(qp, psn, rhca_now());
		rhca_recover_back(&send->recovery->rule, &loss);
	}
	rhca_requester_repeat(qp, psn, "rnr");
}

static void handle_rnr(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		       u8 syndrome, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	u8 code = u8_get_bits(syndrome, RHCA_SYNDROME_VALUE);

	if (!acknowledge(qp, rhca_psn_sub(rx->psn, 1), batch)) {
		wait_behind(qp, rx, rhca_psn_sub(rx->psn, 1));
		return;
	}
	if (send->pause == RHCA_PAUSE_RNR && send->next_psn == rx->psn)
		return;		/* another NAK for the same burst */
	rhca_qp_count(&qp->base, RHCA_RNR_NAK_RETRY_ERR);
	if (!send->rnr_retries_left) {
		rhca_requester_fail(qp, IB_WC_RNR_RETRY_EXC_ERR, batch);
		return;
	}
	if (send->rnr_retries_left != RHCA_RETRY_FOREVER)
		send->rnr_retries_left--;
	repeat_all(qp, rx->psn);
	rhca_pause_send(qp, RHCA_PAUSE_RNR,
			rhca_rnr_delay_us(code) * (u64)NSEC_PER_USEC);
}

static bool take_retry(struct rhca_requester *send)
{
	if (!send->retries_left)
		return false;
	send->retries_left--;
	return true;
}

static void repeat_missing(struct rhca_sw_qp *qp, u32 psn, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	enum rhca_recover_action action;
	struct rhca_loss loss;

	/* Rewound, as by an RNR NAK: it will be sent again, and all after it */
	if (!rhca_psn_before(psn, send->next_psn))
		return;
	loss = rhca_loss_of(qp, psn, rhca_now());
	action = rhca_recover_nak(&send->recovery->rule, &loss);
	if (action == RHCA_RECOVER_NOTHING)
		return;
	if (!rhca_probe_adapts(qp) && !take_retry(send)) {
		rhca_requester_fail(qp, IB_WC_RETRY_EXC_ERR, batch);
		return;
	}
	rhca_repeat_lost(qp, psn, action, "nak");
}

static void handle_sequence_nak(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
				struct rhca_batch *batch)
{
	rhca_qp_count(&qp->base, RHCA_PACKET_SEQ_ERR);
	if (acknowledge(qp, rhca_psn_sub(rx->psn, 1), batch)) {
		repeat_missing(qp, rx->psn, batch);
		return;
	}
	if (holds(qp))
		rhca_missing_nak(&qp->send, rx->psn);
	wait_behind(qp, rx, rhca_psn_sub(rx->psn, 1));
}

/* Handle a NAK that had to wait for missing responses */
static void take_late_nak(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_recovery *recovery = qp->send.recovery;
	u32 oldest = qp->send.oldest_unacked_psn;

	if (!recovery->nak_waits || rhca_psn_before(oldest, recovery->nak_psn))
		return;
	recovery->nak_waits = false;
	if (oldest == recovery->nak_psn && !rhca_missing_is_served(&qp->send))
		repeat_missing(qp, oldest, batch);
}

static void handle_nak(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		       u8 syndrome, struct rhca_batch *batch)
{
	u8 code = u8_get_bits(syndrome, RHCA_SYNDROME_VALUE);

	if (code == RHCA_NAK_PSN) {
		handle_sequence_nak(qp, rx, batch);
		return;
	}
	if (code >= ARRAY_SIZE(nak_status)) {
		/* Reserved: ignore it, the ACK timeout will handle it */
		rhca_rx_drop(&qp->base, rx, RHCA_RX_DROPPED_BAD_SYNDROME);
		return;
	}
	if (!acknowledge(qp, rhca_psn_sub(rx->psn, 1), batch)) {
		wait_behind(qp, rx, rhca_psn_sub(rx->psn, 1));
		return;
	}
	rhca_requester_fail(qp, nak_status[code], batch);
}

static void handle_aeth(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			struct rhca_batch *batch)
{
	const struct rhca_aeth *aeth = rhca_rx_header(rx, RHCA_HDR_AETH);
	u8 syndrome = rhca_aeth_syndrome(aeth);

	if (!rhca_syndrome_is_ack(syndrome))
		trace_rhca_nak(rhca_qp_dev_name(&qp->base), qp->base.number, false,
			       syndrome, rx->psn);
	switch (u8_get_bits(syndrome, RHCA_SYNDROME_TYPE)) {
	case RHCA_AETH_ACK:
		handle_ack(qp, rx, syndrome, rhca_aeth_msn(aeth), batch);
		break;
	case RHCA_AETH_RNR:
		handle_rnr(qp, rx, syndrome, batch);
		break;
	case RHCA_AETH_NAK:
		handle_nak(qp, rx, syndrome, batch);
		break;
	default:		/* reserved */
		rhca_rx_drop(&qp->base, rx, RHCA_RX_DROPPED_BAD_SYNDROME);
		break;
	}
}

static enum ib_wc_status take_read(struct rhca_sw_qp *qp,
				   const struct rhca_rx *rx,
				   struct rhca_send_wqe *wqe)
{
	struct rhca_span span = rhca_completer_span(qp, wqe, rx);

	if (rx->in_place)	/* already checked */
		return IB_WC_SUCCESS;
	if (span.bytes != rhca_completer_bytes(qp, wqe, rx->psn)) {
		rhca_rx_note_mtu(qp, rx);
		return IB_WC_BAD_RESP_ERR;
	}
	return rhca_scatter(&qp->base, &span, rx);
}

static enum ib_wc_status take_atomic(struct rhca_sw_qp *qp,
				     const struct rhca_rx *rx,
				     struct rhca_send_wqe *wqe)
{
	const struct rhca_atomic_ack_eth *eth =
		rhca_rx_header(rx, RHCA_HDR_ATOMIC_ACK_ETH);
	u64 original = be64_to_cpu(eth->original);
	struct rhca_span span = rhca_send_span(qp, wqe, 0, sizeof(original));

	return rhca_scatter_bytes(&qp->base, &span, &original);
}

/* The last response to a request packet frees a slot for another */
static bool ends_request(const struct rhca_send_wqe *wqe, u32 psn)
{
	return psn == wqe->last_psn ||
	       rhca_psn_diff(psn, wqe->first_psn) % wqe->chunk ==
			wqe->chunk - 1;
}

/* Process the expected response; false if later ones cannot be processed now */
static bool take_response(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			  struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_send_wqe *wqe = rhca_completer_awaits(qp, rx->psn);
	enum ib_wc_status status;

	if (!wqe) {		/* late duplicate of a completed one */
		rhca_rx_drop(&qp->base, rx, RHCA_RX_DROPPED_OUT_OF_WINDOW);
		return false;
	}
	if (!rhca_wqe_is_read(wqe) ||
	    !!(rx->flags & RHCA_OP_ATOMIC) != rhca_wqe_is_atomic(wqe))
		status = IB_WC_BAD_RESP_ERR;
	else if (rx->flags & RHCA_OP_ATOMIC)
		status = take_atomic(qp, rx, wqe);
	else
		status = take_read(qp, rx, wqe);
	if (status == RHCA_WC_PAGE_FAULT) {
		repeat_later(qp);
		return false;
	}
	if (status != IB_WC_SUCCESS) {
		rhca_requester_fail(qp, status, batch);
		return false;
	}
	if (ends_request(wqe, rx->psn) && send->reads_in_flight)
		send->reads_in_flight--;
	note_progress(qp, rhca_psn_add(rx->psn, 1));
	rhca_requester_retire(qp, batch);
	return true;
}

static bool take_held(struct rhca_sw_qp *qp, struct sk_buff *skb,
		      struct rhca_batch *batch)
{
	struct rhca_rx rx __uninitialized;
	bool taken;

	rhca_hold_restore(qp->send.recovery->hold, skb, &rx);
	taken = take_response(qp, &rx, batch);
	consume_skb(skb);
	qp->send.recovery->no_room = false;
	return taken;
}

/* The missing response has arrived: process the held ones up to the next gap */
static void drain(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;
	struct sk_buff *skb;
	u32 oldest;

	for (;;) {
		oldest = send->oldest_unacked_psn;
		skb = rhca_hold_take(recovery->hold, oldest);
		if (skb) {
			if (!take_held(qp, skb, batch))
				return;
			continue;
		}
		if (!recovery->ack_waits)
			break;
		recovery->ack_waits = !acknowledge(qp, recovery->ack_psn, batch);
		if (send->oldest_unacked_psn == oldest)
			break;
	}
	if (!rhca_hold_num(recovery->hold))
		recovery->no_room = false;
	if (rhca_hold_num(recovery->hold) || recovery->ack_waits)
		ask_for_missing(qp, rhca_psn_sub(oldest, 1), RHCA_HOLD_KEPT);
	else
		take_late_nak(qp, batch);
}

static void handle_data(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;
	bool repeated = unlikely(send->recovering) &&
			rhca_recover_has_asked(&recovery->rule, rx->psn);

	/* A response also acknowledges all earlier requests */
	if (rx->psn != send->oldest_unacked_psn &&
	    !acknowledge(qp, rhca_psn_sub(rx->psn, 1), batch)) {
		wait_behind(qp, rx, rhca_psn_sub(rx->psn, 1));
		return;
	}
	if (take_response(qp, rx, batch) &&
	    unlikely(send->recovering) &&
	    (rhca_hold_num(recovery->hold) || recovery->ack_waits)) {
		rhca_reorder_answered(&recovery->reorder, rx->psn, repeated,
				      rhca_now());
		drain(qp, batch);
	}
}

/* READ responses are never NAKs; a NAK is an ACKNOWLEDGE without payload */
static bool is_plain_answer(const struct rhca_rx *rx)
{
	return rx->opcode == IB_OPCODE_RC_ACKNOWLEDGE;
}

/* Positive acknowledgements carry credits, 9.7.7.2. Returns false for a NAK. @rx: has an AETH */
static bool take_credits(struct rhca_requester *send, const struct rhca_rx *rx)
{
	const struct rhca_aeth *aeth = rhca_rx_header(rx, RHCA_HDR_AETH);
	u8 syndrome = rhca_aeth_syndrome(aeth);

	if (!rhca_syndrome_is_ack(syndrome))
		return false;
	rhca_requester_take_credits(send, u8_get_bits(syndrome, RHCA_SYNDROME_VALUE),
				    rhca_aeth_msn(aeth));
	return true;
}

/* A duplicate of the newest acknowledgement may carry new credits; a late NAK is obsolete. */
static bool take_late_credits(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	return is_plain_answer(rx) &&
	       rx->psn == rhca_psn_sub(qp->send.oldest_unacked_psn, 1) &&
	       take_credits(&qp->send, rx);
}

/* Process a response from an RC QP's peer, ICRC checked. send.lock held, bottom halves off */
void rhca_completer_receive(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			    struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;

	lockdep_assert_held(&send->lock);
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_COMPLETE)) {
		rhca_rx_drop(&qp->base, rx, RHCA_RX_DROPPED_QP_STATE);
		return;
	}
	if (!rhca_requester_in_window(send, rx->psn)) {
		if (!is_plain_answer(rx))
			rhca_reorder_twice(&send->recovery->reorder, rx->psn);
		if (!take_late_credits(qp, rx))
			rhca_rx_drop(&qp->base, rx, RHCA_RX_DROPPED_OUT_OF_WINDOW);
		return;
	}
	if (is_plain_answer(rx)) {
		handle_aeth(qp, rx, batch);
		return;
	}
	if (rhca_opcode_has(rx->opcode, RHCA_HDR_AETH))
		take_credits(send, rx);
	handle_data(qp, rx, batch);
}
