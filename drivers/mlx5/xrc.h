/* SPDX-License-Identifier: GPL-2.0 */
/*
 * XRC domains (extended reliable connections, IBTA vol. 1, annex A14): a target
 * queue pair receives for every shared receive queue of its domain.
 */
#ifndef RHCA_MLX5_XRC_H
#define RHCA_MLX5_XRC_H

#include <rdma/ib_verbs.h>

#include "buffer.h"
#include "cq.h"

struct rhca_mlx5;

struct rhca_mlx5_xrcd {
	struct ib_xrcd ibxrcd;
	u32 number;
	bool has_leaked;	/* the adapter holds a queue in it, see struct rhca_mlx5_pd */
};

/*
 * Objects that the adapter requires in the context of an XRC queue pair, but verbs do not provide.
 * They are never used
 */
struct rhca_mlx5_xrc_parts {
	u32 pd;			/* number of a protection domain */
	struct rhca_mlx5_cq cq;	/* completion queue */
	u32 srq_xrcd;		/* number of the domain of @srq */
	struct rhca_mlx5_buffer srq_buffer;	/* memory of @srq */
	u32 srq;		/* number of a shared receive queue, without entries */
	/* for initiators, a domain without queues: what a peer sends to one is not received */
	u32 empty_xrcd;
};

static inline struct rhca_mlx5_xrcd *to_rhca_mlx5_xrcd(struct ib_xrcd *ibxrcd)
{
	return container_of(ibxrcd, struct rhca_mlx5_xrcd, ibxrcd);
}

void rhca_mlx5_xrc_exit(struct rhca_mlx5 *hca);
const struct rhca_mlx5_xrc_parts *rhca_mlx5_xrc_parts(struct rhca_mlx5 *hca);
int rhca_mlx5_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int rhca_mlx5_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

#endif
