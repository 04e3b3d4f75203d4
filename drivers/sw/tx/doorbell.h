/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Doorbells that wait for more requests.
 */
#ifndef RHCA_SW_TX_DOORBELL_H
#define RHCA_SW_TX_DOORBELL_H

#include <linux/types.h>

struct rhca_sw_qp;

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
