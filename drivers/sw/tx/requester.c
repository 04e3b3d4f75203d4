// SPDX-License-Identifier: GPL-2.0
/*
 * Requester, IBTA vol. 1, 9.7.2-9.7.3: starts and continues send requests. A request stays in the
 * queue until it is acknowledged, so retransmission only rewinds to an older PSN.
 */
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/tx/requester.h"
#include "sw/tx/local_op.h"
#include "sw/tx/probe.h"
#include "sw/qp/hold.h"
#include "sw/qp/payload.h"
#include "sw/tx/ack_timeout.h"
#include "sw/tx/congestion.h"
#include "sw/tx/missing.h"
#include "sw/tx/segment.h"
#include "sw/tx/send_completion.h"
#include "sw/qp/shared.h"
#include "sw/qp/turn_sched.h"
#include "sw/packet/transmit.h"
#include "sw/tx/send_sched.h"
#include "sw/tx/window.h"
#include "sw/verbs/section.h"
#include "wire/psn.h"

/* --- order ---------------------------------------------------------------- */

/* May a request start now? Fences and the order of local operations, 10.8.3.3 */
static bool may_begin(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe)
{
	struct rhca_requester *send = &qp->send;

	if (!send->may_transmit)
		return false;
	if ((wqe->send_flags & IB_SEND_FENCE) && send->reads_in_flight)
		return false;
	if (wqe->opcode == IB_WR_LOCAL_INV)
		return send->next == qp->base.sq.head;
	if (rhca_wqe_is_local(wqe))
		return !rhca_requester_is_far(qp, send->next);
	return true;
}

static void advance(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe,
		    const struct rhca_segment *seg)
{
	struct rhca_requester *send = &qp->send;

	if (rhca_psn_before(send->next_psn, send->newest_psn))
		rhca_qp_count(&qp->base, RHCA_TX_RETRANSMITTED_PACKETS);
	send->fault_ns = 0;
	send->since_ack_req = seg->fields.ack_req ? 0 : send->since_ack_req + 1;
	if (seg->fields.ack_req && send->next_psn == send->newest_psn &&
	    rhca_rtt_is_due(&send->rtt, send->next_psn))
		rhca_rtt_begin(&send->rtt, send->next_psn,
			       ktime_get_mono_fast_ns());
	if (rhca_wqe_is_read(wqe))
		send->reads_in_flight++;
	send->next_psn = rhca_psn_add(send->next_psn, seg->psns);
	if (!rhca_is_rc(&qp->base))	/* never acknowledged */
		send->oldest_unacked_psn = send->next_psn;
	if (rhca_psn_before(send->newest_psn, send->next_psn))
		send->newest_psn = send->next_psn;
	send->next_offset += seg->advance;
	if (send->next_offset < wqe->length)
		return;
	send->next_offset = 0;
	send->next++;
	wqe->done = !rhca_is_rc(&qp->base);
}

/* --- one step ------------------------------------------------------------- */

enum step {
	STEP_WAIT,	/* nothing can be sent now */
	STEP_LOCAL,	/* something was done without a packet */
	STEP_PACKET,
	STEP_FAILED,	/* the QP has left its state */
};

/* A bad request fails only after all earlier ones have completed, to keep the order */
static enum step step_bad(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe,
			  struct rhca_batch *batch)
{
	rhca_requester_retire(qp, batch);
	if (qp->base.sq.head != qp->send.next)
		return STEP_WAIT;
	rhca_requester_fail(qp, wqe->status, batch);
	return STEP_FAILED;
}

static enum step step_local(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe,
			    struct rhca_batch *batch)
{
	int ret;

	if (!rhca_is_rc(&qp->base))	/* sent requests are done, but may still be queued */
		rhca_requester_retire(qp, batch);
	if (!may_begin(qp, wqe))
		return STEP_WAIT;
	rhca_mem_release(&qp->send.held);	/* do not wait for ourselves */
	ret = rhca_local_execute(&qp->base, wqe);
	if (ret == -EINPROGRESS) {
		/* Packets of other QPs are still being copied: retry later */
		rhca_pause_send(qp, RHCA_PAUSE_MEM_BUSY, RHCA_MEM_BUSY_NS);
		return STEP_WAIT;
	}
	if (ret) {
		wqe->status = IB_WC_MW_BIND_ERR;
		return step_bad(qp, wqe, batch);
	}
	wqe->done = true;
	qp->send.next++;
	rhca_requester_retire(qp, batch);
	return STEP_LOCAL;
}

