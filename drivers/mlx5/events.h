/* SPDX-License-Identifier: GPL-2.0 */
/* Events that the adapter raises for queue pairs and shared receive queues. */
#ifndef RHCA_MLX5_EVENTS_H
#define RHCA_MLX5_EVENTS_H

#include <linux/xarray.h>

struct rhca_mlx5;
struct rhca_mlx5_qp;

#define RHCA_MLX5_ANY_QP	XA_PRESENT
#define RHCA_MLX5_KERNEL_QP	XA_MARK_1

void rhca_mlx5_mark_qp(struct rhca_mlx5 *hca, u32 number, xa_mark_t mark);
void rhca_mlx5_for_each_qp(struct rhca_mlx5 *hca, xa_mark_t which,
			   void (*fn)(struct rhca_mlx5_qp *qp, void *data),
			   void *data);
int rhca_mlx5_events_init(struct rhca_mlx5 *hca);
void rhca_mlx5_events_exit(struct rhca_mlx5 *hca);

#endif
