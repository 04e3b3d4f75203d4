// SPDX-License-Identifier: GPL-2.0
/*
 * Responder, IBTA vol. 1, 9.7.4: a request passes a list of checks in the order
 * of figure 106, is executed, and is answered in the softirq that brought it.
 * Datagrams and UC take the same way without answers.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <rdma/ib_verbs.h>

#include <rhca/compat.h>

#include "core/mw.h"
#include "sw/payload.h"
#include "sw/responder.h"
#include "sw/retry.h"
#include "sw/transmit.h"
#include "wire/psn.h"

#define GRH_BYTES		40

/* 9.7.5.2, table 44, and the completion that 10.8.6.2 asks for */
const struct rhca_refusal rhca_refusals[RHCA_NUM_VERDICTS] = {
	[RHCA_PSN_GAP]		= { true, RHCA_AETH_NAK, RHCA_NAK_PSN },
	[RHCA_NO_BUFFER]	= { true, RHCA_AETH_RNR },
	[RHCA_BAD_REQUEST]	= { true, RHCA_AETH_NAK, RHCA_NAK_INVALID, true,
				    IB_WC_REM_INV_REQ_ERR,
				    IB_EVENT_QP_REQ_ERR },
	[RHCA_BAD_LENGTH]	= { true, RHCA_AETH_NAK, RHCA_NAK_INVALID, true,
				    IB_WC_LOC_LEN_ERR, IB_EVENT_QP_REQ_ERR },
	[RHCA_BAD_KEY]		= { true, RHCA_AETH_NAK, RHCA_NAK_ACCESS, true,
				    IB_WC_REM_ACCESS_ERR,
				    IB_EVENT_QP_ACCESS_ERR },
	[RHCA_BAD_OPERATION]	= { true, RHCA_AETH_NAK, RHCA_NAK_INVALID, true,
				    IB_WC_REM_INV_REQ_ERR,
				    IB_EVENT_QP_REQ_ERR },
	[RHCA_LOCAL_FAULT]	= { true, RHCA_AETH_NAK, RHCA_NAK_OPERATION,
				    true, IB_WC_LOC_PROT_ERR,
				    IB_EVENT_QP_FATAL },
};
EXPORT_SYMBOL_IF_KUNIT(rhca_refusals);

/* 9.7.7.2.1, table 46: receive requests that a credit code stands for */
const u32 rhca_credits[RHCA_CREDIT_INVALID] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
	512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768,
};

/**
 * rhca_credit_code - The credit code for a number of posted receive requests
 * @requests: how many are posted
 *
 * Return: the largest code that does not promise more.
 */
u8 rhca_credit_code(u32 requests)
{
	u8 code = ARRAY_SIZE(rhca_credits) - 1;

	while (rhca_credits[code] > requests)
		code--;
	return code;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_credit_code);

static bool is_rc(const struct rhca_sw_qp *qp)
{
	return qp->base.ibqp.qp_type == IB_QPT_RC;
}

/* --- completions ---------------------------------------------------------- */

static void post_completion(struct rhca_sw_qp *qp, struct ib_wc *wc,
			    bool solicited, struct rhca_run *run)
{
	wc->wr_id = qp->recv.wqe.wr_id;
	wc->qp = &qp->base.ibqp;
	if (wc->status != IB_WC_SUCCESS)
		rhca_qp_count(&qp->base, wc->status == IB_WC_WR_FLUSH_ERR ?
			      RHCA_RESP_CQE_FLUSH_ERROR : RHCA_RESP_CQE_ERROR);
	qp->recv.have_wqe = false;
	run->raise_recv |= rhca_cq_post(rhca_recv_cq(&qp->base), wc, solicited);
}

static int take_wqe(struct rhca_sw_qp *qp)
{
	u32 left;

	if (qp->base.srq)
		return rhca_srq_take(qp->base.srq, &qp->recv.wqe,
				     &qp->recv.srq_limit_reached);
	return rhca_rq_take(&qp->base.rq, &qp->recv.wqe, &left);
}

/**
 * rhca_responder_flush - Complete receive requests as flushed, 10.8.5
 * @qp: a QP in ERR
 * @run: collects events
 *
 * Requests of a shared queue stay there; instead the QP tells that it has taken
 * its last one, 10.2.9.2.
 *
 * Context: recv.lock held.
 */
void rhca_responder_flush(struct rhca_sw_qp *qp, struct rhca_run *run)
{
	struct ib_wc wc = {
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_RECV,
	};
	u32 most;

	lockdep_assert_held(&qp->recv.lock);
	qp->recv.in_message = false;
	if (qp->recv.have_wqe)
		post_completion(qp, &wc, false, run);
	if (qp->base.srq)
		return;
	most = qp->base.rq.ring.mask + 1;
	while (take_wqe(qp) != -ENOENT) {
		post_completion(qp, &wc, false, run);
		/* A process can fill its ring as fast as it is emptied */
		if (!most--) {
			tasklet_schedule(&qp->recv.task);
			return;
		}
	}
}

/* --- answers -------------------------------------------------------------- */

static u8 ack_syndrome(struct rhca_sw_qp *qp)
{
	if (qp->base.srq)
		return rhca_syndrome(RHCA_AETH_ACK, RHCA_CREDIT_INVALID);
	return rhca_syndrome(RHCA_AETH_ACK,
			     rhca_credit_code(rhca_ring_filled(&qp->base.rq.ring)));
}

static void send_aeth(struct rhca_sw_qp *qp, struct rhca_path *path,
		      u8 syndrome, u32 psn)
{
	struct rhca_bth_fields fields = {
		.opcode		= IB_OPCODE_RC_ACKNOWLEDGE,
		.pkey		= rhca_qp_pkey(&qp->base),
		.dest_qpn	= qp->base.attr.dest_qp_num,
		.psn		= psn,
	};
	struct rhca_packet packet;
	struct rhca_train train;

	if (rhca_packet_begin(&packet, &qp->base, path, &fields, 0))
		return;		/* the peer will ask again */
	rhca_aeth_fill(rhca_packet_header(&packet, RHCA_HDR_AETH), syndrome,
		       qp->recv.msn);
	rhca_packet_seal(&packet, psn);
	rhca_train_begin(&train, &qp->base, path);
	rhca_train_add(&train, &packet);
	rhca_train_send(&train);
}

