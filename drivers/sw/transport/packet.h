/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A packet out: headers, payload that is copied while its ICRC is computed, seal.
 */
#ifndef RHCA_SW_TRANSPORT_PACKET_H
#define RHCA_SW_TRANSPORT_PACKET_H

#include <linux/if_ether.h>
#include <linux/skbuff.h>

#include "core/ah.h"
#include "core/qp.h"
#include "wire/headers.h"
#include "wire/opcode.h"

/**
 * struct rhca_packet - A packet being built
 * @skb: network headers, BTH and extended headers; payload behind them
 * @qp: whose it is
 * @path: where it goes
 * @bth: the BTH in @skb
 * @psn: of the packet
 * @payload_bytes: that it will have
 * @udp_sport: UDP source port of RoCE v2
 * @vectors: the ICRC is computed in vector registers, which are ours from
 *	rhca_packet_protect() to rhca_packet_seal() or rhca_packet_drop()
 * @crc: the ICRC so far
 */
struct rhca_packet {
	struct sk_buff *skb;
	const struct rhca_qp *qp;
	struct rhca_path *path;
	struct rhca_bth *bth;
	u32 psn;
	u32 payload_bytes;
	u16 udp_sport;
	bool vectors;
	u32 crc;
};

/*
 * Control block of a packet until it enters the IP stack, which has the first
 * bytes of it for itself.
 */
struct rhca_packet_cb {
	u8 ip_stack[32];
	u8 dmac[ETH_ALEN];
	u8 priority;
	u8 lag_member;
	bool copy_to_self;
	u32 psn;
};

#define RHCA_PACKET_CB(skb)	((struct rhca_packet_cb *)(skb)->cb)

int rhca_packet_begin(struct rhca_packet *packet, const struct rhca_qp *qp,
		      struct rhca_path *path,
		      const struct rhca_bth_fields *fields,
		      unsigned int payload_bytes);
void rhca_packet_protect(struct rhca_packet *packet);
void rhca_packet_copy(struct rhca_packet *packet, const void *from,
		      unsigned int bytes);
void rhca_packet_seal(struct rhca_packet *packet);
void rhca_packet_drop(struct rhca_packet *packet);

/* An extended header of the packet, which its opcode must have */
static inline void *rhca_packet_header(const struct rhca_packet *packet,
				       enum rhca_header hdr)
{
	return (u8 *)packet->bth + rhca_header_offset(packet->bth->opcode, hdr);
}

#endif
