/* SPDX-License-Identifier: GPL-2.0 */
/* One function of an adapter, and the RDMA device that serves its port. */
#ifndef RHCA_MLX5_DEVICE_H
#define RHCA_MLX5_DEVICE_H

#include <linux/interrupt.h>
#include <linux/mlx5/driver.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "core/device.h"

struct mlx5_flow_table;
struct rhca_mlx5_umr_queue;
struct rhca_mlx5_xrc_parts;

/* The smallest maps the pages of one octword group of the adapter, the largest 1 GiB */
#define RHCA_MLX5_KEY_MIN_PAGES_LOG	3
#define RHCA_MLX5_KEY_MAX_PAGES_LOG	18
#define RHCA_MLX5_KEY_SIZES \
	(RHCA_MLX5_KEY_MAX_PAGES_LOG - RHCA_MLX5_KEY_MIN_PAGES_LOG + 1)
/* Of each size; fewer of large ones (key_cache.c) */
#define RHCA_MLX5_KEYS_KEPT		64
/* By the access that requests cannot change: none, atomics, relaxed order, both */
#define RHCA_MLX5_KEY_KINDS		4

/* Keys without pages, by kind and by room for pages */
struct rhca_mlx5_key_cache {
	spinlock_t lock;	/* protects: */
	struct rhca_mlx5_kept_keys {
		u8 num;		/* number of @keys */
		u32 keys[RHCA_MLX5_KEYS_KEPT];
	} kept[RHCA_MLX5_KEY_KINDS * RHCA_MLX5_KEY_SIZES];
};

/* A function of an adapter */
struct rhca_mlx5 {
	/* offered to lifecycle/; there is an RDMA device if it is used */
	struct rhca_offer offer;
	struct mlx5_core_dev *mdev;	/* of mlx5_core */
	u8 lag_ports;		/* ports of the adapter under a bond, 0 or at least 2 */
	/* The rest is valid while there is an RDMA device */
	atomic_t lag_assigned;	/* queue pairs with a port assigned so far */
	struct mlx5_flow_table *lag_demux;	/* receives from these ports */
	struct mlx5_sq_bfreg doorbells;	/* UAR of the kernel's queues */
	atomic_t key_variant;	/* low byte of the next memory key */
	u8 key_fence;		/* fence for a change of a key, MLX5_FENCE_MODE_* */
	__be32 end_of_list;	/* key that ends a list of memory */
	__be64 system_guid;	/* of the adapter, the same for its functions */
	struct xarray qps;	/* queue pairs by number */
	struct xarray srqs;	/* shared receive queues by number */
	struct mutex xrc_lock;	/* protects: */
	/* objects that XRC queue pairs refer to, or NULL before the first one */
	struct rhca_mlx5_xrc_parts *xrc_parts;
	struct mutex umr_lock;	/* protects, with one request at a time: */
	struct rhca_mlx5_umr_queue *umr_queue;	/* changes memory keys */
	struct rhca_mlx5_key_cache key_cache;	/* empty memory keys */
	struct mlx5_nb queue_nb;	/* for events of queues */
	struct work_struct qp_error_work;	/* queries why queue pairs failed; see events.c */
	struct ib_device *ibdev;	/* the RDMA device */
	struct notifier_block fatal_nb;	/* for the death of the firmware */
	struct tasklet_struct fatal_task;	/* informs users then; see fatal.c */
	unsigned long fatal_reported;	/* bit 0: users are informed */
};

static inline struct rhca_mlx5 *rhca_mlx5_of(struct ib_device *ibdev)
{
	return to_rhca_dev(ibdev)->private;
}

static inline struct mlx5_core_dev *rhca_mlx5_mdev(struct ib_device *ibdev)
{
	return rhca_mlx5_of(ibdev)->mdev;
}

/* May processes map the page with the adapter's clock? Only if the host's page has nothing else */
static inline bool rhca_mlx5_offers_clock(void)
{
	return PAGE_SIZE <= MLX5_ADAPTER_PAGE_SIZE;
}

static inline bool rhca_mlx5_cap_real_time(u8 cap)
{
	return cap == MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME ||
	       cap == MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING_AND_REAL_TIME;
}

/* Can the firmware put the time of day into completions of all kinds of queues? */
static inline bool rhca_mlx5_has_real_time(const struct mlx5_core_dev *mdev)
{
	return rhca_mlx5_cap_real_time(MLX5_CAP_GEN(mdev, sq_ts_format)) &&
	       rhca_mlx5_cap_real_time(MLX5_CAP_GEN(mdev, rq_ts_format)) &&
	       rhca_mlx5_cap_real_time(MLX5_CAP_ROCE(mdev, qp_ts_format));
}

static inline u32 rhca_mlx5_max_srq_sge(const struct mlx5_core_dev *mdev)
{
	return MLX5_CAP_GEN(mdev, max_wqe_sz_rq) / 16 - 1;
}

static inline bool rhca_mlx5_is_dead(const struct rhca_mlx5 *hca)
{
	return READ_ONCE(hca->mdev->state) == MLX5_DEVICE_STATE_INTERNAL_ERROR;
}

/* Requests were posted. A dead adapter completes none: notify users to poll, see fatal.c */
static inline void rhca_mlx5_posted(struct rhca_mlx5 *hca)
{
	if (unlikely(rhca_mlx5_is_dead(hca)))
		tasklet_schedule(&hca->fatal_task);
}

#endif
