// SPDX-License-Identifier: GPL-2.0
#include "requester.h"

#include <stdlib.h>

#include "device.h"
#include "send_queue.h"
#include "trace.h"
#include "umr.h"

#define BURST_PACKETS		16u
#define WINDOW_PACKETS		64	/* not acknowledged */
#define ACK_EVERY		16u	/* packets between two ACK requests */
#define ACK_TIMEOUT_UNIT_NS	4096ull
/* The adapter's minimum timeout, whatever the driver requests. */
#define ACK_TIMEOUT_FLOOR_NS	250000000ull

/* Values of the RNR NAK timer field, IBTA table 45, in units of 10 us. */
static const u16 rnr_delay[32] = {
	65535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
	49152,
};

static const struct {
	u8 nak;
	enum cqe_syndrome syndrome;
	u32 counter;
} naks[] = {
	{ NAK_INVALID,	 CQE_REMOTE_INVALID,	Q_REQ_REMOTE_INVALID },
	{ NAK_ACCESS,	 CQE_REMOTE_ACCESS,	Q_REQ_REMOTE_ACCESS },
	{ NAK_OPERATION, CQE_REMOTE_OP,		Q_REQ_REMOTE_OP },
};

static void timer_expired(struct timer *timer);

static void pace_expired(struct timer *timer)
{
	qp_wake(container_of(timer, struct qp, rate.pace));
}

void requester_init(struct qp *qp)
{
	list_init(&qp->sq.ops);
	timer_init(&qp->requester.timer, timer_expired);
	timer_init(&qp->rate.pace, pace_expired);
}

void requester_start(struct qp *qp)
{
	struct requester *r = &qp->requester;

	r->next_psn = GET(qpc, qp->context, next_send_psn);
	r->oldest_psn = r->next_psn;
	r->retries_left = qp->retry_count;
	r->rnr_left = qp->rnr_retry;
}

static struct send_op *oldest(struct qp *qp)
{
	return list_empty(&qp->sq.ops) ? NULL : list_first(&qp->sq.ops, struct send_op, link);
}

static struct send_op *following(struct qp *qp, struct send_op *op)
{
	if (op->link.next == &qp->sq.ops)
		return NULL;
	return container_of(op->link.next, struct send_op, link);
}

void requester_check_drained(struct qp *qp)
{
	struct send_op *op = oldest(qp);

	if (qp->state != QP_SQ_DRAINED || !qp->sq.draining || (op && op->started))
		return;
	qp->sq.draining = false;
	event_queue_number(qp->dev, EVENT_SQ_DRAINED, EVENT_FROM_QP, qp->object.id);
}

void requester_complete(struct qp *qp, struct send_op *op, enum cqe_syndrome syndrome)
{
	u8 cqe[CQE_BYTES] = { 0 };

	if (qp->sq.current == op)
		qp->sq.current = following(qp, op);
	list_unlink(&op->link);
	qp->sq.held -= op->blocks;
	if (op->started && (send_op_is_read(op) || send_op_is_atomic(op)))
		qp->requester.reads--;
	if (syndrome)
		qp_count(qp, syndrome == CQE_FLUSHED ? Q_REQ_FLUSH : Q_REQ_CQE_ERROR);
	if ((op->signalled || syndrome) && qp->send_cq) {
		put_be32(cqe + CQE_SRQN, qp->user_index);
		put_be32(cqe + CQE_QPN, (u32)op->opcode << 24 | qp->object.id);
		put_be16(cqe + CQE_WQE_COUNTER, op->index);
		if (syndrome) {
			cqe[CQE_ERR_SYNDROME] = syndrome;
			cqe[CQE_OP_OWN] = CQE_REQUEST_ERROR << 4;
		} else {
			put_be32(cqe + CQE_BYTE_COUNT, op->bytes);
			cqe[CQE_OP_OWN] = CQE_REQUEST << 4;
		}
		qp->dev->counters.work.completions++;
		if (!syndrome && send_op_in_completion(qp, op))
			cq_post_with_data(qp->send_cq, cqe, op->solicited, op->cqe_data,
					  op->bytes);
		else
			cq_post(qp->send_cq, cqe, syndrome || op->solicited);
	}
	free(op);
	requester_check_drained(qp);
}

