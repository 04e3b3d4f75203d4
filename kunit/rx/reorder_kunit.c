// SPDX-License-Identifier: GPL-2.0
/*
 * How many later packets are waited for before one that is missing counts as lost.
 */
#include <kunit/test.h>

#include "lib/suite.h"
#include "sw/qp/hold_rule.h"
#include "wire/psn.h"

#define MAX_EVENTS	6

enum what { END, ASKED, TWICE, OVERTAKEN, REPEATED, MISSING };

/* What is seen of a path */
struct event {
	/* a packet is asked for, comes twice, was overtaken, comes repeated, or is missing */
	enum what what;
	u32 psn;	/* of it */
	u32 extent;	/* what is waited for after that */
};

static const struct reorder_case {
	const char *desc;
	struct event events[MAX_EVENTS];
} reorder_cases[] = {
	{ "nothing is waited for", { { MISSING, 5, 1 }, { ASKED, 5, 1 } } },
	{ "what comes twice was late, each once", {
		{ ASKED, 10, 1 }, { TWICE, 10, 4 }, { TWICE, 10, 4 } } },
	{ "what was not asked for says nothing", {
		{ ASKED, 10, 1 }, { TWICE, 9, 1 }, { TWICE, 11, 1 } } },
	{ "of several that were asked for each counts", {
		{ ASKED, 10, 1 }, { ASKED, 12, 1 }, { ASKED, 80, 1 },
		{ TWICE, 10, 4 }, { TWICE, 12, 16 }, { TWICE, 80, 64 } } },
	{ "half of what can be held is the most", {
		{ ASKED, 10, 1 }, { ASKED, 11, 1 }, { TWICE, 10, 4 },
		{ TWICE, 11, 16 }, { ASKED, 12, 16 }, { TWICE, 12, 64 } } },
	{ "a window later it is too late", {
		{ ASKED, 10, 1 }, { ASKED, 138, 1 }, { TWICE, 10, 1 } } },
	{ "just within a window", { { ASKED, 10, 1 }, { ASKED, 137, 1 }, { TWICE, 10, 4 } } },
	{ "in the older half of it", {
		{ ASKED, 10, 1 }, { ASKED, 74, 1 }, { ASKED, 100, 1 },
		{ TWICE, 10, 4 } } },
	{ "what came once a window ago was lost", {
		{ ASKED, 10, 1 }, { TWICE, 10, 4 }, { ASKED, 20, 4 },
		{ ASKED, 148, 2 }, { ASKED, 276, 1 } } },
	{ "what came twice was not", {
		{ ASKED, 10, 1 }, { TWICE, 10, 4 }, { ASKED, 148, 4 },
		{ TWICE, 148, 16 }, { ASKED, 276, 16 } } },
	{ "what was repeated had been lost, and twice says nothing", {
		{ ASKED, 10, 1 }, { TWICE, 10, 4 }, { ASKED, 20, 4 },
		{ REPEATED, 20, 2 }, { TWICE, 20, 2 } } },
	{ "not what comes unasked, or a window later", {
		{ ASKED, 10, 1 }, { TWICE, 10, 4 }, { REPEATED, 11, 4 },
		{ ASKED, 12, 4 }, { REPEATED, 1024, 4 } } },
	{ "packets in order lower it", {
		{ ASKED, 10, 1 }, { TWICE, 10, 4 }, { MISSING, 1033, 4 },
		{ MISSING, 1034, 2 }, { MISSING, 1035, 2 }, { MISSING, 9000, 1 } } },
	{ "not where they overtake others", {
		{ ASKED, 10, 1 }, { TWICE, 10, 4 }, { OVERTAKEN, 1000, 4 },
		{ MISSING, 2023, 4 }, { MISSING, 2024, 2 } } },
	{ "behind the wrap", {
		{ ASKED, 0xffffff, 1 }, { ASKED, 70, 1 }, { TWICE, 0xffffff, 4 },
		{ MISSING, 1022, 4 }, { MISSING, 1023, 2 } } },
};
KUNIT_ARRAY_PARAM_DESC(reorder, reorder_cases, desc);

static void late_packets_are_waited_for(struct kunit *test)
{
	const struct reorder_case *c = test->param_value;
	struct rhca_reorder reorder;
	const struct event *e;

	rhca_reorder_reset(&reorder);
	for (e = c->events; e < c->events + MAX_EVENTS && e->what; e++) {
		switch (e->what) {
		case ASKED:
			rhca_reorder_asked(&reorder, e->psn);
			break;
		case TWICE:
			rhca_reorder_twice(&reorder, e->psn);
			break;
		case OVERTAKEN:
		case REPEATED:
			rhca_reorder_filled(&reorder, e->psn, e->what == REPEATED);
			break;
		default:
			rhca_reorder_extent(&reorder, e->psn);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, reorder.extent, e->extent, "event %d",
				    (int)(e - c->events));
	}
}

static struct kunit_case reorder_kunit_cases[] = {
	KUNIT_CASE_PARAM(late_packets_are_waited_for, reorder_gen_params),
	{}
};

TEST_SUITE("rhca_reorder", reorder_kunit_cases);
