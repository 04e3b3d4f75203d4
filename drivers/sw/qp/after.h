/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is done for a QP after one of its locks has been released.
 */
#ifndef RHCA_SW_QP_AFTER_H
#define RHCA_SW_QP_AFTER_H

#include "sw/qp/qp.h"

void rhca_batch_end(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_batch_end_in_verb(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_batch_end_deferred(struct rhca_sw_qp *qp, struct rhca_batch *batch);

#endif
