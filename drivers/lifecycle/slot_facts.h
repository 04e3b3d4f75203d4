/* SPDX-License-Identifier: GPL-2.0 */
/* The facts that decide on a netdev's device. */
#ifndef RHCA_LIFECYCLE_SLOT_FACTS_H
#define RHCA_LIFECYCLE_SLOT_FACTS_H

#include "lifecycle/slot_wants.h"

struct net_device;
struct rhca_netdevs_rule;

const struct rhca_netdevs_rule *
rhca_slot_new_rule(const struct net_device *ndev);
bool rhca_slot_may_stand_in(const struct net_device *ndev);
void rhca_slot_look_at(struct net_device *ndev, enum rhca_wish asked,
		       struct rhca_slot_facts *f);

#endif
