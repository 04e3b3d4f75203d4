/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects by their number, and the events that the adapter raises for them.
 */
#ifndef RHCA_MLX5_EVENTS_H
#define RHCA_MLX5_EVENTS_H

#include <linux/completion.h>
#include <linux/mlx5/device.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct rhca_mlx5;
struct rhca_mlx5_qp;

/**
 * struct rhca_mlx5_numbered - An object that events find by its number
 * @refs: the object itself, and events that are being raised
 * @idle: completed when the last of @refs has gone
 * @number: the adapter's
 */
struct rhca_mlx5_numbered {
	refcount_t refs;
	struct completion idle;
	u32 number;
};

int rhca_mlx5_number_add(struct xarray *table, u32 number,
			 struct rhca_mlx5_numbered *object);
void rhca_mlx5_number_remove(struct xarray *table,
			     struct rhca_mlx5_numbered *object);
void rhca_mlx5_for_each_qp(struct rhca_mlx5 *hca,
			   void (*fn)(struct rhca_mlx5_qp *qp));
int rhca_mlx5_events_init(struct rhca_mlx5 *hca);
void rhca_mlx5_events_exit(struct rhca_mlx5 *hca);

#endif