/*
 * A response whose destination is not resident would have to be requested again, so fault the pages
 * in first. They may be evicted before it arrives, but seldom are.
 */
static enum ib_wc_status place_for_answer(struct rhca_sw_qp *qp,
					  const struct rhca_send_wqe *wqe,
					  const struct rhca_segment *seg)
{
	struct rhca_span span = rhca_send_span(qp, wqe, qp->send.next_offset,
					       seg->advance);

	if ((wqe->opcode != IB_WR_RDMA_READ && !rhca_wqe_is_atomic(wqe)) ||
	    !atomic_read(&qp->base.dev->num_on_demand))
		return IB_WC_SUCCESS;
	return rhca_scatter_ready(&qp->base, &span);
}

static void add_to_shared(struct rhca_sw_qp *qp, struct rhca_packet *packet,
			  struct rhca_batch *batch)
{
	batch->in_shared = rhca_shared_add(batch->shared, packet, qp);
	if (!batch->in_shared)
		return;
	rhca_block_sent(&qp->send.backoff, 1);
}

static enum step wait_for_peer(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe)
{
	const struct rhca_requester *send = &qp->send;
	u32 in_flight = rhca_requester_in_flight(send);

	trace_rhca_window(rhca_qp_dev_name(&qp->base), qp->base.number, send->next_psn,
			  in_flight, send->cwnd.packets, send->reads_in_flight,
			  READ_ONCE(qp->base.attr.max_rd_atomic),
			  in_flight >= send->cwnd.packets ? "window" :
			  rhca_wqe_is_read(wqe) ? "reads" : "credit");
	return STEP_WAIT;
}

static enum step step_packet(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe,
			     struct rhca_tx_list *tx, struct rhca_batch *batch)
{
	struct rhca_path *path = rhca_is_datagram(&qp->base) ? wqe->path :
				 rcu_dereference(qp->base.path);
	enum ib_wc_status status;
	struct rhca_packet packet __uninitialized;
	struct rhca_segment seg __uninitialized;

	if (!path)
		return STEP_WAIT;
	if (!wqe->numbered) {
		if (!may_begin(qp, wqe))
			return STEP_WAIT;
		if (rhca_wqe_is_read(wqe) && !READ_ONCE(qp->base.attr.max_rd_atomic)) {
			wqe->status = IB_WC_LOC_QP_OP_ERR;
			return step_bad(qp, wqe, batch);
		}
		rhca_wqe_number(qp, wqe);
	}
	if (!rhca_requester_window_open(qp, wqe))
		return wait_for_peer(qp, wqe);
	if (tx->path != path)
		rhca_tx_list_set_path(tx, path);
	rhca_segment_plan(qp, wqe, path, &seg);
	status = place_for_answer(qp, wqe, &seg);
	if (status == IB_WC_SUCCESS)
		status = rhca_segment_build(qp, wqe, &seg, &packet, tx);
	if (status == RHCA_WC_PAGE_FAULT) {
		rhca_pause_send(qp, RHCA_PAUSE_PAGE_FAULT,
				rhca_fault_pause(&qp->send.fault_ns));
		return STEP_WAIT;
	}
	if (status != IB_WC_SUCCESS) {
		wqe->status = status;
		rhca_tx_list_send(tx);
		return step_bad(qp, wqe, batch);
	}
	if (packet.shared)
		add_to_shared(qp, &packet, batch);
	else
		rhca_tx_list_add(tx, &packet);
	batch->sent_bytes += seg.payload_bytes;
	advance(qp, wqe, &seg);
	return STEP_PACKET;
}

static enum step step(struct rhca_sw_qp *qp, struct rhca_tx_list *tx,
		      struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_send_wqe *wqe;

	if (!rhca_requester_has_request(qp, send->next))
		return STEP_WAIT;
	wqe = rhca_sq_wqe(&qp->base.sq, send->next);
	if (wqe->done) {		/* a local request, already done before a rewind */
		send->next++;
		return STEP_LOCAL;
	}
	if (wqe->status != IB_WC_SUCCESS)
		return wqe->numbered || send->may_transmit ?
			step_bad(qp, wqe, batch) : STEP_WAIT;
	if (rhca_wqe_is_local(wqe))
		return step_local(qp, wqe, batch);
	return step_packet(qp, wqe, tx, batch);
}

