// SPDX-License-Identifier: GPL-2.0
/*
 * How long is waited before a packet that is missing counts as lost.
 */
#include <kunit/test.h>

#include "lib/suite.h"
#include "sw/qp/hold_rule.h"

#define MAX_EVENTS	7

enum what { END, MISSED, ASKED, LATE, REPEATED, TWICE, COPY };

/**
 * struct event - What is seen of a path
 * @what: a packet is missed, asked for, comes late, comes repeated, or comes twice, which shows
 *	that it was late, or nothing
 * @psn: of it
 * @at: when, us
 * @wait: what is waited for after that, us
 */
struct event {
	enum what what;
	u32 psn;
	u32 at;
	u32 wait;
};

static const struct reorder_case {
	const char *desc;
	struct event events[MAX_EVENTS];
} reorder_cases[] = {
	{ "what comes twice was late, each once", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ TWICE, 10, 99, 30 }, { COPY, 10, 99, 30 } } },
	{ "what was not asked for says nothing", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ COPY, 9, 99, 0 }, { COPY, 11, 99, 0 } } },
	{ "the longest wait stays", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ TWICE, 10, 99, 30 }, { ASKED, 20, 99, 30 }, { LATE, 20, 103, 30 },
		{ TWICE, 20, 109, 30 } } },
	{ "no path is longer by more than 10 ms", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 40001, 0 },
		{ TWICE, 10, 50000, 15000 } } },
	{ "a window later it is too late", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ ASKED, 138, 50, 0 }, { COPY, 10, 99, 0 } } },
	{ "just within a window", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ ASKED, 137, 50, 0 }, { TWICE, 10, 99, 30 } } },
	{ "in the older half of it", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ ASKED, 74, 50, 0 }, { ASKED, 100, 60, 0 }, { TWICE, 10, 99, 30 } } },
	{ "what was repeated had been lost, and twice says nothing", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ ASKED, 12, 30, 0 }, { REPEATED, 12, 40, 0 }, { COPY, 12, 99, 0 },
		{ TWICE, 10, 99, 30 } } },
	{ "what was asked for and is late does not keep the wait", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ TWICE, 10, 99, 30 }, { ASKED, 1000, 150, 30 }, { LATE, 1000, 200, 30 },
		{ MISSED, 1034, 201, 15 } } },
	{ "packets in order lower it, to nothing", {
		{ ASKED, 10, 1, 0 }, { MISSED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ TWICE, 10, 99, 30 }, { MISSED, 1033, 200, 30 },
		{ MISSED, 1034, 201, 15 }, { MISSED, 4106, 300, 0 } } },
	{ "not where they overtake others", {
		{ MISSED, 10, 1, 0 }, { ASKED, 10, 1, 0 }, { LATE, 10, 21, 0 },
		{ TWICE, 10, 99, 30 }, { LATE, 1000, 200, 30 },
		{ MISSED, 2023, 300, 30 }, { MISSED, 2024, 301, 15 } } },
	{ "behind the wrap", {
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

static struct kunit_case reorder_kunit_cases[] = {
	KUNIT_CASE_PARAM(late_packets_are_waited_for, reorder_gen_params),
	{}
};

TEST_SUITE("rhca_reorder", reorder_kunit_cases);
