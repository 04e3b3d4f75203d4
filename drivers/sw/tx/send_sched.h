/* SPDX-License-Identifier: GPL-2.0 */
/* Scheduling of requesters: kicks start turns. */
#ifndef RHCA_SW_TX_SEND_SCHED_H
#define RHCA_SW_TX_SEND_SCHED_H

#include "sw/qp/qp.h"

extern const struct rhca_turn_ops rhca_send_turn_ops;

void rhca_send_kick(struct rhca_sw_qp *qp, enum rhca_kick reason,
		    struct rhca_batch *batch);
void rhca_send_kick_locked(struct rhca_sw_qp *qp, enum rhca_kick reason,
			   struct rhca_batch *batch);
void rhca_send_posted(struct rhca_verbs_qp *base);
void rhca_pause_send(struct rhca_sw_qp *qp, enum rhca_pause pause, u64 delay_ns);

#endif
