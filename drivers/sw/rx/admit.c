// SPDX-License-Identifier: GPL-2.0
/*
 * Decides which packets reach a QP, by destination QPN, by the netdev they arrived on, and by
 * partition. Counts what it drops.
 */
#include <linux/log2.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/rx/admit.h"
#include "core/counters.h"
#include "core/port/port_pkeys.h"
#include "sw/qp/qp.h"
#include "sw/verbs/port.h"
#include "sw/verbs/qp/qp.h"

/*
 * A connected QP expects this packet, but not of this size. First and middle packets are as long as
 * the sender's path MTU. Others may still exceed ours; then the sender's MTU is at least the next
 * one they fit into.
 */
void rhca_rx_note_mtu(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	u32 bytes = rx->payload_bytes;
	bool full = !(rx->flags & RHCA_OP_ENDS) && is_power_of_2(bytes) &&
		    bytes >= 256 && bytes <= 4096;

	if (bytes > qp->base.mtu_bytes || (full && bytes != qp->base.mtu_bytes))
		rhca_qp_mtu_mismatch(&qp->base.core, roundup_pow_of_two(bytes),
				     qp->base.mtu_bytes, &rx->flow.sgid,
				     READ_ONCE(qp->base.attr.dest_qp_num));
}

static enum ib_gid_type gid_type_of(enum rhca_encap encap)
{
	return encap == RHCA_V1 ? IB_GID_TYPE_ROCE : IB_GID_TYPE_ROCE_UDP_ENCAP;
}

/* --- where a packet arrived ------------------------------------------------ */

/* The ifindex a packet arrived on, even if a VRF has replaced it in skb->dev */
int rhca_rx_ifindex(const struct sk_buff *skb, enum rhca_encap encap)
{
	int below = 0;

	if (encap == RHCA_V2_IPV4)
		below = inet_sdif(skb);
	else if (encap == RHCA_V2_IPV6)
		below = inet6_sdif(skb);
	return below ?: skb->dev->ifindex;
}

/*
 * Must a packet arrive on exactly the netdev of its destination GID? v1 is not routed, and a
 * link-local address denotes another host on each link, even on a VLAN of the same netdev.
 */
static bool is_link_bound(const struct rhca_rx *rx)
{
	return rx->flow.encap == RHCA_V1 ||
	       (ipv6_addr_type(rhca_gid_ipv6(&rx->flow.dgid)) & IPV6_ADDR_LINKLOCAL);
}

/*
 * Did a packet arrive on a netdev valid for a GID of ours? That is the GID's own netdev @ifindex
 * or, for routed addresses, any in the same L3 domain: IP hosts accept what is addressed to them on
 * any netdev, within rp_filter and netfilter. The IP stack loops local traffic back over another
 * netdev. RCU read side.
 */
