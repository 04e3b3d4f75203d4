/* SPDX-License-Identifier: GPL-2.0 */
/* Runs turns. Each CPU has a list of waiting halves and a tasklet for them. */
#ifndef RHCA_SW_QP_TURN_SCHED_H
#define RHCA_SW_QP_TURN_SCHED_H

#include "sw/qp/qp.h"

/*
 * Response packets sent at once per tick for received requests: they must fit into
 * net.core.netdev_max_backlog (1000) if the receiver is on this host and takes them singly.
 */
#define RHCA_TICK_PACKETS	512

/* A kind of half */
struct rhca_turn_ops {
	/*
	 * Run a turn that the caller owns: takes the half's lock and ends the turn. Bottom halves
	 * off, RCU read side. Counts in batch->sent
	 */
	void (*run)(struct rhca_sw_qp *qp, struct rhca_batch *batch);
	/* Finish a batch and what was left to a tasklet; no lock held */
	void (*after)(struct rhca_sw_qp *qp, struct rhca_batch *batch);
	/* Flush a portion of its queue if the QP's state requires it; the half's lock held */
	void (*flush)(struct rhca_sw_qp *qp, struct rhca_batch *batch);
	enum rhca_kick_how timer;	/* where to run the turn after a pause */
};

/* Halves waiting on one CPU */
struct rhca_turn_list {
	u32 num_posts;			/* kernel users' send halves added since @task served */
	u32 served;			/* halves run since the list was last empty */
	u32 last_served;		/* @served when the list last became empty */
	u64 posted_at;			/* when a kernel user last posted here, monotonic ns */
	unsigned long answered_at;	/* tick that @answered is about, jiffies */
	u32 answered;			/* response packets sent at once in it, since @task ran */
	struct llist_head listed;	/* each with a reference to its QP, newest first */
	struct llist_node *next;	/* removed from there, oldest first; private to @task */
	struct tasklet_struct task;	/* runs them */
};

DECLARE_PER_CPU(struct rhca_turn_list, rhca_turn_lists);

/* Halves of the current process, once what others send is left to ksoftirqd */
DECLARE_PER_CPU(struct rhca_turn_list, rhca_own_turns);

void rhca_turn_init(struct rhca_turn *turn, struct rhca_sw_qp *qp,
		    const struct rhca_turn_ops *ops);
void rhca_turn_exit(struct rhca_turn *turn, spinlock_t *lock);
bool rhca_turn_start(struct rhca_turn *turn, enum rhca_kick reason,
		     enum rhca_kick_how how);
void rhca_turn_finish(struct rhca_turn *turn, enum rhca_turn_end how,
		      enum rhca_pause pause);
void rhca_turn_call_tasklet(struct rhca_turn *turn);
void rhca_turn_lists_init(void);
void rhca_turn_lists_exit(void);

/* The word, which may change at any time */
static inline u32 rhca_turn_word(const struct rhca_turn *turn)
{
	return atomic_read(&turn->word);
}

/* Called by the owner before it looks for work, and ordered before that */
static inline void rhca_turn_see_kicks(struct rhca_turn *turn)
{
	if (rhca_turn_word(turn) & RHCA_TURN_KICKS)
		atomic_fetch_andnot(RHCA_TURN_KICKS, &turn->word);
}

/* Will another CPU's tasklet run it? */
static inline bool rhca_turn_is_elsewhere(const struct rhca_turn *turn)
{
	return rhca_turn_state(rhca_turn_word(turn)) == RHCA_TURN_QUEUED &&
	       READ_ONCE(turn->cpu) != raw_smp_processor_id();
}

#endif
