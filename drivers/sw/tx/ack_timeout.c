// SPDX-License-Identifier: GPL-2.0
/*
 * ACK timer of the requester, 9.7.6.1.3. Progress only moves the deadline; the timer checks it when
 * it fires. ACK timeouts set by applications are seldom below 67 ms, too long to wait for each
 * loss: probe.c retransmits after a few round trips without using up a retry.
 */
#include <linux/jiffies.h>
#include <rhca/compat.h>

#include "sw/qp/flush.h"
#include "sw/qp/clock.h"
#include "sw/tx/probe.h"
#include "sw/tx/send_completion.h"
#include "sw/tx/send_sched.h"
#include "sw/tx/ack_timeout.h"
#include "sw/tx/window.h"

/* A softirq may run some milliseconds late without any loss */
#define MIN_TIMEOUT	(max(HZ / 100, 2))

static unsigned long to_jiffies(u64 ns)
{
	return max_t(unsigned long, nsecs_to_jiffies(ns) + 1, MIN_TIMEOUT);
}

/* Timeout of @code, 1..31, in jiffies. At least 10 ms, or two ticks if a tick exceeds 5 ms. */
unsigned long rhca_ack_timeout(u8 code)
{
	return to_jiffies(rhca_ack_timeout_ns(code));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_ack_timeout);

static bool waits_for_answer(const struct rhca_requester *send)
{
	return send->next_psn != send->oldest_unacked_psn ||
	       send->pause == RHCA_PAUSE_LOCAL_FULL ||
	       /* Rewound, as each probe may do before the timeout if the peer is dead */
	       (send->pause == RHCA_PAUSE_PACE && send->newest_psn != send->oldest_unacked_psn);
}

/*
 * Retransmitting faster than a busy peer can process only adds to its load: double the wait after
 * each retry without progress, up to what the standard allows.
 */
static u32 backoff_shift(const struct rhca_sw_qp *qp)
{
	u8 retries = READ_ONCE(qp->base.attr.retry_cnt);
	u8 left = qp->send.retries_left;

	return left < retries ? min(retries - left, RHCA_ACK_TIMEOUT_SHIFT) : 0;
}

/**
 * rhca_restart_ack_timer - Move the ACK timeout's deadline
 * @qp: the QP
 */
void rhca_restart_ack_timer(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;
	u8 code = READ_ONCE(qp->base.attr.timeout);
	u32 shift = backoff_shift(qp);
	unsigned long wait;

	if (!code)
		return;
	wait = to_jiffies(rhca_rtt_ack_ns(&send->rtt, rhca_ack_timeout_ns(code)));
	if (unlikely(shift))
		wait = max(wait, rhca_ack_timeout(code) << shift);
	send->deadline = jiffies + wait;
}

static void run_ack_timer(struct rhca_requester *send)
{
	send->ack_timed = true;
	mod_timer(&send->ack_timer, send->deadline);
}

/* Start the timer if an answer is pending. send.lock held. */
void rhca_arm_ack_timer(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	lockdep_assert_held(&send->lock);
	if (qp->base.type != IB_QPT_RC ||
	    !READ_ONCE(qp->base.attr.timeout) || !waits_for_answer(send) ||
	    send->ack_timed)
		return;
	if (send->pause != RHCA_PAUSE_LOCAL_FULL)
		rhca_restart_ack_timer(qp);
	run_ack_timer(send);
}

/**
 * rhca_ack_timeout_changed - The QP's timeout was modified
 * @qp: the QP; a running timer may be hours from expiry
 */
void rhca_ack_timeout_changed(struct rhca_sw_qp *qp)
{
	lockdep_assert_held(&qp->send.lock);
	rhca_restart_ack_timer(qp);
	if (qp->send.ack_timed)
		run_ack_timer(&qp->send);
}

static void repeat_oldest(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;

	send->repeating = true;
	rhca_block_lost(&send->backoff);
	rhca_requester_starved(qp);
	rhca_requester_repeat(qp, send->oldest_unacked_psn, "timeout");
	rhca_send_kick_locked(qp, RHCA_KICK_TIMEOUT, batch);
}

static void handle_timeout(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;
	struct rhca_loss loss = rhca_loss_of(qp, send->oldest_unacked_psn,
					     rhca_now());

	rhca_qp_count(&qp->base, RHCA_LOCAL_ACK_TIMEOUT_ERR);
	if (!send->retries_left) {
		rhca_requester_fail(qp, IB_WC_RETRY_EXC_ERR, batch);
		return;
	}
	send->retries_left--;
	send->backoff.proven = false;
	send->recovery->excused = false;
	rhca_recover_back(&send->recovery->rule, &loss);
	rhca_restart_ack_timer(qp);
	repeat_oldest(qp, batch);
}

/* Only the first retransmission may wait for the rate: those to a dead peer all may */
static bool is_excused(const struct rhca_requester *send)
{
	return rhca_requester_is_held_up(send) &&
	       !(send->pause == RHCA_PAUSE_PACE && send->recovery->excused);
}

static void look_at_deadline(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_requester *send = &qp->send;

	/* modify_qp may have disabled the timeout since the timer was armed */
	if (!READ_ONCE(qp->base.attr.timeout))
		return;
	if (!rhca_qp_can(&qp->base, RHCA_QP_COMPLETE) ||
	    !waits_for_answer(send))
		return;
	if (time_after_eq(jiffies, send->deadline) && !is_excused(send))
		handle_timeout(qp, batch);
	if (!rhca_qp_can(&qp->base, RHCA_QP_COMPLETE) ||
	    !waits_for_answer(send))
		return;
	if (time_after_eq(jiffies, send->deadline))
		rhca_restart_ack_timer(qp);
	run_ack_timer(send);
}

static void ack_timer_fired(struct timer_list *timer)
{
	struct rhca_sw_qp *qp = container_of(timer, struct rhca_sw_qp,
					     send.ack_timer);
	struct rhca_batch batch = {};

	rcu_read_lock();
	spin_lock(&qp->send.lock);
	qp->send.ack_timed = false;
	look_at_deadline(qp, &batch);
	spin_unlock(&qp->send.lock);
	rcu_read_unlock();
	rhca_batch_end(qp, &batch);
}

void rhca_retry_init(struct rhca_sw_qp *qp)
{
	timer_setup(&qp->send.ack_timer, ack_timer_fired, 0);
}
