// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: those of requests and errors in sets of queue pairs, those of congestion and packets in
 * the port.
 */
#include <linux/slab.h>

#include "command.h"
#include "core/port/port.h"
#include "counters.h"
#include "device.h"
#include "qp_types.h"

static struct mlx5_core_dev *mdev_of(const struct rhca_port *port)
{
	return rhca_mlx5_mdev(&port->dev->ibdev);
}

/* Does the adapter have a counter, or the core instead? */
bool rhca_mlx5_has_counter(const struct rhca_dev *dev, enum rhca_counter which)
{
	const struct rhca_mlx5 *hca = dev->private;
	const struct mlx5_core_dev *mdev = hca->mdev;
	bool has_sets = rhca_mlx5_has_counter_sets(mdev);

	switch (which) {
	case RHCA_PATH_MTU_MISMATCH:
	case RHCA_LINK_DOWNED:
		return true;
	case RHCA_RX_PACKETS ... RHCA_TX_MULTICAST_PACKETS:
		return MLX5_CAP_GEN(mdev, vport_counters);
	case RHCA_RX_WRITE_REQUESTS ... RHCA_RX_ATOMIC_REQUESTS:
	case RHCA_OUT_OF_BUFFER:
		return has_sets;
	case RHCA_OUT_OF_SEQUENCE:
		return has_sets && MLX5_CAP_GEN(mdev, out_of_seq_cnt);
	case RHCA_DUPLICATE_REQUEST:
	case RHCA_PACKET_SEQ_ERR ... RHCA_RNR_NAK_RETRY_ERR:
		return has_sets && MLX5_CAP_GEN(mdev, retransmission_q_counters);
	case RHCA_REQ_CQE_ERROR ... RHCA_RESP_REMOTE_ACCESS_ERRORS:
		return has_sets && MLX5_CAP_GEN(mdev, enhanced_error_q_counters);
	case RHCA_NP_ECN_MARKED_ROCE_PACKETS:
	case RHCA_RP_CNP_IGNORED:
	case RHCA_RP_CNP_HANDLED:
	case RHCA_NP_CNP_SENT:
		return MLX5_CAP_GEN(mdev, cc_query_allowed);
	case RHCA_RX_ICRC_ENCAPSULATED:
		return rhca_mlx5_counts_icrc(mdev);
	case RHCA_ROCE_ADP_RETRANS:
	case RHCA_ROCE_ADP_RETRANS_TO ... RHCA_ROCE_SLOW_RESTART_TRANS:
		return has_sets && MLX5_CAP_GEN(mdev, roce_accl);
	default:
		return false;
	}
}

static bool is_ports_own(const struct rhca_counter_set *set)
{
	return set == &set->port->counter_set;
}

int rhca_mlx5_counters_open(struct rhca_counter_set *set)
{
	struct mlx5_core_dev *mdev = mdev_of(set->port);
	struct rhca_mlx5_counter_set *own;
	int ret = 0;

	own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);
	if (!own)
		return -ENOMEM;
	if (rhca_mlx5_has_counter_sets(mdev))
		ret = rhca_mlx5_alloc_number(mdev, MLX5_CMD_OP_ALLOC_Q_COUNTER,
					     &own->number);
	if (ret) {
		kfree(own);
		return ret;
	}
	mutex_init(&own->late_lock);
	set->private = own;
	return 0;
}

/* Add to the port what users have not seen */
static void keep_late(struct rhca_counter_set *set, const u64 *shown)
{
	struct rhca_mlx5_counter_set *ports = set->port->counter_set.private;
	u64 values[RHCA_NUM_COUNTERS] = {};
	int i;

	if (rhca_mlx5_counters_read(set, values))
		return;
	mutex_lock(&ports->late_lock);
	for (i = 0; i < RHCA_NUM_COUNTERS; i++)
		ports->late[i] += values[i] - shown[i];
	mutex_unlock(&ports->late_lock);
}

