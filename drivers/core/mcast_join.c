// SPDX-License-Identifier: GPL-2.0
/*
 * Joining groups at a netdev. For RoCE v2 it becomes a member of the IP group, so that the host
 * informs switches and routers (IGMP, MLD) and the IP stack accepts the packets. The netdev is the
 * member and not a socket, since a socket can be in few groups only and the one for RoCE is not
 * permanent. For RoCE v1 the MAC that the GID maps to is added to the netdev's filter.
 */
#include <linux/etherdevice.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip.h>
#include <rhca/compat.h>

#include "core/mcast_join.h"
#include "core/rules/gid.h"
#include "core/rules/netdev.h"
#include "core/rules/policy.h"

/*
 * The MAC that packets to a multicast GID are sent to: 33:33 and the low 32 bits (A16.5.1), or
 * 01:00:5e and the low 23 bits of an IPv4 address (RFC 1112).
 */
void rhca_mcast_mac(const union ib_gid *gid, u8 *mac)
{
	if (rhca_gid_is_ipv4(gid))
		ip_eth_mc_map(rhca_gid_ipv4(gid), mac);
	else
		ipv6_eth_mc_map(rhca_gid_ipv6(gid), mac);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mcast_mac);

/*
 * The in_device or inet6_dev of a netdev, which has its groups. It may be removed, by a small MTU
 * for example, and a new one created without our membership. We hold a reference, so that a new one
 * cannot have the same address.
 */
static void *ip_side(struct net_device *ndev, const union ib_gid *gid)
{
	if (rhca_gid_is_ipv4(gid))
		return __in_dev_get_rtnl(ndev);
	return IS_ENABLED(CONFIG_IPV6) ? __in6_dev_get(ndev) : NULL;
}

static void hold_ip_side(struct rhca_mcast_join *join, void *ip,
			 const union ib_gid *gid)
{
	join->ip_side = ip;
	if (rhca_gid_is_ipv4(gid))
		in_dev_hold((struct in_device *)ip);
	else
		in6_dev_hold(ip);
}

static void put_ip_side(struct rhca_mcast_join *join, const union ib_gid *gid)
{
	void *ip = join->ip_side;

	join->ip_side = NULL;
	if (!ip)
		return;
	if (rhca_gid_is_ipv4(gid))
		in_dev_put(ip);
	else if (IS_ENABLED(CONFIG_IPV6))
		in6_dev_put(ip);
}

static int join_ip(struct net_device *ndev, const union ib_gid *gid)
{
	if (!rhca_gid_is_ipv4(gid))
		return IS_ENABLED(CONFIG_IPV6) ?
			ipv6_dev_mc_inc(ndev, rhca_gid_ipv6(gid)) : -EAFNOSUPPORT;
	/* It would not say that it failed, and leaving would then end another's membership */
	__ip_mc_inc_group(__in_dev_get_rtnl(ndev), rhca_gid_ipv4(gid), GFP_KERNEL | __GFP_NOFAIL);
	return 0;
}

static void leave_ip(struct net_device *ndev, const union ib_gid *gid)
{
	if (rhca_gid_is_ipv4(gid))
		ip_mc_dec_group(__in_dev_get_rtnl(ndev), rhca_gid_ipv4(gid));
	else if (IS_ENABLED(CONFIG_IPV6))
		ipv6_dev_mc_dec(ndev, rhca_gid_ipv6(gid));
}

/*
 * Join what is not joined yet at a netdev. A netdev without IPv4 or IPv6 cannot be in such a group,
 * but may later. RTNL held. Returns 0, or -ENOMEM, when some may be joined already.
 */
int rhca_mcast_join(struct rhca_mcast_join *join, const union ib_gid *gid)
{
	void *ip = ip_side(join->ndev, gid);
	u8 mac[ETH_ALEN];
	int ret = 0;

	ASSERT_RTNL();
	if (join->ip_side != ip)
		put_ip_side(join, gid);		/* its groups were freed with it */
	if (!join->in_mac_filter && rhca_gid_types_enabled() &
	    rhca_netdev_gid_types(join->ndev) & BIT(IB_GID_TYPE_ROCE)) {
		rhca_mcast_mac(gid, mac);
		ret = dev_mc_add(join->ndev, mac);
		join->in_mac_filter = !ret;
	}
	if (ret || !ip || join->ip_side ||
	    !rhca_gid_type_enabled(IB_GID_TYPE_ROCE_UDP_ENCAP))
		return ret;
	ret = join_ip(join->ndev, gid);
	if (!ret)
		hold_ip_side(join, ip, gid);
	return ret == -ENOMEM ? ret : 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mcast_join);

/* Undo rhca_mcast_join(). RTNL held. */
void rhca_mcast_leave(struct rhca_mcast_join *join, const union ib_gid *gid)
{
	u8 mac[ETH_ALEN];

	ASSERT_RTNL();
	if (join->ip_side && join->ip_side == ip_side(join->ndev, gid))
		leave_ip(join->ndev, gid);
	put_ip_side(join, gid);
	if (join->in_mac_filter) {
		rhca_mcast_mac(gid, mac);
		dev_mc_del(join->ndev, mac);
	}
	join->in_mac_filter = false;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mcast_leave);
