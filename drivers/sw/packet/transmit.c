// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit path. RoCE v2 uses the IP stack's output path, so netfilter, routing and qdiscs see it;
 * v1 is handed to the netdev.
 */
#include <linux/etherdevice.h>
#include <linux/net.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rhca/trace.h>

#include "core/rules/lag.h"
#include "sw/packet/egress.h"
#include "sw/packet/frame.h"
#include "sw/packet/transmit.h"

/* --- charging -------------------------------------------------------------- */

/**
 * rhca_tx_memory_open - Start accounting for the memory of a QP's queued packets
 * @qp: the QP; nothing changes if it is already accounted
 *
 * A socket of the QP owns its packets; it is never bound and receives nothing. The kernel's
 * sock_wfree() subtracts what is freed, so packets may outlive the QP, the device and this module.
 * The socket is in the initial namespace, which does not end while packets are still queued in a
 * netdev. There is no callback when room becomes free: a waiting half checks again after a pause.
 *
 * Context: process; the QP sends nothing yet.
 * Return: 0 or an error of sock_create_kern().
 */
int rhca_tx_memory_open(struct rhca_verbs_qp *qp)
{
	int ret;

	if (qp->owner)
		return 0;
	ret = sock_create_kern(&init_net, PF_INET, SOCK_DGRAM, IPPROTO_UDP,
			       &qp->owner);
	if (!ret)	/* no writer waits for room: sock_wfree() need not wake one */
		sock_set_flag(qp->owner->sk, SOCK_USE_WRITE_QUEUE);
	return ret;
}

/**
 * rhca_tx_memory_close - Stop accounting
 * @qp: a QP that sends nothing any more
 *
 * Context: process.
 */
void rhca_tx_memory_close(struct rhca_verbs_qp *qp)
{
	if (qp->owner)
		sock_release(qp->owner);
	qp->owner = NULL;
}

/* --- lists ----------------------------------------------------------------- */

/**
 * rhca_tx_list_begin - Start an empty list
 * @tx: filled in
 * @qp: the sender
 * @path: the destination; may be set later, before the first packet
 * @backoff: of the sending half of the QP; NULL if blocks are never used
 */
void rhca_tx_list_begin(struct rhca_tx_list *tx, const struct rhca_verbs_qp *qp,
			struct rhca_path *path,
			struct rhca_block_backoff *backoff)
{
	tx->qp = qp;
	tx->counters = rhca_qp_counters(qp);
	tx->qp_member = READ_ONCE(qp->lag_member);
	tx->datagrams = rhca_is_datagram(qp);
	tx->path = path;
	tx->backoff = backoff;
	tx->shared = NULL;
	tx->uncharged = false;
	tx->may_overtake = false;
	tx->is_cnp = false;
	tx->sent_bytes = 0;
	tx->sent_packets = 0;
	tx->refused = false;
	tx->sender_cpu = 0;
	tx->asked = false;
	tx->block.segments = 0;
	tx->block.segment_bytes = 0;
	tx->block.bytes = 0;
	tx->block.num_pieces = 0;
	tx->block.closed = false;
	__skb_queue_head_init(&tx->packets);
}

/**
 * rhca_tx_list_set_path - Change the destination
 * @tx: its packets to the old destination are sent first
 * @path: the new one
 */
void rhca_tx_list_set_path(struct rhca_tx_list *tx, struct rhca_path *path)
{
	rhca_tx_list_send(tx);
	tx->path = path;
	tx->asked = false;
}

/* LAG member that all packets of the list use */
static u32 lag_member(const struct rhca_tx_list *tx)
{
	return rhca_lag_member_of(tx->path->address.flow.flow_label,
				  tx->qp_member);
}

/**
 * rhca_tx_list_takes_blocks - May packets to its destination be sent as blocks?
 * @tx: the list, with its path; caches the answer
 *
 * Context: bottom halves off, RCU read side.
 */
bool rhca_tx_list_takes_blocks(struct rhca_tx_list *tx)
{
	if (!tx->asked) {
		tx->asked = true;
		tx->blocks = rhca_egress_takes_blocks(tx->path,
						      lag_member(tx));
	}
	return tx->blocks;
}

/* A lone packet gets an skb of its own */
static bool joins_block(struct rhca_tx_list *tx, bool more)
{
	return (more || tx->block.segments) && tx->backoff &&
	       !tx->backoff->single && rhca_tx_list_takes_blocks(tx);
}

/**
 * rhca_tx_list_begin_packet - Start a packet of the list
 * @tx: the list
 * @packet: filled in
 * @fields: of the BTH
 * @payload_bytes: how many it will have
 * @more: another packet is likely to follow
 *
 * Context: bottom halves off until the packet has been added or dropped.
 * Return: 0 or -ENOMEM.
 */
