// SPDX-License-Identifier: GPL-2.0
#include "qp.h"

#include <stdlib.h>

#include "datagram.h"
#include "device.h"
#include "requester.h"
#include "responder.h"
#include "send_queue.h"
#include "trace.h"

#define GSI_QPN		1u
#define MAX_MTU_CODE	5u

struct qp *qp_find(struct device *dev, u32 qpn)
{
	return find_object(struct qp, dev, OBJ_QP, qpn == GSI_QPN ? dev->gsi_qpn : qpn);
}

bool qp_receives(const struct qp *qp)
{
	return qp_requests(qp) || qp->state == QP_RTR || qp->state == QP_SQ_ERROR;
}

bool qp_requests(const struct qp *qp)
{
	return qp->state == QP_RTS || qp->state == QP_SQ_DRAINED;
}

bool qp_is_reliable(const struct qp *qp)
{
	return qp->service == SERVICE_RC || qp->service == SERVICE_XRC;
}

u8 qp_transport(const struct qp *qp)
{
	switch (qp->service) {
	case SERVICE_UC:
		return ROCE_UC;
	case SERVICE_UD:
	case SERVICE_GSI:
		return ROCE_UD;
	case SERVICE_XRC:
		return ROCE_XRC;
	default:
		return ROCE_RC;
	}
}

/* Translate an index from the driver to the addresses of frames. */
static bool route_source(struct device *dev, u8 index, struct roce_route *route)
{
	const struct roce_address *address = vport_roce_address(&dev->vport, index);

	if (!address)
		return false;
	memcpy(route->source_mac, address->mac, MAC_BYTES);
	memcpy(route->source_gid, address->gid, GID_BYTES);
	route->l3 = address->l3;
	route->vlan_valid = address->vlan_valid;
	route->vlan = address->vlan;
	return true;
}

bool qp_rate_known(const struct qp *qp, u32 rate)
{
	return !rate || (CAP(qp->dev, stat_rate_support) >> rate & 1);
}

bool qp_route_from_av(struct qp *qp, const struct address_vector *av, struct roce_route *route)
{
	memset(route, 0, sizeof(*route));
	if (!qp_rate_known(qp, av->static_rate) ||
	    !route_source(qp->dev, av->source_gid_index, route))
		return false;
	memcpy(route->dest_mac, av->dest_mac, MAC_BYTES);
	memcpy(route->dest_gid, av->dest_gid, GID_BYTES);
	route->vlan |= (u16)(av->service_level & 7) << 13;
	route->traffic_class = av->traffic_class;
	route->hop_limit = av->hop_limit;
	route->flow_label = av->flow_label;
	route->udp_source_port = av->udp_source_port;
	return true;
}

static void load_route(struct qp *qp)
{
	const u8 *path = AT(qpc, qp->context, primary_address_path);
	struct roce_route *route = &qp->route;

	memset(route, 0, sizeof(*route));
	route_source(qp->dev, GET(ads, path, src_addr_index), route);
	ifc_set_bits(route->dest_mac, 0, 16, GET(ads, path, rmac_47_32));
	ifc_set_bits(route->dest_mac, 16, 32, GET(ads, path, rmac_31_0));
	memcpy(route->dest_gid, AT(ads, path, rgid_rip), GID_BYTES);
	route->vlan |= GET(ads, path, eth_prio) << 13;
	route->traffic_class = GET(ads, path, tclass);
	/* For version 2 the driver gives only the DSCP; the adapter sets ECN. */
	if (route->l3 != ROCE_L3_GRH)
		route->traffic_class = GET(ads, path, dscp) << 2 | (route->traffic_class & 3);
	if (route->l3 != ROCE_L3_GRH && congestion_enabled(qp->dev))
		route->traffic_class = (route->traffic_class & ~3) | ECN_CAPABLE;
	route->hop_limit = GET(ads, path, hop_limit);
	route->flow_label = GET(ads, path, flow_label);
	route->udp_source_port = GET(ads, path, udp_sport);
	qp->ack_timeout = GET(ads, path, ack_timeout);
}

