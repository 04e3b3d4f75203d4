/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes of memory keys by requests on a queue of the driver's own (user-mode memory
 * registration, as the adapter's documents call it).
 */
#ifndef RHCA_MLX5_UMR_H
#define RHCA_MLX5_UMR_H

#include <linux/types.h>

struct rhca_mlx5;
struct rhca_mlx5_key_spec;

/* What is to change in a memory key */
struct rhca_mlx5_key_change {
	u32 key;		/* the key, of a process's memory */
	bool new_access;	/* the rights change */
	int old_access;		/* IB_ACCESS_* that it has */
	int access;		/* IB_ACCESS_* that it gets, with @new_access */
	bool new_pd;		/* the protection domain changes */
	u32 pd;			/* number of the new one, with @new_pd */
};

int rhca_mlx5_change_key(struct rhca_mlx5 *hca,
			 const struct rhca_mlx5_key_change *change);

bool rhca_mlx5_can_fill_key(const struct rhca_mlx5 *hca,
			    const struct rhca_mlx5_key_spec *spec);
int rhca_mlx5_create_empty_key(struct rhca_mlx5 *hca, u8 log_pages, int access,
			       u32 *key);
int rhca_mlx5_fill_key(struct rhca_mlx5 *hca,
		       const struct rhca_mlx5_key_spec *spec, u32 key);
int rhca_mlx5_empty_key(struct rhca_mlx5 *hca, u32 key);

#endif
