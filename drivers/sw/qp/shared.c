// SPDX-License-Identifier: GPL-2.0
/*
 * A user that posts to many connections to one host in turn sends lone packets and gets lone
 * acknowledgements. These share a block. A block has one UDP source port, which the sender may
 * choose per packet, A17.4.5, as long as packets that must stay in order keep theirs, since
 * switches distribute ports over links. So a request takes the port of a block only if its QP has
 * nothing in flight, and later packets keep that port until all are acknowledged. An
 * acknowledgement may overtake another, as it is cumulative, but not a response to a READ or
 * atomic.
 */
#include <linux/etherdevice.h>
#include <rhca/compat.h>

#include "sw/qp/shared.h"
#include "core/rules/lag.h"

/**
 * rhca_shared_begin - Start an empty block
 * @shared: filled in
 */
void rhca_shared_begin(struct rhca_shared_block *shared)
{
	shared->tx.block.segments = 0;
	shared->held = NULL;
	shared->senders = NULL;
	shared->left = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_shared_begin);

/* Do packets to both have the same network headers except for the source port? */
static bool same_headers(const struct rhca_address *a,
			 const struct rhca_address *b)
{
	const struct rhca_flow *one = &a->flow, *other = &b->flow;

	return a->port == b->port && a->ifindex == b->ifindex &&
	       a->vlan_id == b->vlan_id && a->sl == b->sl &&
	       ether_addr_equal(a->dmac, b->dmac) &&
	       one->encap == other->encap && one->tclass == other->tclass &&
	       one->hop_limit == other->hop_limit &&
	       one->flow_label == other->flow_label &&
	       rhca_gid_equal(&one->dgid, &other->dgid) &&
	       rhca_gid_equal(&one->sgid, &other->sgid);
}

/* A configured flow label determines the source port */
static bool same_port(const struct rhca_flow *a, const struct rhca_flow *b)
{
	return !a->flow_label || a->udp_sport == b->udp_sport;
}

/* Every QP is assigned a LAG member, but few ports are a LAG */
static bool same_member(const struct rhca_tx_list *tx,
			const struct rhca_verbs_qp *qp)
{
	const struct rhca_port *port = tx->path->address.port;
	const struct net_device *ndev = rcu_dereference(port->ndev);
	u32 label = tx->path->address.flow.flow_label;

	return rhca_lag_member_of(label, tx->qp_member) ==
	       rhca_lag_member_of(label, READ_ONCE(qp->lag_member)) ||
	       (!rcu_access_pointer(port->second) && ndev &&
		!netif_is_bond_master(ndev));
}

/*
 * Filters may check P_Keys but see one BTH per block. ECN must match as well: a small request is as
 * long as an acknowledgement, which switches must not mark instead of dropping.
 */
static bool fits_block(const struct rhca_shared_block *shared,
		       const struct rhca_verbs_qp *qp, const struct rhca_path *path,
		       const struct rhca_bth_fields *fields)
{
	const struct rhca_tx_list *tx = &shared->tx;

	return shared->pkey == fields->pkey &&
	       shared->ecn == rhca_packet_ecn(&path->address, fields->opcode) &&
	       tx->counters == rhca_qp_counters(qp) &&
	       same_member(tx, qp) &&
	       same_headers(&tx->path->address, &path->address) &&
	       same_port(&tx->path->address.flow, &path->address.flow);
}

/* False if packets to this destination cannot be sent as blocks */
static bool open_block(struct rhca_shared_block *shared,
		       const struct rhca_verbs_qp *qp, struct rhca_path *path)
{
	rhca_tx_list_begin(&shared->tx, qp, path, NULL);
	shared->tx.qp = NULL;
	return rhca_tx_list_takes_blocks(&shared->tx);
}

/**
 * rhca_shared_begin_packet - Start a lone packet
 * @shared: sent first if the packet cannot be added
 * @packet: filled in
 * @qp: the sender, with nothing in flight that must not be overtaken
 * @path: its destination
 * @fields: of the BTH
 * @payload_bytes: how many it will have
 *
 * Context: bottom halves off until the packet has been added or dropped, RCU read side until the
 * block is sent.
 * Return: false if the packet cannot be in a block, or without memory: the caller then sends it in
 * another way.
 */
bool rhca_shared_begin_packet(struct rhca_shared_block *shared,
			      struct rhca_packet *packet,
			      const struct rhca_verbs_qp *qp,
			      struct rhca_path *path,
			      const struct rhca_bth_fields *fields,
			      unsigned int payload_bytes)
{
	struct rhca_block *block = &shared->tx.block;

	if (rhca_shared_packets(shared) &&
	    !fits_block(shared, qp, path, fields))
		rhca_shared_send(shared);
	if (!rhca_shared_packets(shared) && !open_block(shared, qp, path))
		return false;
	if (!rhca_packet_begin_segment(packet, qp, path, fields, payload_bytes))
		return false;
	packet->shared = true;
	if (rhca_shared_packets(shared)) {
		packet->udp_sport = block->udp_sport;
		packet->ip_id = rhca_block_next_id(block);
		rhca_block_precede(block, packet);
	} else {
		shared->pkey = fields->pkey;
		shared->ecn = rhca_packet_ecn(&path->address, fields->opcode);
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_shared_begin_packet);

/* Report the result to the senders, to be handled without locks */
static void note_left(struct rhca_shared_block *shared)
{
	struct rhca_sw_qp *qp;

	while ((qp = shared->senders)) {
		shared->senders = qp->send.shared_next;
		qp->send.shared_refused = shared->tx.refused;
		qp->send.shared_next = shared->left;
		shared->left = qp;
	}
	shared->tx.refused = false;
}

/**
 * rhca_shared_add - Add a sealed packet
 * @shared: sent first if it is full
 * @packet: from rhca_shared_begin_packet()
 * @sender: QP of the request, with a reference that the block takes over; NULL for an
 *	acknowledgement
 *
 * Return: false if the packet was dropped, as if lost on the wire.
 */
bool rhca_shared_add(struct rhca_shared_block *shared,
		     struct rhca_packet *packet, struct rhca_sw_qp *sender)
{
	u32 before = rhca_shared_packets(shared);

	if (!rhca_tx_list_add(&shared->tx, packet))
		return false;
	if (rhca_shared_packets(shared) <= before)	/* it started a new block */
		note_left(shared);
	if (sender) {
		sender->send.shared_next = shared->senders;
		shared->senders = sender;
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_shared_add);

/**
 * rhca_shared_send - Send the block
 * @shared: empty afterwards, without a memory reference
 *
 * Context: as rhca_tx_list_send().
 */
void rhca_shared_send(struct rhca_shared_block *shared)
{
	rhca_mem_release(&shared->held);
	if (!rhca_shared_packets(shared))
		return;
	rhca_tx_list_send(&shared->tx);
	note_left(shared);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_shared_send);

/* Next requester whose packet was sent, with the block's reference, or NULL */
struct rhca_sw_qp *rhca_shared_next_left(struct rhca_shared_block *shared)
{
	struct rhca_sw_qp *qp = shared->left;

	if (qp)
		shared->left = qp->send.shared_next;
	return qp;
}
