// SPDX-License-Identifier: GPL-2.0
/* Rules for the traffic class: parsing of lines, which rule applies, and output. */
#include <linux/inet.h>
#include <net/ipv6.h>

#include "core/rules/tclass.h"
#include "lib/packet.h"

/* --- lines ------------------------------------------------------------------ */

#define ZEROS	"0000:0000:0000:0000:0000:0000:0000:0000:"

/* Printed as a rule, or as the class of all connections */
static const struct line_case {
	const char *desc;
	const char *line;
	const char *shown;	/* NULL: refused */
} line_cases[] = {
	{ "a number",			"16",			"16" },
	{ "a number with its key",	"tclass=16",		"16" },
	{ "trailing newline",		"tclass=16\n",		"16" },
	{ "hexadecimal",		"0x6a",			"106" },
	{ "off",			"-1",			"-1" },
	{ "lowest",			"tclass=0",		"0" },
	{ "highest",			"tclass=255",		"255" },
	{ "source", "16,src_ip=1.1.1.2", "tclass=16,src_ip=1.1.1.2" },
	{ "destination", "tclass=16,dst_ip=1.1.1.3", "tclass=16,dst_ip=1.1.1.3" },
	{ "all bits named", "tclass=16,dst_ip=1.1.1.3/32", "tclass=16,dst_ip=1.1.1.3" },
	{ "documented example",
	  "tclass=16,src_ip=1.1.1.2,dst_ip=1.1.1.0/24",
	  "tclass=16,src_ip=1.1.1.2,dst_ip=1.1.1.0/24" },
	{ "bits that do not count", "16,dst_ip=1.1.1.77/24", "tclass=16,dst_ip=1.1.1.0/24" },
	{ "no bits count", "16,dst_ip=1.1.1.77/0", "tclass=16,dst_ip=0.0.0.0/0" },
	{ "another order",		"dst_ip=1.1.1.3,src_ip=1.1.1.2,7",
	  "tclass=7,src_ip=1.1.1.2,dst_ip=1.1.1.3" },
	{ "IPv6",	"tclass=96,src_ip6=fd09::1,dst_ip6=fd09::2",
	  "tclass=96,src_ip6=fd09::1,dst_ip6=fd09::2" },
	{ "empty",			"" },
	{ "a newline only",		"\n" },
	{ "two newlines",		"16\n\n" },
	{ "two lines",			"16\n17" },
	{ "above the highest",		"256" },
	{ "below off",			"-2" },
	{ "no number",			"high" },
	{ "a number and more",		"16x" },
	{ "leading blank",		" 16" },
	{ "blank after a comma",	"16, src_ip=1.1.1.2" },
	{ "no class",			"src_ip=1.1.1.2" },
	{ "key without class",		"tclass=" },
	{ "class twice",		"tclass=1,tclass=2" },
	{ "class twice, once bare",	"1,tclass=2" },
	{ "source twice",		"1,src_ip=1.1.1.2,src_ip=1.1.1.3" },
	{ "unknown key",		"1,sport=4791" },
	{ "key without address",	"1,src_ip=" },
	{ "address without key",	"1,1.1.1.2" },
	{ "trailing comma",		"16," },
	{ "bits of a source",		"1,src_ip=1.1.1.0/24" },
	{ "bits of IPv6",		"1,dst_ip6=fd09::/64" },
	{ "33 bits",			"1,dst_ip=1.1.1.0/33" },
	{ "no bits named",		"1,dst_ip=1.1.1.0/" },
	{ "bits twice",			"1,dst_ip=1.1.1.0/24/8" },
	{ "negative bits",		"1,dst_ip=1.1.1.0/-1" },
	{ "IPv4 and IPv6",		"1,src_ip=1.1.1.2,dst_ip6=fd09::2" },
	{ "IPv6 under a key of IPv4",	"1,src_ip=fd09::1" },
	{ "IPv4 under a key of IPv6",	"1,src_ip6=1.1.1.2" },
	{ "IPv4 written as IPv6",	"1,src_ip6=::ffff:1.1.1.2" },
	{ "three numbers",		"1,src_ip=1.1.2" },
	{ "five numbers",		"1,src_ip=1.1.1.1.2" },
	{ "a number above 255",		"1,src_ip=1.1.1.256" },
	{ "trailing port",		"1,src_ip=1.1.1.2:4791" },
	{ "trailing interface",	"1,dst_ip6=fe80::1%eth0" },
	{ "longer than any rule", "1,src_ip6=" ZEROS ZEROS ZEROS ZEROS "0001" },
};
KUNIT_ARRAY_PARAM_DESC(line, line_cases, desc);

