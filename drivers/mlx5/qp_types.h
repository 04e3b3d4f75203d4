/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs, as the adapter has them. */
#ifndef RHCA_MLX5_QP_TYPES_H
#define RHCA_MLX5_QP_TYPES_H

#include <linux/mlx5/qp.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "buffer.h"
#include "command.h"
#include "core/qp/qp.h"
#include "number.h"

/**
 * struct rhca_mlx5_sq - Send queue of the kernel. A request takes one or more
 *	blocks of 64 bytes
 * @lock: protects the rest but @completed and @oldest. Interrupts off: users post from
 *	interrupts as well
 * @blocks: finds a block
 * @num_blocks: a power of two
 * @blocks_each: that the largest request takes
 * @max_wr: requests that always fit
 * @max_sge: of one request
 * @max_inline: bytes of one request
 * @next_block: counts on from round to round
 * @newest: first block of the newest request
 * @posted: requests, ever
 * @completed: requests whose completion was read; this and the next are written
 *	under the CQ's lock
 * @oldest: first block of the oldest request that is not completed
 * @fence: what the next request has to wait for
 * @signal_all: every request has a completion
 * @request: by first block
 * @scratch: where a request is built; it is copied into the queue block by
 *	block, so that building knows nothing of the queue's end
 */
struct rhca_mlx5_sq {
	spinlock_t lock;	/* protects: */
	struct mlx5_frag_buf_ctrl blocks;
	u32 num_blocks;
	u32 blocks_each;
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
	u32 next_block;
	u32 newest;
	u32 posted;
	u32 completed;
	u32 oldest;
	u8 fence;
	bool signal_all;
	struct rhca_mlx5_request *request;
	u8 scratch[MLX5_SEND_WQE_MAX_SIZE] __aligned(8);
};

/* A posted send request */
struct rhca_mlx5_request {
	u64 wr_id;			/* the user's */
	u32 number;			/* how many were posted up to and with this one */
	u8 blocks;			/* that it takes */
	enum ib_wc_opcode opcode;	/* of its completion */
};

/**
 * struct rhca_mlx5_rq - Receive queue of the kernel
 * @lock: protects @posted and the entries. Interrupts off, as for sends
 * @entries: finds an entry
 * @num_entries: a power of two
 * @max_sge: of one request
 * @posted: requests, ever
 * @completed: requests whose completion was read; written under the CQ's lock
 * @wr_id: by entry
 */
struct rhca_mlx5_rq {
	spinlock_t lock;	/* protects: */
	struct mlx5_frag_buf_ctrl entries;
	u32 num_entries;
	u32 max_sge;
	u32 posted;
	u32 completed;
	u64 *wr_id;
};

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
