// SPDX-License-Identifier: GPL-2.0
/*
 * Packets in. Nothing in a packet is believed: lengths first, then the headers,
 * then the QP that they name, then the ICRC, and only then does it touch state.
 */
#include <linux/if_vlan.h>
#include <linux/log2.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>

#include <rhca/compat.h>

#include "core/device.h"
#include "sw/verbs/mcast.h"
#include "sw/verbs/port.h"
#include "sw/verbs/qp.h"
#include "sw/transport/block.h"
#include "sw/transport/completer.h"
#include "sw/transport/qp.h"
#include "sw/transport/receive.h"
#include "sw/transport/requester.h"
#include "sw/transport/responder.h"
#include "wire/crc32.h"
#include "wire/icrc.h"

#define GSI_QPN		1

/* In place where the headers lie in one piece, else copied out once */
static const u8 *pull_headers(struct rhca_rx *rx, unsigned int bytes)
{
	return skb_header_pointer(rx->skb, 0, bytes, rx->copy);
}

/* Bytes from the BTH to the end of the ICRC, as the packet itself says for v1 */
static unsigned int ib_bytes_of(const struct sk_buff *skb,
				enum rhca_encap encap, const u8 *network)
{
	const struct ib_grh *grh = (const struct ib_grh *)network;

	if (encap == RHCA_V1)	/* Ethernet may have padded the frame */
		return min_t(unsigned int, be16_to_cpu(grh->paylen),
			     skb->len - RHCA_GRH_BYTES);
	return skb->len - rhca_network_bytes(encap);
}

/* Opcode and lengths, as the BTH has them that rx->bth points to */
static enum rhca_parse check_transport(struct rhca_rx *rx,
				       unsigned int ib_bytes)
{
	unsigned int transport, pad;

	rx->opcode = rx->bth->opcode;
	if (!rhca_opcode_known(rx->opcode) || rhca_bth_version(rx->bth))
		return RHCA_PARSE_BAD_OPCODE;
	transport = rhca_transport_bytes(rx->opcode);
	pad = rhca_bth_pad(rx->bth);
	if (ib_bytes < transport + RHCA_ICRC_BYTES)
		return RHCA_PARSE_TRUNCATED;
	if ((ib_bytes & 3) || ib_bytes < transport + pad + RHCA_ICRC_BYTES)
		return RHCA_PARSE_BAD_LENGTH;
	rx->flags = rhca_opcodes[rx->opcode].flags;
	rx->psn = rhca_bth_psn(rx->bth);
	rx->payload_offset = rx->bth_offset + transport;
	rx->payload_bytes = ib_bytes - transport - pad - RHCA_ICRC_BYTES;
	if (!(rx->flags & RHCA_OP_PAYLOAD) && (rx->payload_bytes || pad))
		return RHCA_PARSE_BAD_LENGTH;
	return RHCA_PARSE_OK;
}

/**
 * rhca_rx_parse - Take a packet apart
 * @rx: filled in, but for the port
 * @skb: the packet; skb->data at the network header, of a length that no other
 *	layer has vouched for
 * @encap: the framing that it arrived in
 *
 * Return: RHCA_PARSE_OK, or what is wrong with it.
 */
enum rhca_parse rhca_rx_parse(struct rhca_rx *rx, struct sk_buff *skb,
			      enum rhca_encap encap)
{
	unsigned int network = rhca_network_bytes(encap);
	unsigned int bth_end = network + sizeof(struct rhca_bth);
	enum rhca_parse parse;
	unsigned int ib_bytes;

	rx->skb = skb;
	rx->bth_offset = network;
	if (skb->len < bth_end + RHCA_ICRC_BYTES)
		return RHCA_PARSE_TRUNCATED;
	rx->network = pull_headers(rx, bth_end);
	if (!rx->network)
		return RHCA_PARSE_TRUNCATED;
	ib_bytes = ib_bytes_of(skb, encap, rx->network);
	if (!rhca_network_valid(encap, rx->network, ib_bytes))
		return RHCA_PARSE_BAD_LENGTH;

