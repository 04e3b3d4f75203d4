// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: where their queues are, and their states, which are commands. */
#include <linux/kmemleak.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "context.h"
#include "counters.h"
#include "cq.h"
#include "device.h"
#include "events.h"
#include "lag.h"
#include "poll.h"
#include "qp.h"
#include "qp_user.h"
#include "srq.h"
#include "uar.h"
#include "wqe.h"
#include "xrc.h"

#define GSI_NUMBER		1
#define MAX_SEND_BYTES	(63 * MLX5_SEND_WQE_DS)	/* a request has its length in units in 6 bits */

static const u8 services[] = {
	[IB_QPT_RC]	= MLX5_QP_ST_RC,
	[IB_QPT_UC]	= MLX5_QP_ST_UC,
	[IB_QPT_UD]	= MLX5_QP_ST_UD,
	[IB_QPT_XRC_INI] = MLX5_QP_ST_XRC,
	[IB_QPT_XRC_TGT] = MLX5_QP_ST_XRC,
	[IB_QPT_GSI]	= MLX5_QP_ST_QP1,
};

static int check_init(const struct mlx5_core_dev *mdev,
		      const struct ib_qp_init_attr *init, bool is_user)
{
	if (init->create_flags)
		return -EOPNOTSUPP;
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_GSI:
		return init->send_cq && init->recv_cq ? 0 : -EINVAL;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		/* No kernel user needs it */
		return MLX5_CAP_GEN(mdev, xrc) && is_user ? 0 : -EOPNOTSUPP;
	default:
		return -EOPNOTSUPP;
	}
}

/* Each side uses one half of a queue pair; the other half is filled in, but unused */
static int set_xrc_parts(struct rhca_mlx5_qp *qp,
			 const struct ib_qp_init_attr *init)
{
	const struct rhca_mlx5_xrc_parts *parts;
	struct rhca_mlx5_qp_spec *spec = &qp->spec;

	parts = rhca_mlx5_xrc_parts(rhca_mlx5_of(qp->base.ibqp.device));
	if (IS_ERR(parts))
		return PTR_ERR(parts);
	spec->has_srq = true;
	spec->srq = parts->srq;
	spec->recv_cq = parts->cq.hw.cqn;
	if (init->qp_type == IB_QPT_XRC_INI) {
		spec->pd = to_rhca_mlx5_pd(qp->base.ibqp.pd)->number;
		spec->send_cq = to_rhca_mlx5_cq(init->send_cq)->hw.cqn;
		spec->xrcd = parts->empty_xrcd;
	} else {
		spec->pd = parts->pd;
		spec->send_cq = parts->cq.hw.cqn;
		spec->xrcd = to_rhca_mlx5_xrcd(init->xrcd)->number;
	}
	return 0;
}

static int set_parts(struct rhca_mlx5_qp *qp,
		     const struct ib_qp_init_attr *init)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(qp->base.ibqp.device);
	struct rhca_mlx5_qp_spec *spec = &qp->spec;
	/* The kernel does not read timestamps of completions */
	int clock = qp->base.is_user ? rhca_mlx5_qp_clock(hca->mdev, init) :
				       mlx5_get_qp_default_ts(hca->mdev);

	if (clock < 0)
		return clock;
	spec->timestamps = clock;
	spec->fast_registration = !qp->base.is_user;
	spec->service = services[init->qp_type];
	spec->lag_port = rhca_mlx5_lag_assign(hca, init->qp_type);
	spec->buffer = &qp->buffer;
	spec->user_index = RHCA_MLX5_NO_USER_INDEX;
	if (spec->service == MLX5_QP_ST_XRC)
		return set_xrc_parts(qp, init);
	spec->pd = to_rhca_mlx5_pd(qp->base.ibqp.pd)->number;
	spec->send_cq = to_rhca_mlx5_cq(init->send_cq)->hw.cqn;
	spec->recv_cq = to_rhca_mlx5_cq(init->recv_cq)->hw.cqn;
	spec->has_srq = init->srq;
	if (init->srq)
		spec->srq = to_rhca_mlx5_srq(init->srq)->numbered.number;
	return 0;
}

