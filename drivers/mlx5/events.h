/* SPDX-License-Identifier: GPL-2.0 */
/* Events that the adapter raises for queue pairs and shared receive queues. */
#ifndef RHCA_MLX5_EVENTS_H
#define RHCA_MLX5_EVENTS_H

struct rhca_mlx5;
struct rhca_mlx5_qp;

void rhca_mlx5_for_each_qp(struct rhca_mlx5 *hca,
			   void (*fn)(struct rhca_mlx5_qp *qp, void *data),
			   void *data);
int rhca_mlx5_events_init(struct rhca_mlx5 *hca);
void rhca_mlx5_events_exit(struct rhca_mlx5 *hca);

#endif