void rhca_mlx5_counters_close(struct rhca_counter_set *set, const u64 *shown)
{
	struct mlx5_core_dev *mdev = mdev_of(set->port);
	struct rhca_mlx5_counter_set *own = set->private;

	if (shown && !is_ports_own(set))
		keep_late(set, shown);
	if (rhca_mlx5_has_counter_sets(mdev))
		rhca_mlx5_give_back(mdev, MLX5_CMD_OP_DEALLOC_Q_COUNTER,
				    own->number);
	mutex_destroy(&own->late_lock);
	kfree(own);
	set->private = NULL;
}

static int read_packets(struct mlx5_core_dev *mdev, u64 *values)
{
	int ret = rhca_mlx5_query_icrc(mdev, &values[RHCA_RX_ICRC_ENCAPSULATED]);

	if (ret || !MLX5_CAP_GEN(mdev, vport_counters))
		return ret;
	return rhca_mlx5_query_traffic(mdev, values);
}

/* Counters that the adapter has only for the port */
static int read_port(struct rhca_counter_set *set, u64 *values)
{
	struct mlx5_core_dev *mdev = mdev_of(set->port);

	return rhca_mlx5_query_congestion(mdev, values) ?: read_packets(mdev, values);
}

static void add_late(struct rhca_mlx5_counter_set *own, u64 *values)
{
	int i;

	mutex_lock(&own->late_lock);
	for (i = 0; i < RHCA_NUM_COUNTERS; i++)
		values[i] += own->late[i];
	mutex_unlock(&own->late_lock);
}

int rhca_mlx5_counters_read(struct rhca_counter_set *set, u64 *values)
{
	struct rhca_mlx5_counter_set *own = set->private;
	int ret;

	ret = rhca_mlx5_query_counter_set(mdev_of(set->port), own->number,
					  values);
	if (ret)
		return ret;
	values[RHCA_PATH_MTU_MISMATCH] = atomic64_read(&own->mtu_mismatches);
	if (!is_ports_own(set))
		return 0;
	ret = read_port(set, values);
	if (!ret)
		add_late(own, values);
	return ret;
}

/* The adapter moves a queue pair to ERR without informing the core */
static bool may_be_in_rts(struct mlx5_core_dev *mdev,
			  const struct rhca_mlx5_qp *qp)
{
	struct ib_qp_attr attr;

	return rhca_mlx5_query_hw_qp(mdev, qp->numbered.number, &attr) ||
	       attr.qp_state == IB_QPS_RTS;
}

/*
 * The set can be changed in RTS only; before that it is set on the way there, see
 * rhca_mlx5_qp_modify(). A queue pair in ERR no longer counts. For unbinding, query the state
 * first: ERR is no failure, and the queue pair may enter it even after that.
 */
int rhca_mlx5_counters_bind(struct rhca_qp *base, struct rhca_counter_set *set)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(base->ibqp.device);
	struct rhca_mlx5_qp *qp = rhca_mlx5_qp_of(base);
	struct rhca_mlx5_counter_set *own = set->private;
	bool leaves = is_ports_own(set);
	int ret = 0;

	lockdep_assert_held(&base->modify_lock);
	if (!MLX5_CAP_GEN(mdev, rts2rts_qp_counters_set_id) ||
	    !rhca_mlx5_has_counter_sets(mdev))
		return -EOPNOTSUPP;
	if (base->state == IB_QPS_RTS && (!leaves || may_be_in_rts(mdev, qp))) {
		ret = rhca_mlx5_count_into(mdev, qp->numbered.number,
					   own->number);
		if (!ret)
			qp->counting_into = own->number;
	}
	if (ret && !leaves)
		return ret;
	WRITE_ONCE(qp->counters, own);
	return 0;
}

void rhca_mlx5_qp_count(struct rhca_qp *base, enum rhca_counter which)
{
	struct rhca_mlx5_counter_set *own =
		READ_ONCE(rhca_mlx5_qp_of(base)->counters);

	if (own && which == RHCA_PATH_MTU_MISMATCH)
		atomic64_inc(&own->mtu_mismatches);
}

int rhca_mlx5_pma_read(struct rhca_port *port, struct rhca_pma_values *values)
{
	u64 counted[RHCA_NUM_COUNTERS] = {};
	int ret = read_packets(mdev_of(port), counted);

	if (!ret)
		rhca_pma_totals(counted, values);
	return ret;
}
