/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_RX_COMPLETER_H
#define RHCA_SW_RX_COMPLETER_H

#include "sw/qp/qp.h"
#include "sw/packet/parse.h"

void rhca_completer_receive(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			    struct rhca_batch *batch);

#endif
