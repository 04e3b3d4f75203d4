/* SPDX-License-Identifier: GPL-2.0 */
/* Requester: sends posted requests. */
#ifndef RHCA_SW_TX_REQUESTER_H
#define RHCA_SW_TX_REQUESTER_H

#include "sw/qp/qp.h"

void rhca_requester_run(struct rhca_sw_qp *qp, struct rhca_batch *batch);
bool rhca_requester_is_waiting(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_requester_empty(struct rhca_sw_qp *qp);
void rhca_requester_reset(struct rhca_sw_qp *qp);

#endif