void requester_stop(struct qp *qp)
{
	timer_cancel(&qp->requester.timer);
	timer_cancel(&qp->rate.pace);
	qp->requester.rnr_waiting = false;
}

bool requester_flush_one(struct qp *qp)
{
	if (!oldest(qp))
		return false;
	requester_complete(qp, oldest(qp), CQE_FLUSHED);
	return true;
}

void requester_flush(struct qp *qp)
{
	requester_stop(qp);
	while (requester_flush_one(qp))
		;
}

/* One that is not completed may still be executed: the driver must not write to its list. */
static void check_list(const struct qp *qp, const struct send_op *op)
{
	u64 digest = op->list_digest ? umr_list_digest(qp, op) : 0;

	if (digest && digest != op->list_digest)
		violation("dev%u QP %#x: the list of a request that was not completed was changed",
			  qp->dev->index, qp->object.id);
}

void requester_reset(struct qp *qp)
{
	struct send_op *op;

	timer_cancel(&qp->requester.timer);
	timer_cancel(&qp->rate.pace);
	while ((op = oldest(qp)) != NULL) {
		check_list(qp, op);
		list_unlink(&op->link);
		free(op);
	}
	qp->sq.current = NULL;
	qp->sq.held = 0;
	qp->requester.reads = 0;
	qp->requester.rnr_waiting = false;
}

void requester_fail(struct qp *qp, enum cqe_syndrome syndrome)
{
	qp->sq.draining = false;
	if (oldest(qp))
		requester_complete(qp, oldest(qp), syndrome);
	if (qp->service == SERVICE_UC || qp->service == SERVICE_UD || qp->service == SERVICE_GSI)
		qp_enter_sq_error(qp);
	else
		qp_enter_error(qp);
}

static u64 ack_timeout_ns(const struct qp *qp)
{
	return MAX(ACK_TIMEOUT_UNIT_NS << qp->ack_timeout, ACK_TIMEOUT_FLOOR_NS);
}

/* Runs while anything is not acknowledged. */
static void restart_timer(struct qp *qp)
{
	struct requester *r = &qp->requester;
	struct send_op *op = oldest(qp);

	if (r->rnr_waiting)
		return;
	if (op && op->started && qp->ack_timeout)
		timer_set(&r->timer, now_ns() + ack_timeout_ns(qp));
	else
		timer_cancel(&r->timer);
}

/*
 * Nothing before @psn is missing, nor before the first op that is not done. Later ones may be done
 * already, if that one had to be retransmitted.
 */
static void advance_oldest(struct qp *qp, u32 psn)
{
	struct requester *r = &qp->requester;
	u32 missing = r->next_psn;
	struct send_op *op;

	list_each(op, &qp->sq.ops, struct send_op, link) {
		if (!op->started)
			break;
		if (op->done || send_op_is_local(op))
			continue;
		missing = op->first_psn + op->received;
		break;
	}
	if (psn_diff(psn, r->oldest_psn) > 0)
		r->oldest_psn = psn & PSN_MASK;
	if (psn_diff(missing, r->oldest_psn) > 0)
		r->oldest_psn = missing & PSN_MASK;
}

/* Complete ops in order, as far as they are done. */
static void complete_done(struct qp *qp)
{
	struct send_op *op;

	while ((op = oldest(qp)) != NULL) {
		if (op->error) {
			requester_fail(qp, op->error);
			return;
		}
		if (!op->done)
			return;
		requester_complete(qp, op, CQE_OK);
	}
}

/* Retransmit from the oldest packet that is not acknowledged. */
static void rewind_to_oldest(struct qp *qp)
{
	struct requester *r = &qp->requester;
	struct send_op *op, *first = NULL;
	int32_t behind;

	list_each(op, &qp->sq.ops, struct send_op, link) {
		if (!op->started)
			break;
		if (op->done)
			continue;
		if (!first)
			first = op;
		behind = psn_diff(r->oldest_psn, op->first_psn);
		op->sent = 0;
		if (behind > 0 && !send_op_is_read(op) && !send_op_is_atomic(op))
			op->sent = MIN((u32)behind, op->packets);
	}
	if (first)
		qp->sq.current = first;
	qp_wake(qp);
}

