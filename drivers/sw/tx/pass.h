/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Passes through one half of a QP.
 */
#ifndef RHCA_SW_TX_PASS_H
#define RHCA_SW_TX_PASS_H

#include "sw/qp/qp.h"

void rhca_pass_init(struct rhca_sw_qp *qp);
void rhca_pass_stop(struct rhca_sw_qp *qp);
void rhca_pass_send(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_pass_kick_send(struct rhca_verbs_qp *base);
void rhca_pass_kick_recv(struct rhca_verbs_qp *base);

#endif
