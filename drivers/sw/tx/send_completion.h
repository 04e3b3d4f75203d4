/* SPDX-License-Identifier: GPL-2.0 */
/* Completion of send requests. */
#ifndef RHCA_SW_TX_SEND_COMPLETION_H
#define RHCA_SW_TX_SEND_COMPLETION_H

#include "sw/qp/qp.h"

void rhca_requester_fail(struct rhca_sw_qp *qp, enum ib_wc_status status,
			 struct rhca_batch *batch);
void rhca_requester_flush(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_requester_retire(struct rhca_sw_qp *qp, struct rhca_batch *batch);

#endif
