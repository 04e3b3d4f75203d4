/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events, ordered by time; those of the same time in the order of their creation, so a run depends
 * on its parameters and its seed alone.
 */
#ifndef FABRIC_SIM_EVENT_H
#define FABRIC_SIM_EVENT_H

#include <linux/types.h>

enum event_kind {
	EVENT_ARRIVE,	/* of a packet: it reaches the next node */
	EVENT_PORT,	/* of a port: the wire is free */
	EVENT_RECEIVE,	/* of a host: packets wait for its processor */
	EVENT_TURN,	/* of a QP: it may send */
	EVENT_PROBE,	/* of a QP: no answer has arrived */
	EVENT_WAITED,	/* of a QP: a packet has been late for long enough to count as lost */
	EVENT_TIMEOUT,	/* of a QP: the ACK timeout of verbs */
	EVENT_START,	/* of a QP: its first message is posted */
	EVENT_WORK,	/* of the workload */
	EVENT_SAMPLE,	/* figures over time */
	EVENT_LINK,	/* of a link that flaps: it goes down or up */
	EVENT_ROUTES,	/* all switches learn of that */
};

/**
 * struct event - A future event
 * @at: ns
 * @order: among events of the same time
 * @arg: enum event_kind in the highest four bits; index of the object
 */
struct event {
	u64 at;
	u32 order;
	u32 arg;
};

extern u64 now;		/* ns since the start of the run */
extern u64 events_done;

void event_at(u64 at, enum event_kind kind, u32 of);
bool event_next(struct event *event, u64 until);

static inline enum event_kind event_kind(const struct event *event)
{
	return event->arg >> 28;
}

static inline u32 event_of(const struct event *event)
{
	return event->arg & GENMASK(27, 0);
}

#endif
