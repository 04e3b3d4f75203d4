// SPDX-License-Identifier: GPL-2.0
/*
 * Responder, IBTA vol. 1, 9.7.4: a request passes the checks in the order of figure 106, is
 * executed, and is answered in the softirq that received it. Datagrams and UC take the same path
 * without answers.
 */
#include <rdma/ib_verbs.h>

#include <rhca/compat.h>

#include "sw/rx/responder.h"
#include "sw/qp/clock.h"
#include "sw/qp/hold.h"
#include "sw/qp/recv_half.h"
#include "sw/qp/shared.h"
#include "sw/rx/admit.h"
#include "sw/rx/answer.h"
#include "sw/rx/execute.h"
#include "sw/rx/recv_completion.h"
#include "sw/tx/window.h"
#include "sw/verbs/memory/mw.h"
#include "wire/psn.h"

/* 9.7.5.2, table 44, and the completions of 10.8.6.2 */
const struct rhca_nak_action rhca_nak_actions[RHCA_NUM_REQUEST_STATUSES] = {
	[RHCA_PSN_GAP]		= { true, RHCA_AETH_NAK, RHCA_NAK_PSN },
	[RHCA_NO_BUFFER]	= { true, RHCA_AETH_RNR },
	[RHCA_PAGE_FAULT]	= { true, RHCA_AETH_RNR },
	[RHCA_NOT_READY]	= { true, RHCA_AETH_RNR },
	[RHCA_BAD_REQUEST]	= { true, RHCA_AETH_NAK, RHCA_NAK_INVALID, true,
				    IB_WC_REM_INV_REQ_ERR,
				    IB_EVENT_QP_REQ_ERR },
	[RHCA_BAD_LENGTH]	= { true, RHCA_AETH_NAK, RHCA_NAK_INVALID, true,
				    IB_WC_LOC_LEN_ERR, IB_EVENT_QP_REQ_ERR },
	[RHCA_BAD_KEY]		= { true, RHCA_AETH_NAK, RHCA_NAK_ACCESS, true,
				    IB_WC_REM_ACCESS_ERR,
				    IB_EVENT_QP_ACCESS_ERR },
	[RHCA_BAD_OPERATION]	= { true, RHCA_AETH_NAK, RHCA_NAK_INVALID, true,
				    IB_WC_REM_INV_REQ_ERR,
				    IB_EVENT_QP_REQ_ERR },
	[RHCA_LOCAL_FAULT]	= { true, RHCA_AETH_NAK, RHCA_NAK_OPERATION,
				    true, IB_WC_LOC_PROT_ERR,
				    IB_EVENT_QP_FATAL },
};
EXPORT_SYMBOL_IF_KUNIT(rhca_nak_actions);

/* Move the QP to ERR. @event: the fault, 11.6.3.2. recv.lock held */
void rhca_responder_move_to_error(struct rhca_sw_qp *qp,
				  enum ib_event_type event,
				  struct rhca_batch *batch)
{
	lockdep_assert_held(&qp->recv.lock);
	/* Post completions before the state changes: later ones are flushed */
	if (batch->received)
		rhca_responder_show(qp, batch);
	if (!rhca_qp_fail(&qp->base, IB_QPS_ERR))
		return;
	batch->flush_send = true;
	rhca_batch_event(batch, event);
	if (qp->base.srq)
		rhca_batch_event(batch, IB_EVENT_QP_LAST_WQE_REACHED);
}

/* --- accepted requests ---------------------------------------------------- */

static void complete_receive(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			     struct rhca_batch *batch)
{
	struct rhca_responder *recv = &qp->recv;
	bool solicited = rhca_bth_solicited(rx->bth);
	struct ib_wc wc;

	rhca_responder_fill_wc(qp, rx, &wc);
	if (!recv->invalidating) {
		rhca_responder_complete(qp, &wc, solicited, batch);
		return;
	}
	recv->late_wc = wc;
	recv->late_solicited = solicited;
	recv->late_missed = false;
}