	rx->bth = (const struct rhca_bth *)(rx->network + network);
	parse = check_transport(rx, ib_bytes);
	if (parse != RHCA_PARSE_OK)
		return parse;
	rx->network = pull_headers(rx, rx->payload_offset);
	if (!rx->network)
		return RHCA_PARSE_TRUNCATED;
	rx->bth = (const struct rhca_bth *)(rx->network + network);
	rhca_network_parse(encap, rx->network, &rx->flow);
	return RHCA_PARSE_OK;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_parse);

/**
 * rhca_rx_icrc_ok - Is the invariant CRC right?
 * @rx: a parsed packet
 */
bool rhca_rx_icrc_ok(const struct rhca_rx *rx)
{
	unsigned int bth_end = rx->bth_offset + sizeof(struct rhca_bth);
	unsigned int end = rx->payload_offset + rx->payload_bytes +
			   rhca_bth_pad(rx->bth);
	__le32 *in_packet, buffer;
	bool vectors;
	u32 crc;

	in_packet = skb_header_pointer(rx->skb, end, sizeof(buffer), &buffer);
	if (!in_packet)
		return false;
	vectors = rhca_crc32_begin(end - rx->bth_offset);
	crc = rhca_icrc_headers(vectors, rx->flow.encap, rx->network);
	crc = rhca_icrc_skb(vectors, crc, rx->skb, bth_end, end - bth_end);
	rhca_crc32_end(vectors);
	return !memcmp(in_packet, &(__le32){ rhca_icrc_final(crc) },
		       sizeof(buffer));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_icrc_ok);

/**
 * rhca_rx_note_mtu - A packet has not the size that the path MTU asks for
 * @qp: a connected QP
 * @rx: the packet, which is the one that it waits for but for its size
 *
 * The first and middle packets of a message are as long as the sender's path MTU;
 * others may be too long for ours, and then theirs is the next that they fit in.
 */
void rhca_rx_note_mtu(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	u32 bytes = rx->payload_bytes;
	bool full = !(rx->flags & RHCA_OP_ENDS) && is_power_of_2(bytes) &&
		    bytes >= 256 && bytes <= 4096;

	if (bytes > qp->mtu_bytes || (full && bytes != qp->mtu_bytes))
		rhca_qp_mtu_mismatch(&qp->base.core, roundup_pow_of_two(bytes),
				     qp->mtu_bytes, &rx->flow.sgid,
				     qp->base.attr.dest_qp_num);
}

static enum ib_gid_type gid_type_of(enum rhca_encap encap)
{
	return encap == RHCA_V1 ? IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
}

/* --- the way that a packet came -------------------------------------------- */

/* A VRF puts itself in place of the netdev that is enslaved to it */
static int arrival_ifindex(const struct sk_buff *skb, enum rhca_encap encap)
{
	int below = 0;

	if (encap == RHCA_V2_IPV4)
		below = inet_sdif(skb);
	else if (encap == RHCA_V2_IPV6)
		below = inet6_sdif(skb);
	return below ?: skb->dev->ifindex;
}

/*
 * Must a packet arrive by the very netdev of the GID that it is addressed to? v1
 * knows no routes, and a link-local address means another host on each link, be
 * it a VLAN on the same netdev.
 */
static bool is_link_bound(const struct rhca_rx *rx)
{
	const struct in6_addr *dgid = (const struct in6_addr *)rx->flow.dgid.raw;

	return rx->flow.encap == RHCA_V1 ||
	       (ipv6_addr_type(dgid) & IPV6_ADDR_LINKLOCAL);
}

/**
 * rhca_rx_came_by - Did a packet come the way to a GID of ours?
 * @rx: a parsed packet
 * @ifindex: netdev of the GID
 *
 * By the GID's own netdev; or, on routed addresses, by any in the same layer 3
 * domain: IP hosts take what is addressed to them on whichever netdev it arrives,
 * as far as rp_filter and netfilter let it. What a host says to itself is looped
 * back by the IP stack over another netdev.
 *
 * Context: RCU read side.
 */