/* Answers keep the order of requests: those behind a READ wait for its data */
static void answer(struct rhca_sw_qp *qp, u8 syndrome, u32 psn)
{
	qp->recv.answer_waits = true;
	qp->recv.answer_syndrome = syndrome;
	qp->recv.answer_psn = psn;
}

static struct rhca_resource *resource_at(struct rhca_responder *recv, u32 index)
{
	return &recv->resources[index % RHCA_MAX_RD_ATOMIC];
}

static u8 response_opcode(const struct rhca_resource *res, bool first, bool last)
{
	if (first)
		return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY :
			      IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST;
	return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST :
		      IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

/* The key may have been taken away since the request came: check each time */
static struct rhca_mem *get_remote(struct rhca_sw_qp *qp, u32 rkey, u64 va,
				   u32 length, int access)
{
	struct rhca_remote remote = {
		.dev	= qp->base.dev,
		.pd	= qp->base.ibqp.pd,
		.qp_num	= qp->base.number,
		.rkey	= rkey,
		.va	= va,
		.length	= length,
		.access	= access,
	};

	return rhca_mem_get_remote(&remote);
}

static int build_read_data(struct rhca_sw_qp *qp,
			   const struct rhca_resource *res, u32 offset,
			   u32 bytes, bool copy, struct sk_buff *skb)
{
	struct rhca_mem *mem;
	int ret;

	if (!bytes)
		return 0;
	mem = get_remote(qp, res->rkey, res->va + offset, bytes,
			 IB_ACCESS_REMOTE_READ);
	if (!mem)
		return -EACCES;
	ret = rhca_mem_to_skb(mem, res->va + offset, bytes, skb, copy);
	rhca_mem_put(mem);
	return ret;
}

/*
 * Small payloads are copied, and so are repeated ones: memory that is written
 * to while it is read must not differ between the ICRC and the wire for ever.
 */
static int build_read_response(struct rhca_sw_qp *qp, struct rhca_resource *res,
			       struct rhca_path *path, bool copy,
			       struct rhca_packet *packet)
{
	u32 offset = qp->mtu_bytes * rhca_psn_diff(res->next_psn,
						   res->first_psn);
	u32 bytes = min(res->length - offset, qp->mtu_bytes);
	bool first = res->next_psn == res->first_psn;
	bool last = res->next_psn == res->last_psn;
	struct rhca_bth_fields fields = {
		.opcode		= response_opcode(res, first, last),
		.pkey		= rhca_qp_pkey(&qp->base),
		.dest_qpn	= qp->base.attr.dest_qp_num,
		.psn		= res->next_psn,
	};
	int ret;

	copy |= res->copy || bytes <= RHCA_COPY_BYTES;
	if (rhca_packet_begin(packet, &qp->base, path, &fields, copy ? bytes : 0))
		return -ENOMEM;
	if (rhca_opcode_has(fields.opcode, RHCA_HDR_AETH))
		rhca_aeth_fill(rhca_packet_header(packet, RHCA_HDR_AETH),
			       ack_syndrome(qp), qp->recv.msn);
	ret = build_read_data(qp, res, offset, bytes, copy, packet->skb);
	if (ret) {
		kfree_skb(packet->skb);
		return ret;
	}
	rhca_packet_seal(packet, fields.psn);
	return 0;
}

static int build_atomic_response(struct rhca_sw_qp *qp,
				 const struct rhca_resource *res,
				 struct rhca_path *path,
				 struct rhca_packet *packet)
{
	struct rhca_bth_fields fields = {
		.opcode		= IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE,
		.pkey		= rhca_qp_pkey(&qp->base),
		.dest_qpn	= qp->base.attr.dest_qp_num,
		.psn		= res->first_psn,
	};
	struct rhca_atomic_ack_eth *eth;

	if (rhca_packet_begin(packet, &qp->base, path, &fields, 0))
		return -ENOMEM;
	rhca_aeth_fill(rhca_packet_header(packet, RHCA_HDR_AETH),
		       ack_syndrome(qp), qp->recv.msn);
	eth = rhca_packet_header(packet, RHCA_HDR_ATOMIC_ACK_ETH);
	eth->original = cpu_to_be64(res->original);
	rhca_packet_seal(packet, fields.psn);
	return 0;
}

static bool is_read_resource(const struct rhca_resource *res)
{
	return res->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST ||
	       res->opcode == RHCA_OPCODE_ATOMIC_WRITE;
}

static int build_response(struct rhca_sw_qp *qp, struct rhca_resource *res,
			  struct rhca_path *path, struct rhca_packet *packet)
{
	int ret;

	if (!is_read_resource(res))
		return build_atomic_response(qp, res, path, packet);
	ret = build_read_response(qp, res, path, false, packet);
	if (ret == -EOPNOTSUPP)
		ret = build_read_response(qp, res, path, true, packet);
	return ret;
}

/* The event names the fault, 11.6.3.2; a shared queue's QP tells its end too */
static void move_to_error(struct rhca_sw_qp *qp, enum ib_event_type event,
			  struct rhca_run *run)
{
	if (!rhca_qp_fail(&qp->base, IB_QPS_ERR))
		return;
	run->flush_send = true;
	rhca_run_event(run, event);
	if (qp->base.srq)
		rhca_run_event(run, IB_EVENT_QP_LAST_WQE_REACHED);
}

/* The memory of a READ has gone while it was answered: 9.7.4.1.6 */
static void abort_read(struct rhca_sw_qp *qp, const struct rhca_resource *res,
		       struct rhca_path *path, struct rhca_run *run)
{
	send_aeth(qp, path, rhca_syndrome(RHCA_AETH_NAK, RHCA_NAK_ACCESS),
		  res->next_psn);
	rhca_qp_count(&qp->base, RHCA_RESP_REMOTE_ACCESS_ERRORS);
	move_to_error(qp, IB_EVENT_QP_ACCESS_ERR, run);
	rhca_responder_flush(qp, run);
}

/* One resource, or part of it; false when sending must stop here */
static bool send_resource(struct rhca_sw_qp *qp, struct rhca_train *train,
			  u32 *budget, struct rhca_run *run)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_resource *res = resource_at(recv, recv->sending_resource);
	struct rhca_packet packet;
	bool starved = false;
	int ret;

	while (!rhca_psn_before(res->last_psn, res->next_psn) && *budget) {
		ret = build_response(qp, res, train->path, &packet);
		starved = ret == -ENOMEM;
		if (starved)
			break;
		if (ret) {
			rhca_train_send(train);
			abort_read(qp, res, train->path, run);
			return false;
		}
		rhca_train_add(train, &packet);
		res->next_psn = rhca_psn_add(res->next_psn, 1);
		(*budget)--;
		if (train->refused)
			break;
	}
	rhca_train_send(train);
	if (train->refused)
		res->next_psn = train->refused_psn;
	if (train->refused || starved) {
		rhca_hold_recv(qp, RHCA_QUEUE_FULL_NS);
		return false;
	}
	if (rhca_psn_before(res->last_psn, res->next_psn))
		recv->sending_resource++;
	return *budget;
}

