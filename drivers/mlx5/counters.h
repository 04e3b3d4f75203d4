/* SPDX-License-Identifier: GPL-2.0 */
/* The adapter's counters under the core's names. */
#ifndef RHCA_MLX5_COUNTERS_H
#define RHCA_MLX5_COUNTERS_H

#include <linux/atomic.h>
#include <linux/mutex.h>

#include "core/counters.h"
#include "core/rules/pma.h"

struct rhca_counter_set;
struct rhca_dev;
struct rhca_qp;

/* Counters of a set of queue pairs */
struct rhca_mlx5_counter_set {
	u32 number;		/* in the adapter */
	atomic64_t mtu_mismatches;	/* counted by the core: the adapter has no such counter */
	struct mutex late_lock;	/* protects: */
	/* of a port's own set: counts of closed sets after users last read these */
	u64 late[RHCA_NUM_COUNTERS];
};

bool rhca_mlx5_has_counter(const struct rhca_dev *dev, enum rhca_counter which);
int rhca_mlx5_counters_open(struct rhca_counter_set *set);
void rhca_mlx5_counters_close(struct rhca_counter_set *set, const u64 *shown);
int rhca_mlx5_counters_read(struct rhca_counter_set *set, u64 *values);
int rhca_mlx5_counters_bind(struct rhca_qp *base, struct rhca_counter_set *set);
void rhca_mlx5_qp_count(struct rhca_qp *base, enum rhca_counter which);
int rhca_mlx5_pma_read(struct rhca_port *port, struct rhca_pma_values *values);

#endif
