/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory keys that nobody uses, ready to be filled with pages.
 */
#ifndef RHCA_MLX5_KEY_CACHE_H
#define RHCA_MLX5_KEY_CACHE_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "umr.h"

struct rhca_mlx5;
struct rhca_mlx5_key_spec;

/* The smallest has the pages that go into one group of the adapter's */
#define RHCA_MLX5_KEY_MIN_PAGES_LOG	3
#define RHCA_MLX5_KEY_SIZES \
	(RHCA_MLX5_UMR_MAX_PAGES_LOG - RHCA_MLX5_KEY_MIN_PAGES_LOG + 1)
/* Of each size. They have 8 bytes a page in the adapter: 0.5 MiB in all */
#define RHCA_MLX5_KEYS_KEPT		64

/**
 * struct rhca_mlx5_key_cache - Keys without pages, by the pages that they have room for
 * @lock: protects what follows; nothing is taken under it
 * @num: how many there are of each size
 * @keys: the keys
 */
struct rhca_mlx5_key_cache {
	spinlock_t lock;	/* protects: */
	u8 num[RHCA_MLX5_KEY_SIZES];
	u32 keys[RHCA_MLX5_KEY_SIZES][RHCA_MLX5_KEYS_KEPT];
};

void rhca_mlx5_key_cache_init(struct rhca_mlx5 *hca);
void rhca_mlx5_key_cache_exit(struct rhca_mlx5 *hca);
int rhca_mlx5_cached_key_get(struct rhca_mlx5 *hca,
			     const struct rhca_mlx5_key_spec *spec, u8 variant,
			     u32 *key);
int rhca_mlx5_cached_key_put(struct rhca_mlx5 *hca, u32 num_pages, u32 key);

#endif
