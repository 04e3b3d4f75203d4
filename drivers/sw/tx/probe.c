// SPDX-License-Identifier: GPL-2.0
/*
 * If no answer arrives within the expected time, the requester retransmits the oldest
 * unacknowledged packet with AckReq set. This finds losses at the end of a burst, where no later
 * packet provokes a NAK. The ACK timeout (ack_timeout.c) counts retries. An answer does not move
 * the timer: it sets send.heard, which the timer checks when it fires.
 */
#include <linux/slab.h>
#include <rhca/trace.h>

#include "sw/qp/flush.h"
#include "sw/qp/clock.h"
#include "sw/qp/hold.h"
#include "sw/qp/turn_sched.h"
#include "sw/tx/ack_timeout.h"
#include "sw/tx/congestion.h"
#include "sw/tx/probe.h"
#include "sw/tx/window.h"
#include "sw/tx/send_sched.h"
#include "wire/psn.h"

/* Longest wait if there is no ACK timeout */
#define PROBE_MAX_NS	NSEC_PER_SEC

/* Within this many packets of a loss another one is likely */
#define LOSSY_PSNS	64

/* After this many unanswered probes the path may have changed */
#define MANY_PROBES	3

/* Does the QP retransmit by its measured round trip? */
bool rhca_probe_adapts(const struct rhca_sw_qp *qp)
{
	return rhca_is_rc(&qp->base) && qp->base.port &&
	       READ_ONCE(qp->base.port->cc.adp_retrans);
}

/* The longest wait: then the ACK timeout takes over */
static u64 max_wait_ns(const struct rhca_sw_qp *qp)
{
	u8 code = READ_ONCE(qp->base.attr.timeout);

	if (!code)
		return PROBE_MAX_NS;
	return max_t(u64, rhca_rtt_ack_ns(&qp->send.rtt, rhca_ack_timeout_ns(code)),
		     10 * NSEC_PER_MSEC);
}

static u64 wait_ns(const struct rhca_sw_qp *qp)
{
	const struct rhca_requester *send = &qp->send;
	const struct rhca_recovery *recovery = send->recovery;
	u64 most = max_wait_ns(qp);
	bool repeats;

	if (!send->recovering)
		return rhca_rtt_probe_ns(&send->rtt, false, 0, 0, most);
	repeats = recovery->rule.mode != RHCA_RECOVER_FLOW;
	return rhca_rtt_probe_ns(&send->rtt, recovery->lossy || repeats,
				 repeats ? recovery->rule.answer_ns : 0,
				 recovery->doublings, most);
}

/*
 * When to stop waiting for a response that may only be late; 0: do not wait, since none is missing,
 * it was already requested again, or it would never be. The wait must not cost a retry.
 */
static u64 late_until(const struct rhca_sw_qp *qp)
{
	const struct rhca_requester *send = &qp->send;
	const struct rhca_reorder *reorder = &send->recovery->reorder;

	if (!send->recovering || !reorder->missed_at || !reorder->wait_ns ||
	    !rhca_probe_adapts(qp) ||
	    rhca_recover_has_asked(&send->recovery->rule, send->oldest_unacked_psn))
		return 0;
	return reorder->missed_at + min_t(u64, reorder->wait_ns, max_wait_ns(qp) / 2);
}

static void wait_from(struct rhca_sw_qp *qp, u64 now)
{
	u64 until = late_until(qp);
	u64 wait = !until ? wait_ns(qp) : until > now ? until - now : 0;

	qp->send.heard = false;
	qp->send.probe_at = now + wait;
	rhca_wheel_start(&qp->send.probe_timer, now, wait);
}

/* Start waiting for an answer */
void rhca_probe_start(struct rhca_sw_qp *qp)
{
	lockdep_assert_held(&qp->send.lock);
	if (rhca_probe_adapts(qp))
		wait_from(qp, qp->send.recovering ? rhca_now() : rhca_section_time());
}

/* An RNR pause of the peer has ended. send.lock held. */
void rhca_probe_resumed(struct rhca_requester *send)
{
	lockdep_assert_held(&send->lock);
	send->heard = true;
	if (!send->recovering)
		return;
	send->recovery->probes = 0;
	send->recovery->excused = false;
	send->recovery->heard_at = rhca_now();
}