static void finish_message(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			   struct rhca_batch *batch)
{
	qp->recv.msn = rhca_psn_add(qp->recv.msn, 1);
	if ((rx->flags & RHCA_OP_SEND) || rhca_opcode_has(rx->opcode, RHCA_HDR_IMMDT))
		complete_receive(qp, rx, batch);
	if (!qp->recv.established_reported &&
	    READ_ONCE(qp->base.state) == IB_QPS_RTR && !rhca_is_datagram(&qp->base)) {
		qp->recv.established_reported = true;
		rhca_batch_event(batch, IB_EVENT_COMM_EST);
	}
}

static void note_accepted(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	const struct rhca_resource *res;
	u32 psns = 1;

	recv->in_message = !(rx->flags & RHCA_OP_ENDS);
	recv->message_opcode = rx->opcode;
	if (recv->rule.nak_sent)
		rhca_answer_withdraw_nak(qp);
	if (rx->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST) {
		res = rhca_resource_at(recv, recv->newest_resource - 1);
		psns = rhca_response_packets(qp, res->length);
		rhca_hold_forget(recv->hold, rx->psn, psns);
	}
	recv->expected_psn = rhca_psn_add(rx->psn, psns);
}

/* READs and atomics have their own responses; @asked: an earlier packet requested an ACK */
static void accept(struct rhca_sw_qp *qp, const struct rhca_rx *rx, bool asked,
		   struct rhca_batch *batch)
{
	note_accepted(qp, rx);
	if (rx->flags & RHCA_OP_ENDS)
		finish_message(qp, rx, batch);
	if (rhca_is_rc(&qp->base) && (asked || rhca_bth_ack_req(rx->bth)) &&
	    (rx->flags & (RHCA_OP_SEND | RHCA_OP_WRITE)))
		rhca_answer_ack(qp, rx->psn);
}

/* --- rejected requests ---------------------------------------------------- */

/*
 * The QP's own RNR delay is for programs that post receives, and may be long; a page takes less:
 * 1.28 ms.
 */
#define PAGE_FAULT_RNR_CODE	14

static u8 nak_syndrome(struct rhca_sw_qp *qp, enum rhca_request_status status)
{
	const struct rhca_nak_action *action = &rhca_nak_actions[status];

	if (status == RHCA_PAGE_FAULT)
		return rhca_syndrome(RHCA_AETH_RNR, PAGE_FAULT_RNR_CODE);
	if (action->type == RHCA_AETH_RNR)
		return rhca_syndrome(RHCA_AETH_RNR,
				     READ_ONCE(qp->base.attr.min_rnr_timer));
	return rhca_syndrome(RHCA_AETH_NAK, action->nak);
}

/* Fail the QP after the NAK for recv.fatal, if any, has been sent. recv.lock held */
void rhca_responder_fail(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	const struct rhca_nak_action *action = &rhca_nak_actions[qp->recv.fatal];
	struct ib_wc wc = {
		.status	= action->wc,
		.opcode	= IB_WC_RECV,
	};

	lockdep_assert_held(&qp->recv.lock);
	qp->recv.fatal = RHCA_PASS;
	if (qp->recv.have_wqe)
		rhca_responder_complete(qp, &wc, true, batch);
	rhca_responder_move_to_error(qp, action->event, batch);
	rhca_responder_flush(qp, batch);
}

/*
 * A fatal fault is reported after the answers to earlier requests, 9.7.5; until then nothing new is
 * executed. After an RNR NAK the peer repeats everything from there, including what is held.
 */
static void reject_rc(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		      enum rhca_request_status status, struct rhca_batch *batch)
{
	const struct rhca_nak_action *action = &rhca_nak_actions[status];

	if (qp->recv.fatal || !action->answers)
		return;
	rhca_answer(qp, nak_syndrome(qp, status), qp->recv.expected_psn);
	rhca_hold_purge(qp->recv.hold);
	if (!action->fatal) {
		qp->recv.rule.nak_sent = true;
		qp->recv.not_ready = true;
		return;
	}
	qp->recv.fatal = status;
	if (!rcu_access_pointer(qp->base.path))
		rhca_responder_fail(qp, batch);
}

