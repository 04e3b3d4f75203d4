// SPDX-License-Identifier: GPL-2.0
/*
 * Packets out. RoCE v2 leaves through the IP stack's output path, so netfilter,
 * routing and qdiscs see it; v1 is handed to the netdev.
 */
#include <linux/etherdevice.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "core/device.h"
#include "core/lag.h"
#include "sw/transport/egress.h"
#include "sw/transport/frame.h"
#include "sw/transport/route.h"
#include "sw/transport/transmit.h"

/**
 * rhca_train_begin - Begin an empty train
 * @train: filled in
 * @qp: who sends
 * @path: where to; may be set later, before the first packet
 * @backoff: of the half of the QP that sends; NULL for what never is a block
 */
void rhca_train_begin(struct rhca_train *train, const struct rhca_verbs_qp *qp,
		      struct rhca_path *path,
		      struct rhca_block_backoff *backoff)
{
	train->qp = qp;
	train->path = path;
	train->backoff = backoff;
	train->refused = false;
	train->asked = false;
	train->block.segments = 0;
	train->block.bytes = 0;
	train->block.num_pieces = 0;
	train->block.closed = false;
	__skb_queue_head_init(&train->packets);
}

/**
 * rhca_train_set_path - Packets go to another destination from now on
 * @train: sends what it has to the old one
 * @path: the new one
 */
void rhca_train_set_path(struct rhca_train *train, struct rhca_path *path)
{
	rhca_train_send(train);
	train->path = path;
	train->asked = false;
}

/* All packets of the train leave by one member */
static u32 lag_member(const struct rhca_train *train)
{
	return rhca_lag_member_of(train->path->address.flow.flow_label,
				  READ_ONCE(train->qp->lag_member));
}

/* One packet alone is best off in an skb of its own */
static bool goes_into_block(struct rhca_train *train, bool more)
{
	if ((!more && !train->block.segments) || !train->backoff ||
	    train->backoff->single)
		return false;
	if (!train->asked) {
		train->asked = true;
		train->blocks = rhca_egress_takes_blocks(train->path,
							 lag_member(train));
	}
	return train->blocks;
}

/**
 * rhca_train_begin_packet - Begin a packet of the train
 * @train: the train
 * @packet: filled in
 * @fields: of the BTH
 * @payload_bytes: how many it will have
 * @more: another packet is likely to follow
 *
 * Context: bottom halves off until the packet has been added or dropped.
 * Return: 0 or -ENOMEM.
 */
int rhca_train_begin_packet(struct rhca_train *train,
			    struct rhca_packet *packet,
			    const struct rhca_bth_fields *fields,
			    unsigned int payload_bytes, bool more)
{
	if (goes_into_block(train, more) &&
	    rhca_packet_begin_segment(packet, train->qp, train->path, fields,
				      payload_bytes))
		return 0;
	return rhca_packet_begin(packet, train->qp, train->path, fields,
				 payload_bytes);
}

static void count_dropped(const struct rhca_train *train, u32 packets,
			  enum rhca_counter reason)
{
	rhca_counter_add(rhca_qp_counters(train->qp), reason, packets);
}

static void finish_block(struct rhca_train *train)
{
	u32 packets = train->block.segments;
	struct sk_buff *skb;

	if (!packets)
		return;
	skb = rhca_block_finish(&train->block, train->path->address.flow.encap);
	if (skb)
		__skb_queue_tail(&train->packets, skb);
	else
		count_dropped(train, packets, RHCA_TX_DROPPED_NO_MEMORY);
}

/* The entry of the table that it was to go by has been cleared: it must not go */
static bool outside_partitions(struct rhca_packet *packet)
{
	if (rhca_pkey_valid(be16_to_cpu(packet->bth->pkey)))
		return false;
	rhca_qp_count(packet->qp, RHCA_TX_DROPPED_BAD_PKEY);
	kfree_skb(packet->skb);
	packet->skb = NULL;
	packet->room = NULL;
	return true;
}

