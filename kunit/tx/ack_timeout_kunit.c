// SPDX-License-Identifier: GPL-2.0
/* Times and counts that codes of 5 bits stand for. */
#include <kunit/test.h>
#include <linux/jiffies.h>

#include "lib/suite.h"
#include "sw/tx/ack_timeout.h"
#include "wire/syndrome.h"

/* IBTA vol. 1, 9.7.5.2.8, table 45, in units of 10 microseconds */
static const u32 rnr_times[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
	12288, 16384, 24576, 32768, 49152, };

static void rnr_timer_is_that_of_table_45(struct kunit *test)
{
	int code;

	for (code = 0; code < 32; code++)
		KUNIT_EXPECT_EQ_MSG(test, rhca_rnr_delay_us(code),
				    rnr_times[code] * 10, "code %d", code);
}

static void rnr_timer_ignores_bits_that_are_not_the_code(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rhca_rnr_delay_us(0x20), 655360);
	KUNIT_EXPECT_EQ(test, rhca_rnr_delay_us(0xff), 491520);
}

static const struct timeout_case {
	const char *desc;
	u8 code;
	u64 us;		/* 4.096 << code */
} timeout_cases[] = {
	{ "code 1",	1,	8 },
	{ "code 8",	8,	1048 },
	{ "code 12",	12,	16777 },
	{ "code 14",	14,	67108 },
	{ "code 18",	18,	1073741 },
	{ "code 20",	20,	4294967 },
	{ "code 31",	31,	8796093022ULL },
};
KUNIT_ARRAY_PARAM_DESC(timeout, timeout_cases, desc);

/* Never early; late by two ticks at most, or by what keeps it above 10 ms */
static void ack_timeout_is_4_us_shifted(struct kunit *test)
{
	const struct timeout_case *c = test->param_value;
	u64 tick_us = USEC_PER_SEC / HZ;
	u64 us = (u64)rhca_ack_timeout(c->code) * tick_us;

	KUNIT_EXPECT_GE(test, us, max(c->us, 10000ULL));
	KUNIT_EXPECT_LE(test, us, max(c->us + 2 * tick_us,
				      max(10000ULL, 2 * tick_us)));
}

/* 9.7.7.2.1, table 46: the largest code that does not promise more */
static const struct credit_case {
	const char *desc;
	u32 requests;
	u8 code;
} credit_cases[] = {
	{ "none",		0,		0 },
	{ "1",			1,		1 },
	{ "2",			2,		2 },
	{ "3",			3,		3 },
	{ "4",			4,		4 },
	{ "between 4 and 6",	5,		4 },
	{ "6",			6,		5 },
	{ "between 6 and 8",	7,		5 },
	{ "8",			8,		6 },
	{ "11",			11,		6 },
	{ "12",			12,		7 },
	{ "16",			16,		8 },
	{ "64",			64,		12 },
	{ "127",		127,		13 },
	{ "128",		128,		14 },
	{ "1023",		1023,		19 },
	{ "1024",		1024,		20 },
	{ "16384",		16384,		28 },
	{ "32767",		32767,		29 },
	{ "32768",		32768,		30 },
	{ "more than any code",	0xffffffff,	30 },
};
KUNIT_ARRAY_PARAM_DESC(credit, credit_cases, desc);

static void credit_code_promises_no_more_than_there_is(struct kunit *test)
{
	const struct credit_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_credit_code(c->requests), c->code);
	KUNIT_EXPECT_LE(test, rhca_credits(c->code), c->requests);
	if (c->code < RHCA_CREDIT_INVALID - 1)
		KUNIT_EXPECT_GT(test, rhca_credits(c->code + 1), c->requests);
}

TEST_SUITE(rhca_retry,
	   KUNIT_CASE(rnr_timer_is_that_of_table_45),
	   KUNIT_CASE(rnr_timer_ignores_bits_that_are_not_the_code),
	   KUNIT_CASE_PARAM(ack_timeout_is_4_us_shifted, timeout_gen_params),
	   KUNIT_CASE_PARAM(credit_code_promises_no_more_than_there_is, credit_gen_params));
