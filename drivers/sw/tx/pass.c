// SPDX-License-Identifier: GPL-2.0
/*
 * Passes through one half of a QP, under its lock: who makes them besides packets that
 * arrive (verbs, tasklets, the work that flushes), and what one leaves to be done
 * without the lock.
 */
#include <linux/workqueue.h>
#include <rhca/compat.h>

#include "sw/tx/pass.h"
#include "sw/rx/recv_completion.h"
#include "sw/rx/responder.h"
#include "sw/tx/doorbell.h"
#include "sw/tx/requester.h"
#include "sw/tx/send_completion.h"

static struct workqueue_struct *flush_wq;

/*
 * A process posts receives without telling: look for them after an error, and
 * less often the longer nothing comes.
 */
#define FLUSH_FIRST		msecs_to_jiffies(10)
#define FLUSH_INTERVAL		msecs_to_jiffies(100)
#define FLUSH_LONGEST		msecs_to_jiffies(1600)

/* --- the end of a pass ------------------------------------------------------ */

static void flush_half(struct rhca_sw_qp *qp, spinlock_t *lock,
		       void (*flush)(struct rhca_sw_qp *qp,
				     struct rhca_batch *batch),
		       struct rhca_batch *batch)
{
	spin_lock_bh(lock);
	flush(qp, batch);
	spin_unlock_bh(lock);
}

static void raise_events(struct rhca_sw_qp *qp, u32 events)
{
	unsigned long left = events;
	int type;

	for_each_set_bit(type, &left, BITS_PER_TYPE(events))
		rhca_qp_event(&qp->base.core, type);
}

/*
 * What was posted before the QP failed is flushed at once, in portions. A process
 * can fill its rings as fast as they are emptied: what comes later has to wait, so
 * that it cannot keep the kernel busy at nobody's cost.
 */
static void flush_later(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (!qp->base.core.is_user) {
		if (batch->flush_more) {
			tasklet_schedule(&qp->send.task);
			tasklet_schedule(&qp->recv.task);
		}
		return;
	}
	if (batch->flush_more &&
	    atomic_sub_return(batch->flushed, &qp->flush_credit) > 0)
		mod_delayed_work(flush_wq, &qp->flush_work, 0);
	else
		queue_delayed_work(flush_wq, &qp->flush_work, FLUSH_FIRST);
}

/* Flush the other half, which may have completions to raise as well */
static void flush_rest(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	if (batch->flush_send)
		flush_half(qp, &qp->send.lock, rhca_requester_flush, batch);
	if (batch->flush_recv)
		flush_half(qp, &qp->recv.lock, rhca_responder_flush, batch);
	if (batch->flush_more || batch->flush_send || batch->flush_recv)
		flush_later(qp, batch);
}

static void raise_all(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (batch->raise_send || batch->raise_recv) {
		local_bh_disable();
		if (batch->raise_send)
			rhca_cq_raise(rhca_send_cq(&qp->base));
		if (batch->raise_recv)
			rhca_cq_raise(rhca_recv_cq(&qp->base));
		local_bh_enable();
	}
	if (batch->srq_limit)
		rhca_srq_limit_event(qp->base.srq);
	if (batch->events)
		raise_events(qp, batch->events);
}

/**
 * rhca_batch_end - Do what a batch left: flush the other half, raise events
 * @qp: the QP
 * @batch: what was collected; what the flush adds is added
 *
 * Context: any but hardirq; none of the QP's locks held.
 */
void rhca_batch_end(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	flush_rest(qp, batch);
	raise_all(qp, batch);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_batch_end);

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
	flush_half(qp, &qp->recv.lock, rhca_responder_continue, batch);
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
	flush_rest(qp, batch);
	if (qp->base.core.is_user)
		raise_all(qp, batch);
	else if (batch->raise_send || batch->raise_recv || batch->srq_limit ||
		 batch->events)
		defer_events(qp, batch);
}

/* Is there something to look for that nobody will tell of? */
static bool posts_are_silent(const struct rhca_sw_qp *qp)
{
	return !qp->base.srq && rhca_qp_can(&qp->base, RHCA_QP_FLUSH_RECV) &&
	       !rhca_cq_is_overrun(rhca_recv_cq(&qp->base));
}

/* As long as the QP is in ERR */
static void flush_again(struct work_struct *work)
{
	struct rhca_sw_qp *qp = container_of(to_delayed_work(work),
					     struct rhca_sw_qp, flush_work);
	struct rhca_batch batch = {};

	if (rhca_qp_can(&qp->base, RHCA_QP_FLUSH_SEND))
		rhca_pass_send(qp, &batch);
	if (rhca_qp_can(&qp->base, RHCA_QP_FLUSH_RECV))
		process_recv(qp, &batch);
	if (batch.flushed)
		qp->flush_delay = FLUSH_INTERVAL;
	else
		qp->flush_delay = min(2 * qp->flush_delay, FLUSH_LONGEST);
	raise_all(qp, &batch);
	if (batch.flush_more &&
	    atomic_sub_return(batch.flushed, &qp->flush_credit) > 0)
		queue_delayed_work(flush_wq, &qp->flush_work, 0);
	else if (batch.flush_more || posts_are_silent(qp))
		queue_delayed_work(flush_wq, &qp->flush_work, qp->flush_delay);
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
 * rhca_pass_reset - What is posted from now on may be flushed at once again
 * @qp: a QP in RESET
 */
void rhca_pass_reset(struct rhca_sw_qp *qp)
{
	u32 most = qp->base.sq.ring.mask;

	if (!qp->base.srq)
		most += qp->base.rq.ring.mask;
	atomic_set(&qp->flush_credit, most);
	qp->flush_delay = FLUSH_INTERVAL;
}

/**
 * rhca_pass_init - Set up who makes passes
 * @qp: a QP that nobody can find yet
 */
void rhca_pass_init(struct rhca_sw_qp *qp)
{
	tasklet_setup(&qp->send.task, send_task);
	tasklet_setup(&qp->recv.task, recv_task);
	INIT_DELAYED_WORK(&qp->flush_work, flush_again);
	rhca_pass_reset(qp);
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
	cancel_delayed_work_sync(&qp->flush_work);
}

/* Return: 0 or -ENOMEM */
int rhca_passes_init(void)
{
	/* One at a time: it does not take more than one CPU from others */
	flush_wq = alloc_workqueue("roce_hca_flush", WQ_UNBOUND, 1);
	return flush_wq ? 0 : -ENOMEM;
}

/* No QP exists any more */
void rhca_passes_exit(void)
{
	destroy_workqueue(flush_wq);
}
