// SPDX-License-Identifier: GPL-2.0
/*
 * Who has many connections to one host and posts to one after the other sends packets that are
 * alone, and gets acknowledgements that are. Such packets share a block. It has one UDP source
 * port, but which one a packet has is for the sender to choose, A17.4.5, as long as packets
 * that must stay in order keep to theirs, since switches spread ports over links. So a request
 * takes the port of a block only while its QP has nothing else under way, and what follows has
 * the same until all is acknowledged. An acknowledgement may overtake another, since it
 * acknowledges all before it, but no response to a READ or an atomic.
 */
#include <linux/etherdevice.h>
#include <rhca/compat.h>

#include "sw/qp/shared.h"
#include "core/rules/lag.h"

/**
 * rhca_shared_begin - Begin an empty block
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

/* Do packets to both leave with the same network headers, but for the source port? */
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

/* A flow label has been asked for, and it gives the source port */
static bool same_port(const struct rhca_flow *a, const struct rhca_flow *b)
{
	return !a->flow_label || a->udp_sport == b->udp_sport;
}

/* Each QP has a member of a LAG, but few ports are one */
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
 * Filters may know partitions, and see one BTH of a block. A small request is as long as an
 * acknowledgement, which no switch may mark in place of dropping it.
 */
static bool goes_along(const struct rhca_shared_block *shared,
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

/* False where packets to this destination do not go in blocks */
static bool open_block(struct rhca_shared_block *shared,
		       const struct rhca_verbs_qp *qp, struct rhca_path *path)
{
	rhca_tx_list_begin(&shared->tx, qp, path, NULL);
	shared->tx.qp = NULL;
	return rhca_tx_list_takes_blocks(&shared->tx);
}

/**
 * rhca_shared_begin_packet - Begin a packet that is alone
 * @shared: sends what it has, if the packet cannot follow that
 * @packet: filled in
 * @qp: whose it is; nothing that must not be overtaken is under way
 * @path: where it goes
 * @fields: of the BTH
 * @payload_bytes: how many it will have
 *
 * Context: bottom halves off until the packet has been added or dropped, RCU read
 * side until the block has left.
 * Return: false where the packet cannot be in a block, or without memory: then it is
 * sent in another way.
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
	    !goes_along(shared, qp, path, fields))
		rhca_shared_send(shared);
	if (!rhca_shared_packets(shared) && !open_block(shared, qp, path))
		return false;
	if (!rhca_packet_begin_segment(packet, qp, path, fields, payload_bytes))
		return false;
	packet->shared = true;
	if (rhca_shared_packets(shared)) {
		packet->udp_sport = block->udp_sport;
		packet->ip_id = block->ip_id + block->segments;
		rhca_block_precede(block, packet);
	} else {
		shared->pkey = fields->pkey;
		shared->ecn = rhca_packet_ecn(&path->address, fields->opcode);
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_shared_begin_packet);

/* Each of the senders gets to know, as soon as no lock is held */
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
 * @shared: sends what it has, if there is no room left
 * @packet: begun by rhca_shared_begin_packet()
 * @sender: whose request it is, with a reference that the block takes over; NULL for
 *	an acknowledgement
 *
 * Return: false when the packet has been dropped, as if the wire had lost it.
 */
bool rhca_shared_add(struct rhca_shared_block *shared,
		     struct rhca_packet *packet, struct rhca_sw_qp *sender)
{
	u32 before = rhca_shared_packets(shared);

	if (!rhca_tx_list_add(&shared->tx, packet))
		return false;
	if (rhca_shared_packets(shared) <= before)	/* it is in a new one */
		note_left(shared);
	if (sender) {
		sender->send.shared_next = shared->senders;
		shared->senders = sender;
	}
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_shared_add);

/**
 * rhca_shared_send - Send what is in the block
 * @shared: empty afterwards, and uses no memory
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

/* A requester whose packet has left, with the block's reference; NULL when there is no more */
struct rhca_sw_qp *rhca_shared_next_left(struct rhca_shared_block *shared)
{
	struct rhca_sw_qp *qp = shared->left;

	if (qp)
		shared->left = qp->send.shared_next;
	return qp;
}
