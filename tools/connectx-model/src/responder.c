// SPDX-License-Identifier: GPL-2.0
#include "responder.h"

#include <stdlib.h>

#include "device.h"
#include "trace.h"

#define BURST_PACKETS	16u

/* Result of checking a request. */
enum verdict {
	PASS, DROP, NOT_READY, BAD_REQUEST, BAD_ACCESS, BAD_LENGTH, BAD_MEMORY, BAD_INVALIDATE,
	VERDICTS
};

static const struct refusal {
	u8 nak;
	enum cqe_syndrome syndrome;	/* of the receive in use, if any */
	u32 event;			/* if there is none */
	u32 counter;
} refusals[VERDICTS] = {
	[BAD_REQUEST]	= { NAK_INVALID, CQE_REMOTE_INVALID, EVENT_INVALID_REQUEST,
			    Q_RESP_REMOTE_INVALID },
	[BAD_ACCESS]	= { NAK_ACCESS, CQE_LOCAL_ACCESS, EVENT_ACCESS_ERROR,
			    Q_RESP_REMOTE_ACCESS },
	[BAD_LENGTH]	= { NAK_INVALID, CQE_LOCAL_LENGTH, EVENT_INVALID_REQUEST,
			    Q_RESP_LOCAL_LENGTH },
	[BAD_MEMORY]	= { NAK_OPERATION, CQE_LOCAL_PROTECTION, EVENT_QP_CATASTROPHIC,
			    Q_RESP_LOCAL_PROTECTION },
	[BAD_INVALIDATE] = { NAK_OPERATION, CQE_LOCAL_ACCESS, EVENT_ACCESS_ERROR,
			     Q_RESP_REMOTE_ACCESS },
};

void responder_init(struct qp *qp)
{
	list_init(&qp->responder.responses);
}

void responder_start(struct qp *qp)
{
	qp->responder.expected_psn = GET(qpc, qp->context, next_rcv_psn);
	qp->responder.msn = 0;
}

static void drop_responses(struct qp *qp)
{
	struct response *response;

	while (!list_empty(&qp->responder.responses)) {
		response = list_first(&qp->responder.responses, struct response, link);
		list_unlink(&response->link);
		free(response);
	}
	memset(qp->responder.queued, 0, sizeof(qp->responder.queued));
}

void responder_stop(struct qp *qp)
{
	struct responder *r = &qp->responder;

	drop_responses(qp);
	if (r->have_wqe)
		qp_receive_error(qp, &r->wqe, CQE_FLUSHED);
	r->have_wqe = false;
	r->message = MESSAGE_NONE;
}

void responder_reset(struct qp *qp)
{
	struct list *head = &qp->responder.responses;

	drop_responses(qp);
	memset(&qp->responder, 0, sizeof(qp->responder));
	list_init(head);
}

void responder_forget_srq(struct qp *qp, const struct srq *srq)
{
	struct responder *r = &qp->responder;

	if (r->srq != srq)
		return;
	r->srq = NULL;
	r->have_wqe = false;
	r->message = MESSAGE_NONE;
}

static struct response *queue_response(struct qp *qp, u8 operation, u32 psn)
{
	struct response *response = zalloc(sizeof(*response));

	response->operation = operation;
	response->syndrome = AETH_ACK;
	response->psn = psn & PSN_MASK;
	response->msn = qp->responder.msn;
	list_append(&qp->responder.responses, &response->link);
	qp_wake(qp);
	return response;
}

static void acknowledge(struct qp *qp, u32 psn)
{
	struct responder *r = &qp->responder;
	struct response *last;

	/* One acknowledgement covers all before it. */
	if (!list_empty(&r->responses)) {
		last = list_last(&r->responses, struct response, link);
		if (last->operation == ACKNOWLEDGE && last->syndrome == AETH_ACK &&
		    psn_diff(psn, last->psn) >= 0) {
			last->psn = psn & PSN_MASK;
			last->msn = r->msn;
			return;
		}
	}
	queue_response(qp, ACKNOWLEDGE, psn);
}

