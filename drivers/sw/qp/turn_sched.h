/* SPDX-License-Identifier: GPL-2.0 */
/* Turns begin, wait and end. Each CPU has a list of halves that wait, and a tasklet for them. */
#ifndef RHCA_SW_QP_TURN_SCHED_H
#define RHCA_SW_QP_TURN_SCHED_H

#include "sw/qp/qp.h"

/*
 * Packets of responses that what is received in a tick sends at once: they have to fit into
 * net.core.netdev_max_backlog (1000) where the receiver is on this host and takes them singly.
 */
#define RHCA_TICK_PACKETS	512

/* A kind of half */
struct rhca_turn_ops {
	/*
	 * Run a turn, which the caller owns: takes the half's lock and ends the turn. Bottom halves
	 * off, RCU read side. Counts in batch->sent
	 */
	void (*run)(struct rhca_sw_qp *qp, struct rhca_batch *batch);
	/* Do what a batch has collected, and what was left to a tasklet; no lock is held */
	void (*after)(struct rhca_sw_qp *qp, struct rhca_batch *batch);
	/* Flush a portion of its queue, if the QP's state asks for it; the half's lock is held */
	void (*flush)(struct rhca_sw_qp *qp, struct rhca_batch *batch);
	enum rhca_kick_how timer;	/* where a turn runs whose pause is over */
};

/* Halves of QPs that wait on one CPU */
struct rhca_turn_list {
	u32 num_posts;			/* kernel users' send halves put in since @task ran last */
	u32 served;			/* run since it began with those that wait now */
	u32 last_served;		/* that it had run when none waited any more */
	u64 posted_at;			/* when a kernel user posted here last, monotonic ns */
	unsigned long answered_at;	/* jiffies at which @answered was 0 */
	u32 answered;			/* response packets sent at once, by what came in, since */
	struct llist_head listed;	/* each with a reference to its QP, newest first */
	struct llist_node *next;	/* taken from there, oldest first; @task's own */
	struct tasklet_struct task;	/* runs them */
};

DECLARE_PER_CPU(struct rhca_turn_list, rhca_turn_lists);

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

/* The word, which may be another one when it has been read */
static inline u32 rhca_turn_word(const struct rhca_turn *turn)
{
	return atomic_read(&turn->word);
}

/* The owner is going to look at what there is to send. Orders that look */
static inline void rhca_turn_see_kicks(struct rhca_turn *turn)
{
	if (rhca_turn_word(turn) & RHCA_TURN_KICKS)
		atomic_fetch_andnot(RHCA_TURN_KICKS, &turn->word);
}

/* Will the tasklet of another CPU run it? */
static inline bool rhca_turn_is_elsewhere(const struct rhca_turn *turn)
{
	return rhca_turn_state(rhca_turn_word(turn)) == RHCA_TURN_QUEUED &&
	       READ_ONCE(turn->cpu) != raw_smp_processor_id();
}

#endif