static void repeat_refused(struct rhca_sw_qp *qp, u32 psn)
{
	struct rhca_requester *send = &qp->send;

	if (rhca_psn_before(psn, send->oldest_unacked_psn))
		psn = send->oldest_unacked_psn;
	rhca_requester_congested(qp, psn);
	if (!send->hole_due)
		rhca_requester_repeat(qp, psn, "local queue");
	rhca_pause_send(qp, RHCA_PAUSE_LOCAL_FULL, RHCA_QUEUE_FULL_NS);
}

/*
 * Only RC can retransmit what the local queue refused; other QPs lose it. They pause as well:
 * otherwise the queue would drop packets as fast as they are built.
 */
static void end_tx_list(struct rhca_sw_qp *qp, struct rhca_tx_list *tx)
{
	if (!tx->path)
		return;
	rhca_tx_list_send(tx);
	if (!tx->refused)
		return;
	if (rhca_is_rc(&qp->base))
		repeat_refused(qp, tx->refused_psn);
	else
		rhca_pause_send(qp, RHCA_PAUSE_LOCAL_FULL, RHCA_QUEUE_FULL_NS);
}

/* Was the head sent and rewound to its start? Then rhca_requester_sent_end() misses it */
static bool repeats_head(const struct rhca_sw_qp *qp)
{
	const struct rhca_sq *sq = &qp->base.sq;
	const struct rhca_send_wqe *wqe = rhca_sq_wqe(sq, sq->head);

	return sq->head != qp->send.posted_end && wqe->numbered && !wqe->done;
}

static void check_drained(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;

	if (READ_ONCE(qp->base.state) != IB_QPS_SQD || send->drain_reported ||
	    rhca_requester_sent_end(send) != qp->base.sq.head ||
	    repeats_head(qp))
		return;
	send->drain_reported = true;
	if (READ_ONCE(qp->base.attr.en_sqd_async_notify))
		rhca_batch_event(batch, IB_EVENT_SQ_DRAINED);
}

/*
 * The newest packet did not request an ACK because another request was to follow at once; but that
 * one is bad, its memory is busy, or the QP is in SQD. Resend the packet with AckReq set.
 */
static void ask_if_stuck(struct rhca_sw_qp *qp, struct rhca_tx_list *tx,
			 struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;

	if (!rhca_is_rc(&qp->base) || !send->since_ack_req ||
	    !rhca_requester_in_flight(send) || tx->refused)
		return;
	rhca_requester_rewind(qp, rhca_psn_sub(send->next_psn, 1));
	send->ask_psn = send->next_psn;
	step(qp, tx, batch);
}

/* Retransmit one packet before any new one, then continue sending where it stopped */
static enum step repeat_hole(struct rhca_sw_qp *qp, struct rhca_tx_list *tx,
			     struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	u32 next = send->next, next_offset = send->next_offset;
	u32 next_psn = send->next_psn, reads = send->reads_in_flight, end;
	enum step did;
	u64 timed;

	send->hole_due = false;
	if (rhca_psn_before(send->recovery->hole_psn, send->oldest_unacked_psn) ||
	    !rhca_psn_before(send->recovery->hole_psn, next_psn))
		return STEP_WAIT;	/* acknowledged meanwhile, or not sent since a rewind */
	timed = send->rtt.sent_at;
	rhca_requester_rewind(qp, send->recovery->hole_psn);
	/* After a probe it may not be lost: keep timing a later packet */
	if (send->recovery->rule.probed && send->rtt.psn != send->recovery->hole_psn &&
	    !rhca_hold_num(send->recovery->hold))
		send->rtt.sent_at = timed;
	send->ask_psn = send->next_psn;
	did = step(qp, tx, batch);
	if (did == STEP_FAILED)
		return did;
	end = send->next_psn;
	rhca_tx_list_send(tx);
	send->hole_due = tx->refused ||
			 (did == STEP_WAIT && send->pause == RHCA_PAUSE_PAGE_FAULT);
	if (did == STEP_PACKET && !tx->refused)
		rhca_missing_asked(qp, send->recovery->hole_psn, end);
	send->next = next;
	send->next_offset = next_offset;
	send->next_psn = next_psn;
	send->reads_in_flight = reads;
	return did;
}

