// SPDX-License-Identifier: GPL-2.0
/* A requester's reactions to losses, and how long it waits: sequences of events. */
#include "lib/suite.h"
#include "sw/tx/recover.h"
#include "sw/qp/rtt.h"

#define MAX_STEPS	8
#define ROUND_TRIP	(20 * NSEC_PER_USEC)

enum event {
	END,
	NAK,		/* @psn is missing */
	AHEAD,		/* a response with @psn arrived before @oldest */
	TWICE,		/* the same, for the second time */
	MORE,		/* nothing arrives; responses from @oldest to @psn are requested, too */
	ACK,		/* an ACK acknowledges all before @psn */
	DATA,		/* a response does */
	PROBE,		/* nothing arrives; @psn is the oldest */
};

#define NOTHING	RHCA_RECOVER_NOTHING
#define REPEAT	RHCA_RECOVER_REPEAT
#define REWIND	RHCA_RECOVER_REWIND

/* An event */
struct step {
	enum event event;			/* its kind */
	u32 psn;				/* of the packet */
	u32 us;					/* time, in microseconds */
	enum rhca_recover_action action;	/* expected action */
	u32 oldest;				/* AHEAD, TWICE, MORE: the missing PSN */
};

#define FLOW	RHCA_RECOVER_FLOW
#define ONE	RHCA_RECOVER_ONE
#define BACK	RHCA_RECOVER_BACK
#define UNKNOWN	RHCA_PEER_UNKNOWN
#define HOLDS	RHCA_PEER_HOLDS
#define DROPS	RHCA_PEER_DROPS

/* PSNs 10 to 29 have been sent */
#define NEWEST	30

