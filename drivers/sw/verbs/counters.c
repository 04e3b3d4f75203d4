// SPDX-License-Identifier: GPL-2.0
/* Sets of per-CPU counters: the operations counters_* of &struct rhca_backend_ops. */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/slab.h>
#include <rhca/compat.h>

#include "sw/verbs/counters.h"

DEFINE_STATIC_KEY_FALSE(rhca_optional_key);

/* Sum of a counter over all CPUs */
u64 rhca_counter_sum(const struct rhca_counters __percpu *c,
		     enum rhca_counter which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(c, cpu)->value[which];
	return sum;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_counter_sum);

static void free_set(struct rhca_verbs_set *set)
{
	free_percpu(set->values);
	kfree(set);
}

int rhca_verbs_counters_open(struct rhca_counter_set *core)
{
	/* Charged: with a counter set per QP, processes create them */
	struct rhca_verbs_set *set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);

	if (!set)
		return -ENOMEM;
	set->values = alloc_percpu_gfp(struct rhca_counters,
				       GFP_KERNEL_ACCOUNT);
	if (!set->values) {
		kfree(set);
		return -ENOMEM;
	}
	/* The port's own set is created first, so this is NULL for it */
	set->port = rhca_port_set(core->port);
	core->private = set;
	return 0;
}

/* Late packets were counted here until now: move them to the port */
static void free_set_rcu(struct rcu_head *rcu)
{
	struct rhca_verbs_set *set = container_of(rcu, struct rhca_verbs_set,
						  rcu);
	u64 late;
	int i;

	for (i = 0; i < RHCA_NUM_COUNTERS; i++) {
		late = rhca_counter_sum(set->values, i) - set->shown.value[i];
		rhca_counter_add(set->port->values, i, late);
	}
	free_set(set);
}

/* The port is closed: drop its uses of the static key */
static void close_port_set(struct rhca_verbs_set *set)
{
	/* Closed sets may still move late counts to this one */
	rcu_barrier();
	while (set->optional) {
		set->optional &= set->optional - 1;
		static_branch_dec(&rhca_optional_key);
	}
	free_set(set);
}

void rhca_verbs_counters_close(struct rhca_counter_set *core, const u64 *shown)
{
	struct rhca_verbs_set *set = core->private;

	if (!set->port) {
		close_port_set(set);
		core->private = NULL;
		return;
	}
	if (shown)
		memcpy(set->shown.value, shown, sizeof(set->shown.value));
	call_rcu(&set->rcu, free_set_rcu);
}

bool rhca_verbs_has_counter(const struct rhca_dev *dev, enum rhca_counter which)
{
	return which < RHCA_FIRST_OF_ADAPTERS;
}

int rhca_verbs_counters_read(struct rhca_counter_set *core, u64 *values)
{
	const struct rhca_verbs_set *set = core->private;
	int i;

	for (i = 0; i < RHCA_NUM_COUNTERS; i++)
		values[i] = rhca_counter_sum(set->values, i);
	return 0;
}

int rhca_verbs_counters_enable(struct rhca_port *port, enum rhca_counter which,
			       bool enable)
{
	unsigned long *optional = &rhca_port_set(port)->optional;
	int bit = which - RHCA_FIRST_OPTIONAL;

	if (enable && !test_and_set_bit(bit, optional))
		static_branch_inc(&rhca_optional_key);
	if (!enable && test_and_clear_bit(bit, optional))
		static_branch_dec(&rhca_optional_key);
	return 0;
}
