// SPDX-License-Identifier: GPL-2.0
/*
 * Routes of RoCE v2 packets, cached in the path, and whether they take blocks. Segmentation of a
 * block must increment IPv4 identifications like the kernel, since the ICRC covers them; an adapter
 * might not. So by default blocks are only sent through devices that pass them whole or let the
 * kernel segment them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/dst_cache.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "borrowed/gso_cut.h"
#include "borrowed/ipsec_route.h"
#include "sw/packet/egress.h"
#include "sw/verbs/qp/path.h"
#include "wire/headers.h"

/* --- routes --------------------------------------------------------------- */

/*
 * A policy requires IPsec but has no state for it: return an error rather than drop silently. A
 * state may exist by the next packet, so do not cache the route.
 */
static struct dst_entry *without_black_hole(struct dst_entry *dst)
{
	if (IS_ERR(dst) || !rhca_route_discards(dst))
		return dst;
	dst_release(dst);
	return ERR_PTR(-EPERM);
}

static struct dst_entry *route_ipv4(const struct rhca_flow *flow, struct net *net,
				    int ifindex, struct dst_cache *cache)
{
	struct flowi4 fl4 = {};
	struct dst_entry *dst;
	struct rtable *rt;
	__be32 saddr;

	fl4.flowi4_oif = ifindex;
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
		dst_cache_set_ip4(cache, dst, saddr);
	return dst;
}

#if IS_ENABLED(CONFIG_IPV6)	/* dst_cache_set_ip6() needs it */
static struct dst_entry *route_ipv6(const struct rhca_flow *flow, struct net *net,
				    int ifindex, struct dst_cache *cache)
{
	struct flowi6 fl6 = {};
	struct dst_entry *dst;

	fl6.flowi6_oif = ifindex;
	fl6.flowi6_proto = IPPROTO_UDP;
	fl6.fl6_sport = htons(flow->udp_sport);
	fl6.fl6_dport = htons(RHCA_UDP_PORT);
	memcpy(&fl6.saddr, flow->sgid.raw, sizeof(fl6.saddr));
	memcpy(&fl6.daddr, flow->dgid.raw, sizeof(fl6.daddr));
	dst = without_black_hole(ip6_dst_lookup_flow(net, NULL, &fl6, NULL));
	if (!IS_ERR(dst))
		dst_cache_set_ip6(cache, dst, &fl6.saddr);
	return dst;
}
#else
static struct dst_entry *route_ipv6(const struct rhca_flow *flow, struct net *net,
				    int ifindex, struct dst_cache *cache)
{
	return ERR_PTR(-ENETUNREACH);
}
#endif

/*
 * The port's second netdev if this packet is sent through it. Packets to VLANs stay on the first,
 * which has the VLAN device, and so does v1: only IP routes join the netdevs.
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
 * Get the route of a RoCE v2 packet and cache it. @lag_member: LAG member to use. Bottom halves
 * off, RCU read side. Returns the route, with a reference, or an error: -EPERM if an IPsec policy
 * forbids the packet or has no state for it, -ENETUNREACH without a route.
 */
struct dst_entry *rhca_route_find(struct rhca_path *path, struct net *net,
				  u32 lag_member)
{
	const struct net_device *second = second_netdev(path, lag_member);
	struct dst_cache *cache = second ? &path->second_route : &path->route;
	int ifindex = second ? second->ifindex : path->address.ifindex;
	const struct rhca_flow *flow = &path->address.flow;
	struct dst_entry *dst = dst_cache_get(cache);

	if (dst)
		return dst;
	if (flow->encap == RHCA_V2_IPV4)
		dst = route_ipv4(flow, net, ifindex, cache);
	else
		dst = route_ipv6(flow, net, ifindex, cache);
	return IS_ERR(dst) && dst != ERR_PTR(-EPERM) ? ERR_PTR(-ENETUNREACH) : dst;
}

/* --- blocks --------------------------------------------------------------- */

/* Devices through which to send blocks, as configured */
enum block_policy {
	BLOCKS_OFF,
	BLOCKS_KNOWN,	/* devices known to keep the rule */
	BLOCKS_ANY,	/* all with UDP segmentation offload */
};