bool rhca_rx_came_by(const struct rhca_rx *rx, int ifindex)
{
	const struct net_device *ndev = rx->skb->dev;

	if (rx->ifindex == ifindex)
		return true;
	if (rx->flow.encap != RHCA_V1 && (ndev->flags & IFF_LOOPBACK))
		return true;
	return !is_link_bound(rx) &&
	       l3mdev_master_ifindex_by_index(dev_net(ndev), ifindex) ==
	       l3mdev_master_ifindex_by_index(dev_net(ndev), rx->ifindex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_came_by);

static struct rhca_gid_query query_of(const struct rhca_rx *rx)
{
	return (struct rhca_gid_query) {
		.net	 = dev_net(rx->skb->dev),
		.gid	 = &rx->flow.dgid,
		.type	 = gid_type_of(rx->flow.encap),
		.ifindex = rx->ifindex,
	};
}

/* QP1 exists on each port: the destination GID says which */
static struct rhca_verbs_qp *find_gsi(struct rhca_rx *rx)
{
	struct rhca_gid_query query = query_of(rx);
	u16 index;

	rx->port = rhca_port_find_gid(&query, &index);
	if (!rx->port) {
		query.ifindex = 0;
		rx->port = rhca_port_find_gid(&query, &index);
	}
	if (!rx->port ||
	    !rhca_rx_came_by(rx, rhca_gid_ifindex(rx->port, index)))
		return NULL;
	rx->vlan_id = rhca_gid_vlan(rx->port, index);
	return rhca_qp_get_gsi(rx->port);
}

static struct rhca_verbs_qp *find_qp(struct rhca_rx *rx)
{
	u32 number = rhca_bth_dest_qpn(rx->bth);
	struct rhca_verbs_qp *qp;

	rx->vlan_id = RHCA_NO_VLAN;
	if (number == GSI_QPN)
		return find_gsi(rx);
	qp = rhca_qp_get(number);
	if (qp)
		rx->port = READ_ONCE(qp->port);
	return qp;
}

static const u8 transport_of_type[IB_QPT_UD + 1] = {
	[IB_QPT_GSI]	= IB_OPCODE_UD,
	[IB_QPT_RC]	= IB_OPCODE_RC,
	[IB_QPT_UC]	= IB_OPCODE_UC,
	[IB_QPT_UD]	= IB_OPCODE_UD,
};

/* A connected QP hears its peer only, by the netdev of its own GID: 9.6.1.5 */
static bool from_peer(const struct rhca_verbs_qp *qp, const struct rhca_rx *rx)
{
	const struct rhca_path *path = rcu_dereference(qp->path);

	return path && path->address.flow.encap == rx->flow.encap &&
	       !memcmp(&path->address.flow.sgid, &rx->flow.dgid, sizeof(union ib_gid)) &&
	       !memcmp(&path->address.flow.dgid, &rx->flow.sgid, sizeof(union ib_gid)) &&
	       rhca_rx_came_by(rx, path->address.ifindex);
}

/* The number that means all QPs of a group, 9.6.1.1 */
static bool to_group(const struct rhca_rx *rx)
{
	return rhca_bth_dest_qpn(rx->bth) == RHCA_MULTICAST_QPN;
}

/* A datagram must name one of the port's GIDs, and come by its netdev */
static bool to_port(const struct rhca_rx *rx)
{
	struct rhca_gid_query query = query_of(rx);
	int index = rhca_gid_find(rx->port, &query);

	if (index >= 0)
		return true;
	query.ifindex = 0;
	index = rhca_gid_find(rx->port, &query);
	return index >= 0 &&
	       rhca_rx_came_by(rx, rhca_gid_ifindex(rx->port, index));
}

static bool for_us(const struct rhca_verbs_qp *qp, const struct rhca_rx *rx,
		   const struct net *net)
{
	const struct net_device *ndev = rcu_dereference(rx->port->ndev);

	if (!ndev || !net_eq(dev_net(ndev), net))
		return false;
	if (qp->core.ibqp.qp_type == IB_QPT_GSI)
		return true;	/* it was found by its GID */
	if (rhca_is_datagram(qp))
		return to_group(rx) ||
		       (!rhca_gid_is_multicast(&rx->flow.dgid) &&
			to_port(rx));
	return from_peer(qp, rx);
}

/* 10.9.3; QP1 is in every partition of the port */
static bool in_partition(const struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	u16 pkey = be16_to_cpu(rx->bth->pkey);
	int index = 0;
	bool in;

	if (qp->core.ibqp.qp_type == IB_QPT_GSI) {
		index = rhca_pkey_find(&rx->port->pkeys, pkey);
		in = index >= 0;
	} else {
		in = rhca_pkeys_match(pkey, rhca_qp_pkey(qp));
	}
	rx->pkey_index = index;
	return in;
}

static void report_partition(const struct rhca_rx *rx)
{
	struct rhca_pkey_violation violation = {
		.pkey	= be16_to_cpu(rx->bth->pkey),
		.qpn	= rhca_bth_dest_qpn(rx->bth),
		.sgid	= rx->flow.sgid,
		.dgid	= rx->flow.dgid,
	};

	rhca_pkey_violated(rx->port, &violation);
}

/*
 * Whose counter does a packet go to that no QP can be found for? The port that
 * its destination belongs to, else the port that it came in by.
 */
static struct rhca_port *find_blamed(const struct sk_buff *skb,
				     const struct rhca_flow *flow)
{
	struct rhca_gid_query query = { .net = dev_net(skb->dev) };
	struct rhca_port *port = NULL;
	u16 index;

	if (flow) {
		query.gid = &flow->dgid;
		query.type = gid_type_of(flow->encap);
		port = rhca_port_find_gid(&query, &index);
	}
	return port ?: rhca_port_find_netdev(skb->dev);
}

static void blame(const struct sk_buff *skb, const struct rhca_flow *flow,
		  enum rhca_counter which)
{
	struct rhca_port *port = find_blamed(skb, flow);

	if (port)
		rhca_port_count(port, which);
}

/* But for the ICRC, which is the packet's own matter, and the P_Key */
static bool welcome(struct rhca_verbs_qp *qp, struct rhca_rx *rx,
		    const struct net *net)
{
	if (!rx->port || READ_ONCE(qp->state) < IB_QPS_RTR ||
	    READ_ONCE(qp->state) == IB_QPS_ERR) {
		blame(rx->skb, &rx->flow, RHCA_RX_DROPPED_QP_STATE);
		return false;
	}
	if ((rx->opcode & RHCA_OPCODE_TRANSPORT) !=
	    transport_of_type[qp->core.ibqp.qp_type]) {
		rhca_qp_count(qp, RHCA_RX_DROPPED_BAD_OPCODE);
		return false;
	}
	if (!for_us(qp, rx, net)) {
		rhca_qp_count(qp, RHCA_RX_DROPPED_NOT_FOR_US);
		return false;
	}
	return true;
}

/* Asked behind the ICRC: a flipped bit is no violation */
static bool partition_fits(struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	if (in_partition(qp, rx))
		return true;
	rhca_qp_count(qp, RHCA_RX_DROPPED_BAD_PKEY);
	report_partition(rx);
	return false;
}

static bool intact(const struct rhca_rx *rx, struct rhca_counters __percpu *c)
{
	if (rhca_rx_icrc_ok(rx))
		return true;
	rhca_counter_inc(c, RHCA_RX_ICRC_ENCAPSULATED);
	return false;
}

/* The congestion mark of RoCE v2; v1 has none */
static u8 ecn_of(const struct rhca_rx *rx)
{
	return rx->flow.encap == RHCA_V1 ? INET_ECN_NOT_ECT :
					   rx->flow.tclass & INET_ECN_MASK;
}

static void count_optional(struct rhca_counters __percpu *c,
			   const struct rhca_rx *rx)
{
	u8 ecn = ecn_of(rx);

	if (ecn == INET_ECN_CE && rhca_port_counts(rx->port, RHCA_CC_RX_CE_PKTS))
		rhca_counter_inc(c, RHCA_CC_RX_CE_PKTS);
	if (ecn && ecn != INET_ECN_CE &&
	    rhca_port_counts(rx->port, RHCA_RX_ECN_CAPABLE_PKTS))
		rhca_counter_inc(c, RHCA_RX_ECN_CAPABLE_PKTS);
}

/* An admitted packet. Ethernet may have padded the frame: not its bytes */
static void count_admitted(const struct rhca_verbs_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_counters __percpu *c = rhca_qp_counters(qp);

	rhca_counter_inc(c, RHCA_RX_PACKETS);
	rhca_counter_add(c, RHCA_RX_BYTES,
			 rhca_network_bytes(rx->flow.encap) +
			 rx->payload_offset - rx->bth_offset +
			 rx->payload_bytes + rhca_bth_pad(rx->bth) +
			 RHCA_ICRC_BYTES);
	if (rhca_is_datagram(qp) && rhca_gid_is_multicast(&rx->flow.dgid))
		rhca_counter_inc(c, RHCA_RX_MULTICAST_PACKETS);
	if (ecn_of(rx) == INET_ECN_CE)
		rhca_counter_inc(c, RHCA_NP_ECN_MARKED_ROCE_PACKETS);
	if (static_branch_unlikely(&rhca_optional_key))
		count_optional(c, rx);
}

static void hand_over(struct rhca_sw_qp *qp, struct rhca_rx *rx)
{
	struct rhca_run run = {};

	if (rx->flags & RHCA_OP_RESPONSE) {
		spin_lock_bh(&qp->send.lock);
		rhca_completer_receive(qp, rx, &run);
		rhca_requester_run(qp, &run);
		spin_unlock_bh(&qp->send.lock);
	} else {
		spin_lock_bh(&qp->recv.lock);
		rhca_responder_take(qp, rx, &run);
		rhca_responder_continue(qp, &run);
		spin_unlock_bh(&qp->recv.lock);
	}
	rhca_run_end(qp, &run);
}

/* A packet on its way to the QPs of a group; it is counted once, as it came */
struct copies {
	struct rhca_mcast_visitor visitor;
	struct rhca_rx *rx;
	bool counted;
};

static void receive_copy(struct rhca_mcast_visitor *visitor, struct rhca_verbs_qp *qp)
{
	struct copies *copies = container_of(visitor, struct copies, visitor);
	struct rhca_rx *rx = copies->rx;

	rx->port = READ_ONCE(qp->port);
	if (!welcome(qp, rx, dev_net(rx->skb->dev)) || !partition_fits(qp, rx))
		return;
	if (!copies->counted)
		count_admitted(qp, rx);
	copies->counted = true;
	hand_over(to_sw_qp(qp), rx);
}

/* Each QP of the group gets a copy, also one that sent it: 10.5.2 */
static void receive_multicast(struct rhca_rx *rx)
{
	const struct net_device *ndev = rx->skb->dev;
	struct copies copies = { { receive_copy }, rx };

	rx->vlan_id = RHCA_NO_VLAN;
	if (!rhca_gid_is_multicast(&rx->flow.dgid)) {
		blame(rx->skb, &rx->flow, RHCA_RX_DROPPED_NOT_FOR_US);
		return;
	}
	rx->port = rhca_mcast_port(&rx->flow.dgid, ndev);
	if (!rx->port) {
		blame(rx->skb, NULL, RHCA_RX_DROPPED_NO_QP);
		return;
	}
	if (intact(rx, rhca_port_set(rx->port)->values))
		rhca_mcast_visit(&rx->flow.dgid, ndev, &copies.visitor);
}

static const enum rhca_counter parse_counters[] = {
	[RHCA_PARSE_TRUNCATED]	= RHCA_RX_DROPPED_TRUNCATED,
	[RHCA_PARSE_BAD_OPCODE]	= RHCA_RX_DROPPED_BAD_OPCODE,
	[RHCA_PARSE_BAD_LENGTH]	= RHCA_RX_DROPPED_BAD_LENGTH,
};

/* A packet that could not be parsed may still have network headers */
static void count_malformed(struct rhca_rx *rx, enum rhca_encap encap,
			    enum rhca_parse fault)
{
	const struct rhca_flow *flow = NULL;

	if (rx->skb->len >= rhca_network_bytes(encap)) {
		rx->network = pull_headers(rx, rhca_network_bytes(encap));
		if (rx->network) {
			rhca_network_parse(encap, rx->network, &rx->flow);
			flow = &rx->flow;
		}
	}
	blame(rx->skb, flow, parse_counters[fault]);
}

/* No congestion control yet, which A17.9.3 allows; its QP says whose it is */
static void count_cnp(const struct rhca_rx *rx)
{
	struct rhca_verbs_qp *qp = rhca_qp_get(rhca_bth_dest_qpn(rx->bth));
	struct rhca_port *port;

	if (!qp)
		return;
	port = READ_ONCE(qp->port);
	rhca_qp_put(qp);
	if (!port)
		return;
	rhca_port_count(port, RHCA_RP_CNP_IGNORED);
	if (static_branch_unlikely(&rhca_optional_key) &&
	    rhca_port_counts(port, RHCA_CC_RX_CNP_PKTS))
		rhca_port_count(port, RHCA_CC_RX_CNP_PKTS);
}

/* No QP has the number that it names */
static void receive_unclaimed(struct rhca_rx *rx)
{
	if (to_group(rx))
		receive_multicast(rx);
	else
		blame(rx->skb, &rx->flow, RHCA_RX_DROPPED_NO_QP);
}

static void receive_one(struct sk_buff *skb, enum rhca_encap encap)
{
	const struct net *net = dev_net(skb->dev);
	enum rhca_parse fault;
	struct rhca_verbs_qp *qp;
	struct rhca_rx rx;

	fault = rhca_rx_parse(&rx, skb, encap);
	if (fault != RHCA_PARSE_OK) {
		count_malformed(&rx, encap, fault);
		return;
	}
	if (rx.flags & RHCA_OP_CNP) {
		count_cnp(&rx);
		return;
	}
	rx.ifindex = arrival_ifindex(skb, encap);
	qp = find_qp(&rx);
	if (!qp) {
		receive_unclaimed(&rx);
		return;
	}
	if (welcome(qp, &rx, net) && intact(&rx, rhca_qp_counters(qp)) &&
	    partition_fits(qp, &rx)) {
		count_admitted(qp, &rx);
		hand_over(to_sw_qp(qp), &rx);
	}
	rhca_qp_put(qp);
}

/* --- blocks --------------------------------------------------------------- */

/**
 * struct block_walk - Position in a block
 * @rx: the segment at which it stands
 * @skb: the block
 * @encap: the framing
 * @network: network headers of the next segment but for its lengths
 * @next: first byte of the next segment, from skb->data
 * @parsed: @rx is right and nobody has taken it
 */
struct block_walk {
	struct rhca_rx rx;
	struct sk_buff *skb;
	enum rhca_encap encap;
	u8 network[RHCA_MAX_NETWORK_BYTES];
	unsigned int next;
	bool parsed;
};

/* The headers that the segment has when it travels alone: its ICRC covers them */
static enum rhca_parse parse_segment(struct block_walk *walk,
				     unsigned int bytes)
{
	unsigned int network = rhca_network_bytes(walk->encap);
	struct rhca_rx *rx = &walk->rx;

	rx->skb = walk->skb;
	rx->network = rx->copy;
	rx->bth_offset = walk->next;
	rhca_network_resize(walk->encap, walk->network, bytes);
	memcpy(rx->copy, walk->network, network);
	rhca_network_step(walk->encap, walk->network);
	rhca_network_parse(walk->encap, rx->copy, &rx->flow);
	if (bytes < sizeof(struct rhca_bth) + RHCA_ICRC_BYTES)
		return RHCA_PARSE_TRUNCATED;
	if (skb_copy_bits(walk->skb, walk->next, rx->copy + network,
			  min_t(unsigned int, bytes, RHCA_MAX_HDR_BYTES)))
		return RHCA_PARSE_TRUNCATED;
	rx->bth = (const struct rhca_bth *)(rx->copy + network);
	return check_transport(rx, bytes);
}

/* To the next segment that can be parsed; false at the end */
static bool next_segment(struct block_walk *walk)
{
	enum rhca_parse fault;
	unsigned int bytes;

	walk->parsed = false;
	while (walk->next < walk->skb->len) {
		bytes = min_t(unsigned int, skb_shinfo(walk->skb)->gso_size,
			      walk->skb->len - walk->next);
		fault = parse_segment(walk, bytes);
		walk->next += bytes;
		walk->parsed = fault == RHCA_PARSE_OK;
		if (walk->parsed)
			return true;
		blame(walk->skb, &walk->rx.flow, parse_counters[fault]);
	}
	return false;
}

static bool admitted(struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	if (!welcome(qp, rx, dev_net(rx->skb->dev)) ||
	    !intact(rx, rhca_qp_counters(qp)) || !partition_fits(qp, rx))
		return false;
	count_admitted(qp, rx);
	return true;
}

/*
 * To the next segment that goes to the same half of the same QP; one of another
 * is left where it is.
 */
static bool next_of_half(struct block_walk *walk, struct rhca_verbs_qp *qp)
{
	u16 direction = walk->rx.flags & RHCA_OP_RESPONSE;
	u32 number = rhca_bth_dest_qpn(walk->rx.bth);
	struct rhca_port *port = walk->rx.port;
	u16 vlan_id = walk->rx.vlan_id;

	while (next_segment(walk)) {
		if ((walk->rx.flags & RHCA_OP_CNP) ||
		    (walk->rx.flags & RHCA_OP_RESPONSE) != direction ||
		    rhca_bth_dest_qpn(walk->rx.bth) != number)
			return false;
		walk->rx.port = port;
		walk->rx.vlan_id = vlan_id;
		if (admitted(qp, &walk->rx))
			return true;
	}
	return false;
}

/* One lock for all, and one answer at the end */
static void hand_over_block(struct rhca_sw_qp *qp, struct block_walk *walk)
{
	struct rhca_run run = {};

	if (walk->rx.flags & RHCA_OP_RESPONSE) {
		spin_lock_bh(&qp->send.lock);
		do {
			rhca_completer_receive(qp, &walk->rx, &run);
		} while (next_of_half(walk, &qp->base));
		rhca_requester_run(qp, &run);
		spin_unlock_bh(&qp->send.lock);
	} else {
		spin_lock_bh(&qp->recv.lock);
		do {
			rhca_responder_take(qp, &walk->rx, &run);
		} while (next_of_half(walk, &qp->base));
		rhca_responder_continue(qp, &run);
		spin_unlock_bh(&qp->recv.lock);
	}
	rhca_run_end(qp, &run);
}

/* The segment where the walk stands, and those behind it that go with it */
static void receive_run(struct block_walk *walk)
{
	struct rhca_rx *rx = &walk->rx;
	struct rhca_verbs_qp *qp;

	walk->parsed = false;
	if (rx->flags & RHCA_OP_CNP) {
		count_cnp(rx);
		return;
	}
	qp = find_qp(rx);
	if (!qp) {
		receive_unclaimed(rx);
		return;
	}
	if (admitted(qp, rx))
		hand_over_block(to_sw_qp(qp), walk);
	rhca_qp_put(qp);
}

/*
 * As many as the kernel's UDP sockets send at once, and twice what one of our
 * blocks has. A local process chooses the segment size when it hands a packet to
 * a packet socket: it must not choose how long the softirq is busy with it.
 */
#define MAX_SEGMENTS	(2 * RHCA_BLOCK_PACKETS)

static bool too_many_segments(const struct sk_buff *skb, unsigned int bytes)
{
	return bytes > MAX_SEGMENTS * (unsigned int)skb_shinfo(skb)->gso_size;
}

/* Cut by others, whose network headers nobody has looked at yet */
static void receive_block(struct sk_buff *skb, enum rhca_encap encap)
{
	unsigned int network = rhca_network_bytes(encap);
	struct block_walk walk = {
		.rx.ifindex = arrival_ifindex(skb, encap),
		.skb	= skb,
		.encap	= encap,
		.next	= network,
	};

	if (encap == RHCA_V1 ||
	    skb_copy_bits(skb, 0, walk.network, network) ||
	    !rhca_network_valid(encap, walk.network, skb->len - network) ||
	    too_many_segments(skb, skb->len - network)) {
		blame(skb, NULL, RHCA_RX_DROPPED_BAD_LENGTH);
		return;
	}
	while (walk.parsed || next_segment(&walk))
		receive_run(&walk);
}

/**
 * rhca_receive - Take a packet, or a block of packets
 * @skb: skb->data at the network header; a block is a UDP GSO packet. Always
 *	consumed
 * @encap: the framing
 *
 * Context: receive softirq.
 */
void rhca_receive(struct sk_buff *skb, enum rhca_encap encap)
{
	rcu_read_lock();
	if (skb_is_gso(skb))
		receive_block(skb, encap);
	else
		receive_one(skb, encap);
	rcu_read_unlock();
	consume_skb(skb);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_receive);