static const struct recover_case {
	const char *desc;
	/* the final state */
	enum rhca_recover_mode mode;
	enum rhca_peer_kind peer;
	bool sends_new;
	struct step steps[MAX_STEPS];
	u32 path_us;
} recover_cases[] = {
	{ "first loss: no new packets until the peer answers", ONE, UNKNOWN, false, {
		{ NAK, 10, 0, REPEAT } } },
	{ "ACK beyond the retransmission: the peer holds", ONE, HOLDS, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 15, 20, NOTHING } } },
	{ "ACK of all that was sent: recovered", FLOW, HOLDS, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 30, 20, NOTHING } } },
	{ "ACK of just the retransmission: the peer drops", BACK, DROPS, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 11, 20, REWIND } } },
	{ "peer that drops: go back at once", BACK, DROPS, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 11, 20, REWIND }, { ACK, 30, 60, NOTHING },
		{ NAK, 30, 100, REWIND } } },
	{ "peer that drops is tried again after 10 ms", ONE, UNKNOWN, false, {
		{ NAK, 10, 0, REPEAT }, { ACK, 11, 20, REWIND }, { ACK, 30, 60, NOTHING },
		{ NAK, 30, 10019, REWIND }, { NAK, 31, 10020, REPEAT } } },
	{ "and, if it held then, 10 ms after it drops again", ONE, UNKNOWN, false, {
		{ NAK, 10, 0, REPEAT }, { ACK, 11, 20, REWIND }, { NAK, 12, 10020, REPEAT },
		{ ACK, 15, 10030, NOTHING }, { NAK, 15, 10031, REPEAT },
		{ ACK, 16, 10040, REWIND }, { NAK, 17, 10060, REPEAT } } },
	{ "the last packet was lost", FLOW, UNKNOWN, true, {
		{ NAK, 29, 0, REPEAT }, { ACK, 30, 20, NOTHING } } },
	{ "peer that held drops once", BACK, UNKNOWN, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 15, 20, NOTHING }, { NAK, 15, 21, REPEAT },
		{ ACK, 16, 40, REWIND } } },
	{ "NAK from before the retransmission is ignored", ONE, UNKNOWN, false, {
		{ NAK, 10, 0, REPEAT }, { NAK, 10, 39, NOTHING } } },
	{ "retransmission is lost", ONE, UNKNOWN, false, {
		{ NAK, 10, 0, REPEAT }, { NAK, 10, 40, REPEAT } } },
	{ "retransmission is lost twice: the wait doubles", ONE, UNKNOWN, false, {
		{ NAK, 10, 0, REPEAT }, { NAK, 10, 40, REPEAT }, { NAK, 10, 119, NOTHING },
		{ NAK, 10, 120, REPEAT } } },
	{ "retransmissions are answered later than a round trip", ONE, HOLDS, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 15, 50, NOTHING }, { NAK, 15, 50, REPEAT },
		{ NAK, 15, 149, NOTHING }, { NAK, 15, 150, REPEAT } } },
	{ "retransmissions are answered sooner than a round trip", ONE, HOLDS, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 15, 5, NOTHING }, { NAK, 15, 5, REPEAT },
		{ NAK, 15, 24, NOTHING }, { NAK, 15, 25, REPEAT } } },
	{ "one gap after the other", ONE, HOLDS, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 15, 20, NOTHING }, { NAK, 15, 20, REPEAT },
		{ ACK, 20, 40, NOTHING }, { NAK, 20, 40, REPEAT } } },
	{ "consecutive losses on a long path: go back", BACK, UNKNOWN, true, {
		{ NAK, 10, 0, REPEAT }, { NAK, 11, 20, REPEAT }, { NAK, 12, 40, REPEAT },
		{ NAK, 13, 60, REWIND } }, 500 },
	{ "consecutive losses on a short path: one by one", ONE, UNKNOWN, false, {
		{ NAK, 10, 0, REPEAT }, { NAK, 11, 20, REPEAT }, { NAK, 12, 40, REPEAT },
		{ NAK, 13, 60, REPEAT }, { NAK, 14, 80, REPEAT } }, 499 },
	{ "probe", ONE, UNKNOWN, false, { { PROBE, 10, 0, REPEAT } } },
	{ "second probe: go back", BACK, UNKNOWN, true, {
		{ PROBE, 10, 0, REPEAT }, { PROBE, 10, 1000, REWIND } } },
	{ "second probe to a peer that holds: one packet", ONE, HOLDS, true, {
		{ NAK, 10, 0, REPEAT }, { ACK, 15, 20, NOTHING }, { PROBE, 15, 300, REPEAT },
		{ PROBE, 15, 600, REPEAT } } },
	{ "only the retransmitted READ is answered: the peer drops", BACK, DROPS, true, {
		{ NAK, 10, 0, REPEAT }, { DATA, 11, 20, NOTHING }, { PROBE, 11, 900, REWIND } } },
	{ "the same from a peer that held", ONE, UNKNOWN, false, {
		{ NAK, 10, 0, REPEAT }, { ACK, 15, 20, NOTHING }, { NAK, 15, 40, REPEAT },
		{ DATA, 16, 60, NOTHING }, { PROBE, 16, 900, REPEAT } } },
	{ "missing response is requested once", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { AHEAD, 12, 1, NOTHING, 10 },
		{ AHEAD, 29, 90, NOTHING, 10 } } },
	{ "response to a later request: the request was lost", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { AHEAD, 30, 40, REPEAT, 10 } } },
	{ "duplicate response after the gap: the response was lost", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { TWICE, 11, 30, REPEAT, 10 } } },
	{ "further duplicates of that response are ignored", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { TWICE, 11, 3, REPEAT, 10 },
		{ TWICE, 12, 4, NOTHING, 10 }, { TWICE, 13, 5, NOTHING, 10 } } },
	{ "later missing responses are requested at once, and once", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { MORE, 32, 1, NOTHING, 24 },
		{ DATA, 24, 30, NOTHING }, { AHEAD, 23, 31, NOTHING, 24 },
		{ AHEAD, 33, 32, REPEAT, 32 } } },
	{ "one of those is answered first: those before it were lost", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { MORE, 32, 1, NOTHING, 24 },
		{ TWICE, 25, 30, REPEAT, 10 }, { TWICE, 26, 31, NOTHING, 10 },
		{ DATA, 27, 40, NOTHING }, { AHEAD, 26, 41, NOTHING, 27 } } },
	{ "earlier ones were lost", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { MORE, 32, 1, NOTHING, 24 },
		{ TWICE, 25, 30, REPEAT, 10 }, { DATA, 20, 40, NOTHING },
		{ AHEAD, 19, 41, REPEAT, 20 }, { DATA, 28, 60, NOTHING },
		{ AHEAD, 27, 61, NOTHING, 28 } } },
	{ "NAK does not request them again", ONE, HOLDS, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { MORE, 32, 1, NOTHING, 24 },
		{ DATA, 20, 10, NOTHING }, { NAK, 20, 11, REPEAT }, { DATA, 24, 20, NOTHING },
		{ AHEAD, 23, 21, NOTHING, 24 } } },
	{ "recovery continues until the last of them arrives", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { MORE, 48, 1, NOTHING, 40 },
		{ DATA, 40, 30, NOTHING }, { AHEAD, 39, 31, NOTHING, 40 } } },
	{ "recovery ends with the last of them", FLOW, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { MORE, 48, 1, NOTHING, 40 },
		{ DATA, 48, 30, NOTHING } } },
	{ "the next response is missing", ONE, UNKNOWN, true, {
		{ AHEAD, 11, 0, REPEAT, 10 }, { DATA, 18, 30, NOTHING },
		{ AHEAD, 20, 31, REPEAT, 18 } } },
};
KUNIT_ARRAY_PARAM_DESC(recover, recover_cases, desc);