static void send_responses(struct rhca_sw_qp *qp, struct rhca_path *path,
			   struct rhca_run *run)
{
	struct rhca_responder *recv = &qp->recv;
	u32 budget = RHCA_RUN_BUDGET;
	struct rhca_train train;

	rhca_train_begin(&train, &qp->base, path);
	while (recv->sending_resource != recv->newest_resource)
		if (!send_resource(qp, &train, &budget, run))
			break;
	if (recv->sending_resource != recv->newest_resource) {
		if (!budget)
			tasklet_schedule(&recv->task);
		return;
	}
	if (recv->answer_waits) {
		recv->answer_waits = false;
		send_aeth(qp, path, recv->answer_syndrome, recv->answer_psn);
	}
}

/**
 * rhca_responder_continue - Send the answers that are due
 * @qp: the QP
 * @run: collects events
 *
 * Context: recv.lock held, bottom halves off, RCU read side.
 */
void rhca_responder_continue(struct rhca_sw_qp *qp, struct rhca_run *run)
{
	struct rhca_path *path = rcu_dereference(qp->base.path);

	lockdep_assert_held(&qp->recv.lock);
	if (rhca_qp_can(&qp->base, RHCA_QP_FLUSH_RECV)) {
		rhca_responder_flush(qp, run);
		return;
	}
	if (path && !qp->recv.held && rhca_qp_can(&qp->base, RHCA_QP_RECEIVE))
		send_responses(qp, path, run);
}

/* --- checks --------------------------------------------------------------- */

static enum rhca_verdict drop(const struct rhca_sw_qp *qp,
			      enum rhca_counter reason)
{
	rhca_qp_count(&qp->base, reason);
	return RHCA_DROP;
}

static enum rhca_verdict check_qkey(struct rhca_sw_qp *qp,
				    const struct rhca_rx *rx)
{
	const struct rhca_deth *deth;

	if (!rhca_qp_is_datagram(&qp->base))
		return RHCA_PASS;
	deth = rhca_rx_header(rx, RHCA_HDR_DETH);
	if (be32_to_cpu(deth->qkey) == READ_ONCE(qp->base.attr.qkey))
		return RHCA_PASS;
	atomic_inc(&rx->port->qkey_violations);
	return drop(qp, RHCA_RX_DROPPED_BAD_QKEY);
}

/* UC: a gap loses the message that it is in; the next first packet is welcome */
static enum rhca_verdict check_uc_psn(struct rhca_sw_qp *qp,
				      const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	bool gap = rx->psn != recv->expected_psn;

	recv->expected_psn = rx->psn;
	if (gap) {
		rhca_qp_count(&qp->base, RHCA_OUT_OF_SEQUENCE);
		recv->in_message = false;
		recv->received = 0;
	}
	if (recv->in_message || (rx->flags & RHCA_OP_STARTS))
		return RHCA_PASS;
	return drop(qp, RHCA_RX_DROPPED_BAD_SEQUENCE);
}

static enum rhca_verdict check_psn(struct rhca_sw_qp *qp,
				   const struct rhca_rx *rx)
{
	s32 diff;

	if (rhca_qp_is_datagram(&qp->base))
		return RHCA_PASS;
	if (!is_rc(qp))
		return check_uc_psn(qp, rx);
	diff = rhca_psn_diff(rx->psn, qp->recv.expected_psn);
	if (!diff)
		return RHCA_PASS;
	return diff < 0 ? RHCA_DUPLICATE : RHCA_PSN_GAP;
}

/* Kind of message, without its position */
#define OP_KIND	(RHCA_OP_SEND | RHCA_OP_WRITE | RHCA_OP_READ | \
		 RHCA_OP_ATOMIC | RHCA_OP_ATOMIC_WRITE)

static enum rhca_verdict check_sequence(struct rhca_sw_qp *qp,
					const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	bool starts = rx->flags & RHCA_OP_STARTS;
	u16 last_flags;

	if (recv->in_message == starts) {
		if (is_rc(qp))
			return RHCA_BAD_REQUEST;
		/* UC drops the message that was not finished, 9.8.2.2.2 */
		recv->in_message = false;
		recv->received = 0;
		return starts ? RHCA_PASS :
				drop(qp, RHCA_RX_DROPPED_BAD_SEQUENCE);
	}
	if (starts)
		return RHCA_PASS;
	last_flags = rhca_opcodes[recv->message_opcode].flags;
	if ((last_flags & OP_KIND) == (rx->flags & OP_KIND))
		return RHCA_PASS;
	return is_rc(qp) ? RHCA_BAD_REQUEST :
			   drop(qp, RHCA_RX_DROPPED_BAD_SEQUENCE);
}

