// SPDX-License-Identifier: GPL-2.0
/*
 * Copies payload while the ICRC is computed, if the packet is exactly the expected one, its
 * destination follows from the QP's state and not from the packet, and no program may read it
 * yet. A damaged packet does no harm then: the state has not advanced, and the correct packet
 * overwrites the same place. A first packet of a SEND or WRITE carries its destination or takes a
 * receive request, and programs poll for the last byte to change: those are checked first. Users
 * of a READ wait for its completion.
 */
#include "sw/rx/early_copy.h"
#include "sw/qp/payload.h"
#include "sw/rx/completer.h"
#include "sw/qp/recv_half.h"
#include "wire/crc32.h"
#include "wire/icrc.h"
#include "wire/psn.h"

/* --- is it expected? -------------------------------------------------------- */

static bool request_is_due(const struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	const struct rhca_responder *recv = &qp->recv;
	u16 kind = rhca_opcodes[recv->message_opcode].flags & rx->flags;
	u32 end = recv->received + rx->payload_bytes;

	lockdep_assert_held(&recv->lock);
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_RECEIVE) || recv->fatal ||
	    recv->invalidating || !recv->in_message ||
	    rx->psn != recv->expected_psn ||
	    rx->payload_bytes != qp->base.mtu_bytes)
		return false;
	if (kind & RHCA_OP_SEND)
		return recv->have_wqe && end <= recv->wqe->length;
	return (kind & RHCA_OP_WRITE) && rx->payload_bytes < recv->write_left &&
	       (READ_ONCE(qp->base.attr.qp_access_flags) &
		IB_ACCESS_REMOTE_WRITE);
}

static bool response_is_due(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	const struct rhca_send_wqe *wqe;

	lockdep_assert_held(&qp->send.lock);
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_COMPLETE) ||
	    !rhca_requester_in_window(&qp->send, rx->psn))
		return false;
	wqe = rhca_completer_awaits(qp, rx->psn);
	return wqe && wqe->opcode == IB_WR_RDMA_READ &&
	       rx->payload_bytes == rhca_completer_bytes(qp, wqe, rx->psn);
}

static bool is_due(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	if (!rhca_is_rc(&qp->base) ||
	    !rhca_pkeys_match(be16_to_cpu(rx->bth->pkey),
			      rhca_qp_pkey(&qp->base, rx->port)))
		return false;
	return rx->flags & RHCA_OP_RESPONSE ? response_is_due(qp, rx) :
					      request_is_due(qp, rx);
}

/* --- destination ------------------------------------------------------------- */

static bool copy_write(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		       struct rhca_check *check)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_mem *mem;
	int ret;

	mem = rhca_responder_hold(qp, recv->write_rkey, recv->write_va,
				  rx->payload_bytes, IB_ACCESS_REMOTE_WRITE);
	if (!mem)
		return false;
	ret = rhca_checked_to_mem(mem, recv->write_va, rx->payload_bytes,
				  recv->write_left, check);
	return !ret;
}

static bool copy(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		 struct rhca_check *check)
{
	struct rhca_span span __uninitialized;

	if (rx->flags & RHCA_OP_WRITE)
		return copy_write(qp, rx, check);
	if (rx->flags & RHCA_OP_SEND)
		span = rhca_receive_span(qp, qp->recv.received, rx->payload_bytes);
	else
		span = rhca_completer_span(qp, rhca_sq_wqe(&qp->base.sq, qp->base.sq.head),
					   rx);
	return rhca_scatter_checked(&qp->base, &span, check) == IB_WC_SUCCESS;
}

/* --- the ICRC ---------------------------------------------------------------- */

static u32 crc_of_headers(const struct rhca_rx *rx, bool vectors)
{
	unsigned int transport = rx->payload_offset - rx->bth_offset;

	if (rx->has_network_crc)
		return rhca_icrc_transport(vectors, rx->network_crc, rx->piece, transport);
	return rhca_icrc_begin(vectors, rx->flow.encap, rx->network, rx->bth,
			       transport - sizeof(struct rhca_bth));
}

/*
 * Copy the payload and check the ICRC. @rx: rhca_copies_early() is true, and it is admitted except
 * for ICRC and P_Key. The lock of its half held, bottom halves off, RCU read side. Returns true if
 * the packet is intact and its payload in place; otherwise the caller handles it like any other
 * packet.
 */
bool rhca_early_copy(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_check check = { .data = rhca_rx_payload(rx) };
	/* From the checked lengths: the BTH may be in the skb and change meanwhile */
	unsigned int pad = rx->icrc_offset - rx->payload_offset - rx->payload_bytes;
	__le32 icrc;
	bool copied;

	if (!check.data || !is_due(qp, rx))
		return false;
	check.vectors = rhca_crc32_begin(rx->payload_bytes);
	check.crc = crc_of_headers(rx, check.vectors);
	copied = copy(qp, rx, &check);
	if (pad)
		check.crc = rhca_crc32(check.vectors, check.crc, check.data, pad);
	rhca_crc32_end(check.vectors);
	memcpy(&icrc, check.data + pad, sizeof(icrc));
	return copied && icrc == rhca_icrc_final(check.crc);
}
