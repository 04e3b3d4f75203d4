// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs of processes: the driver's part of libmlx5's requests, which is not trusted, and the
 * answers.
 */
#include <linux/log2.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "context.h"
#include "cq.h"
#include "device.h"
#include "qp_types.h"
#include "qp_user.h"
#include "uar.h"

#define NO_BFREG		BIT(31)	/* none assigned: the process has given its UAR */
#define MIN_RECV_BYTES_LOG	4

/* For cs_res and cs_req in the queue pair's context: bytes of data in an entry */
#define RECEIVED_32		0x1
#define RECEIVED_64		0x2
#define READ_32			0x11
#define READ_64			0x22

#define USER_FLAGS (MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_SCATTER_CQE | \
		    MLX5_QP_FLAG_ALLOW_SCATTER_CQE)

static int check_queues(const struct mlx5_core_dev *mdev,
			const struct mlx5_ib_create_qp *cmd)
{
	u32 max = BIT(MLX5_CAP_GEN(mdev, log_max_qp_sz));

	if (cmd->flags & ~USER_FLAGS)
		return -EOPNOTSUPP;
	if (!(cmd->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) || cmd->reserved ||
	    cmd->uidx > RHCA_MLX5_NO_USER_INDEX)
		return -EINVAL;
	if (cmd->sq_wqe_count > max || cmd->rq_wqe_count > max)
		return -EINVAL;
	if ((cmd->sq_wqe_count && !is_power_of_2(cmd->sq_wqe_count)) ||
	    (cmd->rq_wqe_count && !is_power_of_2(cmd->rq_wqe_count)))
		return -EINVAL;
	if (cmd->rq_wqe_count &&
	    (cmd->rq_wqe_shift < MIN_RECV_BYTES_LOG ||
	     cmd->rq_wqe_shift > ilog2(MLX5_CAP_GEN(mdev, max_wqe_sz_rq))))
		return -EINVAL;
	return 0;
}

/* Entries of 128 bytes have room for 64 bytes of data, those of 64 for 32 */
static bool has_long_entries(struct ib_cq *ibcq)
{
	return to_rhca_mlx5_cq(ibcq)->entry_bytes == 128;
}

/*
 * Put small data into completions if the library requests that. As data of a READ is then nowhere
 * else, each request must have a completion, or the library declares that it looks there only for
 * requests with one.
 */
static void take_data_in_cqes(struct rhca_mlx5_qp_spec *spec,
			      const struct mlx5_core_dev *mdev,
			      const struct mlx5_ib_create_qp *cmd,
			      const struct ib_qp_init_attr *init)
{
	bool any_read = init->sq_sig_type == IB_SIGNAL_ALL_WR ||
			cmd->flags & MLX5_QP_FLAG_ALLOW_SCATTER_CQE;

	if (!(cmd->flags & MLX5_QP_FLAG_SCATTER_CQE) ||
	    !MLX5_CAP_GEN(mdev, sctr_data_cqe))
		return;
	if (init->qp_type == IB_QPT_RC || init->qp_type == IB_QPT_UC)
		spec->received_in_cqe = has_long_entries(init->recv_cq) ?
					RECEIVED_64 : RECEIVED_32;
	if (init->qp_type == IB_QPT_RC && any_read)
		spec->read_in_cqe = has_long_entries(init->send_cq) ?
				    READ_64 : READ_32;
}

/* libmlx5 rounds receives up and expects that from query_qp(); it keeps sizes of sends itself */
static void take_queues(struct rhca_mlx5_qp_spec *spec,
			const struct mlx5_ib_create_qp *cmd,
			struct ib_qp_cap *cap)
{
	spec->has_recv = !spec->has_srq && cmd->rq_wqe_count;
	if (spec->has_recv) {
		spec->log_recv = ilog2(cmd->rq_wqe_count);
		spec->log_recv_bytes = cmd->rq_wqe_shift;
		cap->max_recv_wr = cmd->rq_wqe_count;
		cap->max_recv_sge = BIT(cmd->rq_wqe_shift) /
				    sizeof(struct mlx5_wqe_data_seg);
	}
	spec->has_send = cmd->sq_wqe_count;
	if (spec->has_send)
		spec->log_send = ilog2(cmd->sq_wqe_count);
	spec->uar = cmd->bfreg_index;
	spec->user_index = cmd->uidx;
	spec->ece = cmd->ece_options;
}

