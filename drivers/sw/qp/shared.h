/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks that several QPs share. */
#ifndef RHCA_SW_QP_SHARED_H
#define RHCA_SW_QP_SHARED_H

#include "sw/packet/transmit.h"
#include "sw/qp/qp.h"

/* Lone packets of several QPs, sent as one block */
struct rhca_shared_block {
	struct rhca_tx_list tx;		/* path, counters, LAG member of all */
	u16 pkey;			/* of all */
	u8 ecn;				/* likewise */
	/* Memory last used by a packet's QP: the next one is likely to use it, too */
	struct rhca_mem *held;
	struct rhca_sw_qp *senders;	/* requesters with a packet in it, each with a reference */
	struct rhca_sw_qp *left;	/* requesters whose packet was sent */
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
 * Keep a memory reference for the next QP, but not of memory that work requests and packets can
 * invalidate: these do not wait long for users.
 */
static inline void rhca_shared_keep(struct rhca_shared_block *shared,
				    struct rhca_mem **held)
{
	if (*held && (*held)->cpu_users)
		swap(*held, shared->held);
}

/* Packets in the block */
static inline u32 rhca_shared_packets(const struct rhca_shared_block *shared)
{
	return shared->tx.block.segments;
}

#endif
