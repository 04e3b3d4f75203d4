/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queues. The adapter writes entries in order; an entry's owner bit gives the round in
 * which it was written.
 */
#ifndef RHCA_MLX5_CQ_H
#define RHCA_MLX5_CQ_H

#include <linux/mlx5/cq.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "buffer.h"

struct rhca_mlx5;
struct rhca_mlx5_uar;

/* Completion queue */
struct rhca_mlx5_cq {
	struct ib_cq ibcq;	/* ib_core's part */
	struct mlx5_core_cq hw;	/* mlx5_core's part; its consumer index is under @lock */
	struct rhca_mlx5_buffer buffer;	/* entries and doorbell record */
	struct rhca_mlx5_uar *uar;	/* where a process rings for it; NULL for the kernel's */
	struct mlx5_frag_buf_ctrl entries;	/* finds an entry of the kernel's by its index */
	u8 entry_bytes;		/* size of an entry, 64 or 128 */
	bool real_time;		/* timestamps have the time of day, not the adapter's */
	bool wants_stamps;	/* a process reads the timestamps in its entries */
	bool has_leaked;	/* the adapter holds a queue with it, see struct rhca_mlx5_pd */
	bool has_ended;		/* the adapter's has, before ib_core's work on it; @lock */
	bool is_lost;		/* then: the adapter holds it */
	struct mutex resize_lock;	/* protects the entries in @buffer, and: */
	u8 log_entries;		/* their number */
	/*
	 * entries of a process for which a resize command timed out: the adapter may write there
	 * while it has the queue. Or NULL
	 */
	struct ib_umem *unanswered;
	/*
	 * Taken with interrupts off, since completion handlers may run in interrupts; and before
	 * the locks of work queues
	 */
	spinlock_t lock;	/* protects the consumer index: one reader at a time */
};

static inline struct rhca_mlx5_cq *to_rhca_mlx5_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct rhca_mlx5_cq, ibcq);
}

struct mlx5_cqe64 *rhca_mlx5_cq_entry(struct rhca_mlx5_cq *cq, u32 index);
int rhca_mlx5_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			rhca_create_cq_arg *arg);
int rhca_mlx5_pre_destroy_cq(struct ib_cq *ibcq);
int rhca_mlx5_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int rhca_mlx5_modify_cq(struct ib_cq *ibcq, u16 count, u16 period_us);
int rhca_mlx5_resize_cq(struct ib_cq *ibcq, rhca_cqe_count entries,
			struct ib_udata *udata);
int rhca_mlx5_own_cq_create(struct rhca_mlx5_cq *cq, struct rhca_mlx5 *hca);
enum ib_wc_status rhca_mlx5_status_of(u8 syndrome);

#endif
