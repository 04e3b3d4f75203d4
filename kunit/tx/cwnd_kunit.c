// SPDX-License-Identifier: GPL-2.0
/* How many packets may be in flight, and the round-trip time after a loss. */
#include <linux/time64.h>

#include "lib/suite.h"
#include "sw/qp/cwnd.h"
#include "sw/qp/rtt.h"

#define FIRST_PSN	0xfffff0	/* all PSNs wrap */

static u32 psn(u32 n)
{
	return (FIRST_PSN + n) & 0xffffff;
}

/* --- congestion window ----------------------------------------------------- */

static void window_doubles_up_to_its_maximum(struct kunit *test)
{
	static const u16 expected[] = { 64, 128, 128, 128 };
	struct rhca_cwnd cwnd;
	u32 acked = 0;
	int i;

	rhca_cwnd_reset(&cwnd);
	KUNIT_EXPECT_EQ(test, cwnd.packets, RHCA_CWND_INITIAL);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		acked += cwnd.packets;
		rhca_cwnd_acked(&cwnd, cwnd.packets, psn(acked));
		KUNIT_EXPECT_EQ(test, cwnd.packets, expected[i]);
	}
}

static void window_halves_once_for_packets_in_flight(struct kunit *test)
{
	struct rhca_cwnd cwnd;

	rhca_cwnd_reset(&cwnd);
	rhca_cwnd_lost(&cwnd, psn(3), psn(32));
	KUNIT_EXPECT_EQ(test, cwnd.packets, 16);
	rhca_cwnd_lost(&cwnd, psn(3), psn(32));
	rhca_cwnd_lost(&cwnd, psn(31), psn(40));
	KUNIT_EXPECT_EQ(test, cwnd.packets, 16);
	rhca_cwnd_lost(&cwnd, psn(32), psn(48));
	KUNIT_EXPECT_EQ(test, cwnd.packets, 8);
	/* Packets in flight have arrived: the next loss is a new one */
	rhca_cwnd_acked(&cwnd, 1, psn(48));
	rhca_cwnd_lost(&cwnd, psn(40), psn(49));
	KUNIT_EXPECT_EQ(test, cwnd.packets, 4);
	/* It never closes */
	rhca_cwnd_lost(&cwnd, psn(49), psn(50));
	rhca_cwnd_lost(&cwnd, psn(50), psn(51));
	KUNIT_EXPECT_EQ(test, cwnd.packets, RHCA_CWND_MIN);
}

static void window_grows_by_one_after_a_loss(struct kunit *test)
{
	struct rhca_cwnd cwnd;
	u32 i;

	rhca_cwnd_reset(&cwnd);
	rhca_cwnd_lost(&cwnd, psn(0), psn(32));
	for (i = 16; i < RHCA_SEND_WINDOW; i++) {
		KUNIT_ASSERT_EQ(test, cwnd.packets, i);
		rhca_cwnd_acked(&cwnd, i - 1, psn(0));
		KUNIT_ASSERT_EQ(test, cwnd.packets, i);
		rhca_cwnd_acked(&cwnd, 1, psn(0));
	}
	rhca_cwnd_acked(&cwnd, RHCA_SEND_WINDOW, psn(0));
	KUNIT_EXPECT_EQ(test, cwnd.packets, RHCA_SEND_WINDOW);
}

static void window_restarts_after_a_timeout(struct kunit *test)
{
	static const u16 expected[] = { 4, 8, 16, 17 };
	struct rhca_cwnd cwnd;
	int i;

	rhca_cwnd_reset(&cwnd);
	rhca_cwnd_timed_out(&cwnd, psn(32));
	rhca_cwnd_timed_out(&cwnd, psn(32));
	KUNIT_EXPECT_EQ(test, cwnd.packets, RHCA_CWND_MIN);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		rhca_cwnd_acked(&cwnd, cwnd.packets, psn(1));
		KUNIT_EXPECT_EQ(test, cwnd.packets, expected[i]);
	}
}

/* --- round-trip time --------------------------------------------------------- */

static void measure(struct rhca_rtt *rtt, u32 sample, u64 at)
{
	rhca_rtt_begin(rtt, psn(0), at);
	rhca_rtt_end(rtt, at + sample);
}

static void timeout_follows_the_response_time(struct kunit *test)
{
	static const struct { u64 rtt, wanted; } rows[] = {
		{ 1, 60 }, { 20, 60 }, { 21, 63 }, { 30, 90 }, { 80, 240 }, { 81, 240 },
		{ 10000, 240 },
	};
	struct rhca_rtt rtt = {};
	int i;

	KUNIT_EXPECT_EQ(test, rhca_rtt_ack_ns(&rtt, 60000000), 60000000);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		rtt = (struct rhca_rtt) {};
		measure(&rtt, rows[i].rtt * NSEC_PER_MSEC, 1);
		KUNIT_EXPECT_EQ_MSG(test, rhca_rtt_ack_ns(&rtt, 60000000),
				    rows[i].wanted * NSEC_PER_MSEC,
				    "a first round trip of %llu ms", rows[i].rtt);
	}
}

