/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_VERBS_MEMORY_MW_H
#define RHCA_SW_VERBS_MEMORY_MW_H

#include "sw/verbs/memory/mem.h"

struct rhca_mw {
	struct ib_mw ibmw;	/* ib_core's part */
	struct rhca_mem *mem;	/* what its key refers to; may outlive @ibmw */
};

static inline struct rhca_mw *to_rhca_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct rhca_mw, ibmw);
}

/* A bind work request */
struct rhca_bind {
	u64 addr;		/* first address */
	u64 length;		/* bytes; 0 unbinds a type 1 window */
	u32 window_key;		/* current key of the window */
	u32 new_key;		/* new key; same index */
	u32 region_key;		/* local key of the region */
	int access;		/* IB_ACCESS_* */
};

/* Memory that a peer requests */
struct rhca_remote {
	struct rhca_verbs_dev *dev;
	struct ib_pd *pd;	/* of the QP */
	u32 qp_num;		/* of the QP */
	u32 rkey;
	u64 va;			/* first address */
	u64 length;		/* bytes */
	bool whole;		/* all of the memory, instead of @va and @length */
	int access;		/* IB_ACCESS_REMOTE_*, RHCA_ACCESS_FLUSH_* */
};

struct rhca_mem *rhca_mem_hold_remote(struct rhca_mem **held,
				      const struct rhca_remote *remote);
int rhca_mw_bind(struct rhca_verbs_dev *dev, struct ib_pd *pd, u32 qp_num,
		 const struct rhca_bind *bind);
int rhca_key_invalidate(struct rhca_verbs_dev *dev, struct ib_pd *pd, u32 key,
			u32 qp_num, bool remote);
bool rhca_key_is_idle(struct rhca_verbs_dev *dev, u32 key);
int rhca_key_register(struct rhca_verbs_dev *dev, struct ib_pd *pd,
		      struct ib_mr *ibmr, u32 key, int access);
void rhca_dwell_init(void);
void rhca_dwell_exit(void);

extern const struct ib_device_ops rhca_mw_verbs;

#endif
