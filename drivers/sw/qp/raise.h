/* SPDX-License-Identifier: GPL-2.0 */
/* Events that work on a QP has left to be raised without its locks. */
#ifndef RHCA_SW_QP_RAISE_H
#define RHCA_SW_QP_RAISE_H

#include "sw/qp/qp.h"

void rhca_batch_raise(struct rhca_sw_qp *qp, const struct rhca_batch *batch);

#endif