static enum rhca_verdict check_rights(struct rhca_sw_qp *qp,
				      const struct rhca_rx *rx)
{
	int access = READ_ONCE(qp->base.attr.qp_access_flags);
	int needed = 0;

	if (rx->flags & (RHCA_OP_WRITE | RHCA_OP_ATOMIC_WRITE))
		needed = IB_ACCESS_REMOTE_WRITE;
	else if (rx->flags & RHCA_OP_READ)
		needed = IB_ACCESS_REMOTE_READ;
	else if (rx->flags & RHCA_OP_ATOMIC)
		needed = IB_ACCESS_REMOTE_ATOMIC;
	if (access & needed || !needed)
		return RHCA_PASS;
	return is_rc(qp) ? RHCA_BAD_OPERATION :
			   drop(qp, RHCA_RX_DROPPED_NO_ACCESS);
}

static bool needs_wqe(const struct rhca_rx *rx)
{
	if (rx->flags & RHCA_OP_SEND)
		return rx->flags & RHCA_OP_STARTS;
	return (rx->flags & RHCA_OP_WRITE) &&
	       rhca_opcode_has(rx->opcode, RHCA_HDR_IMMDT);
}

static enum rhca_verdict check_buffer(struct rhca_sw_qp *qp,
				      const struct rhca_rx *rx)
{
	int ret;

	if (!needs_wqe(rx) || qp->recv.have_wqe)
		return RHCA_PASS;
	ret = take_wqe(qp);
	if (ret == -ENOENT) {
		rhca_qp_count(&qp->base, RHCA_OUT_OF_BUFFER);
		if (qp->base.ibqp.qp_type == IB_QPT_GSI)
			rhca_qp_count(&qp->base, RHCA_RX_DROPPED_NO_MAD_BUFFER);
		return is_rc(qp) ? RHCA_NO_BUFFER : RHCA_DROP;
	}
	qp->recv.have_wqe = true;
	return ret ? RHCA_LOCAL_FAULT : RHCA_PASS;
}

/* READs and atomics with answers to send; those done are passed over */
static u32 resources_due(struct rhca_responder *recv)
{
	const struct rhca_resource *res;
	u32 index, due = 0;

	for (index = recv->sending_resource; index != recv->newest_resource;
	     index++) {
		res = resource_at(recv, index);
		due += !rhca_psn_before(res->last_psn, res->next_psn);
	}
	return due;
}

static enum rhca_verdict check_resource(struct rhca_sw_qp *qp,
					const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;

	if (!(rx->flags & (RHCA_OP_READ | RHCA_OP_ATOMIC |
			   RHCA_OP_ATOMIC_WRITE)))
		return RHCA_PASS;
	if (!qp->base.attr.max_dest_rd_atomic)
		return RHCA_BAD_OPERATION;
	/* More at once than the QP was set up for: 9.7.4.1.4 */
	if (resources_due(recv) >= qp->base.attr.max_dest_rd_atomic)
		return RHCA_BAD_REQUEST;
	/* The oldest slot is needed, but a repeated answer is still due from it */
	if (recv->newest_resource - recv->sending_resource >=
	    RHCA_MAX_RD_ATOMIC)
		return drop(qp, RHCA_RX_DROPPED_NO_RESOURCE);
	return RHCA_PASS;
}

static enum rhca_verdict refuse_length(const struct rhca_sw_qp *qp)
{
	return is_rc(qp) ? RHCA_BAD_REQUEST :
			   drop(qp, RHCA_RX_DROPPED_BAD_LENGTH);
}

/* All packets but the last are full, the last is not empty: 9.7.4.1.5, 9.8.2.2.5 */
static enum rhca_verdict check_packet_length(struct rhca_sw_qp *qp,
					     const struct rhca_rx *rx)
{
	bool whole = !(rx->flags & RHCA_OP_ENDS);
	bool ok;

	if (rhca_qp_is_datagram(&qp->base) || !(rx->flags & RHCA_OP_PAYLOAD))
		return RHCA_PASS;
	if (whole)
		ok = rx->payload_bytes == qp->mtu_bytes;
	else if (rx->flags & RHCA_OP_LAST)
		ok = rx->payload_bytes && rx->payload_bytes <= qp->mtu_bytes;
	else
		ok = rx->payload_bytes <= qp->mtu_bytes;
	if (ok)
		return RHCA_PASS;
	rhca_rx_note_mtu(qp, rx);
	return refuse_length(qp);
}

static enum rhca_verdict check_send_length(struct rhca_sw_qp *qp,
					   const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	u64 total = (rx->flags & RHCA_OP_STARTS ? 0 : recv->received) +
		    (u64)rx->payload_bytes;

	if (rhca_qp_is_datagram(&qp->base))
		total += GRH_BYTES;
	if (total <= recv->wqe.length && total <= RHCA_MAX_MSG_BYTES)
		return RHCA_PASS;
	rhca_qp_count(&qp->base, RHCA_RESP_LOCAL_LENGTH_ERROR);
	return RHCA_BAD_LENGTH;
}

static enum rhca_verdict check_write(struct rhca_sw_qp *qp,
				     const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	const struct rhca_reth *reth;
	struct rhca_mem *mem;
	u32 left = recv->write_left;
	bool ends = rx->flags & RHCA_OP_ENDS;

	if (rx->flags & RHCA_OP_STARTS) {
		reth = rhca_rx_header(rx, RHCA_HDR_RETH);
		left = be32_to_cpu(reth->length);
		if (left > RHCA_MAX_MSG_BYTES)
			return refuse_length(qp);
		if (left) {	/* nothing is checked for nothing, 9.7.4.1.4 */
			mem = get_remote(qp, be32_to_cpu(reth->rkey),
					 be64_to_cpu(reth->va), left,
					 IB_ACCESS_REMOTE_WRITE);
			rhca_mem_put(mem);
			if (!mem)
				return RHCA_BAD_KEY;
		}
	}
	if (ends ? rx->payload_bytes == left : rx->payload_bytes < left)
		return RHCA_PASS;
	return refuse_length(qp);
}

