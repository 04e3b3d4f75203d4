// SPDX-License-Identifier: GPL-2.0
/*
 * Passes through one half of a QP, under its lock: who makes them besides packets that
 * arrive: verbs and tasklets.
 */
#include <rhca/compat.h>

#include "sw/tx/pass.h"
#include "sw/qp/after.h"
#include "sw/tx/doorbell.h"
#include "sw/qp/flush.h"
#include "sw/tx/requester.h"
#include "sw/rx/responder.h"

/* --- passes ----------------------------------------------------------------- */

/**
 * rhca_pass_send - A pass through the send half
 * @qp: the QP
 * @batch: collects what rhca_batch_end() has to do
 *
 * Context: any but hardirq, interrupts on; no lock of the QP held.
 */
void rhca_pass_send(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	rcu_read_lock();
	local_bh_disable();
	rhca_requester_lock(qp);
	rhca_requester_send(qp, batch);
	spin_unlock_bh(&qp->send.lock);
	rcu_read_unlock();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pass_send);

static void process_recv(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	rcu_read_lock();
	spin_lock_bh(&qp->recv.lock);
	rhca_responder_continue(qp, batch);
	spin_unlock_bh(&qp->recv.lock);
	rcu_read_unlock();
}

static void send_task(struct tasklet_struct *task)
{
	struct rhca_sw_qp *qp = container_of(task, struct rhca_sw_qp,
					     send.task);
	struct rhca_batch batch = {
		.raise_send = test_and_clear_bit(RHCA_RAISE_SEND,
						 &qp->deferred),
		.raise_recv = test_and_clear_bit(RHCA_RAISE_RECV,
						 &qp->deferred),
		.srq_limit = test_and_clear_bit(RHCA_RAISE_SRQ_LIMIT,
						&qp->deferred),
		.events = atomic_xchg(&qp->deferred_events, 0),
	};

	rhca_pass_send(qp, &batch);
	rhca_batch_end(qp, &batch);
}

static void recv_task(struct tasklet_struct *task)
{
	struct rhca_sw_qp *qp = container_of(task, struct rhca_sw_qp,
					     recv.task);
	struct rhca_batch batch = {};

	process_recv(qp, &batch);
	rhca_batch_end(qp, &batch);
}

static void defer_events(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (batch->raise_send)
		set_bit(RHCA_RAISE_SEND, &qp->deferred);
	if (batch->raise_recv)
		set_bit(RHCA_RAISE_RECV, &qp->deferred);
	if (batch->srq_limit)
		set_bit(RHCA_RAISE_SRQ_LIMIT, &qp->deferred);
	atomic_or(batch->events, &qp->deferred_events);
	tasklet_schedule(&qp->send.task);
}

/*
 * A kernel user may hold locks while it posts that its completion or event handler
 * takes as well, and a handler that posts would come back here: leave it to softirq.
 */
static void end_in_verb(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	rhca_flush_rest(qp, batch);
	if (qp->base.core.is_user)
		rhca_batch_raise(qp, batch);
	else if (batch->raise_send || batch->raise_recv || batch->srq_limit ||
		 batch->events)
		defer_events(qp, batch);
}

/**
 * rhca_pass_kick_send - &struct rhca_transport_ops.kick_send
 * @base: the QP
 *
 * With interrupts off a packet cannot be sent: that is left to a softirq.
 */
void rhca_pass_kick_send(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	struct rhca_batch batch = {};

	if (irqs_disabled() || in_hardirq()) {
		tasklet_schedule(&qp->send.task);
		return;
	}
	if (rhca_doorbell_waits(qp))
		return;
	rhca_pass_send(qp, &batch);
	end_in_verb(qp, &batch);
	rhca_doorbell_done(qp);
}

/* &struct rhca_transport_ops.kick_recv */
void rhca_pass_kick_recv(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	struct rhca_batch batch = {};

	if (irqs_disabled() || in_hardirq()) {
		tasklet_schedule(&qp->recv.task);
		return;
	}
	process_recv(qp, &batch);
	end_in_verb(qp, &batch);
}

/* --- life -------------------------------------------------------------------- */

/**
 * rhca_pass_init - Set up who makes passes
 * @qp: a QP that nobody can find yet
 */
void rhca_pass_init(struct rhca_sw_qp *qp)
{
	tasklet_setup(&qp->send.task, send_task);
	tasklet_setup(&qp->recv.task, recv_task);
}

/**
 * rhca_pass_stop - Wait for the passes that are due
 * @qp: a QP in RESET; its timers may bring about others
 *
 * Context: may sleep.
 */
void rhca_pass_stop(struct rhca_sw_qp *qp)
{
	tasklet_kill(&qp->send.task);
	tasklet_kill(&qp->recv.task);
}
