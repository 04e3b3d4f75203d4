/* SPDX-License-Identifier: GPL-2.0 */
/* Which bonds and pairs of netdevs make one device. */
#ifndef RHCA_LIFECYCLE_LAG_H
#define RHCA_LIFECYCLE_LAG_H

#include <linux/netdevice.h>

struct rhca_dev;
struct rhca_lag_members;

struct net_device *rhca_lag_bond_of(struct net_device *ndev);
struct net_device *rhca_lag_bond_concerned(struct net_device *ndev);
bool rhca_lag_bond_changed(struct net_device *bond);
void rhca_lag_device_added(struct rhca_dev *dev);
bool rhca_lag_bond_is_lag(struct net_device *bond, struct rhca_lag_members *members);
bool rhca_lag_may_join(struct net_device *first, struct net_device *second,
		       struct rhca_lag_members *members);
bool rhca_lag_find(struct net_device *first, struct rhca_lag_members *members,
		   struct net_device **second);
int rhca_lag_join(struct rhca_dev *dev, struct net_device *first,
		  const char *name);
int rhca_lag_part(struct rhca_dev *dev, struct net_device *first);

#endif
