/* SPDX-License-Identifier: GPL-2.0 */
/* Transmit packets: headers, payload copied while its ICRC is computed, seal. */
#ifndef RHCA_SW_PACKET_PACKET_H
#define RHCA_SW_PACKET_PACKET_H

#include <linux/skbuff.h>

#include "borrowed/skb_cb.h"
#include "sw/verbs/qp/path.h"
#include "sw/verbs/qp/qp.h"
#include "wire/crc32.h"
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

/* Network headers of packets of one size */
struct rhca_network {
	u8 hdr[RHCA_MAX_NETWORK_BYTES];	/* of one of them */
	bool has_icrc;			/* @icrc is known */
	struct rhca_icrc_flow icrc;	/* over those */
};

/* A packet being built */
struct rhca_packet {
	struct sk_buff *skb;	/* NULL for a segment of a block or a dropped packet */
	u8 *room;		/* memory of a segment of a block, BTH first; else NULL */
	u8 *network;		/* network headers, in @skb or of a segment */
	u8 *tail;		/* where to append payload */
	const struct rhca_verbs_qp *qp;
	struct rhca_path *path;
	struct rhca_bth *bth;
	u32 psn;
	u32 payload_bytes;	/* final number */
	u16 udp_sport;		/* UDP source port of RoCE v2 */
	u16 ip_id;		/* IPv4 identification */
	bool shared;		/* it goes into a shared block */
	/*
	 * Headers of an earlier packet of its block that differ only in the IPv4 identification, or
	 * NULL. If set, @network is filled in only when needed
	 */
	struct rhca_network *like;
	bool vectors;		/* from rhca_packet_protect() on: may use vector registers */
	u32 crc;		/* the ICRC so far */
	u8 segment_network[RHCA_MAX_NETWORK_BYTES];
};

int rhca_packet_begin(struct rhca_packet *packet, const struct rhca_verbs_qp *qp,
		      struct rhca_path *path,
		      const struct rhca_bth_fields *fields,
		      unsigned int payload_bytes);
bool rhca_packet_begin_segment(struct rhca_packet *packet,
			       const struct rhca_verbs_qp *qp, struct rhca_path *path,
			       const struct rhca_bth_fields *fields,
			       unsigned int payload_bytes);
u8 rhca_packet_ecn(const struct rhca_address *address, u8 opcode);
unsigned int rhca_packet_bytes(const struct rhca_packet *packet);
void rhca_packet_write_network(struct rhca_packet *packet, unsigned int bytes);
void rhca_packet_protect(struct rhca_packet *packet);
void rhca_packet_seal(struct rhca_packet *packet);
void rhca_packet_drop(struct rhca_packet *packet);
void rhca_packet_free(struct rhca_packet *packet);

/* An extended header of the packet, which its opcode must have */
static inline void *rhca_packet_header(const struct rhca_packet *packet,
				       enum rhca_header hdr)
{
	return (u8 *)packet->bth + rhca_header_offset(packet->bth->opcode, hdr);
}

/* Bytes of a segment, from the BTH to the end of the ICRC */
static inline unsigned int rhca_segment_bytes(const struct rhca_packet *packet)
{
	return packet->tail - packet->room;
}

/**
 * rhca_packet_copy - Append payload
 * @packet: after rhca_packet_protect()
 * @from: bytes that may change while they are copied
 * @bytes: their number; in total the packet's payload_bytes
 */
static inline void rhca_packet_copy(struct rhca_packet *packet, const void *from,
				    unsigned int bytes)
{
	packet->crc = rhca_crc32_copy(packet->vectors, packet->crc, packet->tail, from, bytes);
	packet->tail += bytes;
}

#endif
