/* SPDX-License-Identifier: GPL-2.0 */
/* Setup of a function for an RDMA device, and its capabilities. */
#ifndef RHCA_MLX5_IDENTITY_H
#define RHCA_MLX5_IDENTITY_H

#include <rdma/ib_verbs.h>

struct mlx5_core_dev;
struct rhca_mlx5;

int rhca_mlx5_device_init(struct rhca_mlx5 *hca, struct ib_device *ibdev);
void rhca_mlx5_device_exit(struct rhca_mlx5 *hca);
void rhca_mlx5_describe(const struct mlx5_core_dev *mdev,
			struct ib_device_attr *attr);
int rhca_mlx5_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			   struct ib_udata *udata);
void rhca_mlx5_get_dev_fw_str(struct ib_device *ibdev, char *text);

#endif
