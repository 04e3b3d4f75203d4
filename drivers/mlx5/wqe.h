/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests of the kernel. */
#ifndef RHCA_MLX5_WQE_H
#define RHCA_MLX5_WQE_H

#include <linux/mlx5/qp.h>
#include <rdma/ib_verbs.h>

/* A list of up to this size is in the request itself: the adapter need not fetch it */
#define RHCA_MLX5_INLINE_LIST_BYTES	64

#define RHCA_MLX5_UMR_BYTES	(sizeof(struct mlx5_wqe_ctrl_seg) + \
				 sizeof(struct mlx5_wqe_umr_ctrl_seg) + \
				 sizeof(struct mlx5_mkey_seg) + \
				 RHCA_MLX5_INLINE_LIST_BYTES)

int rhca_mlx5_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr);
int rhca_mlx5_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);
void rhca_mlx5_set_scatter(struct mlx5_wqe_data_seg *to,
			   const struct ib_recv_wr *wr, u32 room,
			   __be32 end_of_list);

#endif
