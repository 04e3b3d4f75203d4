/* SPDX-License-Identifier: GPL-2.0 */
/* The module parameter netdevs=: which netdevs get devices automatically. */
#ifndef RHCA_LIFECYCLE_NETDEVS_H
#define RHCA_LIFECYCLE_NETDEVS_H

#include <linux/netdevice.h>
#include <linux/types.h>

#define RHCA_NETDEVS_BYTES	256	/* longest value of the parameter */
#define RHCA_MAX_NETDEV_RULES	32

/* One element of the list */
struct rhca_netdevs_rule {
	const char *pattern[8];	/* shell patterns, one for each port of the device */
	u32 num_ports;
	bool standin;		/* only while no other driver has a device there */
};

/* The parsed parameter */
struct rhca_netdevs {
	char text[RHCA_NETDEVS_BYTES];	/* the patterns point into this */
	struct rhca_netdevs_rule rule[RHCA_MAX_NETDEV_RULES];
	u32 num_rules;
	/* Why the text was refused, or NULL */
	const char *wrong;
};

int rhca_netdevs_parse(struct rhca_netdevs *netdevs, const char *value);
const struct rhca_netdevs_rule *
rhca_netdevs_match(const struct rhca_netdevs *netdevs, const char *name);
bool rhca_netdevs_concern(const struct net_device *ndev);
const struct rhca_netdevs_rule *
rhca_netdevs_rule_of(const struct net_device *ndev);
bool rhca_netdevs_leave_out(const struct net_device *ndev);
u32 rhca_netdevs_find_ports(const struct rhca_netdevs_rule *rule,
			    struct net_device *ndev, struct net_device **port);
bool rhca_netdevs_rule_names(const struct rhca_netdevs_rule *rule,
			     const char *name);

#endif
