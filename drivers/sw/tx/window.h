/* SPDX-License-Identifier: GPL-2.0 */
/* Window of a requester, as used by the send loop and the completer. */
#ifndef RHCA_SW_TX_WINDOW_H
#define RHCA_SW_TX_WINDOW_H

#include "sw/qp/qp.h"
#include "sw/qp/hold_rule.h"
#include "sw/qp/payload.h"
#include "sw/tx/recover.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/*
 * Loss recovery of an RC QP. send.lock protects all of it but @wait_timer, which is started under
 * recv.lock. Allocated separately: other QPs do not need it, and together the allocation would
 * round up to twice the size.
 */
struct rhca_recovery {
	struct rhca_hold *hold;		/* out-of-order responses, or NULL */
	struct rhca_sw_qp *qp;		/* the owner */
	struct rhca_wheel_timer wait_timer;	/* responder: wait for a missing packet */
	/* The fields from here on are 0 when a connection starts */
	struct rhca_recover rule;	/* losses and what is done about them */
	u32 hole_psn;			/* what to retransmit if send.hole_due */
	u32 loss_psn;			/* of the newest loss, if @lossy */
	u32 ack_psn;	/* if @ack_waits: acknowledged up to here except for missing responses */
	u32 nak_psn;	/* if @nak_waits: the peer lacks this PSN, and responses are missing here */
	struct rhca_reorder reorder;	/* of responses and of what was requested again */
	u32 again_end;	/* after the last response that a retransmission may bring */
	bool lossy;			/* there was a recent loss */
	bool ack_waits;
	bool nak_waits;
	bool hole_is_nak;		/* @hole_psn is retransmitted because of @nak_psn */
	bool excused;	/* the ACK timeout has waited for the rate: once for each retry */
	bool no_room;	/* for an out-of-order response, until a held one is taken */
	u8 probes;			/* probes sent by send.probe_timer without progress */
	u8 doublings;			/* of the probe interval since the last round trip */
	/* Time of the last acknowledgement or end of an RNR pause, ns; 0: unknown */
	u64 heard_at;
	u64 nak_sent_at;	/* when @nak_psn was resent before the responses came, ns; or 0 */
};

/*
 * Limit of requests started but not completed. The window bounds those with packets, this the local
 * ones, which execute at once: the completer walks all of them with bottom halves off.
 */
#define RHCA_OPEN_MAX	(4 * RHCA_SEND_WINDOW)

/* Index after the last request of which a packet has been sent */
static inline u32 rhca_requester_sent_end(const struct rhca_requester *send)
{
	return send->next + (send->next_offset ? 1 : 0);
}

/* Unacknowledged packets */
static inline u32 rhca_requester_in_flight(const struct rhca_requester *send)
{
	return rhca_psn_diff(send->next_psn, send->oldest_unacked_psn);
}

/* Does a pause hold up what is to be answered next? A page may be missing for a later request */
static inline bool rhca_requester_is_held_up(const struct rhca_requester *send)
{
	return send->pause && send->pause != RHCA_PAUSE_LOCAL_FULL &&
	       (send->hole_due || !rhca_requester_in_flight(send));
}

/* May a retransmission bring this response, which has not arrived yet? */
static inline bool rhca_requester_brings_again(const struct rhca_recovery *recovery, u32 psn)
{
	return rhca_psn_sub(recovery->again_end, psn) - 1 < 2 * RHCA_SEND_WINDOW;
}

/* Has @psn been sent but not acknowledged? */
static inline bool rhca_requester_in_window(const struct rhca_requester *send, u32 psn)
{
	return !rhca_psn_before(psn, send->oldest_unacked_psn) &&
	       rhca_psn_before(psn, send->newest_psn);
}

/* Reads the queue's tail only when all requests already seen are used up */
static inline bool rhca_requester_sees_more(struct rhca_sw_qp *qp)
{
	struct rhca_sq *sq = &qp->base.sq;
	u32 end;

	if (qp->base.is_user)
		rhca_sq_fetch(&qp->base);
	end = READ_ONCE(sq->tail);
	if (end == qp->send.posted_end)
		return false;
	/* Read the index before the requests it covers */
	smp_acquire__after_ctrl_dep();
	qp->send.posted_end = end;
	return true;
}

/* Is there a request at @index? All earlier ones are known to exist */
static inline bool rhca_requester_has_request(struct rhca_sw_qp *qp, u32 index)
{
	return index != qp->send.posted_end || rhca_requester_sees_more(qp);
}