/* Is there recovery state that the send loop or the completer must heed? */
static bool still_recovers(const struct rhca_recovery *recovery)
{
	return !rhca_recover_is_over(&recovery->rule) || recovery->rule.waits ||
	       recovery->lossy || recovery->ack_waits || recovery->nak_waits ||
	       recovery->probes || recovery->doublings ||
	       rhca_hold_num(recovery->hold);
}

/* A round trip is known again, or will be. The timer may have been started for a doubled wait */
void rhca_probe_measured(struct rhca_sw_qp *qp)
{
	struct rhca_recovery *recovery = qp->send.recovery;

	if (!recovery->doublings)
		return;
	recovery->doublings = 0;
	rhca_probe_start(qp);
	qp->send.heard = true;	/* what is sent from now on waits as long as ever */
}

static void note_repeat_answered(struct rhca_sw_qp *qp)
{
	struct rhca_recovery *recovery = qp->send.recovery;

	rhca_probe_measured(qp);
	rhca_rtt_repeat_answered(&qp->send.rtt, recovery->rule.answer_ns);
	trace_rhca_repeat_answered(rhca_qp_dev_name(&qp->base), qp->base.number,
				   recovery->heard_at - recovery->rule.repeat_at);
}

/**
 * rhca_recovery_acked - New packets were acknowledged
 * @qp: a QP in recovery, with send.oldest_unacked_psn already updated
 */
void rhca_recovery_acked(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;

	lockdep_assert_held(&send->lock);
	recovery->probes = 0;
	recovery->excused = false;
	recovery->heard_at = rhca_now();
	if (!rhca_recover_is_over(&recovery->rule)) {
		/* With a rate the retransmission may have waited for that */
		if (!rhca_is_paced(qp))
			rhca_rtt_at_least(&send->rtt,
					  rhca_recover_answered_after(&recovery->rule,
								      send->oldest_unacked_psn,
								      recovery->heard_at));
		if (rhca_recover_acked(&recovery->rule, send->oldest_unacked_psn,
				       recovery->heard_at))
			note_repeat_answered(qp);
	}
	if (recovery->lossy && rhca_psn_diff(send->oldest_unacked_psn,
					     recovery->loss_psn) > LOSSY_PSNS)
		recovery->lossy = false;
	send->recovering = still_recovers(recovery);
	if (!send->recovering)
		recovery->heard_at = 0;
}

/**
 * rhca_loss_of - Describe a loss and put the QP into recovery
 * @qp: the QP
 * @psn: the missing PSN
 * @now: time
 */
struct rhca_loss rhca_loss_of(struct rhca_sw_qp *qp, u32 psn, u64 now)
{
	lockdep_assert_held(&qp->send.lock);
	qp->send.recovering = true;
	return (struct rhca_loss) {
		.psn		= psn,
		.newest		= qp->send.newest_psn,
		.now		= now,
		.round_trip	= qp->send.rtt.smoothed,
		.path		= qp->send.rtt.least,
		.queued		= rhca_rtt_is_queued(&qp->send.rtt),
		.one		= READ_ONCE(qp->base.port->cc.selective_repeat),
	};
}

/* Carry out @action for an unanswered packet; the caller kicks the QP */
static void repeat(struct rhca_sw_qp *qp, u32 psn, enum rhca_recover_action action,
		   const char *cause)
{
	struct rhca_requester *send = &qp->send;

	if (action == RHCA_RECOVER_NOTHING)
		return;
	rhca_block_lost(&send->backoff);
	if (action == RHCA_RECOVER_REWIND) {
		rhca_requester_repeat(qp, psn, cause);
		send->repeating = true;
	} else {
		trace_rhca_retransmit(rhca_qp_dev_name(&qp->base), qp->base.number,
				      psn, rhca_psn_add(psn, 1), cause,
				      send->retries_left);
		rhca_reorder_repeated(&send->recovery->reorder, psn);
		send->recovery->hole_psn = psn;
		send->recovery->hole_is_nak = false;
		send->hole_due = true;
	}
	if (rhca_probe_adapts(qp))
		wait_from(qp, send->recovery->rule.repeat_at);
}

