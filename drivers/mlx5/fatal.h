/* SPDX-License-Identifier: GPL-2.0 */
/* An adapter whose firmware died, until mlx5_core resets it. */
#ifndef RHCA_MLX5_FATAL_H
#define RHCA_MLX5_FATAL_H

#include <rdma/ib_verbs.h>

struct rhca_mlx5;
struct rhca_mlx5_cq;

int rhca_mlx5_fatal_init(struct rhca_mlx5 *hca);
void rhca_mlx5_fatal_exit(struct rhca_mlx5 *hca);
int rhca_mlx5_flush(struct rhca_mlx5_cq *cq, int num, struct ib_wc *wc);
bool rhca_mlx5_has_unflushed(struct rhca_mlx5_cq *cq);

#endif
