/* SPDX-License-Identifier: GPL-2.0 */
/* Workqueues for the page faults of one process. */
#ifndef RHCA_SW_VERBS_MEMORY_ODP_LANES_H
#define RHCA_SW_VERBS_MEMORY_ODP_LANES_H

#include <linux/workqueue.h>

struct rhca_odp_lanes;

int rhca_odp_lanes_init(void);
void rhca_odp_lanes_exit(void);
struct rhca_odp_lanes *rhca_odp_lanes_get(struct workqueue_struct **lane);
void rhca_odp_lanes_put(struct rhca_odp_lanes *lanes);

#endif
