// SPDX-License-Identifier: GPL-2.0
/*
 * Packets out. RoCE v2 leaves through the IP stack's output path, so netfilter,
 * routing and qdiscs see it; v1 is handed to the netdev.
 *
 * A VLAN device sets the priority bits from its own egress map. RoCE wants its
 * own priority there, so packets to a VLAN pass the netfilter hooks of the
 * VLAN device here and are then handed, tagged, to the device below it. Packets
 * to an active-active bond are handed to one of its members in the same way.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <net/addrconf.h>
#include <net/dst_cache.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "core/device.h"
#include "core/lag.h"
#include "sw/verbs/mcast.h"
#include "sw/transport/transmit.h"
#include "wire/crc32.h"
#include "wire/encap.h"
#include "wire/icrc.h"

#define TRAILER_BYTES	(3 + RHCA_ICRC_BYTES)	/* padding and ICRC */

/**
 * rhca_packet_begin - Allocate a packet and write its BTH
 * @packet: filled in
 * @qp: whose it is
 * @path: where it will go
 * @fields: of the BTH; the padding is set when the packet is sealed
 * @copied_bytes: room for payload that will be copied into the linear part
 *
 * Context: bottom halves off.
 * Return: 0 or -ENOMEM.
 */
int rhca_packet_begin(struct rhca_packet *packet, const struct rhca_qp *qp,
		      struct rhca_path *path,
		      const struct rhca_bth_fields *fields,
		      unsigned int copied_bytes)
{
	unsigned int network = rhca_network_bytes(path->flow.encap);
	unsigned int transport = rhca_transport_bytes(fields->opcode);
	struct sk_buff *skb;

	skb = alloc_skb(LL_MAX_HEADER + network + transport + copied_bytes +
			TRAILER_BYTES, GFP_ATOMIC);
	if (!skb) {
		rhca_qp_count(qp, RHCA_TX_DROPPED_NO_MEMORY);
		return -ENOMEM;
	}
	skb_reserve(skb, LL_MAX_HEADER);
	skb_reset_network_header(skb);
	skb_put(skb, network);
	skb_set_transport_header(skb, path->flow.encap == RHCA_V2_IPV4 ?
				 sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	packet->skb = skb;
	packet->qp = qp;
	packet->path = path;
	packet->bth = skb_put(skb, transport);
	packet->udp_sport = path->flow.udp_sport;
	rhca_bth_fill(packet->bth, fields);
	return 0;
}

/* Room for the trailer: behind linear data, else in a fragment of its own */
static u8 *add_trailer(struct sk_buff *skb, unsigned int bytes)
{
	void *trailer;

	if (!skb_is_nonlinear(skb))
		return skb_put(skb, bytes);
	trailer = netdev_alloc_frag(bytes);
	if (!trailer)
		return NULL;
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags,
			virt_to_head_page(trailer),
			trailer - page_address(virt_to_head_page(trailer)),
			bytes, SMP_CACHE_BYTES);
	return trailer;
}

/*
 * Control block of a packet until it enters the IP stack, which has the first
 * bytes of it for itself.
 */
struct packet_cb {
	u8 ip_stack[32];
	u8 dmac[ETH_ALEN];
	u8 priority;
	u8 lag_member;
	bool copy_to_self;
	u32 psn;
};

#define PACKET_CB(skb)	((struct packet_cb *)(skb)->cb)

