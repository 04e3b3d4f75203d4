/* SPDX-License-Identifier: GPL-2.0 */
/* The netdevs that the ports of a device are on. */
#ifndef RHCA_CORE_DEVICE_NETDEVS_H
#define RHCA_CORE_DEVICE_NETDEVS_H

#include <linux/types.h>

#include "core/port/device_types.h"
#include "core/rules/lag.h"

struct net_device;
struct rhca_dev;

bool rhca_dev_is_on(const struct rhca_dev *dev, const struct net_device *ndev);
bool rhca_dev_stands_for(const struct rhca_dev *dev,
			 const struct net_device *ndev);
bool rhca_dev_leads(const struct rhca_dev *dev, const struct net_device *ndev);
bool rhca_dev_netdevs_stay(const struct rhca_dev *dev);
void rhca_dev_release_netdevs(struct rhca_dev *dev);
void rhca_dev_update_ports(struct rhca_dev *dev);

#endif
