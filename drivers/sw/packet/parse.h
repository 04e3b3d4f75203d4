/* SPDX-License-Identifier: GPL-2.0 */
/* A received packet after parsing. */
#ifndef RHCA_SW_PACKET_PARSE_H
#define RHCA_SW_PACKET_PARSE_H

#include <linux/skbuff.h>

#include "core/port/port.h"
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/opcode.h"

struct rhca_path;

#define RHCA_MAX_HEADER_BYTES	(RHCA_MAX_NETWORK_BYTES + RHCA_MAX_HDR_BYTES)

/* A received packet. Offsets are from skb->data */
struct rhca_rx {
	struct sk_buff *skb;		/* data at the network header; for a block the whole one */
	const u8 *network;	/* all headers, in the packet or in @copy */
	const struct rhca_bth *bth;	/* inside @network */
	/*
	 * BTH to the end of the ICRC in the skb if contiguous, else NULL. Unlike @bth, which may be
	 * a copy, this may change meanwhile
	 */
	const u8 *piece;
	bool has_network_crc;
	u32 network_crc;	/* over the network headers, if an earlier packet had the same */
	struct rhca_flow flow;		/* from the network header */
	u8 opcode;
	u16 flags;			/* RHCA_OP_* of the opcode */
	u32 psn;
	unsigned int bth_offset;
	unsigned int payload_offset;
	unsigned int payload_bytes;	/* without padding */
	unsigned int icrc_offset;	/* as checked, even if a local sender changes the packet */
	bool in_place;		/* its payload is already copied, see early_copy.c */
	/* Path that admitted it, or earlier packets of its block, to a connected QP, or NULL */
	const struct rhca_path *admitted_by;
	struct rhca_port *port;		/* port that received it */
	int ifindex;		/* netdev it arrived on, even if enslaved to a VRF */
	u16 pkey_index;		/* matching entry of the port's table; QP1 only, else 0 */
	u16 gid_index;		/* of the destination in the port's table; QP1 only */
	u8 copy[RHCA_MAX_HEADER_BYTES] __aligned(8);	/* headers that were not contiguous */
};

/* What is wrong with a packet */
enum rhca_parse {
	RHCA_PARSE_OK,		/* nothing */
	RHCA_PARSE_TRUNCATED,	/* shorter than its headers */
	RHCA_PARSE_BAD_OPCODE,	/* unsupported opcode or transport version */
	RHCA_PARSE_BAD_LENGTH,	/* inconsistent lengths or padding */
};

enum rhca_parse rhca_rx_parse(struct rhca_rx *rx, struct sk_buff *skb,
			      enum rhca_encap encap);
enum rhca_parse rhca_rx_parse_transport(struct rhca_rx *rx,
					unsigned int ib_bytes);
const u8 *rhca_rx_find_piece(const struct sk_buff *skb, unsigned int offset,
			     unsigned int bytes);
bool rhca_rx_icrc_ok(const struct rhca_rx *rx);

/* Payload, padding and ICRC if contiguous, or NULL */
static inline const u8 *rhca_rx_payload(const struct rhca_rx *rx)
{
	return rx->piece ? rx->piece + rx->payload_offset - rx->bth_offset :
			   NULL;
}

/* An extended header of the packet, which its opcode must have */
static inline const void *rhca_rx_header(const struct rhca_rx *rx,
					 enum rhca_header hdr)
{
	return (const u8 *)rx->bth + rhca_header_offset(rx->opcode, hdr);
}

#endif
