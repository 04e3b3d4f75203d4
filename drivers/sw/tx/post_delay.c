// SPDX-License-Identifier: GPL-2.0
/*
 * Post delay. Who posts one request after the other rings the doorbell for each, and each would
 * be a packet alone. Posts that follow each other closely are left to a softirq, which sends
 * several requests as one block, and for several QPs at once. The first doorbell after a pause
 * sends at once, so a ping-pong is not delayed.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <rhca/compat.h>

#include "sw/tx/post_delay.h"
#include "sw/qp/turn_sched.h"

/* What a kernel user or a process does between two requests takes less */
unsigned int rhca_doorbell_gap_ns = 1000;
module_param_named(doorbell_gap_ns, rhca_doorbell_gap_ns, uint, 0644);
MODULE_PARM_DESC(doorbell_gap_ns, "Requests that are posted within this time of each other are sent together, 0: each at once (default: 1000)");
EXPORT_SYMBOL_IF_KUNIT(rhca_doorbell_gap_ns);

#define MAX_WAITING	32	/* requests: half a block of them */

/* QPs whose doorbells wait on one processor: what a block of them may have, and more */
#define MANY_WAITING_QPS	RHCA_BLOCK_PACKETS
#define MAX_WAITING_QPS		(2 * RHCA_BLOCK_PACKETS)

/* A burst of more QPs is not waited for longer, see rings_at_once() */
#define MOST_AT_ONCE		32U

/*
 * Whoever has many QPs posts to one after the other, and these together are as busy as one: one
 * softirq sends for all. Each QP of a process has a timer, which costs more than to send one
 * request: only its own doorbell counts. Who changes processors meanwhile loses nothing.
 */
static u64 *last_post(struct rhca_sw_qp *qp)
{
	return qp->base.is_user ? &qp->posted_at :
				       &raw_cpu_ptr(&rhca_turn_lists)->posted_at;
}

/*
 * Does something wait already? The softirq runs at the latest when who posts waits for a
 * completion: the clock, which may be slow to read, need not be asked.
 */
static bool others_wait(const struct rhca_sw_qp *qp)
{
	return qp->base.is_user ?
		rhca_turn_pause(rhca_turn_word(&qp->send.turn)) ==
			RHCA_PAUSE_POST_DELAY :
		raw_cpu_read(rhca_turn_lists.num_posts);
}

/*
 * Whoever has posted to many QPs comes back when all of that is done, and posts as
 * many again: by then the time has passed that they take.
 */
static u32 rings_at_once(const struct rhca_sw_qp *qp)
{
	return qp->base.is_user ? 1 :
		clamp(raw_cpu_read(rhca_turn_lists.last_served), 1U, MOST_AT_ONCE);
}

/* A kernel user that has seen all completions is in no burst: he may wait for what he posts now */
static bool begins_anew(const struct rhca_sw_qp *qp)
{
	if (qp->base.is_user || !raw_cpu_read(rhca_cq_emptied))
		return false;
	raw_cpu_write(rhca_cq_emptied, false);
	return true;
}

static bool follows_closely(struct rhca_sw_qp *qp, u32 gap_ns)
{
	u64 now;

	if (begins_anew(qp))
		return false;
	now = ktime_get_mono_fast_ns();
	if (now - READ_ONCE(*last_post(qp)) > (u64)gap_ns * rings_at_once(qp))
		return false;
	WRITE_ONCE(*last_post(qp), now);
	return true;
}

/* Requests that have not been begun; a little off, since no lock is held */
static u32 num_waiting(const struct rhca_sw_qp *qp)
{
	const struct rhca_sq *sq = &qp->base.sq;
	/* It moves under send.lock: any of its values will do */
	u32 next = data_race(READ_ONCE(qp->send.next));

	if (!qp->base.is_user)
		return READ_ONCE(sq->tail) - next;
	/* So do these two, one after the other */
	return data_race(rhca_ring_count(&sq->ring) + READ_ONCE(sq->head)) - next;
}

/* Is there room among those that wait on this processor? */
static bool may_join(const struct rhca_sw_qp *qp)
{
	return qp->base.is_user ||
	       (rhca_turn_word(&qp->send.turn) & RHCA_TURN_LISTED) ||
	       raw_cpu_read(rhca_turn_lists.num_posts) < MAX_WAITING_QPS;
}

/*
 * The doorbell rings: may it wait? Any context but hardirq. After RHCA_KICK_TAKE follows
 * rhca_post_delay_sent(), after RHCA_KICK_QUEUE rhca_post_delay_queued().
 */
enum rhca_kick_how rhca_post_delay_how(struct rhca_sw_qp *qp)
{
	u32 gap_ns = READ_ONCE(rhca_doorbell_gap_ns);

	/* Whoever sends asks again */
	if (!gap_ns || !rhca_qp_half_can(&qp->base, RHCA_QP_TRANSMIT))
		return RHCA_KICK_TAKE;
	if ((!others_wait(qp) && !follows_closely(qp, gap_ns)) ||
	    num_waiting(qp) >= MAX_WAITING || !may_join(qp))
		return RHCA_KICK_TAKE;
	/* At the end of a system call a tasklet would run at once: a timer */
	if (qp->base.is_user)
		return RHCA_KICK_DELAY;
	rhca_prefetch_half(&qp->send.turn.word);
	prefetch(rcu_access_pointer(qp->base.path));
	return RHCA_KICK_QUEUE;
}

/* The caller has done what the doorbell rang for */
void rhca_post_delay_sent(struct rhca_sw_qp *qp)
{
	if (READ_ONCE(rhca_doorbell_gap_ns))
		WRITE_ONCE(*last_post(qp), ktime_get_mono_fast_ns());
}

/* The tasklet will: at once if it has enough to do. Any context in which softirqs may run. */
void rhca_post_delay_queued(struct rhca_sw_qp *qp)
{
	if (qp->base.is_user ||
	    raw_cpu_read(rhca_turn_lists.num_posts) < MANY_WAITING_QPS)
		return;
	local_bh_disable();
	local_bh_enable();
}