/* Bytes of a request besides its data */
static size_t send_overhead(enum ib_qp_type type)
{
	size_t bytes = sizeof(struct mlx5_wqe_ctrl_seg);

	if (type == IB_QPT_RC || type == IB_QPT_UC)
		return bytes + sizeof(struct mlx5_wqe_raddr_seg) +
		       sizeof(struct mlx5_wqe_atomic_seg);
	return bytes + sizeof(struct mlx5_wqe_datagram_seg);
}

/* Bytes of the largest send request */
static size_t send_bytes(const struct ib_qp_init_attr *init)
{
	size_t memory = init->cap.max_send_sge *
			sizeof(struct mlx5_wqe_data_seg);
	size_t data = sizeof(struct mlx5_wqe_inline_seg) +
		      init->cap.max_inline_data;
	size_t bytes = send_overhead(init->qp_type) + max(memory, data);

	return max(ALIGN(bytes, MLX5_SEND_WQE_DS), RHCA_MLX5_UMR_BYTES);
}

static int size_send(struct rhca_mlx5_qp *qp, struct ib_qp_init_attr *init)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(qp->base.ibqp.device);
	size_t most = min_t(size_t, MAX_SEND_BYTES,
			    MLX5_CAP_GEN(mdev, max_wqe_sz_sq));
	size_t bytes = send_bytes(init);
	u32 blocks = DIV_ROUND_UP(bytes, MLX5_SEND_WQE_BB);	/* of the largest request */
	struct rhca_mlx5_sq *sq = &qp->sq;

	if (!init->cap.max_send_wr)
		return 0;
	if (bytes > most)
		return -EINVAL;
	sq->num_blocks = roundup_pow_of_two(init->cap.max_send_wr * blocks);
	if (sq->num_blocks > BIT(MLX5_CAP_GEN(mdev, log_max_qp_sz)))
		return -EINVAL;
	sq->max_wr = sq->num_blocks / blocks;
	sq->max_sge = init->cap.max_send_sge;
	/* All that its blocks have room for: SMC-R uses what it is granted */
	sq->max_inline = min_t(size_t, blocks * MLX5_SEND_WQE_BB, most) -
			 send_overhead(init->qp_type) -
			 sizeof(struct mlx5_wqe_inline_seg);
	sq->signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	init->cap.max_send_wr = sq->max_wr;
	init->cap.max_inline_data = sq->max_inline;
	qp->spec.has_send = true;
	qp->spec.log_send = ilog2(sq->num_blocks);
	return 0;
}

static int size_recv(struct rhca_mlx5_qp *qp, struct ib_qp_init_attr *init)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(qp->base.ibqp.device);
	size_t bytes = roundup_pow_of_two(max(init->cap.max_recv_sge, 1U) *
					  sizeof(struct mlx5_wqe_data_seg));
	struct rhca_mlx5_rq *rq = &qp->rq;

	if (qp->spec.has_srq || !init->cap.max_recv_wr)
		return 0;
	if (bytes > MLX5_CAP_GEN(mdev, max_wqe_sz_rq))
		return -EINVAL;
	/* The send queue after it must start at a whole block */
	rq->num_entries = max_t(size_t, MLX5_SEND_WQE_BB / bytes,
				roundup_pow_of_two(init->cap.max_recv_wr));
	if (rq->num_entries > BIT(MLX5_CAP_GEN(mdev, log_max_qp_sz)))
		return -EINVAL;
	rq->max_sge = bytes / sizeof(struct mlx5_wqe_data_seg);
	init->cap.max_recv_wr = rq->num_entries;
	init->cap.max_recv_sge = rq->max_sge;
	qp->spec.has_recv = true;
	qp->spec.log_recv = ilog2(rq->num_entries);
	qp->spec.log_recv_bytes = ilog2(bytes);
	return 0;
}

