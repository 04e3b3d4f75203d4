// SPDX-License-Identifier: GPL-2.0
/*
 * Requester, IBTA vol. 1, 9.7.2-9.7.3: when send requests are begun, go on, and
 * are completed. A request stays in the queue until the peer has acknowledged it,
 * and "rewinding" to a PSN is all that repeating takes.
 */
#include <rhca/compat.h>

#include "sw/transport/requester.h"
#include "sw/verbs/device.h"
#include "sw/verbs/mw.h"
#include "sw/transport/payload.h"
#include "sw/transport/retry.h"
#include "sw/transport/segment.h"
#include "sw/transport/shared.h"
#include "sw/transport/transmit.h"
#include "wire/psn.h"

/* --- completions ---------------------------------------------------------- */

static const u8 wc_opcodes[] = {
	[IB_WR_RDMA_WRITE]		= IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM]	= IB_WC_RDMA_WRITE,
	[IB_WR_SEND]			= IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM]		= IB_WC_SEND,
	[IB_WR_SEND_WITH_INV]		= IB_WC_SEND,
	[IB_WR_RDMA_READ]		= IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP]	= IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD]	= IB_WC_FETCH_ADD,
	[IB_WR_LOCAL_INV]		= IB_WC_LOCAL_INV,
	[IB_WR_BIND_MW]			= IB_WC_BIND_MW,
	[IB_WR_REG_MR]			= IB_WC_REG_MR,
	[RHCA_WR_FLUSH]			= RHCA_WC_FLUSH,
	[RHCA_WR_ATOMIC_WRITE]		= RHCA_WC_ATOMIC_WRITE,
};

static void count_failure(struct rhca_sw_qp *qp, enum ib_wc_status status)
{
	const struct rhca_verbs_qp *base = &qp->base;

	rhca_qp_count(base, status == IB_WC_WR_FLUSH_ERR ?
		      RHCA_REQ_CQE_FLUSH_ERROR : RHCA_REQ_CQE_ERROR);
	switch (status) {
	case IB_WC_REM_ACCESS_ERR:
		rhca_qp_count(base, RHCA_REQ_REMOTE_ACCESS_ERRORS);
		break;
	case IB_WC_REM_INV_REQ_ERR:
		rhca_qp_count(base, RHCA_REQ_REMOTE_INVALID_REQUEST);
		break;
	case IB_WC_RETRY_EXC_ERR:
		rhca_qp_count(base, RHCA_REQ_TRANSPORT_RETRIES_EXCEEDED);
		break;
	case IB_WC_RNR_RETRY_EXC_ERR:
		rhca_qp_count(base, RHCA_REQ_RNR_RETRIES_EXCEEDED);
		break;
	default:
		break;
	}
}

/* Errors always show; success where it was asked for, 10.7.3.1 */
static bool shows(const struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		  enum ib_wc_status status)
{
	return status != IB_WC_SUCCESS ||
	       (wqe->send_flags & IB_SEND_SIGNALED) ||
	       qp->base.core.init.sq_sig_type == IB_SIGNAL_ALL_WR;
}

static void fill_wc(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		    enum ib_wc_status status, struct ib_wc *wc)
{
	*wc = (struct ib_wc) {
		.wr_id		= wqe->wr_id,
		.status		= status,
		.qp		= &qp->base.core.ibqp,
		.byte_len	= wqe->length,
	};
	if (wqe->opcode < ARRAY_SIZE(wc_opcodes))
		wc->opcode = wc_opcodes[wqe->opcode];
}

/*
 * The slots are free before the completions are visible: whoever polls them, on
 * another processor at once, may post again and must find room.
 */
static void free_and_show(struct rhca_sw_qp *qp, u32 num,
			  struct rhca_wc_list *list, struct rhca_batch *batch)
{
	rhca_sq_complete(&qp->base, num);
	if (list->num)
		batch->raise_send |= rhca_cq_post_list(rhca_send_cq(&qp->base),
						       list);
	list->num = 0;
}