static void retry(struct qp *qp)
{
	struct requester *r = &qp->requester;

	if (!r->retries_left) {
		qp_count(qp, Q_RETRIES_EXCEEDED);
		requester_fail(qp, CQE_RETRY_EXCEEDED);
		return;
	}
	r->retries_left--;
	rewind_to_oldest(qp);
	restart_timer(qp);
}

/* A hole in the responses: retransmit, once for each hole. */
static void recover(struct qp *qp)
{
	if (qp->requester.recovering)
		return;
	qp->requester.recovering = true;
	retry(qp);
}

static void timer_expired(struct timer *timer)
{
	struct qp *qp = container_of(timer, struct qp, requester.timer);

	if (qp->requester.rnr_waiting) {
		qp->requester.rnr_waiting = false;
		rewind_to_oldest(qp);
		restart_timer(qp);
		return;
	}
	qp_count(qp, Q_TIMEOUT);
	qp->requester.recovering = false;
	trace_note("dev%u QP %#x: acknowledge timeout, %u retries left", qp->dev->index,
		   qp->object.id, qp->requester.retries_left);
	retry(qp);
}

/* The position of a packet in its message determines its operation. */
static u8 send_operation(const struct send_op *op, u32 number)
{
	bool first = !number, last = number + 1 == op->packets;
	bool write = op->opcode == WQE_WRITE || op->opcode == WQE_WRITE_IMM;
	bool imm = op->opcode == WQE_SEND_IMM || op->opcode == WQE_WRITE_IMM;

	if (op->opcode == WQE_READ)
		return READ_REQUEST;
	if (op->opcode == WQE_COMPARE_SWAP)
		return COMPARE_SWAP;
	if (op->opcode == WQE_FETCH_ADD)
		return FETCH_ADD;
	if (op->opcode == WQE_SEND_INV && last)
		return first ? SEND_ONLY_INV : SEND_LAST_INV;
	if (write && last)
		return (first ? WRITE_ONLY : WRITE_LAST) + imm;
	if (write)
		return first ? WRITE_FIRST : WRITE_MIDDLE;
	if (last)
		return (first ? SEND_ONLY : SEND_LAST) + imm;
	return first ? SEND_FIRST : SEND_MIDDLE;
}

static void fill_remote(struct qp *qp, const struct send_op *op,
			struct roce_transport_headers *bth)
{
	u64 done = (u64)op->received * qp->mtu;

	bth->remote_address = op->remote_address;
	bth->rkey = op->rkey;
	bth->dma_bytes = op->bytes;
	bth->swap_add = op->swap_add;
	bth->compare = op->compare;
	bth->xrc_srqn = op->xrc_srqn;
	bth->immediate = op->immediate;
	if (send_op_is_read(op)) {	/* a retransmitted READ requests the rest */
		bth->remote_address += done;
		bth->dma_bytes -= done;
	}
}

/* Return: false if the op's memory does not exist. */
static bool send_packet(struct qp *qp, struct send_op *op)
{
	struct roce_transport_headers bth = { .pkey = ROCE_DEFAULT_PKEY,
					      .dest_qpn = qp->remote_qpn };
	u8 payload[ROCE_MAX_MTU], frame[ROCE_MAX_FRAME];
	u8 operation = send_operation(op, op->sent);
	u32 offset = op->sent * qp->mtu, bytes = 0;

	if (roce_operations[operation].traits & OP_PAYLOAD) {
		bytes = MIN(op->bytes - offset, qp->mtu);
		if (send_op_gather(qp, op, offset, payload, bytes))
			return false;
	}
	bth.opcode = qp_transport(qp) | operation;
	bth.psn = op->first_psn + op->sent;
	if (send_op_is_read(op))
		bth.psn = op->first_psn + op->received;
	if (roce_operations[operation].traits & OP_LAST) {
		bth.ack_request = qp_is_reliable(qp);
		bth.solicited = op->solicited;
	} else {
		bth.ack_request = qp_is_reliable(qp) && bth.psn % ACK_EVERY == 0;
	}
	fill_remote(qp, op, &bth);
	bytes = roce_build(frame, &qp->route, &bth, payload, bytes);
	rate_charge(qp, bytes);
	qp_transmit(qp, frame, bytes);
	return true;
}

