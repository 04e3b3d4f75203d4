/* SPDX-License-Identifier: GPL-2.0 */
/* Packets that arrive together: the segments of a block, or a list of skbs. */
#ifndef RHCA_SW_RX_RX_BATCH_H
#define RHCA_SW_RX_RX_BATCH_H

#include <linux/list.h>
#include <linux/skbuff.h>

#include "sw/packet/parse.h"
#include "sw/qp/shared.h"
#include "sw/verbs/counters.h"
#include "wire/icrc.h"

/* Packets to QPs of their own: so many before its turn one is looked for in memory */
#define RHCA_WALK_AHEAD	2

/* The QP of a packet whose turn has not come */
struct rhca_qp_ahead {
	u32 number;			/* as the packet says; 0 is no QP's */
	struct rhca_qp_handle *handle;	/* what is found under it, or NULL; RCU */
};

/* Position among packets that arrived together */
struct rhca_rx_batch {
	struct rhca_rx rx;		/* the packet at which it stands */
	struct sk_buff *skb;		/* the block; of a list the skb of that packet */
	struct list_head *behind;	/* the rest of the list; NULL for a block */
	enum rhca_encap encap;
	u8 network[RHCA_MAX_NETWORK_BYTES];	/* network headers of the block */
	unsigned int copied;	/* bytes of a segment to which they were copied last, in @rx */
	struct rhca_icrc_flow icrc;	/* over those there, if @rx.has_network_crc */
	unsigned int next;		/* first byte of the next segment, from skb->data */
	unsigned int place;		/* of the segment at which it stands, from 0 */
	u32 first_psn;			/* of the first segment */
	unsigned int id_rule;	/* the way that IPv4 identifications were found to be counted */
	unsigned int lost;	/* packets missing before it, as far as these told */
	unsigned int damaged;		/* packets whose ICRC was wrong by each rule */
	struct rhca_counters __percpu *counters;	/* where @packets will be counted; RCU */
	unsigned int packets;	/* admitted for QPs that count there, and not counted yet */
	unsigned int bytes;		/* theirs */
	unsigned int copies;		/* deliveries of its packets to QPs of groups */
	bool parsed;			/* @rx is right and nobody has taken it */
	struct rhca_qp_ahead ahead[RHCA_WALK_AHEAD];	/* QPs of the packets behind it */
	struct rhca_shared_block answers;	/* of several QPs, sent at the end of the walk */
};

bool rhca_rx_batch_begin_block(struct rhca_rx_batch *walk, struct sk_buff *skb,
			       enum rhca_encap encap);
void rhca_rx_batch_begin_list(struct rhca_rx_batch *walk, struct list_head *list,
			      enum rhca_encap encap);
bool rhca_rx_batch_next(struct rhca_rx_batch *walk);
void rhca_rx_batch_look_ahead(struct rhca_rx_batch *walk);
struct rhca_qp_handle *rhca_rx_batch_find_handle(struct rhca_rx_batch *walk);
void rhca_rx_batch_guess_id(struct rhca_rx_batch *walk);
bool rhca_rx_batch_intact(struct rhca_rx_batch *walk,
			  struct rhca_counters __percpu *c);

#endif
