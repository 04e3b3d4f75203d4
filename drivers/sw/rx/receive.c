// SPDX-License-Identifier: GPL-2.0
/*
 * Receive path. Nothing in a packet is trusted: lengths are checked first, then the headers, the
 * destination QP and the ICRC; only then may it change state.
 */
#include <net/inet_ecn.h>

#include <rhca/compat.h>
#include <rhca/trace.h>

#include "core/mcast.h"
#include "sw/rx/completer.h"
#include "sw/rx/early_copy.h"
#include "sw/qp/qp.h"
#include "sw/rx/receive.h"
#include "sw/tx/congestion.h"
#include "sw/tx/send_sched.h"
#include "sw/qp/flush.h"
#include "sw/rx/recv_completion.h"
#include "sw/rx/respond_turn.h"
#include "sw/rx/responder.h"
#include "sw/rx/rx_batch.h"
#include "sw/verbs/section.h"
#include "sw/verbs/qp/qp.h"

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

	if (ecn == INET_ECN_CE && rhca_port_counts(rx->port,
						   RHCA_CC_RX_CE_PKTS))
		rhca_counter_inc(c, RHCA_CC_RX_CE_PKTS);
	if (ecn && ecn != INET_ECN_CE &&
	    rhca_port_counts(rx->port, RHCA_RX_ECN_CAPABLE_PKTS))
		rhca_counter_inc(c, RHCA_RX_ECN_CAPABLE_PKTS);
}

/* Without padding that Ethernet may have added */
static unsigned int bytes_of(const struct rhca_rx *rx)
{
	return rhca_network_bytes(rx->flow.encap) +
	       rx->icrc_offset - rx->bth_offset + RHCA_ICRC_BYTES;
}

static void count_walk(struct rhca_rx_batch *walk)
{
	if (!walk->packets)
		return;
	rhca_counter_add(walk->counters, RHCA_RX_PACKETS, walk->packets);
	rhca_counter_add(walk->counters, RHCA_RX_BYTES, walk->bytes);
	walk->packets = 0;
	walk->bytes = 0;
}

/* Packets that arrive together mostly use the same counters */
static void note_in_walk(struct rhca_rx_batch *walk,
			 struct rhca_counters __percpu *c, unsigned int bytes)
{
	if (walk->counters != c)
		count_walk(walk);
	walk->counters = c;
	walk->packets++;
	walk->bytes += bytes;
}

/* Count an admitted packet. Those of a batch are counted by count_walk() */
static void count_admitted(struct rhca_verbs_qp *qp, const struct rhca_rx *rx,
			   struct rhca_rx_batch *walk)
{
	struct rhca_counters __percpu *c = rhca_qp_counters(qp);

	if (walk) {
		note_in_walk(walk, c, bytes_of(rx));
	} else {
		rhca_counter_inc(c, RHCA_RX_PACKETS);
		rhca_counter_add(c, RHCA_RX_BYTES, bytes_of(rx));
	}
	if (rhca_is_datagram(qp) && rhca_gid_is_multicast(&rx->flow.dgid))
		rhca_counter_inc(c, RHCA_RX_MULTICAST_PACKETS);
	if (ecn_of(rx) == INET_ECN_CE) {
		rhca_counter_inc(c, RHCA_NP_ECN_MARKED_ROCE_PACKETS);
		if (!rhca_is_datagram(qp))
			rhca_congestion_marked(to_sw_qp(qp));
	}
	if (static_branch_unlikely(&rhca_optional_key))
		count_optional(c, rx);
}

/* Check the ICRC of the packet, which is the current one of @walk unless that is NULL */
static bool is_intact(struct rhca_rx *rx, struct rhca_rx_batch *walk,
		      struct rhca_counters __percpu *c)
{
	return walk ? rhca_rx_batch_intact(walk, c) : rhca_rx_intact(rx, c);
}

static bool icrc_and_pkey_right(struct rhca_verbs_qp *qp, struct rhca_rx *rx,
				struct rhca_rx_batch *walk)
{
	return is_intact(rx, walk, rhca_qp_counters(qp)) && rhca_rx_in_partition(qp, rx);
}

/* Packets that may be copied early are checked later, under a lock */
static bool passes_unlocked_checks(struct rhca_verbs_qp *qp, struct rhca_rx *rx,
				   struct rhca_rx_batch *walk)
{
	if (!rhca_rx_admissible(qp, rx))
		return false;
	if (rhca_copies_early(rx))
		return true;
	if (!icrc_and_pkey_right(qp, rx, walk))
		return false;
	count_admitted(qp, rx, walk);
	return true;
}

