// SPDX-License-Identifier: GPL-2.0
/*
 * Packets for which we build the Ethernet header: RoCE v1, and IP packets to VLANs and bonds.
 *
 * A VLAN device sets the priority bits from its own egress map. RoCE needs its own priority there,
 * so packets to a VLAN pass the netfilter hooks of the VLAN device here and are then handed,
 * tagged, to the lower device. Packets to an active-active bond are handed to one of its members in
 * the same way.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netfilter.h>
#include <net/dst.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <rhca/compat.h>

#include "borrowed/ipsec_route.h"
#include "borrowed/loop_back.h"
#include "core/mcast.h"
#include "core/rules/lag.h"
#include "sw/packet/frame.h"
#include "sw/packet/packet.h"

/* --- Ethernet ------------------------------------------------------------- */

/* Does a packet, or each segment of a block, fit the MTU, counted from its network header? */
bool rhca_frame_fits(const struct sk_buff *skb, unsigned int mtu)
{
	return skb_is_gso(skb) ? skb_gso_validate_network_len(skb, mtu) :
				 skb->len <= mtu;
}

/* Does the packet's multicast group have QPs on this host? */
static bool has_local_members(const struct rhca_path *path,
			      const struct net_device *gid_ndev)
{
	return is_multicast_ether_addr(path->address.dmac) &&
	       rhca_mcast_port(&path->address.flow.dgid, gid_ndev);
}

/*
 * Hand the packet to a real device; for a bond, to the member it should use. Frames to the device's
 * own address or to groups it has joined never return from a wire, so loop them back here. The copy
 * keeps its route: the IP stack would consider a packet from an own address spoofed.
 */
static int send_frame(struct sk_buff *skb, struct net_device *ndev,
		      const u8 *dmac, u16 ethertype)
{
	u32 lag_member = RHCA_PACKET_CB(skb)->lag_member;
	struct net_device *gid_ndev = skb->dev;
	bool copy_to_self = RHCA_PACKET_CB(skb)->copy_to_self;
	struct net_device *egress = rhca_lag_bond_member(ndev, lag_member) ?: ndev;
	struct sk_buff *copy;

	/* Path MTUs were checked against the netdev's only when QPs were connected */
	if (!rhca_frame_fits(skb, min(READ_ONCE(gid_ndev->mtu),
				      READ_ONCE(egress->mtu)))) {
		kfree_skb(skb);
		return -EMSGSIZE;
	}
	if (eth_header(skb, ndev, ethertype, dmac, gid_ndev->dev_addr,
		       skb->len) < 0) {
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	skb_reset_mac_header(skb);
	if (ether_addr_equal(dmac, gid_ndev->dev_addr)) {
		skb_dst_drop(skb);
		return rhca_loop_back(skb, gid_ndev);
	}
	copy = copy_to_self ? skb_clone(skb, GFP_ATOMIC) : NULL;
	if (copy)
		rhca_loop_back(copy, gid_ndev);
	skb->dev = egress;
	return dev_queue_xmit(skb);
}

/* Tag a frame for a VLAN and return the lower netdev */
static struct net_device *tag_frame(struct sk_buff *skb, struct net_device *ndev,
				    u8 priority)
{
	u16 tci;

	if (!is_vlan_dev(ndev))
		return ndev;
	tci = vlan_dev_vlan_id(ndev) | priority << VLAN_PRIO_SHIFT;
	__vlan_hwaccel_put_tag(skb, vlan_dev_vlan_proto(ndev), tci);
	return rhca_vlan_lower(ndev);	/* may be a VLAN itself */
}

/*
 * Send and consume a RoCE v1 packet. @gid_ndev: netdev of its source GID. Bottom halves off, RCU
 * read side. Returns as dev_queue_xmit().
 */
int rhca_frame_send_v1(struct sk_buff *skb, struct rhca_path *path,
		       struct net_device *gid_ndev)
{
	struct net_device *ndev;

	skb->dev = gid_ndev;
	skb->protocol = htons(RHCA_ETHERTYPE);
	RHCA_PACKET_CB(skb)->copy_to_self = has_local_members(path, gid_ndev);
	ndev = tag_frame(skb, gid_ndev, skb->priority);
	return send_frame(skb, ndev, path->address.dmac, RHCA_ETHERTYPE);
}

/* --- IP ------------------------------------------------------------------- */

static int frame_output(struct net *net, struct sock *sk, struct sk_buff *skb)
{
	struct rhca_packet_cb cb = *RHCA_PACKET_CB(skb);
	struct net_device *ndev = tag_frame(skb, skb->dev, cb.priority);

	return send_frame(skb, ndev, cb.dmac, ntohs(skb->protocol));
}

static int frame_post_routing(struct net *net, struct sock *sk,
			      struct sk_buff *skb)
{
	u8 family = skb->protocol == htons(ETH_P_IP) ? NFPROTO_IPV4 :
						       NFPROTO_IPV6;
	const struct dst_entry *dst = skb_dst(skb);

	/* Netfilter has rerouted it to another netdev, by a mark or a changed header field */
	if (dst->dev != skb->dev || !rhca_route_is_plain(dst))
		return dst_output(net, sk, skb);
	return NF_HOOK(family, NF_INET_POST_ROUTING, net, sk, skb, NULL,
		       skb->dev, frame_output);
}

/* The neighbour to which a packet's route leads; that of an IPv4 packet may be mapped */
static struct in6_addr next_hop(const struct sk_buff *skb)
{
	const struct rtable *rt = skb_rtable(skb);
	struct in6_addr hop;

	if (skb->protocol != htons(ETH_P_IP))
		return *rt6_nexthop((struct rt6_info *)skb_dst(skb), &ipv6_hdr(skb)->daddr);
	if (rt->rt_gw_family == AF_INET6)
		return rt->rt_gw6;
	ipv6_addr_set_v4mapped(rt_nexthop(rt, ip_hdr(skb)->daddr), &hop);
	return hop;
}

/*
 * Do we have to build the Ethernet header? VLANs need the service level in their tags, bonds the
 * member chosen by the QP or the flow label. Packets that IPsec or a tunnel transforms are left to
 * the IP stack.
 */
bool rhca_frame_needed(const struct dst_entry *dst)
{
	return (is_vlan_dev(dst->dev) || rhca_lag_bond_member(dst->dev, 0)) &&
	       rhca_route_is_plain(dst);
}

/*
 * Send and consume a routed RoCE v2 packet with an Ethernet header built here. Bottom halves off,
 * RCU read side. Returns as dev_queue_xmit(), or netfilter's verdict. After a queue of netfilter a
 * changed gateway on the same netdev is not seen.
 */
int rhca_frame_send_ip(struct sk_buff *skb, struct rhca_path *path,
		       struct net *net)
{
	u8 family = skb->protocol == htons(ETH_P_IP) ? NFPROTO_IPV4 :
						       NFPROTO_IPV6;
	struct in6_addr before = next_hop(skb), after;
	int ret;

	ether_addr_copy(RHCA_PACKET_CB(skb)->dmac, path->address.dmac);
	RHCA_PACKET_CB(skb)->priority = skb->priority;
	RHCA_PACKET_CB(skb)->copy_to_self = has_local_members(path, skb->dev);
	ret = nf_hook(family, NF_INET_LOCAL_OUT, net, NULL, skb, NULL, skb->dev,
		      frame_post_routing);
	if (ret != 1)
		return ret;
	after = next_hop(skb);
	if (!ipv6_addr_equal(&before, &after))	/* a rule chose another gateway */
		return dst_output(net, NULL, skb);
	return frame_post_routing(net, NULL, skb);
}