/* Compare-and-swap or fetch-and-add: the response returns the old value */
static inline bool rhca_wqe_is_atomic(const struct rhca_send_wqe *wqe)
{
	return wqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/**
 * rhca_wqe_is_read - Does this request have a response of its own?
 * @wqe: the request
 *
 * Such a request uses a responder resource of the peer and is not completed by a plain
 * acknowledgement.
 */
static inline bool rhca_wqe_is_read(const struct rhca_send_wqe *wqe)
{
	switch (wqe->opcode) {
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case RHCA_WR_FLUSH:
	case RHCA_WR_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

/* Does it consume a receive request of the peer? */
static inline bool rhca_wqe_takes_receive(const struct rhca_send_wqe *wqe)
{
	return wqe->opcode == IB_WR_SEND || wqe->opcode == IB_WR_SEND_WITH_IMM ||
	       wqe->opcode == IB_WR_SEND_WITH_INV ||
	       wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

/* Must a request without a packet wait until earlier ones have completed? */
static inline bool rhca_requester_is_far(const struct rhca_sw_qp *qp, u32 index)
{
	return index - qp->base.sq.head >= RHCA_OPEN_MAX;
}

/* Bytes of a send request's SGE list; uses send.held */
static inline struct rhca_span rhca_send_span(struct rhca_sw_qp *qp,
					      const struct rhca_send_wqe *wqe,
					      u32 offset, u32 bytes)
{
	return (struct rhca_span) {
		.sge	 = wqe->sge,
		.num_sge = wqe->num_sge,
		.offset	 = offset,
		.bytes	 = bytes,
		.held	 = &qp->send.held,
	};
}

/*
 * Does the request exceed the peer's receive credits, 9.7.7.2? Then single packets are sent, one at
 * a time, until the peer has accepted the first one.
 */
static inline bool rhca_requester_lacks_credit(const struct rhca_requester *send,
					       const struct rhca_send_wqe *wqe,
					       u32 ssn)
{
	return send->limited && rhca_wqe_takes_receive(wqe) &&
	       rhca_psn_diff(ssn, send->limit_ssn) > 0 &&
	       ssn != send->probe_ssn;
}

/* The peer announces receive credits; @msn: the message of ours they count from */
static inline void rhca_requester_take_credits(struct rhca_requester *send, u8 code,
					       u32 msn)
{
	u32 limit;

	if (code == RHCA_CREDIT_INVALID) {
		send->limited = false;
		return;
	}
	limit = rhca_psn_add(msn, rhca_credits(code));
	if (!send->limited || rhca_psn_before(send->limit_ssn, limit))
		send->limit_ssn = limit;
	send->limited = true;
}

/* The first packet of the head request was accepted: that request has its receive buffer */
static inline void rhca_requester_note_probe(struct rhca_sw_qp *qp)
{
	struct rhca_sq *sq = &qp->base.sq;
	struct rhca_send_wqe *wqe;

	if (!qp->send.limited || sq->head == qp->send.posted_end)
		return;
	wqe = rhca_sq_wqe(sq, sq->head);
	if (wqe->numbered && rhca_psn_before(wqe->first_psn,
					     qp->send.oldest_unacked_psn))
		qp->send.probe_ssn = wqe->ssn;
}

/* May the next packet of a started request be sent now? */
static inline bool rhca_requester_window_open(struct rhca_sw_qp *qp,
					      const struct rhca_send_wqe *wqe)
{
	struct rhca_requester *send = &qp->send;

	if (!rhca_is_rc(&qp->base))
		return true;
	if (rhca_requester_in_flight(send) >= send->cwnd.packets)
		return false;
	if (rhca_wqe_is_read(wqe) &&
	    send->reads_in_flight >= READ_ONCE(qp->base.attr.max_rd_atomic))
		return false;
	/* 9.7.7.2: without a credit only a single packet may probe */
	return !rhca_requester_lacks_credit(send, wqe, wqe->ssn) ||
	       !rhca_requester_in_flight(send);
}

/* No new packets while it is unknown what the peer does after a loss */
static inline bool rhca_requester_sends_new(const struct rhca_requester *send)
{
	return !send->recovering || rhca_recover_sends_new(&send->recovery->rule);
}

void rhca_requester_rewind(struct rhca_sw_qp *qp, u32 psn);
void rhca_requester_repeat(struct rhca_sw_qp *qp, u32 psn, const char *cause);
void rhca_requester_congested(struct rhca_sw_qp *qp, u32 psn);
void rhca_requester_starved(struct rhca_sw_qp *qp);
bool rhca_requester_may_continue(struct rhca_sw_qp *qp);

#endif
