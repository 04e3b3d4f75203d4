// SPDX-License-Identifier: GPL-2.0
/*
 * Iterates over packets that arrived together: the segments of a block, whose network headers have
 * not been checked yet, or a list of skbs from a driver's NAPI poll.
 */
#include <linux/ip.h>
#include <rhca/compat.h>

#include "sw/rx/rx_batch.h"
#include "sw/packet/block.h"
#include "sw/rx/admit.h"
#include "wire/crc32.h"
#include "wire/psn.h"

/* --- beginning -------------------------------------------------------------- */

/*
 * As many as GRO merges and as our blocks have. A process with a packet socket, or a guest, chooses
 * the segment size: it must not decide how long the softirq is busy.
 */
#define MAX_SEGMENTS	RHCA_BLOCK_PACKETS

static bool is_block(const struct sk_buff *skb, enum rhca_encap encap)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	unsigned int network = rhca_network_bytes(encap);

	return encap != RHCA_V1 && (shared->gso_type & SKB_GSO_UDP_L4) &&
	       !(shared->gso_type & SKB_GSO_FRAGLIST) && skb->len > network &&
	       shared->gso_size >= sizeof(struct rhca_bth) + RHCA_ICRC_BYTES &&
	       skb->len - network <= MAX_SEGMENTS * shared->gso_size;
}

static void begin(struct rhca_rx_batch *walk)
{
	walk->counters = NULL;
	walk->packets = 0;
	walk->bytes = 0;
	walk->copies = 0;
	walk->parsed = false;
	memset(walk->ahead, 0, sizeof(walk->ahead));
	rhca_shared_begin(&walk->answers);
}

/*
 * Start before the first segment of a block, which the caller keeps. @skb: data at the network
 * header. Returns false if it is no block.
 */
bool rhca_rx_batch_begin_block(struct rhca_rx_batch *walk, struct sk_buff *skb,
			       enum rhca_encap encap)
{
	unsigned int network = rhca_network_bytes(encap);

	if (!is_block(skb, encap) ||
	    skb_copy_bits(skb, 0, walk->network, network) ||
	    !rhca_network_valid(encap, walk->network, skb->len - network))
		return false;
	walk->skb = skb;
	walk->rx.skb = skb;
	walk->behind = NULL;
	walk->encap = encap;
	walk->next = network;
	walk->copied = 0;
	walk->id_rule = 0;
	walk->lost = 0;
	walk->damaged = 0;
	begin(walk);
	walk->rx.ifindex = rhca_rx_ifindex(skb, encap);
	rhca_network_parse(encap, walk->network, &walk->rx.flow);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_batch_begin_block);

/*
 * Start before the first packet of a list without blocks. Advancing frees the previous packet; the
 * caller frees the last one, in @walk->skb.
 */
void rhca_rx_batch_begin_list(struct rhca_rx_batch *walk, struct list_head *list,
			      enum rhca_encap encap)
{
	walk->skb = NULL;
	walk->behind = list;
	walk->encap = encap;
	begin(walk);
}

/* --- advancing -------------------------------------------------------------- */

/* Copy the BTH and the extended headers, whose length only the BTH tells */
static bool copy_transport(const struct rhca_rx_batch *walk, u8 *to,
			   unsigned int bytes)
{
	const struct rhca_bth *bth = (const struct rhca_bth *)to;
	const u8 *piece = walk->rx.piece;
	unsigned int more;

	if (piece)
		memcpy(to, piece, sizeof(*bth));
	else if (skb_copy_bits(walk->skb, walk->next, to, sizeof(*bth)))
		return false;
	more = min(rhca_transport_bytes(bth->opcode), bytes) - sizeof(*bth);
	to += sizeof(*bth);
	if (!piece)
		return !more || !skb_copy_bits(walk->skb,
					       walk->next + sizeof(*bth), to,
					       more);
	piece += sizeof(*bth);
	for (; more >= sizeof(u32); more -= sizeof(u32)) {
		memcpy(to, piece, sizeof(u32));		/* inlined */
		to += sizeof(u32);
		piece += sizeof(u32);
	}
	if (more)	/* truncated in a header */
		memcpy(to, piece, more);
	return true;
}

/* Network headers for a segment of this size, with another one's IPv4 identification */
static void copy_network(struct rhca_rx_batch *walk, unsigned int bytes)
{
	memcpy(walk->rx.copy, walk->network, sizeof(walk->network));
	rhca_network_resize(walk->encap, walk->rx.copy, bytes);
	walk->copied = bytes;
	walk->rx.has_network_crc = false;
}

