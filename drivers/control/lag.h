/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices of members that become one device, and become themselves again.
 */
#ifndef RHCA_CONTROL_LAG_H
#define RHCA_CONTROL_LAG_H

#include <linux/netdevice.h>
#include <linux/sysfs.h>

struct rhca_dev;

void rhca_lag_bond_changed(struct net_device *bond);
void rhca_lag_device_added(struct rhca_dev *dev);
void rhca_lag_netdev_gone(struct net_device *ndev);
bool rhca_lag_has_member(const struct net_device *ndev);
int rhca_lag_join(struct rhca_dev *dev, struct net_device *first,
		  const char *name);
int rhca_lag_part(struct rhca_dev *dev, struct net_device *first);
int rhca_lag_init(void);
void rhca_lag_flush(void);
void rhca_lag_stop(void);
void rhca_lag_exit(void);

/* What the files say */
bool rhca_lag_is_disabled(const struct net_device *ndev);
void rhca_lag_enable(const struct net_device *ndev);
void rhca_lag_forget_disabled(void);

extern const struct attribute_group rhca_lag_files;

#endif
