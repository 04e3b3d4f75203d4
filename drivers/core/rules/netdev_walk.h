/* SPDX-License-Identifier: GPL-2.0 */
/* Every netdev of every namespace, one after the other, without RTNL. */
#ifndef RHCA_CORE_RULES_NETDEV_WALK_H
#define RHCA_CORE_RULES_NETDEV_WALK_H

#include <linux/types.h>

struct net_device;

void rhca_netdev_walk(bool (*wanted)(const struct net_device *ndev),
		      void (*fn)(struct net_device *ndev));

#endif