static enum rhca_verdict check_read(struct rhca_sw_qp *qp,
				    const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);
	u32 length = be32_to_cpu(reth->length);
	struct rhca_mem *mem;

	if (length > RHCA_MAX_MSG_BYTES)
		return RHCA_BAD_REQUEST;
	if (!length)
		return RHCA_PASS;
	mem = get_remote(qp, be32_to_cpu(reth->rkey), be64_to_cpu(reth->va),
			 length, IB_ACCESS_REMOTE_READ);
	rhca_mem_put(mem);
	return mem ? RHCA_PASS : RHCA_BAD_KEY;
}

static enum rhca_verdict check_atomic(struct rhca_sw_qp *qp,
				      const struct rhca_rx *rx)
{
	const struct rhca_atomic_eth *eth =
		rhca_rx_header(rx, RHCA_HDR_ATOMIC_ETH);
	u64 va = be64_to_cpu(eth->va);
	struct rhca_mem *mem;

	if (!IS_ALIGNED(va, sizeof(u64)))
		return RHCA_BAD_REQUEST;	/* 9.4.5 */
	mem = get_remote(qp, be32_to_cpu(eth->rkey), va, sizeof(u64),
			 IB_ACCESS_REMOTE_ATOMIC);
	rhca_mem_put(mem);
	return mem ? RHCA_PASS : RHCA_BAD_KEY;
}

static enum rhca_verdict check_atomic_write(struct rhca_sw_qp *qp,
					    const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);
	struct rhca_mem *mem;
	u64 va = be64_to_cpu(reth->va);

	if (rx->payload_bytes != sizeof(u64) || !IS_ALIGNED(va, sizeof(u64)) ||
	    be32_to_cpu(reth->length) != sizeof(u64))
		return RHCA_BAD_REQUEST;
	mem = get_remote(qp, be32_to_cpu(reth->rkey), va, sizeof(u64),
			 IB_ACCESS_REMOTE_WRITE);
	rhca_mem_put(mem);
	return mem ? RHCA_PASS : RHCA_BAD_KEY;
}

static enum rhca_verdict check_memory(struct rhca_sw_qp *qp,
				      const struct rhca_rx *rx)
{
	if (rx->flags & RHCA_OP_SEND)
		return check_send_length(qp, rx);
	if (rx->flags & RHCA_OP_WRITE)
		return check_write(qp, rx);
	if (rx->flags & RHCA_OP_READ)
		return check_read(qp, rx);
	if (rx->flags & RHCA_OP_ATOMIC)
		return check_atomic(qp, rx);
	return check_atomic_write(qp, rx);
}

typedef enum rhca_verdict request_check(struct rhca_sw_qp *qp,
					const struct rhca_rx *rx);

static request_check *const request_checks[] = {
	check_qkey, check_psn, check_sequence, check_rights,
	check_packet_length, check_resource, check_buffer, check_memory,
};

/* --- execution ------------------------------------------------------------ */

static enum rhca_verdict put_in_buffer(struct rhca_sw_qp *qp,
				       const struct rhca_rx *rx, u32 offset)
{
	struct rhca_span span = {
		.sge	 = qp->recv.wqe.sge,
		.num_sge = qp->recv.wqe.num_sge,
		.offset	 = offset,
		.bytes	 = rx->payload_bytes,
	};

	return rhca_scatter(&qp->base, &span, rx->skb, rx->payload_offset) ==
		IB_WC_SUCCESS ? RHCA_PASS : RHCA_LOCAL_FAULT;
}

/* The first 40 bytes show the network header; IPv4 lies in the last 20 */
static enum rhca_verdict put_grh(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_span span = {
		.sge	 = qp->recv.wqe.sge,
		.num_sge = qp->recv.wqe.num_sge,
		.bytes	 = GRH_BYTES,
	};
	u8 grh[GRH_BYTES] = {};

	if (rx->flow.encap == RHCA_V2_IPV4)
		memcpy(grh + GRH_BYTES - sizeof(struct iphdr), rx->network,
		       sizeof(struct iphdr));
	else
		memcpy(grh, rx->network, GRH_BYTES);
	return rhca_scatter_bytes(&qp->base, &span, grh) == IB_WC_SUCCESS ?
		RHCA_PASS : RHCA_LOCAL_FAULT;
}

static enum rhca_verdict execute_send(struct rhca_sw_qp *qp,
				      const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	enum rhca_verdict verdict;
	u32 offset = 0;

	if (rx->flags & RHCA_OP_STARTS)
		recv->received = 0;
	if (rhca_qp_is_datagram(&qp->base)) {
		verdict = put_grh(qp, rx);
		if (verdict != RHCA_PASS)
			return verdict;
		offset = GRH_BYTES;
	}
	verdict = put_in_buffer(qp, rx, offset + recv->received);
	if (verdict == RHCA_PASS)
		recv->received += rx->payload_bytes;
	return verdict;
}

