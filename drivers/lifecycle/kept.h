/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is kept of a netdev while its device changes its backend
 */
#ifndef RHCA_LIFECYCLE_KEPT_H
#define RHCA_LIFECYCLE_KEPT_H

#include <linux/types.h>

struct net_device;
struct rhca_dev;
struct rhca_pkey_table;
struct rhca_settings;

int rhca_kept_save(struct rhca_dev *dev);
void rhca_kept_member(const struct net_device *ndev, bool goes, const char *name,
		      const struct rhca_pkey_table *pkeys);
int rhca_kept_want_standin(const struct net_device *ndev);
struct rhca_settings *rhca_kept_copy(const struct net_device *ndev);
void rhca_kept_netdev_came(const struct net_device *ndev);
void rhca_kept_netdev_goes(const struct net_device *ndev);
void rhca_kept_device_removed(struct rhca_dev *dev, bool by_user);
void rhca_kept_device_added(struct rhca_dev *dev);
bool rhca_kept_is_unwanted(const struct net_device *ndev);
bool rhca_kept_wants_standin(const struct net_device *ndev);
bool rhca_kept_tell_once(const struct net_device *ndev);
void rhca_kept_exit(void);

#endif
