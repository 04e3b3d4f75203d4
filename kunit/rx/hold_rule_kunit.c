// SPDX-License-Identifier: GPL-2.0
/* When a responder that holds packets sends a NAK: sequences of arrivals. */
#include "lib/suite.h"
#include "sw/qp/hold_rule.h"
#include "wire/psn.h"

#define MAX_STEPS	10

/*
 * An arrival: before it packets are missing (AHEAD), also for the second time (TWICE); it is the
 * expected packet (NEXT), also a READ; it was executed before (BEFORE), also a READ; it cannot be
 * held (REFUSED); or none arrives, but the timer fires (WAITED).
 */
enum place { END, AHEAD, TWICE, NEXT, NEXT_READ, BEFORE, BEFORE_READ, REFUSED, WAITED };

/* The answer */
enum said { NOTHING, NAK, REPLAY };

/* An arrival, one millisecond after the previous one */
struct step {
	enum place place;	/* kind of arrival */
	u32 psn;		/* of the packet */
	u32 expected; /* expected PSN; for NEXT after executing it and those held behind it */
	u32 held;		/* number of packets held */
	enum said said;		/* expected answer */
	bool asks;		/* the packet requests an ACK, as retransmitted packets do */
};

#define UNKNOWN	RHCA_REPEATS_UNKNOWN
#define ONE	RHCA_REPEATS_ONE
#define ALL	RHCA_REPEATS_ALL

/* The first requested packet arrives twice: it was late by a millisecond */
#define ONE_LATE	{ AHEAD, 11, 10, 1, NAK }, { NEXT, 10, 12, 0, NOTHING }, \
			{ BEFORE, 10, 12, 0, REPLAY }

