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

/**
 * struct rhca_rx_batch - Position among packets that arrived together
 * @rx: the packet at which it stands
 * @skb: the block; of a list the skb of that packet
 * @behind: the rest of the list; NULL for a block
 * @encap: the framing
 * @network: network headers of the block
 * @copied: bytes of a segment to which @network has been copied last, in @rx
 * @icrc: over the network headers that are there, if @rx.has_network_crc
 * @next: first byte of the next segment, from skb->data
 * @place: of the segment at which it stands, from 0
 * @first_psn: of the first segment
 * @id_rule: the way that the IPv4 identifications were found to be counted
 * @lost: packets that are missing before it, as far as the identifications told
 * @damaged: packets whose ICRC was wrong by each rule
 * @counters: where @packets are going to be counted; RCU
 * @packets: admitted for QPs that count there, and not counted yet
 * @bytes: theirs
 * @copies: deliveries of its packets to QPs of groups
 * @parsed: @rx is right and nobody has taken it
 * @ahead: what is known of the QPs of the packets behind it
 * @answers: acknowledgements of several QPs, sent at the end of the walk
 */
struct rhca_rx_batch {
	struct rhca_rx rx;
	struct sk_buff *skb;
	struct list_head *behind;
	enum rhca_encap encap;
	u8 network[RHCA_MAX_NETWORK_BYTES];
	unsigned int copied;
	struct rhca_icrc_flow icrc;
	unsigned int next;
	unsigned int place;
	u32 first_psn;
	unsigned int id_rule;
	unsigned int lost;
	unsigned int damaged;
	struct rhca_counters __percpu *counters;
	unsigned int packets;
	unsigned int bytes;
	unsigned int copies;
	bool parsed;
	struct rhca_qp_ahead ahead[RHCA_WALK_AHEAD];
	struct rhca_shared_block answers;
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
