// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of ports and QPs in sysfs (hw_counters) and in "rdma statistic".
 *
 * A QP that "rdma statistic qp" binds counts into a set of its own, and no
 * longer into its port's. ib_core adds the sets to what it shows of the port:
 * those that exist when it reads, and what it noted of the others just before
 * they went. What a QP still counted into a set after that falls to the port
 * when no packet can be using the set any more.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rhca/compat.h>

#include "core/counters.h"
#include "core/device.h"
#include "core/qp.h"

#define COUNTER(id, text) \
	[id] = { .name = (text) }
#define OPTIONAL(id, text) \
	[id] = { .name = (text), .flags = IB_STAT_FLAG_OPTIONAL }

static const struct rdma_stat_desc counter_descs[RHCA_NUM_COUNTERS] = {
	COUNTER(RHCA_RX_PACKETS, "rx_packets"),
	COUNTER(RHCA_RX_BYTES, "rx_bytes"),
	COUNTER(RHCA_RX_MULTICAST_PACKETS, "rx_multicast_packets"),
	COUNTER(RHCA_TX_PACKETS, "tx_packets"),
	COUNTER(RHCA_TX_BYTES, "tx_bytes"),
	COUNTER(RHCA_TX_MULTICAST_PACKETS, "tx_multicast_packets"),
	COUNTER(RHCA_RX_WRITE_REQUESTS, "rx_write_requests"),
	COUNTER(RHCA_RX_READ_REQUESTS, "rx_read_requests"),
	COUNTER(RHCA_RX_ATOMIC_REQUESTS, "rx_atomic_requests"),
	COUNTER(RHCA_DUPLICATE_REQUEST, "duplicate_request"),
	COUNTER(RHCA_OUT_OF_SEQUENCE, "out_of_sequence"),
	COUNTER(RHCA_OUT_OF_BUFFER, "out_of_buffer"),
	COUNTER(RHCA_PACKET_SEQ_ERR, "packet_seq_err"),
	COUNTER(RHCA_IMPLIED_NAK_SEQ_ERR, "implied_nak_seq_err"),
	COUNTER(RHCA_LOCAL_ACK_TIMEOUT_ERR, "local_ack_timeout_err"),
	COUNTER(RHCA_RNR_NAK_RETRY_ERR, "rnr_nak_retry_err"),
	COUNTER(RHCA_REQ_CQE_ERROR, "req_cqe_error"),
	COUNTER(RHCA_REQ_CQE_FLUSH_ERROR, "req_cqe_flush_error"),
	COUNTER(RHCA_REQ_REMOTE_ACCESS_ERRORS, "req_remote_access_errors"),
	COUNTER(RHCA_REQ_REMOTE_INVALID_REQUEST, "req_remote_invalid_request"),
	COUNTER(RHCA_REQ_TRANSPORT_RETRIES_EXCEEDED, "req_transport_retries_exceeded"),
	COUNTER(RHCA_REQ_RNR_RETRIES_EXCEEDED, "req_rnr_retries_exceeded"),
	COUNTER(RHCA_RESP_CQE_ERROR, "resp_cqe_error"),
	COUNTER(RHCA_RESP_CQE_FLUSH_ERROR, "resp_cqe_flush_error"),
	COUNTER(RHCA_RESP_LOCAL_LENGTH_ERROR, "resp_local_length_error"),
	COUNTER(RHCA_RESP_REMOTE_ACCESS_ERRORS, "resp_remote_access_errors"),
	COUNTER(RHCA_RESP_INVALID_REQUESTS, "resp_invalid_requests"),
	COUNTER(RHCA_NP_ECN_MARKED_ROCE_PACKETS, "np_ecn_marked_roce_packets"),
	COUNTER(RHCA_RP_CNP_IGNORED, "rp_cnp_ignored"),
	COUNTER(RHCA_PATH_MTU_MISMATCH, "path_mtu_mismatch"),
	COUNTER(RHCA_RX_ICRC_ENCAPSULATED, "rx_icrc_encapsulated"),
	COUNTER(RHCA_RX_DROPPED_TRUNCATED, "rx_dropped_truncated"),
	COUNTER(RHCA_RX_DROPPED_BAD_OPCODE, "rx_dropped_bad_opcode"),
	COUNTER(RHCA_RX_DROPPED_BAD_LENGTH, "rx_dropped_bad_length"),
	COUNTER(RHCA_RX_DROPPED_NO_QP, "rx_dropped_no_qp"),
	COUNTER(RHCA_RX_DROPPED_QP_STATE, "rx_dropped_qp_state"),
	COUNTER(RHCA_RX_DROPPED_BAD_PKEY, "rx_dropped_bad_pkey"),
	COUNTER(RHCA_RX_DROPPED_BAD_QKEY, "rx_dropped_bad_qkey"),
	COUNTER(RHCA_RX_DROPPED_NOT_FOR_US, "rx_dropped_not_for_us"),
	COUNTER(RHCA_RX_DROPPED_OUT_OF_WINDOW, "rx_dropped_out_of_window"),
	COUNTER(RHCA_RX_DROPPED_BAD_SYNDROME, "rx_dropped_bad_syndrome"),
	COUNTER(RHCA_RX_DROPPED_BAD_SEQUENCE, "rx_dropped_bad_sequence"),
	COUNTER(RHCA_RX_DROPPED_NO_ACCESS, "rx_dropped_no_access"),
	COUNTER(RHCA_RX_DROPPED_NO_RESOURCE, "rx_dropped_no_resource"),
	COUNTER(RHCA_RX_DROPPED_NO_MAD_BUFFER, "rx_dropped_no_mad_buffer"),
	COUNTER(RHCA_RX_DROPPED_NO_MEMORY, "rx_dropped_no_memory"),
	COUNTER(RHCA_TX_DROPPED, "tx_dropped"),
	COUNTER(RHCA_TX_DROPPED_NO_ROUTE, "tx_dropped_no_route"),
	COUNTER(RHCA_TX_DROPPED_NO_NETDEV, "tx_dropped_no_netdev"),
	COUNTER(RHCA_TX_DROPPED_BAD_PKEY, "tx_dropped_bad_pkey"),
	COUNTER(RHCA_TX_DROPPED_NO_MEMORY, "tx_dropped_no_memory"),
	COUNTER(RHCA_TX_DROPPED_FILTERED, "tx_dropped_filtered"),
	COUNTER(RHCA_TX_DROPPED_STACK, "tx_dropped_stack"),
	COUNTER(RHCA_LINK_DOWNED, "link_downed"),
	OPTIONAL(RHCA_CC_RX_CE_PKTS, "cc_rx_ce_pkts"),
	OPTIONAL(RHCA_CC_RX_CNP_PKTS, "cc_rx_cnp_pkts"),
	OPTIONAL(RHCA_RX_ECN_CAPABLE_PKTS, "rx_ecn_capable_pkts"),
};

