// SPDX-License-Identifier: GPL-2.0
/*
 * Answers of the responder: acknowledgements, and responses to READs, atomics and FLUSHes.
 * Responder resources record these requests, so that a duplicate can be answered again.
 */
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/rx/answer.h"
#include "sw/qp/payload.h"
#include "sw/qp/placement.h"
#include "sw/rx/recv_completion.h"
#include "sw/rx/responder.h"
#include "sw/qp/recv_half.h"
#include "sw/tx/congestion.h"
#include "sw/qp/shared.h"
#include "sw/packet/transmit.h"
#include "sw/verbs/section.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/* Syndrome of an acknowledgement sent now; the posted receive requests of @qp are its credits */
static u8 ack_syndrome(struct rhca_sw_qp *qp)
{
	if (qp->base.srq)
		return rhca_syndrome(RHCA_AETH_ACK, RHCA_CREDIT_INVALID);
	return rhca_syndrome(RHCA_AETH_ACK,
			     rhca_credit_code(rhca_ring_count(&qp->base.rq.ring)));
}

/*
 * Send an acknowledgement or NAK. The former may overtake earlier packets, by using another source
 * port than the QP's own or because GRO does not delay it, but no responses: the requester would
 * take them for lost. @shared: block for an ACK that may overtake; NULL sends at once. recv.lock
 * held, bottom halves off, RCU read side.
 */
void rhca_send_aeth(struct rhca_sw_qp *qp, struct rhca_path *path,
		    u8 syndrome, u32 psn, struct rhca_shared_block *shared)
{
	struct rhca_bth_fields fields = {
		.opcode		= IB_OPCODE_RC_ACKNOWLEDGE,
		.pkey		= rhca_qp_pkey(&qp->base, path->address.port),
		.dest_qpn	= READ_ONCE(qp->base.attr.dest_qp_num),
		.psn		= psn,
	};
	bool is_ack = rhca_syndrome_is_ack(syndrome);
	bool loose = is_ack && !qp->recv.has_responded;
	struct rhca_packet packet __uninitialized;
	struct rhca_tx_list tx __uninitialized;

	lockdep_assert_held(&qp->recv.lock);
	if (!is_ack)
		trace_rhca_nak(rhca_qp_dev_name(&qp->base), qp->base.number, true,
			       syndrome, psn);
	if ((!shared || !loose ||
	     !rhca_shared_begin_packet(shared, &packet, &qp->base, path,
				       &fields, 0)) &&
	    rhca_packet_begin(&packet, &qp->base, path, &fields, 0))
		return;		/* the peer will retransmit */
	rhca_aeth_fill(rhca_packet_header(&packet, RHCA_HDR_AETH), syndrome,
		       qp->recv.msn);
	rhca_packet_protect(&packet);
	rhca_packet_seal(&packet);
	if (packet.shared) {
		rhca_shared_add(shared, &packet, NULL);
		return;
	}
	rhca_tx_list_begin(&tx, &qp->base, path, NULL);
	tx.uncharged = loose;
	tx.may_overtake = loose;
	if (!loose)
		rhca_tx_list_keep_queue(&tx, &qp->recv.tx_cpu, !rhca_tx_memory_used(&qp->base));
	rhca_tx_list_add(&tx, &packet);
	rhca_tx_list_send(&tx);
}

static bool is_atomic(const struct rhca_resource *res)
{
	return rhca_opcodes[res->opcode].flags & RHCA_OP_ATOMIC;
}