/* Send one packet of an answer on the wire. */
static void send_response(struct qp *qp, u8 operation, const struct response *response, u32 psn,
			  const u8 *payload, u32 bytes)
{
	struct roce_transport_headers bth = {
		.opcode = qp_transport(qp) | operation, .pkey = ROCE_DEFAULT_PKEY,
		.dest_qpn = qp->remote_qpn, .psn = psn & PSN_MASK,
		.syndrome = response->syndrome, .msn = response->msn,
		.original = response->original,
	};
	u8 frame[ROCE_MAX_FRAME];

	bytes = roce_build(frame, &qp->route, &bth, payload, bytes);
	qp_transmit(qp, frame, bytes);
}

/* Send one packet of a READ response. Return: false if its memory is gone. */
static bool send_read_part(struct qp *qp, struct response *response)
{
	struct mkey_access who = { .key = response->rkey, .pd = response->pd,
				   .qpn = qp->object.id, .rights = RIGHT_REMOTE_READ };
	u32 bytes = MIN(response->bytes - response->done, qp->mtu);
	bool first = !response->done, last = response->done + bytes == response->bytes;
	u8 payload[ROCE_MAX_MTU], operation;

	if (bytes && mkey_read(qp->dev, &who, response->address + response->done, payload, bytes))
		return false;
	operation = first && last ? READ_RESPONSE_ONLY : first ? READ_RESPONSE_FIRST :
		    last ? READ_RESPONSE_LAST : READ_RESPONSE_MIDDLE;
	send_response(qp, operation, response, response->psn + response->done / qp->mtu,
		      payload, bytes);
	response->done += bytes;
	return true;
}

static void refuse_read(struct qp *qp, struct response *response)
{
	response->syndrome = AETH_NAK | NAK_ACCESS;
	send_response(qp, ACKNOWLEDGE, response, response->psn + response->done / qp->mtu,
		      NULL, 0);
	qp_failed(qp, CQE_LOCAL_ACCESS, EVENT_ACCESS_ERROR);
	qp_enter_error(qp);
}

bool responder_send(struct qp *qp)
{
	struct list *responses = &qp->responder.responses;
	struct response *response;
	u32 i;

	for (i = 0; i < BURST_PACKETS && !list_empty(responses); i++) {
		response = list_first(responses, struct response, link);
		if (response->operation == READ_REQUEST) {
			if (!send_read_part(qp, response)) {
				refuse_read(qp, response);
				return false;
			}
			if (response->done < response->bytes)
				continue;
		} else {
			send_response(qp, response->operation, response, response->psn, NULL, 0);
		}
		if (response->operation != ACKNOWLEDGE)
			qp->responder.queued[response->again]--;
		list_unlink(&response->link);
		free(response);
	}
	return !list_empty(responses);
}

/* Source of receives. Shared queues have their own protection domain. */
static struct recv_queue *receive_queue(struct qp *qp)
{
	return qp->responder.srq ? &qp->responder.srq->queue : &qp->rq;
}

static bool choose_srq(struct qp *qp, const struct roce_packet *packet)
{
	struct responder *r = &qp->responder;

	r->srq = qp->srq;
	if (qp->service != SERVICE_XRC)
		return true;
	r->srq = srq_find(qp->dev, OBJ_XRC_SRQ, packet->bth.xrc_srqn);
	return r->srq && r->srq->xrcd == qp->xrcd;
}

static enum verdict take_receive(struct qp *qp)
{
	struct responder *r = &qp->responder;

	if (r->have_wqe)
		return PASS;
	if ((!r->srq && !qp->has_rq) || !recv_queue_take(qp->dev, receive_queue(qp), &r->wqe)) {
		qp_count(qp, Q_OUT_OF_BUFFER);
		return NOT_READY;
	}
	r->have_wqe = true;
	if (r->srq)
		srq_check_limit(r->srq);
	return PASS;
}

/* First and middle packets are full, a last one is not empty. */
static enum verdict check_length(const struct qp *qp, const struct roce_packet *packet,
				 u8 traits)
{
	if (!(traits & OP_LAST))
		return packet->payload_bytes == qp->mtu ? PASS : BAD_REQUEST;
	if (packet->payload_bytes > qp->mtu)
		return BAD_REQUEST;
	return traits & OP_FIRST || packet->payload_bytes ? PASS : BAD_REQUEST;
}