/* False if the QP has left its state. send.hole_due may stay set if @left is used up */
static bool repeat_holes(struct rhca_sw_qp *qp, struct rhca_tx_list *tx,
			 struct rhca_batch *batch, struct rhca_allowance *left)
{
	enum step did;
	u32 before;

	do {
		before = batch->sent_bytes;
		did = repeat_hole(qp, tx, batch);
		if (did != STEP_PACKET)
			break;
		left->packets--;
		left->bytes -= batch->sent_bytes - before;
	} while (rhca_missing_due(qp) && rhca_allows(left, qp->base.mtu_bytes));
	return did != STEP_FAILED;
}

/*
 * Nothing to send, to solicit or to retransmit, as after most acknowledgements when many QPs are
 * active: no transmit list is needed.
 */
static bool all_sent(struct rhca_sw_qp *qp)
{
	const struct rhca_requester *send = &qp->send;

	return rhca_is_rc(&qp->base) && !send->since_ack_req && !send->hole_due &&
	       !rhca_requester_has_request(qp, send->next);
}

static bool has_more(struct rhca_sw_qp *qp)
{
	return qp->send.hole_due || rhca_requester_has_request(qp, qp->send.next);
}

/*
 * A turn sends this much (a block, some microseconds) before it yields send.lock to a waiter,
 * usually an acknowledgement on another CPU.
 */
#define UNTIL_OTHERS_BYTES	(64U << 10)

static bool gives_way(struct rhca_sw_qp *qp, u32 first_psn)
{
	struct rhca_requester *send = &qp->send;

	return !send->next_offset && spin_is_contended(&send->lock) &&
	       rhca_psn_diff(send->next_psn, first_psn) * qp->base.mtu_bytes >=
			UNTIL_OTHERS_BYTES;
}

/*
 * The window bounds first transmissions of RC, see RHCA_TX_MEMORY_MAX. After a retransmission they
 * are charged as well: GRO behind a veth keeps the order only within one owner.
 */
static bool sends_first_copies(const struct rhca_requester *send)
{
	return send->next_psn == send->newest_psn && !send->hole_due &&
	       (!send->recovering || rhca_recover_is_over(&send->recovery->rule));
}

static bool may_go_on(const struct rhca_sw_qp *qp, const struct rhca_tx_list *tx)
{
	const struct rhca_requester *send = &qp->send;

	return !tx->refused &&
	       (rhca_requester_sends_new(send) ||
		rhca_psn_before(send->next_psn, send->newest_psn));
}

/* A retransmission may have waited for the rate: its ACK timeout starts now */
static void excuse_wait(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	if (!send->recovering || send->recovery->excused ||
	    !(send->hole_due || rhca_psn_before(send->next_psn, send->newest_psn)))
		return;
	send->recovery->excused = true;
	rhca_restart_ack_timer(qp);
}

/* Limit @packets to what the QP's rate allows; if that is none, the turn ends with a pause */
static bool may_send(struct rhca_sw_qp *qp, u32 *packets)
{
	u64 wait_ns = 0;

	*packets = min(*packets, rhca_pace_packets(qp, &wait_ns));
	if (*packets)
		excuse_wait(qp);
	else
		rhca_pause_send(qp, RHCA_PAUSE_PACE, wait_ns);
	/* A pause may follow the last of them: have it acknowledged meanwhile */
	qp->send.ask_psn = qp->send.next_psn + *packets - 1;
	return *packets;
}

/* Do all pending requests fit into @packets and @bytes? */
static bool rest_fits(struct rhca_sw_qp *qp, u32 packets, u32 bytes)
{
	u32 index = qp->send.next, from = qp->send.next_offset, here;

	for (; rhca_requester_has_request(qp, index); index++, from = 0) {
		here = rhca_sq_wqe(&qp->base.sq, index)->length - from;
		if (!packets-- || here > bytes)
			return false;
		bytes -= here;
	}
	return true;
}

/* Unless the rest fits into this turn, stop at a full block: the next turn starts a new one */
static bool has_bytes_left(struct rhca_sw_qp *qp, const struct rhca_tx_list *tx,
			   u32 packets, u32 bytes)
{
	if (!RHCA_SECTION_COUNTS_BYTES)
		return true;
	return (s32)bytes >= (s32)qp->base.mtu_bytes &&
	       (likely(!rhca_block_is_full(&tx->block)) ||
		rest_fits(qp, packets, bytes));
}