static void add_segment(struct rhca_train *train, struct rhca_packet *packet)
{
	if (train->block.segments && !rhca_block_fits(&train->block, packet)) {
		finish_block(train);
		rhca_train_send(train);
	}
	rhca_block_add(&train->block, packet);
}

/**
 * rhca_train_add - Add a sealed packet; sends the train when it is full
 * @train: the train
 * @packet: the packet, which the train takes over; without a valid P_Key it is
 *	dropped, as if the wire had lost it
 */
void rhca_train_add(struct rhca_train *train, struct rhca_packet *packet)
{
	if ((!packet->skb && !packet->room) || outside_partitions(packet))
		return;
	if (packet->room) {
		add_segment(train, packet);
		return;
	}
	finish_block(train);
	__skb_queue_tail(&train->packets, packet->skb);
	if (skb_queue_len(&train->packets) >= RHCA_TRAIN_PACKETS)
		rhca_train_send(train);
}

static int send_v2(struct sk_buff *skb, struct rhca_path *path, struct net *net)
{
	u32 lag_member = RHCA_PACKET_CB(skb)->lag_member;
	struct dst_entry *dst = rhca_route_find(path, net, lag_member);
	bool ipv4 = path->address.flow.encap == RHCA_V2_IPV4;

	if (!dst) {
		kfree_skb(skb);
		return -ENETUNREACH;
	}
	skb_dst_set(skb, dst);
	skb->dev = dst->dev;
	skb->protocol = htons(ipv4 ? ETH_P_IP : ETH_P_IPV6);
	if (rhca_frame_needed(dst->dev) && !is_zero_ether_addr(path->address.dmac))
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

	skb->priority = rhca_qos_priority(&path->address.port->qos, path->address.sl,
					  &path->address.flow);
	if (path->address.flow.encap != RHCA_V1)
		return send_v2(skb, path, net);
	if (path->address.ifindex != port_ndev->ifindex)
		gid_ndev = dev_get_by_index_rcu(net, path->address.ifindex);
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
	u32 packets = RHCA_PACKET_CB(skb)->packets;
	u32 psn = RHCA_PACKET_CB(skb)->psn;
	int result = -ENODEV;

	if (ndev && !train->refused) {
		RHCA_PACKET_CB(skb)->lag_member = lag_member(train);
		result = send_packet(skb, train->path, ndev);
	} else {
		kfree_skb(skb);
		if (train->refused)
			result = NET_XMIT_DROP;
	}
	if (result == NET_XMIT_SUCCESS)
		return true;
	count_dropped(train, packets, drop_reason(result));
	if (result > 0 && packets > 1)	/* a queue with no room for a block */
		rhca_block_lost(train->backoff);
	if (result > 0 && !train->refused) {
		train->refused = true;
		train->refused_psn = psn;
	}
	return false;
}

static void note_sent(const struct rhca_train *train, u32 packets, u32 bytes)
{
	struct rhca_counters __percpu *c = rhca_qp_counters(train->qp);

	rhca_counter_add(c, RHCA_TX_PACKETS, packets);
	rhca_counter_add(c, RHCA_TX_BYTES, bytes);
	if (train->backoff)
		rhca_block_sent(train->backoff, packets);
	if (rhca_is_datagram(train->qp) &&
	    rhca_gid_is_multicast(&train->path->address.flow.dgid))
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
	u32 packets = 0, bytes = 0, here, len;
	struct net_device *ndev;
	struct sk_buff *skb;

	finish_block(train);
	if (skb_queue_empty(&train->packets))
		return;
	ndev = rcu_dereference(train->path->address.port->ndev);
	while ((skb = __skb_dequeue(&train->packets))) {
		here = RHCA_PACKET_CB(skb)->packets;
		len = skb->len + (here - 1) *
		      rhca_network_bytes(train->path->address.flow.encap);
		if (!send_member(train, skb, ndev))
			continue;
		packets += here;
		bytes += len;
	}
	note_sent(train, packets, bytes);
}