static u8 response_opcode(const struct rhca_resource *res, bool last)
{
	if (is_atomic(res))
		return IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE;
	if (res->next_psn == res->first_psn)
		return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY :
			      IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST;
	return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST :
		      IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

static int build_read_data(struct rhca_sw_qp *qp,
			   const struct rhca_resource *res, u32 offset,
			   u32 bytes, struct rhca_packet *packet)
{
	struct rhca_mem *mem;

	if (!bytes)
		return 0;
	mem = rhca_responder_hold(qp, res->rkey, res->va + offset, bytes,
				  IB_ACCESS_REMOTE_READ);
	if (!mem)
		return -EACCES;
	return rhca_mem_to_packet(mem, res->va + offset, bytes,
				  res->length - offset, packet);
}

/* FLUSH and ATOMIC WRITE get a READ response without data, A19, 9.4.7 */
static u32 response_bytes(const struct rhca_sw_qp *qp,
			  const struct rhca_resource *res, u32 offset)
{
	u32 cut = res->next_psn == res->last_psn ? res->cut : 0;

	return res->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST ?
		min(res->length - offset, qp->base.mtu_bytes) - cut : 0;
}

static void fill_response(struct rhca_sw_qp *qp, const struct rhca_resource *res,
			  struct rhca_packet *packet)
{
	struct rhca_atomic_ack_eth *eth;
	u8 opcode = packet->bth->opcode;

	if (rhca_opcode_has(opcode, RHCA_HDR_AETH))
		rhca_aeth_fill(rhca_packet_header(packet, RHCA_HDR_AETH),
			       ack_syndrome(qp), qp->recv.msn);
	if (rhca_opcode_has(opcode, RHCA_HDR_ATOMIC_ACK_ETH)) {
		eth = rhca_packet_header(packet, RHCA_HDR_ATOMIC_ACK_ETH);
		eth->original = cpu_to_be64(res->original);
	}
}

static int build_response(struct rhca_sw_qp *qp, struct rhca_resource *res,
			  struct rhca_tx_list *tx, struct rhca_packet *packet)
{
	u32 offset = qp->base.mtu_bytes * rhca_psn_diff(res->next_psn,
						   res->first_psn);
	u32 bytes = response_bytes(qp, res, offset);
	bool last = res->next_psn == res->last_psn;
	struct rhca_bth_fields fields = {
		.opcode		= response_opcode(res, last),
		.pkey		= rhca_qp_pkey(&qp->base, tx->path->address.port),
		.dest_qpn	= READ_ONCE(qp->base.attr.dest_qp_num),
		.psn		= res->next_psn,
	};
	bool another_is_due = qp->recv.sending_resource + 1 != qp->recv.newest_resource;
	bool more = !last || (!is_atomic(res) && another_is_due);
	int ret = 0;

	if (res->opcode == RHCA_OPCODE_FLUSH)
		ret = rhca_flush_place(qp, res);
	if (ret)
		return ret;
	if (rhca_tx_list_begin_packet(tx, packet, &fields, bytes, more))
		return -ENOMEM;
	fill_response(qp, res, packet);
	rhca_tx_list_protect(tx, packet);
	ret = build_read_data(qp, res, offset, bytes, packet);
	if (ret)
		rhca_packet_drop(packet);
	else
		rhca_packet_seal(packet);
	return ret;
}

/*
 * The memory of a READ was invalidated while it was answered: 9.7.4.1.6. A peer that has the first
 * answer may have invalidated it itself and drops the NAK to the duplicate as late; a peer that
 * still waits fails on it.
 */
static bool abort_read(struct rhca_sw_qp *qp, struct rhca_resource *res,
		       struct rhca_path *path, struct rhca_batch *batch)
{
	rhca_send_aeth(qp, path, rhca_syndrome(RHCA_AETH_NAK, RHCA_NAK_ACCESS),
		       res->next_psn, NULL);
	rhca_qp_count(&qp->base, RHCA_RESP_REMOTE_ACCESS_ERRORS);
	if (res->replayed) {
		res->next_psn = rhca_psn_add(res->last_psn, 1);
		return true;
	}
	rhca_responder_move_to_error(qp, IB_EVENT_QP_ACCESS_ERR, batch);
	rhca_responder_flush(qp, batch);
	return false;
}

static void pause_for(struct rhca_sw_qp *qp, int error)
{
	if (error == -ENOMEM)
		rhca_pause_recv(qp, RHCA_PAUSE_LOCAL_FULL, RHCA_QUEUE_FULL_NS);
	else
		rhca_pause_recv(qp, RHCA_PAUSE_PAGE_FAULT,
				rhca_fault_pause(&qp->recv.fault_ns));
}

/* If the rest of a READ must wait, stop at a full block */
static bool has_sent_enough(const struct rhca_sw_qp *qp, const struct rhca_resource *res,
			    const struct rhca_tx_list *tx,
			    const struct rhca_allowance *left)
{
	u32 rest = rhca_psn_diff(res->last_psn, res->next_psn) + 1;

	if (!rhca_allows(left, qp->base.mtu_bytes))
		return true;
	return RHCA_SECTION_COUNTS_BYTES && rhca_block_is_full(&tx->block) &&
	       rest * qp->base.mtu_bytes > left->bytes;
}

/* Add responses to one request; false if no more can follow now */
static bool add_responses(struct rhca_sw_qp *qp, struct rhca_tx_list *tx,
			  struct rhca_allowance *left, struct rhca_batch *batch)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_resource *res = rhca_resource_at(recv,
						     recv->sending_resource);
	struct rhca_packet packet __uninitialized;
	int ret;

	while (!rhca_psn_before(res->last_psn, res->next_psn) &&
	       !has_sent_enough(qp, res, tx, left)) {
		ret = build_response(qp, res, tx, &packet);
		if (ret == -ENOMEM || ret == -EINPROGRESS) {
			pause_for(qp, ret);
			return false;
		}
		if (ret == -EAGAIN) {	/* the rest in another turn */
			left->packets = 0;
			return false;
		}
		if (ret) {
			rhca_tx_list_send(tx);
			if (tx->refused ||
			    !abort_read(qp, res, tx->path, batch))
				return false;
			break;
		}
		rhca_tx_list_add(tx, &packet);
		recv->fault_ns = 0;
		res->next_psn = rhca_psn_add(res->next_psn, 1);
		left->packets--;
		left->bytes -= packet.payload_bytes;
		if (tx->refused)
			return false;
	}
	/* Keep the PSNs in the list in order, which rhca_answer_go_back() relies on */
	if (res->replayed)
		rhca_tx_list_send(tx);
	if (tx->refused)
		return false;
	if (!rhca_psn_before(res->last_psn, res->next_psn))
		return false;
	recv->sending_resource++;
	recv->placed = 0;
	return rhca_allows(left, qp->base.mtu_bytes);
}

