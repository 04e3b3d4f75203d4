/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Responses to READs that are missing behind the oldest one.
 */
#ifndef RHCA_SW_TX_MISSING_H
#define RHCA_SW_TX_MISSING_H

#include <linux/types.h>

struct rhca_sw_qp;

bool rhca_missing_due(struct rhca_sw_qp *qp);
void rhca_missing_asked(struct rhca_sw_qp *qp, u32 psn, u32 end);

#endif
