/* SPDX-License-Identifier: GPL-2.0 */
/* On-demand paging: regions whose pages are not pinned. */
#ifndef RHCA_SW_VERBS_MEMORY_ODP_H
#define RHCA_SW_VERBS_MEMORY_ODP_H

#include <rdma/ib_verbs.h>

struct page;
struct rhca_mem;
struct rhca_odp;

/*
 * How long a failed fault is remembered, in jiffies. The access that caused it retries sooner;
 * later ones fault again, since the process may have mapped memory there.
 */
#define RHCA_ODP_FAILURE_LIFE	(HZ / 5)

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
bool rhca_odp_is_implicit(u64 start, u64 length, int access);
int rhca_odp_create(struct rhca_mem *mem, struct ib_device *ibdev, u64 start,
		    int access);
void rhca_odp_destroy(struct rhca_mem *mem);
struct page *rhca_odp_page(struct rhca_odp *odp, u64 addr);
int rhca_odp_fault(struct rhca_odp *odp, u64 addr, u64 bytes, u64 ahead);
void rhca_odp_query(struct ib_device_attr *attr);
#else	/* all regions are pinned */
static inline bool rhca_odp_is_implicit(u64 start, u64 length, int access)
{
	return false;
}

static inline int rhca_odp_create(struct rhca_mem *mem, struct ib_device *ibdev,
				  u64 start, int access)
{
	return -EOPNOTSUPP;
}

static inline void rhca_odp_destroy(struct rhca_mem *mem)
{
}

static inline struct page *rhca_odp_page(struct rhca_odp *odp, u64 addr)
{
	return NULL;
}

static inline int rhca_odp_fault(struct rhca_odp *odp, u64 addr, u64 bytes, u64 ahead)
{
	return -EFAULT;
}

static inline void rhca_odp_query(struct ib_device_attr *attr)
{
}
#endif

#endif
