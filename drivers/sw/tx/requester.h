/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requester: sends what has been posted.
 */
#ifndef RHCA_SW_TX_REQUESTER_H
#define RHCA_SW_TX_REQUESTER_H

#include "sw/qp/qp.h"

void rhca_requester_run(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_requester_rewind(struct rhca_sw_qp *qp, u32 psn);
void rhca_requester_repeat(struct rhca_sw_qp *qp, u32 psn, const char *cause);
void rhca_requester_congested(struct rhca_sw_qp *qp, u32 psn);
void rhca_requester_starved(struct rhca_sw_qp *qp);
void rhca_requester_reset(struct rhca_sw_qp *qp);
bool rhca_requester_goes_on(struct rhca_sw_qp *qp);

#endif
