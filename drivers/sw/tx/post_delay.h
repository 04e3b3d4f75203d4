/* SPDX-License-Identifier: GPL-2.0 */
/* May a posted request wait for others? */
#ifndef RHCA_SW_TX_POST_DELAY_H
#define RHCA_SW_TX_POST_DELAY_H

#include "sw/qp/qp.h"

extern unsigned int rhca_doorbell_gap_ns;

enum rhca_kick_how rhca_post_delay_how(struct rhca_sw_qp *qp);
void rhca_post_delay_sent(struct rhca_sw_qp *qp);
void rhca_post_delay_queued(struct rhca_sw_qp *qp);

#endif
