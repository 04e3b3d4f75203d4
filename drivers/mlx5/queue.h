/* SPDX-License-Identifier: GPL-2.0 */
/* Work queues of the kernel: what posting and polling know of them. */
#ifndef RHCA_MLX5_QUEUE_H
#define RHCA_MLX5_QUEUE_H

#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/spinlock.h>

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

#endif
