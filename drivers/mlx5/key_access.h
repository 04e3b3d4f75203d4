/* SPDX-License-Identifier: GPL-2.0 */
/* Access rights of memory keys in the adapter's layout. */
#ifndef RHCA_MLX5_KEY_ACCESS_H
#define RHCA_MLX5_KEY_ACCESS_H

#include <linux/mlx5/driver.h>

void rhca_mlx5_set_key_access(struct mlx5_core_dev *mdev, void *mkc, int access);
u64 rhca_mlx5_key_access_mask(const struct mlx5_core_dev *mdev);
int rhca_mlx5_unchangeable_access(const struct mlx5_core_dev *mdev, int access);

#endif