static struct rhca_tclass_table *new_table(struct kunit *test)
{
	struct rhca_tclass_table *table = test_alloc(test, sizeof(*table));

	table->global = RHCA_TCLASS_OFF;
	return table;
}

static int write_line(struct rhca_tclass_table *table, const char *line)
{
	struct rhca_tclass_rule rule;

	return rhca_tclass_parse(line, &rule) ?:
	       rhca_tclass_apply(table, &rule);
}

static void line_is_a_rule_or_refused(struct kunit *test)
{
	const struct line_case *c = test->param_value;
	struct rhca_tclass_table *table = new_table(test);
	char expected[128], *shown = test_alloc(test, PAGE_SIZE);
	bool rule;
	int ret;

	ret = write_line(table, c->line);
	KUNIT_ASSERT_EQ(test, ret, c->shown ? 0 : -EINVAL);
	rule = c->shown && strchr(c->shown, '=');
	snprintf(expected, sizeof(expected), "Global tclass=%s\n%s%s",
		 c->shown && !rule ? c->shown : "-1", rule ? c->shown : "",
		 rule ? "\n" : "");
	rhca_tclass_emit(table, shown);
	KUNIT_EXPECT_STREQ(test, shown, expected);
}

/* --- which rule counts -------------------------------------------------------- */

#define MAX_LINES	6

#define FROM_4	"10.0.0.1"
#define TO_4	"10.1.2.3"
#define FROM_6	"fd00::1"
#define TO_6	"fd00::2"