DEFINE_STATIC_KEY_FALSE(rhca_optional_key);

/**
 * rhca_counter_sum - One counter over all CPUs
 * @c: the counters
 * @which: the counter
 */
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

static struct rdma_hw_stats *alloc_stats(void)
{
	struct rdma_hw_stats *stats;
	int i;

	stats = rdma_alloc_hw_stats_struct(counter_descs, RHCA_NUM_COUNTERS,
					   RDMA_HW_STATS_DEFAULT_LIFESPAN);
	for (i = RHCA_FIRST_OPTIONAL; stats && i < RHCA_NUM_COUNTERS; i++)
		__set_bit(i, stats->is_disabled);
	return stats;
}

static struct rdma_hw_stats *alloc_port_stats(struct ib_device *ibdev,
					      u32 port_num)
{
	return alloc_stats();
}

static int get_port_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			  u32 port_num, int index)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);
	int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < RHCA_NUM_COUNTERS; i++)
		stats->value[i] = rhca_counter_sum(port->counters, i);
	return RHCA_NUM_COUNTERS;
}

/* --- sets of bound QPs ---------------------------------------------------- */

/**
 * struct rhca_counter_set - What an rdma_counter's QPs count into
 * @values: per CPU
 * @port: their port
 * @noted: what ib_core's history has of it; set when the set goes
 * @rcu: packets may still count into it when it goes
 */
struct rhca_counter_set {
	struct rhca_counters __percpu *values;
	struct rhca_port *port;
	struct rhca_counters noted;
	struct rcu_head rcu;
};

static void free_set(struct rhca_counter_set *set)
{
	free_percpu(set->values);
	kfree(set);
}

/* Packets counted here until now; the port lives, see exit_ports() */
static void free_set_rcu(struct rcu_head *rcu)
{
	struct rhca_counter_set *set = container_of(rcu,
						    struct rhca_counter_set,
						    rcu);
	u64 late;
	int i;

	for (i = 0; i < RHCA_NUM_COUNTERS; i++) {
		late = rhca_counter_sum(set->values, i) - set->noted.value[i];
		rhca_counter_add(set->port->counters, i, late);
	}
	free_set(set);
}

static int create_set(struct rhca_dev *dev, struct rdma_counter *counter)
{
	struct rhca_counter_set *set = kzalloc(sizeof(*set), GFP_KERNEL);
	int ret;

	if (!set)
		return -ENOMEM;
	set->port = rhca_port_of(dev, counter->port);
	set->values = alloc_percpu(struct rhca_counters);
	ret = set->values ? xa_alloc(&dev->counter_sets, &counter->id, set,
				     xa_limit_31b, GFP_KERNEL) : -ENOMEM;
	if (ret)
		free_set(set);
	return ret;
}