static enum rhca_verdict execute_write(struct rhca_sw_qp *qp,
				       const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	const struct rhca_reth *reth;
	struct rhca_mem *mem;
	int ret;

	if (rx->flags & RHCA_OP_STARTS) {
		reth = rhca_rx_header(rx, RHCA_HDR_RETH);
		recv->write_va = be64_to_cpu(reth->va);
		recv->write_rkey = be32_to_cpu(reth->rkey);
		recv->write_left = be32_to_cpu(reth->length);
		recv->received = 0;
		rhca_qp_count(&qp->base, RHCA_RX_WRITE_REQUESTS);
	}
	if (!rx->payload_bytes)
		return RHCA_PASS;
	mem = get_remote(qp, recv->write_rkey, recv->write_va,
			 rx->payload_bytes, IB_ACCESS_REMOTE_WRITE);
	if (!mem)
		return RHCA_BAD_KEY;
	ret = rhca_skb_to_mem(mem, recv->write_va, rx->payload_bytes, rx->skb,
			      rx->payload_offset);
	rhca_mem_put(mem);
	if (ret)
		return RHCA_BAD_KEY;
	recv->write_va += rx->payload_bytes;
	recv->write_left -= rx->payload_bytes;
	recv->received += rx->payload_bytes;
	return RHCA_PASS;
}

static struct rhca_resource *new_resource(struct rhca_sw_qp *qp,
					  const struct rhca_rx *rx, u32 psns)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_resource *res = resource_at(recv, recv->newest_resource++);

	*res = (struct rhca_resource) {
		.opcode		= rx->opcode,
		.first_psn	= rx->psn,
		.next_psn	= rx->psn,
		.last_psn	= rhca_psn_add(rx->psn, psns - 1),
	};
	return res;
}

static u32 response_packets(const struct rhca_sw_qp *qp, u32 length)
{
	return max(DIV_ROUND_UP(length, qp->mtu_bytes), 1U);
}

static enum rhca_verdict execute_read(struct rhca_sw_qp *qp,
				      const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);
	u32 length = be32_to_cpu(reth->length);
	struct rhca_resource *res;

	res = new_resource(qp, rx, response_packets(qp, length));
	res->va = be64_to_cpu(reth->va);
	res->rkey = be32_to_cpu(reth->rkey);
	res->length = length;
	rhca_qp_count(&qp->base, RHCA_RX_READ_REQUESTS);
	return RHCA_PASS;
}

/* Atomic for all QPs and, where the CPU is, for the host: IB_ATOMIC_HCA */
static u64 run_atomic(u64 *word, const struct rhca_rx *rx)
{
	const struct rhca_atomic_eth *eth =
		rhca_rx_header(rx, RHCA_HDR_ATOMIC_ETH);
	atomic64_t *target = (atomic64_t *)word;
	u64 swap_add = be64_to_cpu(eth->swap_add);

	if (rx->opcode == IB_OPCODE_RC_COMPARE_SWAP)
		return atomic64_cmpxchg(target, be64_to_cpu(eth->compare),
					swap_add);
	return atomic64_fetch_add(swap_add, target);
}

static enum rhca_verdict execute_atomic(struct rhca_sw_qp *qp,
					const struct rhca_rx *rx)
{
	const struct rhca_atomic_eth *eth =
		rhca_rx_header(rx, RHCA_HDR_ATOMIC_ETH);
	u64 va = be64_to_cpu(eth->va);
	unsigned int offset, bytes;
	struct rhca_mem *mem;
	struct page *page;
	u64 original;
	void *kaddr;

	mem = get_remote(qp, be32_to_cpu(eth->rkey), va, sizeof(u64),
			 IB_ACCESS_REMOTE_ATOMIC);
	if (!mem)
		return RHCA_BAD_KEY;
	page = rhca_mem_page(mem, va, &offset, &bytes);
	if (!page || !IS_ALIGNED(offset, sizeof(u64))) {
		rhca_mem_put(mem);
		return RHCA_BAD_KEY;
	}
	kaddr = kmap_local_page(page);
	original = run_atomic(kaddr + offset, rx);
	kunmap_local(kaddr);
	rhca_mem_put(mem);
	new_resource(qp, rx, 1)->original = original;
	rhca_qp_count(&qp->base, RHCA_RX_ATOMIC_REQUESTS);
	return RHCA_PASS;
}

/* All eight bytes become visible at once, 9.4.7 */
static enum rhca_verdict execute_atomic_write(struct rhca_sw_qp *qp,
					      const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);
	u64 va = be64_to_cpu(reth->va);
	unsigned int offset, bytes;
	struct rhca_mem *mem;
	struct page *page;
	void *kaddr;
	u64 value;

	mem = get_remote(qp, be32_to_cpu(reth->rkey), va, sizeof(u64),
			 IB_ACCESS_REMOTE_WRITE);
	if (!mem)
		return RHCA_BAD_KEY;
	page = rhca_mem_page(mem, va, &offset, &bytes);
	if (!page || !IS_ALIGNED(offset, sizeof(u64))) {
		rhca_mem_put(mem);
		return RHCA_BAD_KEY;
	}
	skb_copy_bits(rx->skb, rx->payload_offset, &value, sizeof(value));
	kaddr = kmap_local_page(page);
	WRITE_ONCE(*(u64 *)(kaddr + offset), value);
	kunmap_local(kaddr);
	rhca_mem_put(mem);
	new_resource(qp, rx, 1);
	rhca_qp_count(&qp->base, RHCA_RX_ATOMIC_REQUESTS);
	return RHCA_PASS;
}

static enum rhca_verdict execute(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	if (rx->flags & RHCA_OP_SEND)
		return execute_send(qp, rx);
	if (rx->flags & RHCA_OP_WRITE)
		return execute_write(qp, rx);
	if (rx->flags & RHCA_OP_READ)
		return execute_read(qp, rx);
	if (rx->flags & RHCA_OP_ATOMIC)
		return execute_atomic(qp, rx);
	return execute_atomic_write(qp, rx);
}

/* --- completion of a message ---------------------------------------------- */

static void fill_datagram_wc(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			     struct ib_wc *wc)
{
	const struct rhca_deth *deth = rhca_rx_header(rx, RHCA_HDR_DETH);

	wc->byte_len += GRH_BYTES;
	wc->src_qp = rhca_deth_src_qpn(deth);
	wc->pkey_index = rx->pkey_index;
	wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	if (rx->flow.encap == RHCA_V1)
		wc->network_hdr_type = RDMA_NETWORK_ROCE_V1;
	else
		wc->network_hdr_type = rx->flow.encap == RHCA_V2_IPV4 ?
			RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	if (rx->vlan_id != RHCA_NO_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = rx->vlan_id;
	}
}

