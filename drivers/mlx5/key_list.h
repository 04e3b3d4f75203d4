/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contents of a key for fast registration: a list that the adapter reads when it executes the
 * request.
 */
#ifndef RHCA_MLX5_KEY_LIST_H
#define RHCA_MLX5_KEY_LIST_H

#include <linux/align.h>
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <rdma/ib_verbs.h>

#define RHCA_MLX5_LIST_ALIGN	64	/* the adapter reads whole groups */

/* A list of a region's memory */
struct rhca_mlx5_key_list {
	/*
	 * page addresses (__be64), or pieces of any length; NULL for a region that no request fills
	 */
	void *entries;
	dma_addr_t dma;		/* bus address of @entries */
	size_t room;		/* in bytes */
	u32 num;		/* number of @entries */
	bool has_pieces;	/* a list of pieces */
};

static inline size_t
rhca_mlx5_key_entry_bytes(const struct rhca_mlx5_key_list *list)
{
	return list->has_pieces ? sizeof(struct mlx5_klm) : sizeof(__be64);
}

/*
 * Limit on pages or pieces of a region that requests of the kernel fill. A request has the list's
 * size in octwords, in 16 bits and in whole groups. A piece is an octword, so the 65536 pieces that
 * adapters allow would be encoded as 0. Users see one limit for both.
 */
static inline u32 rhca_mlx5_key_list_max(const struct mlx5_core_dev *mdev)
{
	return min_t(u64, BIT_ULL(MLX5_CAP_GEN(mdev, log_max_klm_list_size)),
		     ALIGN_DOWN(U16_MAX, RHCA_MLX5_LIST_ALIGN / MLX5_OCTWORD));
}

/* Without the padding of the last group */
static inline size_t
rhca_mlx5_key_list_bytes(const struct rhca_mlx5_key_list *list)
{
	return list->num * rhca_mlx5_key_entry_bytes(list);
}

int rhca_mlx5_key_list_alloc(struct rhca_mlx5_key_list *list,
			     struct device *device, u32 max_entries);
void rhca_mlx5_key_list_free(struct rhca_mlx5_key_list *list,
			     struct device *device);
void rhca_mlx5_key_list_begin(struct rhca_mlx5_key_list *list,
			      struct device *device);
int rhca_mlx5_key_list_add_page(struct rhca_mlx5_key_list *list, u64 address);
int rhca_mlx5_key_list_add_pieces(struct rhca_mlx5_key_list *list,
				  struct ib_mr *ibmr, struct scatterlist *sg,
				  int sg_entries, unsigned int *sg_offset);
void rhca_mlx5_key_list_end(struct rhca_mlx5_key_list *list,
			    struct device *device);

#endif
