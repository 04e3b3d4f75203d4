// SPDX-License-Identifier: GPL-2.0
/*
 * Reading netdevs=: "eth0,ens*,eth1+eth2" is a device on eth0, one on each
 * netdev whose name begins with ens, and one with two ports. "eth0:standin" is
 * one on eth0 while no other driver has one there.
 */
#include <linux/errno.h>
#include <linux/glob.h>
#include <linux/string.h>
#include <rhca/compat.h>

#include "control/netdevs.h"

static bool pattern_ok(const char *pattern)
{
	size_t len = strlen(pattern);

	return len && len < IFNAMSIZ;
}

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[");
}

static bool has_port(const struct rhca_netdevs_rule *rule, const char *name)
{
	u32 i;

	for (i = 0; i < rule->num_ports; i++)
		if (!strcmp(rule->pattern[i], name))
			return true;
	return false;
}

/* Ports of one device are named one by one: a pattern would be ambiguous */
static int parse_rule(struct rhca_netdevs_rule *rule, char *text)
{
	bool many = strchr(text, '+');
	char *names = strsep(&text, ":"), *part;

	/* Another driver's device has its ports, and not those of a rule */
	rule->standin = text;
	if (text && (many || strcmp(text, "standin")))
		return -EINVAL;
	text = names;
	rule->num_ports = 0;
	while ((part = strsep(&text, "+"))) {
		if (!pattern_ok(part) || (many && is_pattern(part)) ||
		    has_port(rule, part) ||
		    rule->num_ports == ARRAY_SIZE(rule->pattern))
			return -EINVAL;
		rule->pattern[rule->num_ports++] = part;
	}
	return 0;
}

/**
 * rhca_netdevs_parse - Read the parameter
 * @netdevs: filled in
 * @value: the text; empty is no netdev at all
 *
 * Return: 0; -EINVAL for an empty or overlong name, an unknown word behind a
 * colon, a pattern or a name twice in
 * a list of ports, or too many rules; -ENAMETOOLONG.
 */
int rhca_netdevs_parse(struct rhca_netdevs *netdevs, const char *value)
{
	char *rest, *part;
	int ret;

	netdevs->num_rules = 0;
	if (strscpy(netdevs->text, value, sizeof(netdevs->text)) < 0)
		return -ENAMETOOLONG;
	rest = strim(netdevs->text);
	if (!*rest)
		return 0;
	while ((part = strsep(&rest, ","))) {
		if (netdevs->num_rules == RHCA_MAX_NETDEV_RULES)
			return -EINVAL;
		ret = parse_rule(&netdevs->rule[netdevs->num_rules],
				 strim(part));
		if (ret)
			return ret;
		netdevs->num_rules++;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdevs_parse);

/**
 * rhca_netdevs_match - The rule that a netdev falls under
 * @netdevs: the parsed parameter
 * @name: the netdev's name
 *
 * Return: the first rule with a pattern that matches, or NULL.
 */
const struct rhca_netdevs_rule *
rhca_netdevs_match(const struct rhca_netdevs *netdevs, const char *name)
{
	u32 i, port;

	for (i = 0; i < netdevs->num_rules; i++)
		for (port = 0; port < netdevs->rule[i].num_ports; port++)
			if (glob_match(netdevs->rule[i].pattern[port], name))
				return &netdevs->rule[i];
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdevs_match);
