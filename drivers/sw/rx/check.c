// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of the responder on a request, in the order of IBTA vol. 1, 9.7.4, figure 106. The last
 * but one takes a receive request if the message needs one.
 */
#include "sw/rx/check.h"
#include "sw/qp/placement.h"
#include "sw/rx/admit.h"
#include "sw/qp/recv_half.h"
#include "wire/psn.h"

static enum rhca_request_status drop(const struct rhca_sw_qp *qp,
				     const struct rhca_rx *rx,
				     enum rhca_counter reason)
{
	rhca_rx_drop(&qp->base, rx, reason);
	return RHCA_DROP;
}

static enum rhca_request_status check_qkey(struct rhca_sw_qp *qp,
					   const struct rhca_rx *rx)
{
	const struct rhca_deth *deth;

	if (!rhca_is_datagram(&qp->base))
		return RHCA_PASS;
	deth = rhca_rx_header(rx, RHCA_HDR_DETH);
	if (be32_to_cpu(deth->qkey) == READ_ONCE(qp->base.attr.qkey))
		return RHCA_PASS;
	atomic_add_unless(&rx->port->qkey_violations, 1, U16_MAX);
	return drop(qp, rx, RHCA_RX_DROPPED_BAD_QKEY);
}

/* UC: a gap drops the current message; the next first packet is accepted */
static enum rhca_request_status check_uc_psn(struct rhca_sw_qp *qp,
					     const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	bool gap = rx->psn != recv->expected_psn;

	recv->expected_psn = rx->psn;
	if (gap) {
		rhca_qp_count(&qp->base, RHCA_OUT_OF_SEQUENCE);
		recv->in_message = false;
	}
	if (recv->in_message || (rx->flags & RHCA_OP_STARTS))
		return RHCA_PASS;
	return drop(qp, rx, RHCA_RX_DROPPED_BAD_SEQUENCE);
}

static enum rhca_request_status check_psn(struct rhca_sw_qp *qp,
					  const struct rhca_rx *rx)
{
	s32 diff;

	if (rhca_is_datagram(&qp->base))
		return RHCA_PASS;
	if (!rhca_is_rc(&qp->base))
		return check_uc_psn(qp, rx);
	diff = rhca_psn_diff(rx->psn, qp->recv.expected_psn);
	if (!diff)
		return RHCA_PASS;
	return diff < 0 ? RHCA_DUPLICATE : RHCA_PSN_GAP;
}

/* Kind of message, without its position */
#define OP_KIND	(RHCA_OP_SEND | RHCA_OP_WRITE | RHCA_OP_RESOURCE)

static enum rhca_request_status check_sequence(struct rhca_sw_qp *qp,
					       const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	bool starts = rx->flags & RHCA_OP_STARTS;
	u16 last_flags;

	if (rx->flags & RHCA_OP_RESERVED)
		return RHCA_BAD_REQUEST;
	if (recv->in_message == starts && rhca_is_rc(&qp->base))
		return RHCA_BAD_REQUEST;
	if (starts)	/* UC drops the unfinished message, 9.8.2.2.2 */
		return RHCA_PASS;
	last_flags = rhca_opcodes[recv->message_opcode].flags;
	if ((last_flags & OP_KIND) == (rx->flags & OP_KIND))
		return RHCA_PASS;
	return rhca_is_rc(&qp->base) ? RHCA_BAD_REQUEST :
		drop(qp, rx, RHCA_RX_DROPPED_BAD_SEQUENCE);
}

static enum rhca_request_status check_rights(struct rhca_sw_qp *qp,
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
	else if (rx->flags & RHCA_OP_FLUSH)
		needed = rhca_flush_access(rx);
	if ((access & needed) == needed)
		return RHCA_PASS;
	return rhca_is_rc(&qp->base) ? RHCA_BAD_OPERATION :
		drop(qp, rx, RHCA_RX_DROPPED_NO_ACCESS);
}

static bool needs_wqe(const struct rhca_rx *rx)
{
	if (rx->flags & RHCA_OP_SEND)
		return rx->flags & RHCA_OP_STARTS;
	return (rx->flags & RHCA_OP_WRITE) &&
	       rhca_opcode_has(rx->opcode, RHCA_HDR_IMMDT);
}

