/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_MLX5_QP_ERROR_H
#define RHCA_MLX5_QP_ERROR_H

#include <linux/types.h>

struct rhca_mlx5;

void rhca_mlx5_qp_error_init(struct rhca_mlx5 *hca);
void rhca_mlx5_qp_error_exit(struct rhca_mlx5 *hca);
void rhca_mlx5_qp_error_note(struct rhca_mlx5 *hca, u32 number);

#endif
