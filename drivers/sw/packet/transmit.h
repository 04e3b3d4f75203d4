/* SPDX-License-Identifier: GPL-2.0 */
/* Packets out, in lists. */
#ifndef RHCA_SW_PACKET_TRANSMIT_H
#define RHCA_SW_PACKET_TRANSMIT_H

#include <linux/skbuff.h>
#include <net/sock.h>

#include "sw/packet/block.h"
#include "sw/packet/packet.h"

struct rhca_shared_block;

/**
 * struct rhca_tx_list - Packets to one destination that leave together
 * @qp: whose packets are begun, and who is charged for them; NULL: several, none of
 *	which need be there when the list leaves
 * @counters: where they are counted; RCU
 * @qp_member: member of a LAG that their QP sits on
 * @datagrams: their QP is a datagram's
 * @path: the destination; NULL only as long as there is no packet; RCU
 * @packets: in order
 * @block: behind them
 * @backoff: keeps packets out of blocks after a loss; NULL without
 * @shared: block that a packet which is alone may share with other QPs, or NULL
 * @asked: it is known whether blocks may be used
 * @blocks: they may
 * @uncharged: something else bounds them: nobody is charged
 * @may_overtake: its packets may overtake what the QP has sent
 * @is_cnp: they are CNPs, which have a priority of their own
 * @sent_bytes: from the IP header on, that the local queue has taken
 * @sent_packets: likewise
 * @refused: a packet was refused by the local queue; it and what came behind it
 *	in the list were dropped
 * @refused_psn: PSN of that packet
 */
struct rhca_tx_list {
	const struct rhca_verbs_qp *qp;
	struct rhca_counters __percpu *counters;
	u32 qp_member;
	bool datagrams;
	struct rhca_path *path;
	struct sk_buff_head packets;
	struct rhca_block block;
	struct rhca_block_backoff *backoff;
	struct rhca_shared_block *shared;
	bool asked;
	bool blocks;
	bool uncharged;
	bool may_overtake;
	bool is_cnp;
	bool refused;
	u32 refused_psn;
	u32 sent_bytes;
	u32 sent_packets;
};

#define RHCA_TX_LIST_PACKETS	16

/*
 * Bytes of memory that a QP may have under way: in the queues of netdevs, of what nothing else
 * limits: datagrams, UC, responses to READs, and what an RC requester sends again. What that
 * sends for the first time is limited by its window, 128 packets, acknowledgements by requests:
 * to charge them would cost a request of 64 bytes a tenth of its time where there are many QPs.
 * What must not overtake packets that are charged is charged, too: a GRO that meets skbs of a
 * host's own (behind a veth) keeps those of each owner apart, and may so change their order.
 */
#define RHCA_UNDER_WAY_MAX	(2U << 20)

void rhca_tx_list_begin(struct rhca_tx_list *tx, const struct rhca_verbs_qp *qp,
			struct rhca_path *path,
			struct rhca_block_backoff *backoff);
void rhca_tx_list_set_path(struct rhca_tx_list *tx, struct rhca_path *path);
int rhca_tx_list_begin_packet(struct rhca_tx_list *tx,
			      struct rhca_packet *packet,
			      const struct rhca_bth_fields *fields,
			      unsigned int payload_bytes, bool more);
bool rhca_tx_list_add(struct rhca_tx_list *tx, struct rhca_packet *packet);
bool rhca_tx_list_takes_blocks(struct rhca_tx_list *tx);
void rhca_tx_list_send(struct rhca_tx_list *tx);

/**
 * rhca_tx_list_protect - rhca_packet_protect() by what the list's block knows already
 * @tx: the list that the packet is added to next
 * @packet: begun for it, all but its payload in place
 *
 * Context: as rhca_packet_protect().
 */
static inline void rhca_tx_list_protect(struct rhca_tx_list *tx, struct rhca_packet *packet)
{
	if (packet->room && !packet->shared)	/* a segment of this list's */
		rhca_block_precede(&tx->block, packet);
	rhca_packet_protect(packet);
}
int rhca_under_way_open(struct rhca_verbs_qp *qp);
void rhca_under_way_close(struct rhca_verbs_qp *qp);

/* Is so much under way that nothing is to be added? */
static inline bool rhca_under_way_full(const struct rhca_verbs_qp *qp)
{
	const struct socket *owner = qp->owner;

	return owner && sk_wmem_alloc_get(owner->sk) >= RHCA_UNDER_WAY_MAX;
}

#endif