/* Send until nothing is pending or @left is used up. Returns the last step */
static enum step send_steps(struct rhca_sw_qp *qp, struct rhca_tx_list *tx,
			    struct rhca_batch *batch, struct rhca_allowance *left)
{
	u32 bytes_end = batch->sent_bytes + left->bytes;
	u32 first_psn = qp->send.next_psn;
	u32 packets = left->packets;
	enum step did;

	do {
		did = may_go_on(qp, tx) ? step(qp, tx, batch) : STEP_WAIT;
		if (did == STEP_WAIT || did == STEP_FAILED)
			break;
		packets--;
	} while (packets &&
		 has_bytes_left(qp, tx, packets, bytes_end - batch->sent_bytes) &&
		 !gives_way(qp, first_psn) && !tx->refused && !batch->in_shared);
	left->packets = packets;
	left->bytes = bytes_end - batch->sent_bytes;
	return did;
}

/*
 * Send what may be sent. @resumed: the pause that has just ended; after LOCAL_FULL the ACK timeout
 * restarts. @left: what the section allows.
 */
static enum rhca_turn_end send_all(struct rhca_sw_qp *qp, struct rhca_batch *batch,
				   enum rhca_pause resumed, struct rhca_allowance left)
{
	struct rhca_requester *send = &qp->send;
	bool again = resumed == RHCA_PAUSE_LOCAL_FULL;
	bool was_idle = send->newest_psn == send->oldest_unacked_psn && !again;
	bool rc = rhca_is_rc(&qp->base);
	struct rhca_tx_list tx __uninitialized;
	u32 most, bytes_before = batch->sent_bytes;
	bool paced = rhca_is_paced(qp);
	bool uncharged = rc && sends_first_copies(send);
	enum step did = STEP_LOCAL;

	if (!uncharged && rhca_tx_memory_full(&qp->base)) {
		rhca_pause_send(qp, RHCA_PAUSE_LOCAL_FULL, RHCA_QUEUE_FULL_NS);
		return RHCA_END_PAUSE;
	}
	if (paced && !may_send(qp, &left.packets))
		return RHCA_END_PAUSE;
	most = left.packets;
	send->may_transmit = rhca_qp_half_can(&qp->base, RHCA_QP_TRANSMIT);
	rhca_tx_list_begin(&tx, &qp->base,
			   rc ? rcu_dereference(qp->base.path) : NULL,
			   &send->backoff);
	tx.uncharged = uncharged;
	rhca_tx_list_keep_queue(&tx, &send->tx_cpu,
				rc ? was_idle : !rhca_tx_memory_used(&qp->base));
	if (send->hole_due && !repeat_holes(qp, &tx, batch, &left))
		return RHCA_END_EMPTY;
	tx.shared = rc && !paced ? batch->shared : NULL;
	/* If a retransmission must wait for a page, new packets wait after it */
	if (!send->hole_due && rhca_allows(&left, qp->base.mtu_bytes))
		did = send_steps(qp, &tx, batch, &left);
	batch->sent += most - left.packets;
	rhca_section_use(most - left.packets, batch->sent_bytes - bytes_before);
	if (did == STEP_WAIT && rhca_requester_sends_new(send))
		ask_if_stuck(qp, &tx, batch);
	end_tx_list(qp, &tx);
	if (paced)
		rhca_pace_sent(qp, tx.sent_packets, tx.sent_bytes);
	if (did == STEP_FAILED)
		return RHCA_END_EMPTY;
	if (!rc)	/* never acknowledged */
		rhca_requester_retire(qp, batch);
	/* The deadline may be from an older exchange; a refused packet keeps its own */
	if (was_idle || (again && send->pause != RHCA_PAUSE_LOCAL_FULL))
		rhca_restart_ack_timer(qp);
	rhca_arm_ack_timer(qp);
	rhca_probe_arm(qp);
	return did != STEP_WAIT && has_more(qp) ? RHCA_END_MORE : RHCA_END_EMPTY;
}

/* The shared block with the QP's only packet was sent; retransmit if the local queue refused it */
static void take_refusal(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	if (!send->shared_refused)
		return;
	send->shared_refused = false;
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_COMPLETE))
		return;
	rhca_block_lost(&send->backoff);
	repeat_refused(qp, send->oldest_unacked_psn);
	rhca_arm_ack_timer(qp);
}

