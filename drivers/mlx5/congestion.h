/* SPDX-License-Identifier: GPL-2.0 */
/* Files for the adapter's parameters of congestion control. */
#ifndef RHCA_MLX5_CONGESTION_H
#define RHCA_MLX5_CONGESTION_H

struct ib_device;

void rhca_mlx5_congestion_add_files(struct ib_device *ibdev);

#endif