static enum verdict check_order(const struct qp *qp, u8 traits)
{
	enum message_kind kind = traits & OP_SEND ? MESSAGE_SEND :
				 traits & OP_WRITE ? MESSAGE_WRITE : MESSAGE_NONE;

	if (traits & OP_FIRST)
		return qp->responder.message == MESSAGE_NONE ? PASS : BAD_REQUEST;
	return qp->responder.message == kind ? PASS : BAD_REQUEST;
}

static struct mkey_access remote_access(struct qp *qp, u32 rkey, u8 rights)
{
	/* An XRC target has no domain of its own: that of the SRQ is used. */
	u32 pd = qp->service == SERVICE_XRC ? receive_queue(qp)->pd : qp->pd;

	return (struct mkey_access){ .key = rkey, .pd = pd, .qpn = qp->object.id,
				     .rights = rights };
}

static enum verdict invalidate(struct qp *qp, u32 key)
{
	struct mkey *mkey = mkey_find(qp->dev, key);

	if (!mkey || mkey->free || mkey->pd_number != remote_access(qp, key, 0).pd ||
	    !mkey->remote_invalidate)
		return BAD_INVALIDATE;
	mkey_invalidate(mkey);
	return PASS;
}

/* @data: to put into the completion, or NULL */
static void complete(struct qp *qp, const struct roce_packet *packet, u8 opcode, u32 bytes,
		     const u8 *data)
{
	struct responder *r = &qp->responder;
	struct cq *cq = qp->recv_cq;
	u8 cqe[CQE_BYTES] = { 0 };
	u32 user_index = qp->user_index;

	if (qp->service == SERVICE_XRC && r->srq) {
		cq = r->srq->cq;
		user_index = r->srq->user_index;
	}
	put_be32(cqe + CQE_SRQN, user_index);
	put_be32(cqe + CQE_IMM, packet->bth.immediate);
	put_be32(cqe + CQE_BYTE_COUNT, bytes);
	put_be32(cqe + CQE_FLAGS_RQPN, qp->remote_qpn);
	put_be16(cqe + CQE_WQE_COUNTER, r->wqe.index);
	cqe[CQE_OP_OWN] = opcode << 4;
	r->have_wqe = false;
	if (!data || !cq) {
		qp_complete_receive(qp, cq, cqe, packet->bth.solicited);
		return;
	}
	put_be32(cqe + CQE_QPN, qp->object.id);
	qp->dev->counters.work.completions++;
	cq_post_with_data(cq, cqe, packet->bth.solicited, data, bytes);
}

static bool fits_in_completion(const struct qp *qp, const struct roce_packet *packet,
			       const struct roce_opcode_row *row)
{
	return row->traits & OP_FIRST && row->traits & OP_LAST && packet->payload_bytes &&
	       packet->payload_bytes <= qp_cqe_room(qp, false);
}

static u8 receive_opcode(u8 headers)
{
	if (headers & HDR_IMM)
		return CQE_SEND_IMM;
	return headers & HDR_IETH ? CQE_SEND_INV : CQE_SEND;
}

static enum verdict take_send(struct qp *qp, const struct roce_packet *packet,
			      const struct roce_opcode_row *row)
{
	bool in_completion = fits_in_completion(qp, packet, row);
	struct responder *r = &qp->responder;
	enum verdict verdict;

	if (row->traits & OP_FIRST) {
		verdict = take_receive(qp);
		if (verdict)
			return verdict;
		r->offset = 0;
	}
	if (r->offset + packet->payload_bytes > r->wqe.bytes)
		return BAD_LENGTH;
	if (!in_completion &&
	    qp_scatter(qp, receive_queue(qp), &r->wqe, r->offset, packet->payload,
		       packet->payload_bytes))
		return BAD_MEMORY;
	r->offset += packet->payload_bytes;
	r->message = MESSAGE_SEND;
	if (!(row->traits & OP_LAST))
		return PASS;
	verdict = row->headers & HDR_IETH ? invalidate(qp, packet->bth.immediate) : PASS;
	if (verdict)
		return verdict;
	r->message = MESSAGE_NONE;
	complete(qp, packet, receive_opcode(row->headers), r->offset,
		 in_completion ? packet->payload : NULL);
	return PASS;
}

