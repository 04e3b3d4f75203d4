// SPDX-License-Identifier: GPL-2.0
/*
 * Post delay. A user that posts one request after the other rings the doorbell for each, and each
 * would become a packet of its own. Posts in quick succession are left to a softirq, which sends
 * several requests, also of several QPs, as one block. The first doorbell after a pause sends at
 * once, so a ping-pong is not delayed.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <rhca/compat.h>

#include "sw/tx/post_delay.h"
#include "sw/qp/turn_sched.h"
#include "sw/verbs/section.h"

/* Longer than users take between two posts */
unsigned int rhca_doorbell_gap_ns = 1000;
module_param_named(doorbell_gap_ns, rhca_doorbell_gap_ns, uint, 0644);
MODULE_PARM_DESC(doorbell_gap_ns, "Requests that are posted within this time of each other are sent together, 0: each at once (default: 1000)");
EXPORT_SYMBOL_IF_KUNIT(rhca_doorbell_gap_ns);

#define MAX_WAITING	32	/* requests: half a block */

/* QPs with pending doorbells on one CPU: enough to fill a block, and the limit */
#define MANY_WAITING_QPS	RHCA_BLOCK_PACKETS
#define MAX_WAITING_QPS		(2 * RHCA_BLOCK_PACKETS)

/* Larger bursts do not extend the gap further, see gap_factor() */
#define MAX_GAP_FACTOR		32U

/*
 * A user with many QPs posts to one after the other, and one softirq sends for all: use the CPU's
 * time stamp. Each QP of a process has its own timer, which costs more than sending one request, so
 * only its own doorbells count. Migration to another CPU does no harm.
 */
static u64 *last_post(struct rhca_sw_qp *qp)
{
	return qp->base.is_user ? &qp->posted_at :
				       &raw_cpu_ptr(&rhca_turn_lists)->posted_at;
}

/*
 * Are posts pending already? The softirq runs at the latest when the user waits for a completion,
 * so the clock, which may be slow to read, is not needed.
 */
static bool others_wait(const struct rhca_sw_qp *qp)
{
	return qp->base.is_user ?
		rhca_turn_pause(rhca_turn_word(&qp->send.turn)) ==
			RHCA_PAUSE_POST_DELAY :
		raw_cpu_read(rhca_turn_lists.num_posts);
}

/*
 * A user that posted to many QPs posts to as many again when all are done: multiply the gap, to
 * allow for the time that takes.
 */
static u32 gap_factor(const struct rhca_sw_qp *qp)
{
	return qp->base.is_user ? 1 :
		clamp(raw_cpu_read(rhca_turn_lists.last_served), 1U, MAX_GAP_FACTOR);
}

/* A kernel user that has polled all completions may wait for the next one: do not delay it */
static bool cq_was_emptied(const struct rhca_sw_qp *qp)
{
	if (qp->base.is_user || !raw_cpu_read(rhca_cq_emptied))
		return false;
	raw_cpu_write(rhca_cq_emptied, false);
	return true;
}

static bool follows_closely(struct rhca_sw_qp *qp, u32 gap_ns)
{
	u64 now;

	if (cq_was_emptied(qp))
		return false;
	now = ktime_get_mono_fast_ns();
	if (now - READ_ONCE(*last_post(qp)) > (u64)gap_ns * gap_factor(qp))
		return false;
	WRITE_ONCE(*last_post(qp), now);
	return true;
}

/* Requests not yet started; approximate, since no lock is held */
static u32 num_waiting(const struct rhca_sw_qp *qp)
{
	const struct rhca_sq *sq = &qp->base.sq;
	/* It changes under send.lock: any value will do */
	u32 next = data_race(READ_ONCE(qp->send.next));

	if (!qp->base.is_user)
		return READ_ONCE(sq->tail) - next;
	/* The same holds for these two */
	return data_race(rhca_ring_count(&sq->ring) + READ_ONCE(sq->head)) - next;
}

/* Is there room in this CPU's list? */
static bool may_join(const struct rhca_sw_qp *qp)
{
	return qp->base.is_user ||
	       (rhca_turn_word(&qp->send.turn) & RHCA_TURN_LISTED) ||
	       raw_cpu_read(rhca_turn_lists.num_posts) < MAX_WAITING_QPS;
}

/*
 * May this doorbell wait? Any context but hardirq. The caller calls rhca_post_delay_sent() after
 * RHCA_KICK_TAKE, rhca_post_delay_queued() after RHCA_KICK_QUEUE.
 */
enum rhca_kick_how rhca_post_delay_how(struct rhca_sw_qp *qp)
{
	u32 gap_ns = READ_ONCE(rhca_doorbell_gap_ns);

	if (!gap_ns || (!others_wait(qp) && !follows_closely(qp, gap_ns)) ||
	    num_waiting(qp) >= MAX_WAITING || !may_join(qp))
		return RHCA_KICK_TAKE;
	/* A tasklet would run at the end of the system call, so use a timer */
	if (qp->base.is_user)
		return RHCA_KICK_DELAY;
	rhca_prefetch_half(&qp->send.turn.word);
	prefetch(rcu_access_pointer(qp->base.path));
	return RHCA_KICK_QUEUE;
}

/* The caller has sent what was posted */
void rhca_post_delay_sent(struct rhca_sw_qp *qp)
{
	if (READ_ONCE(rhca_doorbell_gap_ns))
		WRITE_ONCE(*last_post(qp), ktime_get_mono_fast_ns());
}

/* Left to the tasklet, which runs now if it has enough to do. Any context that allows softirqs. */
void rhca_post_delay_queued(struct rhca_sw_qp *qp)
{
	if (!qp->base.is_user &&
	    raw_cpu_read(rhca_turn_lists.num_posts) >= MANY_WAITING_QPS)
		rhca_section_lend();
}
