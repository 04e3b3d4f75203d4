/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is kept of a netdev while its device changes its backend
 */
#ifndef RHCA_CONTROL_KEPT_H
#define RHCA_CONTROL_KEPT_H

#include <linux/types.h>

struct net_device;
struct rhca_dev;
struct rhca_pkey_table;
struct rhca_settings;

int rhca_kept_save(struct rhca_dev *dev, const struct net_device *ndev,
		   bool standin);
void rhca_kept_member(const struct net_device *ndev, const char *name,
		      const struct rhca_pkey_table *pkeys);
struct rhca_settings *rhca_kept_copy(const struct net_device *ndev);
void rhca_kept_netdev_goes(const struct net_device *ndev);
void rhca_kept_device_removed(const struct net_device *ndev);
void rhca_kept_device_added(const struct net_device *ndev);
bool rhca_kept_is_unwanted(const struct net_device *ndev);
bool rhca_kept_wants_standin(const struct net_device *ndev);
bool rhca_kept_tell_once(const struct net_device *ndev);
void rhca_kept_exit(void);

#endif
