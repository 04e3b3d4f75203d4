// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling of responders: READs, atomics and FLUSHes, and the answers queued after them, are
 * answered in turns, like requests are sent. An acknowledgement with nothing queued before it needs
 * no turn and is sent at once.
 *
 * A peer chooses how many responses its packets cost, so they are limited: 64 packets in a turn,
 * and a limit per CPU on what received packets send at once. The rest is left to the tasklet, which
 * accounts for it like requests.
 */
#include <linux/jiffies.h>
#include <rhca/compat.h>

#include "sw/rx/respond_turn.h"
#include "sw/qp/flush.h"
#include "sw/qp/shared.h"
#include "sw/qp/turn_sched.h"
#include "sw/rx/answer.h"
#include "sw/rx/recv_completion.h"
#include "sw/rx/responder.h"
#include "sw/tx/window.h"

/* Must something be sent in order, take long, or wait? */
static bool needs_turn(const struct rhca_responder *recv)
{
	return recv->invalidating ||
	       recv->sending_resource != recv->newest_resource ||
	       rhca_turn_state(rhca_turn_word(&recv->turn)) == RHCA_TURN_TIMED;
}

/* Returns whether more is due than the budget allowed */
static bool answer(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_path *path = rcu_dereference(qp->base.path);

	if (qp->recv.invalidating && !rhca_responder_invalidate(qp, batch))
		return false;
	return path && rhca_send_responses(qp, path, batch);
}

/* Run the turn that the caller owns, and end it; recv.lock held */
static void respond(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	struct rhca_responder *recv = &qp->recv;
	enum rhca_turn_end end = RHCA_END_EMPTY;

	rhca_turn_see_kicks(&recv->turn);
	recv->pause = RHCA_NO_PAUSE;
	if (rhca_qp_half_can(&qp->base, RHCA_QP_FLUSH_RECV))
		rhca_responder_flush(qp, batch);
	else if (rhca_qp_half_can(&qp->base, RHCA_QP_RECEIVE) &&
		 answer(qp, batch))
		end = RHCA_END_MORE;
	if (recv->pause)
		end = RHCA_END_PAUSE;
	rhca_turn_finish(&recv->turn, end, recv->pause);
}

static void run_turn(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	spin_lock(&qp->recv.lock);
	respond(qp, batch);
	rhca_mem_release(&qp->recv.held);
	spin_unlock(&qp->recv.lock);
}

/* QUEUE: many responders may wait for the same event; the tasklet bounds them together */
const struct rhca_turn_ops rhca_respond_turn_ops = {
	.run	= run_turn,
	.after	= rhca_batch_end_deferred,
	.flush	= rhca_responder_flush,
	.timer	= RHCA_KICK_QUEUE,
};

/* Where responses are sent: here, until a tick's limit is reached */
static enum rhca_kick_how how_of_request(void)
{
	struct rhca_turn_list *list = this_cpu_ptr(&rhca_turn_lists);

	if (time_after(jiffies, list->answered_at)) {
		list->answered_at = jiffies;
		list->answered = 0;
	}
	return list->answered < RHCA_TICK_PACKETS ? RHCA_KICK_RUN : RHCA_KICK_QUEUE;
}

static void take_turn(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	u32 before = batch->sent;

	if (!rhca_turn_start(&qp->recv.turn, RHCA_KICK_POST, how_of_request()))
		return;
	respond(qp, batch);
	this_cpu_add(rhca_turn_lists.answered, batch->sent - before);
}

/* Send the answers that are due. recv.lock held, bottom halves off, RCU read side. */
void rhca_responder_continue(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	lockdep_assert_held(&qp->recv.lock);
	if (rhca_qp_half_can(&qp->base, RHCA_QP_FLUSH_RECV)) {
		rhca_responder_flush(qp, batch);
	} else if (rhca_qp_half_can(&qp->base, RHCA_QP_RECEIVE)) {
		if (needs_turn(&qp->recv))
			take_turn(qp, batch);
		else
			answer(qp, batch);
	}
	if (batch->shared)
		rhca_shared_keep(batch->shared, &qp->recv.held);
	rhca_mem_release(&qp->recv.held);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_responder_continue);

/**
 * rhca_respond_posted - &struct rhca_transport_ops.kick_recv
 * @base: the QP
 *
 * Flushes a receive posted to a QP in ERR.
 */
void rhca_respond_posted(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	struct rhca_batch batch = {};

	if (irqs_disabled() || in_hardirq()) {
		atomic_or(RHCA_FLUSH_MORE, &qp->send.deferred);
		rhca_turn_call_tasklet(&qp->recv.turn);
		return;
	}
	rcu_read_lock();
	spin_lock_bh(&qp->recv.lock);
	rhca_responder_continue(qp, &batch);
	spin_unlock_bh(&qp->recv.lock);
	rcu_read_unlock();
	rhca_batch_end_in_verb(qp, &batch);
}

/* The wait for a missing packet is over */
static void waited(struct rhca_wheel_timer *timer)
{
	struct rhca_recovery *recovery = container_of(timer, struct rhca_recovery,
						      wait_timer);
	struct rhca_sw_qp *qp = recovery->qp;
	struct rhca_batch batch = {};

	rcu_read_lock();
	spin_lock(&qp->recv.lock);
	rhca_responder_waited(qp);
	rhca_responder_continue(qp, &batch);
	spin_unlock(&qp->recv.lock);
	rcu_read_unlock();
	rhca_batch_end(qp, &batch);
}

/**
 * rhca_respond_init - Initialise the responder's scheduling
 * @qp: the QP, after rhca_probe_init()
 */
void rhca_respond_init(struct rhca_sw_qp *qp)
{
	rhca_turn_init(&qp->recv.turn, qp, &rhca_respond_turn_ops);
	qp->recv.rule.reorder = &qp->recv.reorder;
	if (qp->send.recovery)
		qp->send.recovery->wait_timer.fired = waited;
}

/**
 * rhca_respond_exit - Stop the responder's turns and timers
 * @qp: a QP in RESET that packets no longer reach
 *
 * Context: process.
 */
void rhca_respond_exit(struct rhca_sw_qp *qp)
{
	if (qp->send.recovery)
		rhca_wheel_stop(&qp->send.recovery->wait_timer);
	rhca_turn_exit(&qp->recv.turn, &qp->recv.lock);
}
