// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells. A user who posts one request after the other rings for each, and each
 * would be a packet alone. While the rings follow each other closely, they are left
 * to a softirq, which finds several requests and sends them as one block, and which
 * sends for several QPs at once. The first ring after a pause is obeyed at once, so
 * whoever waits for answers loses nothing.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <rhca/compat.h>

#include "sw/tx/doorbell.h"
#include "sw/qp/flush.h"
#include "sw/qp/qp.h"
#include "sw/tx/requester.h"
#include "sw/qp/shared.h"

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
 * Packets that one run sends before they are received, which have to fit into
 * net.core.netdev_max_backlog (1000) where the receiver is on this host and takes
 * them singly.
 */
#define RUN_PACKETS	512

/*
 * What has been posted meanwhile is worth more than the timer's interrupt, and
 * less than a round trip has passed.
 */
#define TIMER_NS	4000

/**
 * struct doorbells - Those of kernel users, rung on one processor
 * @rung_at: the last time, in ns of the monotonic clock
 * @num_waiting: QPs that have been put into @waiting since @task ran last
 * @last_served: QPs that the last run has sent for
 * @waiting: QPs, each with a reference, newest first
 * @next: QPs that @task has taken from there, oldest first; its own
 * @task: sends for them
 */
struct doorbells {
	u64 rung_at;
	u32 num_waiting;
	u32 last_served;
	struct llist_head waiting;
	struct llist_node *next;
	struct tasklet_struct task;
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
		test_bit(RHCA_TIMER_WILL_SEND, &qp->doorbell.flags) :
		raw_cpu_read(doorbells.num_waiting);
}

/*
 * Whoever has posted to many QPs comes back when all of that is done, and posts as
 * many again: by then the time has passed that they take.
 */
static u32 rings_at_once(const struct rhca_sw_qp *qp)
{
	return qp->base.core.is_user ? 1 :
		clamp(raw_cpu_read(doorbells.last_served), 1U, MOST_AT_ONCE);
}

/*
 * A kernel user that has seen all completions there are is not in the middle of a
 * burst: somebody may wait for what he posts now.
 */
static bool begins_anew(const struct rhca_sw_qp *qp)
{
	if (qp->base.core.is_user || !raw_cpu_read(rhca_cq_emptied))
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
	if (now - READ_ONCE(*last_ring(qp)) > (u64)gap_ns * rings_at_once(qp))
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
	       test_bit(RHCA_WAITS_FOR_RUN, &qp->doorbell.flags) ||
	       raw_cpu_read(doorbells.num_waiting) < MAX_WAITING_QPS;
}

/* Pending softirqs run, where they may */
static void let_softirqs_run(void)
{
	local_bh_disable();
	local_bh_enable();
}

/**
 * rhca_doorbell_leave_to_run - Have the run send, for all QPs that wait on this processor
 * @qp: a kernel user's QP, which the caller has a reference to or posts to
 *
 * They are counted on the processor that the run is due on: others_wait() takes the
 * count for a proof that it comes.
 *
 * Context: any but hardirq; send.lock may be held.
 * Return: false when the QP is about to go.
 */
bool rhca_doorbell_leave_to_run(struct rhca_sw_qp *qp)
{
	struct doorbells *bells;
	bool left = true, many = false;

	preempt_disable();
	bells = this_cpu_ptr(&doorbells);
	if (test_and_set_bit(RHCA_WAITS_FOR_RUN, &qp->doorbell.flags))
		goto out;
	left = rhca_qp_get_handle(qp->base.handle);
	if (!left) {
		clear_bit(RHCA_WAITS_FOR_RUN, &qp->doorbell.flags);
		goto out;
	}
	WRITE_ONCE(qp->doorbell.cpu, smp_processor_id());
	many = this_cpu_inc_return(doorbells.num_waiting) >= MANY_WAITING_QPS;
	if (llist_add(&qp->doorbell.waits, &bells->waiting))
		tasklet_schedule(&bells->task);
out:
	preempt_enable();
	if (many)
		let_softirqs_run();
	return left;
}

