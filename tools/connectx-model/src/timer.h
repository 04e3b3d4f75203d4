/* SPDX-License-Identifier: GPL-2.0 */
/* One-shot timers, run by the main loop. */
#ifndef CONNECTX_TIMER_H
#define CONNECTX_TIMER_H

#include "list.h"

struct timer {
	struct list link;
	u64 at_ns;		/* 0: not set */
	void (*expired)(struct timer *timer);
};

void timer_init(struct timer *timer, void (*expired)(struct timer *timer));
void timer_set(struct timer *timer, u64 at_ns);
void timer_cancel(struct timer *timer);

void timers_run(void);	/* those that are due */
void timers_expire(u32 most);	/* the next ones, due or not */
int64_t timers_wait_ns(void);	/* until the next one is due, or -1 */

#endif
