/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes of memory keys by requests on the driver's own queue ("user-mode memory registration" in
 * the adapter's documents).
 */
#ifndef RHCA_MLX5_UMR_H
#define RHCA_MLX5_UMR_H

#include <linux/types.h>

struct rhca_mlx5;
struct rhca_mlx5_key_spec;

int rhca_mlx5_change_key(struct rhca_mlx5 *hca,
			 const struct rhca_mlx5_key_spec *spec, u32 key,
			 int flags);
bool rhca_mlx5_can_fill_key(const struct rhca_mlx5 *hca,
			    const struct rhca_mlx5_key_spec *spec);
int rhca_mlx5_create_empty_key(struct rhca_mlx5 *hca, u8 log_pages, int access,
			       u32 *key);
int rhca_mlx5_fill_key(struct rhca_mlx5 *hca,
		       const struct rhca_mlx5_key_spec *spec, u32 key, u8 variant);
int rhca_mlx5_empty_key(struct rhca_mlx5 *hca, u32 key);

#endif
