// SPDX-License-Identifier: GPL-2.0
#include "timer.h"

static struct list timers = { &timers, &timers };

void timer_init(struct timer *timer, void (*expired)(struct timer *timer))
{
	list_init(&timer->link);
	timer->at_ns = 0;
	timer->expired = expired;
}

void timer_cancel(struct timer *timer)
{
	if (timer->at_ns)
		list_unlink(&timer->link);
	timer->at_ns = 0;
}

/* The list is sorted; most timers are set for later than all others. */
void timer_set(struct timer *timer, u64 at_ns)
{
	struct list *before = timers.prev;

	if (timer->at_ns) {
		list_unlink(&timer->link);
		before = timers.prev;
	}
	timer->at_ns = at_ns ? at_ns : 1;
	while (before != &timers &&
	       container_of(before, struct timer, link)->at_ns > timer->at_ns)
		before = before->prev;
	timer->link.prev = before;
	timer->link.next = before->next;
	before->next->prev = &timer->link;
	before->next = &timer->link;
}

static struct timer *earliest(void)
{
	return list_empty(&timers) ? NULL : list_first(&timers, struct timer, link);
}

static void expire(struct timer *timer)
{
	timer_cancel(timer);
	timer->expired(timer);
}

void timers_run(void)
{
	struct timer *timer;
	u64 now = now_ns();

	while ((timer = earliest()) != NULL && timer->at_ns <= now)
		expire(timer);
}

void timers_expire(u32 most)
{
	struct timer *timer;

	while (most-- && (timer = earliest()) != NULL)
		expire(timer);
}

int64_t timers_wait_ns(void)
{
	const struct timer *timer = earliest();
	u64 now = now_ns();

	if (!timer)
		return -1;
	return timer->at_ns > now ? timer->at_ns - now : 0;
}