static void leave_to_softirq(struct rhca_sw_qp *qp)
{
	/* At the end of a system call a tasklet would run at once */
	if (!qp->base.core.is_user) {
		rhca_prefetch_half(&qp->send);
		prefetch(rcu_access_pointer(qp->base.path));
		/* It does not fail: who posts to a QP does not destroy it meanwhile */
		WARN_ON_ONCE(!rhca_doorbell_leave_to_run(qp));
	} else if (!test_and_set_bit(RHCA_TIMER_WILL_SEND, &qp->doorbell.flags)) {
		hrtimer_start(&qp->doorbell_timer, ns_to_ktime(TIMER_NS),
			      HRTIMER_MODE_REL_SOFT);
	}
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

	/* Whoever sends asks again */
	if (!gap_ns || !rhca_qp_half_can(&qp->base, RHCA_QP_TRANSMIT))
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
 * rhca_doorbell_is_elsewhere - Will another processor send for the QP?
 * @qp: the QP
 *
 * Context: send.lock held. Who sends takes it, too, so that comes later.
 */
bool rhca_doorbell_is_elsewhere(const struct rhca_sw_qp *qp)
{
	unsigned long flags = READ_ONCE(qp->doorbell.flags);

	lockdep_assert_held(&qp->send.lock);
	return (flags & BIT(RHCA_SENDER_WAITS)) ||
	       ((flags & BIT(RHCA_WAITS_FOR_RUN)) &&
		READ_ONCE(qp->doorbell.cpu) != raw_smp_processor_id());
}

/* --- runs ------------------------------------------------------------------ */

static void prefetch_waiting(const struct llist_node *node)
{
	const struct rhca_sw_qp *qp;

	if (!node)
		return;
	qp = container_of(node, struct rhca_sw_qp, doorbell.waits);
	prefetch(&qp->base.port);
	prefetch(&qp->base.sq);
	rhca_prefetch_half(&qp->send);
}

static struct rhca_sw_qp *next_waiting(struct doorbells *bells)
{
	struct llist_node *node;

	if (!bells->next)
		bells->next = llist_reverse_order(llist_del_all(&bells->waiting));
	node = bells->next;
	if (!node)
		return NULL;
	bells->next = node->next;
	prefetch_waiting(bells->next);
	return container_of(node, struct rhca_sw_qp, doorbell.waits);
}

static bool others_follow(const struct doorbells *bells)
{
	return bells->next || !llist_empty(&bells->waiting);
}

/* Returns how many packets it has sent */
static u32 serve(struct rhca_sw_qp *qp, struct rhca_shared_block *shared,
		 const struct doorbells *bells)
{
	struct rhca_batch batch = {};

	/* Who rings from here on puts it into a list again. Orders the queue's reading */
	test_and_clear_bit(RHCA_WAITS_FOR_RUN, &qp->doorbell.flags);
	if (rhca_shared_packets(shared) || others_follow(bells))
		batch.shared = shared;
	rhca_requester_lock(qp);
	rhca_requester_send(qp, &batch);
	spin_unlock(&qp->send.lock);
	rhca_batch_end(qp, &batch);
	if (!batch.in_shared)
		rhca_qp_put(&qp->base);
	return batch.sent;
}

/*
 * What was posted while their packet waited in the block may go now. Returns how many
 * packets that were.
 */
static u32 release_left(struct rhca_shared_block *shared)
{
	struct rhca_batch batch;
	struct rhca_sw_qp *qp;
	u32 sent = 0;

	while ((qp = rhca_shared_next_left(shared))) {
		if (!rhca_requester_shared_done(qp)) {
			batch = (struct rhca_batch){};
			spin_lock(&qp->send.lock);
			rhca_requester_shared_left(qp, &batch);
			spin_unlock(&qp->send.lock);
			rhca_batch_end(qp, &batch);
			sent += batch.sent;
		}
		rhca_qp_put(&qp->base);
	}
	return sent;
}

/*
 * A run: for all QPs that wait. The packets of those that have only one share
 * blocks.
 */
static void send_waiting(struct tasklet_struct *task)
{
	struct doorbells *bells = container_of(task, struct doorbells, task);
	struct rhca_shared_block shared __uninitialized;
	struct rhca_sw_qp *qp;
	u32 sent = 0, served = 0;

	WRITE_ONCE(bells->num_waiting, 0);
	rhca_shared_begin(&shared);
	rcu_read_lock();
	while (sent < RUN_PACKETS && (qp = next_waiting(bells))) {
		sent += max(serve(qp, &shared, bells), 1U);
		served++;
		sent += release_left(&shared);
	}
	rhca_shared_send(&shared);
	release_left(&shared);
	rcu_read_unlock();
	WRITE_ONCE(bells->last_served, served);
	if (others_follow(bells))
		tasklet_schedule(task);
	else	/* who posted meanwhile has been served */
		WRITE_ONCE(bells->num_waiting, 0);
}

/*
 * Not by an initializer: 6.12 and older do not relocate the per-CPU data of a module,
 * so an address in it is 0.
 */
void rhca_doorbells_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_setup(&per_cpu_ptr(&doorbells, cpu)->task, send_waiting);
}

/* No QP exists any more */
void rhca_doorbells_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&doorbells, cpu)->task);
}

/* --- a process's timer ----------------------------------------------------- */

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct rhca_sw_qp *qp = container_of(timer, struct rhca_sw_qp,
					     doorbell_timer);
	struct rhca_batch batch = {};

	/* Who rings from here on starts the timer again */
	clear_bit(RHCA_TIMER_WILL_SEND, &qp->doorbell.flags);
	smp_mb__after_atomic();		/* and then the queue is read */
	rcu_read_lock();
	rhca_requester_lock(qp);
	rhca_requester_send(qp, &batch);
	spin_unlock(&qp->send.lock);
	rcu_read_unlock();
	rhca_batch_end(qp, &batch);
	return HRTIMER_NORESTART;
}

void rhca_doorbell_init(struct rhca_sw_qp *qp)
{
	rhca_hrtimer_setup(&qp->doorbell_timer, timer_fired);
}

/**
 * rhca_doorbell_exit - Stop the timer for good
 * @qp: a QP in RESET that nobody posts to
 */
void rhca_doorbell_exit(struct rhca_sw_qp *qp)
{
	hrtimer_cancel(&qp->doorbell_timer);
}
