// SPDX-License-Identifier: GPL-2.0
/* The parameter netdevs=. */
#include <linux/platform_device.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>

#include "lib/hca.h"
#include "lifecycle/netdevs.h"

#define NAME_15	"abcdefghijklmno"	/* the longest name of a netdev */
#define EIGHT	"a+b+c+d+e+f+g+h"

static const struct netdevs_case {
	const char *desc;
	const char *text;
	int ret;
	u32 num_rules;
	u32 num_ports;		/* of the first rule */
	const char *wrong;	/* part of the reason for refusing it */
} netdevs_cases[] = {
	{ "empty",		"",			0, 0, 0 },
	{ "blanks only",	"   ",			0, 0, 0 },
	{ "one name",		"eth0",			0, 1, 1 },
	{ "trailing newline",	"eth0\n",		0, 1, 1 },
	{ "two names",		"eth0,eth1",		0, 2, 1 },
	{ "blanks around",	" eth0 , eth1 ",	0, 2, 1 },
	{ "pattern",		"ens*",			0, 1, 1 },
	{ "two ports",		"eth1+eth2",		0, 1, 2 },
	{ "a port twice",	"eth1+eth1",		-EINVAL, .wrong = "one port" },
	{ "mixed",		"eth1+eth2,ens*,wan",	0, 3, 2 },
	{ "most ports",		EIGHT,			0, 1, 8 },
	{ "longest name",	NAME_15,		0, 1, 1 },
	{ "too long a name",	NAME_15 "p",		-EINVAL, .wrong = "15 char" },
	{ "too many ports",	EIGHT "+i",		-EINVAL, .wrong = "8 ports" },
	{ "star among ports",	"eth*+eth2",		-EINVAL, .wrong = "in full" },
	{ "question mark",	"eth1+eth?",		-EINVAL, .wrong = "in full" },
	{ "set among ports",	"eth1+eth[23]",		-EINVAL, .wrong = "in full" },
	{ "leading comma",	",eth0",		-EINVAL, .wrong = "missing" },
	{ "trailing comma",	"eth0,",		-EINVAL, .wrong = "missing" },
	{ "two commas",		"eth0,,eth1",		-EINVAL, .wrong = "missing" },
	{ "leading plus",	"+eth0",		-EINVAL, .wrong = "missing" },
	{ "trailing plus",	"eth0+",		-EINVAL, .wrong = "missing" },
	{ "plus alone",		"+",			-EINVAL, .wrong = "missing" },
	{ "stand-in",		"eth0:standin",		0, 1, 1 },
	{ "of a pattern",	"ens*:standin,eth0",	0, 2, 1 },
	{ "of two ports",	"eth1+eth2:standin",	-EINVAL, .wrong = "stand-in" },
	{ "unknown word",	"eth0:stand",		-EINVAL, .wrong = "standin" },
	{ "no word",		"eth0:",		-EINVAL, .wrong = "standin" },
	{ "port of a device",	"eth0/1",		-EINVAL, .wrong = "without a port" },
	{ "blank for a comma",	"eth0 eth1",		-EINVAL, .wrong = "commas" },
	{ "no name",		":standin",		-EINVAL, .wrong = "missing" },
};
KUNIT_ARRAY_PARAM_DESC(netdevs, netdevs_cases, desc);

static struct rhca_netdevs *parse(struct kunit *test, const char *text, int *ret)
{
	struct rhca_netdevs *netdevs = test_alloc(test, sizeof(*netdevs));

	*ret = rhca_netdevs_parse(netdevs, text);
	return netdevs;
}

static void netdevs_is_a_list_of_rules(struct kunit *test)
{
	const struct netdevs_case *c = test->param_value;
	struct rhca_netdevs *netdevs;
	int ret;

	netdevs = parse(test, c->text, &ret);
	KUNIT_EXPECT_EQ(test, ret, c->ret);
	if (ret) {
		KUNIT_ASSERT_NOT_NULL(test, netdevs->wrong);
		KUNIT_EXPECT_NOT_NULL(test, strstr(netdevs->wrong, c->wrong));
		return;
	}
	KUNIT_EXPECT_NULL(test, netdevs->wrong);
	KUNIT_EXPECT_EQ(test, netdevs->num_rules, c->num_rules);
	if (c->num_rules)
		KUNIT_EXPECT_EQ(test, netdevs->rule[0].num_ports, c->num_ports);
}

