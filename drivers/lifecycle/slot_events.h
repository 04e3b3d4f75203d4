/* SPDX-License-Identifier: GPL-2.0 */
/* Changes of slots by events. */
#ifndef RHCA_LIFECYCLE_SLOT_EVENTS_H
#define RHCA_LIFECYCLE_SLOT_EVENTS_H

#include <linux/types.h>

struct net_device;
struct rhca_dev;
struct rhca_settings;

int rhca_slot_save(struct rhca_dev *dev);
struct rhca_settings *rhca_slot_copy(const struct net_device *ndev, bool lag);
void rhca_slot_netdev_added(const struct net_device *ndev);
bool rhca_slot_netdev_removed(const struct net_device *ndev);
void rhca_slot_device_taken(struct rhca_dev *dev);
void rhca_slot_device_removed(struct rhca_dev *dev, bool by_user);
void rhca_slot_device_added(struct rhca_dev *dev);

#endif
