/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups and the UD QPs that are attached to them, IBTA vol. 1, 10.5.
 */
#ifndef RHCA_CORE_MCAST_H
#define RHCA_CORE_MCAST_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

struct rhca_port;

#define RHCA_MAX_MCAST_GROUPS	8192	/* of a device */

u32 rhca_mcast_hash(const union ib_gid *gid);
bool rhca_mcast_joined(const struct rhca_port *port, const union ib_gid *gid,
		       const struct net_device *ndev);
void rhca_mcast_gids_changed(void);
void rhca_mcast_forget_netdev(const struct net_device *ndev);
void rhca_mcast_exit(void);

extern const struct ib_device_ops rhca_mcast_verbs;

#endif
