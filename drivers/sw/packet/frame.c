// SPDX-License-Identifier: GPL-2.0
/*
 * Ethernet frames of our own: RoCE v1, and IP packets to VLANs and bonds.
 *
 * A VLAN device sets the priority bits from its own egress map. RoCE wants its
 * own priority there, so packets to a VLAN pass the netfilter hooks of the
 * VLAN device here and are then handed, tagged, to the device below it. Packets
 * to an active-active bond are handed to one of its members in the same way.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netfilter.h>
#include <net/dst.h>

#include "borrowed/ipsec_route.h"
#include "borrowed/loop_back.h"
#include "core/mcast.h"
#include "core/rules/lag.h"
#include "sw/packet/frame.h"
#include "sw/packet/packet.h"

/* --- Ethernet ------------------------------------------------------------- */

/* Is a packet, or each one that a block is cut into, short enough from its network header on? */
bool rhca_frame_fits(const struct sk_buff *skb, unsigned int mtu)
{
	return skb_is_gso(skb) ? skb_gso_validate_network_len(skb, mtu) :
				 skb->len <= mtu;
}

/* Is there a QP on this host in the group that the packet goes to? */
static bool has_local_members(const struct rhca_path *path,
			      const struct net_device *gid_ndev)
{
	return is_multicast_ether_addr(path->address.dmac) &&
	       rhca_mcast_port(&path->address.flow.dgid, gid_ndev);
}

/*
 * From here on the packet belongs to a real device; of a bond, to the member
 * that the packet should leave by. Frames to the device's own address, and to
 * groups that it is in, never come back from a wire, so they are turned round
 * here. The copy keeps its route: the IP stack would take a packet from an own
 * address for a spoofed one.
 */
static int send_frame(struct sk_buff *skb, struct net_device *ndev,
		      const u8 *dmac, u16 ethertype)
{
	u32 lag_member = RHCA_PACKET_CB(skb)->lag_member;
	struct net_device *gid_ndev = skb->dev;
	bool copy_to_self = RHCA_PACKET_CB(skb)->copy_to_self;
	struct net_device *egress = rhca_lag_bond_member(ndev, lag_member) ?: ndev;
	struct sk_buff *copy;

	/* Path MTUs were compared with the netdev's when QPs were connected */
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

/* The netdev below a VLAN, and the tag that frames on it need */
static struct net_device *tag_frame(struct sk_buff *skb, struct net_device *ndev,
				    u8 priority)
{
	u16 tci;

	if (!is_vlan_dev(ndev))
		return ndev;
	tci = vlan_dev_vlan_id(ndev) | priority << VLAN_PRIO_SHIFT;
	__vlan_hwaccel_put_tag(skb, vlan_dev_vlan_proto(ndev), tci);
	return vlan_dev_priv(ndev)->real_dev;	/* may be a VLAN itself */
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

	/* A rule for local packets has changed what routes go by: a mark, a field */
	if (dst->dev != skb->dev || !rhca_route_is_plain(dst))
		return dst_output(net, sk, skb);
	return NF_HOOK(family, NF_INET_POST_ROUTING, net, sk, skb, NULL,
		       skb->dev, frame_output);
}

/*
 * Does the Ethernet header have to be ours? VLANs want the service level in their tags, bonds
 * the member that the QP or the flow label names. What IPsec or a tunnel of the route makes of
 * a packet is the IP stack's to send.
 */
bool rhca_frame_needed(const struct dst_entry *dst)
{
	return (is_vlan_dev(dst->dev) || rhca_lag_bond_member(dst->dev, 0)) &&
	       rhca_route_is_plain(dst);
}

/*
 * Send and consume a RoCE v2 packet, which has its route, with an Ethernet header of ours. Bottom
 * halves off, RCU read side. Returns as dev_queue_xmit(), or what netfilter says.
 */
int rhca_frame_send_ip(struct sk_buff *skb, struct rhca_path *path,
		       struct net *net)
{
	u8 family = skb->protocol == htons(ETH_P_IP) ? NFPROTO_IPV4 :
						       NFPROTO_IPV6;

	ether_addr_copy(RHCA_PACKET_CB(skb)->dmac, path->address.dmac);
	RHCA_PACKET_CB(skb)->priority = skb->priority;
	RHCA_PACKET_CB(skb)->copy_to_self = has_local_members(path, skb->dev);
	return NF_HOOK(family, NF_INET_LOCAL_OUT, net, NULL, skb, NULL,
		       skb->dev, frame_post_routing);
}