/* Assign PSNs to the op. */
static void start(struct qp *qp, struct send_op *op)
{
	struct requester *r = &qp->requester;

	op->packets = op->bytes ? (op->bytes + qp->mtu - 1) / qp->mtu : 1;
	op->first_psn = r->next_psn;
	op->started = true;
	r->next_psn = (r->next_psn + op->packets) & PSN_MASK;
	if (send_op_is_read(op) || send_op_is_atomic(op))
		r->reads++;
}

/* Of an op that involves a peer. */
static bool unsupported(const struct qp *qp, const struct send_op *op)
{
	if (op->opcode == 0xff || qp->service == SERVICE_REG_UMR)
		return true;
	if (qp->service == SERVICE_UC)
		return send_op_is_read(op) || send_op_is_atomic(op) ||
		       op->opcode == WQE_SEND_INV;
	return false;
}

static bool older_reads_pending(struct qp *qp, struct send_op *op)
{
	struct send_op *other;

	list_each(other, &qp->sq.ops, struct send_op, link) {
		if (other == op)
			return false;
		if (!other->done && (send_op_is_read(other) || send_op_is_atomic(other)))
			return true;
	}
	return false;
}

/* Must the op wait for others, or for the peer? */
static bool must_wait(struct qp *qp, struct send_op *op)
{
	struct requester *r = &qp->requester;
	bool reads = send_op_is_read(op) || send_op_is_atomic(op);

	if (r->rnr_waiting || (qp->state == QP_SQ_DRAINED && !op->started))
		return true;
	if (op->fence >= FENCE_READS && !op->started && older_reads_pending(qp, op))
		return true;
	if (send_op_is_local(op))
		return op->fence && op != oldest(qp);
	if (reads && !op->started && r->reads >= qp->max_reads)
		return true;
	if (!qp_is_reliable(qp) || (reads && op->started))
		return false;
	if (!op->started)
		return psn_diff(r->next_psn, r->oldest_psn) >= WINDOW_PACKETS;
	return psn_diff(op->first_psn + op->sent, r->oldest_psn) >= WINDOW_PACKETS;
}

/* It is not executed until the QP is reset. */
static bool lose_on_demand(struct qp *qp, struct send_op *op)
{
	if (op->opcode != WQE_UMR || op->done || !demand_meets(&qp->dev->commands.request_loss))
		return false;
	op->list_digest = umr_list_digest(qp, op);
	return true;
}

/* An op that involves only this adapter. Done when its turn comes. */
static void run_local(struct qp *qp, struct send_op *op)
{
	op->error = umr_execute(qp, op);
	op->done = !op->error;
	op->started = true;
	op->first_psn = qp->requester.next_psn;
}

static u32 packets_to_send(const struct send_op *op)
{
	return send_op_is_read(op) ? 1 : op->packets;
}

/* Send one packet of the current op. Return: false if nothing can be sent now. */
static bool step(struct qp *qp)
{
	struct send_op *op = qp->sq.current;

	if (!op || op->error || must_wait(qp, op) || !rate_allows(qp))
		return false;
	if (send_op_is_local(op)) {
		op->lost = op->lost || lose_on_demand(qp, op);
		if (op->lost)
			return false;
		if (!op->done)
			run_local(qp, op);
		qp->sq.current = op->error ? op : following(qp, op);
		complete_done(qp);
		return qp_requests(qp);
	}
	if (!op->started && unsupported(qp, op)) {
		op->error = CQE_LOCAL_QP_OP;
		qp_count(qp, Q_LOCAL_OP_ERROR);
	} else if (op->bytes > 1u << GET(qpc, qp->context, log_msg_max)) {
		op->error = CQE_LOCAL_LENGTH;
		qp_count(qp, Q_REQ_LOCAL_LENGTH);
	} else {
		if (!op->started)
			start(qp, op);
		if (!op->done && !send_packet(qp, op)) {
			op->error = CQE_LOCAL_PROTECTION;
			qp_count(qp, Q_REQ_LOCAL_PROTECTION);
		}
	}
	if (op->error) {
		complete_done(qp);
		return false;
	}
	if (++op->sent >= packets_to_send(op)) {
		qp->sq.current = following(qp, op);
		if (!qp_is_reliable(qp)) {
			op->done = true;
			complete_done(qp);
		}
	}
	return true;
}

