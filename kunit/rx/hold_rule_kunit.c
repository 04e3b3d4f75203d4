// SPDX-License-Identifier: GPL-2.0
/*
 * When a responder that holds packets says NAK: sequences of arrivals.
 */
#include <kunit/test.h>

#include "lib/suite.h"
#include "sw/qp/hold_rule.h"
#include "wire/psn.h"

#define MAX_STEPS	10

/*
 * Where an arrival stands: before others that are missing, the same for the second time,
 * next, or executed before, by a READ as well
 */
enum place { END, AHEAD, TWICE, NEXT, BEFORE, AGAIN_READ };

/* What is said about it */
enum said { NOTHING, NAK, REPLAY };

/* An arrival */
struct step {
	enum place place;	/* where it stands */
	u32 psn;		/* of it */
	u32 expected; /* what is missing: for NEXT when it and all behind it are executed */
	u32 held;		/* packets that are held then */
	enum said said;		/* what is said */
	bool asks;		/* it asks for an acknowledgement, as what is sent again does */
};

struct rule_case {
	const char *desc;
	struct step steps[MAX_STEPS];
	enum rhca_peer_repeats repeats;
	u8 nak_after;
};

static const struct rule_case rule_cases[] = {
	{ "a gap is reported once", {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING, true },
		{ AHEAD, 13, 10, 3, NOTHING } }, RHCA_REPEATS_UNKNOWN, 1 },
	{ "nothing can be held", {
		{ AHEAD, 11, 10, 0, NAK }, { AHEAD, 12, 10, 0, NOTHING, true } },
	  RHCA_REPEATS_UNKNOWN, 1 },
	{ "the next gap is reported when the first is filled", {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 13, 10, 2, NOTHING },
		{ NEXT, 10, 12, 1, NAK }, { NEXT, 12, 14, 0, NOTHING } },
	  RHCA_REPEATS_UNKNOWN, 1 },
	{ "a peer goes on behind what it repeats", {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 13, 10, 2, NOTHING },
		{ NEXT, 10, 12, 1, NAK }, { AHEAD, 14, 12, 2, NOTHING },
		{ AHEAD, 15, 12, 3, NAK, true } }, RHCA_REPEATS_ONE, 1 },
	{ "gaps in a row are no pass", {
		{ AHEAD, 13, 10, 1, NAK }, { NEXT, 10, 11, 1, NAK },
		{ NEXT, 11, 12, 1, NAK }, { NEXT, 12, 14, 0, NOTHING } },
	  RHCA_REPEATS_UNKNOWN, 1 },
	{ "a peer that repeats one packet asks for a NAK that was lost", {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING },
		{ NEXT, 10, 13, 0, NOTHING }, { AHEAD, 14, 13, 1, NAK },
		{ AHEAD, 15, 13, 2, NOTHING }, { AHEAD, 16, 13, 3, NAK, true } },
	  RHCA_REPEATS_ONE, 1 },
	{ "a pass brings the next gap by itself", {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING },
		{ NEXT, 10, 13, 0, NOTHING }, { BEFORE, 11, 13, 0, REPLAY },
		{ NEXT, 13, 14, 0, NOTHING }, { AHEAD, 15, 14, 1, NAK },
		{ AHEAD, 17, 14, 2, NOTHING }, { NEXT, 14, 16, 1, NOTHING },
		{ BEFORE, 15, 16, 1, NOTHING } }, RHCA_REPEATS_ALL, 1 },
	{ "a pass that leaves the gap out brings a NAK", {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING },
		{ TWICE, 11, 10, 2, NAK }, { TWICE, 12, 10, 2, NOTHING } },
	  RHCA_REPEATS_UNKNOWN, 1 },
	{ "packets that overtake others are no pass", {
		{ AHEAD, 14, 10, 1, NAK }, { AHEAD, 12, 10, 2, NOTHING },
		{ AHEAD, 13, 10, 3, NOTHING }, { AHEAD, 11, 10, 4, NOTHING } },
	  RHCA_REPEATS_UNKNOWN, 1 },
	{ "a packet that comes twice is no pass", {
		{ AHEAD, 11, 10, 1, NAK }, { TWICE, 11, 10, 1, NOTHING },
		{ BEFORE, 9, 10, 1, NAK }, { BEFORE, 9, 10, 1, NOTHING } },
	  RHCA_REPEATS_UNKNOWN, 1 },
	{ "a peer is not asked for ever", {
		{ AHEAD, 12, 10, 1, NAK }, { AHEAD, 11, 10, 2, NOTHING },
		{ BEFORE, 9, 10, 2, NAK }, { BEFORE, 8, 10, 2, NAK },
		{ BEFORE, 7, 10, 2, NAK }, { BEFORE, 6, 10, 2, NOTHING },
		{ BEFORE, 5, 10, 2, NOTHING } }, RHCA_REPEATS_UNKNOWN, 1 },
	{ "what was executed before brings a NAK while something is missing", {
		{ AHEAD, 11, 10, 1, NAK }, { BEFORE, 9, 10, 1, NAK },
		{ AHEAD, 12, 10, 2, NOTHING } }, RHCA_REPEATS_UNKNOWN, 1 },
	{ "what comes twice was late", {
		{ AHEAD, 11, 10, 1, NAK }, { NEXT, 10, 12, 0, NOTHING },
		{ BEFORE, 10, 12, 0, REPLAY }, { AHEAD, 13, 12, 1, NOTHING },
		{ AHEAD, 14, 12, 2, NAK } }, RHCA_REPEATS_UNKNOWN, 2 },
	{ "a READ that comes twice was answered in vain", {
		{ AHEAD, 11, 10, 1, NAK }, { NEXT, 10, 12, 0, NOTHING },
		{ AGAIN_READ, 10, 12, 0, REPLAY }, { AHEAD, 13, 12, 1, NAK } },
	  RHCA_REPEATS_UNKNOWN, 1 },
	{ "a peer that repeats one packet has not heard of the next gap", {
		{ AHEAD, 11, 10, 1, NAK }, { AHEAD, 13, 10, 2, NOTHING },
		{ NEXT, 10, 12, 1, NAK }, { AHEAD, 14, 12, 2, NOTHING },
		{ BEFORE, 10, 12, 2, NAK, true } }, RHCA_REPEATS_ONE, 1 },
	{ "what is lost is not late any more", {
		{ AHEAD, 11, 10, 1, NAK }, { NEXT, 10, 12, 0, NOTHING },
		{ BEFORE, 10, 12, 0, REPLAY }, { AHEAD, 13, 12, 1, NOTHING },
		{ AHEAD, 14, 12, 2, NAK }, { NEXT, 12, 15, 0, NOTHING },
		{ AHEAD, 16, 15, 1, NOTHING }, { AHEAD, 17, 15, 2, NAK } },
	  RHCA_REPEATS_ONE, 1 },
	{ "behind the wrap", {
		{ AHEAD, 0, 0xffffff, 1, NAK }, { AHEAD, 1, 0xffffff, 2, NOTHING },
		{ NEXT, 0xffffff, 2, 0, NOTHING }, { AHEAD, 3, 2, 1, NAK } },
	  RHCA_REPEATS_ONE, 1 },
};
KUNIT_ARRAY_PARAM_DESC(rule, rule_cases, desc);

