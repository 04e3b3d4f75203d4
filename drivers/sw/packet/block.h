/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks: packets sent as one skb. */
#ifndef RHCA_SW_PACKET_BLOCK_H
#define RHCA_SW_PACKET_BLOCK_H

#include "sw/packet/packet.h"
#include "sw/packet/pool.h"

#define RHCA_BLOCK_PACKETS	64
#define RHCA_BLOCK_GROUP_PACKETS 8	/* the receiver copies each to all QPs */
#define RHCA_BLOCK_BYTES	65000	/* an IP packet holds 65535 */
#define RHCA_BLOCK_PIECES	4	/* RHCA_BLOCK_BYTES at any offset */

/* After a loss send at least a window of single packets */
#define RHCA_BLOCK_SINGLE_MIN	128U
#define RHCA_BLOCK_SINGLE_MAX	65536U

/* Fewer if blocks are known to arrive: then they did not cause the loss */
#define RHCA_BLOCK_SINGLE_PROVEN 8U

/* State of single packets after a loss */
struct rhca_block_backoff {
	u32 single;	/* packets to send singly before the next block */
	u32 window;	/* their number after the last loss, less those sent since */
	u32 psn;	/* first packet of a block in flight, if @is_out */
	bool is_out;	/* a block is in flight, and no loss since */
	bool proven;	/* blocks are known to arrive */
};

/* A block that is being filled */
struct rhca_block {
	struct rhca_network network;	/* of the first segment */
	u32 psn;		/* of the first segment */
	u16 ip_id;		/* of the first segment; increments per segment */
	u16 udp_sport;		/* of all */
	u32 segments;		/* how many */
	u32 segment_bytes;	/* of each except a shorter last one */
	u32 bytes;		/* of all */
	bool closed;		/* a shorter one was added: none may follow */
	u32 num_pieces;
	struct rhca_piece pieces[RHCA_BLOCK_PIECES];	/* each has a reference to its page */
};

/* IPv4 identification of the next segment */
static inline u16 rhca_block_next_id(const struct rhca_block *block)
{
	return block->ip_id + block->segments;
}

/* Is there no room for another packet of this size? */
static inline bool rhca_block_is_full(const struct rhca_block *block)
{
	return block->bytes + block->segment_bytes > RHCA_BLOCK_BYTES;
}

void rhca_block_lost(struct rhca_block_backoff *backoff);
void rhca_block_left(struct rhca_block_backoff *backoff, u32 psn);
void rhca_block_acked(struct rhca_block_backoff *backoff, u32 upto);
void rhca_block_sent(struct rhca_block_backoff *backoff, u32 packets);
bool rhca_block_fits(const struct rhca_block *block,
		     const struct rhca_packet *packet);
void rhca_block_precede(struct rhca_block *block, struct rhca_packet *packet);
void rhca_block_add(struct rhca_block *block, struct rhca_packet *packet);
struct sk_buff *rhca_block_finish(struct rhca_block *block,
				  enum rhca_encap encap);
void rhca_block_request_checksum(struct sk_buff *skb, enum rhca_encap encap);

#endif
