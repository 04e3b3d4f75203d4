/* SPDX-License-Identifier: GPL-2.0 */
/* By which clock the completions of a queue pair are stamped. */
#ifndef RHCA_MLX5_QP_CLOCK_H
#define RHCA_MLX5_QP_CLOCK_H

#include <rdma/ib_verbs.h>

int rhca_mlx5_qp_clock(struct mlx5_core_dev *mdev,
		       const struct ib_qp_init_attr *init, bool is_user);

#endif