static enum rhca_recover_action hear(struct rhca_recover *recover,
				     const struct step *s, u32 path_us,
				     u32 *newest)
{
	struct rhca_loss loss = {
		.psn = s->psn, .newest = *newest, .round_trip = ROUND_TRIP,
		.path = path_us * NSEC_PER_USEC,
		.now = NSEC_PER_SEC + s->us * (u64)NSEC_PER_USEC, .one = true,
	};

	enum rhca_recover_action action;

	switch (s->event) {
	case NAK:
		if (s->psn >= *newest)	/* more packets were sent meanwhile */
			loss.newest = *newest = s->psn + 10;
		return rhca_recover_nak(recover, &loss);
	case AHEAD:
	case TWICE:
		loss.held = true;
		loss.psn = s->oldest;
		action = rhca_recover_ahead(recover, &loss, s->psn, s->event == TWICE);
		if (action == REPEAT)	/* of a READ: up to the end of its chunk */
			rhca_recover_asks(recover, s->oldest, s->oldest + 8);
		return action;
	case MORE:
		rhca_recover_asks(recover, s->oldest, s->psn);
		return NOTHING;
	case PROBE:
		return rhca_recover_probe(recover, &loss);
	case ACK:
		rhca_recover_acked(recover, s->psn, loss.now);
		return rhca_recover_acked_alone(recover, s->psn, loss.now);
	default:
		rhca_recover_acked(recover, s->psn, loss.now);
		return NOTHING;
	}
}

static void loss_is_recovered(struct kunit *test)
{
	const struct recover_case *c = test->param_value;
	struct rhca_recover recover = {};
	u32 newest = NEWEST;
	int i;

	for (i = 0; i < MAX_STEPS && c->steps[i].event != END; i++)
		KUNIT_EXPECT_EQ_MSG(test, c->steps[i].action,
				    hear(&recover, &c->steps[i], c->path_us, &newest),
				    "step %d", i);
	KUNIT_EXPECT_EQ(test, recover.mode, c->mode);
	KUNIT_EXPECT_EQ(test, recover.peer, c->peer);
	KUNIT_EXPECT_EQ(test, rhca_recover_sends_new(&recover), c->sends_new);
}