/*
 * Send again from @refused_psn, the first response that the local queue refused. The resources
 * still exist, since recv.lock has kept new requests out. recv.lock held.
 */
void rhca_answer_go_back(struct rhca_responder *recv, u32 refused_psn)
{
	struct rhca_resource *res;
	u32 i;

	recv->placed = 0;
	if (recv->sending_resource == recv->newest_resource)
		recv->sending_resource--;
	for (i = 0; i < recv->num_resources; i++, recv->sending_resource--) {
		res = rhca_resource_at(recv, recv->sending_resource);
		if (rhca_psn_between(refused_psn, res->first_psn,
				     res->last_psn)) {
			res->next_psn = refused_psn;
			return;
		}
		res->next_psn = res->first_psn;
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_answer_go_back);

/*
 * The request named by a pending NAK has arrived. Sending the NAK would cost the requester a retry
 * for nothing; but it also acknowledges what precedes the gap, so send an ACK for that. recv.lock
 * held.
 */
void rhca_answer_withdraw_nak(struct rhca_sw_qp *qp)
{
	struct rhca_responder *recv = &qp->recv;

	lockdep_assert_held(&recv->lock);
	if (recv->answer_waits && !rhca_syndrome_is_ack(recv->answer_syndrome))
		rhca_answer_ack(qp, rhca_psn_sub(recv->answer_psn, 1));
}

/* A response to a later request acknowledges all before it, 9.7.5.1.2 */
static bool ack_is_late(struct rhca_responder *recv)
{
	const struct rhca_resource *newest =
		rhca_resource_at(recv, recv->newest_resource - 1);

	return rhca_syndrome_is_ack(recv->answer_syndrome) &&
	       rhca_psn_before(recv->answer_psn, newest->last_psn);
}

/* Limit @packets to what the QP's rate allows; if that is none, the turn ends with a pause */
static bool may_respond(struct rhca_sw_qp *qp, u32 *packets)
{
	u64 wait_ns = 0;

	*packets = min(*packets, rhca_pace_packets(qp, &wait_ns));
	if (!*packets)
		rhca_pause_recv(qp, RHCA_PAUSE_PACE, wait_ns);
	return *packets;
}

/*
 * Send the responses of all resources, packed together. Returns false if some are still due; @more:
 * now, unless the turn ends with a pause.
 */
static bool send_resources(struct rhca_sw_qp *qp, struct rhca_path *path,
			   struct rhca_batch *batch, bool *more)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_tx_list tx __uninitialized;
	struct rhca_allowance left = rhca_section_left(), most;
	bool paced = rhca_is_paced(qp);

	if (!rhca_allows(&left, qp->base.mtu_bytes)) {
		*more = true;
		return false;
	}
	if (rhca_tx_memory_full(&qp->base)) {
		pause_for(qp, -ENOMEM);
		return false;
	}
	if (paced && !may_respond(qp, &left.packets))
		return false;
	most = left;
	rhca_tx_list_begin(&tx, &qp->base, path, &recv->backoff);
	rhca_tx_list_keep_queue(&tx, &recv->tx_cpu, !rhca_tx_memory_used(&qp->base));
	while (recv->sending_resource != recv->newest_resource)
		if (!add_responses(qp, &tx, &left, batch))
			break;
	rhca_tx_list_send(&tx);
	if (paced)
		rhca_pace_sent(qp, tx.sent_packets, tx.sent_bytes);
	if (tx.refused) {
		rhca_answer_go_back(recv, tx.refused_psn);
		pause_for(qp, -ENOMEM);
	}
	batch->sent += most.packets - left.packets;
	rhca_section_use(most.packets - left.packets, most.bytes - left.bytes);
	*more = recv->sending_resource != recv->newest_resource;
	return !*more;
}

