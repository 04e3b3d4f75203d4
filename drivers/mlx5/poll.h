/* SPDX-License-Identifier: GPL-2.0 */
/* Polling of the kernel's completion queues. */
#ifndef RHCA_MLX5_POLL_H
#define RHCA_MLX5_POLL_H

#include <rdma/ib_verbs.h>

struct rhca_mlx5_cq;
struct rhca_mlx5_qp;

int rhca_mlx5_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int rhca_mlx5_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
void rhca_mlx5_cq_purge(struct rhca_mlx5_cq *cq, struct rhca_mlx5_qp *qp);

#endif