int rhca_tx_list_begin_packet(struct rhca_tx_list *tx,
			      struct rhca_packet *packet,
			      const struct rhca_bth_fields *fields,
			      unsigned int payload_bytes, bool more)
{
	if (joins_block(tx, more) &&
	    rhca_packet_begin_segment(packet, tx->qp, tx->path, fields,
				      payload_bytes)) {
		/* Those for several packets have gaps between their PSNs */
		if (fields->opcode == IB_OPCODE_RC_RDMA_READ_REQUEST && tx->block.segments)
			packet->ip_id = rhca_block_next_id(&tx->block);
		return 0;
	}
	return rhca_packet_begin(packet, tx->qp, tx->path, fields,
				 payload_bytes);
}

static void finish_block(struct rhca_tx_list *tx)
{
	u32 packets = tx->block.segments;
	struct sk_buff *skb;

	if (!packets)
		return;
	skb = rhca_block_finish(&tx->block, tx->path->address.flow.encap);
	if (skb)
		__skb_queue_tail(&tx->packets, skb);
	else
		rhca_counter_add(tx->counters, RHCA_TX_DROPPED_NO_MEMORY, packets);
}

/* Drop a packet whose P_Key table entry has been cleared */
static bool outside_partitions(struct rhca_packet *packet)
{
	if (rhca_pkey_valid(be16_to_cpu(packet->bth->pkey)))
		return false;
	rhca_qp_count(packet->qp, RHCA_TX_DROPPED_BAD_PKEY);
	rhca_packet_free(packet);
	return true;
}

static int send_v2(struct sk_buff *skb, struct rhca_path *path, struct net *net)
{
	u32 lag_member = RHCA_PACKET_CB(skb)->lag_member;
	struct dst_entry *dst = rhca_route_find(path, net, lag_member);
	bool ipv4 = path->address.flow.encap == RHCA_V2_IPV4;

	if (IS_ERR(dst)) {
		kfree_skb(skb);
		return PTR_ERR(dst);
	}
	skb_dst_set(skb, dst);
	skb->dev = dst->dev;
	skb->protocol = htons(ipv4 ? ETH_P_IP : ETH_P_IPV6);
	if (!skb_is_gso(skb) && !RHCA_PACKET_CB(skb)->may_overtake &&
	    rhca_egress_needs_checksum(dst->dev))
		rhca_block_request_checksum(skb, path->address.flow.encap);
	if (rhca_frame_needed(dst) && !is_zero_ether_addr(path->address.dmac))
		return rhca_frame_send_ip(skb, path, net);
	if (dst_xfrm(dst) && !rhca_frame_fits(skb, dst_mtu(dst))) {
		kfree_skb(skb);
		return -EMSGSIZE;
	}
	if (ipv4)
		return ip_local_out(net, NULL, skb);
	return ip6_local_out(net, NULL, skb);
}

/*
 * NET_XMIT_DROP: the local queue refused the packet. NET_XMIT_CN: it may have dropped another one
 * instead; treat it as sent, since a packet that was queued must not be sent again. An error: the
 * packet is lost as if on the wire. Timers detect these losses.
 */
static int send_packet(struct sk_buff *skb, struct rhca_path *path,
		       struct net_device *port_ndev, bool is_cnp)
{
	const struct rhca_port *port = path->address.port;
	struct net *net = dev_net(port_ndev);
	struct net_device *gid_ndev = port_ndev;

	if (is_cnp && !READ_ONCE(port->cc.np_cnp_prio_mode))
		skb->priority = READ_ONCE(port->cc.np_cnp_prio);
	else
		skb->priority = rhca_qos_priority(&port->qos, path->address.sl,
						  &path->address.flow);
	if (path->address.flow.encap != RHCA_V1)
		return send_v2(skb, path, net);
	if (path->address.ifindex != port_ndev->ifindex)
		gid_ndev = dev_get_by_index_rcu(net, path->address.ifindex);
	/* The frame bypasses a VLAN's own queue; another netdev that is down would swallow it */
	if (!gid_ndev || !netif_running(gid_ndev)) {
		kfree_skb(skb);
		return -ENODEV;
	}
	return rhca_frame_send_v1(skb, path, gid_ndev);
}

/* Drop counter for a result of send_packet() */
static enum rhca_counter drop_reason(int result)
{
	switch (result) {
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return RHCA_TX_DROPPED_NO_ROUTE;
	case -ENODEV:
	case -ENETDOWN:
		return RHCA_TX_DROPPED_NO_NETDEV;
	case -EPERM:			/* from a netfilter drop, or IPsec */
		return RHCA_TX_DROPPED_FILTERED;
	case -EMSGSIZE:			/* also from the IP stack: DF is set */
		return RHCA_TX_DROPPED_TOO_LONG;
	case -ENOMEM:
		return RHCA_TX_DROPPED_NO_MEMORY;
	default:
		return result < 0 ? RHCA_TX_DROPPED_STACK : RHCA_TX_DROPPED;
	}
}

