/* SPDX-License-Identifier: GPL-2.0 */
/* A packet that is being received, taken apart. */
#ifndef RHCA_SW_PACKET_PARSE_H
#define RHCA_SW_PACKET_PARSE_H

#include <linux/skbuff.h>

#include "core/port/port.h"
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/opcode.h"

struct rhca_verbs_qp;

#define RHCA_MAX_HEADER_BYTES	(RHCA_MAX_NETWORK_BYTES + RHCA_MAX_HDR_BYTES)

/**
 * struct rhca_rx - A packet that is being received
 * @skb: the packet; skb->data is at the network header. Of a block, all of it
 * @network: network header, with everything up to the payload behind it; lies in
 *	the packet or in @copy
 * @bth: inside @network
 * @piece: from the BTH to the end of the ICRC, where these lie in one piece in the
 *	packet; else NULL. Unlike @bth, which may be a copy, it may change meanwhile
 * @has_network_crc: @network_crc is known
 * @network_crc: ICRC over the network headers, where packets before it have told
 * @flow: addresses and classes from the network header
 * @opcode: of the BTH
 * @flags: RHCA_OP_* of the opcode
 * @psn: of the BTH
 * @bth_offset: first byte of the BTH, from skb->data
 * @payload_offset: first byte of the payload, from skb->data
 * @payload_bytes: without padding
 * @icrc_offset: first byte of the ICRC, from skb->data: as checked, whatever a sender
 *	on this host has made of the packet since
 * @in_place: its payload has been copied to where it belongs, see early_copy.c
 * @admitted_to: connected QP that it is known to have come to by the right way, as
 *	the others of its block before it; or NULL
 * @port: the port it came to
 * @ifindex: netdev that it arrived by, in its namespace; of a packet that a VRF
 *	has taken, the one below
 * @pkey_index: the entry of the port's table that let it in; QP1 only, else 0
 * @vlan_id: of the destination GID's netdev, RHCA_NO_VLAN without; QP1 only
 * @copy: headers that did not lie in one piece
 */
struct rhca_rx {
	struct sk_buff *skb;
	const u8 *network;
	const struct rhca_bth *bth;
	const u8 *piece;
	bool has_network_crc;
	u32 network_crc;
	struct rhca_flow flow;
	u8 opcode;
	u16 flags;
	u32 psn;
	unsigned int bth_offset;
	unsigned int payload_offset;
	unsigned int payload_bytes;
	unsigned int icrc_offset;
	bool in_place;
	const struct rhca_verbs_qp *admitted_to;
	struct rhca_port *port;
	int ifindex;
	u16 pkey_index;
	u16 vlan_id;
	u8 copy[RHCA_MAX_HEADER_BYTES] __aligned(8);
};

/**
 * enum rhca_parse - What is wrong with a packet
 * @RHCA_PARSE_OK: nothing
 * @RHCA_PARSE_TRUNCATED: shorter than its headers
 * @RHCA_PARSE_BAD_OPCODE: an opcode or transport version that is not spoken
 * @RHCA_PARSE_BAD_LENGTH: lengths or padding that contradict each other
 */
enum rhca_parse {
	RHCA_PARSE_OK,
	RHCA_PARSE_TRUNCATED,
	RHCA_PARSE_BAD_OPCODE,
	RHCA_PARSE_BAD_LENGTH,
};

enum rhca_parse rhca_rx_parse(struct rhca_rx *rx, struct sk_buff *skb,
			      enum rhca_encap encap);
enum rhca_parse rhca_rx_parse_transport(struct rhca_rx *rx,
					unsigned int ib_bytes);
const u8 *rhca_rx_find_piece(const struct sk_buff *skb, unsigned int offset,
			     unsigned int bytes);
bool rhca_rx_icrc_ok(const struct rhca_rx *rx);

/* Payload, padding and ICRC where they lie in one piece, or NULL */
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
