/* SPDX-License-Identifier: GPL-2.0 */
/* Types of queue pairs. */
#ifndef RHCA_MLX5_QP_TYPES_H
#define RHCA_MLX5_QP_TYPES_H

#include <linux/mlx5/qp.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "buffer.h"
#include "command.h"
#include "core/qp/qp.h"
#include "number.h"

struct rhca_mlx5_uar;

/* Send queue of the kernel. A request takes one or more blocks of 64 bytes */
struct rhca_mlx5_sq {
	/* Taken with interrupts off: users also post from interrupts */
	spinlock_t lock;	/* protects, but for @completed and @oldest: */
	struct mlx5_frag_buf_ctrl blocks;	/* finds a block */
	u32 num_blocks;		/* a power of two */
	u32 max_wr;		/* number of requests that always fit */
	u32 max_sge;		/* of one request */
	u32 max_inline;		/* bytes of one request */
	u32 next_block;		/* not reset at the end of the ring */
	u32 newest;		/* first block of the newest request */
	u32 posted;		/* requests so far */
	u32 completed;		/* of these, completed and polled; written under the CQ's lock */
	u32 oldest;		/* first block of the oldest other one; likewise */
	u8 fence;		/* for the next request */
	bool signal_all;	/* every request has a completion */
	struct rhca_mlx5_request *request;	/* by first block */
	/* requests are built here, regardless of the queue's end, and copied to the queue */
	u8 scratch[MLX5_SEND_WQE_MAX_SIZE] __aligned(8);
};

/* A posted send request */
struct rhca_mlx5_request {
	u64 wr_id;			/* the user's */
	u32 number;			/* requests posted so far, including this one */
	u8 blocks;			/* its size */
	enum ib_wc_opcode opcode;	/* of its completion */
};

/* Receive queue of the kernel */
struct rhca_mlx5_rq {
	spinlock_t lock;	/* protects @posted and the entries; interrupts off */
	struct mlx5_frag_buf_ctrl entries;	/* finds an entry */
	u32 num_entries;	/* a power of two */
	u32 max_sge;		/* of one request */
	u32 posted;		/* requests so far */
	u32 completed;		/* of these, completed and polled; written under the CQ's lock */
	u64 *wr_id;		/* by entry */
};

/* Queue pair */
struct rhca_mlx5_qp {
	struct rhca_qp base;	/* the core's part */
	struct rhca_mlx5_numbered numbered;	/* for lookup by completions and events */
	struct rhca_mlx5_qp_spec spec;	/* its description for commands */
	struct rhca_mlx5_buffer buffer;	/* its queues */
	struct rhca_mlx5_uar *uar;	/* where a process rings for it, or NULL */
	/* the set that it is to count into, from INIT on; under the core's modify_lock */
	struct rhca_mlx5_counter_set *counters;
	u16 counting_into;	/* number of the set in the adapter; likewise */
	struct rhca_mlx5_sq sq;	/* send queue of the kernel */
	struct rhca_mlx5_rq rq;	/* receive queue of the kernel */
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
