/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a block is segmented into packets, if it is. Their ICRCs are computed before that, and
 * cover the IPv4 identification.
 *
 * We use:	that segmentation increments the identification by one for each packet, and
 *		which kinds of netdev, by the name of their kind, pass a block on or let the
 *		kernel segment it. The kernel has no interface for either.
 * Where:	net/ipv4/af_inet.c, inet_gso_segment(); drivers/net/veth.c, tun.c, loopback.c;
 *		net/core/dev.c, validate_xmit_skb(). The receiving side, where GRO has joined
 *		packets, has its rule in sw/rx/rx_batch.c.
 * Since:	before 6.1; looked at in 6.12 and 7.3.
 * If it changes: all packets of a block but the first arrive with a wrong ICRC.
 * Test:	capture-blocks, blocks; for GRO the KUnit case
 *		rhca_rx_batch.ip_identifications_are_predicted.
 */
#ifndef RHCA_BORROWED_GSO_CUT_H
#define RHCA_BORROWED_GSO_CUT_H

#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/rtnetlink.h>

/* These pass blocks on unsegmented, or let the kernel segment them */
static const char *const rhca_whole_kinds[] = { "veth", "tun" };

/* These hand packets on to the devices below them */
static const char *const rhca_upper_kinds[] = { "vlan", "bond", "bridge", "macvlan" };

static inline bool rhca_gso_cut_is_kind(const struct net_device *ndev,
					const char *const *kinds, size_t num)
{
	const struct rtnl_link_ops *ops = ndev->rtnl_link_ops;
	size_t i;

	for (i = 0; ops && i < num; i++)
		if (!strcmp(ops->kind, kinds[i]))
			return true;
	return false;
}

/* Is it known to pass blocks on unsegmented, or to let the kernel segment them? */
static inline bool rhca_gso_cut_is_known(const struct net_device *ndev)
{
	return READ_ONCE(ndev->flags) & IFF_LOOPBACK ||
	       rhca_gso_cut_is_kind(ndev, rhca_whole_kinds,
				    ARRAY_SIZE(rhca_whole_kinds));
}

/* Does it leave that to the devices below it? */
static inline bool rhca_gso_cut_is_upper(const struct net_device *ndev)
{
	return rhca_gso_cut_is_kind(ndev, rhca_upper_kinds, ARRAY_SIZE(rhca_upper_kinds));
}

#endif
