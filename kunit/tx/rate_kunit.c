// SPDX-License-Identifier: GPL-2.0
/* The rate of a QP: what CNPs, time and bytes make of it. */
#include <kunit/test.h>
#include <linux/time64.h>

#include "lib/suite.h"
#include "sw/tx/rate.h"

#define PACKET	4096
#define FIRST	8000000		/* 8 Gbit/s */
#define BEGAN	(1000 * NSEC_PER_SEC)

static const struct rhca_cc defaults = RHCA_CC_DEFAULT;

static u64 at_us(u64 us)
{
	return BEGAN + us * NSEC_PER_USEC;
}

static struct rhca_rate begun(const struct rhca_cc *cc)
{
	struct rhca_rate rate;

	rhca_rate_begin(&rate, cc, FIRST, BEGAN);
	return rate;
}

/* Enough packets have been sent for each increase that is due */
static void pass(struct rhca_rate *rate, const struct rhca_cc *cc, u64 us)
{
	rate->bytes_since = U32_MAX;
	rhca_rate_catch_up(rate, cc, PACKET, at_us(us));
}

static void first_cnp_halves_the_rate(struct kunit *test)
{
	struct rhca_rate rate = begun(&defaults);

	KUNIT_EXPECT_TRUE(test, rhca_rate_cnp(&rate, &defaults, PACKET, at_us(1)));
	/* alpha / 2^rp_gd = 1023 / 2048 */
	KUNIT_EXPECT_EQ(test, rate.rate, FIRST - (u32)((u64)FIRST * 1023 / 2048));
	KUNIT_EXPECT_EQ(test, rate.target, FIRST);
}

static void cnps_in_a_row_are_one(struct kunit *test)
{
	struct rhca_rate rate = begun(&defaults);
	u32 once;

	rhca_rate_cnp(&rate, &defaults, PACKET, at_us(1));
	once = rate.rate;
	KUNIT_EXPECT_FALSE(test, rhca_rate_cnp(&rate, &defaults, PACKET, at_us(50)));
	KUNIT_EXPECT_EQ(test, rate.rate, once);
	KUNIT_EXPECT_TRUE(test, rhca_rate_cnp(&rate, &defaults, PACKET, at_us(51)));
	KUNIT_EXPECT_LT(test, rate.rate, once);
	/* Nothing was gained since the first: it still goes back to where it was */
	KUNIT_EXPECT_EQ(test, rate.target, FIRST);
}

/* Four packets of 4096 bytes take 2.62 ms at 50 Mbit/s, 1023/1024 of which is alpha's */
static void slow_qp_is_cut_once_in_four_packets(struct kunit *test)
{
	struct rhca_rate rate = begun(&defaults);

	rhca_rate_cnp(&rate, &defaults, PACKET, at_us(1));
	rate.rate = 50000;
	KUNIT_EXPECT_FALSE(test, rhca_rate_cnp(&rate, &defaults, PACKET, at_us(2619)));
	KUNIT_EXPECT_EQ(test, rate.rate, 50000);
	KUNIT_EXPECT_TRUE(test, rhca_rate_cnp(&rate, &defaults, PACKET, at_us(2620)));
	KUNIT_EXPECT_LT(test, rate.rate, 50000);
	/* What hardly reduces it is not waited for as long */
	rate.alpha = 100;
	rate.rate = 50000;
	KUNIT_EXPECT_TRUE(test, rhca_rate_cnp(&rate, &defaults, PACKET, at_us(2620 + 257)));
}

static void no_cnp_goes_below_the_least(struct kunit *test)
{
	struct rhca_rate rate = begun(&defaults);
	int i;

	for (i = 0; i < 100; i++)
		rhca_rate_cnp(&rate, &defaults, PACKET, at_us(20000 * i + 1));
	KUNIT_EXPECT_EQ(test, rate.rate, 10000);
}

