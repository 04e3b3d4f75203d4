// SPDX-License-Identifier: GPL-2.0
/* Runs turns; turn.h defines the state machine. */
#include <linux/ktime.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/qp/turn_sched.h"
#include "sw/qp/shared.h"
#include "sw/verbs/section.h"

/* Requests posted in this time outweigh the cost of the timer interrupt */
#define POST_DELAY_NS	4000

DEFINE_PER_CPU(struct rhca_turn_list, rhca_turn_lists);
DEFINE_PER_CPU(struct rhca_turn_list, rhca_own_turns);

/* --- the word ----------------------------------------------------------------- */

/* A process is spared the data transfers of others, not its own */
static struct rhca_turn_list *list_of(const struct rhca_turn *turn)
{
	return this_cpu_ptr(rhca_section_has_borrowed() && rhca_is_of_current(&turn->qp->base) ?
			    &rhca_own_turns : &rhca_turn_lists);
}

/* Add to this CPU's list, with a reference. Without one the QP is being destroyed: ignore it */
static void put_into_list(struct rhca_turn *turn)
{
	struct rhca_verbs_qp *qp = &turn->qp->base;
	struct rhca_turn_list *list;
	int word;

	if (!rhca_qp_get_handle(qp->handle)) {
		word = rhca_turn_word(turn);
		while (!atomic_try_cmpxchg(&turn->word, &word,
					   rhca_turn_drop(word).word))
			;
		return;
	}
	preempt_disable();
	list = list_of(turn);
	WRITE_ONCE(turn->cpu, smp_processor_id());
	if (turn == &turn->qp->send.turn && !qp->is_user)
		this_cpu_inc(rhca_turn_lists.num_posts);
	if (llist_add(&turn->listed, &list->listed))
		tasklet_schedule(&list->task);
	preempt_enable();
}

/*
 * A pending timer is a post delay's unless it expires at not_before: then it belongs to an ended
 * pause, fired early and re-armed itself, which cannot be cancelled
 */
static bool post_delay_pends(struct rhca_turn *turn)
{
	if (!hrtimer_is_queued(&turn->timer))
		return false;
	/* A race with re-arming is harmless: arm_again() looks once more */
	return data_race(hrtimer_get_expires(&turn->timer)) !=
	       ns_to_ktime(READ_ONCE(turn->not_before));
}

/*
 * For a post delay a pending timer of an earlier one will do, as it expires soon enough.
 * timer_fired() reads the word after the timer is no longer pending.
 */
static void arm_timer(struct rhca_turn *turn, u32 word)
{
	if (rhca_turn_pause(word) != RHCA_PAUSE_POST_DELAY)
		hrtimer_start(&turn->timer,
			      ns_to_ktime(READ_ONCE(turn->not_before)),
			      HRTIMER_MODE_ABS_PINNED_SOFT);
	else if (!post_delay_pends(turn))
		hrtimer_start(&turn->timer, ns_to_ktime(POST_DELAY_NS),
			      HRTIMER_MODE_REL_PINNED_SOFT);
}

static noinline void leave_to_others(struct rhca_turn *turn, struct rhca_turn_step step)
{
	if (step.act == RHCA_ACT_LIST)
		put_into_list(turn);
	else
		arm_timer(turn, step.word);
}

/* Returns whether the caller owns the turn */
static __always_inline bool act(struct rhca_turn *turn, struct rhca_turn_step step)
{
	if (step.act == RHCA_ACT_LIST || step.act == RHCA_ACT_ARM)
		leave_to_others(turn, step);
	return step.act == RHCA_ACT_RUN;
}

/* rhca/trace.h has names for all of them */
static_assert(RHCA_NUM_TURN_STATES == 5);
static_assert(RHCA_NUM_PAUSES == 7);
static_assert(RHCA_NUM_KICKS == 7);

