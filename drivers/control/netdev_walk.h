/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every netdev of every namespace, one after the other, without RTNL; and one that was
 * noted before.
 */
#ifndef RHCA_CONTROL_NETDEV_WALK_H
#define RHCA_CONTROL_NETDEV_WALK_H

#include <linux/types.h>

struct net_device;

/**
 * struct rhca_netdev_id - A netdev to come back to, of which nothing is held: a job
 *	that waits for another one does not keep it from being unregistered
 * @net_cookie: of its network namespace
 * @ifindex: its index there; 0: none
 */
struct rhca_netdev_id {
	u64 net_cookie;
	int ifindex;
};

void rhca_netdev_note(struct rhca_netdev_id *id, const struct net_device *ndev);
struct net_device *rhca_netdev_get(const struct rhca_netdev_id *id);
void rhca_netdev_walk(bool (*wanted)(const struct net_device *ndev),
		      void (*fn)(struct net_device *ndev));

#endif
