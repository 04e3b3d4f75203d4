/* SPDX-License-Identifier: GPL-2.0 */
/* Membership of netdevs in multicast groups. */
#ifndef RHCA_CORE_MCAST_JOIN_H
#define RHCA_CORE_MCAST_JOIN_H

#include <linux/netdevice.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

/* A group's membership at one netdev */
struct rhca_mcast_join {
	struct hlist_node node;		/* in the group's list; RCU */
	struct rcu_head rcu;		/* packets may still use it on removal */
	struct net_device *ndev;	/* no reference: the membership ends before the netdev */
	bool in_mac_filter;		/* the netdev's, for RoCE v1 */
	/* For RoCE v2: the netdev's in_device or inet6_dev, with a reference, or NULL */
	void *ip_side;
};

void rhca_mcast_mac(const union ib_gid *gid, u8 *mac);
int rhca_mcast_join(struct rhca_mcast_join *join, const union ib_gid *gid);
void rhca_mcast_leave(struct rhca_mcast_join *join, const union ib_gid *gid);

#endif
