// SPDX-License-Identifier: GPL-2.0
/*
 * Packets out. RoCE v2 leaves through the IP stack's output path, so netfilter,
 * routing and qdiscs see it; v1 is handed to the netdev.
 */
#include <net/ip.h>
#include <net/ipv6.h>

#include "core/device.h"
#include "core/lag.h"
#include "sw/transport/frame.h"
#include "sw/transport/route.h"
#include "sw/transport/transmit.h"

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

static int send_v2(struct sk_buff *skb, struct rhca_path *path, struct net *net)
{
	u32 lag_member = RHCA_PACKET_CB(skb)->lag_member;
	struct dst_entry *dst = rhca_route_find(path, net, lag_member);
	bool ipv4 = path->flow.encap == RHCA_V2_IPV4;

	if (!dst) {
		kfree_skb(skb);
		return -ENETUNREACH;
	}
	skb_dst_set(skb, dst);
	skb->dev = dst->dev;
	skb->protocol = htons(ipv4 ? ETH_P_IP : ETH_P_IPV6);
	if (rhca_frame_needed(dst->dev) && !is_zero_ether_addr(path->dmac))
		return rhca_frame_send_ip(skb, path, net);
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
	return rhca_frame_send_v1(skb, path, gid_ndev);
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
	u32 psn = RHCA_PACKET_CB(skb)->psn;
	int result = -ENODEV;

	if (ndev && !train->refused) {
		RHCA_PACKET_CB(skb)->lag_member =
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