void qp_load_context(struct qp *qp)
{
	const u8 *c = qp->context;
	u32 mtu = GET(qpc, c, mtu);

	qp->remote_qpn = GET(qpc, c, remote_qpn);
	qp->mtu = 128u << (mtu && mtu <= MAX_MTU_CODE ? mtu : 1);
	qp->qkey = GET(qpc, c, q_key);
	qp->deth_sqpn = GET(qpc, c, deth_sqpn);
	qp->min_rnr_timer = GET(qpc, c, min_rnr_nak);
	qp->retry_count = GET(qpc, c, retry_count);
	qp->rnr_retry = GET(qpc, c, rnr_retry);
	qp->max_reads = MIN(1u << GET(qpc, c, log_sra_max), MAX_READS);
	qp->max_resources = MIN(1u << GET(qpc, c, log_rra_max), MAX_READS);
	qp->counter_set = GET(qpc, c, counter_set_id);
	qp->access = (GET(qpc, c, rre) ? RIGHT_REMOTE_READ : 0) |
		     (GET(qpc, c, rwe) ? RIGHT_REMOTE_WRITE : 0) |
		     (GET(qpc, c, rae) ? RIGHT_REMOTE_ATOMIC : 0);
	qp->port_affinity = GET(qpc, c, lag_tx_port_affinity);
	/* The firmware chooses: spread by number. */
	if (!qp->port_affinity)
		qp->port_affinity = qp->object.id % LAG_PORTS + 1;
	load_route(qp);
}

void qp_transmit(struct qp *qp, const u8 *frame, u32 bytes)
{
	port_send_roce(qp->dev, qp->port_affinity, frame, bytes);
}

void qp_wake(struct qp *qp)
{
	if (list_empty(&qp->ready))
		list_append(&qp->dev->ready, &qp->ready);
}

void qp_failed(struct qp *qp, enum cqe_syndrome why, u32 event)
{
	qp->failure = why;
	event_queue_number(qp->dev, event, EVENT_FROM_QP, qp->object.id);
}

void qp_send_doorbell(struct qp *qp)
{
	if (qp->state == QP_RESET || qp->state == QP_INIT || qp->state == QP_RTR) {
		violation("dev%u: send doorbell for QP %#x in state %u", qp->dev->index,
			  qp->object.id, qp->state);
		return;
	}
	if (!send_queue_fetch(qp) && qp->state != QP_ERROR) {
		qp_failed(qp, CQE_LOCAL_QP_OP, EVENT_QP_CATASTROPHIC);
		qp_enter_error(qp);
		return;
	}
	if (qp->state == QP_RTS || qp->state == QP_SQ_DRAINED)
		qp_wake(qp);
	else if (!qp->flush.at_ns)
		requester_flush(qp);
}

bool qp_work(struct qp *qp)
{
	bool more = false;

	if (qp->state != QP_RTR && !qp_requests(qp))
		return false;
	if (qp_is_reliable(qp))
		more = responder_send(qp);
	if (!qp_requests(qp))
		return more;
	if (qp->service != SERVICE_UD && qp->service != SERVICE_GSI)
		return requester_send(qp) || more;
	return (qp->state == QP_RTS && datagram_send(qp)) || more;
}

void qp_count(struct qp *qp, u32 counter)
{
	q_counter_add(qp->dev, qp->counter_set, counter);
}

u32 qp_cqe_room(const struct qp *qp, bool of_request)
{
	u32 mode = of_request ? GET(qpc, qp->context, cs_req) : GET(qpc, qp->context, cs_res);

	switch (mode) {
	case CQE_DATA_32_RECEIVED:
	case CQE_DATA_32_READ:
		return CQE_HALF;
	case CQE_DATA_64_RECEIVED:
	case CQE_DATA_64_READ:
		return CQE_BYTES;
	}
	return 0;
}

void qp_complete_receive(struct qp *qp, struct cq *cq, u8 *cqe, bool solicited)
{
	if (!cq)
		return;
	put_be32(cqe + CQE_QPN, qp->object.id);
	qp->dev->counters.work.completions++;
	cq_post(cq, cqe, solicited);
}

/* User index of the queue that a receive came from: the SRQ's, if it is an XRC one. */
static u32 receive_user_index(struct qp *qp)
{
	if (qp->service == SERVICE_XRC && qp->responder.srq)
		return qp->responder.srq->user_index;
	return qp->user_index;
}

void qp_receive_error(struct qp *qp, const struct recv_wqe *wqe, enum cqe_syndrome syndrome)
{
	struct cq *cq = qp->service == SERVICE_XRC && qp->responder.srq ?
			qp->responder.srq->cq : qp->recv_cq;
	u8 cqe[CQE_BYTES] = { 0 };

	qp_count(qp, syndrome == CQE_FLUSHED ? Q_RESP_FLUSH : Q_RESP_CQE_ERROR);
	put_be32(cqe + CQE_SRQN, receive_user_index(qp));
	cqe[CQE_ERR_SYNDROME] = syndrome;
	put_be16(cqe + CQE_WQE_COUNTER, wqe->index);
	cqe[CQE_OP_OWN] = CQE_RESPONSE_ERROR << 4;
	qp_complete_receive(qp, cq, cqe, true);
}

