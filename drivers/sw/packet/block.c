// SPDX-License-Identifier: GPL-2.0
/*
 * A block is an skb for UDP segmentation offload: network headers followed by segments of one size,
 * of which the last may be shorter. Here a segment is a packet from the BTH to the ICRC. All
 * segments share one route lookup and one pass through netfilter and the qdisc; the kernel segments
 * the skb for a device that does not accept it whole.
 *
 * The ICRC of each segment covers the network headers it gets then: lengths, and an IPv4
 * identification that increments per segment. Blocks do not arrive if a device counts differently
 * (egress.c), so after a loss single packets are sent for a while.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <rhca/compat.h>

#include "sw/packet/block.h"
#include "wire/psn.h"

#define SMALL_BYTES	256	/* lone packets up to this are made linear */

/* --- losses --------------------------------------------------------------- */

/**
 * rhca_block_lost - Packets were lost, perhaps because they were in a block
 * @backoff: the next packets are sent singly, twice as many after each loss
 */
void rhca_block_lost(struct rhca_block_backoff *backoff)
{
	backoff->is_out = false;
	if (backoff->proven) {
		backoff->single = RHCA_BLOCK_SINGLE_PROVEN;
		return;
	}
	backoff->window = clamp(2 * backoff->window, RHCA_BLOCK_SINGLE_MIN,
				RHCA_BLOCK_SINGLE_MAX);
	backoff->single = backoff->window;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_block_lost);

/* A block was sent. @psn: of its first packet */
void rhca_block_left(struct rhca_block_backoff *backoff, u32 psn)
{
	if (backoff->is_out || backoff->proven)
		return;
	backoff->psn = psn;
	backoff->is_out = true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_block_left);

/**
 * rhca_block_acked - Packets were acknowledged
 * @backoff: a packet sent in a block and not retransmitted proves that blocks arrive
 * @upto: after the newest of them
 */
void rhca_block_acked(struct rhca_block_backoff *backoff, u32 upto)
{
	if (!backoff->is_out || !rhca_psn_before(backoff->psn, upto))
		return;
	backoff->is_out = false;
	backoff->proven = true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_block_acked);

/**
 * rhca_block_sent - Packets were sent
 * @backoff: if no block arrives, few packets are sent between losses, so the window grows despite
 *	being reduced here
 * @packets: how many
 */
void rhca_block_sent(struct rhca_block_backoff *backoff, u32 packets)
{
	if (backoff->single)
		backoff->single -= min(backoff->single, packets);
	else
		backoff->window -= min(backoff->window,
				       DIV_ROUND_UP(packets, 8));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_block_sent);

/* --- filling -------------------------------------------------------------- */

/* A shorter segment ends the block: allow that only at the end of a message */
static bool size_fits(const struct rhca_block *block,
		      const struct rhca_packet *packet, u32 bytes)
{
	if (bytes == block->segment_bytes)
		return true;
	return bytes < block->segment_bytes &&
	       rhca_opcodes[packet->bth->opcode].flags & RHCA_OP_ENDS;
}

static u32 max_packets(const struct rhca_packet *packet)
{
	return rhca_gid_is_multicast(&packet->path->address.flow.dgid) ?
		RHCA_BLOCK_GROUP_PACKETS : RHCA_BLOCK_PACKETS;
}

/* Can a sealed segment to the same destination be added? @block: not empty */
bool rhca_block_fits(const struct rhca_block *block,
		     const struct rhca_packet *packet)
{
	u32 bytes = rhca_segment_bytes(packet);

	return !block->closed && block->segments < max_packets(packet) &&
	       block->num_pieces < RHCA_BLOCK_PIECES &&
	       block->bytes + bytes <= RHCA_BLOCK_BYTES &&
	       packet->udp_sport == block->udp_sport &&
	       packet->ip_id == rhca_block_next_id(block) &&
	       size_fits(block, packet, bytes);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_block_fits);

/**
 * rhca_block_precede - Reuse network headers and the start of the ICRC
 * @block: to the same destination
 * @packet: a segment that will be added next, with its sending parameters set
 */
void rhca_block_precede(struct rhca_block *block, struct rhca_packet *packet)
{
	if (block->segments && packet->udp_sport == block->udp_sport &&
	    rhca_packet_bytes(packet) == block->segment_bytes)
		packet->like = &block->network;
}

/*
 * Add a sealed segment, the last one begun on this CPU. @block: empty, or rhca_block_fits() was
 * true. Bottom halves off since the segment was begun.
 */
