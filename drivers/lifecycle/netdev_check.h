/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_LIFECYCLE_NETDEV_CHECK_H
#define RHCA_LIFECYCLE_NETDEV_CHECK_H

#include <linux/types.h>

struct net_device;

bool rhca_netdev_can_roce(const struct net_device *ndev);
int rhca_netdev_check(struct net_device *ndev);

#endif
