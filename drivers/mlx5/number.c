// SPDX-License-Identifier: GPL-2.0
/* Lookup of objects by the adapter's numbers. */
#include "number.h"

/* Make an object visible to events. May sleep. Returns 0 or -ENOMEM. */
int rhca_mlx5_number_add(struct xarray *table, u32 number,
			 struct rhca_mlx5_numbered *object)
{
	refcount_set(&object->refs, 1);
	init_completion(&object->idle);
	object->number = number;
	return xa_err(xa_store_irq(table, number, object, GFP_KERNEL));
}

/* Undo rhca_mlx5_number_get(). */
void rhca_mlx5_number_put(struct rhca_mlx5_numbered *object)
{
	if (refcount_dec_and_test(&object->refs))
		complete(&object->idle);
}

/* Hide an object from events. May sleep; waits for events that are being raised. */
void rhca_mlx5_number_remove(struct xarray *table,
			     struct rhca_mlx5_numbered *object)
{
	/* The adapter may have assigned the number to another object already */
	xa_cmpxchg_irq(table, object->number, object, NULL, GFP_KERNEL);
	rhca_mlx5_number_put(object);
	wait_for_completion(&object->idle);
}

/*
 * Look up an object by its number. Any context. Returns the object with a reference, for
 * rhca_mlx5_number_put(), or NULL.
 */
struct rhca_mlx5_numbered *rhca_mlx5_number_get(struct xarray *table, u32 number)
{
	struct rhca_mlx5_numbered *object;
	unsigned long flags;

	xa_lock_irqsave(table, flags);
	object = xa_load(table, number);
	if (object)
		refcount_inc(&object->refs);
	xa_unlock_irqrestore(table, flags);
	return object;
}
