/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions and memory windows. */
#ifndef RHCA_MLX5_MKEY_H
#define RHCA_MLX5_MKEY_H

#include <linux/dma-mapping.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "key_list.h"

/* Memory region */
struct rhca_mlx5_mr {
	struct ib_mr ibmr;		/* ib_core's part */
	int access;			/* IB_ACCESS_*, of a process's */
	struct ib_umem *umem;		/* pinned memory of a process, or NULL */
	u32 cached_pages;		/* pages it was taken from the cache for, or 0 */
	struct rhca_mlx5_key_list list;	/* contents for requests that fill the key */
};

static inline struct rhca_mlx5_mr *to_rhca_mlx5_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rhca_mlx5_mr, ibmr);
}

struct ib_mr *rhca_mlx5_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				    u64 iova, int access,
				    rhca_dmah_arg struct ib_udata *udata);
struct ib_mr *rhca_mlx5_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					   u64 length, u64 iova, int fd,
					   int access,
					   rhca_dmah_arg rhca_reg_dmabuf_arg arg);
struct ib_mr *rhca_mlx5_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				      u64 length, u64 iova, int access,
				      struct ib_pd *ibpd,
				      struct ib_udata *udata);
struct ib_mr *rhca_mlx5_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *rhca_mlx5_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
				 u32 max_pages);
int rhca_mlx5_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg,
			int sg_entries, unsigned int *sg_offset);
int rhca_mlx5_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int rhca_mlx5_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int rhca_mlx5_dealloc_mw(struct ib_mw *ibmw);

#endif