bool requester_send(struct qp *qp)
{
	u32 i;

	for (i = 0; i < BURST_PACKETS; i++) {
		if (!step(qp)) {
			if (qp_requests(qp) && qp_is_reliable(qp) &&
			    !qp->requester.timer.at_ns)
				restart_timer(qp);
			return false;
		}
	}
	if (qp_is_reliable(qp) && !qp->requester.timer.at_ns)
		restart_timer(qp);
	return true;
}

/* The peer has answered: complete ops that are done, and continue sending. */
static void go_on(struct qp *qp)
{
	struct requester *r = &qp->requester;

	r->recovering = false;
	r->retries_left = qp->retry_count;
	r->rnr_left = qp->rnr_retry;
	complete_done(qp);
	if (!qp_requests(qp))
		return;
	restart_timer(qp);
	qp_wake(qp);
}

/* Everything up to and including @psn has arrived at the peer. */
static void acknowledge(struct qp *qp, u32 psn)
{
	struct requester *r = &qp->requester;
	u32 next = (psn + 1) & PSN_MASK;
	struct send_op *op;

	if (psn_diff(next, r->oldest_psn) <= 0 || psn_diff(next, r->next_psn) > 0)
		return;
	list_each(op, &qp->sq.ops, struct send_op, link) {
		if (!op->started || psn_diff(next, op->first_psn) <= 0)
			break;
		if (op->done || send_op_is_local(op))
			continue;
		/* An acknowledgement past a READ without its data: the data is lost. */
		if (send_op_is_read(op) || send_op_is_atomic(op)) {
			qp_count(qp, Q_IMPLIED_NAK);
			next = (op->first_psn + op->received) & PSN_MASK;
			if (psn_diff(next, r->oldest_psn) > 0)
				r->oldest_psn = next;
			complete_done(qp);
			if (qp_requests(qp))
				recover(qp);
			return;
		}
		if (psn_diff(next, op->first_psn + op->packets) >= 0)
			op->done = true;
	}
	advance_oldest(qp, next);
	go_on(qp);
}

static void rnr_nak(struct qp *qp, u32 psn, u8 code)
{
	struct requester *r = &qp->requester;

	if (psn_diff(psn, r->oldest_psn) < 0 || psn_diff(psn, r->next_psn) >= 0)
		return;
	acknowledge(qp, (psn - 1) & PSN_MASK);
	if (!qp_requests(qp) || r->rnr_waiting)
		return;
	qp_count(qp, Q_RNR_NAK_RETRY);
	if (qp->rnr_retry != RNR_RETRY_FOREVER && !r->rnr_left) {
		qp_count(qp, Q_RNR_EXCEEDED);
		requester_fail(qp, CQE_RNR_EXCEEDED);
		return;
	}
	if (qp->rnr_retry != RNR_RETRY_FOREVER)
		r->rnr_left--;
	r->rnr_waiting = true;
	timer_set(&r->timer, now_ns() + rnr_delay[code] * 10000ull);
}

static void nak(struct qp *qp, u32 psn, u8 code)
{
	struct requester *r = &qp->requester;
	u32 i;

	if (psn_diff(psn, r->oldest_psn) < 0 || psn_diff(psn, r->next_psn) >= 0)
		return;
	acknowledge(qp, (psn - 1) & PSN_MASK);
	if (!qp_requests(qp))
		return;
	if (code == NAK_SEQUENCE) {
		qp_count(qp, Q_PACKET_SEQ_ERR);
		retry(qp);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(naks); i++) {
		if (naks[i].nak == code) {
			qp_count(qp, naks[i].counter);
			requester_fail(qp, naks[i].syndrome);
			return;
		}
	}
}