static const struct rule_case {
	const char *desc;
	enum rhca_peer_repeats repeats;	/* expected final state */
	u32 wait_us;			/* expected final wait */
	struct step steps[MAX_STEPS];
} rule_cases[] = {
	{ "gap is reported once", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING, true },
		{ AHEAD, 13, 10, 3, NOTHING } } },
	{ "nothing can be held", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 0, NAK }, { AHEAD, 12, 10, 0, NOTHING, true } } },
	{ "next gap is reported when the first is filled", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 13, 10, 2, NOTHING }, { NEXT, 10, 12, 1, NAK },
		{ NEXT, 12, 14, 0, NOTHING } } },
	{ "peer sends new packets after a retransmission", ONE, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 13, 10, 2, NOTHING }, { NEXT, 10, 12, 1, NAK },
		{ AHEAD, 14, 12, 2, NOTHING }, { AHEAD, 15, 12, 3, NAK, true } } },
	{ "consecutive gaps are not go-back-N", UNKNOWN, 0, {
		{ AHEAD, 13, 10, 1, NAK }, { NEXT, 10, 11, 1, NAK }, { NEXT, 11, 12, 1, NAK },
		{ NEXT, 12, 14, 0, NOTHING } } },
	{ "AckReq of a selective peer repeats a lost NAK", ONE, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING },
		{ NEXT, 10, 13, 0, NOTHING }, { AHEAD, 14, 13, 1, NAK },
		{ AHEAD, 15, 13, 2, NOTHING }, { AHEAD, 16, 13, 3, NAK, true } } },
	{ "go-back-N fills the next gap without a NAK", ALL, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING },
		{ NEXT, 10, 13, 0, NOTHING }, { BEFORE, 11, 13, 0, REPLAY },
		{ NEXT, 13, 14, 0, NOTHING }, { AHEAD, 15, 14, 1, NAK },
		{ AHEAD, 17, 14, 2, NOTHING }, { NEXT, 14, 16, 1, NOTHING },
		{ BEFORE, 15, 16, 1, NOTHING } } },
	{ "NAK if a go-back-N leaves the gap out", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING }, { TWICE, 11, 10, 2, NAK },
		{ TWICE, 12, 10, 2, NOTHING } } },
	{ "reordered packets are not go-back-N", UNKNOWN, 0, {
		{ AHEAD, 14, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING },
		{ AHEAD, 13, 10, 3, NOTHING }, { AHEAD, 11, 10, 4, NOTHING } } },
	{ "one duplicate is not go-back-N", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { TWICE, 11, 10, 1, NOTHING }, { BEFORE, 9, 10, 1, NAK },
		{ BEFORE, 9, 10, 1, NOTHING } } },
	{ "NAKs for one gap are limited", UNKNOWN, 0, {
		{ AHEAD, 12, 10, 1, NAK }, { AHEAD, 11, 10, 2, NOTHING }, { BEFORE, 9, 10, 2, NAK },
		{ BEFORE, 8, 10, 2, NAK }, { BEFORE, 7, 10, 2, NAK }, { BEFORE, 6, 10, 2, NOTHING },
		{ BEFORE, 5, 10, 2, NOTHING } } },
	{ "duplicate of an executed packet repeats the NAK", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { BEFORE, 9, 10, 1, NAK },
		{ AHEAD, 12, 10, 2, NOTHING } } },
	{ "late packet delays NAKs by its delay and a half", ONE, 1500, {
		ONE_LATE, { AHEAD, 13, 12, 1, NOTHING }, { AHEAD, 14, 12, 2, NOTHING },
		{ AHEAD, 15, 12, 3, NAK } } },
	{ "next gap is not reported before that either", ONE, 1500, {
		ONE_LATE, { AHEAD, 14, 12, 1, NOTHING }, { NEXT, 12, 13, 1, NOTHING },
		{ NEXT, 13, 15, 1, NOTHING }, { WAITED, 0, 15, 1, NOTHING },
		{ WAITED, 0, 15, 1, NAK }, { WAITED, 0, 15, 1, NOTHING } } },
	{ "duplicate of the late packet reports no gap", UNKNOWN, 3000, {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 13, 10, 2, NOTHING }, { NEXT, 10, 12, 1, NAK },
		{ BEFORE, 10, 12, 1, NOTHING }, { NEXT, 12, 14, 0, NOTHING },
		{ AHEAD, 15, 14, 1, NOTHING }, { BEFORE, 12, 14, 1, REPLAY, true } } },
	{ "NAK at once if half of the hold is full", ONE, 1500, {
		ONE_LATE, { AHEAD, 75, 12, 63, NOTHING }, { AHEAD, 76, 12, 64, NAK } } },
	{ "NAK at once if a packet cannot be held", ONE, 1500, {
		ONE_LATE, { AHEAD, 13, 12, 1, NOTHING }, { REFUSED, 14, 12, 1, NAK } } },
	{ "delay begins when the gap is seen", ONE, 1500, {
		ONE_LATE, { AHEAD, 14, 12, 1, NOTHING }, { WAITED, 0, 13, 0, NOTHING },
		{ AHEAD, 15, 13, 1, NOTHING } } },
	{ "reordered packets keep the delay", ONE, 1500, {
		ONE_LATE, { AHEAD, 601, 600, 1, NOTHING }, { NEXT, 600, 602, 0, NOTHING },
		{ AHEAD, 1101, 1100, 1, NOTHING }, { AHEAD, 1102, 1100, 2, NOTHING } } },
	{ "unrequested retransmission does not keep the delay", ONE, 750, {
		ONE_LATE, { AHEAD, 601, 600, 1, NOTHING }, { NEXT, 600, 602, 0, NOTHING, true },
		{ AHEAD, 1101, 1100, 1, NOTHING }, { AHEAD, 1102, 1100, 2, NAK } } },
	{ "AckReq packet of a selective peer was lost, not late", ONE, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { NEXT, 10, 12, 0, NOTHING, true },
		{ AHEAD, 13, 12, 1, NAK }, { NEXT, 12, 14, 0, NOTHING, true },
		{ BEFORE, 12, 14, 0, REPLAY }, { AHEAD, 15, 14, 1, NAK } } },
	{ "AckReq packet of an unknown peer was lost, not late", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 1, NAK, true }, { NEXT, 10, 12, 0, NOTHING, true },
		{ BEFORE, 10, 12, 0, REPLAY }, { AHEAD, 13, 12, 1, NAK } } },
	{ "late packet of a peer that always asks delays NAKs", ONE, 3000, {
		{ AHEAD, 11, 10, 1, NAK, true }, { AHEAD, 12, 10, 2, NOTHING, true },
		{ NEXT, 10, 13, 0, NOTHING, true }, { NEXT, 13, 14, 0, NOTHING, true },
		{ BEFORE, 10, 14, 0, REPLAY, true }, { AHEAD, 15, 14, 1, NOTHING, true } } },
	{ "loss at a peer that always asks is reported once", ONE, 0, {
		{ AHEAD, 11, 10, 1, NAK, true }, { NEXT, 10, 12, 0, NOTHING },
		{ NEXT, 12, 13, 0, NOTHING, true }, { AHEAD, 14, 13, 1, NAK, true },
		{ AHEAD, 15, 13, 2, NOTHING, true }, { AHEAD, 16, 13, 3, NOTHING, true } } },
	{ "READ received twice was late", UNKNOWN, 1500, {
		{ AHEAD, 11, 10, 1, NAK }, { NEXT, 10, 12, 0, NOTHING, true },
		{ AHEAD, 13, 12, 1, NAK }, { NEXT_READ, 12, 14, 0, NOTHING, true },
		{ BEFORE, 12, 14, 0, REPLAY } } },
	{ "packet with two NAKs was lost, not late", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { BEFORE, 9, 10, 1, NAK }, { NEXT, 10, 12, 0, NOTHING },
		{ BEFORE, 10, 12, 0, REPLAY } } },
	{ "packet of a go-back-N was lost, not late", ALL, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING },
		{ NEXT, 10, 13, 0, NOTHING }, { BEFORE, 11, 13, 0, REPLAY },
		{ BEFORE, 10, 13, 0, REPLAY } } },
	{ "delayed gap is not go-back-N", ONE, 1500, {
		ONE_LATE, { AHEAD, 14, 12, 1, NOTHING }, { WAITED, 0, 12, 1, NOTHING },
		{ WAITED, 0, 12, 1, NAK }, { NEXT, 12, 13, 1, NOTHING },
		{ NEXT, 13, 15, 0, NOTHING } } },
	{ "end of reordering is not go-back-N", UNKNOWN, 3000, {
		{ AHEAD, 12, 10, 1, NAK }, { AHEAD, 13, 10, 2, NOTHING }, { NEXT, 10, 11, 2, NAK },
		{ NEXT, 11, 14, 0, NOTHING }, { AHEAD, 15, 14, 1, NAK },
		{ NEXT, 14, 16, 0, NOTHING }, { BEFORE, 10, 16, 0, REPLAY, true } } },
	{ "duplicates of held packets do not restart the delay", ONE, 1500, {
		ONE_LATE, { AHEAD, 13, 12, 1, NOTHING }, { TWICE, 13, 12, 1, NOTHING },
		{ TWICE, 13, 12, 1, NAK } } },
	{ "timer without a gap to report", UNKNOWN, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { WAITED, 0, 10, 1, NOTHING },
		{ NEXT, 10, 12, 0, NOTHING }, { WAITED, 0, 12, 0, NOTHING } } },
	{ "NAK of the next gap is repeated for a selective peer", ONE, 0, {
		{ AHEAD, 11, 10, 1, NAK }, { NEXT, 10, 12, 0, NOTHING, true },
		{ AHEAD, 13, 12, 1, NAK }, { AHEAD, 15, 12, 2, NOTHING },
		{ NEXT, 12, 14, 1, NAK, true }, { AHEAD, 16, 14, 2, NOTHING },
		{ BEFORE, 12, 14, 2, NAK, true } } },
	{ "across the PSN wrap", ONE, 0, {
		{ AHEAD, 0, 0xffffff, 1, NAK }, { AHEAD, 1, 0xffffff, 2, NOTHING },
		{ NEXT, 0xffffff, 2, 0, NOTHING }, { AHEAD, 3, 2, 1, NAK } } },
};
KUNIT_ARRAY_PARAM_DESC(rule, rule_cases, desc);