static void fill_wc(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		    struct ib_wc *wc)
{
	const struct rhca_immdt *imm;
	const struct rhca_ieth *ieth;

	*wc = (struct ib_wc) {
		.status		= IB_WC_SUCCESS,
		.opcode		= rx->flags & RHCA_OP_WRITE ?
				  IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.byte_len	= qp->recv.received,
		.src_qp		= qp->base.attr.dest_qp_num,
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
	if (rhca_qp_is_datagram(&qp->base))
		fill_datagram_wc(qp, rx, wc);
}

static enum rhca_verdict invalidate(struct rhca_sw_qp *qp,
				    const struct rhca_rx *rx)
{
	const struct rhca_ieth *ieth;

	if (!rhca_opcode_has(rx->opcode, RHCA_HDR_IETH))
		return RHCA_PASS;
	ieth = rhca_rx_header(rx, RHCA_HDR_IETH);
	return rhca_key_invalidate(qp->base.dev, qp->base.ibqp.pd,
				   be32_to_cpu(ieth->rkey), qp->base.number,
				   true) ? RHCA_BAD_KEY : RHCA_PASS;
}

static void finish_message(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			   struct rhca_run *run)
{
	struct ib_wc wc;

	qp->recv.msn = rhca_psn_add(qp->recv.msn, 1);
	if (qp->recv.have_wqe && ((rx->flags & RHCA_OP_SEND) ||
				  rhca_opcode_has(rx->opcode, RHCA_HDR_IMMDT))) {
		fill_wc(qp, rx, &wc);
		post_completion(qp, &wc, rhca_bth_solicited(rx->bth), run);
	}
	if (!qp->recv.established_told &&
	    READ_ONCE(qp->base.state) == IB_QPS_RTR) {
		qp->recv.established_told = true;
		rhca_run_event(run, IB_EVENT_COMM_EST);
	}
}

static void note_accepted(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	const struct rhca_resource *res;
	u32 psns = 1;

	recv->in_message = !(rx->flags & RHCA_OP_ENDS);
	recv->message_opcode = rx->opcode;
	recv->nak_sent = false;
	if (rx->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST) {
		res = resource_at(recv, recv->newest_resource - 1);
		psns = response_packets(qp, res->length);
	}
	recv->expected_psn = rhca_psn_add(rx->psn, psns);
}

static void accept(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		   struct rhca_run *run)
{
	note_accepted(qp, rx);
	if (rx->flags & RHCA_OP_ENDS)
		finish_message(qp, rx, run);
	/* READs and atomics answer themselves */
	if (is_rc(qp) && rhca_bth_ack_req(rx->bth) &&
	    (rx->flags & (RHCA_OP_SEND | RHCA_OP_WRITE)))
		answer(qp, ack_syndrome(qp), rx->psn);
}

/* --- duplicates ----------------------------------------------------------- */

static struct rhca_resource *find_resource(struct rhca_responder *recv, u32 psn,
					   u32 *index)
{
	struct rhca_resource *res;
	u32 i;

	for (i = 1; i <= RHCA_MAX_RD_ATOMIC; i++) {
		res = resource_at(recv, recv->newest_resource - i);
		if (res->opcode &&
		    rhca_psn_between(psn, res->first_psn, res->last_psn)) {
			*index = recv->newest_resource - i;
			return res;
		}
	}
	return NULL;
}

/* Sending goes on at a resource; those behind it that are done are passed over */
static void send_from(struct rhca_responder *recv, u32 index)
{
	if ((s32)(index - recv->sending_resource) < 0)
		recv->sending_resource = index;
}

/*
 * A repeated READ may ask for the rest only: what it asks for lies inside what
 * it asked for before, 9.7.4.1.3. Younger requests will be repeated as well, so
 * only this one is answered again.
 */
static void replay_read(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);
	struct rhca_responder *recv = &qp->recv;
	u32 length = be32_to_cpu(reth->length);
	struct rhca_resource *res;
	u32 index, offset;

	res = find_resource(recv, rx->psn, &index);
	if (!res || res->opcode != IB_OPCODE_RC_RDMA_READ_REQUEST)
		return;
	offset = qp->mtu_bytes * rhca_psn_diff(rx->psn, res->first_psn);
	if (be64_to_cpu(reth->va) != res->va + offset ||
	    length > res->length - offset)
		return;
	/* The first response to the new request says FIRST or ONLY */
	res->first_psn = rx->psn;
	res->next_psn = rx->psn;
	res->last_psn = rhca_psn_add(rx->psn, response_packets(qp, length) - 1);
	res->va += offset;
	res->length = length;
	res->rkey = be32_to_cpu(reth->rkey);
	res->copy = true;
	send_from(recv, index);
}

static void replay_atomic(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_resource *res;
	u32 index;

	res = find_resource(recv, rx->psn, &index);
	if (!res || res->opcode != rx->opcode)
		return;
	res->next_psn = res->first_psn;
	send_from(recv, index);
}

/* SENDs and WRITEs have been executed: say so again, 9.7.5.1.4 */
static void replay(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	rhca_qp_count(&qp->base, RHCA_DUPLICATE_REQUEST);
	if (rx->flags & RHCA_OP_READ)
		replay_read(qp, rx);
	else if (rx->flags & (RHCA_OP_ATOMIC | RHCA_OP_ATOMIC_WRITE))
		replay_atomic(qp, rx);
	else
		answer(qp, ack_syndrome(qp),
		       rhca_psn_sub(qp->recv.expected_psn, 1));
}

/* --- refusals ------------------------------------------------------------- */