/*
 * Is a packet that was admitted without a lock still for this connection, now that its half's lock
 * is held? Until then modify_qp may have connected the QP to another peer; from now on it cannot
 * get it to a state that receives.
 */
static bool still_admitted(struct rhca_sw_qp *qp, struct rhca_rx *rx)
{
	/* A path that this RCU read section has seen is not freed, so no other has its address */
	if (likely(rcu_access_pointer(qp->base.path) == rx->admitted_by))
		return true;
	rx->admitted_by = NULL;
	return rhca_rx_admissible(&qp->base, rx);
}

/* The checks that passes_unlocked_checks() left, with the half's lock held */
static __always_inline bool passes_locked_checks(struct rhca_sw_qp *qp, struct rhca_rx *rx,
						 struct rhca_rx_batch *walk)
{
	if (!rhca_copies_early(rx))
		return true;
	if (walk)
		rhca_rx_batch_guess_id(walk);
	rx->in_place = rhca_early_copy(qp, rx);
	if (!rx->in_place && !icrc_and_pkey_right(&qp->base, rx, walk))
		return false;
	count_admitted(&qp->base, rx, walk);
	return true;
}

static void hand_over(struct rhca_sw_qp *qp, struct rhca_rx *rx)
{
	struct rhca_batch batch = {};

	if (rx->flags & RHCA_OP_RESPONSE) {
		spin_lock(&qp->send.lock);
		if (still_admitted(qp, rx) && passes_locked_checks(qp, rx, NULL)) {
			rhca_completer_receive(qp, rx, &batch);
			rhca_send_kick_locked(qp, RHCA_KICK_ACK, &batch);
		}
		rhca_mem_release(&qp->send.held);
		spin_unlock(&qp->send.lock);
	} else {
		spin_lock(&qp->recv.lock);
		if (still_admitted(qp, rx) && passes_locked_checks(qp, rx, NULL)) {
			rhca_responder_take(qp, rx, &batch);
			rhca_responder_continue(qp, &batch);
		}
		rhca_mem_release(&qp->recv.held);
		spin_unlock(&qp->recv.lock);
	}
	rhca_batch_end(qp, &batch);
}

/*
 * Limit of multicast copies. Each packet of a block may go to each QP of a group, and a network
 * namespace or guest chooses the number of both. This takes about two milliseconds, as long as the
 * kernel polls netdevs in one go. A block of ours stays below it for a group of 256 QPs.
 */
#define MAX_COPIES	(256 * RHCA_BLOCK_GROUP_PACKETS)

/* A packet being delivered to the QPs of a group */
struct copies {
	struct rhca_mcast_visitor visitor;	/* for rhca_mcast_visit() */
	struct rhca_rx *rx;			/* the packet */
	bool counted;				/* counted once, not per copy */
	unsigned int made;			/* QPs it was delivered to */
};

static void receive_copy(struct copies *copies, struct rhca_verbs_qp *qp)
{
	struct rhca_rx *rx = copies->rx;

	if (!rhca_rx_admissible(qp, rx) || !rhca_rx_in_partition(qp, rx))
		return;
	if (!copies->counted)
		count_admitted(qp, rx, NULL);
	copies->counted = true;
	hand_over(to_sw_qp(qp), rx);
}

static void visit_attachment(struct rhca_mcast_visitor *visitor,
			     const struct rhca_mcast_attachment *attachment)
{
	struct copies *copies = container_of(visitor, struct copies, visitor);
	struct rhca_verbs_qp *qp = rhca_qp_get_mcast(attachment);

	copies->made++;
	if (!qp)
		return;
	copies->rx->port = attachment->port;
	receive_copy(copies, qp);
	rhca_qp_put(qp);
}

/*
 * Deliver a copy to each QP of the group, even to the sender: 10.5.2. The packet is the current one
 * of @walk unless that is NULL.
 */
static void receive_multicast(struct rhca_rx *rx, struct rhca_rx_batch *walk)
{
	const struct net_device *ndev = rhca_rx_netdev(rx);
	struct copies copies = {
		.visitor.visit	= visit_attachment,
		.rx		= rx,
	};

	if (!rhca_gid_is_multicast(&rx->flow.dgid)) {
		rhca_rx_count_drop(rx, &rx->flow, RHCA_RX_DROPPED_NOT_FOR_US);
		return;
	}
	rx->port = rhca_mcast_port(&rx->flow.dgid, ndev);
	if (!rx->port) {
		rhca_rx_count_drop(rx, NULL, RHCA_RX_DROPPED_NO_QP);
		return;
	}
	if (walk && !walk->behind && walk->copies >= MAX_COPIES) {
		rhca_rx_drop_at(rx->port, &rx->flow,
				RHCA_RX_DROPPED_NO_RESOURCE);
		return;
	}
	if (is_intact(rx, walk, rhca_port_set(rx->port)->values))
		rhca_mcast_visit(&rx->flow.dgid, ndev, &copies.visitor);
	if (walk)
		walk->copies += copies.made;
}

