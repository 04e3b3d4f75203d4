/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_RX_EARLY_COPY_H
#define RHCA_SW_RX_EARLY_COPY_H

#include "sw/qp/qp.h"
#include "sw/packet/parse.h"

bool rhca_early_copy(struct rhca_sw_qp *qp, const struct rhca_rx *rx);

#endif