static void alpha_decays_while_no_cnp_comes(struct kunit *test)
{
	static const struct {
		u32 periods;
		u16 alpha;
		bool marked;
		u16 expected;
	} rows[] = {
		{ 0, 1023, false, 1023 }, { 1, 1023, false, 1007 },
		{ 10, 1023, false, 870 }, { 100, 1023, false, 186 },
		{ 1, 500, true, 508 }, { 10000, 1023, false, 0 },
	};
	struct rhca_rate rate;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		rate = begun(&defaults);
		rate.alpha = rows[i].alpha;
		rate.marked = rows[i].marked;
		rhca_rate_catch_up(&rate, &defaults, PACKET,
				   at_us(rows[i].periods * 55));
		KUNIT_EXPECT_EQ_MSG(test, rate.alpha, rows[i].expected,
				    "row %u", i);
		KUNIT_EXPECT_FALSE(test, rate.marked && rows[i].periods);
	}
}

/* Half of the way back each time; behind rp_threshold the target grows, too */
static void rate_recovers_and_then_grows(struct kunit *test)
{
	struct rhca_cc cc = defaults;
	struct rhca_rate rate;

	cc.rp_threshold = 3;
	rate = begun(&cc);
	rhca_rate_cnp(&rate, &cc, PACKET, BEGAN);
	rate.rate = 4000000;
	pass(&rate, &cc, 300);
	KUNIT_EXPECT_EQ(test, rate.rate, 6000000);
	pass(&rate, &cc, 600);
	KUNIT_EXPECT_EQ(test, rate.rate, 7000000);
	KUNIT_EXPECT_EQ(test, rate.target, FIRST);
	pass(&rate, &cc, 900);		/* additive: 5 Mbit/s */
	KUNIT_EXPECT_EQ(test, rate.target, FIRST + 5000);
	rhca_rate_sent(&rate, &cc, 3 * 32767 * 64);
	pass(&rate, &cc, 1200);		/* hyper: 50, as bytes are there as well */
	KUNIT_EXPECT_EQ(test, rate.target, FIRST + 3 * 5000 + 2 * 50000);
}

static void increase_waits_for_packets(struct kunit *test)
{
	struct rhca_rate rate = begun(&defaults);
	u32 cut;

	rhca_rate_cnp(&rate, &defaults, PACKET, BEGAN);
	cut = rate.rate;
	rhca_rate_sent(&rate, &defaults, 15 * PACKET);
	rhca_rate_catch_up(&rate, &defaults, PACKET, at_us(2300));
	KUNIT_EXPECT_EQ(test, rate.rate, cut);
	rhca_rate_sent(&rate, &defaults, PACKET);
	rhca_rate_catch_up(&rate, &defaults, PACKET, at_us(2300));
	KUNIT_EXPECT_GT(test, rate.rate, cut);
}

/* At the rate that many CNPs have left, 16 packets take long */
static void increase_does_not_wait_for_ever(struct kunit *test)
{
	struct rhca_rate rate = begun(&defaults);
	u32 cut;

	rhca_rate_cnp(&rate, &defaults, PACKET, BEGAN);
	cut = rate.rate;
	rhca_rate_catch_up(&rate, &defaults, PACKET, at_us(2399));
	KUNIT_EXPECT_EQ(test, rate.rate, cut);
	rhca_rate_catch_up(&rate, &defaults, PACKET, at_us(2400));
	KUNIT_EXPECT_EQ(test, rate.rate, (cut + rate.target) / 2);
	KUNIT_EXPECT_EQ(test, rate.time_stage, 1);
}

/* In rp_dce_tcp_rtt, 55 us, a QP of 30 Mbit/s has sent no packet that could be marked */
static void alpha_of_a_slow_qp_decays_by_packets(struct kunit *test)
{
	struct rhca_rate slow = begun(&defaults), fast = begun(&defaults);

	slow.target = 30000;
	slow.rate = 30000;	/* 4096 bytes take 1.09 ms */
	rhca_rate_catch_up(&slow, &defaults, PACKET, at_us(1092));
	KUNIT_EXPECT_EQ(test, slow.alpha, 1023);
	rhca_rate_catch_up(&slow, &defaults, PACKET, at_us(1093));
	KUNIT_EXPECT_EQ(test, slow.alpha, 1023 * defaults.rp_dce_tcp_g / 1024);
	rhca_rate_catch_up(&fast, &defaults, PACKET, at_us(1093));
	KUNIT_EXPECT_LT(test, fast.alpha, 1000);
}