static void find_entries(struct rhca_mlx5_qp *qp)
{
	const struct rhca_mlx5_qp_spec *spec = &qp->spec;
	struct mlx5_buf_list *frags = qp->buffer.frags.frags;
	size_t start = 0;

	if (spec->has_recv) {
		start = (size_t)1 << (spec->log_recv + spec->log_recv_bytes);
		mlx5_init_fbc(frags, spec->log_recv_bytes, spec->log_recv,
			      &qp->rq.entries);
	}
	if (spec->has_send)
		mlx5_init_fbc_offset(frags + start / PAGE_SIZE,
				     ilog2(MLX5_SEND_WQE_BB), spec->log_send,
				     offset_in_page(start) / MLX5_SEND_WQE_BB,
				     &qp->sq.blocks);
}

static void free_records(struct rhca_mlx5_qp *qp)
{
	kvfree(qp->sq.request);
	kvfree(qp->rq.wr_id);
}

/* The driver's records of posted requests */
static int alloc_records(struct rhca_mlx5_qp *qp)
{
	qp->sq.request = kvcalloc(qp->sq.num_blocks, sizeof(*qp->sq.request),
				  GFP_KERNEL);
	qp->rq.wr_id = kvcalloc(qp->rq.num_entries, sizeof(*qp->rq.wr_id),
				GFP_KERNEL);
	return qp->sq.request && qp->rq.wr_id ? 0 : -ENOMEM;
}

static int alloc_kernel(struct rhca_mlx5_qp *qp, struct ib_qp_init_attr *init)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(qp->base.ibqp.device);
	int ret;

	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	qp->spec.uar = hca->doorbells.index;
	ret = size_recv(qp, init) ?: size_send(qp, init) ?: alloc_records(qp) ?:
	      rhca_mlx5_buffer_alloc(&qp->buffer, hca->mdev,
				     rhca_mlx5_qp_bytes(&qp->spec));
	if (ret) {
		free_records(qp);
		return ret;
	}
	find_entries(qp);
	return 0;
}

/* A target has no queues: it receives into shared ones */
static int get_memory(struct rhca_mlx5_qp *qp, struct ib_qp_init_attr *init,
		      struct ib_udata *udata)
{
	if (init->qp_type == IB_QPT_XRC_TGT)
		return 0;
	return udata ? rhca_mlx5_qp_pin(qp, init, udata) :
		       alloc_kernel(qp, init);
}

static void free_memory(struct rhca_mlx5_qp *qp)
{
	if (qp->base.ibqp.qp_type == IB_QPT_XRC_TGT)
		return;
	rhca_mlx5_buffer_free(&qp->buffer,
			      rhca_mlx5_mdev(qp->base.ibqp.device));
	rhca_mlx5_uar_put(qp->uar);
	free_records(qp);
}

/*
 * The adapter holds a queue pair that cannot be destroyed any more: leak its memory, and mark the
 * objects it uses, which ib_core would otherwise keep for ever.
 */
static void leak(struct rhca_mlx5_qp *qp, const struct ib_qp_init_attr *init)
{
	struct ib_pd *ibpd = qp->base.ibqp.pd;

	if (ibpd)
		to_rhca_mlx5_pd(ibpd)->has_leaked = true;
	if (init->send_cq)
		to_rhca_mlx5_cq(init->send_cq)->has_leaked = true;
	if (init->recv_cq)
		to_rhca_mlx5_cq(init->recv_cq)->has_leaked = true;
	if (init->srq)
		to_rhca_mlx5_srq(init->srq)->has_leaked = true;
	if (init->xrcd)
		to_rhca_mlx5_xrcd(init->xrcd)->has_leaked = true;
	rhca_mlx5_buffer_leak(&qp->buffer);
	kmemleak_not_leak(qp->uar);
	free_records(qp);
}

