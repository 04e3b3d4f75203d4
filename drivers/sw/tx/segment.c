// SPDX-License-Identifier: GPL-2.0
/* Gives send requests PSNs when they start and cuts them into packets of the path MTU. */
#include <rhca/compat.h>

#include "sw/tx/segment.h"
#include "sw/qp/payload.h"
#include "sw/qp/shared.h"
#include "sw/tx/window.h"
#include "wire/psn.h"

/* Position of a packet in its message */
enum position { ONLY, FIRST, MIDDLE, LAST, NUM_POSITIONS };

/* Operation part of the opcode; the transport is ORed in */
static const u8 segment_opcodes[][NUM_POSITIONS] = {
	[IB_WR_SEND] = {
		IB_OPCODE_SEND_ONLY, IB_OPCODE_SEND_FIRST,
		IB_OPCODE_SEND_MIDDLE, IB_OPCODE_SEND_LAST },
	[IB_WR_SEND_WITH_IMM] = {
		IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE, IB_OPCODE_SEND_FIRST,
		IB_OPCODE_SEND_MIDDLE, IB_OPCODE_SEND_LAST_WITH_IMMEDIATE },
	[IB_WR_SEND_WITH_INV] = {
		IB_OPCODE_SEND_ONLY_WITH_INVALIDATE, IB_OPCODE_SEND_FIRST,
		IB_OPCODE_SEND_MIDDLE, IB_OPCODE_SEND_LAST_WITH_INVALIDATE },
	[IB_WR_RDMA_WRITE] = {
		IB_OPCODE_RDMA_WRITE_ONLY, IB_OPCODE_RDMA_WRITE_FIRST,
		IB_OPCODE_RDMA_WRITE_MIDDLE, IB_OPCODE_RDMA_WRITE_LAST },
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
		IB_OPCODE_RDMA_WRITE_FIRST, IB_OPCODE_RDMA_WRITE_MIDDLE,
		IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE },
};

static u8 transport_of(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return IB_OPCODE_RC;
	case IB_QPT_UC:
		return IB_OPCODE_UC;
	default:
		return IB_OPCODE_UD;
	}
}

/* Opcode of a SEND or WRITE packet */
u8 rhca_segment_opcode(u32 wr_opcode, enum ib_qp_type type, bool first,
		       bool last)
{
	enum position position = first ? (last ? ONLY : FIRST) :
					 (last ? LAST : MIDDLE);

	return transport_of(type) | segment_opcodes[wr_opcode][position];
}
EXPORT_SYMBOL_IF_KUNIT(rhca_segment_opcode);

/* Are both the request and its response always one packet? */
static bool is_single(const struct rhca_send_wqe *wqe)
{
	return rhca_wqe_is_atomic(wqe) || wqe->opcode == RHCA_WR_FLUSH ||
	       wqe->opcode == RHCA_WR_ATOMIC_WRITE;
}

/* --- numbers -------------------------------------------------------------- */

static u32 packets_of(const struct rhca_sw_qp *qp,
		      const struct rhca_send_wqe *wqe)
{
	if (is_single(wqe) || wqe->length <= qp->base.mtu_bytes)
		return 1;
	return DIV_ROUND_UP(wqe->length, qp->base.mtu_bytes);
}

/* A READ counts once for each request packet */
static u32 messages_of(const struct rhca_sw_qp *qp,
		       const struct rhca_send_wqe *wqe)
{
	if (!rhca_wqe_is_read(wqe))
		return 1;
	return DIV_ROUND_UP(packets_of(qp, wqe), wqe->chunk);
}

/*
 * A loss costs the rest of its chunk, so use shorter chunks after recent losses, but long enough
 * that the READs in flight fill the window.
 */
static u8 read_chunk(const struct rhca_sw_qp *qp)
{
	u32 fill = RHCA_SEND_WINDOW / max_t(u32, READ_ONCE(qp->base.attr.max_rd_atomic), 1);

	if (!qp->send.recovering || !qp->send.recovery->lossy)
		return RHCA_READ_CHUNK;
	return clamp(fill, RHCA_READ_CHUNK_LOSSY, RHCA_READ_CHUNK);
}

