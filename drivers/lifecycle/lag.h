/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices of members that become one device, and become themselves again.
 */
#ifndef RHCA_LIFECYCLE_LAG_H
#define RHCA_LIFECYCLE_LAG_H

#include <linux/netdevice.h>

struct rhca_backend_ops;
struct rhca_dev;
struct rhca_lag_record;
struct rhca_pkey_table;

void rhca_lag_apply(struct net_device *ndev);
void rhca_lag_bond_changed(const struct net_device *bond);
void rhca_lag_device_added(struct rhca_dev *dev);
void rhca_lag_members_return(const struct rhca_lag_record *record,
			     const struct rhca_pkey_table *pkeys);
void rhca_lag_netdev_gone(struct net_device *ndev);
bool rhca_lag_bond_is_lag(struct net_device *bond);
bool rhca_lag_may_join(struct net_device *first, struct net_device *second);
int rhca_lag_join(struct rhca_dev *dev, struct net_device *first,
		  const char *name);
int rhca_lag_part(struct rhca_dev *dev, struct net_device *first);
void rhca_lag_init(const struct rhca_backend_ops *backend,
		   void (*slot_kick)(const struct net_device *ndev));

#endif