int rhca_mlx5_qp_create(struct rhca_qp *base, struct ib_qp_init_attr *init,
			struct ib_udata *udata)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(base->ibqp.device);
	struct rhca_mlx5_qp *qp = rhca_mlx5_qp_of(base);
	u32 number;
	int ret;

	ret = check_init(hca->mdev, init, base->is_user) ?: set_parts(qp, init) ?:
	      get_memory(qp, init, udata);
	if (ret)
		return ret;
	ret = rhca_mlx5_create_hw_qp(hca->mdev, &qp->spec, &number);
	/* It may still be executed */
	if (ret == -ETIMEDOUT) {
		leak(qp, init);
		return ret;
	}
	if (ret)
		goto err_free;
	ret = rhca_mlx5_number_add(&hca->qps, number, &qp->numbered);
	if (!ret && udata)
		ret = rhca_mlx5_qp_answer(qp, udata);
	if (ret)
		goto err_destroy;
	if (!base->is_user)
		rhca_mlx5_mark_qp(hca, number, RHCA_MLX5_KERNEL_QP);
	base->ibqp.qp_num = init->qp_type == IB_QPT_GSI ? GSI_NUMBER : number;
	return 0;

err_destroy:
	rhca_mlx5_number_remove(&hca->qps, &qp->numbered);
	if (rhca_mlx5_give_back(hca->mdev, MLX5_CMD_OP_DESTROY_QP, number)) {
		leak(qp, init);
		return ret;
	}
err_free:
	free_memory(qp);
	return ret;
}

static void purge_completions(struct rhca_mlx5_qp *qp)
{
	struct ib_qp *ibqp = &qp->base.ibqp;

	rhca_mlx5_cq_purge(to_rhca_mlx5_cq(ibqp->recv_cq), qp);
	if (ibqp->send_cq != ibqp->recv_cq)
		rhca_mlx5_cq_purge(to_rhca_mlx5_cq(ibqp->send_cq), qp);
}

/* Empty the queues of the kernel, for RESET */
static void empty_queues(struct rhca_mlx5_qp *qp)
{
	purge_completions(qp);
	qp->sq.next_block = 0;
	qp->sq.posted = 0;
	qp->sq.completed = 0;
	qp->sq.oldest = 0;
	qp->sq.fence = MLX5_FENCE_MODE_NONE;
	qp->rq.posted = 0;
	qp->rq.completed = 0;
	qp->buffer.db.db[MLX5_RCV_DBR] = 0;
	qp->buffer.db.db[MLX5_SND_DBR] = 0;
}

/*
 * Reset it so that it gets no new completions, and remove the old ones before its number can be
 * reused. Its user ignores errors: if the adapter holds it, events no longer find it, and its
 * memory is leaked.
 */
static void destroy_of_kernel(struct rhca_mlx5_qp *qp)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(qp->base.ibqp.device);
	u32 number = qp->numbered.number;

	rhca_mlx5_command_on(hca->mdev, MLX5_CMD_OP_2RST_QP, number);
	purge_completions(qp);
	rhca_mlx5_number_remove(&hca->qps, &qp->numbered);
	/* Waits for pollers that have found it, even if it could not be reset */
	purge_completions(qp);
	if (rhca_mlx5_give_back(hca->mdev, MLX5_CMD_OP_DESTROY_QP, number))
		leak(qp, &qp->base.init);
	else
		free_memory(qp);
}

/*
 * If the adapter holds a process's queue pair, that keeps its memory and stays visible. But retry
 * for an XRC target: ib_core ignores the error, and its domain could never be freed.
 */
int rhca_mlx5_qp_destroy(struct rhca_qp *base, struct ib_udata *udata)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(base->ibqp.device);
	struct rhca_mlx5_qp *qp = rhca_mlx5_qp_of(base);
	u32 number = qp->numbered.number;
	int ret;

	if (!base->is_user) {
		destroy_of_kernel(qp);
		return 0;
	}
	ret = base->ibqp.qp_type == IB_QPT_XRC_TGT ?
	      rhca_mlx5_give_back(hca->mdev, MLX5_CMD_OP_DESTROY_QP, number) :
	      rhca_mlx5_command_on(hca->mdev, MLX5_CMD_OP_DESTROY_QP, number);
	if (ret)
		return ret;
	rhca_mlx5_number_remove(&hca->qps, &qp->numbered);
	free_memory(qp);
	return 0;
}

