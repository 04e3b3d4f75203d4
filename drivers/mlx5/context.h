/* SPDX-License-Identifier: GPL-2.0 */
/* Contexts of processes and protection domains. */
#ifndef RHCA_MLX5_CONTEXT_H
#define RHCA_MLX5_CONTEXT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* Context of a process */
struct rhca_mlx5_ucontext {
	struct ib_ucontext ibucontext;	/* ib_core's part */
	u8 cqe_version;		/* 1: completions have the user index of their queue */
	struct mutex records_lock;	/* protects: */
	struct list_head records;	/* pages of doorbell records, see buffer.c */
	struct xarray uars;	/* its UARs by page, with a lock of its own; see uar.c */
};

/* A protection domain */
struct rhca_mlx5_pd {
	struct ib_pd ibpd;	/* ib_core's part */
	u32 number;		/* in the adapter */
	/* the adapter holds a queue or key in it that cannot be destroyed any more */
	bool has_leaked;
};

static inline struct rhca_mlx5_ucontext *
rhca_mlx5_context_of(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct rhca_mlx5_ucontext,
					 ibucontext);
}

static inline struct rhca_mlx5_pd *to_rhca_mlx5_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct rhca_mlx5_pd, ibpd);
}

int rhca_mlx5_take_request(struct ib_udata *udata, void *request, size_t bytes,
			   size_t least);
int rhca_mlx5_alloc_ucontext(struct ib_ucontext *ibucontext,
			     struct ib_udata *udata);
int rhca_mlx5_query_ucontext(struct ib_ucontext *ibucontext,
			     struct uverbs_attr_bundle *attrs);
void rhca_mlx5_dealloc_ucontext(struct ib_ucontext *ibucontext);
void rhca_mlx5_disassociate_ucontext(struct ib_ucontext *ibucontext);
int rhca_mlx5_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int rhca_mlx5_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

extern const struct uapi_definition rhca_mlx5_context_uapi[];

#endif
