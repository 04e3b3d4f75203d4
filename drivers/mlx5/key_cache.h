/* SPDX-License-Identifier: GPL-2.0 */
/* Unused memory keys, ready to be filled with pages. */
#ifndef RHCA_MLX5_KEY_CACHE_H
#define RHCA_MLX5_KEY_CACHE_H

#include <linux/types.h>

struct rhca_mlx5;
struct rhca_mlx5_key_spec;

void rhca_mlx5_key_cache_init(struct rhca_mlx5 *hca);
void rhca_mlx5_key_cache_exit(struct rhca_mlx5 *hca);
int rhca_mlx5_cached_key_get(struct rhca_mlx5 *hca,
			     const struct rhca_mlx5_key_spec *spec, u8 variant,
			     u32 *key);
int rhca_mlx5_cached_key_put(struct rhca_mlx5 *hca, u32 num_pages, int access,
			     u32 key);

#endif
