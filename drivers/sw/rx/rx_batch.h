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

/* Prefetch a QP this many packets ahead */
#define RHCA_WALK_AHEAD	2

/* The QP of a packet not yet processed */
struct rhca_qp_ahead {
	u32 number;			/* destination QPN; 0: none */
	struct rhca_qp_handle *handle;	/* looked up by it, or NULL; RCU */
};

/* Position among packets that arrived together */
struct rhca_rx_batch {
	struct rhca_rx rx;		/* the current packet */
	struct sk_buff *skb;		/* the block; of a list the skb of that packet */
	struct list_head *behind;	/* the rest of the list; NULL for a block */
	enum rhca_encap encap;
	u8 network[RHCA_MAX_NETWORK_BYTES];	/* network headers of the block */
	unsigned int copied;	/* segment size of the copy of @network in @rx */
	struct rhca_icrc_flow icrc;	/* over that copy, if @rx.has_network_crc */
	unsigned int next;		/* first byte of the next segment, from skb->data */
	unsigned int place;		/* index of the current segment */
	u32 first_psn;			/* of the first segment */
	unsigned int id_rule;	/* rule found for IPv4 identifications */
	unsigned int lost;	/* lost packets found so far */
	unsigned int damaged;		/* packets with a wrong ICRC by every rule */
	struct rhca_counters __percpu *counters;	/* counters for @packets; RCU */
	unsigned int packets;	/* admitted but not yet counted */
	unsigned int bytes;		/* of those */
	unsigned int copies;		/* multicast deliveries of its packets */
	bool parsed;			/* @rx is valid and not yet consumed */
	struct rhca_qp_ahead ahead[RHCA_WALK_AHEAD];	/* QPs of the packets ahead */
	struct rhca_shared_block answers;	/* of several QPs, sent at the end */
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
