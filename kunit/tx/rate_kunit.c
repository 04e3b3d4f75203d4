// SPDX-License-Identifier: GPL-2.0
/* The rate of a QP after CNPs, time and bytes. */
#include <linux/time64.h>

#include "lib/suite.h"
#include "sw/tx/rate.h"

#define PACKET	4096
#define FIRST	8000000		/* 8 Gbit/s */
#define BEGAN	(1000 * NSEC_PER_SEC)
#define BYTE_RESET	(32767 * 64)	/* bytes between increases, by default */
/* The rate after a CNP: reduced by alpha / 2^rp_gd, 1023 / 2048 */
#define CUT(rate)	((rate) - (u32)((u64)(rate) * 1023 / 2048))
/* The rate after the first increase after it: the target has grown by 5 Mbit/s */
#define HALF_BACK	((CUT(FIRST) + FIRST + 5000) / 2)

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

enum event {
	END,
	CNP,		/* a CNP that counts; @n: the rate in use, 0: unknown */
	IGNORED,	/* a CNP that does not */
	TIME,		/* time passes */
	PASS,		/* likewise, and enough packets were sent for each increase due */
	SENT,		/* @n bytes are sent */
	RATE, TARGET, ALPHA,	/* are set to @n */
	MOST,		/* rp_max_rate is set to @n */
	TAKES,		/* expected duration of @n bytes */
};

#define ZERO		(-1)	/* expect 0; 0 itself means not checked */
#define MAX_STEPS	7