/* @kick: not in @to if it started a turn */
static __always_inline void note(const struct rhca_turn *turn, u32 from, u32 to, u32 kick)
{
	if (trace_rhca_turn_enabled())
		trace_rhca_turn(turn->qp->base.number,
				turn == &turn->qp->send.turn, from, to,
				u32_get_bits(to | kick, RHCA_TURN_KICKS));
}

static bool is_long_pause(u32 word)
{
	return rhca_turn_state(word) == RHCA_TURN_TIMED &&
	       rhca_turn_pause(word) != RHCA_PAUSE_POST_DELAY;
}

/**
 * rhca_turn_start - Kick a half: there may be something to send
 * @turn: of the half
 * @reason: why
 * @how: where to run the turn
 *
 * A full barrier: the resulting turn sees what caused the kick.
 *
 * Context: any; bottom halves off if the turn may run here. The half's lock may be held.
 * Return: true if the caller now owns the turn and must run it.
 */
bool rhca_turn_start(struct rhca_turn *turn, enum rhca_kick reason,
		     enum rhca_kick_how how)
{
	struct rhca_turn_step step;
	int word = rhca_turn_word(turn);

	do {
		step = rhca_turn_kick(word, reason, how);
	} while (!atomic_try_cmpxchg(&turn->word, &word, step.word));
	note(turn, word, step.word, RHCA_TURN_KICK(reason));
	/* Otherwise a post delay would last as long */
	if (is_long_pause(word) && !is_long_pause(step.word))
		hrtimer_try_to_cancel(&turn->timer);
	return act(turn, step);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_turn_start);

/**
 * rhca_turn_finish - End the turn that the caller owns
 * @turn: of the half
 * @how: in which way
 * @pause: for RHCA_END_PAUSE: the reason to wait until turn->not_before
 *
 * Context: the half's lock held, bottom halves off.
 */
void rhca_turn_finish(struct rhca_turn *turn, enum rhca_turn_end how,
		      enum rhca_pause pause)
{
	struct rhca_turn_step step;
	int word = rhca_turn_word(turn);

	do {
		step = rhca_turn_end(word, how, pause);
	} while (!atomic_try_cmpxchg(&turn->word, &word, step.word));
	note(turn, word, step.word, 0);
	act(turn, step);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_turn_finish);

/**
 * rhca_turn_call_tasklet - Have a tasklet process send.deferred
 * @turn: of a half of the QP
 *
 * Context: any.
 */
void rhca_turn_call_tasklet(struct rhca_turn *turn)
{
	struct rhca_turn_step step;
	int word = rhca_turn_word(turn);

	do {
		step = rhca_turn_visit(word);
	} while (!atomic_try_cmpxchg(&turn->word, &word, step.word));
	act(turn, step);
}

/* --- the tasklet of a CPU ----------------------------------------------------- */

/* Most are requesters. For a responder this prefetches other lines, which is harmless */
static void prefetch_next(const struct llist_node *node)
{
	const struct rhca_sw_qp *qp;

	if (!node)
		return;
	qp = container_of(node, struct rhca_sw_qp, send.turn.listed);
	rhca_prefetch_qp(&qp->base, true);
}

static struct rhca_turn *next_listed(struct rhca_turn_list *list)
{
	struct llist_node *node;

	if (!list->next)
		list->next = llist_reverse_order(llist_del_all(&list->listed));
	node = list->next;
	if (!node)
		return NULL;
	list->next = node->next;
	prefetch_next(list->next);
	return container_of(node, struct rhca_turn, listed);
}

static bool others_follow(const struct rhca_turn_list *list)
{
	return list->next || !llist_empty(&list->listed);
}

/* From here on the half may be listed again. A barrier before the turn's reads */
static bool take_from_list(struct rhca_turn *turn)
{
	struct rhca_turn_step step;
	int word = rhca_turn_word(turn);

	do {
		step = rhca_turn_pop(word);
	} while (!atomic_try_cmpxchg(&turn->word, &word, step.word));
	note(turn, word, step.word, 0);
	return step.act == RHCA_ACT_RUN;
}

