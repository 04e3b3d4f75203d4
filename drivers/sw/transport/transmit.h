/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets out: allocate, fill, seal with the ICRC, and send in trains.
 */
#ifndef RHCA_SW_TRANSPORT_TRANSMIT_H
#define RHCA_SW_TRANSPORT_TRANSMIT_H

#include <linux/skbuff.h>

#include "core/ah.h"
#include "core/qp.h"
#include "wire/headers.h"
#include "wire/opcode.h"

#define RHCA_COPY_BYTES		256	/* payloads up to this are copied */

/**
 * struct rhca_packet - A packet being built
 * @skb: network headers, BTH and extended headers; payload behind them
 * @qp: whose it is
 * @path: where it goes; its network headers are filled by rhca_packet_seal()
 * @bth: the BTH in @skb
 * @udp_sport: UDP source port of RoCE v2
 */
struct rhca_packet {
	struct sk_buff *skb;
	const struct rhca_qp *qp;
	struct rhca_path *path;
	struct rhca_bth *bth;
	u16 udp_sport;
};

/**
 * struct rhca_train - Packets to one destination that leave together
 * @qp: whose they are
 * @path: the destination; NULL only as long as there is no packet
 * @packets: in order
 * @refused: a packet was refused by the local queue; it and what came behind it
 *	in the train were dropped
 * @refused_psn: PSN of that packet
 */
struct rhca_train {
	const struct rhca_qp *qp;
	struct rhca_path *path;
	struct sk_buff_head packets;
	bool refused;
	u32 refused_psn;
};

#define RHCA_TRAIN_PACKETS	16

int rhca_packet_begin(struct rhca_packet *packet, const struct rhca_qp *qp,
		      struct rhca_path *path,
		      const struct rhca_bth_fields *fields,
		      unsigned int copied_bytes);
void rhca_packet_seal(struct rhca_packet *packet, u32 psn);
void rhca_train_begin(struct rhca_train *train, const struct rhca_qp *qp,
		      struct rhca_path *path);
void rhca_train_add(struct rhca_train *train, struct rhca_packet *packet);
void rhca_train_send(struct rhca_train *train);
void rhca_transmit_recall(struct net *net);

/* An extended header of the packet, which its opcode must have */
static inline void *rhca_packet_header(const struct rhca_packet *packet,
				       enum rhca_header hdr)
{
	return (u8 *)packet->bth + rhca_header_offset(packet->bth->opcode, hdr);
}

#endif
