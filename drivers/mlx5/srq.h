/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared receive queues: a linked list of entries, since they are used up in an
 * order that no one queue pair knows. One of an XRC domain has a number that
 * senders name, and a completion queue of its own.
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
	struct rhca_mlx5_numbered numbered;	/* what events find it by */
	struct rhca_mlx5_buffer buffer;	/* its memory */
	u32 num_entries;	/* a power of two; one of them stays free */
	u32 max_sge;		/* of one request */
	bool has_lost;		/* the adapter keeps a QP of it, as of struct rhca_mlx5_pd */
	/* Interrupts off: users post from interrupts. Inside the lock of a completion queue */
	spinlock_t lock;	/* protects the rest, of the kernel's: */
	struct mlx5_frag_buf_ctrl entries;	/* finds an entry */
	u16 head;		/* the next one to be filled */
	u16 tail;		/* the last free one, where freed ones are put behind */
	u16 posted;		/* requests, ever */
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
