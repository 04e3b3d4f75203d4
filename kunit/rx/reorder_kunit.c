// SPDX-License-Identifier: GPL-2.0
/* How long a missing packet is waited for before it counts as lost. */
#include "lib/suite.h"
#include "sw/qp/hold_rule.h"

#define MAX_EVENTS	7

enum what { END, MISSED, ASKED, WATCHED, AGAIN, BROUGHT, CAME, LATE, REPEATED, TWICE, COPY };

/* An event on a path */
struct event {
	/*
	 * END: no more events. A packet is missing (MISSED), is requested (ASKED), is requested as
	 * a response (WATCHED), is retransmitted with all later ones (AGAIN), arrives by such a
	 * retransmission (BROUGHT) or by itself (CAME), arrives late (LATE) or retransmitted
	 * (REPEATED), arrives twice and so was late (TWICE), or twice without meaning (COPY).
	 */
	enum what what;
	u32 psn;	/* of the packet */
	u32 at;		/* time, us */
	u32 wait;	/* expected wait afterwards, us */
};

/* Requested at once, and 20 us late */
#define ONE_LATE	{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 }

static const struct reorder_case {
	const char *desc;
	struct event events[MAX_EVENTS];
} reorder_cases[] = {
	{ "duplicate shows that the packet was late, once", {
		ONE_LATE, { TWICE, 10, 99, 30 }, { COPY, 10, 99, 30 } } },
	{ "duplicate of a packet not requested has no meaning", {
		ONE_LATE, { COPY, 9, 99, 0 }, { COPY, 11, 99, 0 } } },
	{ "longest delay stays", {
		ONE_LATE, { TWICE, 10, 99, 30 }, { ASKED, 20, 99, 30 }, { LATE, 20, 103, 30 },
		{ TWICE, 20, 109, 30 } } },
	{ "delay is limited to 15 ms", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 40001, 0 },
		{ TWICE, 10, 50000, 15000 } } },
	{ "duplicate a window later has no meaning", {
		ONE_LATE, { ASKED, 138, 50, 0 }, { COPY, 10, 99, 0 } } },
	{ "duplicate just within a window", {
		ONE_LATE, { ASKED, 137, 50, 0 }, { TWICE, 10, 99, 30 } } },
	{ "duplicate in the older half of the window", {
		ONE_LATE, { ASKED, 74, 50, 0 }, { ASKED, 100, 60, 0 }, { TWICE, 10, 99, 30 } } },
	{ "duplicate of a retransmitted packet has no meaning", {
		ONE_LATE, { ASKED, 12, 30, 0 }, { REPEATED, 12, 40, 0 }, { COPY, 12, 99, 0 },
		{ TWICE, 10, 99, 30 } } },
	{ "requested packet does not keep the delay", {
		ONE_LATE, { TWICE, 10, 99, 30 }, { ASKED, 1000, 150, 30 },
		{ LATE, 1000, 200, 30 }, { MISSED, 1034, 201, 15 } } },
	{ "packets in order halve the delay, down to 0", {
		{ ASKED, 10, 1, 0 }, { MISSED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ TWICE, 10, 99, 30 }, { MISSED, 1033, 200, 30 },
		{ MISSED, 1034, 201, 15 }, { MISSED, 4106, 300, 0 } } },
	{ "reordered packets keep the delay", {
		ONE_LATE, { TWICE, 10, 99, 30 }, { LATE, 1000, 200, 30 },
		{ MISSED, 2023, 300, 30 }, { MISSED, 2024, 301, 15 } } },
	{ "response received twice was late", {
		{ MISSED, 210, 1, 0 }, { WATCHED, 210, 1, 0 }, { CAME, 210, 21, 0 },
		{ AGAIN, 220, 50, 0 }, { TWICE, 210, 99, 30 }, { COPY, 220, 99, 30 } } },
	{ "response requested twice was not late", {
		{ MISSED, 210, 1, 0 }, { WATCHED, 210, 1, 0 }, { AGAIN, 210, 9, 0 },
		{ CAME, 210, 21, 0 }, { COPY, 210, 99, 0 } } },
	{ "response before a go-back was not late", {
		{ MISSED, 210, 1, 0 }, { WATCHED, 210, 1, 0 }, { AGAIN, 300, 5, 0 },
		{ AGAIN, 209, 9, 0 }, { CAME, 210, 21, 0 }, { COPY, 210, 99, 0 } } },
	{ "delay is that of the same response", {
		{ MISSED, 210, 1, 0 }, { WATCHED, 210, 1, 0 }, { CAME, 210, 9001, 0 },
		{ MISSED, 500, 9500, 0 }, { WATCHED, 500, 9500, 0 }, { CAME, 500, 9502, 0 },
		{ TWICE, 500, 9599, 3 } } },
	{ "retransmitted response does not keep the delay", {
		{ MISSED, 210, 1, 0 }, { WATCHED, 210, 1, 0 }, { CAME, 210, 21, 0 },
		{ TWICE, 210, 99, 30 }, { AGAIN, 300, 99, 30 }, { BROUGHT, 301, 100, 30 },
		{ MISSED, 1234, 200, 15 } } },
	{ "across the PSN wrap", {
		{ MISSED, 0xffffff, 1, 0 }, { ASKED, 0xffffff, 1, 0 },
		{ LATE, 0xffffff, 21, 0 }, { ASKED, 70, 50, 0 }, { TWICE, 0xffffff, 99, 30 },
		{ MISSED, 1022, 200, 30 }, { MISSED, 1023, 201, 15 } } },
};
KUNIT_ARRAY_PARAM_DESC(reorder, reorder_cases, desc);

static void late_packets_are_waited_for(struct kunit *test)
{
	const struct reorder_case *c = test->param_value;
	struct rhca_reorder reorder = {};
	const struct event *e;
	u64 now;

	for (e = c->events; e < c->events + MAX_EVENTS && e->what; e++) {
		now = e->at * NSEC_PER_USEC;
		switch (e->what) {
		case ASKED:
			rhca_reorder_asked(&reorder, e->psn);
			break;
		case WATCHED:
			rhca_reorder_repeated(&reorder, e->psn);
			rhca_reorder_watch(&reorder, e->psn);
			break;
		case AGAIN:
			rhca_reorder_repeated(&reorder, e->psn);
			break;
		case BROUGHT:
		case CAME:
			rhca_reorder_answered(&reorder, e->psn, e->what == BROUGHT, now);
			break;
		case TWICE:
		case COPY:
			KUNIT_EXPECT_EQ(test, rhca_reorder_twice(&reorder, e->psn),
					e->what == TWICE);
			break;
		case LATE:
		case REPEATED:
			rhca_reorder_filled(&reorder, e->psn, e->what == REPEATED, now);
			break;
		default:
			KUNIT_EXPECT_EQ(test, rhca_reorder_lost(&reorder, e->psn, 1,
								now), !e->wait);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, reorder.wait_ns, e->wait * NSEC_PER_USEC,
				    "event %d", (int)(e - c->events));
	}
}

TEST_SUITE(rhca_reorder,
	   KUNIT_CASE_PARAM(late_packets_are_waited_for, reorder_gen_params));