/* The payload and everything before it is in place: pad, address, protect */
static bool seal(struct rhca_packet *packet, u32 psn)
{
	struct rhca_flow flow = packet->path->flow;
	unsigned int network = rhca_network_bytes(flow.encap);
	struct sk_buff *skb = packet->skb;
	unsigned int pad = -skb->len & 3;
	unsigned int bth_end = network + sizeof(struct rhca_bth);
	u8 *trailer = add_trailer(skb, pad + RHCA_ICRC_BYTES);
	bool vectors;
	__le32 icrc;
	u32 crc;

	if (!trailer)
		return false;
	memset(trailer, 0, pad);
	packet->bth->flags |= u8_encode_bits(pad, RHCA_BTH_PAD);
	flow.udp_sport = packet->udp_sport;
	flow.hop_limit = rhca_qos_hop_limit(&packet->path->port->qos, &flow);
	rhca_network_fill(skb->data, &flow, skb->len - network, psn);
	vectors = rhca_crc32_begin(skb->len);
	crc = rhca_icrc_headers(vectors, flow.encap, skb->data);
	crc = rhca_icrc_skb(vectors, crc, skb, bth_end,
			    skb->len - bth_end - RHCA_ICRC_BYTES);
	rhca_crc32_end(vectors);
	icrc = rhca_icrc_final(crc);
	memcpy(trailer + pad, &icrc, sizeof(icrc));
	return true;
}

/**
 * rhca_packet_seal - Finish a packet
 * @packet: headers and payload are in place; without memory for the trailer the
 *	packet is dropped and @packet->skb is NULL, as if the wire had lost it
 * @psn: of the packet; its low bits are the IPv4 identification, so that
 *	segments of a train have the consecutive ones that splitting it gives
 */
void rhca_packet_seal(struct rhca_packet *packet, u32 psn)
{
	PACKET_CB(packet->skb)->psn = psn;
	if (!seal(packet, psn)) {
		rhca_qp_count(packet->qp, RHCA_TX_DROPPED_NO_MEMORY);
		kfree_skb(packet->skb);
		packet->skb = NULL;
	}
}

/**
 * rhca_train_begin - Begin an empty train
 * @train: filled in
 * @qp: who sends
 * @path: where to; may be set later, before the first packet
 */
void rhca_train_begin(struct rhca_train *train, const struct rhca_qp *qp,
		      struct rhca_path *path)
{
	train->qp = qp;
	train->path = path;
	train->refused = false;
	__skb_queue_head_init(&train->packets);
}

/* The entry of the table that it was to go by has been cleared: it must not go */
static void drop_outside_partitions(struct rhca_packet *packet)
{
	if (rhca_pkey_valid(be16_to_cpu(packet->bth->pkey)))
		return;
	rhca_qp_count(packet->qp, RHCA_TX_DROPPED_BAD_PKEY);
	kfree_skb(packet->skb);
	packet->skb = NULL;
}

/**
 * rhca_train_add - Add a sealed packet; sends the train when it is full
 * @train: the train
 * @packet: the packet, which the train takes over; without a valid P_Key it is
 *	dropped, as if the wire had lost it
 */
void rhca_train_add(struct rhca_train *train, struct rhca_packet *packet)
{
	if (packet->skb)
		drop_outside_partitions(packet);
	if (packet->skb)
		__skb_queue_tail(&train->packets, packet->skb);
	if (skb_queue_len(&train->packets) >= RHCA_TRAIN_PACKETS)
		rhca_train_send(train);
}

/* --- routes --------------------------------------------------------------- */

/**
 * struct egress - A way out of a path's source GID
 * @ifindex: netdev that the route must take
 * @cache: where the route is kept
 */
struct egress {
	int ifindex;
	struct dst_cache *cache;
};

static struct dst_entry *route_ipv4(struct rhca_path *path, struct net *net,
				    const struct egress *egress)
{
	const struct rhca_flow *flow = &path->flow;
	struct flowi4 fl4 = {};
	struct dst_entry *dst;
	struct rtable *rt;
	__be32 saddr;

	dst = dst_cache_get(egress->cache);
	if (dst)
		return dst;
	fl4.flowi4_oif = egress->ifindex;
	fl4.flowi4_proto = IPPROTO_UDP;
	memcpy(&fl4.saddr, &flow->sgid.raw[12], sizeof(fl4.saddr));
	memcpy(&fl4.daddr, &flow->dgid.raw[12], sizeof(fl4.daddr));
	saddr = fl4.saddr;
	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return NULL;
	dst_cache_set_ip4(egress->cache, &rt->dst, saddr);
	return &rt->dst;
}

