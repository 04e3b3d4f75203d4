/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_TRANSPORT_MIDDLE_H
#define RHCA_SW_TRANSPORT_MIDDLE_H

#include "sw/transport/qp.h"
#include "sw/transport/parse.h"

bool rhca_middle_is_due(struct rhca_sw_qp *qp, const struct rhca_rx *rx);
bool rhca_middle_copy(struct rhca_sw_qp *qp, const struct rhca_rx *rx);

#endif
