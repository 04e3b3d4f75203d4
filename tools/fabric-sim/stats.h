/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FABRIC_SIM_STATS_H
#define FABRIC_SIM_STATS_H

#include <linux/types.h>

#include "qp.h"

void stats_open(void);
void stats_begin(void);
void stats_sample(void);
void stats_end(void);
u64 ideal_ns(const struct qp *qp);

#endif
