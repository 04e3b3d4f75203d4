/* SPDX-License-Identifier: GPL-2.0 */
/* Members of a LAG: their devices, and the facts that decide on a LAG. */
#ifndef RHCA_LIFECYCLE_LAG_MEMBERS_H
#define RHCA_LIFECYCLE_LAG_MEMBERS_H

#include <linux/netdevice.h>

#include "core/rules/lag.h"
#include "core/rules/pkey.h"

struct rhca_dev;

/* The devices of members */
struct rhca_lag_members {
	struct rhca_lag_record record;	/* what they are */
	struct rhca_pkey_table pkeys;	/* partitions of the first port found */
	struct rhca_lag_facts facts;	/* what decides on a LAG */
};

bool rhca_lag_has_member(const struct net_device *ndev);
bool rhca_lag_by_hardware(const struct rhca_dev *dev);
void rhca_lag_record_device(struct rhca_lag_members *members,
			    struct rhca_dev *dev);
bool rhca_lag_record_returning(struct rhca_lag_members *members,
			       const struct net_device *ndev);
void rhca_lag_find_members(struct net_device *bond,
			   struct rhca_lag_members *members);
void rhca_lag_find_replaced(const struct net_device *ndev,
			    struct rhca_lag_members *members);

#endif