/*
 * Without acknowledgements only local faults are reported. A message that does not fit is dropped
 * and its buffer reused: an unknown sender must not stop a queue, least of all QP1's.
 */
static void drop_unreliable(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			    enum rhca_request_status status,
			    struct rhca_batch *batch)
{
	qp->recv.in_message = false;
	if (!rhca_is_datagram(&qp->base))
		qp->recv.expected_psn = rhca_psn_add(rx->psn, 1);
	if (status == RHCA_LOCAL_FAULT) {
		qp->recv.fatal = status;
		rhca_responder_fail(qp, batch);
	}
}

/* The others are counted where they are detected */
static void count_error(const struct rhca_sw_qp *qp,
			const struct rhca_rx *rx,
			enum rhca_request_status status)
{
	switch (status) {
	case RHCA_BAD_KEY:
		rhca_qp_count(&qp->base, RHCA_RESP_REMOTE_ACCESS_ERRORS);
		break;
	case RHCA_PAGE_FAULT:
		if (!rhca_is_rc(&qp->base))	/* will not be repeated */
			rhca_rx_drop(&qp->base, rx, RHCA_RX_DROPPED_NO_RESOURCE);
		break;
	case RHCA_BAD_LENGTH:
		if (!rhca_is_rc(&qp->base))	/* not reported */
			break;
		fallthrough;
	case RHCA_BAD_REQUEST:
	case RHCA_BAD_OPERATION:
		rhca_qp_count(&qp->base, RHCA_RESP_INVALID_REQUESTS);
		break;
	default:
		break;
	}
}

static void reject(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		   enum rhca_request_status status, struct rhca_batch *batch)
{
	count_error(qp, rx, status);
	if (rhca_is_rc(&qp->base))
		reject_rc(qp, rx, status, batch);
	else
		drop_unreliable(qp, rx, status, batch);
}

/* --- out of order ----------------------------------------------------------- */

/* Only checks that hold for any opcode; the others are made when it is executed */
static enum rhca_hold_result hold(struct rhca_sw_qp *qp,
				  const struct rhca_rx *rx)
{
	enum rhca_hold_result result;

	if (!rhca_is_rc(&qp->base) || !READ_ONCE(rx->port->cc.selective_repeat))
		return RHCA_HOLD_REFUSED;
	result = rhca_hold_put(&qp->recv.hold, &qp->recv.lock, &qp->base, rx,
			       qp->recv.expected_psn);
	if (result == RHCA_HOLD_TWICE)
		rhca_qp_count(&qp->base, RHCA_DUPLICATE_REQUEST);
	return result;
}

/* Requests after a pending SEND with Invalidate wait, too */
static void hold_until_invalid(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	bool is_new = !rhca_psn_before(rx->psn, qp->recv.expected_psn);

	if (is_new && hold(qp, rx) != RHCA_HOLD_REFUSED)
		return;
	qp->recv.late_missed |= is_new;
	rhca_rx_drop(&qp->base, rx, RHCA_RX_DROPPED_NO_RESOURCE);
}

static enum rhca_request_status check_and_execute(struct rhca_sw_qp *qp,
						  const struct rhca_rx *rx)
{
	enum rhca_request_status status;

	if (qp->recv.invalidating) {
		hold_until_invalid(qp, rx);
		return RHCA_DROP;
	}
	status = rhca_request_check(qp, rx);
	if (status != RHCA_PASS)
		return status;
	return qp->recv.fatal ? RHCA_DROP : rhca_request_execute(qp, rx);
}

