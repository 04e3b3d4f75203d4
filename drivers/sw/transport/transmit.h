/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets out, in trains.
 */
#ifndef RHCA_SW_TRANSPORT_TRANSMIT_H
#define RHCA_SW_TRANSPORT_TRANSMIT_H

#include <linux/skbuff.h>

#include "sw/transport/block.h"
#include "sw/transport/packet.h"

/**
 * struct rhca_train - Packets to one destination that leave together
 * @qp: whose they are
 * @path: the destination; NULL only as long as there is no packet
 * @packets: in order
 * @block: behind them
 * @backoff: keeps packets out of blocks after a loss; NULL without
 * @asked: it is known whether blocks may be used
 * @blocks: they may
 * @refused: a packet was refused by the local queue; it and what came behind it
 *	in the train were dropped
 * @refused_psn: PSN of that packet
 */
struct rhca_train {
	const struct rhca_verbs_qp *qp;
	struct rhca_path *path;
	struct sk_buff_head packets;
	struct rhca_block block;
	struct rhca_block_backoff *backoff;
	bool asked;
	bool blocks;
	bool refused;
	u32 refused_psn;
};

#define RHCA_TRAIN_PACKETS	16

void rhca_train_begin(struct rhca_train *train, const struct rhca_verbs_qp *qp,
		      struct rhca_path *path,
		      struct rhca_block_backoff *backoff);
void rhca_train_set_path(struct rhca_train *train, struct rhca_path *path);
int rhca_train_begin_packet(struct rhca_train *train,
			    struct rhca_packet *packet,
			    const struct rhca_bth_fields *fields,
			    unsigned int payload_bytes, bool more);
void rhca_train_add(struct rhca_train *train, struct rhca_packet *packet);
void rhca_train_send(struct rhca_train *train);

#endif
