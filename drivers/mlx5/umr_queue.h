/* SPDX-License-Identifier: GPL-2.0 */
/* The driver's own queue pair, whose requests change memory keys. */
#ifndef RHCA_MLX5_UMR_QUEUE_H
#define RHCA_MLX5_UMR_QUEUE_H

#include <linux/mlx5/qp.h>

#include "buffer.h"
#include "command.h"
#include "cq.h"
#include "key_list.h"

struct rhca_mlx5;

/* Pages of one request; longer lists take several */
#define RHCA_MLX5_UMR_LIST_PAGES	8192

/* A queue pair whose requests change memory keys */
struct rhca_mlx5_umr_queue {
	u32 pd;			/* number of its PD, which also holds unused keys */
	u32 bus_key;		/* key for all memory, with which the adapter reads @list */
	struct rhca_mlx5_key_list list;	/* pages for the key being filled, in parts */
	struct rhca_mlx5_cq cq;	/* its completion queue */
	struct rhca_mlx5_buffer buffer;	/* its send queue */
	struct rhca_mlx5_qp_spec spec;	/* its description for commands */
	u32 number;		/* its number */
	u16 next_block;		/* of the next request; not reset at the end of the ring */
	bool is_broken;		/* it could not be restarted after a failed request */
};

/* A request that changes a key */
struct rhca_mlx5_umr_request {
	struct mlx5_wqe_ctrl_seg control;	/* filled in when it is posted */
	struct mlx5_wqe_umr_ctrl_seg umr;	/* which fields change */
	struct mlx5_mkey_seg key;		/* the key's new context */
	/* address of the list of pages; absent with MLX5_UMR_INLINE */
	struct mlx5_wqe_data_seg list;
};

int rhca_mlx5_umr_queue_create(struct rhca_mlx5 *hca);
void rhca_mlx5_umr_queue_destroy(struct rhca_mlx5 *hca);
int rhca_mlx5_umr_execute(struct rhca_mlx5 *hca,
			  struct rhca_mlx5_umr_request *request, u32 key);

#endif
