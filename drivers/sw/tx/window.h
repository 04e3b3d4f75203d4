/* SPDX-License-Identifier: GPL-2.0 */
/* Window of a requester: what who sends requests or takes responses asks of it. */
#ifndef RHCA_SW_TX_WINDOW_H
#define RHCA_SW_TX_WINDOW_H

#include "sw/qp/qp.h"
#include "sw/qp/hold_rule.h"
#include "sw/qp/payload.h"
#include "sw/tx/recover.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/*
 * What an RC QP does about losses. All of it is protected by send.lock, but @wait_timer, which
 * is started under recv.lock. It is apart, since other QPs have none of it and the allocator
 * would take twice as much for one piece.
 */
struct rhca_recovery {
	struct rhca_hold *hold;		/* responses that came before missing ones, or NULL */
	struct rhca_sw_qp *qp;		/* whose it is */
	struct rhca_wheel_timer wait_timer;	/* responder: a packet that is missing */
	/* What follows is 0 when a connection begins */
	struct rhca_recover rule;	/* what has been lost, and what is done about it */
	u32 hole_psn;			/* what is to be sent again, if send.hole_due */
	u32 loss_psn;			/* of the newest loss, if @lossy */
	u32 ack_psn;	/* if @ack_waits: acknowledged up to there but for missing responses */
	u32 nak_psn;	/* if @nak_waits: the peer misses that, and responses are missing here */
	struct rhca_reorder reorder;	/* of responses, and what has been asked for again */
	bool lossy;			/* there was a loss lately */
	bool ack_waits;
	bool nak_waits;
	bool hole_is_nak;		/* @hole_psn is @nak_psn, and sent for that */
	bool no_room;	/* for a response that overtook others; none that is held was taken since */
	u8 probes;			/* times that send.probe_timer has asked without progress */
	u8 doublings;			/* of the wait until it asks, since the last round trip */
	/* When something was last acknowledged, or a pause of the peer's ended, ns; 0: not known */
	u64 heard_at;
	u64 nak_sent_at;	/* when @nak_psn was sent again before those came, ns; or 0 */
};

/*
 * Requests that have been begun and not completed. The window bounds those that are packets,
 * this the others, which are carried out at once: who takes an acknowledgement goes over
 * all of them with bottom halves off.
 */
#define RHCA_OPEN_MOST	(4 * RHCA_SEND_WINDOW)

/* Index behind the requests of which a packet has been sent */
static inline u32 rhca_requester_sent_end(const struct rhca_requester *send)
{
	return send->next + (send->next_offset ? 1 : 0);
}

/* Packets without acknowledgement */
static inline u32 rhca_requester_in_flight(const struct rhca_requester *send)
{
	return rhca_psn_diff(send->next_psn, send->oldest_unacked_psn);
}

/* Has it been sent, and is not acknowledged yet? */
static inline bool rhca_requester_in_window(const struct rhca_requester *send, u32 psn)
{
	return !rhca_psn_before(psn, send->oldest_unacked_psn) &&
	       rhca_psn_before(psn, send->newest_psn);
}

/* Looks at the queue only when all that has been seen there is used up */
static inline bool rhca_requester_sees_more(struct rhca_sw_qp *qp)
{
	struct rhca_sq *sq = &qp->base.sq;
	u32 end;

	if (qp->base.is_user)
		rhca_sq_fetch(&qp->base);
	end = READ_ONCE(sq->tail);
	if (end == qp->send.posted_end)
		return false;
	/* The index before the requests that it announces */
	smp_acquire__after_ctrl_dep();
	qp->send.posted_end = end;
	return true;
}

/* Has a request been posted at this index, where those before it are known? */
static inline bool rhca_requester_has_request(struct rhca_sw_qp *qp, u32 index)
{
	return index != qp->send.posted_end || rhca_requester_sees_more(qp);
}

/* Compare-and-swap or fetch-and-add: the response brings what was there before */
static inline bool rhca_wqe_is_atomic(const struct rhca_send_wqe *wqe)
{
	return wqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/**
 * rhca_wqe_is_read - Is this request answered by a response of its own?
 * @wqe: the request
 *
 * Such requests take a responder resource of the peer, and a mere
 * acknowledgement does not complete them.
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

/* Does it take a receive request of the peer? */
static inline bool rhca_wqe_takes_receive(const struct rhca_send_wqe *wqe)
{
	return wqe->opcode == IB_WR_SEND || wqe->opcode == IB_WR_SEND_WITH_IMM ||
	       wqe->opcode == IB_WR_SEND_WITH_INV ||
	       wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

/* Does a request have to wait until others have completed, unless it is a packet? */
static inline bool rhca_requester_is_far(const struct rhca_sw_qp *qp, u32 index)
{
	return index - qp->base.sq.head >= RHCA_OPEN_MOST;
}

/* Bytes of a send request's list; send.held of this pass */
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
 * Is a request beyond the peer's receive buffers, 9.7.7.2? Then it is sent by
 * single packets, one at a time, until the peer has taken the first of them.
 */
static inline bool rhca_requester_lacks_credit(const struct rhca_requester *send,
					       const struct rhca_send_wqe *wqe,
					       u32 ssn)
{
	return send->limited && rhca_wqe_takes_receive(wqe) &&
	       rhca_psn_diff(ssn, send->limit_ssn) > 0 &&
	       ssn != send->probe_ssn;
}

/* The peer says how many receive requests it has; @msn: as of which message of ours */
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

/* The first packet of the request at the head was taken: it has its buffer */
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

/* May a packet of a request that has been begun be sent now? */
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
	/* 9.7.7.2: without a buffer at the peer only a single packet may probe */
	return !rhca_requester_lacks_credit(send, wqe, wqe->ssn) ||
	       !rhca_requester_in_flight(send);
}

/* While a peer shows what it does about a loss, nothing new is sent */
static inline bool rhca_requester_sends_new(const struct rhca_requester *send)
{
	return !send->recovering || rhca_recover_sends_new(&send->recovery->rule);
}

void rhca_requester_rewind(struct rhca_sw_qp *qp, u32 psn);
void rhca_requester_repeat(struct rhca_sw_qp *qp, u32 psn, const char *cause);
void rhca_requester_congested(struct rhca_sw_qp *qp, u32 psn);
void rhca_requester_starved(struct rhca_sw_qp *qp);
bool rhca_requester_goes_on(struct rhca_sw_qp *qp);

#endif