bool rhca_rx_arrived_on(const struct rhca_rx *rx, int ifindex)
{
	const struct net_device *ndev = rx->skb->dev;

	if (rx->ifindex == ifindex)
		return true;
	if (rx->flow.encap != RHCA_V1 && (READ_ONCE(ndev->flags) & IFF_LOOPBACK))
		return true;
	return !is_link_bound(rx) &&
	       rhca_same_l3_domain(dev_net(ndev), ifindex, rx->ifindex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_arrived_on);

static struct rhca_gid_query query_of(const struct rhca_rx *rx)
{
	return (struct rhca_gid_query) {
		.net	 = dev_net(rx->skb->dev),
		.gid	 = &rx->flow.dgid,
		.type	 = gid_type_of(rx->flow.encap),
		.ifindex = rx->ifindex,
	};
}

/*
 * Search in all of the L3 domain that a packet arrived in, as each may have the same addresses. A
 * link-local one of this host loops back over a netdev that does not tell the domain.
 */
static void widen(struct rhca_gid_query *query, const struct rhca_rx *rx)
{
	query->ifindex = 0;
	query->domain_of = is_link_bound(rx) ? 0 : rx->ifindex;
}

/* QP1 exists on each port: the destination GID selects it */
static struct rhca_verbs_qp *find_gsi(struct rhca_rx *rx)
{
	struct rhca_gid_query query = query_of(rx);

	rx->port = rhca_port_find_gid(&query, &rx->gid_index);
	if (!rx->port) {
		widen(&query, rx);
		rx->port = rhca_port_find_gid(&query, &rx->gid_index);
	}
	if (!rx->port ||
	    !rhca_rx_arrived_on(rx, rhca_gid_ifindex(&rx->port->gids, rx->gid_index)))
		return NULL;
	return rhca_qp_get_gsi(rx->port);
}

/*
 * With many QPs in use none of this is in the caches. Computing the ICRC hides part of the latency.
 */
static void prefetch_for(const struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	const void *path = rcu_access_pointer(qp->base.path);

	prefetch(path);
	prefetch(path + L1_CACHE_BYTES);
	if (rx->flags & RHCA_OP_RESPONSE) {
		rhca_prefetch_half(&qp->send.turn.word);
	} else {
		rhca_prefetch_half(&qp->recv.turn.word);
		prefetch(qp->base.rq.ring.shared);
	}
}

/* Get the destination QP with a reference, or NULL; sets rx->port. RCU read side */
struct rhca_verbs_qp *rhca_rx_find_qp(struct rhca_rx *rx,
				      struct rhca_qp_handle *handle)
{
	u32 number = rhca_bth_dest_qpn(rx->bth);
	struct rhca_verbs_qp *qp;

	rx->admitted_by = NULL;
	if (number == RHCA_GSI_QPN)
		return find_gsi(rx);
	qp = rhca_qp_get_handle(handle);
	if (!qp)
		return NULL;
	prefetch_for(to_sw_qp(qp), rx);
	rx->port = READ_ONCE(qp->port);
	return qp;
}

static const u8 transport_of_type[IB_QPT_UD + 1] = {
	[IB_QPT_GSI]	= IB_OPCODE_UD,
	[IB_QPT_RC]	= IB_OPCODE_RC,
	[IB_QPT_UC]	= IB_OPCODE_UC,
	[IB_QPT_UD]	= IB_OPCODE_UD,
};

/* A connected QP accepts only its peer's packets, on the netdev of its own GID: 9.6.1.5 */
static bool from_peer(const struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	const struct rhca_path *path = rcu_dereference(qp->path);
	const struct rhca_flow *flow;

	if (!path)
		return false;
	flow = &path->address.flow;
	if (flow->encap == rx->flow.encap &&
	    rhca_gid_equal(&flow->sgid, &rx->flow.dgid) &&
	    rhca_gid_equal(&flow->dgid, &rx->flow.sgid) &&
	    rhca_rx_arrived_on(rx, path->address.ifindex))
		rx->admitted_by = path;
	return rx->admitted_by;
}

/* Is the destination QPN the multicast QPN, 9.6.1.1? */
bool rhca_rx_to_group(const struct rhca_rx *rx)
{
	return rhca_bth_dest_qpn(rx->bth) == RHCA_MULTICAST_QPN;
}

/* Not inlined: connected QPs would save registers for it */
static noinline bool to_port_in_domain(const struct rhca_rx *rx)
{
	struct rhca_gid_query query = query_of(rx);
	int index;

	widen(&query, rx);
	index = rhca_port_gid_index(rx->port, &query);
	return index >= 0 &&
	       rhca_rx_arrived_on(rx, rhca_gid_ifindex(&rx->port->gids, index));
}

/* A datagram must be for one of the port's GIDs and arrive on its netdev */
static bool to_port(const struct rhca_rx *rx)
{
	struct rhca_gid_query query = query_of(rx);

	return rhca_port_gid_index(rx->port, &query) >= 0 || to_port_in_domain(rx);
}

static __always_inline bool for_us(const struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	const struct net_device *ndev;

	if (rx->admitted_by)
		return true;
	ndev = rcu_dereference(rx->port->ndev);
	if (!ndev || !net_eq(dev_net(ndev), dev_net(rx->skb->dev)))
		return false;
	if (qp->type == IB_QPT_GSI)
		return true;	/* found by its GID */
	/* A group may be an address of the netdev, and so a GID: "ip address add ... autojoin" */
	if (rhca_is_datagram(qp))
		return rhca_rx_to_group(rx) ||
		       (!rhca_gid_is_multicast(&rx->flow.dgid) && to_port(rx));
	return from_peer(qp, rx);
}

/* 10.9.3; QP1 accepts every partition of the port */
static __always_inline bool in_partition(const struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	u16 pkey = be16_to_cpu(rx->bth->pkey);
	int index = 0;
	bool in;

	if (qp->type == IB_QPT_GSI) {
		index = rhca_pkey_find(&rx->port->pkeys, pkey);
		in = index >= 0;
	} else {
		in = rhca_pkeys_match(pkey, rhca_qp_pkey(qp, rx->port));
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
 * Which port counts a packet without a QP? The port it arrived on; if its netdev is no port, the
 * one that owns the destination GID. In this order, so that a flood of such packets does not cause
 * a search of all ports' GID tables for each.
 */
static struct rhca_port *port_to_count_at(const struct rhca_rx *rx, bool has_flow)
{
	struct rhca_port *port = rhca_port_find_netdev(rhca_rx_netdev(rx));
	struct rhca_gid_query query;
	u16 index;

	if (port || !has_flow)
		return port;
	query = query_of(rx);
	widen(&query, rx);
	return rhca_port_find_gid(&query, &index);
}

/* Count a packet that reaches a port but no QP. @flow: its headers, or NULL. RCU read side */
void rhca_rx_drop_at(struct rhca_port *port, const struct rhca_flow *flow,
		     enum rhca_counter which)
{
	rhca_port_count(port, which);
	trace_rhca_rx_drop(port->dev->ibdev.name, rhca_counter_name(which), 0, 0,
			   0, flow ? flow->sgid.raw : NULL);
}

/* Count a packet that reaches no QP. @flow: that of @rx, or NULL. RCU read side. */
void rhca_rx_count_drop(const struct rhca_rx *rx, const struct rhca_flow *flow,
			enum rhca_counter which)
{
	struct rhca_port *port = port_to_count_at(rx, flow);

	if (port)
		rhca_rx_drop_at(port, flow, which);
}

/* Count a packet that its QP does not accept. RCU read side */
void rhca_rx_drop(const struct rhca_verbs_qp *qp, const struct rhca_rx *rx,
		  enum rhca_counter which)
{
	rhca_qp_count(qp, which);
	trace_rhca_rx_drop(rhca_qp_dev_name(qp), rhca_counter_name(which),
			   qp->number, rx->psn, rx->opcode, rx->flow.sgid.raw);
}

static const enum rhca_counter parse_counters[] = {
	[RHCA_PARSE_TRUNCATED]	= RHCA_RX_DROPPED_TRUNCATED,
	[RHCA_PARSE_BAD_OPCODE]	= RHCA_RX_DROPPED_BAD_OPCODE,
	[RHCA_PARSE_BAD_LENGTH]	= RHCA_RX_DROPPED_BAD_LENGTH,
};

/* Count a packet that cannot be parsed. @flow: that of @rx, or NULL. RCU read side */
void rhca_rx_count_fault(const struct rhca_rx *rx, const struct rhca_flow *flow,
			 enum rhca_parse fault)
{
	rhca_rx_count_drop(rx, flow, parse_counters[fault]);
}

/* The same if the parser rejected the whole packet; network headers may still be present */
void rhca_rx_count_malformed(struct rhca_rx *rx, enum rhca_encap encap,
			     enum rhca_parse fault)
{
	const struct rhca_flow *flow = NULL;

	rx->network = skb_header_pointer(rx->skb, 0, rhca_network_bytes(encap), rx->copy);
	if (rx->network) {
		rhca_network_parse(encap, rx->network, &rx->flow);
		flow = &rx->flow;
	}
	rhca_rx_count_fault(rx, flow, fault);
}

/*
 * May a packet reach its QP? Checks all but the ICRC and the P_Key, which is checked after the ICRC
 * because a flipped bit is no P_Key violation. Counts what it rejects. @qp: the destination QP. RCU
 * read side.
 */
bool rhca_rx_admissible(struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	if (!rx->port || READ_ONCE(qp->state) < IB_QPS_RTR ||
	    READ_ONCE(qp->state) == IB_QPS_ERR) {
		rhca_rx_count_drop(rx, &rx->flow, RHCA_RX_DROPPED_QP_STATE);
		return false;
	}
	if ((rx->opcode & RHCA_OPCODE_TRANSPORT) !=
	    transport_of_type[qp->type]) {
		rhca_rx_drop(qp, rx, RHCA_RX_DROPPED_BAD_OPCODE);
		return false;
	}
	if (!for_us(qp, rx)) {
		rhca_rx_drop(qp, rx, RHCA_RX_DROPPED_NOT_FOR_US);
		return false;
	}
	return true;
}

/* Does a packet with a valid ICRC have a P_Key of its QP? If not, count and report it */
bool rhca_rx_in_partition(struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	if (in_partition(qp, rx))
		return true;
	rhca_rx_drop(qp, rx, RHCA_RX_DROPPED_BAD_PKEY);
	report_partition(rx);
	return false;
}

/*
 * May a CNP reduce the rate of @qp, its destination? The ICRC of @rx is not checked. RoCE v1 has no
 * CNPs, A16. RCU read side.
 */
bool rhca_rx_cnp_admissible(struct rhca_verbs_qp *qp, struct rhca_rx *rx)
{
	return rx->port && READ_ONCE(qp->state) >= IB_QPS_RTR && !rhca_is_datagram(qp) &&
	       rx->flow.encap != RHCA_V1 && for_us(qp, rx) && in_partition(qp, rx);
}

/* Check the ICRC and count a mismatch */
bool rhca_rx_intact(const struct rhca_rx *rx, struct rhca_counters __percpu *c)
{
	if (rhca_rx_icrc_ok(rx))
		return true;
	rhca_counter_inc(c, RHCA_RX_ICRC_ENCAPSULATED);
	return false;
}