static void peer_that_drops_is_tried_less_and_less_often(struct kunit *test)
{
	struct rhca_loss loss = { .psn = 10, .newest = NEWEST, .one = true, .now = NSEC_PER_SEC };
	u64 wait = 10 * NSEC_PER_MSEC;
	struct rhca_recover recover = {};
	int i;

	for (i = 0; i < 12; i++) {
		KUNIT_EXPECT_EQ(test, rhca_recover_nak(&recover, &loss), REPEAT);
		rhca_recover_acked(&recover, loss.psn + 1, loss.now);
		KUNIT_EXPECT_EQ(test, REWIND,
				rhca_recover_acked_alone(&recover, loss.psn + 1, loss.now));
		loss.now += wait - 1;
		loss.psn += 2;
		KUNIT_EXPECT_EQ_MSG(test, rhca_recover_nak(&recover, &loss), REWIND, "%d", i);
		rhca_recover_acked(&recover, loss.newest, loss.now++);
		loss.psn = loss.newest;
		loss.newest += 20;
		wait = min_t(u64, 2 * wait, 1280 * NSEC_PER_MSEC);
	}
}

static void loss_costs_the_window_where_the_peer_drops(struct kunit *test)
{
	struct rhca_recover recover = { .peer = RHCA_PEER_DROPS };

	KUNIT_EXPECT_TRUE(test, rhca_recover_costs_window(&recover, 0));
	KUNIT_EXPECT_TRUE(test, rhca_recover_costs_window(&recover, 499999));
	KUNIT_EXPECT_FALSE(test, rhca_recover_costs_window(&recover, 500000));
	recover.peer = RHCA_PEER_UNKNOWN;
	KUNIT_EXPECT_FALSE(test, rhca_recover_costs_window(&recover, 0));
}

static void no_single_packet_is_retransmitted_if_disabled(struct kunit *test)
{
	struct rhca_loss loss = { .psn = 10, .newest = NEWEST, .now = 1 };
	struct rhca_recover recover = {};

	KUNIT_EXPECT_EQ(test, rhca_recover_nak(&recover, &loss), REWIND);
	KUNIT_EXPECT_EQ(test, rhca_recover_probe(&recover, &loss), REWIND);
}

#define US(n)	((n) * (u64)NSEC_PER_USEC)

/* With two copies it is unknown which one is answered, and a probe may merely have been early */
static void only_first_retransmissions_are_timed(struct kunit *test)
{
	struct rhca_loss loss = { .psn = 10, .newest = NEWEST, .one = true,
				  .now = NSEC_PER_SEC };
	struct rhca_recover recover = {};

	rhca_recover_nak(&recover, &loss);
	KUNIT_EXPECT_TRUE(test, rhca_recover_acked(&recover, 15, loss.now + 5000));
	KUNIT_EXPECT_EQ(test, recover.answer_ns, 5000);
	loss.psn = 15;
	rhca_recover_probe(&recover, &loss);
	KUNIT_EXPECT_FALSE(test, rhca_recover_acked(&recover, 20, loss.now + 9));
	loss.psn = 20;
	rhca_recover_nak(&recover, &loss);
	loss.now += NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, rhca_recover_nak(&recover, &loss), REPEAT);
	KUNIT_EXPECT_FALSE(test, rhca_recover_acked(&recover, 25, loss.now + 9));
	/* Of what has been sent since, everything was repeated, too */
	loss.newest = NEWEST + 10;
	rhca_recover_repeats(&recover, loss.newest);
	for (loss.psn = 26; loss.psn < loss.newest; loss.psn += 2) {
		KUNIT_EXPECT_EQ(test, rhca_recover_nak(&recover, &loss), REPEAT);
		KUNIT_EXPECT_FALSE(test, rhca_recover_acked(&recover, loss.psn + 2, loss.now + 9));
	}
	KUNIT_EXPECT_EQ(test, recover.answer_ns, 5000);
	KUNIT_EXPECT_EQ(test, rhca_recover_nak(&recover, &loss), REPEAT);
	KUNIT_EXPECT_TRUE(test, rhca_recover_acked(&recover, loss.psn + 2, loss.now + 5000));
}

