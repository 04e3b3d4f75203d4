/* SPDX-License-Identifier: GPL-2.0 */
/* One function of an adapter, and the RDMA device that serves its port. */
#ifndef RHCA_MLX5_DEVICE_H
#define RHCA_MLX5_DEVICE_H

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

/* The smallest has the pages that go into one group of the adapter's, the largest 1 GiB */
#define RHCA_MLX5_KEY_MIN_PAGES_LOG	3
#define RHCA_MLX5_KEY_MAX_PAGES_LOG	18
#define RHCA_MLX5_KEY_SIZES \
	(RHCA_MLX5_KEY_MAX_PAGES_LOG - RHCA_MLX5_KEY_MIN_PAGES_LOG + 1)
/* Of each size, the large ones fewer (key_cache.c) */
#define RHCA_MLX5_KEYS_KEPT		64
/* By the access that no request can give them: none, atomics, relaxed order, both */
#define RHCA_MLX5_KEY_KINDS		4

/* Keys without pages, by kind and by the pages that they have room for */
struct rhca_mlx5_key_cache {
	spinlock_t lock;	/* protects: */
	struct rhca_mlx5_kept_keys {
		u8 num;		/* how many there are */
		u32 keys[RHCA_MLX5_KEYS_KEPT];
	} kept[RHCA_MLX5_KEY_KINDS * RHCA_MLX5_KEY_SIZES];
};

/* A function of an adapter */
struct rhca_mlx5 {
	/* what control chooses from; there is an RDMA device when it has */
	struct rhca_offer offer;
	struct mlx5_core_dev *mdev;	/* mlx5_core's part */
	u8 lag_ports;		/* ports of the adapter that a bond has joined, 0 or at least 2 */
	/* The rest is valid while there is an RDMA device */
	atomic_t lag_assigned;	/* queue pairs that were given a port */
	struct mlx5_flow_table *lag_demux;	/* what arrives on these ports */
	struct mlx5_sq_bfreg doorbells;	/* UAR of the kernel's queues */
	atomic_t key_variant;	/* low byte of the next memory key */
	u8 key_fence;		/* what a change of a key waits for, MLX5_FENCE_MODE_* */
	__be32 end_of_list;	/* key that ends a list of memory */
	__be64 system_guid;	/* of the adapter, the same for its functions */
	struct xarray qps;	/* queue pairs by number */
	struct xarray srqs;	/* shared receive queues by number */
	struct mutex xrc_lock;	/* protects: */
	/* what XRC queue pairs have to name, or NULL before the first one */
	struct rhca_mlx5_xrc_parts *xrc_parts;
	struct mutex umr_lock;	/* protects, and lets one request at a time be on: */
	struct rhca_mlx5_umr_queue *umr_queue;	/* what changes memory keys */
	struct rhca_mlx5_key_cache key_cache;	/* memory keys that can be filled */
	struct mlx5_nb queue_nb;	/* hears events of queues */
	struct work_struct qp_error_work;	/* asks why queue pairs have failed; see events.c */
	struct ib_device *ibdev;	/* the RDMA device */
	struct notifier_block fatal_nb;	/* hears that the firmware has died */
	struct work_struct fatal_work;	/* tells users then; see fatal.c */
	unsigned long fatal_told;	/* bit 0: they know */
};

static inline struct rhca_mlx5 *rhca_mlx5_of(struct ib_device *ibdev)
{
	return to_rhca_dev(ibdev)->private;
}

static inline struct mlx5_core_dev *rhca_mlx5_mdev(struct ib_device *ibdev)
{
	return rhca_mlx5_of(ibdev)->mdev;
}

/* A process may map the page with the adapter's clock: nothing else is in the host's page */
static inline bool rhca_mlx5_offers_clock(void)
{
	return PAGE_SIZE <= MLX5_ADAPTER_PAGE_SIZE;
}

static inline bool rhca_mlx5_cap_real_time(u8 cap)
{
	return cap == MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME ||
	       cap == MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING_AND_REAL_TIME;
}

/* The firmware can put the time of day into completions, of whatever queues */
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

/* Requests were posted. A dead adapter completes nothing: its users are raised */
static inline void rhca_mlx5_posted(struct rhca_mlx5 *hca)
{
	if (unlikely(rhca_mlx5_is_dead(hca)))
		schedule_work(&hca->fatal_work);
}

#endif