/**
 * rhca_counters_follow_port - Count into the port, unless bound to a counter
 * @qp: a QP that has got its port, or lost its counter
 */
void rhca_counters_follow_port(struct rhca_qp *qp)
{
	struct rhca_port *port = qp->port ?: &qp->dev->ports[0];

	lockdep_assert_held(&qp->modify_lock);
	if (!qp->ibqp.counter)
		WRITE_ONCE(qp->counters, port->counters);
}

static int point_qp(struct rhca_qp *qp, struct rdma_counter *counter)
{
	struct rhca_counter_set *set = xa_load(&qp->dev->counter_sets,
					       counter->id);
	int ret = -EINVAL;

	mutex_lock(&qp->modify_lock);
	if (set && !qp->ibqp.counter) {
		qp->ibqp.counter = counter;
		WRITE_ONCE(qp->counters, set->values);
		ret = 0;
	}
	mutex_unlock(&qp->modify_lock);
	return ret;
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
	if (ret && is_new) {
		free_set(xa_erase(&dev->counter_sets, counter->id));
		counter->id = 0;
	}
	return ret;
}

/* Packets that are under way may count into the set for a grace period more */
static int unbind_qp(rhca_counter_unbind_args)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);

	mutex_lock(&qp->modify_lock);
	ibqp->counter = NULL;
	rhca_counters_follow_port(qp);
	mutex_unlock(&qp->modify_lock);
	return 0;
}

/* The port's totals lose a set in the moment in which they get what it had */
static int dealloc_counter(struct rdma_counter *counter)
{
	struct rhca_dev *dev = to_rhca_dev(counter->device);
	struct rhca_counter_set *set;
	int i;

	xa_lock(&dev->counter_sets);
	set = __xa_erase(&dev->counter_sets, counter->id);
	for (i = 0; set && i < RHCA_NUM_COUNTERS; i++) {
		set->noted.value[i] = counter->stats->value[i];
		set->port->retired.value[i] += counter->stats->value[i];
	}
	xa_unlock(&dev->counter_sets);
	if (set)
		call_rcu(&set->rcu, free_set_rcu);
	return 0;
}

static struct rdma_hw_stats *alloc_counter_stats(struct rdma_counter *counter)
{
	return alloc_stats();
}

static int update_counter_stats(struct rdma_counter *counter)
{
	struct rhca_dev *dev = to_rhca_dev(counter->device);
	struct rhca_counter_set *set;
	int i;

	xa_lock(&dev->counter_sets);
	set = xa_load(&dev->counter_sets, counter->id);
	for (i = 0; set && i < RHCA_NUM_COUNTERS; i++)
		counter->stats->value[i] = rhca_counter_sum(set->values, i);
	xa_unlock(&dev->counter_sets);
	return set ? 0 : -EINVAL;
}

/**
 * rhca_port_totals - Everything that was counted on a port
 * @port: the port
 * @totals: its own counters, and those of all counter sets, also of those that
 *	have gone
 */
void rhca_port_totals(struct rhca_port *port, struct rhca_counters *totals)
{
	struct xarray *sets = &port->dev->counter_sets;
	struct rhca_counter_set *set;
	unsigned long id;
	int i;

	xa_lock(sets);
	for (i = 0; i < RHCA_NUM_COUNTERS; i++)
		totals->value[i] = rhca_counter_sum(port->counters, i) +
				   port->retired.value[i];
	xa_for_each(sets, id, set)
		for (i = 0; set->port == port && i < RHCA_NUM_COUNTERS; i++)
			totals->value[i] += rhca_counter_sum(set->values, i);
	xa_unlock(sets);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_port_totals);

/* --- optional counters ---------------------------------------------------- */

static int switch_optional(struct ib_device *ibdev, u32 port_num,
			   unsigned int index, bool enable)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);

	if (!port || index < RHCA_FIRST_OPTIONAL || index >= RHCA_NUM_COUNTERS)
		return -EINVAL;
	index -= RHCA_FIRST_OPTIONAL;
	if (enable && !test_and_set_bit(index, &port->optional))
		static_branch_inc(&rhca_optional_key);
	if (!enable && test_and_clear_bit(index, &port->optional))
		static_branch_dec(&rhca_optional_key);
	return 0;
}

/**
 * rhca_counters_disable_optional - The port goes, and its users of the key
 * @port: the port
 */
void rhca_counters_disable_optional(struct rhca_port *port)
{
	while (port->optional) {
		port->optional &= port->optional - 1;
		static_branch_dec(&rhca_optional_key);
	}
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