/*
 * Pin the queues of a process's queue pair, whose related objects are set already. @init: sizes of
 * the receive queue are updated to the real ones. Process context of the owner. Returns 0; -EINVAL
 * or -EOPNOTSUPP for what no adapter, or not this driver, supports, and -EINVAL for a UAR that the
 * context does not have; an error of pinning.
 */
int rhca_mlx5_qp_pin(struct rhca_mlx5_qp *qp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(qp->base.ibqp.device);
	struct rhca_mlx5_user_queue queue = {};
	struct rhca_mlx5_ucontext *context = rhca_mlx5_context_of(udata);
	struct mlx5_ib_create_qp cmd = {};
	int ret;

	ret = rhca_mlx5_take_request(udata, &cmd, sizeof(cmd),
				     offsetof(typeof(cmd), ece_options));
	if (ret)
		return ret;
	ret = check_queues(mdev, &cmd);
	if (ret)
		return ret;
	take_queues(&qp->spec, &cmd, &init->cap);
	take_data_in_cqes(&qp->spec, mdev, &cmd, init);
	queue.address = cmd.buf_addr;
	queue.bytes = rhca_mlx5_qp_bytes(&qp->spec);
	queue.record = cmd.db_addr;
	qp->uar = rhca_mlx5_uar_get(context, cmd.bfreg_index);
	if (!qp->uar)
		return -EINVAL;
	ret = rhca_mlx5_buffer_pin(&qp->buffer, context, &queue);
	if (ret)
		rhca_mlx5_uar_put(qp->uar);
	return ret;
}

static bool has_free_running(u8 cap)
{
	return cap == MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING ||
	       cap == MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING_AND_REAL_TIME;
}

/* If there is a free-running clock libmlx5 uses it, whether the user requests it or not */
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
 * Select the clock of timestamps: the adapter's free-running one, or the time of day. An adapter
 * may have either, and a queue pair has one for both of its completion queues. @init: has those;
 * one may be missing. Returns MLX5_TIMESTAMP_FORMAT_*; -EOPNOTSUPP for a clock that the adapter
 * lacks, or two different ones.
 */
int rhca_mlx5_qp_clock(const struct mlx5_core_dev *mdev,
		       const struct ib_qp_init_attr *init)
{
	u8 cap = MLX5_CAP_ROCE(mdev, qp_ts_format);
	int send = clock_for(init->send_cq, cap);
	int recv = clock_for(init->recv_cq, cap);

	if (send < 0 || recv < 0)
		return -EOPNOTSUPP;
	if (send != recv && send != MLX5_TIMESTAMP_FORMAT_DEFAULT &&
	    recv != MLX5_TIMESTAMP_FORMAT_DEFAULT)
		return -EOPNOTSUPP;
	return send == usual_clock(cap) ? recv : send;
}

int rhca_mlx5_qp_answer(const struct rhca_mlx5_qp *qp, struct ib_udata *udata)
{
	struct mlx5_ib_create_qp_resp resp = {
		.bfreg_index	= NO_BFREG,
		.ece_options	= qp->spec.ece,
	};

	return ib_copy_to_udata(udata, &resp, min(udata->outlen, sizeof(resp)));
}

/*
 * Get the options for connection establishment (ECE) that a process requests; 0: none. Returns 0;
 * -EOPNOTSUPP if it requests more, such as a rate of raw packets.
 */
int rhca_mlx5_ece_asked(struct ib_udata *udata, u32 *ece)
{
	struct mlx5_ib_modify_qp cmd = {};
	int ret;

	*ece = 0;
	if (!udata || !udata->inlen)
		return 0;
	ret = rhca_mlx5_take_request(udata, &cmd, sizeof(cmd),
				     offsetofend(typeof(cmd), ece_options));
	if (ret)
		return ret;
	if (cmd.comp_mask || cmd.burst_info.max_burst_sz ||
	    cmd.burst_info.typical_pkt_sz || cmd.burst_info.reserved)
		return -EOPNOTSUPP;
	*ece = cmd.ece_options;
	return 0;
}

void rhca_mlx5_ece_answer(struct ib_udata *udata, u32 ece)
{
	struct mlx5_ib_modify_qp_resp resp = { .ece_options = ece };

	if (!udata || !udata->outlen)
		return;
	resp.response_length = min(udata->outlen, sizeof(resp));
	ib_copy_to_udata(udata, &resp, resp.response_length);
}