/* Caching the start of the ICRC pays from the second segment of a size on */
static void begin_icrc(struct rhca_rx_batch *walk)
{
	struct rhca_rx *rx = &walk->rx;
	bool vectors;

	if (rx->has_network_crc)
		return;
	vectors = rhca_crc32_begin(rhca_network_bytes(walk->encap));
	rhca_icrc_flow_begin(vectors, walk->encap, rx->copy, &walk->icrc);
	rhca_crc32_end(vectors);
	rx->network_crc = walk->icrc.crc;
	rx->has_network_crc = true;
}

/* Restore the headers the segment has on its own, which its ICRC covers */
static enum rhca_parse parse_segment(struct rhca_rx_batch *walk,
				     unsigned int bytes)
{
	unsigned int network = rhca_network_bytes(walk->encap);
	struct rhca_rx *rx = &walk->rx;

	rx->network = rx->copy;
	rx->bth_offset = walk->next;
	rx->piece = rhca_rx_find_piece(walk->skb, walk->next, bytes);
	if (walk->copied != bytes)
		copy_network(walk, bytes);
	else
		begin_icrc(walk);
	rx->bth = (const struct rhca_bth *)(rx->copy + network);
	if (bytes < sizeof(struct rhca_bth) + RHCA_ICRC_BYTES ||
	    !copy_transport(walk, rx->copy + network, bytes))
		return RHCA_PARSE_TRUNCATED;
	if (!walk->place)
		walk->first_psn = rhca_bth_psn(rx->bth);
	return rhca_rx_parse_transport(rx, bytes);
}

static bool next_segment(struct rhca_rx_batch *walk)
{
	unsigned int size = skb_shinfo(walk->skb)->gso_size;
	enum rhca_parse fault;
	unsigned int bytes;

	while (walk->next < walk->skb->len) {
		bytes = min(size, walk->skb->len - walk->next);
		walk->place = (walk->next -
			       rhca_network_bytes(walk->encap)) / size;
		fault = parse_segment(walk, bytes);
		walk->next += bytes;
		if (fault == RHCA_PARSE_OK)
			return true;
		rhca_rx_count_fault(&walk->rx, &walk->rx.flow, fault);
	}
	return false;
}

static bool next_in_list(struct rhca_rx_batch *walk)
{
	enum rhca_parse fault;

	while (!list_empty(walk->behind)) {
		consume_skb(walk->skb);
		walk->skb = list_first_entry(walk->behind, struct sk_buff, list);
		skb_list_del_init(walk->skb);
		fault = rhca_rx_parse(&walk->rx, walk->skb, walk->encap);
		walk->rx.ifindex = rhca_rx_ifindex(walk->skb, walk->encap);
		if (fault == RHCA_PARSE_OK)
			return true;
		rhca_rx_count_malformed(&walk->rx, walk->encap, fault);
	}
	return false;
}

/* Advance to the next valid packet and count others. False at the end. RCU read side */
bool rhca_rx_batch_next(struct rhca_rx_batch *walk)
{
	walk->parsed = walk->behind ? next_in_list(walk) : next_segment(walk);
	return walk->parsed;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_batch_next);

/* --- looking ahead ---------------------------------------------------------- */

/* Destination QPN of the packet @distance places ahead; 0 if there is none */
static u32 peek(const struct rhca_rx_batch *walk, unsigned int distance)
{
	unsigned int size = skb_shinfo(walk->skb)->gso_size;
	const u8 *piece;

	piece = rhca_rx_find_piece(walk->skb, walk->next + (distance - 1) * size,
				   sizeof(struct rhca_bth));
	return piece ? rhca_bth_dest_qpn((const struct rhca_bth *)piece) : 0;
}

static struct rhca_qp_ahead *ahead_at(struct rhca_rx_batch *walk,
				      unsigned int distance)
{
	return &walk->ahead[(walk->place + distance) % RHCA_WALK_AHEAD];
}

/*
 * Prefetch the QPs of the next packets, which are not cached if many QPs are in use: first the
 * handle, one packet later the QP. The QP of the current packet has been looked up. RCU read side.
 */
void rhca_rx_batch_look_ahead(struct rhca_rx_batch *walk)
{
	u32 number = rhca_bth_dest_qpn(walk->rx.bth);
	struct rhca_qp_ahead *next, *far;

	if (walk->behind)
		return;
	next = ahead_at(walk, 1);
	far = ahead_at(walk, 2);
	if (next->handle)
		rhca_prefetch_qp(next->handle->qp,
				 walk->rx.flags & RHCA_OP_RESPONSE);
	far->number = peek(walk, 2);
	far->handle = NULL;
	if (far->number == number || far->number == next->number)
		return;
	far->handle = rhca_qp_find_handle(far->number);
	prefetchw(far->handle);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_batch_look_ahead);