static const struct match_case {
	const char *desc;
	const char *lines[MAX_LINES];
	const char *source;
	const char *dest;
	int tclass;
} match_cases[] = {
	{ "no rules", {}, FROM_4, TO_4, RHCA_TCLASS_OFF },
	{ "global", { "8" }, FROM_4, TO_4, 8 },
	{ "global is for IPv6 too", { "8" }, FROM_6, TO_6, 8 },
	{ "class 0 is a class", { "0" }, FROM_4, TO_4, 0 },
	{ "global before both addresses",
	  { "1,src_ip=" FROM_4 ",dst_ip=" TO_4, "8" }, FROM_4, TO_4, 8 },
	{ "global off again", { "8", "1,dst_ip=" TO_4, "-1" }, FROM_4, TO_4, 1 },
	{ "source", { "1,src_ip=" FROM_4 }, FROM_4, TO_4, 1 },
	{ "another source", { "1,src_ip=10.0.0.2" }, FROM_4, TO_4, RHCA_TCLASS_OFF },
	{ "source is not the destination", { "1,src_ip=" TO_4 }, FROM_4, TO_4,
	  RHCA_TCLASS_OFF },
	{ "destination", { "1,dst_ip=" TO_4 }, FROM_4, TO_4, 1 },
	{ "destination by prefix", { "1,dst_ip=10.1.0.0/16" }, FROM_4, TO_4, 1 },
	{ "another prefix", { "1,dst_ip=10.2.0.0/16" }, FROM_4, TO_4, RHCA_TCLASS_OFF },
	{ "prefix of no whole bytes", { "1,dst_ip=10.1.2.0/22" }, FROM_4, "10.1.3.255", 1 },
	{ "its neighbour", { "1,dst_ip=10.1.2.0/23" }, FROM_4, "10.1.4.0", RHCA_TCLASS_OFF },
	{ "any IPv4", { "1,dst_ip=0.0.0.0/0" }, FROM_4, TO_4, 1 },
	{ "any IPv4 is no IPv6", { "1,dst_ip=0.0.0.0/0" }, FROM_6, TO_6, RHCA_TCLASS_OFF },
	{ "both must match", { "1,src_ip=" FROM_4 ",dst_ip=10.2.0.0/16" },
	  FROM_4, TO_4, RHCA_TCLASS_OFF },
	{ "both before destination",
	  { "1,dst_ip=" TO_4, "2,src_ip=" FROM_4 ",dst_ip=10.0.0.0/8" },
	  FROM_4, TO_4, 2 },
	{ "destination before source",
	  { "1,src_ip=" FROM_4, "2,dst_ip=10.0.0.0/8" }, FROM_4, TO_4, 2 },
	{ "longest destination",
	  { "1,dst_ip=10.0.0.0/8", "2,dst_ip=10.1.2.0/24",
	    "3,dst_ip=10.1.0.0/16" }, FROM_4, TO_4, 2 },
	{ "longest of both",
	  { "1,src_ip=" FROM_4 ",dst_ip=10.0.0.0/8",
	    "2,src_ip=" FROM_4 ",dst_ip=10.1.0.0/16" }, FROM_4, TO_4, 2 },
	{ "longest is removed",
	  { "1,dst_ip=10.0.0.0/8", "2,dst_ip=10.1.2.0/24",
	    "-1,dst_ip=10.1.2.0/24" }, FROM_4, TO_4, 1 },
	{ "the same match once more", { "1,dst_ip=" TO_4, "2,dst_ip=" TO_4 }, FROM_4, TO_4, 2 },
	{ "the same prefix by another address",
	  { "1,dst_ip=10.1.2.1/24", "-1,dst_ip=10.1.2.99/24" }, FROM_4, TO_4,
	  RHCA_TCLASS_OFF },
	{ "IPv6 destination", { "1,dst_ip6=" TO_6 }, FROM_6, TO_6, 1 },
	{ "IPv6 source", { "1,src_ip6=" FROM_6 }, FROM_6, TO_6, 1 },
	{ "another IPv6", { "1,dst_ip6=fd00::3" }, FROM_6, TO_6, RHCA_TCLASS_OFF },
};
KUNIT_ARRAY_PARAM_DESC(match, match_cases, desc);

static void to_gid(struct kunit *test, const char *text, union ib_gid *gid)
{
	__be32 addr;

	if (strchr(text, ':')) {
		KUNIT_ASSERT_TRUE(test, in6_pton(text, -1, gid->raw, -1, NULL));
		return;
	}
	KUNIT_ASSERT_TRUE(test, in4_pton(text, -1, (u8 *)&addr, -1, NULL));
	ipv6_addr_set_v4mapped(addr, (struct in6_addr *)gid->raw);
}

static void most_specific_rule_counts(struct kunit *test)
{
	const struct match_case *c = test->param_value;
	struct rhca_tclass_table *table = new_table(test);
	union ib_gid source, dest;
	u32 i;

	to_gid(test, c->source, &source);
	to_gid(test, c->dest, &dest);
	for (i = 0; i < MAX_LINES && c->lines[i]; i++)
		KUNIT_ASSERT_EQ_MSG(test, write_line(table, c->lines[i]), 0, "%s", c->lines[i]);
	KUNIT_EXPECT_EQ(test, rhca_tclass_find(table, &source, &dest), c->tclass);
}

/* --- the table ---------------------------------------------------------------- */

static int write_numbered(struct rhca_tclass_table *table, int tclass, u32 i)
{
	char line[64];

	snprintf(line, sizeof(line), "%d,dst_ip=10.0.%u.1", tclass, i);
	return write_line(table, line);
}

