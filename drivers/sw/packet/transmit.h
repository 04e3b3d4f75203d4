/* SPDX-License-Identifier: GPL-2.0 */
/* Transmit path: lists of packets. */
#ifndef RHCA_SW_PACKET_TRANSMIT_H
#define RHCA_SW_PACKET_TRANSMIT_H

#include <linux/skbuff.h>
#include <net/sock.h>

#include "sw/packet/block.h"
#include "sw/packet/packet.h"

struct rhca_shared_block;

/* Packets to one destination that are sent together */
struct rhca_tx_list {
	/*
	 * QP whose packets are started and which is charged; NULL: several, which may be gone when
	 * the list is sent
	 */
	const struct rhca_verbs_qp *qp;
	struct rhca_counters __percpu *counters;	/* their counters; RCU */
	u32 qp_member;		/* LAG member assigned to the QP */
	bool datagrams;		/* the QP is a datagram QP */
	struct rhca_path *path;	/* the destination; NULL only while empty; RCU */
	struct sk_buff_head packets;	/* in order */
	struct rhca_block block;	/* after @packets */
	struct rhca_block_backoff *backoff;	/* no blocks after a loss; or NULL */
	struct rhca_shared_block *shared;	/* takes lone packets, or NULL */
	bool asked;		/* @blocks is valid */
	bool blocks;		/* blocks may be used */
	bool uncharged;		/* bounded by something else: not charged to a QP */
	bool may_overtake;	/* may overtake earlier packets of the QP */
	bool is_cnp;		/* CNPs, which have their own priority */
	bool refused;	/* the local queue refused one, which is lost with all after it */
	u16 sender_cpu;	/* processor, plus 1, whose TX queue takes the packets; 0: this one */
	u32 refused_psn;	/* PSN of the refused packet */
	u32 sent_bytes;		/* from the IP header on, accepted by the local queue */
	u32 sent_packets;	/* accepted by the local queue */
};

#define RHCA_TX_LIST_PACKETS	16

/*
 * Limit of memory that a QP may have in netdev queues. It applies to packets that nothing else
 * limits: datagrams, UC, READ responses, and retransmissions of an RC requester. First
 * transmissions of RC are limited by the window, 128 packets, and acknowledgements by requests:
 * with many QPs, charging them would cost a 64-byte request a tenth of its time. Packets that must
 * not overtake charged ones are charged, too: GRO on local skbs (behind a veth) keeps those of each
 * owner apart and may so reorder them.
 */
#define RHCA_TX_MEMORY_MAX	(2U << 20)

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
 * rhca_tx_list_protect - rhca_packet_protect() reusing headers of the list's block
 * @tx: the list that the packet will be added to next
 * @packet: started for it, complete except for its payload
 *
 * Context: as rhca_packet_protect().
 */
static inline void rhca_tx_list_protect(struct rhca_tx_list *tx, struct rhca_packet *packet)
{
	if (packet->room && !packet->shared)	/* a segment of this list */
		rhca_block_precede(&tx->block, packet);
	rhca_packet_protect(packet);
}
int rhca_tx_memory_open(struct rhca_verbs_qp *qp);
void rhca_tx_memory_close(struct rhca_verbs_qp *qp);

/* Bytes of charged packets that are in netdev queues */
static inline int rhca_tx_memory_used(const struct rhca_verbs_qp *qp)
{
	const struct socket *owner = qp->owner;

	return owner ? sk_wmem_alloc_get(owner->sk) : 0;
}

/* Has the QP reached its limit? */
static inline bool rhca_tx_memory_full(const struct rhca_verbs_qp *qp)
{
	return rhca_tx_memory_used(qp) >= RHCA_TX_MEMORY_MAX;
}

/**
 * rhca_tx_list_keep_queue - Use the TX queue of the packets before
 * @tx: empty
 * @cpu: processor, plus 1, for which one half of the QP uses a TX queue; 0: none yet
 * @may_change: no packet of that half can be in a queue
 *
 * A netdev with XPS chooses the queue by the processor that sends, and a QP is sent by two: that of
 * its process and that of its acknowledgements. Packets in different queues overtake each other.
 * (TCP: ooo_okay)
 *
 * Context: bottom halves off, the lock of that half held.
 */
static inline void rhca_tx_list_keep_queue(struct rhca_tx_list *tx, u16 *cpu, bool may_change)
{
	static_assert(CONFIG_NR_CPUS < U16_MAX);

	if (may_change || !*cpu)
		*cpu = raw_smp_processor_id() + 1;
	tx->sender_cpu = *cpu;
}

#endif