static enum verdict begin_write(struct qp *qp, const struct roce_packet *packet)
{
	struct mkey_access who = remote_access(qp, packet->bth.rkey, RIGHT_REMOTE_WRITE);
	struct responder *r = &qp->responder;

	if (!(qp->access & RIGHT_REMOTE_WRITE))
		return BAD_ACCESS;
	if (packet->bth.dma_bytes &&
	    mkey_check(qp->dev, &who, packet->bth.remote_address, packet->bth.dma_bytes))
		return BAD_ACCESS;
	r->write_address = packet->bth.remote_address;
	r->write_rkey = packet->bth.rkey;
	r->write_bytes = packet->bth.dma_bytes;
	r->offset = 0;
	qp_count(qp, Q_RX_WRITES);
	return PASS;
}

static enum verdict take_write(struct qp *qp, const struct roce_packet *packet,
			       const struct roce_opcode_row *row)
{
	struct responder *r = &qp->responder;
	struct mkey_access who;
	enum verdict verdict = PASS;
	bool last = row->traits & OP_LAST, immediate = row->headers & HDR_IMM;

	/* Take the receive first: a request that must be repeated changes nothing. */
	if (immediate)
		verdict = take_receive(qp);
	if (!verdict && (row->traits & OP_FIRST))
		verdict = begin_write(qp, packet);
	if (verdict)
		return verdict;
	if (last ? r->offset + packet->payload_bytes != r->write_bytes :
		   r->offset + packet->payload_bytes >= r->write_bytes)
		return BAD_REQUEST;
	who = remote_access(qp, r->write_rkey, RIGHT_REMOTE_WRITE);
	if (packet->payload_bytes && mkey_write(qp->dev, &who, r->write_address + r->offset,
						packet->payload, packet->payload_bytes))
		return BAD_ACCESS;
	r->offset += packet->payload_bytes;
	r->message = last ? MESSAGE_NONE : MESSAGE_WRITE;
	if (last && immediate)
		complete(qp, packet, CQE_WRITE_IMM, r->write_bytes, NULL);
	return PASS;
}

static struct responder_resource *new_resource(struct qp *qp, u32 psn, u32 packets)
{
	struct responder *r = &qp->responder;
	struct responder_resource *resource = &r->resource[r->resources++ % qp->max_resources];

	*resource = (struct responder_resource){ .first_psn = psn, .packets = packets };
	return resource;
}

/*
 * A peer may not exceed the number of requests that the QP was configured for. Duplicates do not
 * count, but are limited, too.
 */
static struct response *queue_expensive(struct qp *qp, u8 operation, u32 psn, bool again)
{
	struct response *response;

	if (qp->responder.queued[again] >= (again ? MAX_READS : qp->max_resources))
		return NULL;
	qp->responder.queued[again]++;
	response = queue_response(qp, operation, psn);
	response->again = again;
	return response;
}

static enum verdict queue_read(struct qp *qp, const struct roce_packet *packet, bool again)
{
	struct mkey_access who = remote_access(qp, packet->bth.rkey, RIGHT_REMOTE_READ);
	struct response *response;

	if (!(qp->access & RIGHT_REMOTE_READ))
		return BAD_ACCESS;
	if (packet->bth.dma_bytes &&
	    mkey_check(qp->dev, &who, packet->bth.remote_address, packet->bth.dma_bytes))
		return BAD_ACCESS;
	response = queue_expensive(qp, READ_REQUEST, packet->bth.psn, again);
	if (!response)
		return BAD_REQUEST;
	response->address = packet->bth.remote_address;
	response->rkey = packet->bth.rkey;
	response->pd = who.pd;
	response->bytes = packet->bth.dma_bytes;
	return PASS;
}