static void trace_tx(const struct rhca_tx_list *tx, u32 psn, u32 packets, u32 len,
		     const struct net_device *ndev, int result)
{
	trace_rhca_tx(tx->path->address.port->dev->ibdev.name,
		      tx->qp ? tx->qp->number : 0, psn, packets, len,
		      ndev ? ndev->name : "", result);
}

/* After a refused packet drop the rest of the list: it would arrive out of order. */
static bool send_member(struct rhca_tx_list *tx, struct sk_buff *skb,
			struct net_device *ndev)
{
	u32 packets = RHCA_PACKET_CB(skb)->packets;
	u32 psn = RHCA_PACKET_CB(skb)->psn;
	u32 len = skb->len;
	int result = -ENODEV;

	if (ndev && !tx->refused) {
		RHCA_PACKET_CB(skb)->lag_member = lag_member(tx);
		RHCA_PACKET_CB(skb)->may_overtake = tx->may_overtake;
#ifdef CONFIG_XPS
		skb->sender_cpu = tx->sender_cpu;
#endif
		if (tx->qp && !tx->uncharged && likely(tx->qp->owner))
			skb_set_owner_w(skb, tx->qp->owner->sk);
		result = send_packet(skb, tx->path, ndev, tx->is_cnp);
	} else {
		kfree_skb(skb);
		if (tx->refused)
			result = NET_XMIT_DROP;
	}
	if (trace_rhca_tx_enabled())
		trace_tx(tx, psn, packets, len, ndev, net_xmit_eval(result));
	/* No room in the queue for a block? */
	if (result > 0 && packets > 1 && tx->backoff)
		rhca_block_lost(tx->backoff);
	/* NET_XMIT_CN counts as sent: another packet may have been dropped */
	if (!net_xmit_eval(result)) {
		if (packets > 1 && tx->backoff)
			rhca_block_left(tx->backoff, psn);
		return true;
	}
	rhca_counter_add(tx->counters, drop_reason(result), packets);
	if (result > 0 && !tx->refused) {
		tx->refused = true;
		tx->refused_psn = psn;
	}
	return false;
}

static void note_sent(struct rhca_tx_list *tx, u32 packets, u32 bytes)
{
	struct rhca_counters __percpu *c = tx->counters;

	tx->sent_packets += packets;
	tx->sent_bytes += bytes;
	rhca_counter_add(c, RHCA_TX_PACKETS, packets);
	rhca_counter_add(c, RHCA_TX_BYTES, bytes);
	if (tx->backoff)
		rhca_block_sent(tx->backoff, packets);
	if (tx->datagrams &&
	    rhca_gid_is_multicast(&tx->path->address.flow.dgid))
		rhca_counter_add(c, RHCA_TX_MULTICAST_PACKETS, packets);
}

static void send_finished(struct rhca_tx_list *tx)
{
	u32 packets = 0, bytes = 0, here, len;
	struct net_device *ndev;
	struct sk_buff *skb;

	if (skb_queue_empty(&tx->packets))
		return;
	ndev = rcu_dereference(tx->path->address.port->ndev);
	while ((skb = __skb_dequeue(&tx->packets))) {
		here = RHCA_PACKET_CB(skb)->packets;
		len = skb->len + (here - 1) *
		      rhca_network_bytes(tx->path->address.flow.encap);
		if (!send_member(tx, skb, ndev))
			continue;
		packets += here;
		bytes += len;
	}
	note_sent(tx, packets, bytes);
}

/**
 * rhca_tx_list_send - Send the list
 * @tx: empty afterwards; @tx->refused tells if the local queue refused a packet
 *
 * Context: bottom halves off, RCU read side. QP locks may be held: no stack path delivers a packet
 * to a receiver from inside a send.
 */
void rhca_tx_list_send(struct rhca_tx_list *tx)
{
	finish_block(tx);
	send_finished(tx);
}

/* Memory of the pool must be taken before anything is sent */
static void add_segment(struct rhca_tx_list *tx, struct rhca_packet *packet)
{
	bool full = tx->block.segments && !rhca_block_fits(&tx->block, packet);

	if (full)
		finish_block(tx);
	rhca_block_add(&tx->block, packet);
	if (full)
		send_finished(tx);
}

/**
 * rhca_tx_list_add - Add a sealed packet; sends the list when it is full
 * @tx: the list
 * @packet: the packet, which the list takes over; without a valid P_Key it is dropped, as if lost
 *	on the wire
 *
 * Return: false if it was dropped.
 */
bool rhca_tx_list_add(struct rhca_tx_list *tx, struct rhca_packet *packet)
{
	if ((!packet->skb && !packet->room) || outside_partitions(packet))
		return false;
	if (packet->room) {
		add_segment(tx, packet);
		return true;
	}
	finish_block(tx);
	__skb_queue_tail(&tx->packets, packet->skb);
	if (skb_queue_len(&tx->packets) >= RHCA_TX_LIST_PACKETS)
		rhca_tx_list_send(tx);
	return true;
}
