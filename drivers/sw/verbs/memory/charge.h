/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_VERBS_MEMORY_CHARGE_H
#define RHCA_SW_VERBS_MEMORY_CHARGE_H

#include <linux/mm_types.h>
#include <rdma/ib_verbs.h>

/* Locked memory charged to a process's limit */
struct rhca_charge {
	struct mm_struct *mm;	/* the process, with a reference to the struct, or NULL */
	unsigned long pages;	/* how much */
};

int rhca_charge_take(struct rhca_charge *charge, struct ib_device *ibdev,
		     size_t bytes);
void rhca_charge_give(struct rhca_charge *charge);
void rhca_charge_explain(struct ib_device *ibdev, u64 bytes);

#endif
