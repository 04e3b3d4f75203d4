/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Doorbells that wait for more requests.
 */
#ifndef RHCA_SW_TRANSPORT_DOORBELL_H
#define RHCA_SW_TRANSPORT_DOORBELL_H

#include <linux/llist.h>
#include <linux/types.h>

struct rhca_sw_qp;

/**
 * struct rhca_doorbell - When a QP's doorbell was rung
 * @rung_at: of a process's QP: the last time, in ns of the monotonic clock
 * @flags: bit 0: the QP's doorbell_timer will send what has been posted; bit 1: @waits is in a list
 * @waits: of a kernel user's QP: in the list of a processor
 */
struct rhca_doorbell {
	u64 rung_at;
	unsigned long flags;
	struct llist_node waits;
};

extern unsigned int rhca_doorbell_gap_ns;

void rhca_doorbell_init(struct rhca_sw_qp *qp);
void rhca_doorbell_exit(struct rhca_sw_qp *qp);
bool rhca_doorbell_waits(struct rhca_sw_qp *qp);
void rhca_doorbell_done(struct rhca_sw_qp *qp);
void rhca_doorbells_init(void);
void rhca_doorbells_exit(void);

#endif
