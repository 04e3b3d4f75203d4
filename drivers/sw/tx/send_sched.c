// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling of requesters. A kick starts a turn at once, or later in a tasklet or timer, or is
 * seen by the turn in progress. Documentation/send-scheduler.rst.
 */
#include <linux/ktime.h>
#include <rhca/compat.h>

#include "sw/tx/send_sched.h"
#include "sw/qp/flush.h"
#include "sw/qp/turn_sched.h"
#include "sw/tx/post_delay.h"
#include "sw/tx/requester.h"
#include "sw/tx/send_completion.h"
#include "sw/tx/window.h"
#include "sw/verbs/section.h"

static void run_turn(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	spin_lock(&qp->send.lock);
	rhca_requester_run(qp, batch);
	spin_unlock(&qp->send.lock);
}

const struct rhca_turn_ops rhca_send_turn_ops = {
	.run	= run_turn,
	.after	= rhca_batch_end_deferred,
	.flush	= rhca_requester_flush,
	.timer	= RHCA_KICK_RUN,
};

/*
 * Posts to a QP in ERR are flushed, which sends nothing and needs no turn. The kick orders the
 * queue before this check of the state: whoever moved the QP to ERR flushes what it sees.
 */
static void flush_posted(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	if (!rhca_qp_half_can(&qp->base, RHCA_QP_FLUSH_SEND))
		return;
	spin_lock_bh(&qp->send.lock);
	rhca_requester_flush(qp, batch);
	spin_unlock_bh(&qp->send.lock);
}

/**
 * rhca_send_kick - The requester may have something to send
 * @qp: the QP
 * @reason: why
 * @batch: collects what rhca_batch_end() has to do
 *
 * Context: any but hardirq, interrupts on; no lock of the QP held.
 */
void rhca_send_kick(struct rhca_sw_qp *qp, enum rhca_kick reason,
		    struct rhca_batch *batch)
{
	rcu_read_lock();
	local_bh_disable();
	if (rhca_turn_start(&qp->send.turn, reason, RHCA_KICK_TAKE))
		run_turn(qp, batch);
	else
		flush_posted(qp, batch);
	local_bh_enable();
	rcu_read_unlock();
}

/*
 * What an acknowledgement allows to be sent is left to the tasklet, and so to ksoftirqd, if too
 * much of a process's time has been used.
 *
 * A CPU that processes an acknowledgement leaves requests of at least this size to another CPU
 * whose tasklet is about to run: both copy in parallel. Handing over less costs more than it gains.
 */
#define HAND_OVER_BYTES		(32U << 10)

static enum rhca_kick_how how_of_ack(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	/* A timeout has already counted its retransmission: do not delay it */
	if (send->repeating || send->hole_due)
		return RHCA_KICK_TAKE;
	if (!rhca_section_may_borrow() && !rhca_is_of_current(&qp->base))
		return RHCA_KICK_QUEUE;
	if (rhca_turn_is_elsewhere(&send->turn) &&
	    rhca_requester_has_request(qp, send->next) &&
	    rhca_sq_wqe(&qp->base.sq, send->next)->length >= HAND_OVER_BYTES)
		return RHCA_KICK_RUN;
	return RHCA_KICK_TAKE;
}

/**
 * rhca_send_kick_locked - rhca_send_kick() with send.lock held
 * @qp: the QP
 * @reason: why
 * @batch: collects events
 *
 * If the owner of the turn waits for the lock, it sends instead, so that both work in parallel.
 *
 * Context: send.lock held, bottom halves off, RCU read side.
 */
void rhca_send_kick_locked(struct rhca_sw_qp *qp, enum rhca_kick reason,
			   struct rhca_batch *batch)
{
	lockdep_assert_held(&qp->send.lock);
	if (rhca_qp_half_can(&qp->base, RHCA_QP_FLUSH_SEND))
		rhca_requester_flush(qp, batch);
	else if (rhca_qp_half_can(&qp->base, RHCA_QP_COMPLETE) &&
		 !rhca_requester_is_waiting(qp, batch) &&
		 rhca_turn_start(&qp->send.turn, reason, how_of_ack(qp)))
		rhca_requester_run(qp, batch);
	rhca_mem_release(&qp->send.held);
}

/**
 * rhca_send_posted - &struct rhca_transport_ops.kick_send
 * @base: the QP
 *
 * Packets cannot be sent with interrupts off: then a tasklet does it.
 */
void rhca_send_posted(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	enum rhca_kick_how how;
	struct rhca_batch batch = {};

	if (irqs_disabled() || in_hardirq()) {
		rhca_turn_start(&qp->send.turn, RHCA_KICK_POST, RHCA_KICK_QUEUE);
		if (rhca_qp_half_can(base, RHCA_QP_FLUSH_SEND)) {
			atomic_or(RHCA_FLUSH_MORE, &qp->send.deferred);
			rhca_turn_call_tasklet(&qp->send.turn);
		}
		return;
	}
	how = rhca_post_delay_how(qp);
	if (how == RHCA_KICK_TAKE) {
		rhca_send_kick(qp, RHCA_KICK_POST, &batch);
		rhca_batch_end_in_verb(qp, &batch);
		rhca_post_delay_sent(qp);
		return;
	}
	/* Do not disable bottom halves: enabling them again would run the tasklet at once */
	preempt_disable();
	rhca_turn_start(&qp->send.turn, RHCA_KICK_POST, how);
	preempt_enable();
	rhca_post_delay_queued(qp);
	flush_posted(qp, &batch);
	rhca_batch_end_in_verb(qp, &batch);
}

/**
 * rhca_pause_send - Pause the requester
 * @qp: the QP
 * @pause: why
 * @delay_ns: how long
 *
 * The current turn ends with the pause, or the next one starts it: the caller kicks the QP.
 */
void rhca_pause_send(struct rhca_sw_qp *qp, enum rhca_pause pause, u64 delay_ns)
{
	struct rhca_turn *turn = &qp->send.turn;

	lockdep_assert_held(&qp->send.lock);
	qp->send.pause = pause;
	WRITE_ONCE(turn->not_before, ktime_get_ns() + delay_ns);
	/* Another pause is in progress: move its timer */
	if (rhca_turn_state(rhca_turn_word(turn)) == RHCA_TURN_TIMED)
		hrtimer_start(&turn->timer, ns_to_ktime(turn->not_before),
			      HRTIMER_MODE_ABS_PINNED_SOFT);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pause_send);
