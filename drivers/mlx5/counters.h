/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters that the adapter keeps, under the names that the core has for them.
 */
#ifndef RHCA_MLX5_COUNTERS_H
#define RHCA_MLX5_COUNTERS_H

#include "core/counters.h"
#include "core/pma.h"

#define RHCA_MLX5_NUM_COUNTERS	27

extern const enum rhca_counter rhca_mlx5_counters[RHCA_MLX5_NUM_COUNTERS];

int rhca_mlx5_counters_open(struct rhca_counter_set *set);
void rhca_mlx5_counters_close(struct rhca_counter_set *set, const u64 *shown);
int rhca_mlx5_counters_read(struct rhca_counter_set *set, u64 *values);
int rhca_mlx5_pma_read(struct rhca_port *port, struct rhca_pma_values *values);

#endif