/* Is the QP still paused? If not, end the pause and return it in @resumed */
static bool is_paused(struct rhca_requester *send, enum rhca_pause *resumed)
{
	*resumed = send->pause;
	if (send->pause && ktime_get_ns() < send->turn.not_before)
		return true;
	send->pause = RHCA_NO_PAUSE;
	return false;
}

/* The peer is alive: restore the retries and restart the ACK timeout */
static void end_rnr(struct rhca_sw_qp *qp)
{
	qp->send.retries_left = READ_ONCE(qp->base.attr.retry_cnt);
	rhca_restart_ack_timer(qp);
	rhca_probe_resumed(&qp->send);
}

static enum rhca_turn_end send_in_turn(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	enum rhca_turn_end end = RHCA_END_EMPTY;
	struct rhca_allowance left;
	enum rhca_pause resumed;
	bool nothing;

	take_refusal(qp);
	if (rhca_qp_half_can(&qp->base, RHCA_QP_FLUSH_SEND)) {
		qp->send.pause = RHCA_NO_PAUSE;
		rhca_requester_flush(qp, batch);
		return end;
	}
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_COMPLETE))
		return end;
	left = rhca_section_left();
	nothing = all_sent(qp);
	if (!nothing && !rhca_allows(&left, qp->base.mtu_bytes))
		return RHCA_END_MORE;
	if (is_paused(&qp->send, &resumed))
		return RHCA_END_PAUSE;
	if (resumed == RHCA_PAUSE_RNR)
		end_rnr(qp);
	if (unlikely(qp->send.recovering) && resumed && resumed != RHCA_PAUSE_PACE)
		rhca_recover_waited(&qp->send.recovery->rule);
	if (resumed != RHCA_PAUSE_LOCAL_FULL && nothing)
		rhca_arm_ack_timer(qp);
	else
		end = send_all(qp, batch, resumed, left);
	check_drained(qp, batch);
	if (batch->in_shared)
		return RHCA_END_LENT;
	return qp->send.pause ? RHCA_END_PAUSE : end;
}

/*
 * Is there nothing to do but wait for answers or new requests? Then an acknowledgement needs no
 * turn, since a new post starts one. Bottom halves off, RCU read side.
 */
bool rhca_requester_is_waiting(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	lockdep_assert_held(&qp->send.lock);
	if (qp->send.pause || qp->send.shared_refused || !all_sent(qp))
		return false;
	rhca_arm_ack_timer(qp);
	check_drained(qp, batch);
	return true;
}

/* Run the turn that the caller owns, and end it. Bottom halves off, RCU read side */
void rhca_requester_run(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_shared_block *shared = batch->shared;
	struct rhca_requester *send = &qp->send;
	enum rhca_turn_end end;

	lockdep_assert_held(&send->lock);
	if (shared)
		swap(send->held, shared->held);
	rhca_turn_see_kicks(&send->turn);
	end = send_in_turn(qp, batch);
	if (shared)
		rhca_shared_keep(shared, &send->held);
	rhca_mem_release(&send->held);
	rhca_turn_finish(&send->turn, end, send->pause);
}

/**
 * rhca_requester_empty - Drop what has been posted
 * @qp: a QP that has not been in RTS since RESET
 *
 * Context: send.lock held.
 */
void rhca_requester_empty(struct rhca_sw_qp *qp)
{
	rhca_sq_reset(&qp->base);
	qp->send.next = qp->base.sq.head;
	qp->send.posted_end = qp->base.sq.tail;
}

/**
 * rhca_requester_reset - Reset the requester to its initial state
 * @qp: a QP in RESET
 *
 * Context: send.lock held.
 */
void rhca_requester_reset(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	rhca_requester_empty(qp);
	send->next_offset = 0;
	send->next_psn = 0;
	send->oldest_unacked_psn = 0;
	send->newest_psn = 0;
	send->since_ack_req = 0;
	send->reads_in_flight = 0;
	send->ssn = 0;
	send->probe_ssn = 0;
	send->limited = false;
	send->pause = RHCA_NO_PAUSE;
	send->fault_ns = 0;
	send->repeating = false;
	rhca_probe_reset(qp);
	send->backoff = (struct rhca_block_backoff){};
}
