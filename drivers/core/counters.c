// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of ports and QPs in sysfs (hw_counters) and in "rdma statistic".
 *
 * A QP bound by "rdma statistic qp" counts into a set of its own and no longer into its port's.
 * ib_core adds the sets to what it shows of the port: the present ones as they are, the removed
 * ones as it read them last. What a QP counted into a set after that is added to the port once no
 * packet can use the set any more: that is up to the backend.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/counters.h"
#include "core/port/device_types.h"
#include "core/qp/qp.h"

#define NAME(id, text) \
	[id] = (text),

static const char *const names[RHCA_NUM_COUNTERS] = { RHCA_COUNTERS(NAME) };

const char *rhca_counter_name(enum rhca_counter which)
{
	return names[which];
}

/* --- names ---------------------------------------------------------------- */

static bool has_counter(const struct rhca_dev *dev, enum rhca_counter which)
{
	const struct rhca_backend_ops *backend = dev->backend;

	return !backend->has_counter || backend->has_counter(dev, which);
}

static void add_descs(struct rhca_dev *dev, bool optional)
{
	u32 i;

	for (i = 0; i < RHCA_NUM_COUNTERS; i++) {
		bool is_optional = i >= RHCA_FIRST_OPTIONAL && i < RHCA_FIRST_OF_ADAPTERS;

		if (is_optional != optional || !has_counter(dev, i))
			continue;
		dev->counter_descs[dev->num_counters] = (struct rdma_stat_desc) {
			.name = names[i], .flags = optional ? IB_STAT_FLAG_OPTIONAL : 0,
		};
		dev->counter_ids[dev->num_counters] = i;
		dev->num_counters++;
	}
}

static struct rdma_hw_stats *alloc_stats(const struct rhca_dev *dev)
{
	struct rdma_hw_stats *stats;
	u32 i;

	stats = rdma_alloc_hw_stats_struct(dev->counter_descs,
					   dev->num_counters,
					   RDMA_HW_STATS_DEFAULT_LIFESPAN);
	for (i = 0; stats && i < dev->num_counters; i++)
		if (dev->counter_descs[i].flags & IB_STAT_FLAG_OPTIONAL)
			__set_bit(i, stats->is_disabled);
	return stats;
}

/* --- sets ----------------------------------------------------------------- */

/* The core counts the downs of the link */
static int read_set(struct rhca_counter_set *set, u64 *values)
{
	struct rhca_port *port = set->port;
	int ret;

	memset(values, 0, RHCA_NUM_COUNTERS * sizeof(*values));
	ret = port->dev->backend->counters_read(set, values);
	if (ret)
		return ret;
	values[RHCA_LINK_DOWNED] = set == &port->counter_set ?
		atomic_read(&port->link_downed) : 0;
	return 0;
}

static int show_set(struct rhca_counter_set *set, struct rdma_hw_stats *stats)
{
	struct rhca_dev *dev = set->port->dev;
	u64 values[RHCA_NUM_COUNTERS];
	int ret = read_set(set, values);
	u32 i;

	for (i = 0; !ret && i < dev->num_counters; i++)
		stats->value[i] = values[dev->counter_ids[i]];
	return ret;
}

static void close_ports_sets(struct rhca_dev *dev, u32 num)
{
	while (num)
		dev->backend->counters_close(&dev->ports[--num].counter_set,
					     NULL);
}

static int open_ports_sets(struct rhca_dev *dev)
{
	struct rhca_port *port;
	u32 i;
	int ret;

	for (i = 0; i < dev->num_ports; i++) {
		port = &dev->ports[i];
		port->counter_set.port = port;
		ret = dev->backend->counters_open(&port->counter_set);
		if (ret) {
			close_ports_sets(dev, i);
			return ret;
		}
	}
	return 0;
}

/* Set up the ports' own sets, after the backend's dev_init. May sleep. */
int rhca_counters_init(struct rhca_dev *dev)
{
	xa_init_flags(&dev->counter_sets, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	mutex_init(&dev->counters_lock);
	/* ib_core requires optional ones last */
	add_descs(dev, false);
	add_descs(dev, true);
	return open_ports_sets(dev);
}

/* Undo rhca_counters_init() after QPs and rdma_counters are freed */
void rhca_counters_exit(struct rhca_dev *dev)
{
	close_ports_sets(dev, dev->num_ports);
	xa_destroy(&dev->counter_sets);
}

/*
 * All that was counted on a port: its own set and all others, including removed ones. May sleep.
 * Returns 0 or an error of the backend.
 */
int rhca_port_totals(struct rhca_port *port, u64 *totals)
{
	struct rhca_dev *dev = port->dev;
	struct rhca_counter_set *set;
	u64 values[RHCA_NUM_COUNTERS];
	unsigned long id;
	int i, ret;

	mutex_lock(&dev->counters_lock);
	ret = read_set(&port->counter_set, totals);
	for (i = 0; i < RHCA_NUM_COUNTERS; i++)
		totals[i] += port->retired[i];
	xa_for_each(&dev->counter_sets, id, set) {
		if (ret || set->port != port)
			continue;
		ret = read_set(set, values);
		for (i = 0; !ret && i < RHCA_NUM_COUNTERS; i++)
			totals[i] += values[i];
	}
	mutex_unlock(&dev->counters_lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_port_totals);

/* --- ports ---------------------------------------------------------------- */

static struct rdma_hw_stats *alloc_port_stats(struct ib_device *ibdev,
					      u32 port_num)
{
	return alloc_stats(to_rhca_dev(ibdev));
}

static int get_port_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			  u32 port_num, int index)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);
	int ret;

	if (!port || !stats)
		return -EINVAL;
	ret = show_set(&port->counter_set, stats);
	return ret ?: port->dev->num_counters;
}

