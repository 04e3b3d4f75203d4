/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared receive queues: a linked list of entries, as queue pairs use them in any order. A queue of
 * an XRC domain has a number, which senders name, and its own completion queue.
 */
#ifndef RHCA_MLX5_SRQ_H
#define RHCA_MLX5_SRQ_H

#include <linux/mlx5/driver.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "buffer.h"
#include "number.h"

/* Shared receive queue */
struct rhca_mlx5_srq {
	struct ib_srq ibsrq;	/* ib_core's part */
	struct rhca_mlx5_numbered numbered;	/* for lookup by events */
	struct rhca_mlx5_buffer buffer;	/* its memory */
	u32 num_entries;	/* a power of two; one of them stays free */
	u32 max_sge;		/* of one request */
	bool has_leaked;	/* the adapter holds a QP that uses it, see struct rhca_mlx5_pd */
	/* Taken with interrupts off, since users post from interrupts, and inside the CQ's lock */
	spinlock_t lock;	/* protects the rest, for the kernel's queues: */
	struct mlx5_frag_buf_ctrl entries;	/* finds an entry */
	u16 head;		/* next entry to fill */
	u16 tail;		/* last free entry; freed entries are appended */
	u16 posted;		/* requests so far */
	u64 *wr_id;		/* by entry */
};

static inline struct rhca_mlx5_srq *to_rhca_mlx5_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct rhca_mlx5_srq, ibsrq);
}

int rhca_mlx5_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			 struct ib_udata *udata);
int rhca_mlx5_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			 enum ib_srq_attr_mask mask, struct ib_udata *udata);
int rhca_mlx5_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int rhca_mlx5_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int rhca_mlx5_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad_wr);
u64 rhca_mlx5_srq_take(struct rhca_mlx5_srq *srq, u16 index);

#endif
