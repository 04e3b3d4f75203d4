/* SPDX-License-Identifier: GPL-2.0 */
/* Completion of receive requests. */
#ifndef RHCA_SW_RX_RECV_COMPLETION_H
#define RHCA_SW_RX_RECV_COMPLETION_H

#include "sw/packet/parse.h"
#include "sw/qp/qp.h"

void rhca_responder_fill_wc(const struct rhca_sw_qp *qp,
			    const struct rhca_rx *rx, struct ib_wc *wc);
void rhca_responder_complete(struct rhca_sw_qp *qp, struct ib_wc *wc,
			     bool solicited, struct rhca_batch *batch);
void rhca_responder_show(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_responder_flush(struct rhca_sw_qp *qp, struct rhca_batch *batch);

#endif
