/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_TX_ACK_TIMEOUT_H
#define RHCA_SW_TX_ACK_TIMEOUT_H

#include "sw/qp/qp.h"

#define RHCA_RETRY_FOREVER	7	/* RNR retry count, 9.7.5.2.8 */

/* Local ACK timeout of @code, 1..31, 9.7.6.1.3 */
static inline u64 rhca_ack_timeout_ns(u8 code)
{
	return 4096ULL << code;
}

void rhca_retry_init(struct rhca_sw_qp *qp);
void rhca_arm_ack_timer(struct rhca_sw_qp *qp);
void rhca_restart_ack_timer(struct rhca_sw_qp *qp);
void rhca_ack_timeout_changed(struct rhca_sw_qp *qp);
unsigned long rhca_ack_timeout(u8 code);

#endif