static int switch_optional(struct ib_device *ibdev, u32 port_num,
			   unsigned int index, bool enable)
{
	struct rhca_dev *dev = to_rhca_dev(ibdev);
	struct rhca_port *port = rhca_port_of(dev, port_num);

	if (!port || index >= dev->num_counters ||
	    !(dev->counter_descs[index].flags & IB_STAT_FLAG_OPTIONAL))
		return -EINVAL;
	if (!dev->backend->counters_enable)
		return -EOPNOTSUPP;
	return dev->backend->counters_enable(port, dev->counter_ids[index],
					     enable);
}

/* --- bound QPs ------------------------------------------------------------ */

/* @shown: as of remove_set() */
static void end_set(struct rhca_dev *dev, struct rhca_counter_set *set,
		    const u64 *shown)
{
	u64 values[RHCA_NUM_COUNTERS] = {};
	u32 i;

	for (i = 0; shown && i < dev->num_counters; i++)
		values[dev->counter_ids[i]] = shown[i];
	dev->backend->counters_close(set, values);
	kfree(set);
}

static int create_set(struct rhca_dev *dev, struct rdma_counter *counter)
{
	struct rhca_counter_set *set = kzalloc(sizeof(*set),
					       GFP_KERNEL_ACCOUNT);
	int ret;

	if (!set)
		return -ENOMEM;
	set->port = rhca_port_of(dev, counter->port);
	ret = dev->backend->counters_open(set);
	if (ret)
		goto err_free;
	mutex_lock(&dev->counters_lock);
	ret = xa_alloc(&dev->counter_sets, &counter->id, set, xa_limit_31b,
		       GFP_KERNEL);
	mutex_unlock(&dev->counters_lock);
	if (ret)
		goto err_close;
	return 0;

err_close:
	end_set(dev, set, NULL);
	return ret;
err_free:
	kfree(set);
	return ret;
}

static struct rhca_counter_set *find_set(struct rdma_counter *counter)
{
	return xa_load(&to_rhca_dev(counter->device)->counter_sets,
		       counter->id);
}

static int point_qp(struct rhca_qp *qp, struct rdma_counter *counter)
{
	struct rhca_counter_set *set = find_set(counter);
	int ret = -EINVAL;

	mutex_lock(&qp->modify_lock);
	if (set && !qp->ibqp.counter)
		ret = qp->dev->backend->counters_bind(qp, set);
	if (!ret)
		qp->ibqp.counter = counter;
	mutex_unlock(&qp->modify_lock);
	return ret;
}

/*
 * Remove a set and add its last values to the port in one step, so that totals stay the same.
 * @shown: those values, by index of the device's names; NULL: nothing yet
 */
static void remove_set(struct rhca_dev *dev, struct rdma_counter *counter,
		       const u64 *shown)
{
	struct rhca_counter_set *set;
	u32 i;

	mutex_lock(&dev->counters_lock);
	set = xa_erase(&dev->counter_sets, counter->id);
	for (i = 0; set && shown && i < dev->num_counters; i++)
		set->port->retired[dev->counter_ids[i]] += shown[i];
	mutex_unlock(&dev->counters_lock);
	if (set)
		end_set(dev, set, shown);
	counter->id = 0;
}

static int bind_qp(rhca_counter_bind_args)
{
	struct rhca_dev *dev = to_rhca_dev(ibqp->device);
	bool is_new = !counter->id;
	int ret = 0;

	if (is_new)
		ret = create_set(dev, counter);
	if (ret)
		return ret;
	ret = point_qp(to_rhca_qp(ibqp), counter);
	if (ret && is_new)
		remove_set(dev, counter, NULL);
	return ret;
}

static int unbind_qp(rhca_counter_unbind_args)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	struct rhca_port *port;

	mutex_lock(&qp->modify_lock);
	port = qp->port ?: &qp->dev->ports[0];
	/* ib_core drops the counter whatever we return */
	WARN_ON(qp->dev->backend->counters_bind(qp, &port->counter_set));
	ibqp->counter = NULL;
	mutex_unlock(&qp->modify_lock);
	return 0;
}

static int dealloc_counter(struct rdma_counter *counter)
{
	remove_set(to_rhca_dev(counter->device), counter, counter->stats->value);
	return 0;
}

static struct rdma_hw_stats *alloc_counter_stats(struct rdma_counter *counter)
{
	return alloc_stats(to_rhca_dev(counter->device));
}

static int update_counter_stats(struct rdma_counter *counter)
{
	struct rhca_dev *dev = to_rhca_dev(counter->device);
	struct rhca_counter_set *set;
	int ret = -EINVAL;

	mutex_lock(&dev->counters_lock);
	set = find_set(counter);
	if (set)
		ret = show_set(set, counter->stats);
	mutex_unlock(&dev->counters_lock);
	return ret;
}

const struct ib_device_ops rhca_counter_verbs = {
	.alloc_hw_port_stats	= alloc_port_stats,
	.counter_alloc_stats	= alloc_counter_stats,
	.counter_bind_qp	= bind_qp,
	.counter_dealloc	= dealloc_counter,
	.counter_unbind_qp	= unbind_qp,
	.counter_update_stats	= update_counter_stats,
	.get_hw_stats		= get_port_stats,
	.modify_hw_stat		= switch_optional,

	RHCA_COUNTER_OBJECT
};
