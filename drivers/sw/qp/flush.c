// SPDX-License-Identifier: GPL-2.0
/*
 * Work done after a QP's lock is released: flush the queues of a QP in ERR, or the send queue of
 * one in SQE, IBTA vol. 1, 10.8.5, and raise events.
 *
 * What was posted before the QP failed is flushed at once, in portions. What a process posts
 * afterwards is delayed: it can fill its rings as fast as they are emptied and would keep the
 * kernel busy at no cost of its own. Each kind has its own workqueue, so that a QP that has just
 * failed waits only for others like it.
 *
 * QPs of kernel users are flushed in softirqs, as far as their CQs have room (rhca_cq_claim()); the
 * rest follows at intervals that double while the CQ is not polled.
 */
#include <linux/workqueue.h>
#include <rhca/compat.h>

#include "sw/qp/flush.h"
#include "sw/qp/turn_sched.h"

/* Each serves one QP at a time, so they use at most three CPUs. Tests access the last */
static struct workqueue_struct *first_wq, *kernel_wq;
VISIBLE_IF_KUNIT struct workqueue_struct *rhca_flush_again_wq;
EXPORT_SYMBOL_IF_KUNIT(rhca_flush_again_wq);

/* A process posts receives without a doorbell: poll after an error, less often while idle */
#define FLUSH_FIRST		msecs_to_jiffies(10)
#define FLUSH_INTERVAL		msecs_to_jiffies(100)
#define FLUSH_LONGEST		msecs_to_jiffies(1600)
/* Kernel users' CQs are polled soon */
#define FLUSH_KERNEL		1

static void raise_events(struct rhca_sw_qp *qp, u32 events)
{
	unsigned long left = events;
	int type;

	for_each_set_bit(type, &left, BITS_PER_TYPE(events))
		rhca_qp_event(&qp->base.core, type);
}

/* Any context but hardirq; none of the QP's locks held */
static void raise(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (batch->raise_send || batch->raise_recv) {
		local_bh_disable();
		if (batch->raise_send)
			rhca_cq_raise(qp->base.send_cq);
		if (batch->raise_recv)
			rhca_cq_raise(rhca_recv_cq(&qp->base));
		local_bh_enable();
	}
	if (batch->srq_limit)
		rhca_srq_limit_event(qp->base.srq);
	if (batch->events)
		raise_events(qp, batch->events);
}

static void flush_half(struct rhca_turn *half, spinlock_t *lock, struct rhca_batch *batch)
{
	spin_lock_bh(lock);
	half->ops->flush(half->qp, batch);
	spin_unlock_bh(lock);
}

/* May there be more requests from before the QP failed? */
static bool has_credit(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	/* Used up it stays so: it would wrap after 2^31 more */
	return batch->flush_more && atomic_read(&qp->flush_credit) > 0 &&
	       atomic_sub_return(batch->flushed, &qp->flush_credit) > 0;
}

/* Within its budget only a CQ without room stops a flush: it has to be polled first */
static void flush_kernel_later(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (!batch->flush_more)
		return;
	if (batch->flushed < RHCA_FLUSH_BUDGET) {
		queue_delayed_work(kernel_wq, &qp->flush_again, FLUSH_KERNEL);
		return;
	}
	atomic_or(RHCA_FLUSH_MORE, &qp->send.deferred);
	rhca_turn_call_tasklet(&qp->send.turn);
}

static void flush_later(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (!qp->base.is_user) {
		flush_kernel_later(qp, batch);
		return;
	}
	if (has_credit(qp, batch))
		queue_work(first_wq, &qp->flush_first);
	else
		queue_delayed_work(rhca_flush_again_wq, &qp->flush_again,
				   FLUSH_FIRST);
}

/* Flush the other half, adding to @batch */
static void flush_rest(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	if (batch->flush_send)
		flush_half(&qp->send.turn, &qp->send.lock, batch);
	if (batch->flush_recv)
		flush_half(&qp->recv.turn, &qp->recv.lock, batch);
	if (batch->flush_more || batch->flush_send || batch->flush_recv)
		flush_later(qp, batch);
}

/* The slow path of rhca_batch_end() */
void rhca_batch_finish(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	flush_rest(qp, batch);
	raise(qp, batch);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_batch_finish);

static void take_deferred(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	u32 deferred;

	if (!atomic_read(&qp->send.deferred))
		return;
	deferred = atomic_xchg(&qp->send.deferred, 0);
	batch->raise_send |= !!(deferred & RHCA_RAISE_SEND);
	batch->raise_recv |= !!(deferred & RHCA_RAISE_RECV);
	batch->srq_limit |= !!(deferred & RHCA_RAISE_SRQ_LIMIT);
	batch->events |= deferred & RHCA_DEFERRED_EVENTS;
	if (deferred & RHCA_FLUSH_MORE) {
		batch->flush_send = true;
		batch->flush_recv = true;
	}
}

/**
 * rhca_batch_end_deferred - rhca_batch_end() plus what a verb left to a tasklet
 * @qp: the QP
 * @batch: what was collected
 */
void rhca_batch_end_deferred(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	take_deferred(qp, batch);
	rhca_batch_end(qp, batch);
}

static void defer_events(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	atomic_or((batch->raise_send ? RHCA_RAISE_SEND : 0) |
		  (batch->raise_recv ? RHCA_RAISE_RECV : 0) |
		  (batch->srq_limit ? RHCA_RAISE_SRQ_LIMIT : 0) | batch->events,
		  &qp->send.deferred);
	rhca_turn_call_tasklet(&qp->send.turn);
}

