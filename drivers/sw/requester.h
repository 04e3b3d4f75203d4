/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requester: turns send requests into packets.
 */
#ifndef RHCA_SW_REQUESTER_H
#define RHCA_SW_REQUESTER_H

#include "sw/qp.h"

void rhca_requester_run(struct rhca_sw_qp *qp, struct rhca_run *run);
void rhca_requester_rewind(struct rhca_sw_qp *qp, u32 psn);
void rhca_requester_fail(struct rhca_sw_qp *qp, enum ib_wc_status status,
			 struct rhca_run *run);
void rhca_requester_flush(struct rhca_sw_qp *qp, struct rhca_run *run);
void rhca_requester_retire(struct rhca_sw_qp *qp, struct rhca_run *run);
void rhca_requester_reset(struct rhca_sw_qp *qp);
bool rhca_wqe_is_read(const struct rhca_send_wqe *wqe);
u8 rhca_segment_opcode(u32 wr_opcode, enum ib_qp_type type, bool first,
		       bool last);

/* Is the next request, or part of it, still unsent? */
static inline u32 rhca_requester_sent_end(const struct rhca_requester *send)
{
	return send->next + (send->next_offset ? 1 : 0);
}

#endif
