/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_MLX5_CQE_ERROR_H
#define RHCA_MLX5_CQE_ERROR_H

#include <rdma/ib_verbs.h>

enum ib_wc_status rhca_mlx5_status_of(u8 syndrome);

#endif