static u32 read_packets(const struct qp *qp, u32 bytes)
{
	return bytes ? (bytes - 1) / qp->mtu + 1 : 1;
}

static enum verdict take_read(struct qp *qp, const struct roce_packet *packet)
{
	u32 packets = read_packets(qp, packet->bth.dma_bytes);
	enum verdict verdict;

	qp->responder.msn++;
	verdict = queue_read(qp, packet, false);
	if (verdict)
		return verdict;
	new_resource(qp, packet->bth.psn, packets);
	qp->responder.expected_psn += packets - 1;
	qp_count(qp, Q_RX_READS);
	return PASS;
}

/* The operand and the memory have the guest's byte order: little endian. */
static u64 operate(u64 *target, const struct roce_packet *packet)
{
	u64 old = __atomic_load_n(target, __ATOMIC_SEQ_CST);

	if ((packet->bth.opcode & 0x1f) == FETCH_ADD)
		return __atomic_fetch_add(target, packet->bth.swap_add, __ATOMIC_SEQ_CST);
	if (old == packet->bth.compare)
		__atomic_compare_exchange_n(target, &old, packet->bth.swap_add, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static enum verdict take_atomic(struct qp *qp, const struct roce_packet *packet)
{
	struct mkey_access who = remote_access(qp, packet->bth.rkey, RIGHT_REMOTE_ATOMIC);
	struct responder_resource *resource;
	struct response *response;
	enum mkey_fault fault;
	u64 *target;

	if (!(qp->access & RIGHT_REMOTE_ATOMIC))
		return BAD_ACCESS;
	if (packet->bth.remote_address % sizeof(u64))
		return BAD_REQUEST;
	target = mkey_atomic_target(qp->dev, &who, packet->bth.remote_address, &fault);
	if (!target)
		return BAD_ACCESS;
	response = queue_expensive(qp, ATOMIC_ACKNOWLEDGE, packet->bth.psn, false);
	if (!response)
		return BAD_REQUEST;
	resource = new_resource(qp, packet->bth.psn, 1);
	resource->atomic = true;
	resource->original = operate(target, packet);
	response->original = resource->original;
	response->msn = ++qp->responder.msn;
	qp_count(qp, Q_RX_ATOMICS);
	return PASS;
}

static enum verdict execute(struct qp *qp, const struct roce_packet *packet)
{
	const struct roce_opcode_row *row = roce_opcode(packet->bth.opcode);
	enum verdict verdict = check_order(qp, row->traits);

	if (!verdict && !choose_srq(qp, packet))
		verdict = BAD_REQUEST;
	if (!verdict)
		verdict = check_length(qp, packet, row->traits);
	if (verdict)
		return verdict;
	if (row->traits & OP_SEND)
		return take_send(qp, packet, row);
	if (row->traits & OP_WRITE)
		return take_write(qp, packet, row);
	if (row->headers & HDR_ATOMIC)
		return take_atomic(qp, packet);
	return take_read(qp, packet);
}

static void send_nak(struct qp *qp, u8 syndrome, u32 psn)
{
	struct response nak = { .syndrome = syndrome, .msn = qp->responder.msn };

	send_response(qp, ACKNOWLEDGE, &nak, psn, NULL, 0);
}

/* The peer is notified, the receive in progress fails, and the QP ends. */
static void refuse(struct qp *qp, const struct roce_packet *packet, enum verdict verdict)
{
	const struct refusal *refusal = &refusals[verdict];
	struct responder *r = &qp->responder;

	trace_note("dev%u QP %#x refuses %s psn %#x: verdict %u", qp->dev->index, qp->object.id,
		   roce_opcode(packet->bth.opcode)->name, packet->bth.psn, verdict);
	qp_count(qp, refusal->counter);
	if (qp_is_reliable(qp))
		send_nak(qp, AETH_NAK | refusal->nak, packet->bth.psn);
	if (r->have_wqe) {
		r->have_wqe = false;
		qp_receive_error(qp, &r->wqe, refusal->syndrome);
	} else {
		qp_failed(qp, refusal->syndrome, refusal->event);
	}
	qp_enter_error(qp);
}

static void not_ready(struct qp *qp, const struct roce_packet *packet)
{
	if (!qp_is_reliable(qp)) {
		qp->responder.message = MESSAGE_NONE;
		return;
	}
	qp->responder.nak_sent = true;
	send_nak(qp, AETH_RNR | qp->min_rnr_timer, packet->bth.psn);
}

static void take_request(struct qp *qp, const struct roce_packet *packet)
{
	const struct roce_opcode_row *row = roce_opcode(packet->bth.opcode);
	struct responder *r = &qp->responder;
	enum verdict verdict = execute(qp, packet);

	if (verdict == NOT_READY) {
		not_ready(qp, packet);
		return;
	}
	if (verdict) {
		refuse(qp, packet, verdict);
		return;
	}
	r->expected_psn = (r->expected_psn + 1) & PSN_MASK;
	r->nak_sent = false;
	if (!(row->traits & (OP_SEND | OP_WRITE)))
		return;
	if (row->traits & OP_LAST)
		r->msn = (r->msn + 1) & PSN_MASK;
	if (qp_is_reliable(qp) && packet->bth.ack_request)
		acknowledge(qp, packet->bth.psn);
}

static void out_of_sequence(struct qp *qp)
{
	struct responder *r = &qp->responder;

	qp_count(qp, Q_OUT_OF_SEQUENCE);
	if (r->nak_sent)
		return;
	r->nak_sent = true;
	queue_response(qp, ACKNOWLEDGE, r->expected_psn)->syndrome = AETH_NAK | NAK_SEQUENCE;
}

static void replay_atomic(struct qp *qp, u32 psn)
{
	const struct responder_resource *resource;
	struct response *response;
	u32 i;

	for (i = 0; i < qp->max_resources && i < qp->responder.resources; i++) {
		resource = &qp->responder.resource[i];
		if (!resource->atomic || resource->first_psn != psn)
			continue;
		response = queue_expensive(qp, ATOMIC_ACKNOWLEDGE, psn, true);
		if (response)
			response->original = resource->original;
	}
}

static void duplicate(struct qp *qp, const struct roce_packet *packet)
{
	const struct roce_opcode_row *row = roce_opcode(packet->bth.opcode);

	qp_count(qp, Q_DUPLICATE);
	if (row->headers & HDR_ATOMIC)
		replay_atomic(qp, packet->bth.psn);
	else if (!(row->traits & (OP_SEND | OP_WRITE)))
		queue_read(qp, packet, true);
	else if (packet->bth.ack_request)
		acknowledge(qp, qp->responder.expected_psn - 1);
}

static void receive_reliable(struct qp *qp, const struct roce_packet *packet)
{
	int32_t ahead = psn_diff(packet->bth.psn, qp->responder.expected_psn);

	if (ahead > 0)
		out_of_sequence(qp);
	else if (ahead < 0)
		duplicate(qp, packet);
	else
		take_request(qp, packet);
}

/* A hole ends its message; the next one starts afresh. */
static void receive_unreliable(struct qp *qp, const struct roce_packet *packet)
{
	struct responder *r = &qp->responder;
	u8 traits = roce_opcode(packet->bth.opcode)->traits;

	if (packet->bth.psn != r->expected_psn || (traits & OP_FIRST))
		r->message = MESSAGE_NONE;
	r->expected_psn = packet->bth.psn;
	if (!(traits & OP_FIRST) && r->message == MESSAGE_NONE) {
		r->expected_psn = (r->expected_psn + 1) & PSN_MASK;
		return;
	}
	take_request(qp, packet);
	r->expected_psn = (packet->bth.psn + 1) & PSN_MASK;
}

void responder_receive(struct qp *qp, const struct roce_packet *packet)
{
	struct responder *r = &qp->responder;

	if (!qp_receives(qp))
		return;
	if (qp->state == QP_RTR && !r->established) {
		r->established = true;
		event_queue_number(qp->dev, EVENT_COMM_ESTABLISHED, EVENT_FROM_QP,
				   qp->object.id);
	}
	if (qp_is_reliable(qp))
		receive_reliable(qp, packet);
	else
		receive_unreliable(qp, packet);
}