/* A queue pair without a set of its own counts into its port's */
static struct rhca_mlx5_counter_set *counters_of(const struct rhca_mlx5_qp *qp,
						 const struct rhca_port *port)
{
	return qp->counters ?: port ? port->counter_set.private : NULL;
}

/*
 * The adapter accepts a set in the transition to INIT, and another one only in RTS. If it refuses
 * that, it continues to use the old set.
 */
static void change_counter_set(struct rhca_mlx5_qp *qp)
{
	u16 set = qp->counters->number;
	int ret;

	if (set == qp->counting_into)
		return;
	ret = rhca_mlx5_count_into(rhca_mlx5_mdev(qp->base.ibqp.device),
				   qp->numbered.number, set);
	if (ret)
		ibdev_warn(qp->base.ibqp.device,
			   "QP %#x still counts into its port's set: error %d\n",
			   qp->base.ibqp.qp_num, ret);
	else
		qp->counting_into = set;
}

static void note_change(struct rhca_mlx5_qp *qp,
			const struct rhca_qp_change *change)
{
	switch (change->next) {
	case IB_QPS_RESET:
		if (!qp->base.is_user)
			empty_queues(qp);
		break;
	case IB_QPS_INIT:
		WRITE_ONCE(qp->counters, counters_of(qp, change->port));
		if (change->from == IB_QPS_RESET)
			qp->counting_into = qp->counters->number;
		break;
	case IB_QPS_RTS:
		change_counter_set(qp);
		break;
	default:
		break;
	}
}

/*
 * The peer's rights after the change. Without resources for READs and atomics, refuse these
 * regardless of the rights.
 */
static int access_of(const struct rhca_qp *base,
		     const struct rhca_qp_change *change)
{
	const struct ib_qp_attr *now = change->attr, *before = &base->attr;
	int access = change->mask & IB_QP_ACCESS_FLAGS ?
		     now->qp_access_flags : before->qp_access_flags;
	u8 answers = change->mask & IB_QP_MAX_DEST_RD_ATOMIC ?
		     now->max_dest_rd_atomic : before->max_dest_rd_atomic;

	return answers ? access : access & IB_ACCESS_REMOTE_WRITE;
}

int rhca_mlx5_qp_modify(struct rhca_qp *base,
			const struct rhca_qp_change *change,
			struct ib_udata *udata)
{
	struct rhca_mlx5_qp *qp = rhca_mlx5_qp_of(base);
	struct rhca_mlx5 *hca = rhca_mlx5_of(base->ibqp.device);
	const struct rhca_mlx5_counter_set *counters =
		counters_of(qp, change->port);
	u32 ece;
	const struct rhca_mlx5_qp_change command = {
		.spec		= &qp->spec,
		.number		= qp->numbered.number,
		.asked		= change,
		.lag_port	= rhca_mlx5_lag_port_of(hca, change->attr,
							change->mask),
		.access		= access_of(base, change),
		.counter_set	= counters ? counters->number : 0,
		.ece		= &ece,
	};
	int ret;

	ret = rhca_mlx5_ece_asked(udata, &ece);
	if (ret)
		return ret;
	ret = rhca_mlx5_change_hw_qp(hca->mdev, &command);
	if (ret)
		return ret;
	note_change(qp, change);
	/* The change is made, even if the answer cannot be copied to the process */
	rhca_mlx5_ece_answer(udata, ece);
	return 0;
}

int rhca_mlx5_qp_query(struct rhca_qp *base, struct ib_qp_attr *attr,
		       int mask)
{
	struct rhca_mlx5_qp *qp = rhca_mlx5_qp_of(base);

	return rhca_mlx5_query_hw_qp(rhca_mlx5_mdev(base->ibqp.device),
				     qp->numbered.number, attr);
}
