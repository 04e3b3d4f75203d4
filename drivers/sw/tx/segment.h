/* SPDX-License-Identifier: GPL-2.0 */
/* Packets of a send request. */
#ifndef RHCA_SW_TX_SEGMENT_H
#define RHCA_SW_TX_SEGMENT_H

#include "sw/packet/transmit.h"
#include "sw/qp/qp.h"

/* The next packet of a request */
struct rhca_segment {
	/* of the BTH */
	struct rhca_bth_fields fields;
	u32 payload_bytes;	/* payload */
	u32 message_bytes;	/* length in the RETH */
	u32 psns;		/* PSNs used: more than one for READ requests */
	u32 advance;		/* bytes of the request that it covers */
};

u8 rhca_segment_opcode(u32 wr_opcode, enum ib_qp_type type, bool first,
		       bool last);
void rhca_wqe_number(struct rhca_sw_qp *qp, struct rhca_send_wqe *wqe);
void rhca_segment_plan(struct rhca_sw_qp *qp, const struct rhca_send_wqe *wqe,
		       const struct rhca_path *path, struct rhca_segment *seg);
enum ib_wc_status rhca_segment_build(struct rhca_sw_qp *qp,
				     const struct rhca_send_wqe *wqe,
				     const struct rhca_segment *seg,
				     struct rhca_packet *packet,
				     struct rhca_tx_list *tx);

#endif
