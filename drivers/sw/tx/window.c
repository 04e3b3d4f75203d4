// SPDX-License-Identifier: GPL-2.0
/* Window of a requester: where sending continues, and whether a packet may follow. */
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/tx/window.h"
#include "sw/tx/local_op.h"

/* READ and atomic requests of @wqe that start before @psn and still await responses */
static u32 reads_open_before(const struct rhca_requester *send,
			     const struct rhca_send_wqe *wqe, u32 psn)
{
	u32 from = wqe->first_psn, to = wqe->last_psn;

	if (!rhca_wqe_is_read(wqe))
		return 0;
	if (rhca_psn_before(from, send->oldest_unacked_psn))
		from = send->oldest_unacked_psn;
	if (!rhca_psn_before(to, psn))
		to = rhca_psn_sub(psn, 1);
	if (rhca_psn_before(to, from))
		return 0;
	return rhca_psn_diff(to, wqe->first_psn) / wqe->chunk -
	       rhca_psn_diff(from, wqe->first_psn) / wqe->chunk + 1;
}

/**
 * rhca_requester_rewind - Continue sending from an older PSN
 * @qp: the QP
 * @psn: PSN to send next, not before the oldest unacknowledged one
 */
void rhca_requester_rewind(struct rhca_sw_qp *qp, u32 psn)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_sq *sq = &qp->base.sq;
	struct rhca_send_wqe *wqe;
	u32 reads = 0;
	u32 index;

	lockdep_assert_held(&send->lock);
	if (WARN_ON_ONCE(rhca_psn_before(psn, send->oldest_unacked_psn)))
		psn = send->oldest_unacked_psn;
	send->next_offset = 0;
	for (index = sq->head; index != send->posted_end; index++) {
		wqe = rhca_sq_wqe(sq, index);
		if (wqe->done)
			continue;
		if (!wqe->numbered)
			break;
		reads += reads_open_before(send, wqe, psn);
		if (!rhca_psn_before(wqe->last_psn, psn)) {
			if (rhca_psn_before(wqe->first_psn, psn))
				send->next_offset = qp->base.mtu_bytes *
					rhca_psn_diff(psn, wqe->first_psn);
			break;
		}
	}
	send->next = index;
	send->next_psn = psn;
	send->reads_in_flight = reads;
	send->since_ack_req = 0;
	send->hole_due = false;
	rhca_rtt_forget(&send->rtt, psn);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_requester_rewind);

/**
 * rhca_requester_repeat - rhca_requester_rewind() because of a loss
 * @qp: the QP
 * @psn: PSN to send next, not before the oldest unacknowledged one
 * @cause: reason, for the tracepoint
 *
 * Context: send.lock held.
 */
void rhca_requester_repeat(struct rhca_sw_qp *qp, u32 psn, const char *cause)
{
	struct rhca_requester *send = &qp->send;

	trace_rhca_retransmit(rhca_qp_dev_name(&qp->base), qp->base.number, psn,
			      send->next_psn, cause, send->retries_left);
	rhca_reorder_repeated(&send->recovery->reorder, psn);
	send->recovery->again_end = send->newest_psn;
	rhca_recover_repeats(&send->recovery->rule, send->newest_psn);
	send->recovering = true;
	send->recovery->nak_sent_at = 0;
	rhca_requester_rewind(qp, psn);
}

static void trace_cwnd(const struct rhca_sw_qp *qp)
{
	const struct rhca_requester *send = &qp->send;

	trace_rhca_cwnd(rhca_qp_dev_name(&qp->base), qp->base.number,
			send->cwnd.packets, rhca_requester_in_flight(send),
			send->rtt.smoothed);
}

/**
 * rhca_requester_congested - A full queue has dropped a packet
 * @qp: the QP
 * @psn: of the packet
 *
 * Context: send.lock held.
 */
void rhca_requester_congested(struct rhca_sw_qp *qp, u32 psn)
{
	rhca_cwnd_lost(&qp->send.cwnd, psn, qp->send.newest_psn);
	trace_cwnd(qp);
}

/* No answer for several round trips. send.lock held. */
void rhca_requester_starved(struct rhca_sw_qp *qp)
{
	rhca_cwnd_timed_out(&qp->send.cwnd, qp->send.newest_psn);
	trace_cwnd(qp);
}

/* May @wqe start while the request before it is unacknowledged? */
static bool may_follow(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe)
{
	struct rhca_requester *send = &qp->send;
	u32 ssn = wqe->numbered ? wqe->ssn : rhca_psn_add(send->ssn, 1);

	if (wqe->status != IB_WC_SUCCESS || wqe->opcode == IB_WR_LOCAL_INV)
		return false;
	if ((wqe->send_flags & IB_SEND_FENCE) && send->reads_in_flight)
		return false;
	if (rhca_wqe_is_read(wqe) &&
	    send->reads_in_flight >= READ_ONCE(qp->base.attr.max_rd_atomic))
		return false;
	return !rhca_requester_lacks_credit(send, wqe, ssn);
}

/*
 * Will another packet follow the last one of the request at send.next? If not, that packet must
 * request an ACK. Returns true if the next request with a packet may start at once, as far as can
 * be known now.
 */
bool rhca_requester_may_continue(struct rhca_sw_qp *qp)
{
	const struct rhca_send_wqe *wqe;
	u32 index = qp->send.next + 1;

	lockdep_assert_held(&qp->send.lock);
	for (; rhca_requester_has_request(qp, index); index++) {
		if (rhca_requester_is_far(qp, index))
			return false;
		wqe = rhca_sq_wqe(&qp->base.sq, index);
		if (wqe->done)		/* a local request, already done before a rewind */
			continue;
		if (!may_follow(qp, wqe))
			return false;
		if (!rhca_wqe_is_immediate(wqe))
			return true;
	}
	return false;
}
