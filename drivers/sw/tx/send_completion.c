// SPDX-License-Identifier: GPL-2.0
/* Completes send requests in the order posted: acknowledged, failed or flushed. */
#include <rhca/compat.h>

#include "sw/tx/send_completion.h"
#include "sw/qp/hold.h"
#include "sw/tx/window.h"
#include "wire/psn.h"

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

/* Errors always produce a completion; success if requested, 10.7.3.1 */
static bool shows(const struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		  enum ib_wc_status status)
{
	return status != IB_WC_SUCCESS ||
	       (wqe->send_flags & IB_SEND_SIGNALED) ||
	       qp->base.signal_all;
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
 * Free the slots before the completions become visible: whoever polls them on another CPU may post
 * at once and must find room.
 */
static void free_and_show(struct rhca_sw_qp *qp, u32 num,
			  struct rhca_wc_list *list, struct rhca_batch *batch)
{
	rhca_sq_complete(&qp->base, num);
	if (list->num)
		batch->raise_send |= rhca_cq_post(qp->base.send_cq, list->wc, list->num,
						  list->solicited);
	list->num = 0;
}

/* Complete the oldest requests */
static void complete_oldest(struct rhca_sw_qp *qp, u32 num,
			    enum ib_wc_status status,
			    struct rhca_batch *batch)
{
	struct rhca_sq *sq = &qp->base.sq;
	const struct rhca_send_wqe *wqe;
	struct rhca_wc_list list __uninitialized;
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
		if (list.num == RHCA_WC_LIST_MAX || i + 1 == end)
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
	/* After a rewind send.next may be at a local request that is done: do not stop there */
	while (end != send->posted_end &&
	       is_acknowledged(send, rhca_sq_wqe(sq, end)))
		end++;
	if (end != sq->head)
		complete_oldest(qp, end - sq->head, IB_WC_SUCCESS, batch);
}

/**
 * rhca_requester_flush - Complete everything as flushed, 10.8.5, as far as the CQ has room
 * @qp: the QP; no effect unless in ERR or SQE: the state may have changed since the caller looked,
 *	and new posts must not be flushed
 * @batch: collects events
 *
 * Context: send.lock held.
 */
void rhca_requester_flush(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	u32 budget = RHCA_FLUSH_BUDGET;
	bool anyway;

	lockdep_assert_held(&qp->send.lock);
	if (!rhca_qp_can(&qp->base, RHCA_QP_FLUSH_SEND))
		return;
	/* A process's CQ is its own; what is left in SQE would be sent in RTS */
	anyway = qp->base.is_user || !rhca_qp_half_can(&qp->base, RHCA_QP_FLUSH_RECV);
	timer_delete(&qp->send.ack_timer);
	qp->send.ack_timed = false;
	if (qp->send.recovery)
		rhca_hold_free(&qp->send.recovery->hold);
	while (rhca_requester_has_request(qp, qp->base.sq.head)) {
		if (!budget-- || !rhca_cq_claim(qp->base.send_cq, anyway)) {
			batch->flush_more = true;
			return;
		}
		complete_head(qp, IB_WC_WR_FLUSH_ERR, batch);
		batch->flushed++;
	}
}

/**
 * rhca_requester_fail - Complete the oldest request with an error, then fail the QP
 * @qp: the QP
 * @status: what went wrong
 * @batch: collects events; requests a flush of the receive queue
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
