/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles in the layout of a datagram's request. */
#ifndef RHCA_MLX5_ADDRESS_H
#define RHCA_MLX5_ADDRESS_H

#include <linux/mlx5/qp.h>

#include "core/qp/ah.h"

/* Address handle */
struct rhca_mlx5_ah {
	struct rhca_ah base;	/* the core's part */
	/* copied into requests to QP1, which have the Q_Key and QP number */
	struct mlx5_av av;
	struct mlx5_av ud_av;	/* likewise for other datagrams, with the GID type of ud_gid_type */
};

static inline struct rhca_mlx5_ah *rhca_mlx5_ah_of(struct ib_ah *ibah)
{
	return container_of(ibah, struct rhca_mlx5_ah, base.ibah);
}

int rhca_mlx5_static_rate(const struct mlx5_core_dev *mdev, u8 rate);
int rhca_mlx5_ah_create(struct rhca_ah *base, u32 flags, struct ib_udata *udata);

#endif