/* Complete the oldest requests */
static void complete_oldest(struct rhca_sw_qp *qp, u32 num,
			    enum ib_wc_status status,
			    struct rhca_batch *batch)
{
	struct rhca_sq *sq = &qp->base.sq;
	const struct rhca_send_wqe *wqe;
	struct rhca_wc_list list;
	u32 i, end = sq->head + num;

	lockdep_assert_held(&qp->send.lock);
	if (qp->send.next - sq->head < num) {
		qp->send.next = end;
		qp->send.next_offset = 0;
	}
	list.num = 0;
	list.solicited = 0;
	for (i = sq->head; i != end; i++) {
		wqe = rhca_sq_wqe(sq, i);
		if (shows(qp, wqe, status))
			fill_wc(qp, wqe, status, &list.wc[list.num++]);
		if (list.num == RHCA_WC_LIST_MOST || i + 1 == end)
			free_and_show(qp, i + 1 - sq->head, &list, batch);
	}
}

static void complete_head(struct rhca_sw_qp *qp, enum ib_wc_status status,
			  struct rhca_batch *batch)
{
	if (status != IB_WC_SUCCESS)
		count_failure(qp, status);
	complete_oldest(qp, 1, status, batch);
}

static bool is_acknowledged(const struct rhca_requester *send,
			    const struct rhca_send_wqe *wqe)
{
	return wqe->done || (wqe->numbered &&
			     rhca_psn_before(wqe->last_psn,
					     send->oldest_unacked_psn));
}

/**
 * rhca_requester_retire - Complete what the peer has acknowledged, in order
 * @qp: the QP
 * @batch: collects events
 *
 * Context: send.lock held.
 */
void rhca_requester_retire(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_sq *sq = &qp->base.sq;
	u32 end = sq->head;

	lockdep_assert_held(&send->lock);
	while (end != rhca_requester_sent_end(send) &&
	       is_acknowledged(send, rhca_sq_wqe(sq, end)))
		end++;
	if (end != sq->head)
		complete_oldest(qp, end - sq->head, IB_WC_SUCCESS, batch);
}

/**
 * rhca_requester_flush - Complete everything as flushed, 10.8.5
 * @qp: the QP; in another state than ERR or SQE nothing is done: who found it
 *	there may come late, and what is posted by now is not to be flushed
 * @batch: collects events
 *
 * Context: send.lock held.
 */
void rhca_requester_flush(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	u32 budget = RHCA_FLUSH_BUDGET;

	lockdep_assert_held(&qp->send.lock);
	if (!rhca_qp_can(&qp->base, RHCA_QP_FLUSH_SEND))
		return;
	timer_delete(&qp->send.ack_timer);
	while (rhca_requester_has_request(qp, qp->base.sq.head)) {
		if (!budget--) {
			batch->flush_more = true;
			return;
		}
		complete_head(qp, IB_WC_WR_FLUSH_ERR, batch);
		batch->flushed++;
	}
}

/**
 * rhca_requester_fail - The oldest request fails: complete it, then the QP
 * @qp: the QP
 * @status: what went wrong
 * @batch: collects events; asks for the flush of the receive queue
 *
 * Context: send.lock held.
 */
void rhca_requester_fail(struct rhca_sw_qp *qp, enum ib_wc_status status,
			 struct rhca_batch *batch)
{
	struct rhca_sq *sq = &qp->base.sq;
	enum ib_qp_state to = rhca_is_rc(&qp->base) ? IB_QPS_ERR : IB_QPS_SQE;

	if (rhca_requester_has_request(qp, sq->head))
		complete_head(qp, status, batch);
	if (rhca_qp_fail(&qp->base, to) && to == IB_QPS_ERR && qp->base.srq)
		rhca_batch_event(batch, IB_EVENT_QP_LAST_WQE_REACHED);
	batch->flush_recv |= to == IB_QPS_ERR;
	rhca_requester_flush(qp, batch);
}

/* --- order and flow ------------------------------------------------------- */

/* READ and atomic requests of @wqe with responses to come that begin before @psn */
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
	return rhca_psn_diff(to, wqe->first_psn) / RHCA_READ_CHUNK -
	       rhca_psn_diff(from, wqe->first_psn) / RHCA_READ_CHUNK + 1;
}

