// SPDX-License-Identifier: GPL-2.0
/*
 * By which clock the completions of a queue pair are stamped: the adapter's own, which
 * runs freely, or the time of day. An adapter may have either, and a queue pair has one
 * for both of its completion queues.
 */
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>

#include "cq.h"
#include "device.h"
#include "qp_clock.h"

static bool has_free_running(u8 cap)
{
	return cap == MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING ||
	       cap == MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING_AND_REAL_TIME;
}

/* libmlx5 takes the free running one where there is one, whether it is asked or not */
static int usual_clock(u8 cap)
{
	return has_free_running(cap) ? MLX5_TIMESTAMP_FORMAT_FREE_RUNNING :
				       MLX5_TIMESTAMP_FORMAT_DEFAULT;
}

static int clock_for(const struct ib_cq *ibcq, u8 cap)
{
	const struct rhca_mlx5_cq *cq;

	if (!ibcq)
		return usual_clock(cap);
	cq = container_of(ibcq, struct rhca_mlx5_cq, ibcq);
	if (cq->real_time)
		return rhca_mlx5_cap_real_time(cap) ?
		       MLX5_TIMESTAMP_FORMAT_REAL_TIME : -EOPNOTSUPP;
	if (cq->wants_stamps && !has_free_running(cap))
		return -EOPNOTSUPP;
	return usual_clock(cap);
}

/*
 * The clock that both completion queues agree on.
 * @init: names the completion queues; one may be missing
 * @is_user: it is a process's; those of the kernel are read without stamps
 * Returns MLX5_TIMESTAMP_FORMAT_*; -EOPNOTSUPP for a clock that the adapter does not have, or
 * two different ones.
 */
int rhca_mlx5_qp_clock(struct mlx5_core_dev *mdev,
		       const struct ib_qp_init_attr *init, bool is_user)
{
	u8 cap = MLX5_CAP_ROCE(mdev, qp_ts_format);
	int send, recv;

	if (!is_user)
		return mlx5_get_qp_default_ts(mdev);
	send = clock_for(init->send_cq, cap);
	recv = clock_for(init->recv_cq, cap);
	if (send < 0 || recv < 0)
		return -EOPNOTSUPP;
	if (send != recv && send != MLX5_TIMESTAMP_FORMAT_DEFAULT &&
	    recv != MLX5_TIMESTAMP_FORMAT_DEFAULT)
		return -EOPNOTSUPP;
	return send == usual_clock(cap) ? recv : send;
}