static void rate_that_is_not_used_is_not_what_is_reduced(struct kunit *test)
{
	struct rhca_cc cc = defaults;
	struct rhca_rate rate = begun(&cc);

	rhca_rate_used(&rate, &cc, 0);
	KUNIT_EXPECT_EQ(test, rate.rate, FIRST);
	rhca_rate_used(&rate, &cc, FIRST / 8);
	KUNIT_EXPECT_EQ(test, rate.rate, FIRST);
	rhca_rate_used(&rate, &cc, 25000);
	KUNIT_EXPECT_EQ(test, rate.rate, 200000);
	KUNIT_EXPECT_EQ(test, rate.target, 200000);
	rhca_rate_cnp(&rate, &cc, PACKET, at_us(1));
	KUNIT_EXPECT_LT(test, rate.rate, 101000);
	rhca_rate_used(&rate, &cc, 1);
	KUNIT_EXPECT_EQ(test, rate.rate, 10000);
	cc.rp_min_rate = 300;
	rate = begun(&cc);
	rhca_rate_used(&rate, &cc, 1);
	KUNIT_EXPECT_EQ(test, rate.rate, 300000);
}

static void small_byte_reset_is_no_long_loop(struct kunit *test)
{
	struct rhca_cc cc = defaults;
	struct rhca_rate rate;

	cc.rp_byte_reset = 1;
	rate = begun(&cc);
	rhca_rate_sent(&rate, &cc, U32_MAX);
	KUNIT_EXPECT_EQ(test, rate.bytes_left, 1);
	KUNIT_EXPECT_EQ(test, rate.byte_stage, 128);
}

static void no_rate_is_above_the_most(struct kunit *test)
{
	struct rhca_cc cc = defaults;
	struct rhca_rate rate;

	cc.rp_max_rate = 1000;
	rate = begun(&cc);
	KUNIT_EXPECT_EQ(test, rate.rate, 1000000);
	pass(&rate, &cc, 1000000);
	KUNIT_EXPECT_EQ(test, rate.rate, 1000000);
	cc.rp_max_rate = 100;
	pass(&rate, &cc, 1000001);
	KUNIT_EXPECT_EQ(test, rate.rate, 100000);
	KUNIT_EXPECT_EQ(test, rhca_rate_time(&rate, 12500), NSEC_PER_MSEC);
}

/* Whatever root has written into the files */
static void no_parameters_break_it(struct kunit *test)
{
	struct rhca_cc cc = {};
	struct rhca_rate rate;
	u32 i;

	rhca_rate_begin(&rate, &cc, 0, 0);
	for (i = 0; i < 1000; i++) {
		rhca_rate_sent(&rate, &cc, U32_MAX / 8);
		rhca_rate_catch_up(&rate, &cc, PACKET, i * NSEC_PER_SEC);
		rhca_rate_cnp(&rate, &cc, PACKET, i * NSEC_PER_SEC);
		KUNIT_ASSERT_GE(test, rate.rate, 1000);
		KUNIT_ASSERT_LE(test, rate.rate, RHCA_RATE_MOST);
		if (i == 500)
			memset(&cc, 0xff, sizeof(cc));
	}
}

TEST_SUITE(rhca_rate,
	   KUNIT_CASE(first_cnp_halves_the_rate),
	   KUNIT_CASE(cnps_in_a_row_are_one),
	   KUNIT_CASE(slow_qp_is_cut_once_in_four_packets),
	   KUNIT_CASE(no_cnp_goes_below_the_least),
	   KUNIT_CASE(alpha_decays_while_no_cnp_comes),
	   KUNIT_CASE(rate_recovers_and_then_grows),
	   KUNIT_CASE(increase_waits_for_packets),
	   KUNIT_CASE(increase_does_not_wait_for_ever),
	   KUNIT_CASE(alpha_of_a_slow_qp_decays_by_packets),
	   KUNIT_CASE(rate_that_is_not_used_is_not_what_is_reduced),
	   KUNIT_CASE(small_byte_reset_is_no_long_loop),
	   KUNIT_CASE(no_rate_is_above_the_most),
	   KUNIT_CASE(no_parameters_break_it));