static void rule_41_finds_no_room(struct kunit *test)
{
	struct rhca_tclass_table *table = new_table(test);
	u32 i;

	for (i = 0; i < 40; i++)
		KUNIT_ASSERT_EQ(test, write_numbered(table, i, i), 0);
	KUNIT_EXPECT_EQ(test, write_numbered(table, 1, 40), -ENOMEM);
	KUNIT_EXPECT_EQ(test, table->num_rules, 40);
	/* Existing rules can be changed, and the class of all is no rule */
	KUNIT_EXPECT_EQ(test, write_numbered(table, 2, 39), 0);
	KUNIT_EXPECT_EQ(test, write_line(table, "5"), 0);
	KUNIT_EXPECT_EQ(test, write_numbered(table, -1, 20), 0);
	KUNIT_EXPECT_EQ(test, write_numbered(table, 1, 40), 0);
	KUNIT_EXPECT_EQ(test, table->num_rules, 40);
}

static void removing_what_is_not_there_is_an_error(struct kunit *test)
{
	struct rhca_tclass_table *table = new_table(test);

	KUNIT_ASSERT_EQ(test, write_line(table, "1,dst_ip=10.1.0.0/16"), 0);
	KUNIT_EXPECT_EQ(test, write_line(table, "-1,dst_ip=10.1.0.0/17"), -ENOENT);
	KUNIT_EXPECT_EQ(test, write_line(table, "-1,src_ip=10.1.0.0"), -ENOENT);
	KUNIT_EXPECT_EQ(test, write_line(table, "-1"), 0);
	KUNIT_EXPECT_EQ(test, table->num_rules, 1);
}

static void rules_are_shown_in_their_order(struct kunit *test)
{
	static const char *const lines[] = {
		"1,src_ip=1.1.1.1", "2,dst_ip=1.0.0.0/8", "3,dst_ip=1.1.0.0/16",
		"4,src_ip=1.1.1.1,dst_ip=1.0.0.0/8", "5,dst_ip6=fd00::1", "9",
	};
	struct rhca_tclass_table *table = new_table(test);
	char *shown = test_alloc(test, PAGE_SIZE);
	ssize_t len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		KUNIT_ASSERT_EQ(test, write_line(table, lines[i]), 0);
	len = rhca_tclass_emit(table, shown);
	KUNIT_EXPECT_EQ(test, len, strlen(shown));
	KUNIT_EXPECT_STREQ(test, shown,
			   "Global tclass=9\n"
			   "tclass=4,src_ip=1.1.1.1,dst_ip=1.0.0.0/8\n"
			   "tclass=5,dst_ip6=fd00::1\n"
			   "tclass=3,dst_ip=1.1.0.0/16\n"
			   "tclass=2,dst_ip=1.0.0.0/8\n"
			   "tclass=1,src_ip=1.1.1.1\n");
}

static void more_than_a_page_is_cut_between_lines(struct kunit *test)
{
	struct rhca_tclass_table *table = new_table(test);
	char line[128], *shown = test_alloc(test, PAGE_SIZE);
	ssize_t len;
	u32 i;

	for (i = 0; i < 40; i++) {
		snprintf(line, sizeof(line),
			 "255,src_ip6=fd00:1111:1111:1111:1111:1111:1111:%04x,dst_ip6=fd00:1111:1111:1111:1111:1111:1111:1111",
			 0x1000 + i);
		KUNIT_ASSERT_EQ(test, write_line(table, line), 0);
	}
	len = rhca_tclass_emit(table, shown);
	KUNIT_EXPECT_LT(test, len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, len, strlen(shown));
	KUNIT_EXPECT_STREQ(test, shown + len - 10, ":1111\n...\n");
}

TEST_SUITE(rhca_tclass,
	   KUNIT_CASE_PARAM(line_is_a_rule_or_refused, line_gen_params),
	   KUNIT_CASE_PARAM(most_specific_rule_counts, match_gen_params),
	   KUNIT_CASE(rule_41_finds_no_room),
	   KUNIT_CASE(removing_what_is_not_there_is_an_error),
	   KUNIT_CASE(rules_are_shown_in_their_order),
	   KUNIT_CASE(more_than_a_page_is_cut_between_lines));
