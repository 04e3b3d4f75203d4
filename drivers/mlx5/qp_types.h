/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs, as the adapter has them. */
#ifndef RHCA_MLX5_QP_TYPES_H
#define RHCA_MLX5_QP_TYPES_H

#include <rdma/ib_verbs.h>

#include "buffer.h"
#include "command.h"
#include "core/qp/qp.h"
#include "number.h"
#include "queue.h"

/**
 * struct rhca_mlx5_qp - Queue pair
 * @base: the core's part
 * @numbered: what completions and events find it by
 * @spec: what the adapter knows of it
 * @buffer: its queues
 * @counters: the set that it is to count into, from INIT on; this and the next
 *	under the core's modify_lock
 * @counting_into: number of the set that the adapter counts into
 * @sender: of the kernel's, in its completion queue's list of them
 * @receiver: likewise
 * @sq: send queue of the kernel
 * @rq: receive queue of the kernel
 */
struct rhca_mlx5_qp {
	struct rhca_qp base;
	struct rhca_mlx5_numbered numbered;
	struct rhca_mlx5_qp_spec spec;
	struct rhca_mlx5_buffer buffer;
	struct rhca_mlx5_counter_set *counters;
	u16 counting_into;
	struct list_head sender;
	struct list_head receiver;
	struct rhca_mlx5_sq sq;
	struct rhca_mlx5_rq rq;
};

static inline struct rhca_mlx5_qp *to_rhca_mlx5_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct rhca_mlx5_qp, base.ibqp);
}

static inline struct rhca_mlx5_qp *rhca_mlx5_qp_of(struct rhca_qp *qp)
{
	return container_of(qp, struct rhca_mlx5_qp, base);
}

/* Receive entries, then send entries */
static inline size_t rhca_mlx5_qp_bytes(const struct rhca_mlx5_qp_spec *spec)
{
	size_t recv = spec->has_recv ?
		(size_t)1 << (spec->log_recv + spec->log_recv_bytes) : 0;

	return recv + (spec->has_send ?
		       (size_t)MLX5_SEND_WQE_BB << spec->log_send : 0);
}

#endif