static struct dst_entry *route_ipv6(struct rhca_path *path, struct net *net,
				    const struct egress *egress)
{
	const struct rhca_flow *flow = &path->flow;
	struct flowi6 fl6 = {};
	struct dst_entry *dst;

	dst = dst_cache_get(egress->cache);
	if (dst)
		return dst;
	fl6.flowi6_oif = egress->ifindex;
	fl6.flowi6_proto = IPPROTO_UDP;
	memcpy(&fl6.saddr, flow->sgid.raw, sizeof(fl6.saddr));
	memcpy(&fl6.daddr, flow->dgid.raw, sizeof(fl6.daddr));
	dst = ip6_route_output(net, NULL, &fl6);
	if (dst->error) {
		dst_release(dst);
		return NULL;
	}
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
	struct net_device *second = rcu_dereference(path->port->second);
	struct net_device *first = rcu_dereference(path->port->ndev);

	if (!second || path->vlan_id != RHCA_NO_VLAN ||
	    !netif_running(second) || !netif_carrier_ok(second))
		return NULL;
	if (!lag_member && first && netif_running(first) &&
	    netif_carrier_ok(first))
		return NULL;
	return second;
}

static struct dst_entry *find_route(struct rhca_path *path, struct net *net,
				    u32 lag_member)
{
	const struct net_device *second = second_netdev(path, lag_member);
	struct egress egress = { path->ifindex, &path->route };

	if (second)
		egress = (struct egress){ second->ifindex,
					  &path->second_route };
	if (path->flow.encap == RHCA_V2_IPV4)
		return route_ipv4(path, net, &egress);
	return IS_ENABLED(CONFIG_IPV6) ? route_ipv6(path, net, &egress) : NULL;
}

/* --- Ethernet ------------------------------------------------------------- */

static int turn_round(struct sk_buff *skb, struct net_device *gid_ndev)
{
	skb->dev = gid_ndev;
	__vlan_hwaccel_clear_tag(skb);
	skb->protocol = eth_type_trans(skb, gid_ndev);
	return netif_rx(skb);
}

