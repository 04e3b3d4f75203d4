/* SPDX-License-Identifier: GPL-2.0 */
/* Scheduling of responders. */
#ifndef RHCA_SW_RX_RESPOND_TURN_H
#define RHCA_SW_RX_RESPOND_TURN_H

#include "sw/qp/qp.h"

extern const struct rhca_turn_ops rhca_respond_turn_ops;

void rhca_respond_init(struct rhca_sw_qp *qp);
void rhca_respond_exit(struct rhca_sw_qp *qp);
void rhca_responder_continue(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_respond_posted(struct rhca_verbs_qp *base);

#endif
