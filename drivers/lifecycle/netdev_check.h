/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_LIFECYCLE_NETDEV_CHECK_H
#define RHCA_LIFECYCLE_NETDEV_CHECK_H

struct net_device;

int rhca_netdev_check(struct net_device *ndev);

#endif