/* Whichever copy is answered: the round trip is not shorter than the time since the last */
static void answer_to_any_copy_bounds_the_round_trip(struct kunit *test)
{
	struct rhca_loss loss = { .psn = 10, .newest = NEWEST, .now = NSEC_PER_SEC };
	struct rhca_recover recover = {};

	KUNIT_EXPECT_EQ(test, rhca_recover_answered_after(&recover, 15, loss.now), 0);
	rhca_recover_repeats(&recover, loss.newest);
	KUNIT_EXPECT_EQ(test, rhca_recover_nak(&recover, &loss), REWIND);
	KUNIT_EXPECT_EQ(test, rhca_recover_answered_after(&recover, 10, loss.now + 9), 0);
	KUNIT_EXPECT_EQ(test, rhca_recover_answered_after(&recover, 11, loss.now + 9), 9);
	KUNIT_EXPECT_EQ(test, rhca_recover_answered_after(&recover, 11, 9 * loss.now), loss.now);
	KUNIT_EXPECT_FALSE(test, rhca_recover_acked(&recover, 11, loss.now + 9));
	KUNIT_EXPECT_EQ(test, rhca_recover_answered_after(&recover, 12, loss.now + 20), 0);
}

/* A queue that was empty when the last packet was timed may be full now */
static void answers_show_queueing_delay(struct kunit *test)
{
	struct rhca_rtt rtt = {};

	rhca_rtt_at_least(&rtt, US(9000));
	KUNIT_EXPECT_EQ(test, rtt.smoothed, 0);
	rtt.least = US(100);
	rtt.smoothed = US(100);
	rhca_rtt_at_least(&rtt, US(349));
	KUNIT_EXPECT_EQ(test, rtt.smoothed, US(100));
	KUNIT_EXPECT_FALSE(test, rhca_rtt_is_queued(&rtt));
	rhca_rtt_at_least(&rtt, US(1300));
	KUNIT_EXPECT_EQ(test, rtt.smoothed, US(250));
	rhca_rtt_at_least(&rtt, US(1300));
	KUNIT_EXPECT_TRUE(test, rhca_rtt_is_queued(&rtt));
	KUNIT_EXPECT_EQ(test, rtt.least, US(100));
	rtt.smoothed = US(2000);
	rhca_rtt_at_least(&rtt, US(1300));
	KUNIT_EXPECT_EQ(test, rtt.smoothed, US(2000));
}

/* A probe that is answered within the round trip has repaired a loss, and later packets waited */
static void packet_after_a_probe_gives_no_round_trip_time(struct kunit *test)
{
	struct rhca_rtt rtt = { .least = 2 * NSEC_PER_MSEC };
	struct rhca_loss loss = { .psn = 10, .newest = NEWEST, .one = true, .now = NSEC_PER_SEC };
	u64 direct = loss.now + rtt.least, queued = direct + rtt.least / 4;
	struct rhca_recover recover = {};

	KUNIT_EXPECT_FALSE(test, rhca_recover_delayed(&recover, &rtt, direct));
	rhca_recover_probe(&recover, &loss);
	KUNIT_EXPECT_FALSE(test, rhca_recover_delayed(&recover, &rtt, direct - 1));
	KUNIT_EXPECT_TRUE(test, rhca_recover_delayed(&recover, &rtt, direct));
	KUNIT_EXPECT_TRUE(test, rhca_recover_delayed(&recover, &rtt, queued - 1));
	KUNIT_EXPECT_FALSE(test, rhca_recover_delayed(&recover, &rtt, queued));
	rtt.least = 0;		/* not known yet */
	KUNIT_EXPECT_FALSE(test, rhca_recover_delayed(&recover, &rtt, direct));
	rtt.least = 2 * NSEC_PER_MSEC;
	/* Nothing is missing any more */
	rhca_recover_acked(&recover, NEWEST, direct);
	KUNIT_EXPECT_FALSE(test, rhca_recover_delayed(&recover, &rtt, direct));
	/* What a NAK named is no probe */
	loss.psn = NEWEST;
	loss.newest = NEWEST + 10;
	KUNIT_EXPECT_EQ(test, rhca_recover_nak(&recover, &loss), REPEAT);
	KUNIT_EXPECT_FALSE(test, rhca_recover_delayed(&recover, &rtt, direct));
	/* All that a probe has found missing is repeated: nothing waits for the probe */
	KUNIT_EXPECT_EQ(test, rhca_recover_probe(&recover, &loss), REPEAT);
	rhca_recover_acked(&recover, NEWEST + 1, loss.now);
	KUNIT_EXPECT_EQ(test, rhca_recover_acked_alone(&recover, NEWEST + 1, loss.now), REWIND);
	KUNIT_EXPECT_FALSE(test, rhca_recover_delayed(&recover, &rtt, direct));
}

