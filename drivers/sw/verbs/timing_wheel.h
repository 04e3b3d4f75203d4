/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timers of many QPs, with a resolution of an eighth of a millisecond, of half of one where 128
 * of them or more share a CPU. An hrtimer for each would be a node of a tree, whose neighbours
 * are cold lines of other QPs, to be written for each request, and an interrupt each time that
 * it fires. Ticks of the kernel's own wheel are too long.
 */
#ifndef RHCA_SW_VERBS_TIMING_WHEEL_H
#define RHCA_SW_VERBS_TIMING_WHEEL_H

#include <linux/list.h>
#include <linux/types.h>

/*
 * A timer. But for @fired all is protected by the wheel's lock; @queued is also cleared without
 * it. The 32 bytes before @fired are what starting touches.
 */
struct rhca_wheel_timer {
	struct hlist_node node;	/* in a slot of its wheel, or in the list of those that are due */
	u64 at;			/* when it fires, in ns of CLOCK_MONOTONIC */
	u16 wheel;		/* number of that in which it is, or was last; 0: none yet */
	u8 slot;		/* in which it is, unless it is due */
	bool linked;		/* @node is in a list */
	/*
	 * It waits. One that need not fire stays where it is until its time, so that starting it
	 * again touches no other timer
	 */
	bool queued;
	bool running;		/* @fired is being called */
	/* in softirq context, not before @at; may start the timer again */
	void (*fired)(struct rhca_wheel_timer *timer);
};

/* One that waits will fire, or is about to; who sees it has its fired() still to come */
static inline bool rhca_wheel_is_queued(const struct rhca_wheel_timer *timer)
{
	return READ_ONCE(timer->queued);
}

void rhca_wheel_start(struct rhca_wheel_timer *timer, u64 now, u64 ns);
void rhca_wheel_need_not_fire(struct rhca_wheel_timer *timer);
void rhca_wheel_stop(struct rhca_wheel_timer *timer);
void rhca_wheels_init(void);
void rhca_wheels_exit(void);

#endif
