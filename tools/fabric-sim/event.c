// SPDX-License-Identifier: GPL-2.0
/*
 * A heap whose nodes have four children: half as deep as one with two, and the children are in one
 * cache line.
 */
#include <stdlib.h>

#include <linux/minmax.h>

#include "event.h"

#define CHILDREN	4

u64 now;
u64 events_done;

static struct event *heap;
static u32 used, room, order;

static inline bool before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : (s32)(a->order - b->order) < 0;
}

void event_at(u64 at, enum event_kind kind, u32 of)
{
	struct event event = { at, order++, (u32)kind << 28 | of };
	u32 i = used++, parent;

	if (used > room) {
		room = room ? 2 * room : 1 << 16;
		heap = realloc(heap, room * sizeof(*heap));
		if (!heap)
			abort();
	}
	for (; i; i = parent) {
		parent = (i - 1) / CHILDREN;
		if (!before(&event, &heap[parent]))
			break;
		heap[i] = heap[parent];
	}
	heap[i] = event;
}

static u32 least_child(u32 i)
{
	u32 child = i * CHILDREN + 1, end = min(child + CHILDREN, used), least = child;

	for (child++; child < end; child++)
		if (before(&heap[child], &heap[least]))
			least = child;
	return least;
}

/* The next event until then; false if there is none */
bool event_next(struct event *event, u64 until)
{
	struct event last;
	u32 i = 0, child;

	if (!used || heap[0].at > until)
		return false;
	*event = heap[0];
	last = heap[--used];
	while (i * CHILDREN + 1 < used) {
		child = least_child(i);
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	now = event->at;
	events_done++;
	return true;
}
