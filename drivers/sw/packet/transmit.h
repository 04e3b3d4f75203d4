/* SPDX-License-Identifier: GPL-2.0 */
/* Packets out, in lists. */
#ifndef RHCA_SW_PACKET_TRANSMIT_H
#define RHCA_SW_PACKET_TRANSMIT_H

#include <linux/skbuff.h>
#include <net/sock.h>

#include "sw/packet/block.h"
#include "sw/packet/packet.h"

struct rhca_shared_block;

/* Packets to one destination that leave together */
struct rhca_tx_list {
	/*
	 * Whose packets are begun, and who is charged for them; NULL: several, none of which
	 * need be there when the list leaves
	 */
	const struct rhca_verbs_qp *qp;
	struct rhca_counters __percpu *counters;	/* where they are counted; RCU */
	u32 qp_member;		/* member of a LAG that their QP sits on */
	bool datagrams;		/* their QP is a datagram's */
	struct rhca_path *path;	/* the destination; NULL only as long as there is no packet; RCU */
	struct sk_buff_head packets;	/* in order */
	struct rhca_block block;	/* behind them */
	struct rhca_block_backoff *backoff;	/* no blocks after a loss; NULL without */
	struct rhca_shared_block *shared;	/* takes packets that are alone, or NULL */
	bool asked;		/* it is known whether blocks may be used */
	bool blocks;		/* they may */
	bool uncharged;		/* something else bounds them: nobody is charged */
	bool may_overtake;	/* its packets may overtake what the QP has sent */
	bool is_cnp;		/* they are CNPs, which have a priority of their own */
	bool refused;	/* the local queue has refused one: it, and what came behind it, is lost */
	u32 refused_psn;	/* PSN of that packet */
	u32 sent_bytes;		/* from the IP header on, that the local queue has taken */
	u32 sent_packets;	/* likewise */
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