static enum said arrive(struct rhca_hold_rule *rule, const struct step *s, u64 now)
{
	const struct rhca_arrival arrival = {
		.now = now, .psn = s->psn, .expected = s->expected,
		.num_held = s->held, .ack_req = s->asks, .twice = s->place == TWICE,
		.refused = s->place == REFUSED || !s->held,
		.is_read = s->place == NEXT_READ || s->place == BEFORE_READ,
	};

	switch (s->place) {
	case NEXT:
	case NEXT_READ:
		return rhca_hold_rule_filled(rule, &arrival) ? NAK : NOTHING;
	case WAITED:
		return rhca_hold_rule_waited(rule, &arrival) ? NAK : NOTHING;
	case BEFORE:
	case BEFORE_READ:
		switch (rhca_hold_rule_duplicate(rule, &arrival)) {
		case RHCA_DUP_REPLAY:
			return REPLAY;
		case RHCA_DUP_NAK:
			return NAK;
		default:
			return NOTHING;
		}
	default:
		return rhca_hold_rule_ahead(rule, &arrival) ? NAK : NOTHING;
	}
}

static void nak_follows_the_rule(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	struct rhca_reorder reorder;
	struct rhca_hold_rule rule = { .reorder = &reorder };
	int i;

	rhca_hold_rule_reset(&rule);
	rhca_hold_rule_in_order(&rule, rhca_psn_sub(c->steps[0].expected, 1));
	for (i = 0; i < MAX_STEPS && c->steps[i].place != END; i++)
		KUNIT_EXPECT_EQ_MSG(test, arrive(&rule, &c->steps[i],
						 (i + 1) * NSEC_PER_MSEC),
				    c->steps[i].said, "step %d", i);
	KUNIT_EXPECT_EQ(test, rule.repeats, c->repeats);
	KUNIT_EXPECT_EQ(test, reorder.wait_ns, c->wait_us * 1000);
}