static enum rhca_request_status check_buffer(struct rhca_sw_qp *qp,
					     const struct rhca_rx *rx)
{
	int ret;

	if (!needs_wqe(rx) || qp->recv.have_wqe)
		return RHCA_PASS;
	ret = rhca_responder_take_wqe(qp);
	if (ret == -ENOENT) {
		rhca_qp_count(&qp->base, RHCA_OUT_OF_BUFFER);
		if (qp->base.type == IB_QPT_GSI)
			rhca_rx_drop(&qp->base, rx,
				     RHCA_RX_DROPPED_NO_MAD_BUFFER);
		return rhca_is_rc(&qp->base) ? RHCA_NO_BUFFER : RHCA_DROP;
	}
	qp->recv.have_wqe = true;
	return ret ? RHCA_LOCAL_FAULT : RHCA_PASS;
}

/*
 * READs and atomics with responses still to send, except repeated ones, for which the peer may no
 * longer be waiting.
 */
static u32 resources_due(struct rhca_responder *recv)
{
	const struct rhca_resource *res;
	u32 index, due = 0;

	for (index = recv->sending_resource; index != recv->newest_resource;
	     index++) {
		res = rhca_resource_at(recv, index);
		due += !res->replayed &&
		       !rhca_psn_before(res->last_psn, res->next_psn);
	}
	return due;
}

/*
 * Requests that tell others that data is persistent, or invalidate the key of a FLUSH, must not
 * overtake the FLUSH, A19. The peer is asked to retry after the answer to the FLUSH; as they are in
 * order, there is no sequence error.
 */
static enum rhca_request_status check_order(struct rhca_sw_qp *qp,
					    const struct rhca_rx *rx)
{
	bool relies_on_order = rx->flags & RHCA_OP_ATOMIC_WRITE ||
			       rhca_opcode_has(rx->opcode, RHCA_HDR_IETH);

	return relies_on_order && rhca_flush_is_pending(&qp->recv) ?
		RHCA_NOT_READY : RHCA_PASS;
}

static enum rhca_request_status check_resource(struct rhca_sw_qp *qp,
					       const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	u32 limit;

	if (!(rx->flags & RHCA_OP_RESOURCE))
		return RHCA_PASS;
	/*
	 * More outstanding than the QP was set up for: 9.7.4.1.4. Adapters keep the limit as a
	 * logarithm, rounded up, and use all of it as requesters
	 */
	limit = READ_ONCE(qp->base.attr.max_dest_rd_atomic);
	if (resources_due(recv) >= (limit ? roundup_pow_of_two(limit) : 0))
		return RHCA_BAD_REQUEST;
	/* The oldest slot is needed, but still has a repeated answer to send */
	if (recv->newest_resource - recv->sending_resource >=
	    recv->num_resources)
		return drop(qp, rx, RHCA_RX_DROPPED_NO_RESOURCE);
	return RHCA_PASS;
}

static enum rhca_request_status reject_length(const struct rhca_sw_qp *qp,
					      const struct rhca_rx *rx)
{
	return rhca_is_rc(&qp->base) ? RHCA_BAD_REQUEST :
		drop(qp, rx, RHCA_RX_DROPPED_BAD_LENGTH);
}

/* All packets but the last are full, the last is not empty: 9.7.4.1.5, 9.8.2.2.5 */
static enum rhca_request_status check_packet_length(struct rhca_sw_qp *qp,
						    const struct rhca_rx *rx)
{
	bool whole = !(rx->flags & RHCA_OP_ENDS);
	bool ok;

	if (rhca_is_datagram(&qp->base) || !(rx->flags & RHCA_OP_PAYLOAD))
		return RHCA_PASS;
	if (whole)
		ok = rx->payload_bytes == qp->base.mtu_bytes;
	else if (rx->flags & RHCA_OP_LAST)
		ok = rx->payload_bytes && rx->payload_bytes <= qp->base.mtu_bytes;
	else
		ok = rx->payload_bytes <= qp->base.mtu_bytes;
	if (ok)
		return RHCA_PASS;
	rhca_rx_note_mtu(qp, rx);
	return reject_length(qp, rx);
}

static enum rhca_request_status check_send_length(struct rhca_sw_qp *qp,
						  const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	u64 total = (rx->flags & RHCA_OP_STARTS ? 0 : recv->received) +
		    (u64)rx->payload_bytes;

	if (rhca_is_datagram(&qp->base))
		total += RHCA_GRH_BYTES;
	if (total <= recv->wqe->length && total <= RHCA_MAX_MSG_BYTES)
		return RHCA_PASS;
	rhca_qp_count(&qp->base, RHCA_RESP_LOCAL_LENGTH_ERROR);
	return RHCA_BAD_LENGTH;
}

