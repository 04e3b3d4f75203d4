// SPDX-License-Identifier: GPL-2.0
/* What only the adapter knows of a queue pair. */
#include <linux/err.h>
#include <linux/slab.h>
#include <rhca/compat.h>

#include "command.h"

static const enum ib_qp_state verbs_states[MLX5_QP_NUM_STATE] = {
	[MLX5_QP_STATE_RST]		= IB_QPS_RESET,
	[MLX5_QP_STATE_INIT]		= IB_QPS_INIT,
	[MLX5_QP_STATE_RTR]		= IB_QPS_RTR,
	[MLX5_QP_STATE_RTS]		= IB_QPS_RTS,
	[MLX5_QP_STATE_SQER]		= IB_QPS_SQE,
	[MLX5_QP_STATE_SQD]		= IB_QPS_SQD,
	[MLX5_QP_STATE_ERR]		= IB_QPS_ERR,
	[MLX5_QP_STATE_SQ_DRAINING]	= IB_QPS_SQD,
	[MLX5_QP_STATE_SUSPENDED]	= IB_QPS_ERR,
};

/* The answer to QUERY_QP, which the caller frees; or an error */
static void *query_hw_qp(struct mlx5_core_dev *mdev, u32 number, bool and_error)
{
	u32 in[MLX5_ST_SZ_DW(query_qp_in)] = {};
	void *out;
	int ret;

	out = kzalloc(MLX5_ST_SZ_BYTES(query_qp_out), GFP_KERNEL);
	if (!out)
		return ERR_PTR(-ENOMEM);
	MLX5_SET(query_qp_in, in, opcode, MLX5_CMD_OP_QUERY_QP);
	MLX5_SET(query_qp_in, in, qpn, number);
	if (and_error)
		rhca_mlx5_ask_qp_error(in);
	ret = mlx5_cmd_exec(mdev, in, sizeof(in), out,
			    MLX5_ST_SZ_BYTES(query_qp_out));
	if (!ret)
		return out;
	kfree(out);
	return ERR_PTR(ret);
}

/* What only the adapter knows of a queue pair. @attr: its state and PSNs are filled in. */
int rhca_mlx5_query_hw_qp(struct mlx5_core_dev *mdev, u32 number,
			  struct ib_qp_attr *attr)
{
	void *out = query_hw_qp(mdev, number, false);
	void *qpc;
	u8 state;

	if (IS_ERR(out))
		return PTR_ERR(out);
	qpc = MLX5_ADDR_OF(query_qp_out, out, qpc);
	state = MLX5_GET(qpc, qpc, state);
	attr->qp_state = state < ARRAY_SIZE(verbs_states) ?
			 verbs_states[state] : IB_QPS_ERR;
	attr->sq_draining = state == MLX5_QP_STATE_SQ_DRAINING;
	attr->sq_psn = MLX5_GET(qpc, qpc, next_send_psn);
	attr->rq_psn = MLX5_GET(qpc, qpc, next_rcv_psn);
	kfree(out);
	return 0;
}

/*
 * Has the adapter requests that it has not completed? @has_recv: it has a receive queue of its
 * own. Returns false also where the adapter does not answer.
 */
bool rhca_mlx5_hw_qp_has_work(struct mlx5_core_dev *mdev, u32 number,
			      bool has_recv)
{
	void *out = query_hw_qp(mdev, number, false);
	bool has_work;
	void *qpc;

	if (IS_ERR(out))
		return false;
	qpc = MLX5_ADDR_OF(query_qp_out, out, qpc);
	has_work = MLX5_GET(qpc, qpc, hw_sq_wqebb_counter) !=
		   MLX5_GET(qpc, qpc, sw_sq_wqebb_counter) ||
		   (has_recv && MLX5_GET(qpc, qpc, hw_rq_counter) !=
				MLX5_GET(qpc, qpc, sw_rq_counter));
	kfree(out);
	return has_work;
}

/* Why a queue pair failed. @mdev: the adapter; rhca_mlx5_tells_qp_error(). */
int rhca_mlx5_query_qp_error(struct mlx5_core_dev *mdev, u32 number,
			     struct rhca_mlx5_qp_error *error)
{
	void *out = query_hw_qp(mdev, number, true);

	if (IS_ERR(out))
		return PTR_ERR(out);
	*error = (struct rhca_mlx5_qp_error) {
		.syndrome	= rhca_mlx5_qp_error(out, syndrome),
		.vendor		= rhca_mlx5_qp_error(out, vendor_error_syndrome),
		.hardware	= rhca_mlx5_qp_error(out, hw_error_syndrome),
		.hardware_type	= rhca_mlx5_qp_error(out, hw_syndrome_type),
	};
	kfree(out);
	return 0;
}