/* Start a request: give it its PSNs. send.lock held. */
void rhca_wqe_number(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe)
{
	struct rhca_requester *send = &qp->send;

	lockdep_assert_held(&send->lock);
	wqe->chunk = read_chunk(qp);
	send->ssn = rhca_psn_add(send->ssn, messages_of(qp, wqe));
	wqe->ssn = send->ssn;
	wqe->first_psn = send->next_psn;
	wqe->last_psn = rhca_psn_add(send->next_psn, packets_of(qp, wqe) - 1);
	wqe->numbered = true;
}

/* --- plan ----------------------------------------------------------------- */

static u32 ack_interval(const struct rhca_requester *send)
{
	return send->recovering && send->recovery->rule.mode != RHCA_RECOVER_FLOW ?
		RHCA_ACK_INTERVAL_LOSSY : RHCA_ACK_INTERVAL;
}

/* The packet is only planned: advance() counts it once it is sent */
static bool wants_ack(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		      bool last)
{
	const struct rhca_requester *send = &qp->send;
	u32 in_flight = rhca_requester_in_flight(send) + 1;
	u32 interval;

	if (!rhca_is_rc(&qp->base))
		return false;
	interval = min(ack_interval(send), send->cwnd.packets / 2U);
	if (send->since_ack_req + 1 >= interval || send->repeating ||
	    (u16)send->next_psn == send->ask_psn || in_flight >= send->cwnd.packets)
		return true;
	/* The next packet must wait for the answer to this one */
	if (rhca_requester_lacks_credit(send, wqe, wqe->ssn))
		return true;
	if (!last)
		return false;
	/* The last packet before the queue or the peer's buffers run dry */
	if (send->limited && rhca_wqe_takes_receive(wqe) &&
	    rhca_psn_diff(wqe->ssn, send->limit_ssn) >= 0)
		return true;
	return !rhca_requester_may_continue(qp);
}

static u32 dest_qpn(const struct rhca_sw_qp *qp,
		    const struct rhca_send_wqe *wqe)
{
	return rhca_is_datagram(&qp->base) ? wqe->dest_qpn :
						READ_ONCE(qp->base.attr.dest_qp_num);
}

static u16 pkey_of(const struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		   const struct rhca_port *port)
{
	return qp->base.type == IB_QPT_GSI ? rhca_pkey_at(&port->pkeys, wqe->pkey_index) :
					     rhca_qp_pkey(&qp->base, port);
}

static void plan_message(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
			 struct rhca_segment *seg)
{
	u32 offset = qp->send.next_offset;
	bool first = !offset, last;

	/* A datagram is one packet; its length was checked when it was posted */
	seg->payload_bytes = rhca_is_datagram(&qp->base) ? wqe->length :
			     min(wqe->length - offset, qp->base.mtu_bytes);
	last = offset + seg->payload_bytes == wqe->length;
	seg->message_bytes = wqe->length;
	seg->advance = seg->payload_bytes;
	seg->psns = 1;
	seg->fields.opcode = rhca_segment_opcode(wqe->opcode,
						 qp->base.type, first,
						 last);
	seg->fields.solicited = last && rhca_wqe_takes_receive(wqe) &&
				(wqe->send_flags & IB_SEND_SOLICITED);
	seg->fields.ack_req = wants_ack(qp, wqe, last);
}

/* Chunk boundaries do not depend on where a retransmission starts */
static void plan_read(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		      struct rhca_segment *seg)
{
	u32 chunk = wqe->chunk * qp->base.mtu_bytes;
	u32 offset = qp->send.next_offset;
	u32 end = min_t(u64, wqe->length,
			(u64)(offset / chunk + 1) * chunk);

	seg->fields.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST;
	seg->fields.ack_req = true;
	seg->message_bytes = end - offset;
	seg->advance = end - offset;
	seg->psns = max(DIV_ROUND_UP(end - offset, qp->base.mtu_bytes), 1U);
}

