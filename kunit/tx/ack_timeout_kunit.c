// SPDX-License-Identifier: GPL-2.0
/* Times and counts encoded in 5 bits. */
#include <linux/jiffies.h>

#include "lib/suite.h"
#include "sw/tx/ack_timeout.h"
#include "wire/syndrome.h"

/* IBTA vol. 1, 9.7.5.2.8, table 45, in units of 10 microseconds */
static const u32 rnr_times[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
	12288, 16384, 24576, 32768, 49152, };

/* The upper bits belong to another field */
static void rnr_timer_is_that_of_table_45(struct kunit *test)
{
	int code;

	for (code = 0; code < 256; code++)
		KUNIT_EXPECT_EQ_MSG(test, rhca_rnr_delay_us(code), rnr_times[code & 31] * 10,
				    "code %d", code);
}

/* 4.096 us << code. Never early; late by two ticks at most, apart from the minimum of 10 ms */
static void ack_timeout_is_4_us_shifted(struct kunit *test)
{
	u64 us, wanted, tick_us = USEC_PER_SEC / HZ;
	int code;

	for (code = 1; code < 32; code++) {
		us = (u64)rhca_ack_timeout(code) * tick_us;
		wanted = (4096ULL << code) / 1000;
		KUNIT_EXPECT_GE_MSG(test, us, max(wanted, 10000ULL), "code %d", code);
		KUNIT_EXPECT_LE_MSG(test, us,
				    max(wanted + 2 * tick_us, max(10000ULL, 2 * tick_us)),
				    "code %d", code);
	}
}

/* 9.7.7.2.1, table 46 */
static const u32 credits[] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, };

static void credit_code_advertises_no_more_than_posted(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(credits); i++) {
		KUNIT_EXPECT_EQ(test, rhca_credits(i), credits[i]);
		KUNIT_EXPECT_EQ(test, rhca_credit_code(credits[i]), i);
		if (i)
			KUNIT_EXPECT_EQ(test, rhca_credit_code(credits[i] - 1), i - 1);
	}
	KUNIT_EXPECT_EQ(test, rhca_credit_code(credits[i - 1] + 1), i - 1);
	KUNIT_EXPECT_EQ(test, rhca_credit_code(U32_MAX), i - 1);
}

TEST_SUITE(rhca_retry,
	   KUNIT_CASE(rnr_timer_is_that_of_table_45),
	   KUNIT_CASE(ack_timeout_is_4_us_shifted),
	   KUNIT_CASE(credit_code_advertises_no_more_than_posted));