/* Anybody can send a CNP: it only affects the QP whose peer sent it, annex A17.9.3 */
static void take_cnp(struct rhca_verbs_qp *qp, struct rhca_rx *rx,
		     struct rhca_rx_batch *walk)
{
	struct rhca_counters __percpu *c = rhca_qp_counters(qp);

	if (static_branch_unlikely(&rhca_optional_key) && rx->port &&
	    rhca_port_counts(rx->port, RHCA_CC_RX_CNP_PKTS))
		rhca_counter_inc(c, RHCA_CC_RX_CNP_PKTS);
	if (!rhca_rx_cnp_admissible(qp, rx) ||
	    !READ_ONCE(rx->port->cc.enable)) {
		rhca_counter_inc(c, RHCA_RP_CNP_IGNORED);
		return;
	}
	if (!is_intact(rx, walk, c))
		return;		/* counted there */
	rhca_counter_inc(c, RHCA_RX_PACKETS);
	rhca_counter_add(c, RHCA_RX_BYTES, bytes_of(rx));
	rhca_counter_inc(c, RHCA_RP_CNP_HANDLED);
	rhca_congestion_cnp(to_sw_qp(qp));
}

/* A CNP for a QP that does not exist is not counted */
static void receive_cnp(struct rhca_rx *rx, struct rhca_qp_handle *handle,
			struct rhca_rx_batch *walk)
{
	struct rhca_verbs_qp *qp;

	qp = rhca_rx_find_qp(rx, handle);
	if (!qp)
		return;
	take_cnp(qp, rx, walk);
	rhca_qp_put(qp);
}

/* No QP has the destination QPN */
static void receive_unclaimed(struct rhca_rx *rx, struct rhca_rx_batch *walk)
{
	if (rhca_rx_to_group(rx))
		receive_multicast(rx, walk);
	else
		rhca_rx_count_drop(rx, &rx->flow, RHCA_RX_DROPPED_NO_QP);
}

/* --- batches ---------------------------------------------------------------- */

/*
 * Advance to the next packet for the same half of the same QP, without consuming one for another.
 * QP1 exists on each port, so the GID has to select it.
 */
static bool next_of_half(struct rhca_rx_batch *walk, struct rhca_verbs_qp *qp)
{
	u16 direction = walk->rx.flags & RHCA_OP_RESPONSE;
	u32 number = rhca_bth_dest_qpn(walk->rx.bth);
	struct rhca_port *port = walk->rx.port;
	u16 gid_index = walk->rx.gid_index;

	while (rhca_rx_batch_next(walk)) {
		if ((walk->rx.flags & RHCA_OP_CNP) ||
		    (walk->behind && number == RHCA_GSI_QPN) ||
		    (walk->rx.flags & RHCA_OP_RESPONSE) != direction ||
		    rhca_bth_dest_qpn(walk->rx.bth) != number)
			return false;
		walk->rx.port = port;
		walk->rx.gid_index = gid_index;
		if (passes_unlocked_checks(qp, &walk->rx, walk))
			return true;
	}
	return false;
}

static void take_responses(struct rhca_sw_qp *qp, struct rhca_rx_batch *walk,
			   struct rhca_batch *batch)
{
	bool more;

	spin_lock(&qp->send.lock);
	swap(qp->send.held, walk->answers.held);
	for (more = still_admitted(qp, &walk->rx); more; more = next_of_half(walk, &qp->base))
		if (passes_locked_checks(qp, &walk->rx, walk))
			rhca_completer_receive(qp, &walk->rx, batch);
	rhca_send_kick_locked(qp, RHCA_KICK_ACK, batch);
	spin_unlock(&qp->send.lock);
}

static void take_requests(struct rhca_sw_qp *qp, struct rhca_rx_batch *walk,
			  struct rhca_batch *batch)
{
	struct rhca_wc_list received __uninitialized;
	bool more;

	received.num = 0;
	received.solicited = 0;
	batch->received = &received;
	spin_lock(&qp->recv.lock);
	swap(qp->recv.held, walk->answers.held);
	for (more = still_admitted(qp, &walk->rx); more; more = next_of_half(walk, &qp->base))
		if (passes_locked_checks(qp, &walk->rx, walk))
			rhca_responder_take(qp, &walk->rx, batch);
	rhca_responder_show(qp, batch);
	batch->received = NULL;
	if (walk->parsed || rhca_shared_packets(&walk->answers))
		batch->shared = &walk->answers;
	rhca_responder_continue(qp, batch);
	spin_unlock(&qp->recv.lock);
}

