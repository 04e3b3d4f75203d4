// SPDX-License-Identifier: GPL-2.0
/* Send requests of processes: copied out of the ring and checked. */
#include <rhca/compat.h>

#include "sw/verbs/qp/qp.h"
#include "sw/verbs/qp/sq.h"
#include "sw/verbs/qp/wr_rule.h"
#include "wire/headers.h"

static void fetch_bind(struct rhca_send_wqe *wqe, const struct rxe_send_wr *wr)
{
	wqe->bind.addr = wr->wr.mw.addr;
	wqe->bind.length = wr->wr.mw.length;
	wqe->bind.window_key = wr->wr.mw.mw_rkey;
	wqe->bind.new_key = wr->wr.mw.rkey;
	wqe->bind.region_key = wr->wr.mw.mr_lkey;
	wqe->bind.access = wr->wr.mw.access;
}

/* wr.flush of struct rxe_send_wr, missing in older kernels' headers */
struct user_flush {
	__aligned_u64 remote_addr;
	__u32 length;
	__u32 rkey;
	__u8 type;
	__u8 level;
};
static_assert(sizeof(struct user_flush) <=
	      sizeof_field(struct rxe_send_wr, wr));

/* A responder would reject other values, A19 */
static int fetch_flush(struct rhca_send_wqe *wqe, const struct rxe_send_wr *wr)
{
	struct user_flush flush;

	memcpy(&flush, &wr->wr, sizeof(flush));
	wqe->remote_addr = flush.remote_addr;
	wqe->rkey = flush.rkey;
	wqe->flush_bytes = flush.length;
	wqe->placement = flush.type;
	wqe->selectivity = flush.level;
	return wqe->placement && !(wqe->placement & ~RHCA_PLACE_ALL) &&
	       wqe->selectivity <= RHCA_SELECT_MR ? 0 : -EINVAL;
}

static int fetch_datagram(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
			  const struct rxe_send_wr *wr)
{
	wqe->path = rhca_path_get_number(qp->dev, qp->pd,
					 wr->wr.ud.ah_num);
	wqe->dest_qpn = wr->wr.ud.remote_qpn & RHCA_QPN_MASK;
	wqe->qkey = wr->wr.ud.remote_qkey;
	return wqe->path && rhca_qp_may_use(qp, wqe->path) ? 0 : -EINVAL;
}

static int fetch_parameters(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
			    const struct rxe_send_wr *wr)
{
	if (rhca_is_datagram(qp))
		return fetch_datagram(qp, wqe, wr);
	switch (wqe->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
		break;
	case IB_WR_BIND_MW:
		fetch_bind(wqe, wr);
		break;
	case RHCA_WR_FLUSH:
		return fetch_flush(wqe, wr);
	default:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
		break;
	}
	return 0;
}

/* Scatter/gather list or inline data; sizes are from the copied header */
static int fetch_data(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
		      const struct rxe_dma_info *head,
		      const struct rxe_send_wqe *slot, u64 *length)
{
	u32 i;

	/* ibv_wr_set_inline_data() and ibv_wr_atomic_write() of librxe set no flag */
	if ((wqe->send_flags & IB_SEND_INLINE) || (!head->num_sge && head->length)) {
		wqe->send_flags |= IB_SEND_INLINE;
		wqe->num_sge = 0;
		if (head->length > qp->sq.max_inline)
			return -EINVAL;
		memcpy(wqe->inline_data, slot->dma.inline_data, head->length);
		*length = head->length;
		return 0;
	}
	if (head->num_sge > qp->sq.max_sge)
		return -EINVAL;
	wqe->num_sge = head->num_sge;
	memcpy(wqe->sge, slot->dma.sge, wqe->num_sge * sizeof(wqe->sge[0]));
	for (i = 0; i < wqe->num_sge; i++)
		*length += wqe->sge[i].length;
	return 0;
}

/*
 * The process may overwrite the slot at any time: copy its fixed part first and use only the copy
 * from then on.
 */
static int copy_wqe(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
		    const struct rxe_send_wqe *slot)
{
	const struct rhca_wr_rule *rule;
	struct rxe_dma_info head;
	struct rxe_send_wr wr;
	u64 length = 0;
	int ret;

	memcpy(&wr, &slot->wr, sizeof(wr));
	memcpy(&head, &slot->dma, sizeof(head));
	barrier();	/* use only the copies from here on */
	wqe->wr_id = wr.wr_id;
	wqe->opcode = wr.opcode;
	wqe->send_flags = wr.send_flags & (IB_SEND_FENCE | IB_SEND_SIGNALED |
					   IB_SEND_SOLICITED | IB_SEND_INLINE);
	wqe->num_sge = 0;
	wqe->length = 0;
	wqe->imm_data = wr.ex.imm_data;
	rule = rhca_wr_rule_find(qp, wr.opcode);
	if (!rule)
		return -EINVAL;
	if (!rule->no_data) {
		ret = fetch_data(qp, wqe, &head, slot, &length);
		if (ret)
			return ret;
	}
	ret = rhca_wr_check(qp, wqe, rule, length);
	if (ret)
		return ret;
	wqe->length = length;
	return fetch_parameters(qp, wqe, &wr);
}

/**
 * rhca_sq_fetch - Copy the next request from a process's ring
 * @qp: a QP of a process
 *
 * Context: the backend's send lock held.
 * Return: true if a request was added to the queue.
 */
bool rhca_sq_fetch(struct rhca_verbs_qp *qp)
{
	struct rhca_sq *sq = &qp->sq;
	u32 taken = sq->tail - sq->head;
	struct rhca_send_wqe *wqe;
	int ret;

	if (rhca_ring_filled(&sq->ring) <= taken || taken >= sq->max_wr)
		return false;
	wqe = rhca_sq_wqe(sq, sq->tail);
	rhca_wqe_begin(wqe);
	if (rhca_is_datagram(qp))
		wqe->path = NULL;
	ret = copy_wqe(qp, wqe, rhca_ring_slot(&sq->ring, sq->tail));
	/* A malformed request completes with the matching error status */
	if (ret)
		wqe->status = ret == -EMSGSIZE ? IB_WC_LOC_LEN_ERR : IB_WC_LOC_QP_OP_ERR;
	sq->tail++;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_sq_fetch);
