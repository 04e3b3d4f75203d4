/* SPDX-License-Identifier: GPL-2.0 */
/* What a netdev can carry. */
#ifndef RHCA_CORE_RULES_NETDEV_H
#define RHCA_CORE_RULES_NETDEV_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

unsigned long rhca_netdev_gid_types(const struct net_device *ndev);
bool rhca_netdev_on_bus(const struct net_device *ndev);

#endif
