// SPDX-License-Identifier: GPL-2.0
/* The words for roce_mode and ud_gid_type, and their meaning. */
#include "core/rules/policy.h"
#include "lib/suite.h"

#define MODE	rhca_roce_mode_parse
#define TYPE	rhca_ud_gid_type_parse

static const struct word_case {
	const char *desc;
	int (*parse)(const char *text);
	const char *text;
	int value;		/* -EINVAL: refused */
} word_cases[] = {
	{ "number 0",		MODE, "0",	RHCA_ROCE_V1_ONLY },
	{ "word v1",		MODE, "v1",	RHCA_ROCE_V1_ONLY },
	{ "number 2",		MODE, "2",	RHCA_ROCE_V2_ONLY },
	{ "word v2",		MODE, "v2",	RHCA_ROCE_V2_ONLY },
	{ "number 4",		MODE, "4",	RHCA_ROCE_BOTH },
	{ "word both",		MODE, "both",	RHCA_ROCE_BOTH },
	{ "trailing newline",	MODE, "v2\n",	RHCA_ROCE_V2_ONLY },
	{ "empty",		MODE, "",	-EINVAL },
	{ "number 1",		MODE, "1",	-EINVAL },
	{ "number 3",		MODE, "3",	-EINVAL },
	{ "number 5",		MODE, "5",	-EINVAL },
	{ "negative",		MODE, "-1",	-EINVAL },
	{ "leading zero",	MODE, "02",	-EINVAL },
	{ "hexadecimal",	MODE, "0x2",	-EINVAL },
	{ "capitals",		MODE, "V1",	-EINVAL },
	{ "prefix",		MODE, "v",	-EINVAL },
	{ "trailing characters",	MODE, "v1x",	-EINVAL },
	{ "leading blank",	MODE, " v1",	-EINVAL },
	{ "word of the other parameter",	MODE, "auto",	-EINVAL },

	{ "type number 0",	TYPE, "0",	RHCA_UD_GID_V1 },
	{ "type v1",		TYPE, "v1",	RHCA_UD_GID_V1 },
	{ "type number 2",	TYPE, "2",	RHCA_UD_GID_V2 },
	{ "type v2",		TYPE, "v2",	RHCA_UD_GID_V2 },
	{ "type auto",		TYPE, "auto",	RHCA_UD_GID_AUTO },
	{ "number of auto",	TYPE, "4",	-EINVAL },
	{ "type number 1",	TYPE, "1",	-EINVAL },
	{ "type both",		TYPE, "both",	-EINVAL },
};
KUNIT_ARRAY_PARAM_DESC(word, word_cases, desc);

static void parameter_accepts_its_words_only(struct kunit *test)
{
	const struct word_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->parse(c->text), c->value);
}

static const struct mode_case {
	const char *desc;	/* also its name */
	enum rhca_roce_mode mode;
	bool v1;
	bool v2;
} mode_cases[] = {
	{ "RoCE v1",		RHCA_ROCE_V1_ONLY,	true,	false },
	{ "RoCE v2",		RHCA_ROCE_V2_ONLY,	false,	true },
	{ "RoCE v1 and v2",	RHCA_ROCE_BOTH,		true,	true },
};
KUNIT_ARRAY_PARAM_DESC(mode, mode_cases, desc);

static void roce_mode_chooses_gid_types(struct kunit *test)
{
	const struct mode_case *c = test->param_value;
	enum rhca_roce_mode before = rhca_policy.roce_mode;

	rhca_policy.roce_mode = c->mode;
	KUNIT_EXPECT_EQ(test, rhca_gid_type_enabled(IB_GID_TYPE_ROCE), c->v1);
	KUNIT_EXPECT_EQ(test, rhca_gid_type_enabled(IB_GID_TYPE_ROCE_UDP_ENCAP), c->v2);
	rhca_policy.roce_mode = before;
	KUNIT_EXPECT_STREQ(test, rhca_roce_mode_name(c->mode), c->desc);
}

TEST_SUITE(rhca_policy,
	   KUNIT_CASE_PARAM(parameter_accepts_its_words_only, word_gen_params),
	   KUNIT_CASE_PARAM(roce_mode_chooses_gid_types, mode_gen_params));
