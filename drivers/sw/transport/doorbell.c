// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells. A user who posts one request after the other rings for each, and each
 * would be a packet alone. While the rings follow each other closely, they are left
 * to a softirq, which finds several requests and sends them as one block, and which
 * sends for several QPs at once. The first
 * ring after a pause is obeyed at once, so whoever waits for answers loses nothing.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <rhca/compat.h>

#include "sw/transport/doorbell.h"
#include "sw/transport/qp.h"
#include "sw/transport/requester.h"

/* What a kernel user or a process does between two requests takes less */
unsigned int rhca_doorbell_gap_ns = 1000;
module_param_named(doorbell_gap_ns, rhca_doorbell_gap_ns, uint, 0644);
MODULE_PARM_DESC(doorbell_gap_ns, "Requests that are posted within this time of each other are sent together, 0: each at once (default: 1000)");
EXPORT_SYMBOL_IF_KUNIT(rhca_doorbell_gap_ns);

#define MAX_WAITING	32	/* requests: half a block of them */

/*
 * QPs whose doorbells wait on one processor. A softirq sends at most
 * RHCA_SEND_BUDGET packets of each before the packets are received, which have to
 * fit into net.core.netdev_max_backlog (1000) where the receiver is on this host.
 */
#define MAX_WAITING_QPS	8

/*
 * What has been posted meanwhile is worth more than the timer's interrupt, and
 * less than a round trip has passed.
 */
#define TIMER_NS	4000

#define TIMER_WILL_SEND	0

/**
 * struct doorbells - Those of kernel users, rung on one processor
 * @rung_at: the last time, in ns of the monotonic clock
 * @waiting_qps: QPs left to the softirq since it ran last
 */
struct doorbells {
	u64 rung_at;
	u32 waiting_qps;
};

static DEFINE_PER_CPU(struct doorbells, doorbells);

/*
 * Whoever has many QPs posts to one after the other, and these are as busy
 * together as one QP alone: one softirq sends for all of them. Each QP of a process
 * has a timer, which costs more than sending a single request: only its own
 * doorbell counts. Who has been moved to another processor meanwhile loses nothing.
 */
static u64 *last_ring(struct rhca_sw_qp *qp)
{
	return qp->base.core.is_user ? &qp->doorbell.rung_at :
				       &raw_cpu_ptr(&doorbells)->rung_at;
}

/*
 * Does something wait already? The softirq runs at the latest when whoever posts
 * waits for a completion, so he need not be quick, and the clock, which may be
 * slow to read, need not be asked.
 */
static bool others_wait(const struct rhca_sw_qp *qp)
{
	return qp->base.core.is_user ?
		test_bit(TIMER_WILL_SEND, &qp->doorbell.flags) :
		raw_cpu_read(doorbells.waiting_qps);
}

static bool follows_closely(struct rhca_sw_qp *qp, u32 gap_ns)
{
	u64 now = ktime_get_mono_fast_ns();

	if (now - READ_ONCE(*last_ring(qp)) > gap_ns)
		return false;
	WRITE_ONCE(*last_ring(qp), now);
	return true;
}

/* Requests that have not been begun; a little off, since no lock is held */
static u32 num_waiting(const struct rhca_sw_qp *qp)
{
	const struct rhca_sq *sq = &qp->base.sq;
	u32 begun = READ_ONCE(qp->send.next) - READ_ONCE(sq->head);

	if (qp->base.core.is_user)
		return rhca_ring_count(&sq->ring) - begun;
	return READ_ONCE(sq->tail) - READ_ONCE(sq->head) - begun;
}

/* Is there room among those that wait on this processor? */
static bool may_join(const struct rhca_sw_qp *qp)
{
	return qp->base.core.is_user ||
	       test_bit(TASKLET_STATE_SCHED, &qp->send.task.state) ||
	       raw_cpu_read(doorbells.waiting_qps) < MAX_WAITING_QPS;
}

/*
 * tasklet_schedule(), counted on the processor that it is due on: others_wait() takes
 * the count for a proof that a softirq comes.
 */
static void leave_to_tasklet(struct rhca_sw_qp *qp)
{
	struct tasklet_struct *task = &qp->send.task;

	rhca_prefetch_half(&qp->send);
	prefetch(rcu_access_pointer(qp->base.path));
	preempt_disable();
	if (!test_and_set_bit(TASKLET_STATE_SCHED, &task->state)) {
		this_cpu_inc(doorbells.waiting_qps);
		__tasklet_schedule(task);
	}
	preempt_enable();
}

static void leave_to_softirq(struct rhca_sw_qp *qp)
{
	/* At the end of a system call a tasklet would run at once */
	if (!qp->base.core.is_user)
		leave_to_tasklet(qp);
	else if (!test_and_set_bit(TIMER_WILL_SEND, &qp->doorbell.flags))
		hrtimer_start(&qp->doorbell.timer, ns_to_ktime(TIMER_NS),
			      HRTIMER_MODE_REL_SOFT);
}

/**
 * rhca_doorbell_waits - The doorbell rings: may it wait?
 * @qp: the QP, with new work in its send queue
 *
 * Context: any but hardirq.
 * Return: true when a softirq will do it; else the caller does, and then calls
 * rhca_doorbell_done().
 */
bool rhca_doorbell_waits(struct rhca_sw_qp *qp)
{
	u32 gap_ns = READ_ONCE(rhca_doorbell_gap_ns);

	if (!gap_ns || !rhca_qp_can(&qp->base, RHCA_QP_TRANSMIT))
		return false;
	if ((!others_wait(qp) && !follows_closely(qp, gap_ns)) ||
	    num_waiting(qp) >= MAX_WAITING || !may_join(qp))
		return false;
	leave_to_softirq(qp);
	return true;
}

/**
 * rhca_doorbell_done - The caller has done what the doorbell rang for
 * @qp: the QP
 */
void rhca_doorbell_done(struct rhca_sw_qp *qp)
{
	if (READ_ONCE(rhca_doorbell_gap_ns))
		WRITE_ONCE(*last_ring(qp), ktime_get_mono_fast_ns());
}

/**
 * rhca_doorbell_served - The softirq has come to what waits on this processor
 *
 * Context: softirq.
 */
void rhca_doorbell_served(void)
{
	this_cpu_write(doorbells.waiting_qps, 0);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct rhca_sw_qp *qp = container_of(timer, struct rhca_sw_qp,
					     doorbell.timer);
	struct rhca_batch batch = {};

	/* Who rings from here on starts the timer again */
	clear_bit(TIMER_WILL_SEND, &qp->doorbell.flags);
	smp_mb__after_atomic();		/* and then the queue is read */
	rcu_read_lock();
	spin_lock(&qp->send.lock);
	rhca_requester_send(qp, &batch);
	spin_unlock(&qp->send.lock);
	rcu_read_unlock();
	rhca_batch_end(qp, &batch);
	return HRTIMER_NORESTART;
}

void rhca_doorbell_init(struct rhca_sw_qp *qp)
{
	rhca_hrtimer_setup(&qp->doorbell.timer, timer_fired);
}

/**
 * rhca_doorbell_exit - Stop the timer for good
 * @qp: a QP in RESET that nobody posts to
 */
void rhca_doorbell_exit(struct rhca_sw_qp *qp)
{
	hrtimer_cancel(&qp->doorbell.timer);
}
