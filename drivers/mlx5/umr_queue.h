/* SPDX-License-Identifier: GPL-2.0 */
/* The queue pair whose requests change memory keys. It is the driver's own. */
#ifndef RHCA_MLX5_UMR_QUEUE_H
#define RHCA_MLX5_UMR_QUEUE_H

#include <linux/mlx5/qp.h>

#include "buffer.h"
#include "command.h"
#include "cq.h"
#include "key_list.h"

struct rhca_mlx5;

/* What one request takes of a longer list of pages */
#define RHCA_MLX5_UMR_LIST_PAGES	8192

/* A queue pair whose requests change memory keys */
struct rhca_mlx5_umr_queue {
	u32 pd;			/* number of its domain, which also has keys that nobody uses */
	u32 bus_key;		/* key of all memory, by which the adapter reads @list */
	struct rhca_mlx5_key_list list;	/* pages for a key that is filled, part by part */
	struct rhca_mlx5_cq cq;	/* its completion queue */
	struct rhca_mlx5_buffer buffer;	/* its send queue */
	struct rhca_mlx5_qp_spec spec;	/* what the adapter knows of it */
	u32 number;		/* its number */
	u16 next_block;		/* of the next request; counts on from round to round */
	bool is_broken;		/* it could not be started again after a request that failed */
};

/* A request: to which key, what, and how it is then */
struct rhca_mlx5_umr_request {
	struct mlx5_wqe_ctrl_seg control;	/* filled in when it is posted */
	struct mlx5_wqe_umr_ctrl_seg umr;	/* what changes */
	struct mlx5_mkey_seg key;		/* the key's new context */
	/* where addresses of pages are; not there with MLX5_UMR_INLINE */
	struct mlx5_wqe_data_seg list;
};

int rhca_mlx5_umr_queue_create(struct rhca_mlx5 *hca);
void rhca_mlx5_umr_queue_destroy(struct rhca_mlx5 *hca);
int rhca_mlx5_umr_execute(struct rhca_mlx5 *hca,
			  struct rhca_mlx5_umr_request *request, u32 key);

#endif
