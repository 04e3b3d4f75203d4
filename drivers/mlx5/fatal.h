/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An adapter whose firmware died, until mlx5_core resets it.
 */
#ifndef RHCA_MLX5_FATAL_H
#define RHCA_MLX5_FATAL_H

#include <linux/workqueue.h>

#include "device.h"

struct rhca_mlx5_cq;
struct rhca_mlx5_qp;

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

int rhca_mlx5_fatal_init(struct rhca_mlx5 *hca);
void rhca_mlx5_fatal_exit(struct rhca_mlx5 *hca);
void rhca_mlx5_flush_add(struct rhca_mlx5_qp *qp);
void rhca_mlx5_flush_remove(struct rhca_mlx5_qp *qp);
int rhca_mlx5_flush(struct rhca_mlx5_cq *cq, int num, struct ib_wc *wc);

#endif