static void netdevs_refuses_more_than_it_can_hold(struct kunit *test)
{
	char *text = test_alloc(test, RHCA_NETDEVS_BYTES + 1);
	int ret, i;

	for (i = 0; i < RHCA_MAX_NETDEV_RULES; i++)
		strlcat(text, i ? ",a" : "a", RHCA_NETDEVS_BYTES);
	parse(test, text, &ret);
	KUNIT_EXPECT_EQ(test, ret, 0);
	strlcat(text, ",a", RHCA_NETDEVS_BYTES);
	parse(test, text, &ret);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);

	memset(text, 'a', RHCA_NETDEVS_BYTES);
	parse(test, text, &ret);
	KUNIT_EXPECT_EQ(test, ret, -ENAMETOOLONG);
}

static const struct match_case {
	const char *desc;
	const char *text;
	const char *name;
	int rule;		/* -1: none */
	bool named;		/* it is no pattern */
	bool standin;
} match_cases[] = {
	{ "same name",		"eth0",			"eth0",	0, true },
	{ "prefix of a name",	"eth1",			"eth10", -1 },
	{ "name is longer",	"eth10",		"eth1",	-1 },
	{ "star",		"ens*",			"ens3f0", 0 },
	{ "star of nothing",	"ens*",			"ens",	0 },
	{ "question mark",	"eth?",			"eth7",	0 },
	{ "question mark once",	"eth?",			"eth17", -1 },
	{ "set",		"eth[0-3]",		"eth2",	0 },
	{ "outside the set",	"eth[0-3]",		"eth4",	-1 },
	{ "second rule",	"wan,eth*",		"eth4",	1 },
	{ "first rule wins",	"eth*,eth4",		"eth4",	0 },
	{ "first port",		"eth1+eth2",		"eth1",	0, true },
	{ "second port",	"eth1+eth2",		"eth2",	0, true },
	{ "after a pattern",	"tun*,eth1+eth2",	"eth2",	1, true },
	{ "stand-in",		"eth0:standin,eth1",	"eth0",	0, true, true },
	{ "after a stand-in",	"eth0:standin,eth1",	"eth1",	1, true },
	{ "no rule at all",	"",			"eth0",	-1 },
};
KUNIT_ARRAY_PARAM_DESC(match, match_cases, desc);

static void first_rule_that_matches_a_netdev_counts(struct kunit *test)
{
	const struct match_case *c = test->param_value;
	const struct rhca_netdevs_rule *rule, *wanted;
	struct rhca_netdevs *netdevs;
	int ret;

	netdevs = parse(test, c->text, &ret);
	KUNIT_ASSERT_EQ(test, ret, 0);
	rule = rhca_netdevs_match(netdevs, c->name);
	wanted = c->rule < 0 ? NULL : &netdevs->rule[c->rule];
	KUNIT_ASSERT_PTR_EQ(test, rule, wanted);
	if (!rule)
		return;
	KUNIT_EXPECT_EQ(test, rhca_netdevs_rule_names(rule, c->name), c->named);
	KUNIT_EXPECT_EQ(test, rule->standin, c->standin);
}

/* Only read: a netdev and a namespace that nothing else uses */
static void rules_skip_netdevs_that_users_make(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 1);
	struct user_namespace *users = test_alloc(test, sizeof(*users));
	struct net_device *other = test_alloc(test, sizeof(*other));
	struct net *net = test_alloc(test, sizeof(*net));
	struct device *parent = test_alloc(test, sizeof(*parent));

	KUNIT_EXPECT_TRUE(test, rhca_netdevs_concern(ndev));
	net->user_ns = users;
	dev_net_set(other, net);
	KUNIT_EXPECT_FALSE(test, rhca_netdevs_concern(other));
	/* A simulated radio has a parent, too */
	other->dev.parent = parent;
	KUNIT_EXPECT_FALSE(test, rhca_netdevs_concern(other));
	/* An administrator has moved hardware there */
	parent->bus = &platform_bus_type;
	KUNIT_EXPECT_TRUE(test, rhca_netdevs_concern(other));
}

TEST_SUITE(rhca_netdevs,
	   KUNIT_CASE_PARAM(netdevs_is_a_list_of_rules, netdevs_gen_params),
	   KUNIT_CASE(netdevs_refuses_more_than_it_can_hold),
	   KUNIT_CASE_PARAM(first_rule_that_matches_a_netdev_counts, match_gen_params),
	   KUNIT_CASE(rules_skip_netdevs_that_users_make));
