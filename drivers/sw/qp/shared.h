/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks that several QPs share. */
#ifndef RHCA_SW_QP_SHARED_H
#define RHCA_SW_QP_SHARED_H

#include "sw/packet/transmit.h"
#include "sw/qp/qp.h"

/**
 * struct rhca_shared_block - Lone packets of several QPs that leave as one block
 * @tx: what is in the block; its path, counters and LAG member are those of the first
 *	packet and of all others
 * @pkey: of all
 * @held: memory in use by those whose packets are in the block or were before: the next
 *	is likely to use it, too. Until the block is sent
 * @senders: requesters that have a packet in it, see struct rhca_requester.
 *	Each has a reference
 * @left: requesters whose packet has left
 */
struct rhca_shared_block {
	struct rhca_tx_list tx;
	u16 pkey;
	struct rhca_mem *held;
	struct rhca_sw_qp *senders;
	struct rhca_sw_qp *left;
};

void rhca_shared_begin(struct rhca_shared_block *shared);
bool rhca_shared_begin_packet(struct rhca_shared_block *shared,
			      struct rhca_packet *packet,
			      const struct rhca_verbs_qp *qp,
			      struct rhca_path *path,
			      const struct rhca_bth_fields *fields,
			      unsigned int payload_bytes);
bool rhca_shared_add(struct rhca_shared_block *shared,
		     struct rhca_packet *packet, struct rhca_sw_qp *sender);
void rhca_shared_send(struct rhca_shared_block *shared);
struct rhca_sw_qp *rhca_shared_next_left(struct rhca_shared_block *shared);

/*
 * The next QP may go on with what this one has used, but not with memory that work
 * requests and packets take away: they do not wait long for who uses it.
 */
static inline void rhca_shared_keep(struct rhca_shared_block *shared,
				    struct rhca_mem **held)
{
	if (*held && (*held)->cpu_users)
		swap(*held, shared->held);
}

/* Packets that wait in it for others */
static inline u32 rhca_shared_packets(const struct rhca_shared_block *shared)
{
	return shared->tx.block.segments;
}

#endif