/**
 * rhca_requester_rewind - Continue sending from an older PSN
 * @qp: the QP
 * @psn: PSN to send next, not before the oldest unacknowledged one
 *
 * Context: send.lock held.
 */
void rhca_requester_rewind(struct rhca_sw_qp *qp, u32 psn)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_sq *sq = &qp->base.sq;
	struct rhca_send_wqe *wqe;
	u32 end = rhca_sq_posted_end(sq);
	u32 reads = 0;
	u32 index;

	lockdep_assert_held(&send->lock);
	if (WARN_ON_ONCE(rhca_psn_before(psn, send->oldest_unacked_psn)))
		psn = send->oldest_unacked_psn;
	send->next_offset = 0;
	for (index = sq->head; index != end; index++) {
		wqe = rhca_sq_wqe(sq, index);
		if (wqe->done)
			continue;
		if (!wqe->numbered)
			break;
		reads += reads_open_before(send, wqe, psn);
		if (!rhca_psn_before(wqe->last_psn, psn)) {
			if (rhca_psn_before(wqe->first_psn, psn))
				send->next_offset = qp->mtu_bytes *
					rhca_psn_diff(psn, wqe->first_psn);
			break;
		}
	}
	send->next = index;
	send->next_psn = psn;
	send->reads_in_flight = reads;
	send->unasked = 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_requester_rewind);

/* 9.7.7.2: without a buffer at the peer only a single packet may probe */
static bool credit_allows(struct rhca_sw_qp *qp,
			  const struct rhca_send_wqe *wqe)
{
	struct rhca_requester *send = &qp->send;

	return !rhca_requester_lacks_credit(send, wqe, wqe->ssn) ||
	       !rhca_requester_in_flight(send);
}

/* May a request be begun now? Fences and local order, 10.8.3.3 */
static bool may_begin(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe)
{
	struct rhca_requester *send = &qp->send;

	if (!send->may_transmit)
		return false;
	if ((wqe->send_flags & IB_SEND_FENCE) && send->reads_in_flight)
		return false;
	if (wqe->opcode == IB_WR_LOCAL_INV)
		return send->next == qp->base.sq.head;
	return true;
}