static void ask_for_missing(struct rhca_sw_qp *qp)
{
	rhca_answer(qp, rhca_syndrome(RHCA_AETH_NAK, RHCA_NAK_PSN),
		    qp->recv.expected_psn);
}

static struct rhca_arrival arrival_of(const struct rhca_sw_qp *qp,
				      const struct rhca_rx *rx)
{
	return (struct rhca_arrival) {
		.now	  = rhca_now(),
		.psn	  = rx->psn,
		.expected = qp->recv.expected_psn,
		.num_held = rhca_hold_num(qp->recv.hold),
		.ack_req  = rhca_bth_ack_req(rx->bth) || (rx->flags & RHCA_OP_RESOURCE),
		.is_read  = rx->flags & RHCA_OP_RESOURCE,
	};
}

/* Send a NAK for what is missing, or wait in case it is only late */
static void ask_or_wait(struct rhca_sw_qp *qp, bool ask, u64 now)
{
	struct rhca_wheel_timer *timer = &qp->send.recovery->wait_timer;
	u64 due = rhca_hold_rule_due(&qp->recv.rule);

	if (ask)
		ask_for_missing(qp);
	else if (due > now && !rhca_wheel_is_queued(timer))
		rhca_wheel_start(timer, now, due - now);
}

/*
 * The wait for a missing request packet is over. recv.lock held, bottom halves off; the caller
 * calls rhca_responder_continue() next.
 */
void rhca_responder_waited(struct rhca_sw_qp *qp)
{
	struct rhca_responder *recv = &qp->recv;
	const struct rhca_arrival arrival = {
		.now	  = rhca_now(),
		.expected = recv->expected_psn,
		.num_held = rhca_hold_num(recv->hold),
	};

	lockdep_assert_held(&recv->lock);
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_RECEIVE) || recv->invalidating)
		return;
	ask_or_wait(qp, rhca_hold_rule_waited(&recv->rule, &arrival), arrival.now);
}

static void take_ahead(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	enum rhca_hold_result result;
	struct rhca_arrival arrival;

	rhca_qp_count(&qp->base, RHCA_OUT_OF_SEQUENCE);
	if (recv->fatal || recv->not_ready)
		return;
	result = hold(qp, rx);
	arrival = arrival_of(qp, rx);
	arrival.twice = result == RHCA_HOLD_TWICE;
	arrival.refused = result == RHCA_HOLD_REFUSED;
	ask_or_wait(qp, rhca_hold_rule_ahead(&recv->rule, &arrival), arrival.now);
}

/* Process held packets as if they arrived now */
static void drain(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_rx rx __uninitialized;
	enum rhca_request_status status;
	struct sk_buff *skb;

	while (!recv->invalidating) {
		skb = rhca_hold_take(recv->hold, recv->expected_psn);
		if (!skb)
			break;
		rhca_hold_restore(recv->hold, skb, &rx);
		status = check_and_execute(qp, &rx);
		if (status == RHCA_PASS)
			accept(qp, &rx, recv->answer_waits &&
			       rhca_syndrome_is_ack(recv->answer_syndrome), batch);
		else
			reject(qp, &rx, status, batch);
		consume_skb(skb);
	}
}

static void take_expected(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			  struct rhca_batch *batch)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_arrival arrival;

	accept(qp, rx, false, batch);
	if (likely(!rhca_hold_num(recv->hold) &&
		   !rhca_hold_rule_open(&recv->rule))) {
		rhca_hold_rule_in_order(&recv->rule, rx->psn);
		return;
	}
	recv->not_ready = false;
	drain(qp, batch);
	if (recv->fatal || recv->invalidating || recv->not_ready) {
		recv->reorder.missed_at = 0;
		return;
	}
	arrival = arrival_of(qp, rx);
	ask_or_wait(qp, rhca_hold_rule_filled(&recv->rule, &arrival), arrival.now);
}

