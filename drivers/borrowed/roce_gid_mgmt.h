/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which GIDs ib_core adds to a port's table by itself, and where.
 *
 * We use:	that ib_core handles address changes on Ethernet netdevs only, and that the
 *		first entries of a table are for default GIDs, one for each RoCE version.
 * Where:	drivers/infiniband/core/roce_gid_mgmt.c, addr_event() and netdevice_event();
 *		cache.c, gid_table_reserve_default().
 * Since:	4.3; looked at in 6.12 and 7.3.
 * If it changes: changed addresses of tunnels, PPP and loopback are missed, or read twice;
 *		GIDs that are all present are searched for again and again.
 * Test:	netdev-kinds for the first; gid-table for the second (indexes of default GIDs).
 */
#ifndef RHCA_BORROWED_ROCE_GID_MGMT_H
#define RHCA_BORROWED_ROCE_GID_MGMT_H

#include <linux/bitops.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>

static inline bool rhca_ib_core_watches(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_ETHER;
}

/* Number of entries for default GIDs, one for each type that a port has */
static inline u16 rhca_ib_core_default_gids(unsigned long types)
{
	return hweight_long(types);
}

#endif
