// SPDX-License-Identifier: GPL-2.0
/* 24-bit serial arithmetic, IBTA vol. 1, 9.7.2. */
#include "lib/suite.h"
#include "wire/psn.h"

static const struct psn_case {
	const char *desc;
	u32 a;
	u32 b;
	s32 diff;	/* of a and b */
} psn_cases[] = {
	{ .desc = "equal",		.a = 5,		.b = 5,		.diff = 0 },
	{ .desc = "newer",		.a = 9,		.b = 5,		.diff = 4 },
	{ .desc = "older",		.a = 5,		.b = 9,		.diff = -4 },
	{ .desc = "newer across wrap",	.a = 0,		.b = 0xffffff,	.diff = 1 },
	{ .desc = "older across wrap",	.a = 0xffffff,	.b = 0,		.diff = -1 },
	{ .desc = "far across wrap",	.a = 0x000010,	.b = 0xfffff0,	.diff = 32 },
	{ .desc = "newest of window",	.a = 0x7fffff,	.b = 0,		.diff = 0x7fffff },
	{ .desc = "half window",	.a = 0x800000,	.b = 0,		.diff = -0x800000 },
	{ .desc = "half window back",	.a = 0,		.b = 0x800000,	.diff = -0x800000 },
	{ .desc = "just in the past",	.a = 0x800001,	.b = 0,		.diff = -0x7fffff },
};
KUNIT_ARRAY_PARAM_DESC(psn, psn_cases, desc);

static void psn_diff_is_serial(struct kunit *test)
{
	const struct psn_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_psn_diff(c->a, c->b), c->diff);
	KUNIT_EXPECT_EQ(test, rhca_psn_before(c->a, c->b), c->diff < 0);
}

static void psn_wraps_at_24_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rhca_psn_add(0xffffff, 1), 0);
	KUNIT_EXPECT_EQ(test, rhca_psn_add(0xfffffe, 1), 0xffffff);
	KUNIT_EXPECT_EQ(test, rhca_psn_add(0xfffff0, 0x20), 0x10);
	KUNIT_EXPECT_EQ(test, rhca_psn_add(0, 0x1000000), 0);
	KUNIT_EXPECT_EQ(test, rhca_psn_sub(0, 1), 0xffffff);
	KUNIT_EXPECT_EQ(test, rhca_psn_sub(0x10, 0x20), 0xfffff0);
	KUNIT_EXPECT_EQ(test, rhca_psn_sub(0xffffff, 0xffffff), 0);
}

static const struct between_case {
	const char *desc;
	u32 psn;
	u32 first;
	u32 last;
	bool inside;
} between_cases[] = {
	{ "only one",		7, 7, 7, true },
	{ "first",		7, 7, 9, true },
	{ "last",		9, 7, 9, true },
	{ "before",		6, 7, 9, false },
	{ "behind",		10, 7, 9, false },
	{ "last before wrap",	0xffffff, 0xfffffe, 1, true },
	{ "first after wrap",	0, 0xfffffe, 1, true },
	{ "after wrap",	2, 0xfffffe, 1, false },
	{ "before wrap",	0xfffffd, 0xfffffe, 1, false },
};
KUNIT_ARRAY_PARAM_DESC(between, between_cases, desc);

static void psn_between_includes_both_ends(struct kunit *test)
{
	const struct between_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_psn_between(c->psn, c->first, c->last), c->inside);
}

TEST_SUITE(rhca_psn,
	   KUNIT_CASE_PARAM(psn_diff_is_serial, psn_gen_params),
	   KUNIT_CASE(psn_wraps_at_24_bits),
	   KUNIT_CASE_PARAM(psn_between_includes_both_ends, between_gen_params));