static void serve(struct rhca_turn *turn, struct rhca_shared_block *shared,
		  const struct rhca_turn_list *list)
{
	struct rhca_sw_qp *qp = turn->qp;
	struct rhca_batch batch = {};

	if (take_from_list(turn)) {
		if (rhca_shared_packets(shared) || others_follow(list))
			batch.shared = shared;
		turn->ops->run(qp, &batch);
	}
	turn->ops->after(qp, &batch);
	if (!batch.in_shared)
		rhca_qp_put(&qp->base);
	if (!batch.sent)	/* it took time nevertheless */
		rhca_section_use(1, 0);
}

/* The longest packet. Stop unless one fits: a turn that cannot send would be queued again */
#define MAX_PACKET_BYTES	4096

static bool section_continues(void)
{
	struct rhca_allowance left = rhca_section_left();

	return rhca_allows(&left, MAX_PACKET_BYTES);
}

static bool block_left(struct rhca_turn *turn, bool refused, bool here)
{
	enum rhca_kick_how how = refused || here ? RHCA_KICK_RUN : RHCA_KICK_QUEUE;
	struct rhca_turn_step step;
	int word = rhca_turn_word(turn);

	do {
		step = rhca_turn_block_left(word, refused, how);
	} while (!atomic_try_cmpxchg(&turn->word, &word, step.word));
	note(turn, word, step.word, 0);
	return act(turn, step);
}

/* Requests posted while LENT are sent now, or later if the section's budget is used up */
static void release_left(struct rhca_shared_block *shared)
{
	struct rhca_batch batch;
	struct rhca_sw_qp *qp;

	while ((qp = rhca_shared_next_left(shared))) {
		if (block_left(&qp->send.turn, qp->send.shared_refused,
			       section_continues())) {
			batch = (struct rhca_batch){};
			qp->send.turn.ops->run(qp, &batch);
			qp->send.turn.ops->after(qp, &batch);
		}
		rhca_qp_put(&qp->base);
	}
}

/* Includes those that posted meanwhile */
static void all_served(struct rhca_turn_list *list)
{
	WRITE_ONCE(list->last_served, list->served);
	list->served = 0;
	WRITE_ONCE(list->num_posts, 0);
}

/* Another process may run by now than the one whose it is: then it waits with the others */
static bool waits_with_others(struct rhca_turn *turn)
{
	struct rhca_turn_list *list = this_cpu_ptr(&rhca_turn_lists);

	if (rhca_section_may_borrow() || rhca_is_of_current(&turn->qp->base))
		return false;
	if (llist_add(&turn->listed, &list->listed))
		tasklet_schedule(&list->task);
	return true;
}

/* QPs with only one packet to send share blocks */
static void run_listed(struct tasklet_struct *task)
{
	struct rhca_turn_list *list = container_of(task, struct rhca_turn_list, task);
	bool own = list == this_cpu_ptr(&rhca_own_turns);
	struct rhca_shared_block shared __uninitialized;
	bool begun = rhca_section_begin();
	struct rhca_turn *turn;

	/* Scheduled in vain a few times, it is left to ksoftirqd */
	if (!own && !rhca_section_may_borrow()) {
		rhca_section_end(begun);
		tasklet_schedule(task);
		return;
	}
	if (!list->next)	/* otherwise some of them have yet to run */
		WRITE_ONCE(list->num_posts, 0);
	list->answered = 0;
	rhca_shared_begin(&shared);
	rcu_read_lock();
	while (section_continues() && (turn = next_listed(list))) {
		if (own && waits_with_others(turn))
			continue;
		serve(turn, &shared, list);
		list->served++;
		release_left(&shared);
		if (!begun)	/* another thread's, which counts nothing of this: section.h */
			break;
	}
	rhca_shared_send(&shared);
	release_left(&shared);
	rcu_read_unlock();
	rhca_section_end(begun);
	if (others_follow(list))
		tasklet_schedule(task);
	else
		all_served(list);
}

