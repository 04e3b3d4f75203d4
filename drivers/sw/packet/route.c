// SPDX-License-Identifier: GPL-2.0
/* Routes of RoCE v2 packets, kept with the path. */
#include <linux/netdevice.h>
#include <net/dst_cache.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "borrowed/ipsec_route.h"
#include "sw/packet/route.h"
#include "sw/verbs/qp/path.h"
#include "wire/headers.h"

/* A way out of a path's source GID */
struct egress {
	int ifindex;			/* netdev that the route must take */
	struct dst_cache *cache;	/* where the route is kept */
};

/*
 * A policy demands IPsec and has no state for it: better said than swallowed. There may be
 * a state by the next packet, so the route is not kept.
 */
static struct dst_entry *without_black_hole(struct dst_entry *dst)
{
	if (IS_ERR(dst) || !rhca_route_swallows(dst))
		return dst;
	dst_release(dst);
	return ERR_PTR(-EPERM);
}

static struct dst_entry *route_ipv4(struct rhca_path *path, struct net *net,
				    const struct egress *egress)
{
	const struct rhca_flow *flow = &path->address.flow;
	struct flowi4 fl4 = {};
	struct dst_entry *dst;
	struct rtable *rt;
	__be32 saddr;

	dst = dst_cache_get(egress->cache);
	if (dst)
		return dst;
	fl4.flowi4_oif = egress->ifindex;
	fl4.flowi4_proto = IPPROTO_UDP;
	fl4.fl4_sport = htons(flow->udp_sport);
	fl4.fl4_dport = htons(RHCA_UDP_PORT);
	memcpy(&fl4.saddr, &flow->sgid.raw[12], sizeof(fl4.saddr));
	memcpy(&fl4.daddr, &flow->dgid.raw[12], sizeof(fl4.daddr));
	saddr = fl4.saddr;
	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	dst = without_black_hole(&rt->dst);
	if (!IS_ERR(dst))
		dst_cache_set_ip4(egress->cache, dst, saddr);
	return dst;
}

static struct dst_entry *route_ipv6(struct rhca_path *path, struct net *net,
				    const struct egress *egress)
{
	const struct rhca_flow *flow = &path->address.flow;
	struct flowi6 fl6 = {};
	struct dst_entry *dst;

	dst = dst_cache_get(egress->cache);
	if (dst)
		return dst;
	fl6.flowi6_oif = egress->ifindex;
	fl6.flowi6_proto = IPPROTO_UDP;
	fl6.fl6_sport = htons(flow->udp_sport);
	fl6.fl6_dport = htons(RHCA_UDP_PORT);
	memcpy(&fl6.saddr, flow->sgid.raw, sizeof(fl6.saddr));
	memcpy(&fl6.daddr, flow->dgid.raw, sizeof(fl6.daddr));
	dst = without_black_hole(ip6_dst_lookup_flow(net, NULL, &fl6, NULL));
	if (!IS_ERR(dst))
		dst_cache_set_ip6(egress->cache, dst, &fl6.saddr);
	return dst;
}

/*
 * The port's second netdev, if this packet leaves by it. Packets to VLANs stay
 * with the first, which the VLAN device is on, and so does v1: what joins the
 * netdevs is IP routes.
 */
static struct net_device *second_netdev(const struct rhca_path *path,
					u32 lag_member)
{
	struct net_device *second = rcu_dereference(path->address.port->second);
	struct net_device *first = rcu_dereference(path->address.port->ndev);

	if (!second || path->address.vlan_id != RHCA_NO_VLAN ||
	    !netif_running(second) || !netif_carrier_ok(second))
		return NULL;
	if (!lag_member && first && netif_running(first) &&
	    netif_carrier_ok(first))
		return NULL;
	return second;
}

/*
 * The route of a RoCE v2 packet.
 * @path: where it goes; keeps the route for the next packet
 * @lag_member: the member of a LAG that it should leave by
 * Bottom halves off, RCU read side. Returns the route, with a reference; or an error: -EPERM
 * where an IPsec policy forbids the packet or has no state for it, -ENETUNREACH without a
 * route.
 */
struct dst_entry *rhca_route_find(struct rhca_path *path, struct net *net,
				  u32 lag_member)
{
	const struct net_device *second = second_netdev(path, lag_member);
	struct egress egress = { path->address.ifindex, &path->route };
	struct dst_entry *dst = ERR_PTR(-ENETUNREACH);

	if (second)
		egress = (struct egress){ second->ifindex,
					  &path->second_route };
	if (path->address.flow.encap == RHCA_V2_IPV4)
		dst = route_ipv4(path, net, &egress);
	else if (IS_ENABLED(CONFIG_IPV6))
		dst = route_ipv6(path, net, &egress);
	return IS_ERR(dst) && dst != ERR_PTR(-EPERM) ? ERR_PTR(-ENETUNREACH) : dst;
}
