/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_MLX5_QP_USER_H
#define RHCA_MLX5_QP_USER_H

#include <linux/types.h>

struct ib_udata;
struct ib_qp_init_attr;
struct mlx5_core_dev;
struct rhca_mlx5_qp;

int rhca_mlx5_qp_clock(const struct mlx5_core_dev *mdev,
		       const struct ib_qp_init_attr *init);
int rhca_mlx5_qp_pin(struct rhca_mlx5_qp *qp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata);
int rhca_mlx5_qp_answer(const struct rhca_mlx5_qp *qp, struct ib_udata *udata);
int rhca_mlx5_ece_asked(struct ib_udata *udata, u32 *ece);
void rhca_mlx5_ece_answer(struct ib_udata *udata, u32 ece);

#endif
