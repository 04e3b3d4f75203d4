// SPDX-License-Identifier: GPL-2.0
/*
 * Completes receive requests: with a message, an error, or flushed. Packets that arrive together
 * post their completions together.
 */
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "sw/rx/recv_completion.h"
#include "sw/qp/hold.h"
#include "sw/qp/recv_half.h"

/* Free slots first: whoever polls the completion may post again and must find room */
static void give_slots_back(struct rhca_sw_qp *qp)
{
	if (!qp->base.srq)
		rhca_ring_give_back(&qp->base.rq.ring);
}

/* Post the completions collected from packets. recv.lock held. */
void rhca_responder_show(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_wc_list *received = batch->received;

	lockdep_assert_held(&qp->recv.lock);
	if (!received->num)
		return;
	give_slots_back(qp);
	batch->raise_recv |= rhca_cq_post(rhca_recv_cq(&qp->base), received->wc,
					  received->num, received->solicited);
	received->num = 0;
	received->solicited = 0;
}

/* Completions to collect: at most a quarter of the queue, so the user reposts before it is empty */
static u32 list_limit(const struct rhca_sw_qp *qp)
{
	const struct rhca_srq *srq = qp->base.srq;
	u32 depth = srq ? READ_ONCE(srq->rq.max_wr) : qp->base.rq.max_wr;

	return min_t(u32, RHCA_WC_LIST_MAX, depth / 4);
}

static void leave_completion(struct rhca_sw_qp *qp, const struct ib_wc *wc,
			     bool solicited, struct rhca_batch *batch)
{
	struct rhca_wc_list *received = batch->received;

	if (solicited)
		received->solicited |= BIT(received->num);
	received->wc[received->num++] = *wc;
	if (received->num >= list_limit(qp))
		rhca_responder_show(qp, batch);
}

/*
 * Complete the current receive request. @wc: its completion, without wr_id and QP. @solicited: the
 * sender asked for an event. recv.lock held.
 */
void rhca_responder_complete(struct rhca_sw_qp *qp, struct ib_wc *wc,
			     bool solicited, struct rhca_batch *batch)
{
	wc->wr_id = qp->recv.wqe->wr_id;
	wc->qp = &qp->base.core.ibqp;
	if (wc->status != IB_WC_SUCCESS)
		rhca_qp_count(&qp->base, wc->status == IB_WC_WR_FLUSH_ERR ?
			      RHCA_RESP_CQE_FLUSH_ERROR : RHCA_RESP_CQE_ERROR);
	qp->recv.have_wqe = false;
	if (batch->received) {
		leave_completion(qp, wc, solicited, batch);
		return;
	}
	give_slots_back(qp);
	batch->raise_recv |= rhca_cq_post(rhca_recv_cq(&qp->base), wc, 1, solicited);
}

/* Take a request to flush, unless recv.wqe is one already */
static bool have_request(struct rhca_sw_qp *qp)
{
	if (qp->recv.have_wqe)
		return true;
	/* A process could not poll them from a CQ in error */
	if (qp->base.srq ||
	    (qp->base.is_user && rhca_cq_is_overrun(rhca_recv_cq(&qp->base))))
		return false;
	qp->recv.have_wqe = rhca_responder_take_wqe(qp) != -ENOENT;
	return qp->recv.have_wqe;
}

/*
 * Complete receive requests as flushed, 10.8.5; like rhca_requester_flush() only in ERR. Those of a
 * shared queue stay there; instead the QP reports that it has taken its last one, 10.2.9.2, so that
 * one is completed at once.
 */
void rhca_responder_flush(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct ib_wc wc = {
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_RECV,
	};
	bool anyway = qp->base.is_user || qp->base.srq;
	u32 budget = RHCA_FLUSH_BUDGET;

	lockdep_assert_held(&qp->recv.lock);
	if (!rhca_qp_can(&qp->base, RHCA_QP_FLUSH_RECV))
		return;
	qp->recv.in_message = false;
	qp->recv.invalidating = false;
	rhca_hold_free(&qp->recv.hold);
	for (; budget; budget--) {
		if (!have_request(qp))
			return;
		if (!rhca_cq_claim(rhca_recv_cq(&qp->base), anyway))
			break;
		rhca_responder_complete(qp, &wc, false, batch);
		batch->flushed++;
	}
	batch->flush_more = true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_responder_flush);

static void fill_datagram_wc(const struct rhca_rx *rx, struct ib_wc *wc)
{
	const struct rhca_deth *deth = rhca_rx_header(rx, RHCA_HDR_DETH);

	wc->byte_len += RHCA_GRH_BYTES;
	wc->src_qp = rhca_deth_src_qpn(deth);
	wc->pkey_index = rx->pkey_index;
	wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	if (rx->flow.encap == RHCA_V1)
		wc->network_hdr_type = RDMA_NETWORK_ROCE_V1;
	else
		wc->network_hdr_type = rx->flow.encap == RHCA_V2_IPV4 ?
			RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
}

/*
 * Set the VLAN, by which ib_core finds the GID for a reply; for the GID of a bridge or a macvlan
 * this may be a lower netdev's VLAN
 */
static void fill_vlan(const struct rhca_rx *rx, struct ib_wc *wc)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(&rx->port->dev->ibdev, rx->port->num,
							   rx->gid_index);
	u16 vlan_id;

	if (IS_ERR(attr))
		return;
	if (!rdma_read_gid_l2_fields(attr, &vlan_id, NULL) && vlan_id != RHCA_NO_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = vlan_id;
	}
	rdma_put_gid_attr(attr);
}

/* Fill in a message's completion, except what rhca_responder_complete() sets. recv.lock held */
void rhca_responder_fill_wc(const struct rhca_sw_qp *qp,
			    const struct rhca_rx *rx, struct ib_wc *wc)
{
	const struct rhca_immdt *imm;
	const struct rhca_ieth *ieth;

	*wc = (struct ib_wc) {
		.status		= IB_WC_SUCCESS,
		.opcode		= rx->flags & RHCA_OP_WRITE ?
				  IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.byte_len	= qp->recv.received,
		.src_qp		= READ_ONCE(qp->base.attr.dest_qp_num),
		.port_num	= rx->port->num,
	};
	if (rhca_opcode_has(rx->opcode, RHCA_HDR_IMMDT)) {
		imm = rhca_rx_header(rx, RHCA_HDR_IMMDT);
		wc->ex.imm_data = imm->data;
		wc->wc_flags |= IB_WC_WITH_IMM;
	}
	if (rhca_opcode_has(rx->opcode, RHCA_HDR_IETH)) {
		ieth = rhca_rx_header(rx, RHCA_HDR_IETH);
		wc->ex.invalidate_rkey = be32_to_cpu(ieth->rkey);
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
	}
	if (rhca_is_datagram(&qp->base))
		fill_datagram_wc(rx, wc);
	if (qp->base.type == IB_QPT_GSI)
		fill_vlan(rx, wc);
}
