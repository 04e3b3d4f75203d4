/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion notification packets, annex A17.9.3, that marks bring about.
 */
#ifndef RHCA_SW_TX_CNP_H
#define RHCA_SW_TX_CNP_H

#include "sw/qp/qp.h"

void rhca_cnp_answer_mark(struct rhca_sw_qp *qp);

#endif
