/* SPDX-License-Identifier: GPL-2.0 */
/* Congestion control of a QP: its rate, and when it must answer a mark. */
#ifndef RHCA_SW_TX_CONGESTION_H
#define RHCA_SW_TX_CONGESTION_H

#include "sw/qp/qp.h"
#include "sw/tx/rate.h"

/* Separate from the QP: together the allocation would round up to twice the size */
struct rhca_congestion {
	/* Innermost; protects the rest against both halves and received CNPs */
	spinlock_t lock;
	u64 cnp_due;		/* earliest time for the next CNP, ns */
	u64 cnp_at;		/* when the last CNP arrived, ns */
	u64 clock;		/* when all sent bytes will have left at the QP's rate, ns */
	struct rhca_rate rate;
};

void rhca_congestion_reset(struct rhca_sw_qp *qp);
void rhca_congestion_cnp(struct rhca_sw_qp *qp);
u32 rhca_congestion_rate(const struct rhca_sw_qp *qp);
void rhca_congestion_marked(struct rhca_sw_qp *qp);
u32 rhca_pace_packets(struct rhca_sw_qp *qp, u64 *wait_ns);
void rhca_pace_sent(struct rhca_sw_qp *qp, u32 packets, u32 bytes);

/* May the QP have a rate? If not, nothing needs to be accounted */
static inline bool rhca_is_paced(const struct rhca_sw_qp *qp)
{
	return unlikely(READ_ONCE(qp->send.has_rate) ||
			READ_ONCE(qp->base.port->cc.rp_max_rate));
}

#endif