void rhca_block_add(struct rhca_block *block, struct rhca_packet *packet)
{
	u32 bytes = rhca_segment_bytes(packet);
	struct rhca_piece piece = {};

	if (!block->segments) {
		if (packet->like)	/* of the previous block */
			rhca_packet_write_network(packet, bytes);
		rhca_network_copy(packet->path->address.flow.encap,
				  block->network.hdr, packet->network);
		block->network.has_icrc = false;
		block->psn = packet->psn;
		block->ip_id = packet->ip_id;
		block->udp_sport = packet->udp_sport;
		block->segment_bytes = bytes;
	}
	if (block->num_pieces)
		piece = block->pieces[block->num_pieces - 1];
	rhca_pool_take(bytes, &piece);
	if (!block->num_pieces ||
	    piece.page != block->pieces[block->num_pieces - 1].page ||
	    piece.offset != block->pieces[block->num_pieces - 1].offset)
		block->num_pieces++;
	block->pieces[block->num_pieces - 1] = piece;
	block->closed = bytes < block->segment_bytes;
	block->segments++;
	block->bytes += bytes;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_block_add);

/* Lengths of the whole block */
static void fill_totals(struct sk_buff *skb, enum rhca_encap encap)
{
	unsigned int udp_bytes = skb->len - skb_transport_offset(skb);

	rhca_network_resize(encap, skb_network_header(skb),
			    udp_bytes - sizeof(struct udphdr));
	if (encap == RHCA_V2_IPV4)
		ip_send_check(ip_hdr(skb));
}

/* Have the egress device compute the UDP checksum of a packet or block: data at the IP header */
void rhca_block_request_checksum(struct sk_buff *skb, enum rhca_encap encap)
{
	unsigned int udp_bytes = skb->len - skb_transport_offset(skb);
	const struct ipv6hdr *ip6 = ipv6_hdr(skb);
	const struct iphdr *ip = ip_hdr(skb);
	struct udphdr *udp = udp_hdr(skb);

	if (encap == RHCA_V2_IPV4)
		udp->check = ~csum_tcpudp_magic(ip->saddr, ip->daddr, udp_bytes,
						IPPROTO_UDP, 0);
	else
		udp->check = ~csum_ipv6_magic(&ip6->saddr, &ip6->daddr,
					      udp_bytes, IPPROTO_UDP, 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

static void attach_pieces(struct sk_buff *skb, const struct rhca_block *block)
{
	const struct rhca_piece *piece;
	u32 i;

	for (i = 0; i < block->num_pieces; i++) {
		piece = &block->pieces[i];
		skb_add_rx_frag(skb, i, piece->page, piece->offset,
				piece->bytes, piece->bytes);
	}
}

static void put_pieces(const struct rhca_block *block)
{
	u32 i;

	for (i = 0; i < block->num_pieces; i++)
		put_page(block->pieces[i].page);
}

/* Move the pieces' references to the skb, or drop them after copying */
static void fill(struct sk_buff *skb, const struct rhca_block *block,
		 enum rhca_encap encap, bool small)
{
	const struct rhca_piece *piece = &block->pieces[0];

	if (small) {
		skb_put_data(skb, page_address(piece->page) + piece->offset,
			     piece->bytes);
		put_pieces(block);
		return;
	}
	attach_pieces(skb, block);
	if (block->segments > 1) {
		fill_totals(skb, encap);
		rhca_block_request_checksum(skb, encap);
		skb_shinfo(skb)->gso_size = block->segment_bytes;
		skb_shinfo(skb)->gso_segs = block->segments;
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	}
}

/*
 * Turn a block into an skb and empty it. Bottom halves off. Returns NULL without memory: then the
 * packets are lost.
 */
struct sk_buff *rhca_block_finish(struct rhca_block *block,
				  enum rhca_encap encap)
{
	unsigned int network = rhca_network_bytes(encap);
	bool small = block->segments == 1 && block->bytes <= SMALL_BYTES;
	struct sk_buff *skb;

	skb = alloc_skb(LL_MAX_HEADER + network + (small ? SMALL_BYTES : 0),
			GFP_ATOMIC);
	if (skb) {
		skb_reserve(skb, LL_MAX_HEADER);
		skb_reset_network_header(skb);
		skb_put_data(skb, block->network.hdr, network);
		skb_set_transport_header(skb, network - sizeof(struct udphdr));
		RHCA_PACKET_CB(skb)->psn = block->psn;
		RHCA_PACKET_CB(skb)->packets = block->segments;
		fill(skb, block, encap, small);
	} else {
		put_pieces(block);
	}
	block->segments = 0;
	block->bytes = 0;
	block->num_pieces = 0;
	block->closed = false;
	return skb;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_block_finish);