#define GAPS	100

/* One in @one_in of the requested READs arrives twice */
static u32 wait_of_reads(u32 one_in)
{
	struct rhca_reorder reorder;
	struct rhca_hold_rule rule = { .reorder = &reorder };
	u64 now = NSEC_PER_SEC;
	u32 i, psn = 10;

	rhca_hold_rule_reset(&rule);
	rhca_hold_rule_in_order(&rule, psn - 1);
	for (i = 1; i <= GAPS; i++, psn += 2, now += NSEC_PER_MSEC) {
		arrive(&rule, &(struct step) { AHEAD, psn + 1, psn, 1 }, now);
		arrive(&rule, &(struct step) { NEXT_READ, psn, psn + 2 }, now + 1000);
		if (i % one_in == 0)
			arrive(&rule, &(struct step) { BEFORE_READ, psn, psn + 2 },
			       now + 2000);
	}
	return reorder.wait_ns;
}

/* The response to a lost READ may be lost as well: then it also arrives twice */
static void reads_are_late_if_most_arrive_twice(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, wait_of_reads(1), 0);
	KUNIT_EXPECT_EQ(test, wait_of_reads(3), 0);
	KUNIT_EXPECT_EQ(test, wait_of_reads(10), 0);
}

TEST_SUITE(rhca_hold_rule,
	   KUNIT_CASE(reads_are_late_if_most_arrive_twice),
	   KUNIT_CASE_PARAM(nak_follows_the_rule, rule_gen_params));
