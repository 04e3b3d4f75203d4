/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of the software HCA: per-CPU arrays, so that the data path shares no cache line. A QP
 * counts in the array of its port, or of the rdma_counter it is bound to.
 */
#ifndef RHCA_SW_VERBS_COUNTERS_H
#define RHCA_SW_VERBS_COUNTERS_H

#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <rhca/counter.h>

#include "core/port/port.h"

struct rhca_counters {
	u64 value[RHCA_NUM_COUNTERS];
};

static inline void rhca_counter_add(struct rhca_counters __percpu *c,
				    enum rhca_counter which, u64 n)
{
	this_cpu_add(c->value[which], n);
}

static inline void rhca_counter_inc(struct rhca_counters __percpu *c,
				    enum rhca_counter which)
{
	this_cpu_inc(c->value[which]);
}

/* A set of counters */
struct rhca_verbs_set {
	struct rhca_counters __percpu *values;
	unsigned long optional;		/* of a port: enabled ones, from RHCA_FIRST_OPTIONAL */
	struct rhca_verbs_set *port;	/* the port's own set, which receives late counts */
	struct rhca_counters shown;	/* last values shown to users; set on close */
	struct rcu_head rcu;		/* packets may still use it when it is closed */
};

static inline struct rhca_verbs_set *
rhca_port_set(const struct rhca_port *port)
{
	return port->counter_set.private;
}

static inline void rhca_port_count(struct rhca_port *port,
				   enum rhca_counter which)
{
	rhca_counter_inc(rhca_port_set(port)->values, which);
}

/* Under static_branch_unlikely(&rhca_optional_key) */
static inline bool rhca_port_counts(const struct rhca_port *port,
				    enum rhca_counter optional)
{
	return test_bit(optional - RHCA_FIRST_OPTIONAL,
			&rhca_port_set(port)->optional);
}

u64 rhca_counter_sum(const struct rhca_counters __percpu *c,
		     enum rhca_counter which);
bool rhca_verbs_has_counter(const struct rhca_dev *dev,
			    enum rhca_counter which);
int rhca_verbs_counters_open(struct rhca_counter_set *core);
void rhca_verbs_counters_close(struct rhca_counter_set *core, const u64 *shown);
int rhca_verbs_counters_read(struct rhca_counter_set *core, u64 *values);
int rhca_verbs_counters_enable(struct rhca_port *port, enum rhca_counter which,
			       bool enable);

/* Enabled if any port has an optional counter enabled */
DECLARE_STATIC_KEY_FALSE(rhca_optional_key);

#endif