static enum said arrive(struct rhca_hold_rule *rule, const struct step *s)
{
	switch (s->place) {
	case AHEAD:
	case TWICE:
		return rhca_hold_rule_ahead(rule, s->psn, s->expected, s->held,
					    s->place == TWICE, s->asks) ?
			NAK : NOTHING;
	case NEXT:
		return rhca_hold_rule_filled(rule, s->psn, s->expected,
					     s->held) ? NAK : NOTHING;
	default:
		switch (rhca_hold_rule_duplicate(rule, &(struct rhca_duplicate) {
				.psn = s->psn, .expected = s->expected,
				.num_held = s->held, .ack_req = s->asks,
				.is_read = s->place == AGAIN_READ })) {
		case RHCA_DUP_REPLAY:
			return REPLAY;
		case RHCA_DUP_NAK:
			return NAK;
		default:
			return NOTHING;
		}
	}
}

static void nak_follows_the_rule(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	struct rhca_hold_rule rule;
	int i;

	rhca_hold_rule_reset(&rule);
	rhca_hold_rule_in_order(&rule, rhca_psn_sub(c->steps[0].expected, 1));
	for (i = 0; i < MAX_STEPS && c->steps[i].place != END; i++)
		KUNIT_EXPECT_EQ_MSG(test, arrive(&rule, &c->steps[i]),
				    c->steps[i].said, "step %d", i);
	KUNIT_EXPECT_EQ(test, rule.repeats, c->repeats);
	KUNIT_EXPECT_EQ(test, rule.nak_after, c->nak_after);
}

static void packets_in_order_lower_the_wait(struct kunit *test)
{
	struct rhca_hold_rule rule;
	u32 psn;

	rhca_hold_rule_reset(&rule);
	rule.nak_after = 4;
	for (psn = 0; psn < 1023; psn++)
		rhca_hold_rule_in_order(&rule, psn);
	KUNIT_EXPECT_EQ(test, rule.nak_after, 4);
	rhca_hold_rule_in_order(&rule, psn++);
	KUNIT_EXPECT_EQ(test, rule.nak_after, 2);
	for (; psn < 10000; psn++)
		rhca_hold_rule_in_order(&rule, psn);
	KUNIT_EXPECT_EQ(test, rule.nak_after, 1);
}

static struct kunit_case hold_rule_cases[] = {
	KUNIT_CASE_PARAM(nak_follows_the_rule, rule_gen_params),
	KUNIT_CASE(packets_in_order_lower_the_wait),
	{}
};

TEST_SUITE("rhca_hold_rule", hold_rule_cases);
