// SPDX-License-Identifier: GPL-2.0
/* Parses received packets. Nothing in them is trusted: lengths first, then headers. */
#include <linux/skbuff.h>
#include <linux/string.h>
#include <rhca/compat.h>

#include "sw/packet/parse.h"
#include "wire/crc32.h"
#include "wire/icrc.h"

/**
 * rhca_rx_find_piece - Find bytes of a packet that are contiguous
 * @skb: the packet
 * @offset: first byte, from skb->data
 * @bytes: how many
 *
 * Return: the first byte, or NULL.
 */
const u8 *rhca_rx_find_piece(const struct sk_buff *skb, unsigned int offset,
			     unsigned int bytes)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	const skb_frag_t *frag;
	unsigned int here, i;

	if (offset + bytes <= skb_headlen(skb))
		return skb->data + offset;
	if (offset < skb_headlen(skb))
		return NULL;
	offset -= skb_headlen(skb);
	for (i = 0; i < shared->nr_frags; i++) {
		frag = &shared->frags[i];
		here = skb_frag_size(frag);
		if (!skb_frag_page(frag))	/* device memory */
			return NULL;
		if (offset + bytes <= here)
			return PageHighMem(skb_frag_page(frag)) ? NULL :
				skb_frag_address(frag) + offset;
		if (offset < here)
			return NULL;
		offset -= here;
	}
	return NULL;
}

/* Bytes from the BTH to the end of the ICRC; for v1 as in the GRH */
static unsigned int ib_bytes_of(const struct sk_buff *skb,
				enum rhca_encap encap, const u8 *network)
{
	const struct ib_grh *grh = (const struct ib_grh *)network;

	if (encap == RHCA_V1)	/* Ethernet may have padded the frame */
		return min_t(unsigned int, be16_to_cpu(grh->paylen),
			     skb->len - RHCA_GRH_BYTES);
	return skb->len - rhca_network_bytes(encap);
}

/**
 * rhca_rx_parse_transport - Parse opcode and lengths from the BTH
 * @rx: with BTH and its offset; the rest of the transport part is filled in
 * @ib_bytes: bytes from the BTH to the end of the ICRC
 *
 * Return: RHCA_PARSE_OK, or what is wrong with it.
 */
enum rhca_parse rhca_rx_parse_transport(struct rhca_rx *rx,
					unsigned int ib_bytes)
{
	unsigned int transport, pad;

	rx->opcode = rx->bth->opcode;
	rx->flags = rhca_opcode_flags(rx->opcode);
	if (!rx->flags || rhca_bth_version(rx->bth))
		return RHCA_PARSE_BAD_OPCODE;
	transport = rhca_transport_bytes(rx->opcode);
	pad = rhca_bth_pad(rx->bth);
	if (ib_bytes < transport + RHCA_ICRC_BYTES)
		return RHCA_PARSE_TRUNCATED;
	if ((ib_bytes & 3) || ib_bytes < transport + pad + RHCA_ICRC_BYTES)
		return RHCA_PARSE_BAD_LENGTH;
	rx->psn = rhca_bth_psn(rx->bth);
	rx->in_place = false;
	rx->payload_offset = rx->bth_offset + transport;
	rx->payload_bytes = ib_bytes - transport - pad - RHCA_ICRC_BYTES;
	rx->icrc_offset = rx->bth_offset + ib_bytes - RHCA_ICRC_BYTES;
	if (!(rx->flags & RHCA_OP_PAYLOAD) && (rx->payload_bytes || pad))
		return RHCA_PARSE_BAD_LENGTH;
	return RHCA_PARSE_OK;
}

/**
 * rhca_rx_parse - Parse a packet
 * @rx: filled in, except the port
 * @skb: the packet; skb->data at the network header, of a length not checked by any other layer
 * @encap: its framing
 *
 * Return: RHCA_PARSE_OK, or what is wrong with it.
 */
enum rhca_parse rhca_rx_parse(struct rhca_rx *rx, struct sk_buff *skb,
			      enum rhca_encap encap)
{
	unsigned int network = rhca_network_bytes(encap);
	unsigned int bth_end = network + sizeof(struct rhca_bth);
	enum rhca_parse parse;
	unsigned int ib_bytes;

	rx->skb = skb;
	rx->has_network_crc = false;
	rx->admitted_by = NULL;
	rx->bth_offset = network;
	if (skb->len < bth_end + RHCA_ICRC_BYTES)
		return RHCA_PARSE_TRUNCATED;
	rx->network = skb_header_pointer(skb, 0, bth_end, rx->copy);
	if (!rx->network)
		return RHCA_PARSE_TRUNCATED;
	ib_bytes = ib_bytes_of(skb, encap, rx->network);
	if (!rhca_network_valid(encap, rx->network, ib_bytes))
		return RHCA_PARSE_BAD_LENGTH;

	rx->bth = (const struct rhca_bth *)(rx->network + network);
	parse = rhca_rx_parse_transport(rx, ib_bytes);
	if (parse != RHCA_PARSE_OK)
		return parse;
	rx->network = skb_header_pointer(skb, 0, rx->payload_offset, rx->copy);
	if (!rx->network)
		return RHCA_PARSE_TRUNCATED;
	rx->bth = (const struct rhca_bth *)(rx->network + network);
	rx->piece = rhca_rx_find_piece(skb, network, ib_bytes);
	rhca_network_parse(encap, rx->network, &rx->flow);
	return RHCA_PARSE_OK;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_parse);

/* Header bytes after the BTH if the packet has only headers */
static unsigned int extended_header_bytes(const struct rhca_rx *rx)
{
	return rx->payload_offset == rx->icrc_offset ?
		rx->payload_offset - rx->bth_offset - sizeof(struct rhca_bth) : 0;
}

static u32 crc_of_all(bool vectors, const struct rhca_rx *rx)
{
	unsigned int behind = extended_header_bytes(rx);
	unsigned int from = rx->bth_offset + sizeof(struct rhca_bth) + behind;
	unsigned int bytes = rx->icrc_offset - from;
	u32 crc;

	crc = rhca_icrc_begin(vectors, rx->flow.encap, rx->network, rx->bth,
			      behind);
	if (!rx->piece)
		return rhca_icrc_skb(vectors, crc, rx->skb, from, bytes);
	return rhca_crc32(vectors, crc, rx->piece + from - rx->bth_offset,
			  bytes);
}

/**
 * rhca_rx_icrc_ok - Is the invariant CRC right?
 * @rx: a parsed packet
 */
bool rhca_rx_icrc_ok(const struct rhca_rx *rx)
{
	unsigned int end = rx->icrc_offset;
	const void *in_packet;
	__le32 icrc, buffer;
	bool vectors;
	u32 crc;

	KUNIT_STATIC_STUB_REDIRECT(rhca_rx_icrc_ok, rx);
	if (rx->piece)
		in_packet = rx->piece + end - rx->bth_offset;
	else
		in_packet = skb_header_pointer(rx->skb, end, sizeof(buffer),
					       &buffer);
	if (!in_packet)
		return false;
	vectors = rhca_crc32_begin(end - rx->bth_offset);
	if (rx->piece && rx->has_network_crc)
		crc = rhca_icrc_transport(vectors, rx->network_crc, rx->piece,
					  end - rx->bth_offset);
	else
		crc = crc_of_all(vectors, rx);
	rhca_crc32_end(vectors);
	icrc = rhca_icrc_final(crc);
	memcpy(&buffer, in_packet, sizeof(buffer));
	return buffer == icrc;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rx_icrc_ok);
