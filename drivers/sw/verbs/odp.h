/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging: regions whose pages are not pinned.
 */
#ifndef RHCA_SW_VERBS_ODP_H
#define RHCA_SW_VERBS_ODP_H

#include <rdma/ib_verbs.h>

struct rhca_mem;
struct rhca_odp;

int rhca_odp_create(struct rhca_mem *mem, struct ib_pd *pd, u64 start,
		    u64 length, int access);
void rhca_odp_destroy(struct rhca_odp *odp);
int rhca_odp_fault(struct rhca_odp *odp, u64 addr, u64 bytes, u64 ahead);
void rhca_odp_query(struct ib_device_attr *attr);

#endif
