/* SPDX-License-Identifier: GPL-2.0 */
/* What a netdev must know so that packets to a multicast group reach the host. */
#ifndef RHCA_CORE_MCAST_JOIN_H
#define RHCA_CORE_MCAST_JOIN_H

#include <linux/netdevice.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

/**
 * struct rhca_mcast_join - A group's membership at one netdev
 * @node: in the group's list; RCU
 * @rcu: packets may look at it while it leaves
 * @ndev: the netdev, without a reference: a membership ends before its netdev
 * @in_mac_filter: the group's MAC is in the netdev's filter, for RoCE v1
 * @ip_side: the netdev's IPv4 or IPv6 side that is a member of the IP group, for
 *	RoCE v2, with a reference, or NULL
 */
struct rhca_mcast_join {
	struct hlist_node node;
	struct rcu_head rcu;
	struct net_device *ndev;
	bool in_mac_filter;
	void *ip_side;
};

void rhca_mcast_mac(const union ib_gid *gid, u8 *mac);
int rhca_mcast_join(struct rhca_mcast_join *join, const union ib_gid *gid);
void rhca_mcast_leave(struct rhca_mcast_join *join, const union ib_gid *gid);

#endif