/* Is there a QP on this host in the group that the packet goes to? */
static bool has_local_members(const struct rhca_path *path,
			      const struct net_device *gid_ndev)
{
	return is_multicast_ether_addr(path->dmac) &&
	       rhca_mcast_port(&path->flow.dgid, gid_ndev);
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
	u32 lag_member = PACKET_CB(skb)->lag_member;
	struct net_device *gid_ndev = skb->dev;
	bool copy_to_self = PACKET_CB(skb)->copy_to_self;
	struct sk_buff *copy;

	if (eth_header(skb, ndev, ethertype, dmac, gid_ndev->dev_addr,
		       skb->len) < 0) {
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	skb_reset_mac_header(skb);
	if (ether_addr_equal(dmac, gid_ndev->dev_addr)) {
		skb_dst_drop(skb);
		return turn_round(skb, gid_ndev);
	}
	copy = copy_to_self ? skb_clone(skb, GFP_ATOMIC) : NULL;
	if (copy)
		turn_round(copy, gid_ndev);
	skb->dev = rhca_lag_bond_member(ndev, lag_member) ?: ndev;
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

static int send_v1(struct sk_buff *skb, struct rhca_path *path,
		   struct net_device *gid_ndev)
{
	struct net_device *ndev;

	skb->dev = gid_ndev;
	skb->protocol = htons(RHCA_ETHERTYPE);
	PACKET_CB(skb)->copy_to_self = has_local_members(path, gid_ndev);
	ndev = tag_frame(skb, gid_ndev, skb->priority);
	return send_frame(skb, ndev, path->dmac, RHCA_ETHERTYPE);
}

/* --- IP ------------------------------------------------------------------- */

static int frame_output(struct net *net, struct sock *sk, struct sk_buff *skb)
{
	struct packet_cb cb = *PACKET_CB(skb);
	struct net_device *ndev = tag_frame(skb, skb->dev, cb.priority);

	return send_frame(skb, ndev, cb.dmac, ntohs(skb->protocol));
}

static int frame_post_routing(struct net *net, struct sock *sk,
			      struct sk_buff *skb)
{
	u8 family = skb->protocol == htons(ETH_P_IP) ? NFPROTO_IPV4 :
						       NFPROTO_IPV6;

	return NF_HOOK(family, NF_INET_POST_ROUTING, net, sk, skb, NULL,
		       skb->dev, frame_output);
}

/*
 * Does the Ethernet header have to be ours? VLANs want the service level in
 * their tags, bonds the member that the QP or the flow label names.
 */
static bool needs_frame(const struct net_device *ndev)
{
	return is_vlan_dev(ndev) || rhca_lag_bond_member(ndev, 0);
}

static int send_ip_frame(struct sk_buff *skb, struct rhca_path *path,
			 struct net *net)
{
	u8 family = skb->protocol == htons(ETH_P_IP) ? NFPROTO_IPV4 :
						       NFPROTO_IPV6;

	BUILD_BUG_ON(sizeof(struct inet_skb_parm) >
		     sizeof_field(struct packet_cb, ip_stack));
	BUILD_BUG_ON(sizeof(struct inet6_skb_parm) >
		     sizeof_field(struct packet_cb, ip_stack));
	BUILD_BUG_ON(sizeof(struct packet_cb) > sizeof_field(struct sk_buff, cb));
	ether_addr_copy(PACKET_CB(skb)->dmac, path->dmac);
	PACKET_CB(skb)->priority = skb->priority;
	PACKET_CB(skb)->copy_to_self = has_local_members(path, skb->dev);
	return NF_HOOK(family, NF_INET_LOCAL_OUT, net, NULL, skb, NULL,
		       skb->dev, frame_post_routing);
}

#ifdef CONFIG_NETFILTER
static unsigned int accept_packet(void *priv, struct sk_buff *skb,
				  const struct nf_hook_state *state)
{
	return NF_ACCEPT;
}

static const struct nf_hook_ops passing_hook = {
	.hook		= accept_packet,
	.pf		= NFPROTO_IPV4,
	.hooknum	= NF_INET_LOCAL_OUT,
	.priority	= NF_IP_PRI_FIRST,
};

/**
 * rhca_transmit_recall - Drop packets that an NFQUEUE rule holds
 * @net: a namespace in which nothing of ours is sent any more
 *
 * The verdict on such a packet goes on to frame_post_routing() or frame_output(),
 * which are about to go with the module. When a hook is unregistered, netfilter
 * drops all that is queued in the namespace, because it may have come from there;
 * nothing else tells it to. Packets of others are dropped with ours. The second
 * round is for those that a verdict has just let into the next queue.
 *
 * Context: may sleep.
 */
void rhca_transmit_recall(struct net *net)
{
	int round;

	for (round = 0; round < 2; round++) {
		if (!nf_register_net_hook(net, &passing_hook))
			nf_unregister_net_hook(net, &passing_hook);
		synchronize_rcu();	/* verdicts under way */
	}
}
#else
void rhca_transmit_recall(struct net *net)
{
}
#endif

static int send_v2(struct sk_buff *skb, struct rhca_path *path, struct net *net)
{
	struct dst_entry *dst = find_route(path, net,
					   PACKET_CB(skb)->lag_member);
	bool ipv4 = path->flow.encap == RHCA_V2_IPV4;

	if (!dst) {
		kfree_skb(skb);
		return -ENETUNREACH;
	}
	skb_dst_set(skb, dst);
	skb->dev = dst->dev;
	skb->protocol = htons(ipv4 ? ETH_P_IP : ETH_P_IPV6);
	if (needs_frame(dst->dev) && !is_zero_ether_addr(path->dmac))
		return send_ip_frame(skb, path, net);
	if (ipv4)
		return ip_local_out(net, NULL, skb);
	return ip6_local_out(net, NULL, skb);
}

/*
 * Above NET_XMIT_SUCCESS the local queue has refused the packet; an error means
 * that it is lost as if on the wire, which the timers know.
 */
static int send_packet(struct sk_buff *skb, struct rhca_path *path,
		       struct net_device *port_ndev)
{
	struct net *net = dev_net(port_ndev);
	struct net_device *gid_ndev = port_ndev;

	skb->priority = rhca_qos_priority(&path->port->qos, path->sl,
					  &path->flow);
	if (path->flow.encap != RHCA_V1)
		return send_v2(skb, path, net);
	if (path->ifindex != port_ndev->ifindex)
		gid_ndev = dev_get_by_index_rcu(net, path->ifindex);
	if (!gid_ndev) {
		kfree_skb(skb);
		return -ENODEV;
	}
	return send_v1(skb, path, gid_ndev);
}

/* Why it was not sent, from what send_packet() says */
static enum rhca_counter drop_reason(int result)
{
	switch (result) {
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return RHCA_TX_DROPPED_NO_ROUTE;
	case -ENODEV:
	case -ENETDOWN:
		return RHCA_TX_DROPPED_NO_NETDEV;
	case -EPERM:			/* what a netfilter drop returns */
		return RHCA_TX_DROPPED_FILTERED;
	case -ENOMEM:
		return RHCA_TX_DROPPED_NO_MEMORY;
	default:
		return result < 0 ? RHCA_TX_DROPPED_STACK : RHCA_TX_DROPPED;
	}
}

/*
 * What stands behind a packet that the queue refused would arrive out of order:
 * it shares that packet's fate.
 */
static bool send_member(struct rhca_train *train, struct sk_buff *skb,
			struct net_device *ndev)
{
	u32 psn = PACKET_CB(skb)->psn;
	int result = -ENODEV;

	if (ndev && !train->refused) {
		PACKET_CB(skb)->lag_member =
			rhca_lag_member_of(train->path->flow.flow_label,
					   READ_ONCE(train->qp->lag_member));
		result = send_packet(skb, train->path, ndev);
	} else {
		kfree_skb(skb);
		if (train->refused)
			result = NET_XMIT_DROP;
	}
	if (result == NET_XMIT_SUCCESS)
		return true;
	rhca_qp_count(train->qp, drop_reason(result));
	if (result > 0 && !train->refused) {
		train->refused = true;
		train->refused_psn = psn;
	}
	return false;
}

static void count_sent(const struct rhca_train *train, u32 packets, u32 bytes)
{
	struct rhca_counters __percpu *c = rhca_qp_counters(train->qp);

	rhca_counter_add(c, RHCA_TX_PACKETS, packets);
	rhca_counter_add(c, RHCA_TX_BYTES, bytes);
	if (rhca_qp_is_datagram(train->qp) &&
	    rhca_gid_is_multicast(&train->path->flow.dgid))
		rhca_counter_add(c, RHCA_TX_MULTICAST_PACKETS, packets);
}

/**
 * rhca_train_send - Send what is in the train
 * @train: the train, empty afterwards; @train->refused tells whether the local
 *	queue took all of it
 *
 * Context: bottom halves off, RCU read side. QP locks may be held: no stack
 * path delivers a packet to a receiver from inside a send.
 */
void rhca_train_send(struct rhca_train *train)
{
	u32 packets = 0, bytes = 0;
	struct net_device *ndev;
	struct sk_buff *skb;
	unsigned int len;

	if (skb_queue_empty(&train->packets))
		return;
	ndev = rcu_dereference(train->path->port->ndev);
	while ((skb = __skb_dequeue(&train->packets))) {
		len = skb->len;
		if (!send_member(train, skb, ndev))
			continue;
		packets++;
		bytes += len;
	}
	count_sent(train, packets, bytes);
}