static void take_duplicate(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_arrival arrival = arrival_of(qp, rx);
	enum rhca_dup_reply reply = rhca_hold_rule_duplicate(&qp->recv.rule, &arrival);

	if (reply == RHCA_DUP_REPLAY || (rx->flags & RHCA_OP_RESOURCE))
		rhca_replay(qp, rx);
	else
		rhca_qp_count(&qp->base, RHCA_DUPLICATE_REQUEST);
	ask_or_wait(qp, reply == RHCA_DUP_NAK, arrival.now);
}

static void note_srq_limit(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	batch->srq_limit |= qp->recv.srq_limit_reached;
	qp->recv.srq_limit_reached = false;
}

/*
 * Process a request, ICRC checked. The caller calls rhca_responder_continue() after all packets
 * that arrived together, to send the answers. recv.lock held, bottom halves off, RCU read side.
 */
void rhca_responder_take(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			 struct rhca_batch *batch)
{
	enum rhca_request_status status;

	lockdep_assert_held(&qp->recv.lock);
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_RECEIVE)) {
		rhca_rx_drop(&qp->base, rx, RHCA_RX_DROPPED_QP_STATE);
		return;
	}
	status = check_and_execute(qp, rx);
	switch (status) {
	case RHCA_PASS:
		take_expected(qp, rx, batch);
		break;
	case RHCA_DUPLICATE:
		take_duplicate(qp, rx);
		break;
	case RHCA_PSN_GAP:
		take_ahead(qp, rx);
		break;
	default:
		reject(qp, rx, status, batch);
		break;
	}
	note_srq_limit(qp, batch);
}

/* --- answers ------------------------------------------------------------------ */

/*
 * Complete the pending SEND with Invalidate once the memory is unused, 10.6.5. Requests that
 * arrived meanwhile were held, or were dropped and need a NAK. recv.lock held by the owner of the
 * turn. Returns false if the memory is still in use: the turn ends with a pause.
 */
bool rhca_responder_invalidate(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_responder *recv = &qp->recv;

	lockdep_assert_held(&recv->lock);
	rhca_mem_release(&recv->held);	/* do not wait for ourselves */
	if (rhca_key_is_idle(qp->base.dev, recv->invalid_key)) {
		recv->invalidating = false;
		rhca_responder_complete(qp, &recv->late_wc, recv->late_solicited, batch);
		drain(qp, batch);
		note_srq_limit(qp, batch);
	}
	if (recv->invalidating) {	/* still, or again by a held SEND */
		rhca_pause_recv(qp, RHCA_PAUSE_MEM_BUSY, RHCA_MEM_BUSY_NS);
		return false;
	}
	if (recv->fatal || recv->not_ready)
		return true;
	recv->rule.nak_sent = false;	/* it was for this SEND, or an earlier packet */
	if ((recv->late_missed || rhca_hold_num(recv->hold)) &&
	    rhca_hold_rule_asks(&recv->rule, recv->expected_psn))
		ask_for_missing(qp);
	return true;
}

/**
 * rhca_responder_reset - Reset the responder to its initial state
 * @qp: a QP in RESET; recv.lock held
 */
void rhca_responder_reset(struct rhca_sw_qp *qp)
{
	struct rhca_responder *recv = &qp->recv;

	recv->expected_psn = 0;
	recv->msn = 0;
	recv->in_message = false;
	recv->established_reported = false;
	rhca_hold_rule_reset(&recv->rule);
	rhca_hold_free(&recv->hold);
	recv->newest_resource = 0;
	recv->sending_resource = 0;
	recv->has_responded = false;
	recv->placed = 0;
	recv->fault_ns = 0;
	recv->answer_waits = false;
	recv->fatal = RHCA_PASS;
	recv->have_wqe = false;
	recv->invalidating = false;
	recv->not_ready = false;
	recv->backoff = (struct rhca_block_backoff){};
	memset(recv->resources, 0,
	       recv->num_resources * sizeof(*recv->resources));
	if (!qp->base.srq)
		rhca_rq_reset(&qp->base.rq);
}
