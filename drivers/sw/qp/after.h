/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that a pass through a QP has left to be raised without its locks.
 */
#ifndef RHCA_SW_QP_AFTER_H
#define RHCA_SW_QP_AFTER_H

#include "sw/qp/qp.h"

void rhca_batch_raise(struct rhca_sw_qp *qp, const struct rhca_batch *batch);

#endif