/* --- waiting ---------------------------------------------------------------- */

static const struct wait_case {
	const char *desc;
	u32 smoothed;
	u32 deviation;
	bool recovering;
	u32 answer;
	u32 tries;
	u64 most;
	u64 wait;
} wait_cases[] = {
	{ "nothing measured", 0, 0, false, 0, 0, US(67000), US(4000) },
	{ "not longer than the ACK timeout", 0, 0, false, 0, 0, US(2000), US(2000) },
	{ "a short path", 20000, 5000, false, 0, 0, US(67000), US(1000) },
	{ "a short path that loses", 20000, 5000, true, 0, 0, US(67000), US(200) },
	{ "twice as long", 20000, 5000, true, 0, 1, US(67000), US(400) },
	{ "doubled up to 5 times", 20000, 5000, true, 0, 5, US(67000), US(6400) },
	{ "up to the ACK timeout", 20000, 5000, true, 0, 255, US(67000), US(67000) },
	{ "a long path", US(2000), US(100), true, 0, 0, US(67000), US(4000) },
	{ "a path that varies", US(2000), US(900), false, 0, 0, US(67000), US(5600) },
	{ "answers arrive sooner than a full window", US(200), US(100), true, US(90), 0,
	  US(67000), US(360) },
	{ "much sooner, after two probes", US(200), US(100), true, US(9), 2, US(67000), US(800) },
	{ "later than a full window", US(20), US(5), true, US(900), 0, US(67000), US(200) },
	{ "a full queue", US(900), US(100), true, US(9), 0, US(67000), US(1800) },
};
KUNIT_ARRAY_PARAM_DESC(wait, wait_cases, desc);

static void probe_waits_for_the_expected_answer(struct kunit *test)
{
	const struct wait_case *c = test->param_value;
	struct rhca_rtt rtt = {
		.smoothed = c->smoothed, .deviation = c->deviation,
	};

	KUNIT_EXPECT_EQ(test, c->wait,
			rhca_rtt_probe_ns(&rtt, c->recovering, c->answer, c->tries,
					  c->most));
}

/* If the first packets of a window were all lost, nothing else has been timed */
static void answer_to_a_retransmission_counts_without_other_samples(struct kunit *test)
{
	struct rhca_rtt rtt = {};

	rhca_rtt_repeat_answered(&rtt, 40000);
	KUNIT_EXPECT_EQ(test, rtt.smoothed, 40000);
	KUNIT_EXPECT_EQ(test, US(1000), rhca_rtt_probe_ns(&rtt, false, 0, 0, US(67000)));
	KUNIT_EXPECT_EQ(test, rtt.least, 0);
	KUNIT_EXPECT_FALSE(test, rhca_rtt_is_queued(&rtt));
	rhca_rtt_repeat_answered(&rtt, 90000);
	KUNIT_EXPECT_EQ(test, rtt.smoothed, 40000);
}

TEST_SUITE(rhca_recover,
	   KUNIT_CASE_PARAM(loss_is_recovered, recover_gen_params),
	   KUNIT_CASE(peer_that_drops_is_tried_less_and_less_often),
	   KUNIT_CASE(loss_costs_the_window_where_the_peer_drops),
	   KUNIT_CASE(no_single_packet_is_retransmitted_if_disabled),
	   KUNIT_CASE(only_first_retransmissions_are_timed),
	   KUNIT_CASE(answer_to_any_copy_bounds_the_round_trip),
	   KUNIT_CASE(answers_show_queueing_delay),
	   KUNIT_CASE(packet_after_a_probe_gives_no_round_trip_time),
	   KUNIT_CASE_PARAM(probe_waits_for_the_expected_answer, wait_gen_params),
	   KUNIT_CASE(answer_to_a_retransmission_counts_without_other_samples));