/* Up to 6.12 per-CPU data of modules is not relocated: an address in an initializer is 0 */
void rhca_turn_lists_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		tasklet_setup(&per_cpu_ptr(&rhca_turn_lists, cpu)->task, run_listed);
		tasklet_setup(&per_cpu_ptr(&rhca_own_turns, cpu)->task, run_listed);
	}
}

/* After the last QP is gone */
void rhca_turn_lists_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		tasklet_kill(&per_cpu_ptr(&rhca_turn_lists, cpu)->task);
		tasklet_kill(&per_cpu_ptr(&rhca_own_turns, cpu)->task);
	}
}

/* --- the timer ---------------------------------------------------------------- */

/* The timer may be an earlier pause's and fire too early */
static bool is_early(const struct rhca_turn *turn, u32 word)
{
	return is_long_pause(word) && ktime_get_ns() < READ_ONCE(turn->not_before);
}

/*
 * Another CPU may meanwhile have ended the pause and started a post delay, whose timer this moves:
 * then arm it once more
 */
static void arm_again(struct rhca_turn *turn, u32 word)
{
	arm_timer(turn, word);
	/* A CPU that started a post delay and saw the timer pending has stored its word */
	smp_mb();
	word = rhca_turn_word(turn);
	if (rhca_turn_pause(word) == RHCA_PAUSE_POST_DELAY)
		arm_timer(turn, word);
}

/* A peer that posts no receives may demand a pause as short as 10 us, for ever */
static enum rhca_kick_how how_of_timer(const struct rhca_turn *turn, u32 word)
{
	return rhca_turn_pause(word) == RHCA_PAUSE_RNR && !rhca_section_may_borrow() ?
		RHCA_KICK_QUEUE : turn->ops->timer;
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct rhca_turn *turn = container_of(timer, struct rhca_turn, timer);
	struct rhca_batch batch = {};
	struct rhca_turn_step step;
	bool begun;
	int word;

	/* A CPU that saw the timer pending has stored its word, see arm_timer() */
	smp_mb();
	word = rhca_turn_word(turn);
	do {
		if (is_early(turn, word)) {
			arm_again(turn, word);
			return HRTIMER_NORESTART;
		}
		step = rhca_turn_timer(word, how_of_timer(turn, word));
	} while (!atomic_try_cmpxchg(&turn->word, &word, step.word));
	note(turn, word, step.word, 0);
	if (!act(turn, step))
		return HRTIMER_NORESTART;
	begun = rhca_section_begin();
	rcu_read_lock();
	turn->ops->run(turn->qp, &batch);
	rcu_read_unlock();
	rhca_section_end(begun);
	turn->ops->after(turn->qp, &batch);
	return HRTIMER_NORESTART;
}

/**
 * rhca_turn_init - Initialise a turn without an owner
 * @turn: of the half
 * @qp: a QP that cannot be found yet
 * @ops: the kind of half
 */
void rhca_turn_init(struct rhca_turn *turn, struct rhca_sw_qp *qp,
		    const struct rhca_turn_ops *ops)
{
	turn->qp = qp;
	turn->ops = ops;
	rhca_hrtimer_setup(&turn->timer, timer_fired);
}

/**
 * rhca_turn_exit - Prevent further turns and stop the timer
 * @turn: of a half
 * @lock: of the half: its last owner may be about to start the timer
 *
 * The QP has no reference left: a turn can only be owned by this timer, or by another of the QP
 * that holds the lock or is stopped later.
 *
 * Context: may sleep.
 */
void rhca_turn_exit(struct rhca_turn *turn, spinlock_t *lock)
{
	int word = rhca_turn_word(turn);

	while (!atomic_try_cmpxchg(&turn->word, &word, rhca_turn_die(word).word))
		;
	spin_lock_bh(lock);
	spin_unlock_bh(lock);
	hrtimer_cancel(&turn->timer);
}
