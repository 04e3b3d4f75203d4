/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link aggregation: one device over the two members of a bond, or over two netdevs joined by
 * equal-cost routes.
 */
#ifndef RHCA_CORE_RULES_LAG_H
#define RHCA_CORE_RULES_LAG_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

#include "core/rules/netdev.h"

#define RHCA_LAG_MEMBERS	2	/* as on adapters: their two ports */

/* What a bond means for its members' RDMA devices */
enum rhca_lag_kind {
	RHCA_LAG_NONE,		/* nothing; they stay as they are */
	RHCA_LAG_ACTIVE_BACKUP,	/* one device; the bond selects the working member */
	RHCA_LAG_ACTIVE_ACTIVE,	/* one device; its QPs spread over both members */
};

/* The facts for the decision */
struct rhca_lag_facts {
	int bond_mode;		/* BOND_MODE_* of net/bonding.h */
	u32 num_members;	/* netdevs under the bond */
	u32 num_ports;		/* of these, ports of ours */
	u32 num_outside;	/* ports that the members' devices have outside the bond */
	bool partitions_differ;	/* those ports' P_Key tables differ */
	bool disabled;		/* the user has disabled LAG on one of them */
};

/* A device that a LAG replaces */
struct rhca_lag_replaced {
	char name[IB_DEVICE_NAME_MAX];
	u32 num_ports;
	struct rhca_netdev_id netdev[RHCA_LAG_MEMBERS];	/* of its ports */
};

/* Devices to create again when a LAG ends */
struct rhca_lag_record {
	u32 num_devices;	/* 0 for a device that is no LAG */
	struct rhca_lag_replaced device[RHCA_LAG_MEMBERS];
};

enum rhca_lag_kind rhca_lag_decide(const struct rhca_lag_facts *facts);
bool rhca_lag_record_covers(const struct rhca_lag_record *record,
			    const struct net_device *ndev);
struct net_device *rhca_lag_bond_member(const struct net_device *ndev,
					u32 wanted);

/**
 * rhca_lag_member_of - Select the member for a packet
 * @flow_label: of the address vector
 * @qp_member: the QP's own member, assigned in INIT
 *
 * A flow label is entropy: even ones select the first member, odd ones the second. Without
 * one the QP's own member is used.
 */
static inline u32 rhca_lag_member_of(u32 flow_label, u32 qp_member)
{
	return (flow_label ?: qp_member) % RHCA_LAG_MEMBERS;
}

#endif