static const struct rate_case {
	const char *desc;
	struct step {
		enum event event;
		u32 n;
		u32 us;			/* time */
		u32 rate, target;	/* expected afterwards */
		int alpha, stage;	/* likewise; time stage */
	} step[MAX_STEPS];
	/* Parameters that differ from the defaults */
	u32 threshold, min_rate, max_rate, min_dec_fac, g;
} rate_cases[] = {
	{ "first CNP halves the rate", {
		{ TARGET, 2 * FIRST }, { CNP, 0, 1, CUT(FIRST), FIRST, 1023 } } },
	/* The rate has not increased since the first CNP, so it recovers to the original one */
	{ "CNPs within a period count once", {
		{ CNP, 0, 1 }, { IGNORED, 0, 50, CUT(FIRST) },
		{ CNP, 0, 51, CUT(CUT(FIRST)), FIRST } } },
	/*
	 * Four packets of 4096 bytes take 2.62 ms at 50 Mbit/s; alpha scales the wait, here by
	 * 1023/1024. After smaller cuts the wait is shorter.
	 */
	{ "slow QP is cut once in four packets", {
		{ CNP, 0, 1 }, { RATE, 50000 }, { IGNORED, 0, 2619, 50000 }, { CNP, 0, 2620 },
		{ ALPHA, 100 }, { RATE, 50000 }, { CNP, 0, 2620 + 257 } } },

	{ "alpha stays for a period", {
		{ TIME, 0, 0, .alpha = 1023 }, { TIME, 0, 54, .alpha = 1023 } } },
	{ "alpha decays", { { TIME, 0, 55, .alpha = 1007 } } },
	{ "alpha of 10 periods", { { TIME, 0, 550, .alpha = 870 } } },
	{ "alpha of 100 periods", { { TIME, 0, 5500, .alpha = 186 } } },
	{ "alpha of 10000 periods", { { TIME, 0, 550000, .alpha = ZERO } } },
	{ "alpha of a period with a CNP", {
		{ ALPHA, 500 }, { CNP, 0, 1 }, { TIME, 0, 55, .alpha = 508 },
		{ TIME, 0, 110, .alpha = 500 } } },
	{ "alpha rises by a CNP whatever its weight", {
		{ ALPHA, 0 }, { CNP, 0, 1 }, { TIME, 0, 55, .alpha = 1 } }, .g = 1023 },
	/* In a period, 55 us, it sends no packet that could be marked: 4096 bytes take 1.09 ms */
	{ "alpha of a slow QP decays by packets", {
		{ TARGET, 30000 }, { RATE, 30000 }, { TIME, 0, 1092, .alpha = 1023 },
		{ TIME, 0, 1093, .alpha = 1007 } } },

	/* Halfway back each time, then additive increase, then hyper increase due to the bytes */
	{ "rate recovers and then grows", {
		{ CNP }, { RATE, 4000000 }, { PASS, 0, 300, 6000000, FIRST },
		{ PASS, 0, 600, 7000000, FIRST }, { PASS, 0, 900, 7502500, FIRST + 5000 },
		{ SENT, 3 * BYTE_RESET }, { PASS, 0, 1200, 0, FIRST + 3 * 5000 + 2 * 50000 } },
	  .threshold = 3 },
	{ "increase waits for packets", {
		{ CNP }, { SENT, 15 * PACKET }, { TIME, 0, 2300, CUT(FIRST) }, { SENT, PACKET },
		{ TIME, 0, 2300, HALF_BACK, .stage = 1 }, { TIME, 0, 2600, HALF_BACK } } },
	/* At the rate after many CNPs, 16 packets take long */
	{ "increase waits for packets at most 8 periods", {
		{ CNP }, { TIME, 0, 2399, CUT(FIRST) },
		{ TIME, 0, 2400, HALF_BACK, .stage = 1 } } },

	{ "CNP restarts the increase by time", {
		{ CNP }, { TIME, 0, 2400, HALF_BACK, .stage = 1 },
		{ CNP, 0, 2401, 0, HALF_BACK, .stage = ZERO } } },
	/* Additive increase: it would be hyper if bytes before the CNP counted */
	{ "CNP restarts the increase by bytes", {
		{ SENT, BYTE_RESET, 0, FIRST + 2500 }, { CNP, 0, 1, 0, FIRST + 2500 },
		{ PASS, 0, 301, 0, FIRST + 2500 + 5000 } } },
	{ "bytes before a CNP do not count", {
		{ SENT, BYTE_RESET - 1, 0, FIRST }, { CNP, 0, 1 }, { SENT, 1, 0, CUT(FIRST) },
		{ SENT, BYTE_RESET - 2, 0, CUT(FIRST) }, { SENT, 1, 0, HALF_BACK } } },
	{ "time before a CNP does not count", { { CNP, 0, 2000 }, { TIME, 0, 2400, CUT(FIRST) } } },
	{ "packets before a CNP do not count", {
		{ SENT, 16 * PACKET }, { CNP, 0, 1 }, { TIME, 0, 301, CUT(FIRST) } } },
	{ "CNP leaves rp_min_dec_fac", { { CNP, 0, 1, FIRST / 5 * 4 } }, .min_dec_fac = 80 },

	{ "CNP reduces from the rate in use", {
		{ CNP, 25000, 1, CUT(200000), 200000 },
		{ IGNORED, 1, 2, CUT(200000), 200000 }, { CNP, 1, 3000, 10000, 10000 } } },
	{ "an eighth of the rate is in use", { { CNP, FIRST / 8, 1, CUT(FIRST), FIRST } } },
	{ "but not below rp_min_rate", { { CNP, 1, 1, 300000 } }, .min_rate = 300 },
	{ "rate is limited by rp_max_rate", {
		{ TIME, 0, 0, 1000000 }, { PASS, 0, 1000000, 1000000 }, { MOST, 100 },
		{ PASS, 0, 1000001, 100000 }, { TAKES, 12500, 1000 } }, .max_rate = 1000 },
};
KUNIT_ARRAY_PARAM_DESC(rate, rate_cases, desc);

