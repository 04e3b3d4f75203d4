/* SPDX-License-Identifier: GPL-2.0 */
/* Flushing the queues of a QP in ERR, and of a send queue in SQE. */
#ifndef RHCA_SW_QP_FLUSH_H
#define RHCA_SW_QP_FLUSH_H

#include "sw/qp/qp.h"

#if IS_ENABLED(CONFIG_KUNIT)
extern struct workqueue_struct *rhca_flush_again_wq;
#endif

int rhca_flush_init(void);
void rhca_flush_exit(void);
void rhca_flush_qp_init(struct rhca_sw_qp *qp);
void rhca_flush_qp_stop(struct rhca_sw_qp *qp);
void rhca_flush_qp_reset(struct rhca_sw_qp *qp);
void rhca_flush_rest(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_batch_raise(struct rhca_sw_qp *qp, const struct rhca_batch *batch);

#endif