/* The handle of the packet's destination QP, or NULL. RCU read side */
struct rhca_qp_handle *rhca_rx_batch_find_handle(struct rhca_rx_batch *walk)
{
	u32 number = rhca_bth_dest_qpn(walk->rx.bth);
	const struct rhca_qp_ahead *ahead;

	if (walk->behind)
		return rhca_qp_find_handle(number);
	ahead = ahead_at(walk, 0);
	return ahead->handle && ahead->number == number ?
		ahead->handle : rhca_qp_find_handle(number);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_batch_find_handle);

/* --- IPv4 identifications --------------------------------------------------- */

/*
 * How to restore the IPv4 identification of a segment, which its ICRC covers. Segmentation
 * increments it from the first one. GRO also keeps only the first, but merges packets with a
 * constant identification too, and before 6.10 packets with lost ones in between and blocks that
 * follow each other: the PSN tells how many if all are of one QP, otherwise nothing does.
 */
enum id_rule { ID_BY_PLACE, ID_BY_PSN, ID_CONSTANT, NUM_ID_RULES };

/*
 * Most lost packets to try for. Each try costs another ICRC of a damaged packet; after more losses
 * the QPs retransmit what follows.
 */
#define MAX_LOST	4

/*
 * Damaged packets of a block before the search stops: a sender of blocks with wrong ICRCs then
 * costs one ICRC per packet instead of seven.
 */
#define MAX_DAMAGED	2

static bool has_ids(const struct rhca_rx_batch *walk)
{
	return !walk->behind && walk->encap == RHCA_V2_IPV4;
}

static void set_id(struct rhca_rx_batch *walk, enum id_rule rule)
{
	const struct iphdr *first = (const struct iphdr *)walk->network;
	struct iphdr *ip = (struct iphdr *)walk->rx.copy;

	ip->id = first->id;
	if (rule == ID_BY_PLACE)
		be16_add_cpu(&ip->id, walk->place + walk->lost);
	else if (rule == ID_BY_PSN)
		be16_add_cpu(&ip->id, rhca_psn_diff(walk->rx.psn,
						    walk->first_psn));
	if (walk->rx.has_network_crc)
		walk->rx.network_crc =
			rhca_icrc_flow_crc(&walk->icrc, be16_to_cpu(ip->id));
}

/* Use the rule of the previous segment; rhca_rx_batch_intact() tries others */
void rhca_rx_batch_guess_id(struct rhca_rx_batch *walk)
{
	if (has_ids(walk))
		set_id(walk, walk->id_rule);
}

static bool intact_by_rule(struct rhca_rx_batch *walk)
{
	unsigned int i, rule;

	for (i = 0; i < NUM_ID_RULES; i++) {
		rule = (walk->id_rule + i) % NUM_ID_RULES;
		set_id(walk, rule);
		if (rhca_rx_icrc_ok(&walk->rx)) {
			walk->id_rule = rule;
			/* Another block of READ requests may begin here: count on from its id */
			if (rule == ID_BY_PSN)
				walk->lost = rhca_psn_diff(walk->rx.psn, walk->first_psn) -
					     walk->place;
			return true;
		}
	}
	return false;
}

static bool intact_after_loss(struct rhca_rx_batch *walk)
{
	unsigned int before = walk->lost, i;

	for (i = 0; walk->place && i < MAX_LOST; i++) {
		walk->lost++;
		set_id(walk, ID_BY_PLACE);
		if (rhca_rx_icrc_ok(&walk->rx)) {
			walk->id_rule = ID_BY_PLACE;
			return true;
		}
	}
	walk->lost = before;
	return false;
}

/*
 * Is the ICRC correct by one of the rules, or by the first with some packets lost before it? After
 * MAX_DAMAGED wrong ones, counted in @c, only the rule of the previous packet is tried.
 */
bool rhca_rx_batch_intact(struct rhca_rx_batch *walk, struct rhca_counters __percpu *c)
{
	if (!has_ids(walk))
		return rhca_rx_intact(&walk->rx, c);
	if (walk->damaged >= MAX_DAMAGED) {
		set_id(walk, walk->id_rule);
		return rhca_rx_intact(&walk->rx, c);
	}
	if (intact_by_rule(walk) || intact_after_loss(walk))
		return true;
	walk->damaged++;
	rhca_counter_inc(c, RHCA_RX_ICRC_ENCAPSULATED);
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_batch_intact);
