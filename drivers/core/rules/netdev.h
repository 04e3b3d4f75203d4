/* SPDX-License-Identifier: GPL-2.0 */
/* What a netdev can carry, and how to remember one without a reference. */
#ifndef RHCA_CORE_RULES_NETDEV_H
#define RHCA_CORE_RULES_NETDEV_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

/*
 * Remembers a netdev without a reference, so that its unregistration need not wait. An ifindex
 * alone is ambiguous: each namespace has its own, and a netdev may move to another namespace
 */
struct rhca_netdev_id {
	u64 net_cookie;		/* of its network namespace */
	int ifindex;		/* 0: none */
};

unsigned long rhca_netdev_gid_types(const struct net_device *ndev);
bool rhca_netdev_on_bus(const struct net_device *ndev);

void rhca_netdev_note(struct rhca_netdev_id *id, const struct net_device *ndev);
bool rhca_netdev_is(const struct net_device *ndev,
		    const struct rhca_netdev_id *id);
struct net_device *rhca_netdev_get(const struct rhca_netdev_id *id);
struct net_device *rhca_netdev_beside(const struct net_device *ndev,
				      const char *name);

#endif
