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

/**
 * struct rhca_mlx5_srq - Shared receive queue
 * @ibsrq: ib_core's part
 * @numbered: what events find it by
 * @buffer: its memory
 * @num_entries: a power of two; one of them stays free
 * @max_sge: of one request
 * @has_lost: the adapter keeps a queue pair that receives from it and that nobody can destroy
 *	any more
 * @lock: protects the rest, of the kernel's. Interrupts off: users post from
 *	interrupts as well. Taken inside the lock of a completion queue
 * @entries: finds an entry
 * @head: the next one to be filled
 * @tail: the last free one, where freed ones are put behind
 * @posted: requests, ever
 * @wr_id: by entry
 */
struct rhca_mlx5_srq {
	struct ib_srq ibsrq;
	struct rhca_mlx5_numbered numbered;
	struct rhca_mlx5_buffer buffer;
	u32 num_entries;
	u32 max_sge;
	bool has_lost;
	spinlock_t lock;	/* protects: */
	struct mlx5_frag_buf_ctrl entries;
	u16 head;
	u16 tail;
	u16 posted;
	u64 *wr_id;
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
