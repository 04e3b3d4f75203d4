/* SPDX-License-Identifier: GPL-2.0 */
/* Creation and removal of devices, one netdev at a time. */
#ifndef RHCA_LIFECYCLE_SLOT_ACT_H
#define RHCA_LIFECYCLE_SLOT_ACT_H

#include <linux/types.h>

struct net_device;
struct rhca_dev_spec;
struct rhca_netdevs_rule;

int rhca_choice_create(struct rhca_dev_spec *spec);
int rhca_slot_create(struct rhca_dev_spec *spec);
void rhca_slot_stand_in(struct net_device *ndev);
void rhca_slot_create_by_rule(struct net_device *ndev,
			      const struct rhca_netdevs_rule *rule);
void rhca_slot_remove(struct net_device *ndev, const char *why);
void rhca_slot_log_offer(const struct net_device *ndev, int ret);
void rhca_slot_create_by_offer(struct net_device *ndev);
bool rhca_slot_drop_orphan(struct net_device *ndev);
bool rhca_slot_make_room(struct net_device *ndev, bool tenants);
int rhca_slot_make_lag(struct net_device *first);
void rhca_slot_bring_back(struct net_device *ndev);

#endif