/**
 * rhca_repeat_lost - Carry out @action for a packet that was lost, not only its answer
 * @qp: the QP; the caller kicks it
 * @psn: of the packet
 * @action: what to do
 * @cause: reason, for the tracepoint
 */
void rhca_repeat_lost(struct rhca_sw_qp *qp, u32 psn,
		      enum rhca_recover_action action, const char *cause)
{
	struct rhca_requester *send = &qp->send;

	lockdep_assert_held(&send->lock);
	if (action == RHCA_RECOVER_NOTHING)
		return;
	if (rhca_cwnd_overflows(&send->cwnd, &send->rtt) ||
	    rhca_recover_costs_window(&send->recovery->rule, send->rtt.least))
		rhca_requester_congested(qp, psn);
	send->recovery->lossy = true;
	send->recovery->loss_psn = psn;
	repeat(qp, psn, action, cause);
}

/**
 * rhca_response_is_late - May the oldest response only be late, as others on this path were?
 * @qp: the QP, which has received a later response
 * @now: time
 *
 * If so, the probe timer requests it after a while. Without probing there is no wait.
 */
bool rhca_response_is_late(struct rhca_sw_qp *qp, u64 now)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;
	u64 until;

	lockdep_assert_held(&send->lock);
	if (rhca_reorder_lost(&recovery->reorder, send->oldest_unacked_psn,
			      rhca_hold_num(recovery->hold), now))
		return false;
	until = late_until(qp);
	if (until <= now)
		return false;
	if (send->probe_at != until || send->heard)
		wait_from(qp, now);
	return true;
}

/**
 * rhca_ask_for_response - Request a READ or atomic response that a later answer overtook
 * @qp: the QP; the caller kicks it
 * @now: time
 * @psn: of the answer received, or the PSN before the missing one
 * @twice: the answer is a duplicate
 *
 * Context: send.lock held.
 */
void rhca_ask_for_response(struct rhca_sw_qp *qp, u64 now, u32 psn, bool twice)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_recovery *recovery = send->recovery;
	enum rhca_recover_action action;
	struct rhca_loss loss;
	bool alone;

	loss = rhca_loss_of(qp, send->oldest_unacked_psn, now);
	loss.held = true;
	action = rhca_recover_ahead(&recovery->rule, &loss, psn, twice);
	if (action == RHCA_RECOVER_NOTHING)
		return;
	rhca_qp_count(&qp->base, RHCA_IMPLIED_NAK_SEQ_ERR);
	alone = !rhca_requester_brings_again(recovery, loss.psn);
	rhca_repeat_lost(qp, loss.psn, action, "read");
	if (alone)
		rhca_reorder_watch(&recovery->reorder, loss.psn);
}

/* If so, a response or its request was lost; later responses are held here */
static bool oldest_is_read(struct rhca_sw_qp *qp)
{
	struct rhca_sq *sq = &qp->base.sq;
	const struct rhca_send_wqe *wqe = rhca_sq_wqe(sq, sq->head);

	return sq->head != rhca_requester_sent_end(&qp->send) &&
	       wqe->numbered && !wqe->done && rhca_wqe_is_read(wqe);
}

/* A first probe may mean only a late answer: keep the window */
static bool is_starved(const struct rhca_requester *send)
{
	u8 probes = send->recovery->probes;

	return probes >= MANY_PROBES ||
	       (probes && send->rtt.smoothed && rhca_rtt_is_queued(&send->rtt));
}

static void probe(struct rhca_sw_qp *qp, u64 now)
{
	struct rhca_requester *send = &qp->send;
	u32 psn = send->oldest_unacked_psn;
	struct rhca_loss loss = rhca_loss_of(qp, psn, now);

	loss.held = loss.one && oldest_is_read(qp);
	rhca_qp_count(&qp->base, RHCA_ROCE_ADP_RETRANS);
	if (is_starved(send))
		rhca_requester_starved(qp);
	send->recovery->probes = min(send->recovery->probes + 1, U8_MAX);
	send->recovery->doublings = min(send->recovery->doublings + 1, U8_MAX);
	if (send->recovery->probes >= MANY_PROBES)
		send->backoff.proven = false;
	repeat(qp, psn, rhca_recover_probe(&send->recovery->rule, &loss), "probe");
}