/*
 * Send pending responses, then the pending acknowledgement. If there are responses, the caller owns
 * the turn. recv.lock held, bottom halves off, RCU read side. Returns true if some are still due,
 * because of the section's budget or a pause.
 */
bool rhca_send_responses(struct rhca_sw_qp *qp, struct rhca_path *path,
			 struct rhca_batch *batch)
{
	struct rhca_responder *recv = &qp->recv;
	bool more = false;

	lockdep_assert_held(&qp->recv.lock);
	if (recv->sending_resource != recv->newest_resource) {
		if (!send_resources(qp, path, batch, &more))
			return more;
		if (ack_is_late(recv))
			recv->answer_waits = false;
	}
	if (recv->answer_waits) {
		recv->answer_waits = false;
		if (rhca_syndrome_is_ack(recv->answer_syndrome))
			recv->answer_syndrome = ack_syndrome(qp);
		rhca_send_aeth(qp, path, recv->answer_syndrome, recv->answer_psn,
			       batch->shared);
		if (recv->fatal)
			rhca_responder_fail(qp, batch);
	}
	return false;
}

/* --- duplicates ----------------------------------------------------------- */

/* Responses to the original request; a duplicate may have asked for only a part */
static u32 max_responses(const struct rhca_sw_qp *qp, const struct rhca_resource *res)
{
	return res->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST ?
		rhca_response_packets(qp, res->length) : 1;
}

