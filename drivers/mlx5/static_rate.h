/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_MLX5_STATIC_RATE_H
#define RHCA_MLX5_STATIC_RATE_H

#include <linux/types.h>

struct mlx5_core_dev;

int rhca_mlx5_static_rate(const struct mlx5_core_dev *mdev, u8 rate);

#endif