static void take(struct kunit *test, struct rhca_rate *rate, struct rhca_cc *cc,
		 const struct step *s)
{
	switch (s->event) {
	case CNP:
	case IGNORED:
		KUNIT_EXPECT_EQ(test, rhca_rate_cnp(rate, cc, PACKET, s->n, at_us(s->us)),
				s->event == CNP);
		break;
	case PASS:
		rate->bytes_since = U32_MAX;
		fallthrough;
	case TIME:
		rhca_rate_catch_up(rate, cc, PACKET, at_us(s->us));
		break;
	case SENT:
		rhca_rate_sent(rate, cc, s->n);
		break;
	case TAKES:
		KUNIT_EXPECT_EQ(test, rhca_rate_time(rate, s->n), s->us * NSEC_PER_USEC);
		break;
	default:
		rate->rate = s->event == RATE ? s->n : rate->rate;
		rate->target = s->event == TARGET ? s->n : rate->target;
		rate->alpha = s->event == ALPHA ? s->n : rate->alpha;
		cc->rp_max_rate = s->event == MOST ? s->n : cc->rp_max_rate;
	}
}

static void rate_follows_events(struct kunit *test)
{
	const struct rate_case *c = test->param_value;
	struct rhca_cc cc = defaults;
	struct rhca_rate rate;
	const struct step *s;

	cc.rp_threshold = c->threshold ?: cc.rp_threshold;
	cc.rp_min_rate = c->min_rate ?: cc.rp_min_rate;
	cc.rp_max_rate = c->max_rate ?: cc.rp_max_rate;
	cc.rp_min_dec_fac = c->min_dec_fac ?: cc.rp_min_dec_fac;
	cc.rp_dce_tcp_g = c->g ?: cc.rp_dce_tcp_g;
	rate = begun(&cc);
	for (s = c->step; s < c->step + MAX_STEPS && s->event; s++) {
		take(test, &rate, &cc, s);
		KUNIT_EXPECT_EQ_MSG(test, rate.rate, s->rate ?: rate.rate, "step %zd", s - c->step);
		KUNIT_EXPECT_EQ_MSG(test, rate.target, s->target ?: rate.target,
				    "step %zd", s - c->step);
		if (s->stage)
			KUNIT_EXPECT_EQ(test, rate.time_stage, s->stage == ZERO ? 0 : s->stage);
		if (s->alpha)
			KUNIT_EXPECT_EQ_MSG(test, rate.alpha, s->alpha == ZERO ? 0 : s->alpha,
					    "step %zd", s - c->step);
	}
}

static void no_cnp_goes_below_the_minimum(struct kunit *test)
{
	struct rhca_rate rate = begun(&defaults);
	int i;

	for (i = 0; i < 100; i++)
		rhca_rate_cnp(&rate, &defaults, PACKET, 0, at_us(20000 * i + 1));
	KUNIT_EXPECT_EQ(test, rate.rate, 10000);
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

/* Whatever values root has written to the files */
static void rate_stays_in_its_limits_with_any_parameters(struct kunit *test)
{
	struct rhca_cc cc = {};
	struct rhca_rate rate;
	u32 i;

	rhca_rate_begin(&rate, &cc, 0, 0);
	for (i = 0; i < 1000; i++) {
		rhca_rate_sent(&rate, &cc, U32_MAX / 8);
		rhca_rate_catch_up(&rate, &cc, PACKET, i * NSEC_PER_SEC);
		rhca_rate_cnp(&rate, &cc, PACKET, 0, i * NSEC_PER_SEC);
		KUNIT_ASSERT_GE(test, rate.rate, 1000);
		KUNIT_ASSERT_LE(test, rate.rate, RHCA_RATE_MAX);
		if (i == 500)
			memset(&cc, 0xff, sizeof(cc));
	}
}

TEST_SUITE(rhca_rate,
	   KUNIT_CASE_PARAM(rate_follows_events, rate_gen_params),
	   KUNIT_CASE(no_cnp_goes_below_the_minimum),
	   KUNIT_CASE(small_byte_reset_is_no_long_loop),
	   KUNIT_CASE(rate_stays_in_its_limits_with_any_parameters));
