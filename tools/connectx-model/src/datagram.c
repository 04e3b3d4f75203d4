// SPDX-License-Identifier: GPL-2.0
#include "datagram.h"

#include "device.h"
#include "requester.h"
#include "send_queue.h"
#include "trace.h"

#define BURST_PACKETS		16u
#define GSI_QPN			1u
#define QKEY_OF_QP		0x80000000u	/* high bit of a WQE's Q_Key: use the QP's own */
#define GRH_BYTES		40u
#define CQE_HAS_GRH		(1u << 28)
#define CQE_L3_SHIFT		24
#define CQE_VLAN_STRIPPED	0x01u

static u32 source_qpn(const struct qp *qp)
{
	if (qp->service == SERVICE_GSI)
		return GSI_QPN;
	return qp->deth_sqpn ? qp->deth_sqpn : qp->object.id;
}

static enum cqe_syndrome send_one(struct qp *qp, struct send_op *op)
{
	struct roce_transport_headers bth = {
		.opcode = ROCE_UD | (op->opcode == WQE_SEND_IMM ? SEND_ONLY_IMM : SEND_ONLY),
		.solicited = op->solicited, .pkey = ROCE_DEFAULT_PKEY,
		.dest_qpn = op->av.dest_qpn, .psn = qp->requester.next_psn,
		.src_qpn = source_qpn(qp), .immediate = op->immediate,
		.qkey = op->av.qkey & QKEY_OF_QP ? qp->qkey : op->av.qkey,
	};
	u8 payload[ROCE_MAX_MTU], frame[ROCE_MAX_FRAME];
	struct roce_route route;
	u32 bytes;

	if (send_op_is_local(op))
		return CQE_OK;
	if (op->opcode != WQE_SEND && op->opcode != WQE_SEND_IMM)
		return CQE_LOCAL_QP_OP;
	if (op->bytes > ROCE_MAX_MTU)
		return CQE_LOCAL_LENGTH;
	if (send_op_gather(qp, op, 0, payload, op->bytes))
		return CQE_LOCAL_PROTECTION;
	if (!qp_route_from_av(qp, &op->av, &route))
		return CQE_LOCAL_QP_OP;
	bytes = roce_build(frame, &route, &bth, payload, op->bytes);
	qp_transmit(qp, frame, bytes);
	qp->requester.next_psn = (qp->requester.next_psn + 1) & PSN_MASK;
	return CQE_OK;
}

/* A send that fails stops the send queue only, IBTA vol. 1, 10.3.1.6. */
bool datagram_send(struct qp *qp)
{
	enum cqe_syndrome syndrome;
	struct send_op *op;
	u32 i;

	for (i = 0; i < BURST_PACKETS && qp->sq.current; i++) {
		op = qp->sq.current;
		syndrome = send_one(qp, op);
		if (syndrome) {
			requester_fail(qp, syndrome);
			return false;
		}
		requester_complete(qp, op, CQE_OK);
	}
	return qp->sq.current;
}

static void complete(struct qp *qp, const struct roce_packet *packet, const struct recv_wqe *wqe)
{
	bool immediate = roce_opcode_headers(packet->bth.opcode) & HDR_IMM;
	u8 cqe[CQE_BYTES] = { 0 };

	put_be32(cqe + CQE_SRQN, qp->user_index);
	put_be32(cqe + CQE_IMM, immediate ? packet->bth.immediate : packet->bth.pkey);
	put_be32(cqe + CQE_BYTE_COUNT, packet->payload_bytes + GRH_BYTES);
	put_be32(cqe + CQE_FLAGS_RQPN, packet->bth.src_qpn | CQE_HAS_GRH |
		 (u32)packet->route.l3 << CQE_L3_SHIFT);
	if (packet->route.vlan_valid) {
		cqe[CQE_HDR_TYPE] = CQE_VLAN_STRIPPED;
		put_be16(cqe + CQE_VLAN, packet->route.vlan);
	}
	put_be16(cqe + CQE_WQE_COUNTER, wqe->index);
	cqe[CQE_OP_OWN] = (immediate ? CQE_SEND_IMM : CQE_SEND) << 4;
	qp_complete_receive(qp, qp->recv_cq, cqe, packet->bth.solicited);
}

void datagram_receive(struct qp *qp, const struct roce_packet *packet)
{
	struct recv_queue *queue = qp->srq ? &qp->srq->queue : &qp->rq;
	struct recv_wqe wqe;

	if (!qp_receives(qp))
		return;
	if (packet->bth.qkey != qp->qkey) {
		trace_note("dev%u QP %#x: wrong Q_Key %#x", qp->dev->index, qp->object.id,
			   packet->bth.qkey);
		return;
	}
	if ((!qp->has_rq && !qp->srq) || !recv_queue_take(qp->dev, queue, &wqe)) {
		qp_count(qp, Q_OUT_OF_BUFFER);
		return;
	}
	if (qp->srq)
		srq_check_limit(qp->srq);
	if (packet->payload_bytes + GRH_BYTES > wqe.bytes) {
		qp_receive_error(qp, &wqe, CQE_LOCAL_LENGTH);
		qp_enter_error(qp);
		return;
	}
	if (qp_scatter(qp, queue, &wqe, 0, packet->grh, GRH_BYTES) ||
	    qp_scatter(qp, queue, &wqe, GRH_BYTES, packet->payload, packet->payload_bytes)) {
		qp_receive_error(qp, &wqe, CQE_LOCAL_PROTECTION);
		qp_enter_error(qp);
		return;
	}
	complete(qp, packet, &wqe);
}
