/* SPDX-License-Identifier: GPL-2.0 */
/* Packets of a send request. */
#ifndef RHCA_SW_TX_SEGMENT_H
#define RHCA_SW_TX_SEGMENT_H

#include "sw/packet/transmit.h"
#include "sw/qp/qp.h"

/**
 * struct rhca_segment - The next packet of a request
 * @fields: of the BTH
 * @payload_bytes: payload
 * @message_bytes: length that a RETH names
 * @psns: PSNs that it takes: more than one for READ requests
 * @advance: bytes of the request that it covers
 */
struct rhca_segment {
	struct rhca_bth_fields fields;
	u32 payload_bytes;
	u32 message_bytes;
	u32 psns;
	u32 advance;
};

u8 rhca_segment_opcode(u32 wr_opcode, enum ib_qp_type type, bool first,
		       bool last);
void rhca_wqe_number(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe);
void rhca_segment_plan(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		       struct rhca_segment *seg);
enum ib_wc_status rhca_segment_build(struct rhca_sw_qp *qp,
				     const struct rhca_send_wqe *wqe,
				     const struct rhca_segment *seg,
				     struct rhca_packet *packet,
				     struct rhca_tx_list *tx);

#endif
