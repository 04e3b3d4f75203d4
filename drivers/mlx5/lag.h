/* SPDX-License-Identifier: GPL-2.0 */
/* Two functions of an adapter whose netdevs are the ports of a bond. */
#ifndef RHCA_MLX5_LAG_H
#define RHCA_MLX5_LAG_H

#include <rdma/ib_verbs.h>

struct rhca_mlx5;

bool rhca_mlx5_lag_covers(const struct rhca_mlx5 *hca,
			  const struct net_device *ndev);
int rhca_mlx5_lag_init(struct rhca_mlx5 *hca);
void rhca_mlx5_lag_exit(struct rhca_mlx5 *hca);
u8 rhca_mlx5_lag_assign(struct rhca_mlx5 *hca, enum ib_qp_type type);
u8 rhca_mlx5_lag_port_of(struct rhca_mlx5 *hca, const struct ib_qp_attr *attr,
			 int mask);

#endif
