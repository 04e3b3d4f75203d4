// SPDX-License-Identifier: GPL-2.0
/* The words of roce_mode and ud_gid_type, and what they choose. */
#include <kunit/test.h>

#include "core/rules/policy.h"
#include "lib/suite.h"

static const struct word_case {
	const char *desc;
	const char *text;
	int value;		/* -EINVAL: refused */
} roce_mode_cases[] = {
	{ "number 0",		"0",		RHCA_ROCE_V1_ONLY },
	{ "word v1",		"v1",		RHCA_ROCE_V1_ONLY },
	{ "number 2",		"2",		RHCA_ROCE_V2_ONLY },
	{ "word v2",		"v2",		RHCA_ROCE_V2_ONLY },
	{ "number 4",		"4",		RHCA_ROCE_BOTH },
	{ "word both",		"both",		RHCA_ROCE_BOTH },
	{ "a newline behind",	"v2\n",		RHCA_ROCE_V2_ONLY },
	{ "empty",		"",		-EINVAL },
	{ "number 1",		"1",		-EINVAL },
	{ "number 3",		"3",		-EINVAL },
	{ "number 5",		"5",		-EINVAL },
	{ "negative",		"-1",		-EINVAL },
	{ "leading zero",	"02",		-EINVAL },
	{ "hexadecimal",	"0x2",		-EINVAL },
	{ "capitals",		"V1",		-EINVAL },
	{ "prefix",		"v",		-EINVAL },
	{ "more behind",	"v1x",		-EINVAL },
	{ "a blank before",	" v1",		-EINVAL },
	{ "word of the other",	"auto",		-EINVAL },
};
KUNIT_ARRAY_PARAM_DESC(roce_mode, roce_mode_cases, desc);

static void roce_mode_takes_its_words_only(struct kunit *test)
{
	const struct word_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_roce_mode_parse(c->text), c->value);
}

static const struct word_case ud_gid_type_cases[] = {
	{ "number 0",		"0",		RHCA_UD_GID_V1 },
	{ "word v1",		"v1",		RHCA_UD_GID_V1 },
	{ "number 2",		"2",		RHCA_UD_GID_V2 },
	{ "word v2",		"v2",		RHCA_UD_GID_V2 },
	{ "word auto",		"auto",		RHCA_UD_GID_AUTO },
	{ "a newline behind",	"auto\n",	RHCA_UD_GID_AUTO },
	{ "empty",		"",		-EINVAL },
	{ "number of auto",	"4",		-EINVAL },
	{ "number 1",		"1",		-EINVAL },
	{ "word of the other",	"both",		-EINVAL },
	{ "capitals",		"Auto",		-EINVAL },
};
KUNIT_ARRAY_PARAM_DESC(ud_gid_type, ud_gid_type_cases, desc);

static void ud_gid_type_takes_its_words_only(struct kunit *test)
{
	const struct word_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_ud_gid_type_parse(c->text), c->value);
}

static const struct mode_case {
	const char *desc;
	enum rhca_roce_mode mode;
	bool v1;
	bool v2;
} mode_cases[] = {
	{ "v1 only",	RHCA_ROCE_V1_ONLY,	true,	false },
	{ "v2 only",	RHCA_ROCE_V2_ONLY,	false,	true },
	{ "both",	RHCA_ROCE_BOTH,		true,	true },
};
KUNIT_ARRAY_PARAM_DESC(mode, mode_cases, desc);

static void roce_mode_chooses_gid_types(struct kunit *test)
{
	const struct mode_case *c = test->param_value;
	enum rhca_roce_mode before = rhca_policy.roce_mode;

	rhca_policy.roce_mode = c->mode;
	KUNIT_EXPECT_EQ(test, rhca_gid_type_enabled(IB_GID_TYPE_ROCE), c->v1);
	KUNIT_EXPECT_EQ(test,
			rhca_gid_type_enabled(IB_GID_TYPE_ROCE_UDP_ENCAP),
			c->v2);
	rhca_policy.roce_mode = before;
}

static void roce_modes_have_different_names(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, rhca_roce_mode_name(RHCA_ROCE_V1_ONLY),
			   "RoCE v1");
	KUNIT_EXPECT_STREQ(test, rhca_roce_mode_name(RHCA_ROCE_V2_ONLY),
			   "RoCE v2");
	KUNIT_EXPECT_STREQ(test, rhca_roce_mode_name(RHCA_ROCE_BOTH),
			   "RoCE v1 and v2");
}

TEST_SUITE(rhca_policy,
	   KUNIT_CASE_PARAM(roce_mode_takes_its_words_only, roce_mode_gen_params),
	   KUNIT_CASE_PARAM(ud_gid_type_takes_its_words_only, ud_gid_type_gen_params),
	   KUNIT_CASE_PARAM(roce_mode_chooses_gid_types, mode_gen_params),
	   KUNIT_CASE(roce_modes_have_different_names));