static void plan_single(const struct rhca_send_wqe *wqe,
			struct rhca_segment *seg)
{
	switch (wqe->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
		seg->fields.opcode = IB_OPCODE_RC_COMPARE_SWAP;
		break;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		seg->fields.opcode = IB_OPCODE_RC_FETCH_ADD;
		break;
	case RHCA_WR_FLUSH:
		seg->fields.opcode = RHCA_OPCODE_FLUSH;
		seg->message_bytes = wqe->flush_bytes;
		break;
	default:
		seg->fields.opcode = RHCA_OPCODE_ATOMIC_WRITE;
		seg->payload_bytes = wqe->length;
		seg->message_bytes = wqe->length;
		break;
	}
	seg->fields.ack_req = true;
	seg->advance = wqe->length;
	seg->psns = 1;
}

/* Plan the next packet, by @path. Does not change the QP, as building may fail. RCU read side */
void rhca_segment_plan(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		       const struct rhca_path *path, struct rhca_segment *seg)
{
	lockdep_assert_held(&qp->send.lock);
	*seg = (struct rhca_segment) {
		.fields = {
			.pkey		= pkey_of(qp, wqe, path->address.port),
			.dest_qpn	= dest_qpn(qp, wqe),
			.psn		= qp->send.next_psn,
		},
	};
	if (is_single(wqe))
		plan_single(wqe, seg);
	else if (rhca_wqe_is_read(wqe))
		plan_read(qp, wqe, seg);
	else
		plan_message(qp, wqe, seg);
}

/* --- packet --------------------------------------------------------------- */

static enum ib_wc_status add_payload(struct rhca_sw_qp *qp,
				     const struct rhca_send_wqe *wqe,
				     struct rhca_packet *packet)
{
	struct rhca_span span = rhca_send_span(qp, wqe, qp->send.next_offset,
					       packet->payload_bytes);

	if (wqe->send_flags & IB_SEND_INLINE) {
		rhca_packet_copy(packet,
				 wqe->inline_data + qp->send.next_offset,
				 packet->payload_bytes);
		return IB_WC_SUCCESS;
	}
	return rhca_gather(&qp->base, &span, packet);
}

static void fill_datagram(struct rhca_sw_qp *qp, struct rhca_packet *packet,
			  const struct rhca_send_wqe *wqe)
{
	/* The high bit asks for the QP's own key, 10.2.5 */
	u32 qkey = wqe->qkey & BIT(31) ? READ_ONCE(qp->base.attr.qkey) : wqe->qkey;

	rhca_deth_fill(rhca_packet_header(packet, RHCA_HDR_DETH), qkey,
		       qp->base.number);
	packet->udp_sport = rdma_get_udp_sport(packet->path->address.flow.flow_label,
					       qp->base.number, wqe->dest_qpn);
}

static void fill_reth(struct rhca_packet *packet,
		      const struct rhca_send_wqe *wqe, u32 offset, u32 length)
{
	struct rhca_reth *reth = rhca_packet_header(packet, RHCA_HDR_RETH);

	reth->va = cpu_to_be64(wqe->remote_addr + offset);
	reth->rkey = cpu_to_be32(wqe->rkey);
	reth->length = cpu_to_be32(length);
}

static void fill_atomic(struct rhca_packet *packet,
			const struct rhca_send_wqe *wqe)
{
	struct rhca_atomic_eth *eth = rhca_packet_header(packet,
							 RHCA_HDR_ATOMIC_ETH);
	bool swap = wqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP;

	eth->va = cpu_to_be64(wqe->remote_addr);
	eth->rkey = cpu_to_be32(wqe->rkey);
	eth->swap_add = cpu_to_be64(swap ? wqe->swap : wqe->compare_add);
	eth->compare = cpu_to_be64(swap ? wqe->compare_add : 0);
}