static bool flush_one_receive(struct qp *qp)
{
	struct recv_wqe wqe;

	if (!qp->has_rq || qp->srq || !recv_queue_take(qp->dev, &qp->rq, &wqe))
		return false;
	qp_receive_error(qp, &wqe, CQE_FLUSHED);
	return true;
}

void qp_flush_receives(struct qp *qp)
{
	if (qp->state != QP_ERROR || qp->flush.at_ns)
		return;
	while (flush_one_receive(qp))
		;
}

void qp_flush_next(struct timer *timer)
{
	struct qp *qp = container_of(timer, struct qp, flush);

	if (requester_flush_one(qp) || flush_one_receive(qp))
		timer_set(timer, now_ns() + qp->dev->flush_ns);
}

static void begin_flush(struct qp *qp)
{
	if (qp->dev->flush_ns) {
		requester_stop(qp);
		timer_set(&qp->flush, now_ns() + qp->dev->flush_ns);
	} else {
		requester_flush(qp);
	}
}

void qp_enter_error(struct qp *qp)
{
	if (qp->state == QP_ERROR || qp->state == QP_RESET)
		return;
	qp->state = QP_ERROR;
	trace_note("dev%u QP %#x enters the error state", qp->dev->index, qp->object.id);
	begin_flush(qp);
	responder_stop(qp);
	list_append(&qp->dev->error_queues, &qp->erring);
	qp_flush_receives(qp);
	if (qp->srq)
		event_queue_number(qp->dev, EVENT_SRQ_LAST_WQE, EVENT_FROM_QP, qp->object.id);
}

void qp_enter_sq_error(struct qp *qp)
{
	qp->state = QP_SQ_ERROR;
	trace_note("dev%u QP %#x: its send queue enters the error state", qp->dev->index,
		   qp->object.id);
	requester_flush(qp);
}

bool qp_drain(struct qp *qp)
{
	if (qp->state != QP_RTS)
		return false;
	qp->state = QP_SQ_DRAINED;
	qp->sq.draining = true;
	trace_note("dev%u QP %#x: its send queue is drained", qp->dev->index, qp->object.id);
	requester_check_drained(qp);
	return true;
}

void qp_reset(struct qp *qp)
{
	list_unlink(&qp->ready);
	list_unlink(&qp->erring);
	timer_cancel(&qp->flush);
	requester_reset(qp);
	responder_reset(qp);
	qp->sq.fetched = 0;
	qp->rq.consumed = 0;
	qp->rq.next = 0;
	qp->failure = CQE_OK;
	qp->state = QP_RESET;
}

void qp_destroy(struct object *object)
{
	struct qp *qp = container_of(object, struct qp, object);

	if (qp->dev->gsi_qpn == object->id)
		qp->dev->gsi_qpn = 0;
	qp_reset(qp);
	vport_detach_all(&qp->dev->vport, object->id);
	object_unuse(qp->pd_object);
	object_unuse(qp->uar_object);
	object_unuse(qp->xrcd);
	object_unuse(qp->send_cq ? &qp->send_cq->object : NULL);
	object_unuse(qp->recv_cq ? &qp->recv_cq->object : NULL);
	object_unuse(qp->srq ? &qp->srq->object : NULL);
	ring_free(&qp->sq.ring);
	free(qp);
}

enum mkey_fault qp_scatter(struct qp *qp, const struct recv_queue *queue,
			   const struct recv_wqe *wqe, u32 offset, const u8 *from, u32 bytes)
{
	struct mkey_access who = { .pd = queue->pd, .qpn = qp->object.id,
				   .rights = RIGHT_LOCAL_WRITE,
				   .reserved_lkey = queue->reserved_lkey };
	const struct segment *segment = wqe->segment;
	enum mkey_fault fault;
	u32 i, part;

	for (i = 0; i < wqe->segments && bytes; i++, segment++) {
		if (offset >= segment->bytes) {
			offset -= segment->bytes;
			continue;
		}
		part = MIN(bytes, segment->bytes - offset);
		who.key = segment->key;
		fault = mkey_write(qp->dev, &who, segment->address + offset, from, part);
		if (fault)
			return fault;
		from += part;
		bytes -= part;
		offset = 0;
	}
	return bytes ? MKEY_OUT_OF_BOUNDS : MKEY_OK;
}
