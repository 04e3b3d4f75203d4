// SPDX-License-Identifier: GPL-2.0
/*
 * Packets from the middle of a message are copied in the pass that checks their
 * ICRC, when they are just what is expected. Where they go to follows from the state
 * of the QP, not from the packet, and nobody may look there before the message has
 * ended. So one that turns out to be damaged has done no harm: the state has not
 * moved, and the right one writes the same place. The first packet of a message says
 * itself where it goes to, and programs wait for the last byte to change: those are
 * checked first.
 */
#include "sw/rx/early_copy.h"
#include "sw/qp/payload.h"
#include "sw/tx/window.h"
#include "sw/qp/recv_half.h"
#include "wire/crc32.h"
#include "wire/icrc.h"
#include "wire/psn.h"

/* --- requests -------------------------------------------------------------- */

static bool request_is_due(const struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	const struct rhca_responder *recv = &qp->recv;
	u16 kind = rhca_opcodes[recv->message_opcode].flags & rx->flags;
	u32 end = recv->received + rx->payload_bytes;

	lockdep_assert_held(&recv->lock);
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_RECEIVE) || recv->fatal ||
	    recv->invalidating || !recv->in_message ||
	    rx->psn != recv->expected_psn)
		return false;
	if (kind & RHCA_OP_SEND)
		return recv->have_wqe && end <= recv->wqe->length;
	return (kind & RHCA_OP_WRITE) && rx->payload_bytes < recv->write_left &&
	       (READ_ONCE(qp->base.attr.qp_access_flags) &
		IB_ACCESS_REMOTE_WRITE);
}

static bool copy_send(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		      struct rhca_check *check)
{
	struct rhca_span span = rhca_receive_span(qp, qp->recv.received,
						  rx->payload_bytes);

	return rhca_scatter_checked(&qp->base, &span, check) == IB_WC_SUCCESS;
}

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

/* --- responses to READs ---------------------------------------------------- */

/* The request at the head, as far as this packet can be its next response */
static const struct rhca_send_wqe *read_of(struct rhca_sw_qp *qp,
					   const struct rhca_rx *rx)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_sq *sq = &qp->base.sq;
	const struct rhca_send_wqe *wqe = rhca_sq_wqe(sq, sq->head);

	if (sq->head == rhca_requester_sent_end(send) || !wqe->numbered ||
	    wqe->opcode != IB_WR_RDMA_READ)
		return NULL;
	/* Neither the first nor the last one */
	return rhca_psn_before(wqe->first_psn, rx->psn) &&
	       rhca_psn_before(rx->psn, wqe->last_psn) ? wqe : NULL;
}

static bool response_is_due(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	const struct rhca_requester *send = &qp->send;

	lockdep_assert_held(&send->lock);
	return rhca_qp_half_can(&qp->base, RHCA_QP_COMPLETE) &&
	       rx->psn == send->oldest_unacked_psn &&
	       rhca_psn_before(rx->psn, send->newest_psn) && read_of(qp, rx);
}

static bool copy_response(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			  struct rhca_check *check)
{
	const struct rhca_send_wqe *wqe = read_of(qp, rx);
	struct rhca_span span = rhca_send_span(qp, wqe, qp->base.mtu_bytes *
					       rhca_psn_diff(rx->psn, wqe->first_psn),
					       rx->payload_bytes);

	return rhca_scatter_checked(&qp->base, &span, check) == IB_WC_SUCCESS;
}

/* --- both ------------------------------------------------------------------ */

/* Does the QP wait for it? */
static bool is_due(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	if (!rhca_is_rc(&qp->base) ||
	    rx->payload_bytes != qp->base.mtu_bytes || rhca_bth_pad(rx->bth) ||
	    !rhca_pkeys_match(be16_to_cpu(rx->bth->pkey),
			      rhca_qp_pkey(&qp->base)))
		return false;
	return rx->flags & RHCA_OP_RESPONSE ? response_is_due(qp, rx) :
					      request_is_due(qp, rx);
}

static bool copy(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
		 struct rhca_check *check)
{
	if (rx->flags & RHCA_OP_RESPONSE)
		return copy_response(qp, rx, check);
	if (rx->flags & RHCA_OP_SEND)
		return copy_send(qp, rx, check);
	return copy_write(qp, rx, check);
}

/*
 * Copy the payload, and check the ICRC. @rx: a middle packet, which is admitted but for its
 * ICRC and P_Key. The lock of its half held, bottom halves off, RCU read side. Returns true when
 * the packet is intact and its payload is where it belongs; else nothing has happened, and the
 * packet is handled like any other.
 */
bool rhca_early_copy(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_check check = { .data = rhca_rx_payload(rx) };
	__le32 icrc;
	bool copied;

	if (!check.data || !is_due(qp, rx))
		return false;
	check.vectors = rhca_crc32_begin(rx->payload_bytes);
	check.crc = rhca_icrc_headers(check.vectors, rx->flow.encap,
				      rx->network);
	copied = copy(qp, rx, &check);
	rhca_crc32_end(check.vectors);
	icrc = rhca_icrc_final(check.crc);
	return copied && !memcmp(check.data, &icrc, sizeof(icrc));
}
