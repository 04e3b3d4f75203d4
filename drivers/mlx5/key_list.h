/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a key for fast registration is filled with: a list that the adapter reads when it
 * executes the request.
 */
#ifndef RHCA_MLX5_KEY_LIST_H
#define RHCA_MLX5_KEY_LIST_H

#include <linux/mlx5/qp.h>
#include <rdma/ib_verbs.h>

#define RHCA_MLX5_LIST_ALIGN	64	/* the adapter reads whole groups */

/**
 * struct rhca_mlx5_key_list - Where the memory of a region is
 * @entries: addresses of pages (__be64), or pieces of any length; NULL for a region that
 *	no request fills
 * @dma: bus address of @entries
 * @room: in bytes
 * @num: how many entries there are
 * @has_pieces: it is a list of pieces
 */
struct rhca_mlx5_key_list {
	void *entries;
	dma_addr_t dma;
	size_t room;
	u32 num;
	bool has_pieces;
};

static inline size_t
rhca_mlx5_key_entry_bytes(const struct rhca_mlx5_key_list *list)
{
	return list->has_pieces ? sizeof(struct mlx5_klm) : sizeof(__be64);
}

/* Without what fills up the last group */
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