/* RFC 6298, 2.2 and 2.3, with samples that divide evenly */
static void rtt_is_that_of_rfc_6298(struct kunit *test)
{
	struct rhca_rtt rtt = {};

	KUNIT_EXPECT_EQ(test, rhca_rtt_timeout(&rtt), 0);
	measure(&rtt, 8000, 1);
	KUNIT_EXPECT_EQ(test, rtt.smoothed, 8000);
	KUNIT_EXPECT_EQ(test, rtt.deviation, 4000);
	KUNIT_EXPECT_EQ(test, rhca_rtt_timeout(&rtt), 24000);
	measure(&rtt, 16000, 1);
	KUNIT_EXPECT_EQ(test, rtt.smoothed, 9000);	/* 7/8 8000 + 1/8 16000 */
	KUNIT_EXPECT_EQ(test, rtt.deviation, 5000);	/* 3/4 4000 + 1/4 8000 */
	measure(&rtt, 9000, 1);
	KUNIT_EXPECT_EQ(test, rtt.smoothed, 9000);
	KUNIT_EXPECT_EQ(test, rtt.deviation, 3750);
	KUNIT_EXPECT_EQ(test, rhca_rtt_timeout(&rtt), 24000);
}

/* Karn: with two copies of a packet, it is unknown which one is answered */
static void retransmitted_packet_is_not_timed(struct kunit *test)
{
	struct rhca_rtt rtt = {};

	rhca_rtt_begin(&rtt, psn(20), 1);
	KUNIT_EXPECT_FALSE(test, rhca_rtt_is_idle(&rtt));
	KUNIT_EXPECT_FALSE(test, rhca_rtt_ends(&rtt, psn(20)));
	KUNIT_EXPECT_TRUE(test, rhca_rtt_ends(&rtt, psn(21)));
	rhca_rtt_forget(&rtt, psn(21));
	KUNIT_EXPECT_TRUE(test, rhca_rtt_ends(&rtt, psn(21)));
	rhca_rtt_forget(&rtt, psn(20));
	KUNIT_EXPECT_TRUE(test, rhca_rtt_is_idle(&rtt));
	KUNIT_EXPECT_FALSE(test, rhca_rtt_ends(&rtt, psn(21)));
}

static u32 not_timed(const struct rhca_rtt *rtt)
{
	u32 num = 0;

	while (!rhca_rtt_is_due(rtt, psn(num)))
		num++;
	return num;
}

/* Each packet timed costs two clock reads */
static void few_packets_are_timed_without_a_queue(struct kunit *test)
{
	struct rhca_rtt rtt = {};

	KUNIT_EXPECT_EQ(test, not_timed(&rtt), 0);
	measure(&rtt, 10000, 1);
	KUNIT_EXPECT_EQ(test, not_timed(&rtt), 128);
	measure(&rtt, 20000, 2);
	KUNIT_EXPECT_EQ(test, not_timed(&rtt), 128);
	measure(&rtt, 400000, 3);	/* a queue */
	KUNIT_EXPECT_EQ(test, not_timed(&rtt), 0);
	measure(&rtt, 10000, 4);
	rhca_rtt_forget(&rtt, psn(0));	/* retransmitted packets are timed at once */
	KUNIT_EXPECT_EQ(test, not_timed(&rtt), 0);
}

static const struct queue_case {
	const char *desc;
	u32 least_us;
	u32 now_us;
	bool queued;
} queue_cases[] = {
	{ "nothing measured",		0,	0,	true },
	{ "short path",			20,	20,	false },
	{ "busy host",			20,	260,	false },
	{ "full queue",			20,	1700,	true },
	{ "just above",			20,	280,	true },
	{ "long path",			2000,	2000,	false },
	{ "long path, short queue",	2000,	2400,	false },
	{ "long path, full queue",	2000,	2600,	true },
	{ "queue full from the start", 15000, 15000, true },
};
KUNIT_ARRAY_PARAM_DESC(queue, queue_cases, desc);

static void queue_shows_in_the_round_trip_time(struct kunit *test)
{
	const struct queue_case *c = test->param_value;
	struct rhca_rtt rtt = {};
	int i;

	if (c->least_us)
		measure(&rtt, c->least_us * NSEC_PER_USEC, 1);
	for (i = 0; c->now_us && i < 60; i++)
		measure(&rtt, c->now_us * NSEC_PER_USEC, 1);
	KUNIT_EXPECT_EQ(test, rhca_rtt_is_queued(&rtt), c->queued);
}

static void minimum_rtt_is_of_the_last_ten_seconds(struct kunit *test)
{
	struct rhca_rtt rtt = {};

	measure(&rtt, 20000, 1);
	measure(&rtt, 3000000, RHCA_RTT_MIN_WINDOW_NS / 2);
	KUNIT_EXPECT_EQ(test, rtt.least, 20000);
	measure(&rtt, 3000000, RHCA_RTT_MIN_WINDOW_NS + 30000);
	KUNIT_EXPECT_EQ(test, rtt.least, 3000000);
}

TEST_SUITE(rhca_cwnd,
	   KUNIT_CASE(window_doubles_up_to_its_maximum),
	   KUNIT_CASE(window_halves_once_for_packets_in_flight),
	   KUNIT_CASE(window_grows_by_one_after_a_loss),
	   KUNIT_CASE(window_restarts_after_a_timeout),
	   KUNIT_CASE(timeout_follows_the_response_time),
	   KUNIT_CASE(rtt_is_that_of_rfc_6298),
	   KUNIT_CASE(retransmitted_packet_is_not_timed),
	   KUNIT_CASE(few_packets_are_timed_without_a_queue),
	   KUNIT_CASE_PARAM(queue_shows_in_the_round_trip_time, queue_gen_params),
	   KUNIT_CASE(minimum_rtt_is_of_the_last_ten_seconds));
