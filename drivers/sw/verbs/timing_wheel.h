/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timers of many QPs, with a resolution of 1/8 ms, or 1/2 ms if 128 or more share a CPU. An hrtimer
 * per QP would be a tree node, whose neighbours are cold cache lines of other QPs that each request
 * writes to, and each expiry an interrupt. Ticks of the kernel's own wheel are too long.
 */
#ifndef RHCA_SW_VERBS_TIMING_WHEEL_H
#define RHCA_SW_VERBS_TIMING_WHEEL_H

#include <linux/list.h>
#include <linux/types.h>

/*
 * A timer. The wheel's lock protects all but @fired; @queued is also cleared without it. Starting a
 * timer touches the 32 bytes before @fired.
 */
struct rhca_wheel_timer {
	struct hlist_node node;	/* in a slot of its wheel, or in the list of expired timers */
	u64 at;			/* expiry, in ns of CLOCK_MONOTONIC */
	u16 wheel;		/* number of the wheel it is in or was last in; 0: none */
	u8 slot;		/* its slot, unless expired */
	bool linked;		/* @node is in a list */
	/*
	 * Pending. When cleared the timer stays linked until its time, so that restarting it
	 * touches no other timer
	 */
	bool queued;
	bool running;		/* @fired is running */
	/* called in softirq context, not before @at; may start the timer again */
	void (*fired)(struct rhca_wheel_timer *timer);
};

/* Is it pending? If so, its fired() has yet to be called */
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