static struct rhca_resource *find_resource(struct rhca_sw_qp *qp, u32 psn, u32 *index)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_resource *res;
	u32 i;

	for (i = 1; i <= recv->num_resources; i++) {
		res = rhca_resource_at(recv, recv->newest_resource - i);
		if (res->opcode &&
		    rhca_psn_diff(psn, res->first_psn) >= 0 &&
		    rhca_psn_diff(psn, res->first_psn) < max_responses(qp, res)) {
			*index = recv->newest_resource - i;
			return res;
		}
	}
	return NULL;
}

/* Continue sending at a resource; later ones that are done are skipped */
static void send_from(struct rhca_responder *recv, u32 index)
{
	if ((s32)(index - recv->sending_resource) >= 0)
		return;
	recv->sending_resource = index;
	recv->placed = 0;
}

/*
 * A duplicate READ may ask for only a part of the original, 9.7.4.1.3. Later requests will be
 * repeated too, so answer only this one. A requester that asks for the rest has what precedes it;
 * if that has not been sent, all responses are still to come, and none may be skipped. One that
 * asks for less than the rest may ask for what follows later.
 */
static void replay_read(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);
	struct rhca_responder *recv = &qp->recv;
	u32 length = be32_to_cpu(reth->length);
	struct rhca_resource *res;
	u32 index, offset, packets;

	/* The memory is read again; each response checks its key */
	if (!(READ_ONCE(qp->base.attr.qp_access_flags) & IB_ACCESS_REMOTE_READ))
		return;
	res = find_resource(qp, rx->psn, &index);
	if (!res || res->opcode != IB_OPCODE_RC_RDMA_READ_REQUEST ||
	    (!res->replayed && rhca_psn_before(res->next_psn, rx->psn)))
		return;
	offset = qp->base.mtu_bytes * rhca_psn_diff(rx->psn, res->first_psn);
	if (be64_to_cpu(reth->va) != res->va + offset ||
	    length > res->length - offset)
		return;
	/* Earlier responses have arrived; one requested twice was lost twice */
	rhca_block_acked(&recv->backoff, rx->psn);
	if (res->replayed && res->first_psn == rx->psn)
		recv->backoff.proven = false;
	/* The first response to the new request is FIRST or ONLY */
	res->first_psn = rx->psn;
	res->next_psn = rx->psn;
	packets = rhca_response_packets(qp, length);
	res->last_psn = rhca_psn_add(rx->psn, packets - 1);
	res->va += offset;
	res->length -= offset;
	res->cut = min(packets * qp->base.mtu_bytes, res->length) - length;
	res->rkey = be32_to_cpu(reth->rkey);
	res->replayed = true;
	rhca_block_lost(&recv->backoff);
	send_from(recv, index);
}

/* Replay an answer of one packet */
static void replay_single(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_resource *res;
	u32 index;

	res = find_resource(qp, rx->psn, &index);
	if (!res || res->opcode != rx->opcode)
		return;
	res->next_psn = res->first_psn;
	res->replayed = true;
	send_from(recv, index);
}

/*
 * Answer a duplicate. SENDs and WRITEs were executed: acknowledge them again, 9.7.5.1.4, unless a
 * NAK is pending: it acknowledges as much, and a gap is reported only once. recv.lock held.
 */
void rhca_replay(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	lockdep_assert_held(&qp->recv.lock);
	rhca_qp_count(&qp->base, RHCA_DUPLICATE_REQUEST);
	if (rx->flags & RHCA_OP_READ)
		replay_read(qp, rx);
	else if (rx->flags & RHCA_OP_RESOURCE)
		replay_single(qp, rx);
	else if (!qp->recv.answer_waits || rhca_syndrome_is_ack(qp->recv.answer_syndrome))
		rhca_answer_ack(qp, rhca_psn_sub(qp->recv.expected_psn, 1));
}