/* No check for zero bytes, 9.7.4.1.4 */
static __always_inline enum rhca_request_status
check_key(struct rhca_sw_qp *qp, __be32 rkey, __be64 va, u32 length, int access)
{
	if (length && !rhca_responder_hold(qp, be32_to_cpu(rkey), be64_to_cpu(va), length,
					   access))
		return RHCA_BAD_KEY;
	return RHCA_PASS;
}

static enum rhca_request_status check_write(struct rhca_sw_qp *qp,
					    const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	const struct rhca_reth *reth;
	u32 left = recv->write_left;
	bool ends = rx->flags & RHCA_OP_ENDS;

	if (rx->flags & RHCA_OP_STARTS) {
		reth = rhca_rx_header(rx, RHCA_HDR_RETH);
		left = be32_to_cpu(reth->length);
		if (left > RHCA_MAX_MSG_BYTES)
			return reject_length(qp, rx);
		if (check_key(qp, reth->rkey, reth->va, left, IB_ACCESS_REMOTE_WRITE))
			return RHCA_BAD_KEY;
	}
	if (ends ? rx->payload_bytes == left : rx->payload_bytes < left)
		return RHCA_PASS;
	return reject_length(qp, rx);
}

static enum rhca_request_status check_read(struct rhca_sw_qp *qp,
					   const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);
	u32 length = be32_to_cpu(reth->length);

	if (length > RHCA_MAX_MSG_BYTES)
		return RHCA_BAD_REQUEST;
	return check_key(qp, reth->rkey, reth->va, length, IB_ACCESS_REMOTE_READ);
}

static enum rhca_request_status check_atomic(struct rhca_sw_qp *qp,
					     const struct rhca_rx *rx)
{
	const struct rhca_atomic_eth *eth =
		rhca_rx_header(rx, RHCA_HDR_ATOMIC_ETH);

	if (!IS_ALIGNED(be64_to_cpu(eth->va), sizeof(u64)))
		return RHCA_BAD_REQUEST;	/* 9.4.5 */
	return check_key(qp, eth->rkey, eth->va, sizeof(u64), IB_ACCESS_REMOTE_ATOMIC);
}

static enum rhca_request_status check_atomic_write(struct rhca_sw_qp *qp,
						   const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);

	if (rx->payload_bytes != sizeof(u64) ||
	    !IS_ALIGNED(be64_to_cpu(reth->va), sizeof(u64)) ||
	    be32_to_cpu(reth->length) != sizeof(u64))
		return RHCA_BAD_REQUEST;
	return check_key(qp, reth->rkey, reth->va, sizeof(u64), IB_ACCESS_REMOTE_WRITE);
}

static enum rhca_request_status check_flush(struct rhca_sw_qp *qp,
					    const struct rhca_rx *rx)
{
	const struct rhca_feth *feth = rhca_rx_header(rx, RHCA_HDR_FETH);
	u8 placement = rhca_feth_placement(feth);

	if (!placement || (placement & ~RHCA_PLACE_ALL) ||
	    rhca_feth_selectivity(feth) > RHCA_SELECT_MR)
		return RHCA_BAD_REQUEST;
	return rhca_flush_allowed(qp, rx) ? RHCA_PASS : RHCA_BAD_KEY;
}

static enum rhca_request_status check_memory(struct rhca_sw_qp *qp,
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
	if (rx->flags & RHCA_OP_FLUSH)
		return check_flush(qp, rx);
	return check_atomic_write(qp, rx);
}

/* May a request be executed? Returns the result of the first check that fails. recv.lock held */
enum rhca_request_status rhca_request_check(struct rhca_sw_qp *qp,
					    const struct rhca_rx *rx)
{
	enum rhca_request_status status;

	lockdep_assert_held(&qp->recv.lock);
	/* Called by name: calls through a table would cost more than most of the checks */
	status = check_qkey(qp, rx);
	status = status ?: check_psn(qp, rx);
	status = status ?: check_sequence(qp, rx);
	status = status ?: check_rights(qp, rx);
	status = status ?: check_packet_length(qp, rx);
	status = status ?: check_order(qp, rx);
	status = status ?: check_resource(qp, rx);
	status = status ?: check_buffer(qp, rx);
	return status ?: check_memory(qp, rx);
}
