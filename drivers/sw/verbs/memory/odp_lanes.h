/* SPDX-License-Identifier: GPL-2.0 */
/* A workqueue per process for its page faults. */
#ifndef RHCA_SW_VERBS_MEMORY_ODP_LANES_H
#define RHCA_SW_VERBS_MEMORY_ODP_LANES_H

#include <linux/refcount.h>
#include <linux/workqueue.h>

/* Fault queue of a process, which limits concurrent faults */
struct rhca_odp_lanes {
	struct hlist_node entry;	/* in the table of all processes */
	struct mm_struct *mm;		/* the process */
	refcount_t refs;		/* regions */
	struct work_struct end;		/* destroys this: work in @wq may drop the last reference */
	struct workqueue_struct *wq;
};

int rhca_odp_lanes_init(void);
void rhca_odp_lanes_exit(void);
struct rhca_odp_lanes *rhca_odp_lanes_get(void);
void rhca_odp_lanes_put(struct rhca_odp_lanes *lanes);

#endif
