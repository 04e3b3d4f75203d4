/* SPDX-License-Identifier: GPL-2.0 */
/* Creation and modification of queue pairs. */
#ifndef RHCA_MLX5_QP_H
#define RHCA_MLX5_QP_H

#include <rdma/ib_verbs.h>

#include "qp_types.h"

int rhca_mlx5_qp_create(struct rhca_qp *base, struct ib_qp_init_attr *init,
			struct ib_udata *udata);
int rhca_mlx5_qp_destroy(struct rhca_qp *base, struct ib_udata *udata);
int rhca_mlx5_qp_modify(struct rhca_qp *base,
			const struct rhca_qp_change *change,
			struct ib_udata *udata);
int rhca_mlx5_qp_query(struct rhca_qp *base, struct ib_qp_attr *attr,
		       int mask);

#endif
