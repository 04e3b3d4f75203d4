/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that arrive together: the segments of a block, or a list of skbs.
 */
#ifndef RHCA_SW_TRANSPORT_WALK_H
#define RHCA_SW_TRANSPORT_WALK_H

#include <linux/list.h>
#include <linux/skbuff.h>

#include "sw/transport/parse.h"
#include "sw/transport/shared.h"
#include "sw/verbs/counters.h"

/**
 * struct rhca_walk - Position among packets that arrived together
 * @rx: the packet at which it stands
 * @skb: the block; of a list the skb of that packet
 * @behind: the rest of the list; NULL for a block
 * @encap: the framing
 * @network: network headers of the block
 * @next: first byte of the next segment, from skb->data
 * @place: of the segment at which it stands, from 0
 * @first_psn: of the first segment
 * @id_rule: the way that the IPv4 identifications were found to be counted
 * @lost: packets that are missing before it, as far as the identifications told
 * @packets: admitted for the QP that is being served, and not counted yet
 * @bytes: theirs
 * @copies: deliveries of its packets to QPs of groups
 * @parsed: @rx is right and nobody has taken it
 * @answers: acknowledgements of several QPs, sent at the end of the walk
 */
struct rhca_walk {
	struct rhca_rx rx;
	struct sk_buff *skb;
	struct list_head *behind;
	enum rhca_encap encap;
	u8 network[RHCA_MAX_NETWORK_BYTES];
	unsigned int next;
	unsigned int place;
	u32 first_psn;
	unsigned int id_rule;
	unsigned int lost;
	unsigned int packets;
	unsigned int bytes;
	unsigned int copies;
	bool parsed;
	struct rhca_shared_block answers;
};

bool rhca_walk_begin_block(struct rhca_walk *walk, struct sk_buff *skb,
			   enum rhca_encap encap);
void rhca_walk_begin_list(struct rhca_walk *walk, struct list_head *list,
			  enum rhca_encap encap);
bool rhca_walk_next(struct rhca_walk *walk);
void rhca_walk_guess_id(struct rhca_walk *walk);
bool rhca_walk_intact(struct rhca_walk *walk,
		      struct rhca_counters __percpu *c);

#endif