/* One lock for all, and one answer at the end, which may share a block with other QPs' answers */
static void hand_over_block(struct rhca_sw_qp *qp, struct rhca_rx_batch *walk)
{
	struct rhca_batch batch = {};

	if (walk->rx.flags & RHCA_OP_RESPONSE)
		take_responses(qp, walk, &batch);
	else
		take_requests(qp, walk, &batch);
	rhca_batch_end(qp, &batch);
}

/* --- each packet ------------------------------------------------------------- */

/* @walk: NULL, or at this packet; following ones for the same half are consumed, too */
static __always_inline void receive_parsed(struct rhca_rx *rx, struct rhca_qp_handle *handle,
					   struct rhca_rx_batch *walk)
{
	struct rhca_verbs_qp *qp;

	if (rx->flags & RHCA_OP_CNP) {
		receive_cnp(rx, handle, walk);
		return;
	}
	qp = rhca_rx_find_qp(rx, handle);
	if (walk)
		rhca_rx_batch_look_ahead(walk);
	if (!qp) {
		receive_unclaimed(rx, walk);
		return;
	}
	if (passes_unlocked_checks(qp, rx, walk)) {
		if (walk)
			hand_over_block(to_sw_qp(qp), walk);
		else
			hand_over(to_sw_qp(qp), rx);
	}
	rhca_qp_put(qp);
}

static void receive_one(struct sk_buff *skb, enum rhca_encap encap)
{
	struct rhca_rx rx __uninitialized;
	enum rhca_parse fault;

	rx.ifindex = rhca_rx_ifindex(skb, encap);
	fault = rhca_rx_parse(&rx, skb, encap);
	if (fault != RHCA_PARSE_OK) {
		rhca_rx_count_malformed(&rx, encap, fault);
		return;
	}
	receive_parsed(&rx, rhca_qp_find_handle(rhca_bth_dest_qpn(rx.bth)), NULL);
}

static void receive_walk(struct rhca_rx_batch *walk)
{
	while (walk->parsed || rhca_rx_batch_next(walk)) {
		walk->parsed = false;
		receive_parsed(&walk->rx, rhca_rx_batch_find_handle(walk), walk);
	}
	count_walk(walk);
	rhca_shared_send(&walk->answers);
}

static __always_inline void receive_block(struct sk_buff *skb, enum rhca_encap encap)
{
	struct rhca_rx_batch walk __uninitialized;

	if (rhca_rx_batch_begin_block(&walk, skb, encap)) {
		receive_walk(&walk);
		return;
	}
	walk.rx.skb = skb;
	walk.rx.ifindex = rhca_rx_ifindex(skb, encap);
	rhca_rx_count_drop(&walk.rx, NULL, RHCA_RX_DROPPED_BAD_LENGTH);
}

static void trace_arrival(const struct sk_buff *skb, enum rhca_encap encap)
{
	trace_rhca_rx(skb->dev->name, skb->len, skb_shinfo(skb)->gso_segs ?: 1,
		      encap);
}

/* Consume a packet or a block (a UDP GSO packet), skb->data at its network header. Softirq */
void rhca_receive(struct sk_buff *skb, enum rhca_encap encap)
{
	bool begun;

	if (trace_rhca_rx_enabled())
		trace_arrival(skb, encap);
	local_bh_disable();	/* for the QPs' locks */
	begun = rhca_section_begin();
	rcu_read_lock();
	if (skb_is_gso(skb))
		receive_block(skb, encap);
	else
		receive_one(skb, encap);
	rcu_read_unlock();
	rhca_section_end(begun);
	local_bh_enable();
	consume_skb(skb);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_receive);

/*
 * Consume packets that arrived together, none a block and no more than a section's budget.
 * Consecutive ones for the same half of a QP share lookup, lock and acknowledgement. Softirq.
 */
void rhca_receive_list(struct list_head *list, enum rhca_encap encap)
{
	struct rhca_rx_batch walk __uninitialized;
	struct sk_buff *skb;
	bool begun;

	if (trace_rhca_rx_enabled())
		list_for_each_entry(skb, list, list)
			trace_arrival(skb, encap);
	local_bh_disable();
	begun = rhca_section_begin();
	rcu_read_lock();
	rhca_rx_batch_begin_list(&walk, list, encap);
	receive_walk(&walk);
	consume_skb(walk.skb);
	rcu_read_unlock();
	rhca_section_end(begun);
	local_bh_enable();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_receive_list);
