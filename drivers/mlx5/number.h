/* SPDX-License-Identifier: GPL-2.0 */
/* Lookup of objects by the adapter's numbers. */
#ifndef RHCA_MLX5_NUMBER_H
#define RHCA_MLX5_NUMBER_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/xarray.h>

/* An object that events look up by its number */
struct rhca_mlx5_numbered {
	refcount_t refs;	/* the object itself, and events being raised */
	struct completion idle;	/* completed when @refs drops to 0 */
	u32 number;		/* the adapter's */
};

int rhca_mlx5_number_add(struct xarray *table, u32 number,
			 struct rhca_mlx5_numbered *object);
void rhca_mlx5_number_remove(struct xarray *table,
			     struct rhca_mlx5_numbered *object);
struct rhca_mlx5_numbered *rhca_mlx5_number_get(struct xarray *table, u32 number);
void rhca_mlx5_number_put(struct rhca_mlx5_numbered *object);

#endif