/* heard_at is kept only during recovery, to save reading the clock */
static u64 heard_at(const struct rhca_requester *send, u64 now)
{
	return send->recovering && send->recovery->heard_at ?
		send->recovery->heard_at : now;
}

static bool is_held_up(const struct rhca_requester *send)
{
	return rhca_requester_is_held_up(send) || send->pause == RHCA_PAUSE_LOCAL_FULL ||
	       /* Its only packet is in a shared block */
	       rhca_turn_state(rhca_turn_word(&send->turn)) == RHCA_TURN_LENT;
}

static void look(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	u64 now, until;

	/* The usual case: of many QPs few have packets in flight */
	if (send->newest_psn == send->oldest_unacked_psn ||
	    !rhca_probe_adapts(qp) || !rhca_qp_can(&qp->base, RHCA_QP_COMPLETE))
		return;
	now = rhca_now();
	until = late_until(qp);
	if (until)
		send->probe_at = until;
	else if (is_held_up(send))
		send->probe_at = now + wait_ns(qp);
	else if (send->heard)
		send->probe_at = heard_at(send, now) + wait_ns(qp);
	send->heard = false;
	if (now >= send->probe_at) {
		if (until)	/* as if a later response had arrived now */
			rhca_ask_for_response(qp, now,
					      rhca_psn_sub(send->oldest_unacked_psn, 1), false);
		else
			probe(qp, now);
		rhca_send_kick_locked(qp, RHCA_KICK_REPEAT, batch);
		if (!rhca_qp_can(&qp->base, RHCA_QP_COMPLETE))
			return;
	}
	if (send->probe_at > now)
		rhca_wheel_start(&send->probe_timer, now, send->probe_at - now);
}

static void probe_fired(struct rhca_wheel_timer *timer)
{
	struct rhca_sw_qp *qp = container_of(timer, struct rhca_sw_qp,
					     send.probe_timer);
	struct rhca_batch batch = {};

	rcu_read_lock();
	spin_lock(&qp->send.lock);
	/* Re-armed while this waited for the lock? */
	if (!rhca_wheel_is_queued(timer))
		look(qp, &batch);
	spin_unlock(&qp->send.lock);
	rcu_read_unlock();
	rhca_batch_end(qp, &batch);
}

/* Reset the recovery state. @qp: a QP in RESET. send.lock held. */
void rhca_probe_reset(struct rhca_sw_qp *qp)
{
	struct rhca_recovery *recovery = qp->send.recovery;

	lockdep_assert_held(&qp->send.lock);
	qp->send.hole_due = false;
	qp->send.recovering = false;
	qp->send.rtt = (struct rhca_rtt){};
	if (!recovery)
		return;
	rhca_hold_free(&recovery->hold);
	memset_after(recovery, 0, wait_timer);
	/* It may be far ahead */
	if (rhca_wheel_is_queued(&qp->send.probe_timer))
		rhca_probe_start(qp);
	qp->send.heard = true;	/* the new connection's packets wait as long as ever */
}

/**
 * rhca_probe_init - Allocate the recovery state of an RC QP
 * @qp: a QP that is being created
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int rhca_probe_init(struct rhca_sw_qp *qp)
{
	struct rhca_recovery *recovery;

	if (!rhca_is_rc(&qp->base))
		return 0;
	recovery = kzalloc(sizeof(*recovery), GFP_KERNEL_ACCOUNT);
	if (!recovery)
		return -ENOMEM;
	recovery->qp = qp;
	qp->send.probe_timer.fired = probe_fired;
	qp->send.recovery = recovery;
	return 0;
}

/* Free the recovery state. @qp: a stopped QP. */
void rhca_probe_free(struct rhca_sw_qp *qp)
{
	if (!qp->send.recovery)
		return;
	spin_lock_bh(&qp->send.lock);
	rhca_hold_free(&qp->send.recovery->hold);
	spin_unlock_bh(&qp->send.lock);
	kfree(qp->send.recovery);
}