static void fill_headers(struct rhca_sw_qp *qp, struct rhca_packet *packet,
			 const struct rhca_send_wqe *wqe, u32 read_bytes)
{
	u8 opcode = packet->bth->opcode;
	struct rhca_feth *feth;
	struct rhca_ieth *ieth;
	struct rhca_immdt *imm;

	if (rhca_opcode_has(opcode, RHCA_HDR_DETH))
		fill_datagram(qp, packet, wqe);
	if (rhca_opcode_has(opcode, RHCA_HDR_FETH)) {
		feth = rhca_packet_header(packet, RHCA_HDR_FETH);
		rhca_feth_fill(feth, wqe->placement, wqe->selectivity);
	}
	if (rhca_opcode_has(opcode, RHCA_HDR_RETH))
		fill_reth(packet, wqe, qp->send.next_offset, read_bytes);
	if (rhca_opcode_has(opcode, RHCA_HDR_ATOMIC_ETH))
		fill_atomic(packet, wqe);
	if (rhca_opcode_has(opcode, RHCA_HDR_IMMDT)) {
		imm = rhca_packet_header(packet, RHCA_HDR_IMMDT);
		imm->data = wqe->imm_data;
	}
	if (rhca_opcode_has(opcode, RHCA_HDR_IETH)) {
		ieth = rhca_packet_header(packet, RHCA_HDR_IETH);
		ieth->rkey = cpu_to_be32(wqe->invalidate_rkey);
	}
}

/* Will another packet to the same destination follow at once? */
static bool more_follows(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
			 const struct rhca_segment *seg)
{
	u32 next = qp->send.next + 1;

	if (qp->send.next_offset + seg->advance < wqe->length)
		return true;
	if (!rhca_requester_has_request(qp, next))
		return false;
	return !rhca_is_datagram(&qp->base) ||
	       rhca_sq_wqe(&qp->base.sq, next)->path == wqe->path;
}

static bool is_nothing_in_flight(const struct rhca_requester *send)
{
	return send->newest_psn == send->oldest_unacked_psn;
}

/* Put a lone packet into the shared block */
static bool begin_shared(struct rhca_sw_qp *qp, const struct rhca_segment *seg,
			 struct rhca_packet *packet, struct rhca_tx_list *tx,
			 bool more)
{
	struct rhca_requester *send = &qp->send;

	if (!tx->shared || more || send->backoff.single ||
	    !is_nothing_in_flight(send) ||
	    !rhca_shared_begin_packet(tx->shared, packet, &qp->base, tx->path,
				      &seg->fields, seg->payload_bytes))
		return false;
	send->udp_sport = packet->udp_sport;
	return true;
}

/* A packet must not overtake an earlier one that used the block's source port */
static void keep_source_port(struct rhca_requester *send,
			     struct rhca_packet *packet)
{
	if (is_nothing_in_flight(send))
		send->udp_sport = 0;
	if (send->udp_sport)
		packet->udp_sport = send->udp_sport;
}

/*
 * Build the packet; on lack of memory without an skb. RCU read side. Returns IB_WC_SUCCESS, or the
 * status with which the request ends.
 */
enum ib_wc_status rhca_segment_build(struct rhca_sw_qp *qp,
				     const struct rhca_send_wqe *wqe,
				     const struct rhca_segment *seg,
				     struct rhca_packet *packet,
				     struct rhca_tx_list *tx)
{
	bool more = more_follows(qp, wqe, seg);
	enum ib_wc_status status;

	lockdep_assert_held(&qp->send.lock);
	if (!begin_shared(qp, seg, packet, tx, more)) {
		if (rhca_tx_list_begin_packet(tx, packet, &seg->fields,
					      seg->payload_bytes, more)) {
			packet->skb = NULL;	/* treat it as lost on the wire */
			packet->room = NULL;
			packet->shared = false;
			return IB_WC_SUCCESS;
		}
		keep_source_port(&qp->send, packet);
	}
	fill_headers(qp, packet, wqe, seg->message_bytes);
	rhca_tx_list_protect(tx, packet);
	status = add_payload(qp, wqe, packet);
	if (status == IB_WC_SUCCESS)
		rhca_packet_seal(packet);
	else
		rhca_packet_drop(packet);
	return status;
}
