// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter netdevs=: "eth0,ens*,eth1+eth2" asks for a device on eth0, one on each netdev whose
 * name begins with ens, and one with two ports. "eth0:standin" asks for one on eth0 while no other
 * driver has one there.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/glob.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <rhca/compat.h>

#include "lifecycle/netdevs.h"
#include "core/rules/netdev.h"

/* Why no netdev can have this name, or NULL */
static const char *wrong_name(const char *name)
{
	if (!*name)
		return "a name is missing";
	if (strchr(name, '/'))
		return "netdevs are named without a port, as in eth0";
	if (strpbrk(name, " \t\n\v\f\r"))
		return "names are separated by commas";
	if (strlen(name) >= IFNAMSIZ)
		return "a name has at most 15 characters";
	return NULL;
}

/* Does a rule name a netdev literally? A pattern may match netdevs that were not intended. */
bool rhca_netdevs_rule_names(const struct rhca_netdevs_rule *rule,
			     const char *name)
{
	u32 i;

	for (i = 0; i < rule->num_ports; i++)
		if (!strcmp(rule->pattern[i], name))
			return true;
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdevs_rule_names);

/* Ports of one device are named one by one: a pattern would be ambiguous */
static const char *add_port(struct rhca_netdevs_rule *rule, const char *name,
			    bool many)
{
	const char *wrong = wrong_name(name);

	if (wrong)
		return wrong;
	if (many && strpbrk(name, "*?["))
		return "the ports of one device are named in full, not by a pattern";
	if (rhca_netdevs_rule_names(rule, name))
		return "a netdev is one port of a device, not two";
	if (rule->num_ports == ARRAY_SIZE(rule->pattern))
		return "a device has at most 8 ports";
	rule->pattern[rule->num_ports++] = name;
	return NULL;
}

static const char *parse_rule(struct rhca_netdevs_rule *rule, char *text)
{
	char *names = strsep(&text, ":"), *name;
	bool many = strchr(names, '+');
	const char *wrong;

	if (text && strcmp(text, "standin"))
		return "behind a colon comes standin and nothing else";
	/* Another driver's device has its own ports, not those of a rule */
	if (text && many)
		return "a stand-in has one port";
	rule->standin = text;
	rule->num_ports = 0;
	while ((name = strsep(&names, "+"))) {
		wrong = add_port(rule, name, many);
		if (wrong)
			return wrong;
	}
	return NULL;
}

/*
 * Parse the parameter; an empty one matches no netdev. Returns 0; on -EINVAL or -ENAMETOOLONG only
 * @netdevs->wrong is valid.
 */
int rhca_netdevs_parse(struct rhca_netdevs *netdevs, const char *value)
{
	char *rest, *part;

	netdevs->num_rules = 0;
	netdevs->wrong = NULL;
	if (strscpy(netdevs->text, value, sizeof(netdevs->text)) < 0) {
		netdevs->wrong = "it has at most 255 characters";
		return -ENAMETOOLONG;
	}
	rest = strim(netdevs->text);
	if (!*rest)
		return 0;
	while ((part = strsep(&rest, ","))) {
		if (netdevs->num_rules == RHCA_MAX_NETDEV_RULES) {
			netdevs->wrong = "it has at most 32 elements";
			return -EINVAL;
		}
		netdevs->wrong = parse_rule(&netdevs->rule[netdevs->num_rules],
					    strim(part));
		if (netdevs->wrong)
			return -EINVAL;
		netdevs->num_rules++;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdevs_parse);

/* The first rule with a pattern that matches a netdev, or NULL */
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

/*
 * Do rules apply to a netdev at all? In a user namespace any user can create network namespaces,
 * and netdevs of any name there. These must not become RDMA devices automatically, since "rdma link
 * add" requires CAP_NET_ADMIN in the initial user namespace, too. Hardware counts: an administrator
 * has moved it there. The caller holds a reference or RTNL.
 */
bool rhca_netdevs_concern(const struct net_device *ndev)
{
	bool by_administrator;

	rcu_read_lock();
	by_administrator = dev_net(ndev)->user_ns == &init_user_ns;
	rcu_read_unlock();
	return by_administrator || rhca_netdev_on_bus(ndev);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdevs_concern);

/* --- the parameter ---------------------------------------------------------------- */

static struct rhca_netdevs auto_netdevs;

static int set_netdevs(const char *value, const struct kernel_param *kp)
{
	int ret = rhca_netdevs_parse(&auto_netdevs, value);

	if (ret)
		pr_err("netdevs=%s: %s; wanted is a list of netdev names or patterns such as eth0,ens*,eth1+eth2,eth3:standin\n",
		       value, auto_netdevs.wrong);
	return ret;
}

static int get_netdevs(char *buffer, const struct kernel_param *kp)
{
	u32 i, port;
	int len = 0;

	for (i = 0; i < auto_netdevs.num_rules; i++) {
		for (port = 0; port < auto_netdevs.rule[i].num_ports; port++)
			len += scnprintf(buffer + len, PAGE_SIZE - len, "%s%s",
					 port ? "+" : i ? "," : "",
					 auto_netdevs.rule[i].pattern[port]);
		if (auto_netdevs.rule[i].standin)
			len += scnprintf(buffer + len, PAGE_SIZE - len,
					 ":standin");
	}
	return len + scnprintf(buffer + len, PAGE_SIZE - len, "\n");
}

static const struct kernel_param_ops netdevs_ops = {
	.set = set_netdevs,
	.get = get_netdevs,
};
module_param_cb(netdevs, &netdevs_ops, NULL, 0444);
MODULE_PARM_DESC(netdevs, "netdevs that get an RDMA device by themselves: names or shell patterns, comma separated; eth1+eth2 is one device with two ports, eth0:standin one while no other driver has a device there (default: none)");

/* The rule of netdevs= for a netdev, or NULL. The caller holds a reference or RTNL. */
const struct rhca_netdevs_rule *
rhca_netdevs_rule_of(const struct net_device *ndev)
{
	return rhca_netdevs_concern(ndev) ?
	       rhca_netdevs_match(&auto_netdevs, ndev->name) : NULL;
}

/* Does a rule match a netdev to which rules do not apply? The caller holds a reference or RTNL. */
bool rhca_netdevs_leave_out(const struct net_device *ndev)
{
	return !rhca_netdevs_concern(ndev) &&
	       rhca_netdevs_match(&auto_netdevs, ndev->name);
}

/*
 * Find the netdevs of all ports of a rule, in order; @ndev is one of them. @port: set to them, with
 * a reference to each, for dev_put(). Returns how many there are before the first that is missing.
 */
u32 rhca_netdevs_find_ports(const struct rhca_netdevs_rule *rule,
			    struct net_device *ndev, struct net_device **port)
{
	u32 num;

	if (rule->num_ports == 1) {
		dev_hold(ndev);
		port[0] = ndev;
		return 1;
	}
	for (num = 0; num < rule->num_ports; num++) {
		port[num] = rhca_netdev_beside(ndev, rule->pattern[num]);
		if (!port[num])
			break;
	}
	return num;
}