static void take_ack(struct qp *qp, const struct roce_packet *packet)
{
	u8 syndrome = packet->bth.syndrome;

	switch (AETH_KIND(syndrome)) {
	case 0:
		acknowledge(qp, packet->bth.psn);
		break;
	case AETH_RNR:
		rnr_nak(qp, packet->bth.psn, AETH_VALUE(syndrome));
		break;
	case AETH_NAK:
		nak(qp, packet->bth.psn, AETH_VALUE(syndrome));
		break;
	}
}

static struct send_op *op_of_response(struct qp *qp, u32 psn)
{
	struct send_op *op;

	list_each(op, &qp->sq.ops, struct send_op, link)
		if (op->started && !op->done && !send_op_is_local(op) &&
		    psn_diff(psn, op->first_psn) >= 0 &&
		    psn_diff(psn, op->first_psn + op->packets) < 0)
			return op;
	return NULL;
}

/* A response also acknowledges everything before it. */
static void response_progress(struct qp *qp, struct send_op *op)
{
	if (op->received == op->packets)
		op->done = true;
	advance_oldest(qp, qp->requester.oldest_psn);
	go_on(qp);
}

/* Is this the packet that the op expects next? Retransmits if one is missing. */
static bool response_expected(struct qp *qp, struct send_op *op, u32 psn)
{
	u32 expected = (op->first_psn + op->received) & PSN_MASK;

	if (psn == expected) {
		acknowledge(qp, (op->first_psn - 1) & PSN_MASK);
		return qp_requests(qp);
	}
	if (psn_diff(psn, expected) > 0) {
		qp_count(qp, Q_OUT_OF_SEQUENCE);
		if (psn_diff(expected, qp->requester.oldest_psn) >= 0)
			recover(qp);
	}
	return false;
}

static void take_read_response(struct qp *qp, const struct roce_packet *packet)
{
	struct send_op *op = op_of_response(qp, packet->bth.psn);
	u32 offset, expected_bytes;

	if (!op || !send_op_is_read(op) || !response_expected(qp, op, packet->bth.psn))
		return;
	offset = op->received * qp->mtu;
	expected_bytes = MIN(op->bytes - offset, qp->mtu);
	if (packet->payload_bytes != expected_bytes) {
		qp_count(qp, Q_REQ_BAD_RESPONSE);
		requester_fail(qp, CQE_BAD_RESPONSE);
		return;
	}
	if (send_op_scatter(qp, op, offset, packet->payload, packet->payload_bytes)) {
		qp_count(qp, Q_REQ_LOCAL_PROTECTION);
		requester_fail(qp, CQE_LOCAL_PROTECTION);
		return;
	}
	op->received++;
	response_progress(qp, op);
}

static void take_atomic_response(struct qp *qp, const struct roce_packet *packet)
{
	struct send_op *op = op_of_response(qp, packet->bth.psn);
	u64 original = packet->bth.original;

	if (!op || !send_op_is_atomic(op) || !response_expected(qp, op, packet->bth.psn))
		return;
	/* The requester gets it in the byte order that the driver selected: its own. */
	if (send_op_scatter(qp, op, 0, (u8 *)&original, sizeof(original))) {
		requester_fail(qp, CQE_LOCAL_PROTECTION);
		return;
	}
	op->received = 1;
	response_progress(qp, op);
}

void requester_receive(struct qp *qp, const struct roce_packet *packet)
{
	if (!qp_requests(qp))
		return;
	switch (packet->bth.opcode & 0x1f) {
	case ACKNOWLEDGE:
		take_ack(qp, packet);
		break;
	case ATOMIC_ACKNOWLEDGE:
		take_atomic_response(qp, packet);
		break;
	default:
		take_read_response(qp, packet);
	}
}