static void advance(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe,
		    const struct rhca_segment *seg)
{
	struct rhca_requester *send = &qp->send;

	send->unasked = seg->fields.ack_req ? 0 : send->unasked + 1;
	if (rhca_wqe_is_read(wqe))
		send->reads_in_flight++;
	send->next_psn = rhca_psn_add(send->next_psn, seg->psns);
	if (!rhca_is_rc(&qp->base))	/* nothing is ever acknowledged */
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

static int execute_invalidate(struct rhca_verbs_qp *qp,
			      struct rhca_send_wqe *wqe)
{
	int ret;

	if (wqe->invalidated)
		return rhca_key_is_idle(qp->dev, wqe->invalidate_rkey) ?
			0 : -EINPROGRESS;
	ret = rhca_key_invalidate(qp->dev, qp->core.ibqp.pd,
				  wqe->invalidate_rkey,
				  qp->number, false);
	wqe->invalidated = ret == -EINPROGRESS;
	return ret;
}

static int execute_bind(struct rhca_verbs_qp *qp,
			const struct rhca_send_wqe *wqe)
{
	struct rhca_bind bind = {
		.window_key	= wqe->bind.window_key,
		.new_key	= wqe->bind.new_key,
		.region_key	= wqe->bind.region_key,
		.addr		= wqe->bind.addr,
		.length		= wqe->bind.length,
		.access		= wqe->bind.access,
		.pd		= qp->core.ibqp.pd,
		.qp_num		= qp->number,
	};

	return rhca_mw_bind(qp->dev, &bind);
}

/* -EINPROGRESS: other packets still use the memory, try again */
static int execute_local(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe)
{
	switch (wqe->opcode) {
	case IB_WR_REG_MR:
		return rhca_key_register(wqe->mr, qp->core.ibqp.pd, wqe->key,
					 wqe->access);
	case IB_WR_LOCAL_INV:
		return execute_invalidate(qp, wqe);
	default:
		return execute_bind(qp, wqe);
	}
}

static bool is_local(const struct rhca_send_wqe *wqe)
{
	return wqe->opcode == IB_WR_REG_MR || wqe->opcode == IB_WR_LOCAL_INV ||
	       wqe->opcode == IB_WR_BIND_MW;
}

/* A bad request fails when all before it are done, so that order is kept */
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

	if (!may_begin(qp, wqe))
		return STEP_WAIT;
	rhca_mem_release(&qp->send.held);	/* not to be waited for */
	ret = execute_local(&qp->base, wqe);
	if (ret == -EINPROGRESS) {
		/* Packets of other QPs are being copied: not to be waited for here */
		rhca_pause_send(qp, RHCA_MEM_BUSY_NS);
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

static bool window_open(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe)
{
	struct rhca_requester *send = &qp->send;

	if (!rhca_is_rc(&qp->base))
		return true;
	if (rhca_requester_in_flight(send) >= RHCA_SEND_WINDOW)
		return false;
	if (rhca_wqe_is_read(wqe) &&
	    send->reads_in_flight >= qp->base.attr.max_rd_atomic)
		return false;
	return credit_allows(qp, wqe);
}

/* Will a local request, whatever is in flight, be carried out at once? */
static bool is_immediate(const struct rhca_send_wqe *wqe)
{
	return wqe->opcode == IB_WR_REG_MR || wqe->opcode == IB_WR_BIND_MW;
}

/* May @wqe be begun while the request before it has not been acknowledged? */
static bool may_follow(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe)
{
	struct rhca_requester *send = &qp->send;
	u32 ssn = wqe->numbered ? wqe->ssn : rhca_psn_add(send->ssn, 1);

	if (wqe->status != IB_WC_SUCCESS || wqe->opcode == IB_WR_LOCAL_INV)
		return false;
	if ((wqe->send_flags & IB_SEND_FENCE) && send->reads_in_flight)
		return false;
	if (rhca_wqe_is_read(wqe) &&
	    send->reads_in_flight >= qp->base.attr.max_rd_atomic)
		return false;
	return !rhca_requester_lacks_credit(send, wqe, ssn);
}

/**
 * rhca_requester_goes_on - Will a packet follow the last one of a request?
 * @qp: an RC QP; send.next is that request
 *
 * If none will before that packet is acknowledged, it has to ask for it.
 *
 * Context: send.lock held.
 * Return: true when the next request that is a packet may be begun at once, as far
 * as can be known.
 */
bool rhca_requester_goes_on(struct rhca_sw_qp *qp)
{
	const struct rhca_send_wqe *wqe;
	u32 index = qp->send.next + 1;

	lockdep_assert_held(&qp->send.lock);
	for (; rhca_requester_has_request(qp, index); index++) {
		wqe = rhca_sq_wqe(&qp->base.sq, index);
		if (wqe->done)		/* a local one, while repeating */
			continue;
		if (!may_follow(qp, wqe))
			return false;
		if (!is_immediate(wqe))
			return true;
	}
	return false;
}

static struct rhca_path *path_of(struct rhca_sw_qp *qp,
				 const struct rhca_send_wqe *wqe)
{
	return rhca_is_datagram(&qp->base) ? wqe->path :
						rcu_dereference(qp->base.path);
}

/*
 * What cannot be placed when it comes has to be sent again: better have the pages
 * before it is asked for. They may go again meanwhile, but seldom do.
 */
static enum ib_wc_status place_for_answer(struct rhca_sw_qp *qp,
					  const struct rhca_send_wqe *wqe,
					  const struct rhca_segment *seg)
{
	struct rhca_span span = {
		.sge	 = wqe->sge,
		.num_sge = wqe->num_sge,
		.offset	 = qp->send.next_offset,
		.bytes	 = seg->advance,
		.held	 = &qp->send.held,
	};

	if ((wqe->opcode != IB_WR_RDMA_READ && !rhca_wqe_is_atomic(wqe)) ||
	    !atomic_read(&qp->base.dev->num_on_demand))
		return IB_WC_SUCCESS;
	return rhca_scatter_ready(&qp->base, &span);
}

static void add_to_shared(struct rhca_sw_qp *qp, struct rhca_packet *packet,
			  struct rhca_batch *batch)
{
	batch->in_shared = rhca_shared_add(batch->shared, packet, qp);
	qp->send.shared = batch->in_shared;
}

static enum step step_packet(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe,
			     struct rhca_tx_list *tx, struct rhca_batch *batch)
{
	struct rhca_path *path = path_of(qp, wqe);
	enum ib_wc_status status;
	struct rhca_packet packet;
	struct rhca_segment seg;

	if (!path)
		return STEP_WAIT;
	if (!wqe->numbered) {
		if (!may_begin(qp, wqe))
			return STEP_WAIT;
		if (rhca_wqe_is_read(wqe) && !qp->base.attr.max_rd_atomic) {
			wqe->status = IB_WC_LOC_QP_OP_ERR;
			return step_bad(qp, wqe, batch);
		}
		rhca_wqe_number(qp, wqe);
	}
	if (!window_open(qp, wqe))
		return STEP_WAIT;
	if (tx->path != path)
		rhca_tx_list_set_path(tx, path);
	rhca_segment_plan(qp, wqe, &seg);
	status = place_for_answer(qp, wqe, &seg);
	if (status == IB_WC_SUCCESS)
		status = rhca_segment_build(qp, wqe, &seg, &packet, tx);
	if (status == RHCA_WC_PAGE_FAULT) {
		rhca_pause_send(qp, RHCA_PAGE_FAULT_NS);
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
	if (wqe->done) {		/* a local one, met again while repeating */
		send->next++;
		return STEP_LOCAL;
	}
	if (wqe->status != IB_WC_SUCCESS)
		return step_bad(qp, wqe, batch);
	if (is_local(wqe))
		return step_local(qp, wqe, batch);
	return step_packet(qp, wqe, tx, batch);
}

static void repeat_refused(struct rhca_sw_qp *qp, u32 psn)
{
	struct rhca_requester *send = &qp->send;

	if (rhca_psn_before(psn, send->oldest_unacked_psn))
		psn = send->oldest_unacked_psn;
	rhca_requester_rewind(qp, psn);
	send->refused = true;
	rhca_pause_send(qp, RHCA_QUEUE_FULL_NS);
}

/* What has left now has the whole time for its answer */
static void end_refusal(struct rhca_sw_qp *qp)
{
	if (!qp->send.refused)
		return;
	qp->send.refused = false;
	rhca_restart_ack_timer(qp);
}

/* Only RC can repeat what the local queue refused; for others it is lost */
static void end_tx_list(struct rhca_sw_qp *qp, struct rhca_tx_list *tx)
{
	if (!tx->path)
		return;
	rhca_tx_list_send(tx);
	if (!rhca_is_rc(&qp->base))
		return;
	if (tx->refused)
		repeat_refused(qp, tx->refused_psn);
	else
		end_refusal(qp);
}

/* A request that will be sent again, from its beginning, looks as if none had been sent */
static bool repeats_head(const struct rhca_sw_qp *qp)
{
	const struct rhca_sq *sq = &qp->base.sq;
	const struct rhca_send_wqe *wqe = rhca_sq_wqe(sq, sq->head);

	return sq->head != rhca_sq_posted_end(sq) && wqe->numbered &&
	       !wqe->done;
}

static void check_drained(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;

	if (READ_ONCE(qp->base.state) != IB_QPS_SQD || send->drain_told ||
	    rhca_requester_sent_end(send) != qp->base.sq.head ||
	    repeats_head(qp))
		return;
	send->drain_told = true;
	if (qp->base.attr.en_sqd_async_notify)
		rhca_batch_event(batch, IB_EVENT_SQ_DRAINED);
}

/*
 * The newest packet did not ask for an acknowledgement, since another request could
 * follow it at once; but something has happened since: that one turned out to be
 * bad, its memory is busy, or the QP is in SQD. Send the packet again, asking.
 */
static void ask_if_stuck(struct rhca_sw_qp *qp, struct rhca_tx_list *tx,
			 struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;

	if (!rhca_is_rc(&qp->base) || !send->unasked ||
	    !rhca_requester_in_flight(send) || tx->refused)
		return;
	rhca_requester_rewind(qp, rhca_psn_sub(send->next_psn, 1));
	send->ask = true;
	step(qp, tx, batch);
	send->ask = false;
}

static void send_all(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	bool was_idle = !rhca_requester_in_flight(send) && !send->refused;
	bool rc = rhca_is_rc(&qp->base);
	struct rhca_tx_list tx;
	u32 budget = RHCA_SEND_BUDGET;
	enum step did;

	send->may_transmit = rhca_qp_half_can(&qp->base, RHCA_QP_TRANSMIT);
	rhca_tx_list_begin(&tx, &qp->base,
			   rc ? rcu_dereference(qp->base.path) : NULL,
			   &send->backoff);
	tx.shared = rc ? batch->shared : NULL;
	do {
		did = step(qp, &tx, batch);
		if (!rc)	/* lost, and the next may go */
			tx.refused = false;
	} while (did != STEP_WAIT && did != STEP_FAILED && --budget &&
		 !tx.refused && !send->shared);
	batch->sent += RHCA_SEND_BUDGET - budget;
	if (did == STEP_WAIT)
		ask_if_stuck(qp, &tx, batch);
	end_tx_list(qp, &tx);
	if (did == STEP_FAILED)
		return;
	if (!rc)	/* nobody will acknowledge them */
		rhca_requester_retire(qp, batch);
	if (!budget)
		tasklet_schedule(&send->task);
	if (was_idle)	/* an older exchange may have left its deadline */
		rhca_restart_ack_timer(qp);
	rhca_arm_ack_timer(qp);
}

/**
 * rhca_requester_send - Send what can be sent
 * @qp: the QP
 * @batch: collects events
 *
 * Context: send.lock held, bottom halves off, RCU read side.
 */
void rhca_requester_send(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	lockdep_assert_held(&qp->send.lock);
	if (rhca_qp_half_can(&qp->base, RHCA_QP_FLUSH_SEND)) {
		rhca_requester_flush(qp, batch);
	} else if (rhca_qp_half_can(&qp->base, RHCA_QP_COMPLETE) &&
		   !qp->send.paused && !qp->send.shared) {
		send_all(qp, batch);
		check_drained(qp, batch);
	}
	rhca_mem_release(&qp->send.held);
}

/**
 * rhca_requester_shared_left - The block with the only packet under way has left
 * @qp: the QP; send.shared_refused says whether the local queue has refused the block
 * @batch: collects events
 *
 * Context: send.lock held, bottom halves off, RCU read side.
 */
void rhca_requester_shared_left(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;

	lockdep_assert_held(&send->lock);
	send->shared = false;
	if (!send->shared_refused) {
		end_refusal(qp);
		rhca_block_sent(&send->backoff, 1);
	} else if (rhca_qp_half_can(&qp->base, RHCA_QP_COMPLETE)) {
		rhca_block_lost(&send->backoff);
		repeat_refused(qp, send->oldest_unacked_psn);
		rhca_arm_ack_timer(qp);
	}
	/* Also where all is acknowledged already: SQD may have waited for that */
	rhca_requester_send(qp, batch);
}

/**
 * rhca_requester_reset - Forget everything
 * @qp: a QP in RESET
 *
 * Context: send.lock held.
 */
void rhca_requester_reset(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	rhca_sq_reset(&qp->base);
	send->next = qp->base.sq.head;
	send->posted_end = qp->base.sq.tail;
	send->next_offset = 0;
	send->unasked = 0;
	send->reads_in_flight = 0;
	send->ssn = 0;
	send->limit_ssn = 0;
	send->probe_ssn = 0;
	send->limited = false;
	send->paused = false;
	send->refused = false;
	send->udp_sport = 0;
	send->repeating = false;
	send->drain_told = false;
	send->backoff = (struct rhca_block_backoff){};
}