/**
 * rhca_batch_end_in_verb - rhca_batch_end() for a verb
 * @qp: the QP
 * @batch: what was collected
 *
 * A kernel user may post with locks held that its completion or event handler also takes, and a
 * handler that posts would recurse: leave it to a softirq.
 */
void rhca_batch_end_in_verb(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	if (rhca_batch_is_empty(batch))
		return;
	flush_rest(qp, batch);
	if (qp->base.is_user)
		raise(qp, batch);
	else if (rhca_batch_raises(batch))
		defer_events(qp, batch);
}

/* --- work ------------------------------------------------------------------- */

/* Flush a portion of each queue, if the QP's state still requires it */
static void flush_portion(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	rcu_read_lock();
	flush_half(&qp->send.turn, &qp->send.lock, batch);
	flush_half(&qp->recv.turn, &qp->recv.lock, batch);
	rcu_read_unlock();
	raise(qp, batch);
}

/* Must the receive queue be polled for new posts? */
static bool posts_are_silent(const struct rhca_sw_qp *qp)
{
	return qp->base.is_user && !qp->base.srq && rhca_qp_can(&qp->base, RHCA_QP_FLUSH_RECV) &&
	       !rhca_cq_is_overrun(rhca_recv_cq(&qp->base));
}

static unsigned long shortest_delay(const struct rhca_sw_qp *qp)
{
	return qp->base.is_user ? FLUSH_INTERVAL : FLUSH_KERNEL;
}

static void flush_first(struct work_struct *work)
{
	struct rhca_sw_qp *qp = container_of(work, struct rhca_sw_qp,
					     flush_first);
	struct rhca_batch batch = {};

	flush_portion(qp, &batch);
	if (has_credit(qp, &batch))
		queue_work(first_wq, &qp->flush_first);
	else if (batch.flush_more || posts_are_silent(qp))
		queue_delayed_work(rhca_flush_again_wq, &qp->flush_again,
				   FLUSH_INTERVAL);
}

/* Back off while nothing is found. A concurrent reset of the QP keeps its own value */
static unsigned long next_delay(struct rhca_sw_qp *qp, bool found)
{
	unsigned long delay = READ_ONCE(qp->flush_delay);
	unsigned long next = shortest_delay(qp);

	if (!found)
		next = min(2 * delay, FLUSH_LONGEST);
	return try_cmpxchg(&qp->flush_delay, &delay, next) ? next : delay;
}

/* Runs repeatedly while the QP is in ERR */
static void flush_again(struct work_struct *work)
{
	struct rhca_sw_qp *qp = container_of(to_delayed_work(work),
					     struct rhca_sw_qp, flush_again);
	struct rhca_batch batch = {};
	unsigned long delay;

	flush_portion(qp, &batch);
	delay = next_delay(qp, batch.flushed);
	if (batch.flush_more || posts_are_silent(qp))
		queue_delayed_work(qp->base.is_user ? rhca_flush_again_wq : kernel_wq,
				   &qp->flush_again, delay);
}

/* --- life ------------------------------------------------------------------- */

/**
 * rhca_flush_qp_reset - Let new posts be flushed without delay again
 * @qp: a QP in RESET
 */
void rhca_flush_qp_reset(struct rhca_sw_qp *qp)
{
	u32 most = qp->base.sq.ring.mask;

	if (!qp->base.srq)
		most += qp->base.rq.ring.mask;
	atomic_set(&qp->flush_credit, most);
	/* The work may still be running, see next_delay() */
	WRITE_ONCE(qp->flush_delay, shortest_delay(qp));
}

/**
 * rhca_flush_qp_init - Initialise flushing
 * @qp: a QP that cannot be found yet
 */
void rhca_flush_qp_init(struct rhca_sw_qp *qp)
{
	INIT_WORK(&qp->flush_first, flush_first);
	INIT_DELAYED_WORK(&qp->flush_again, flush_again);
	rhca_flush_qp_reset(qp);
}

/**
 * rhca_flush_qp_stop - Cancel pending flushes and wait for running ones
 * @qp: a QP in RESET, in which nothing is flushed
 *
 * Context: may sleep.
 */
void rhca_flush_qp_stop(struct rhca_sw_qp *qp)
{
	cancel_work_sync(&qp->flush_first);
	cancel_delayed_work_sync(&qp->flush_again);
}

/**
 * rhca_flush_init - Create the workqueues, before the first QP
 *
 * Return: 0 or -ENOMEM.
 */
int rhca_flush_init(void)
{
	first_wq = alloc_workqueue("roce_hca_flush", WQ_UNBOUND, 1);
	rhca_flush_again_wq = alloc_workqueue("roce_hca_late_flush", WQ_UNBOUND, 1);
	/* MEM_RECLAIM: nvme's work that destroys QPs is, and may have to wait for ours */
	kernel_wq = alloc_workqueue("roce_hca_kernel_flush", WQ_UNBOUND | WQ_MEM_RECLAIM, 1);
	if (first_wq && rhca_flush_again_wq && kernel_wq)
		return 0;
	rhca_flush_exit();
	return -ENOMEM;
}

static void destroy(struct workqueue_struct *wq)
{
	if (wq)
		destroy_workqueue(wq);
}

/* After the last QP is gone, or when only some could be created */
void rhca_flush_exit(void)
{
	destroy(kernel_wq);
	destroy(rhca_flush_again_wq);
	destroy(first_wq);
}
