/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Doorbells that wait for more requests.
 */
#ifndef RHCA_SW_TRANSPORT_DOORBELL_H
#define RHCA_SW_TRANSPORT_DOORBELL_H

#include <linux/llist.h>
#include <linux/types.h>

struct rhca_sw_qp;

/* Bits of struct rhca_doorbell.flags */
#define RHCA_TIMER_WILL_SEND	0	/* the QP's doorbell_timer */
#define RHCA_WAITS_FOR_RUN	1	/* in the list of a processor */
#define RHCA_SENDER_WAITS	2	/* for send.lock, to send */

/**
 * struct rhca_doorbell - When a QP's doorbell was rung
 * @rung_at: of a process's QP: the last time, in ns of the monotonic clock
 * @flags: see RHCA_TIMER_WILL_SEND
 * @waits: of a kernel user's QP: in the list of a processor
 * @cpu: that processor
 */
struct rhca_doorbell {
	u64 rung_at;
	unsigned long flags;
	struct llist_node waits;
	int cpu;
};

extern unsigned int rhca_doorbell_gap_ns;

void rhca_doorbell_init(struct rhca_sw_qp *qp);
void rhca_doorbell_exit(struct rhca_sw_qp *qp);
bool rhca_doorbell_waits(struct rhca_sw_qp *qp);
void rhca_doorbell_done(struct rhca_sw_qp *qp);
bool rhca_doorbell_is_elsewhere(const struct rhca_sw_qp *qp);
bool rhca_doorbell_leave_to_run(struct rhca_sw_qp *qp);
void rhca_doorbells_init(void);
void rhca_doorbells_exit(void);

#endif