static u8 refusal_syndrome(struct rhca_sw_qp *qp,
			   const struct rhca_refusal *refusal)
{
	if (refusal->type == RHCA_AETH_RNR)
		return rhca_syndrome(RHCA_AETH_RNR,
				     READ_ONCE(qp->base.attr.min_rnr_timer));
	return rhca_syndrome(RHCA_AETH_NAK, refusal->nak);
}

static void complete_refused(struct rhca_sw_qp *qp, enum ib_wc_status status,
			     struct rhca_run *run)
{
	struct ib_wc wc = {
		.status	= status,
		.opcode	= IB_WC_RECV,
	};

	if (qp->recv.have_wqe)
		post_completion(qp, &wc, true, run);
}

/* A gap is reported once, until it is filled: 9.7.5.2.8 */
static bool already_reported(struct rhca_sw_qp *qp, enum rhca_verdict verdict,
			     const struct rhca_rx *rx)
{
	bool gap = verdict == RHCA_PSN_GAP || verdict == RHCA_NO_BUFFER;

	if (verdict == RHCA_PSN_GAP)
		rhca_qp_count(&qp->base, RHCA_OUT_OF_SEQUENCE);
	if (!gap)
		return false;
	if (verdict == RHCA_PSN_GAP && qp->recv.nak_sent)
		return true;
	qp->recv.nak_sent = true;
	return false;
}

static void refuse_rc(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		      enum rhca_verdict verdict, struct rhca_run *run)
{
	const struct rhca_refusal *refusal = &rhca_refusals[verdict];
	struct rhca_path *path;

	if (!refusal->answers || already_reported(qp, verdict, rx))
		return;
	if (!refusal->fatal) {
		answer(qp, refusal_syndrome(qp, refusal), qp->recv.expected_psn);
		return;
	}
	/* It leaves before the state forbids it, and ends what is under way */
	path = rcu_dereference(qp->base.path);
	if (path)
		send_aeth(qp, path, refusal_syndrome(qp, refusal),
			  qp->recv.expected_psn);
	complete_refused(qp, refusal->wc, run);
	move_to_error(qp, refusal->event, run);
	rhca_responder_flush(qp, run);
}

/*
 * Without acknowledgements only the receiver's own faults are told to anyone. A
 * message that does not fit is dropped and its buffer used for the next one: a
 * stranger must not be able to stop a queue, QP1's above all.
 */
static void refuse_unreliable(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			      enum rhca_verdict verdict, struct rhca_run *run)
{
	qp->recv.in_message = false;
	qp->recv.received = 0;
	if (!rhca_qp_is_datagram(&qp->base))
		qp->recv.expected_psn = rhca_psn_add(rx->psn, 1);
	if (verdict == RHCA_LOCAL_FAULT) {
		complete_refused(qp, IB_WC_LOC_PROT_ERR, run);
		move_to_error(qp, IB_EVENT_QP_FATAL, run);
		rhca_responder_flush(qp, run);
	}
}

/* Other verdicts were counted where they were found */
static void count_refusal(const struct rhca_sw_qp *qp,
			  enum rhca_verdict verdict)
{
	switch (verdict) {
	case RHCA_BAD_KEY:
		rhca_qp_count(&qp->base, RHCA_RESP_REMOTE_ACCESS_ERRORS);
		break;
	case RHCA_BAD_REQUEST:
	case RHCA_BAD_OPERATION:
		rhca_qp_count(&qp->base, RHCA_RESP_INVALID_REQUESTS);
		break;
	default:
		break;
	}
}

static void refuse(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		   enum rhca_verdict verdict, struct rhca_run *run)
{
	count_refusal(qp, verdict);
	if (is_rc(qp))
		refuse_rc(qp, rx, verdict, run);
	else
		refuse_unreliable(qp, rx, verdict, run);
}

static enum rhca_verdict judge(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	enum rhca_verdict verdict = RHCA_PASS;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(request_checks) && verdict == RHCA_PASS; i++)
		verdict = request_checks[i](qp, rx);
	if (verdict == RHCA_PASS)
		verdict = execute(qp, rx);
	if (verdict == RHCA_PASS)
		verdict = invalidate(qp, rx);
	return verdict;
}

/**
 * rhca_responder_receive - Handle a request
 * @qp: the QP
 * @rx: the packet: parsed, ICRC checked, meant for the QP
 * @run: collects events
 *
 * Context: recv.lock held, bottom halves off, RCU read side.
 */
void rhca_responder_receive(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			    struct rhca_run *run)
{
	enum rhca_verdict verdict;

	lockdep_assert_held(&qp->recv.lock);
	if (!rhca_qp_can(&qp->base, RHCA_QP_RECEIVE)) {
		rhca_qp_count(&qp->base, RHCA_RX_DROPPED_QP_STATE);
		return;
	}
	verdict = judge(qp, rx);
	switch (verdict) {
	case RHCA_PASS:
		accept(qp, rx, run);
		break;
	case RHCA_DUPLICATE:
		replay(qp, rx);
		break;
	default:
		refuse(qp, rx, verdict, run);
		break;
	}
	run->srq_limit |= qp->recv.srq_limit_reached;
	qp->recv.srq_limit_reached = false;
	rhca_responder_continue(qp, run);
}

/**
 * rhca_responder_reset - Forget everything
 * @qp: a QP in RESET
 *
 * Context: recv.lock held.
 */
void rhca_responder_reset(struct rhca_sw_qp *qp)
{
	struct rhca_responder *recv = &qp->recv;

	recv->msn = 0;
	recv->in_message = false;
	recv->nak_sent = false;
	recv->established_told = false;
	recv->newest_resource = 0;
	recv->sending_resource = 0;
	recv->answer_waits = false;
	recv->have_wqe = false;
	recv->received = 0;
	recv->held = false;
	if (recv->resources)
		memset(recv->resources, 0,
		       RHCA_MAX_RD_ATOMIC * sizeof(*recv->resources));
	if (!qp->base.srq)
		rhca_rq_reset(&qp->base.rq);
}
