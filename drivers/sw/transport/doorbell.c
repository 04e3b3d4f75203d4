// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells. A user who posts one request after the other rings for each, and each
 * would be a packet alone. While the rings follow each other closely, they are left
 * to a softirq, which finds several requests and sends them as one block. The first
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
 * What has been posted meanwhile is worth more than the timer's interrupt, and
 * less than a round trip has passed.
 */
#define TIMER_NS	4000

#define TIMER_WILL_SEND	0

/* Requests that have not been begun; a little off, since no lock is held */
static u32 num_waiting(const struct rhca_sw_qp *qp)
{
	const struct rhca_sq *sq = &qp->base.sq;
	u32 begun = READ_ONCE(qp->send.next) - READ_ONCE(sq->head);

	if (qp->base.core.is_user)
		return rhca_ring_filled(&sq->ring) - begun;
	return READ_ONCE(sq->tail) - READ_ONCE(sq->head) - begun;
}

static void leave_to_softirq(struct rhca_sw_qp *qp)
{
	/* At the end of a system call a tasklet would run at once */
	if (!qp->base.core.is_user)
		tasklet_schedule(&qp->send.task);
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
	u64 now;

	if (!gap_ns || !rhca_qp_can(&qp->base, RHCA_QP_TRANSMIT))
		return false;
	now = ktime_get_mono_fast_ns();
	if (now - READ_ONCE(qp->doorbell.rung_at) > gap_ns ||
	    num_waiting(qp) >= MAX_WAITING)
		return false;
	WRITE_ONCE(qp->doorbell.rung_at, now);
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
		WRITE_ONCE(qp->doorbell.rung_at, ktime_get_mono_fast_ns());
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