static const char *const policy_names[] = {
	[BLOCKS_OFF]	= "off",
	[BLOCKS_KNOWN]	= "known",
	[BLOCKS_ANY]	= "any",
};

static int wanted = BLOCKS_KNOWN;

static int set_blocks(const char *value, const struct kernel_param *kp)
{
	int found = sysfs_match_string(policy_names, value);
	bool on;

	if (found < 0) {
		if (kstrtobool(value, &on)) {
			pr_err("blocks=%s is not one of off (N), known (Y), any\n",
			       value);
			return -EINVAL;
		}
		found = on ? BLOCKS_KNOWN : BLOCKS_OFF;
	}
	WRITE_ONCE(wanted, found);
	return 0;
}

static int get_blocks(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", policy_names[READ_ONCE(wanted)]);
}

static const struct kernel_param_ops blocks_ops = {
	.set = set_blocks,
	.get = get_blocks,
};
module_param_cb(blocks, &blocks_ops, NULL, 0644);
MODULE_PARM_DESC(blocks, "Packets of one QP travel as one skb: off, known = by devices known to take it, any = by all that offer UDP segmentation (default: known)");

static bool offers_segmentation(const struct net_device *ndev)
{
	netdev_features_t needed = NETIF_F_GSO_UDP_L4 | NETIF_F_HW_CSUM;

	return (READ_ONCE(ndev->features) & needed) == needed;
}

/* Checked when sending: a bridge with more ports than this gets single packets */
#define MAX_LOWER	32

/* Non-zero ends the walk: a lower device does not take blocks */
static int refuses(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	u32 *seen = priv->data;

	if (++*seen > MAX_LOWER)
		return 1;
	if (rhca_gso_cut_is_upper(ndev))
		return 0;
	return !rhca_gso_cut_is_known(ndev) || !offers_segmentation(ndev);
}

static bool takes_blocks(struct net_device *ndev)
{
	u32 seen = 0;
	struct netdev_nested_priv priv = { .data = &seen };

	if (READ_ONCE(wanted) == BLOCKS_ANY || rhca_gso_cut_is_known(ndev))
		return offers_segmentation(ndev);
	return rhca_gso_cut_is_upper(ndev) &&
	       !netdev_walk_all_lower_dev_rcu(ndev, refuses, &priv);
}

/*
 * Do single packets need a UDP checksum? RoCE v2 packets have none (senders set 0, A17.3.2), but
 * segments of a block get one. A receiver's GRO delays packets with a checksum, to merge them, but
 * not those without, which would overtake. So give all packets one if blocks are sent, even through
 * devices that pass them whole, as a later qdisc or an adapter behind a bridge may segment them.
 * The egress device computes the checksum; a veth pair never does. Acknowledgements that may
 * overtake have none. @ndev: egress device. Bottom halves off, RCU read side.
 */
bool rhca_egress_needs_checksum(struct net_device *ndev)
{
	return READ_ONCE(wanted) != BLOCKS_OFF &&
	       !(READ_ONCE(ndev->flags) & IFF_LOOPBACK) && takes_blocks(ndev);
}

/*
 * May packets to a destination be sent as blocks? RoCE v1 has no segmentation offload. @lag_member:
 * LAG member they use. Bottom halves off, RCU read side.
 */
bool rhca_egress_takes_blocks(struct rhca_path *path, u32 lag_member)
{
	const struct net_device *ndev = rcu_dereference(path->address.port->ndev);
	struct dst_entry *dst;
	bool allowed;

	if (READ_ONCE(wanted) == BLOCKS_OFF || path->address.flow.encap == RHCA_V1 ||
	    !ndev)
		return false;
	dst = rhca_route_find(path, dev_net(ndev), lag_member);
	if (IS_ERR(dst))
		return false;
	/* IPsec segments them, but a tunnel of the route might not */
	allowed = !dst->lwtstate && takes_blocks(dst->dev);
	dst_release(dst);
	return allowed;
}
