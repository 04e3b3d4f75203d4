// SPDX-License-Identifier: GPL-2.0
/* Completion queues: create, resize, destroy. Reading and arming them is in poll.c. */
#include <linux/interrupt.h>
#include <linux/kmemleak.h>
#include <linux/log2.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "command.h"
#include "context.h"
#include "cq.h"
#include "device.h"
#include "uar.h"

#define CQE_BYTES	64
#define OWNER_INVALID	(MLX5_CQE_INVALID << 4)

/*
 * Called by mlx5_core: for a CQ of the kernel in the event queue's interrupt; for one of a process,
 * of which one event queue may have many, in a tasklet.
 */
static void raise_completion(struct mlx5_core_cq *hw, struct mlx5_eqe *eqe)
{
	struct ib_cq *ibcq = &container_of(hw, struct rhca_mlx5_cq, hw)->ibcq;

	ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/* The queue has overrun, and is unusable now */
static void raise_event(struct mlx5_core_cq *hw, enum mlx5_event type)
{
	struct ib_cq *ibcq = &container_of(hw, struct rhca_mlx5_cq, hw)->ibcq;
	struct ib_event event = {
		.device		= ibcq->device,
		.element.cq	= ibcq,
		.event		= IB_EVENT_CQ_ERR,
	};

	if (type == MLX5_EVENT_TYPE_CQ_ERROR && ibcq->event_handler)
		ibcq->event_handler(&event, ibcq->cq_context);
}

/*
 * Get an entry of a CQ of the kernel. @index: not reset at the end of the ring. @cq->lock held.
 * Returns the entry, or NULL if the adapter has not written it yet.
 */
struct mlx5_cqe64 *rhca_mlx5_cq_entry(struct rhca_mlx5_cq *cq, u32 index)
{
	struct mlx5_cqe64 *cqe;
	bool odd_round = index >> cq->log_entries & 1;

	lockdep_assert_held(&cq->lock);
	cqe = mlx5_frag_buf_get_wqe(&cq->entries,
				    index & (BIT(cq->log_entries) - 1));
	if (get_cqe_opcode(cqe) == MLX5_CQE_INVALID ||
	    (READ_ONCE(cqe->op_own) & MLX5_CQE_OWNER_MASK) != odd_round)
		return NULL;
	return cqe;
}

static int pin_cq(struct rhca_mlx5_cq *cq, struct ib_udata *udata,
		  struct rhca_mlx5_cq_spec *spec)
{
	struct rhca_mlx5_ucontext *context = rhca_mlx5_context_of(udata);
	struct rhca_mlx5_user_queue queue = { .access = IB_ACCESS_LOCAL_WRITE };
	struct mlx5_ib_create_cq cmd = {};
	int ret;

	ret = rhca_mlx5_take_request(udata, &cmd, sizeof(cmd),
				     offsetofend(typeof(cmd), uar_page_index));
	if (ret)
		return ret;
	cq->real_time = cmd.flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;
	cmd.flags &= ~MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;
	if (cmd.flags != MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX ||
	    cmd.cqe_comp_en || cmd.reserved0 || cmd.reserved1)
		return -EOPNOTSUPP;
	if ((cmd.cqe_size != 64 && cmd.cqe_size != 128) ||
	    !IS_ALIGNED(cmd.buf_addr, cmd.cqe_size))
		return -EINVAL;
	queue.address = cmd.buf_addr;
	queue.bytes = (size_t)cmd.cqe_size << spec->log_entries;
	queue.record = cmd.db_addr;
	spec->cqe_bytes = cmd.cqe_size;
	spec->uar = cmd.uar_page_index;
	cq->uar = rhca_mlx5_uar_get(context, cmd.uar_page_index);
	if (!cq->uar)
		return -EINVAL;
	ret = rhca_mlx5_buffer_pin(&cq->buffer, context, &queue);
	if (ret)
		rhca_mlx5_uar_put(cq->uar);
	return ret;
}

static int alloc_kernel(struct rhca_mlx5_cq *cq, struct rhca_mlx5 *hca,
			struct rhca_mlx5_cq_spec *spec)
{
	struct mlx5_cqe64 *cqe;
	u32 i;
	int ret;

	ret = rhca_mlx5_buffer_alloc(&cq->buffer, hca->mdev,
				     (size_t)CQE_BYTES << spec->log_entries);
	if (ret)
		return ret;
	mlx5_init_fbc(cq->buffer.frags.frags, ilog2(CQE_BYTES),
		      spec->log_entries, &cq->entries);
	for (i = 0; i < BIT(spec->log_entries); i++) {
		cqe = mlx5_frag_buf_get_wqe(&cq->entries, i);
		cqe->op_own = OWNER_INVALID;
	}
	cq->hw.set_ci_db = &cq->buffer.db.db[0];
	cq->hw.arm_db = &cq->buffer.db.db[1];
	spec->cqe_bytes = CQE_BYTES;
	spec->uar = hca->doorbells.up->index;
	return 0;
}

static int check_attr(const struct mlx5_core_dev *mdev,
		      const struct ib_cq_init_attr *attr)
{
	/* Each completion has a timestamp, requested or not */
	const u32 known = IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN |
			  IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;

	if (attr->flags & ~known)
		return -EOPNOTSUPP;
	if (attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN &&
	    !MLX5_CAP_GEN(mdev, cq_oi))
		return -EOPNOTSUPP;
	/* One entry always stays free */
	if (attr->cqe >= BIT(MLX5_CAP_GEN(mdev, log_max_cq_sz)))
		return -EINVAL;
	return 0;
}

static int copy_number(const struct rhca_mlx5_cq *cq, struct ib_udata *udata)
{
	struct mlx5_ib_create_cq_resp resp = { .cqn = cq->hw.cqn };

	return ib_copy_to_udata(udata, &resp, min(udata->outlen, sizeof(resp)));
}

static void free_memory(struct rhca_mlx5_cq *cq, struct mlx5_core_dev *mdev)
{
	rhca_mlx5_buffer_free(&cq->buffer, mdev);
	rhca_mlx5_uar_put(cq->uar);
}

/*
 * Destroy a CQ without a chance to retry. If the adapter holds it, it may write completions to the
 * entries, so leak these and the UAR. But events no longer find it, and once those in progress have
 * ended it may be freed.
 */
static int abandon(struct rhca_mlx5_cq *cq, struct mlx5_core_dev *mdev)
{
	int ret = mlx5_core_destroy_cq(mdev, &cq->hw);

	if (!ret)
		return 0;
	synchronize_irq(cq->hw.irqn);
	mlx5_cq_put(&cq->hw);
	wait_for_completion(&cq->hw.free);
	rhca_mlx5_buffer_leak(&cq->buffer);
	kmemleak_not_leak(cq->uar);
	return ret;
}

/* Events end before ib_core stops the work that they schedule. It ignores errors */
int rhca_mlx5_pre_destroy_cq(struct ib_cq *ibcq)
{
	struct rhca_mlx5_cq *cq = to_rhca_mlx5_cq(ibcq);

	/* Work in progress must neither arm nor moderate who gets the number next */
	spin_lock_irq(&cq->lock);
	cq->has_ended = true;
	spin_unlock_irq(&cq->lock);
	mutex_lock(&cq->resize_lock);
	cq->is_lost = abandon(cq, rhca_mlx5_mdev(ibcq->device));
	mutex_unlock(&cq->resize_lock);
	return 0;
}

int rhca_mlx5_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			rhca_create_cq_arg *arg)
{
	struct ib_udata *udata = rhca_create_cq_udata(arg);
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibcq->device);
	struct rhca_mlx5_cq *cq = to_rhca_mlx5_cq(ibcq);
	struct rhca_mlx5_cq_spec spec = {
		.buffer = &cq->buffer,
		.log_entries = order_base_2(attr->cqe + 1),
		.ignore_overrun = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN,
	};
	int ret;

	ret = rhca_brings_cq(udata) ? -EOPNOTSUPP : check_attr(hca->mdev, attr);
	if (ret)
		return ret;
	ret = rhca_mlx5_vector_eqn(hca->mdev, attr->comp_vector, &spec.eqn);
	if (ret)
		return ret;
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_lock);
	cq->log_entries = spec.log_entries;
	cq->wants_stamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	cq->hw.comp = udata ? rhca_mlx5_cq_in_tasklet : raise_completion;
	cq->hw.tasklet_ctx.comp = raise_completion;
	cq->hw.event = raise_event;
	ret = udata ? pin_cq(cq, udata, &spec) : alloc_kernel(cq, hca, &spec);
	if (ret)
		return ret;
	cq->entry_bytes = spec.cqe_bytes;
	ret = rhca_mlx5_create_hw_cq(hca->mdev, &spec, &cq->hw);
	if (ret)
		goto err_free;
	ibcq->cqe = BIT(spec.log_entries) - 1;
	ret = udata ? copy_number(cq, udata) : 0;
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	/* The process did not get its number */
	if (abandon(cq, hca->mdev))
		return ret;
err_free:
	free_memory(cq, hca->mdev);
	return ret;
}

/*
 * With a lost queue the CQ is lost too; an error would make ib_core keep it for ever. And ib_core
 * frees a CQ of the kernel regardless of errors.
 */
int rhca_mlx5_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibcq->device);
	struct rhca_mlx5_cq *cq = to_rhca_mlx5_cq(ibcq);
	bool is_last = cq->has_leaked || !udata;
	int ret;

	if (cq->has_ended)
		ret = cq->is_lost;
	else
		ret = is_last ? abandon(cq, mdev) : mlx5_core_destroy_cq(mdev, &cq->hw);
	if (ret)
		return is_last ? 0 : ret;
	mutex_destroy(&cq->resize_lock);
	ib_umem_release(cq->unanswered);
	free_memory(cq, mdev);
	return 0;
}

static int pin_new_entries(struct rhca_mlx5_cq *cq, struct ib_udata *udata,
			   struct rhca_mlx5_cq_spec *spec,
			   struct rhca_mlx5_buffer *entries)
{
	struct rhca_mlx5_user_queue queue = { .access = IB_ACCESS_LOCAL_WRITE };
	struct mlx5_ib_resize_cq cmd = {};
	int ret;

	ret = rhca_mlx5_take_request(udata, &cmd, sizeof(cmd),
				     offsetofend(typeof(cmd), cqe_size));
	if (ret)
		return ret;
	if (cmd.cqe_size != cq->entry_bytes || cmd.reserved0 || cmd.reserved1 ||
	    !IS_ALIGNED(cmd.buf_addr, cmd.cqe_size))
		return -EINVAL;
	queue.address = cmd.buf_addr;
	queue.bytes = (size_t)cmd.cqe_size << spec->log_entries;
	return rhca_mlx5_buffer_pin_entries(entries,
					    rhca_mlx5_context_of(udata),
					    &queue);
}

static int resize_locked(struct rhca_mlx5_cq *cq, u8 log_entries,
			 struct ib_udata *udata)
{
	struct rhca_mlx5_buffer entries = {};
	struct rhca_mlx5_cq_spec spec = {
		.buffer		= &entries,
		.log_entries	= log_entries,
		.cqe_bytes	= cq->entry_bytes,
	};
	int ret;

	lockdep_assert_held(&cq->resize_lock);
	if (cq->unanswered)
		return -EIO;
	if (log_entries == cq->log_entries)
		return 0;
	ret = pin_new_entries(cq, udata, &spec, &entries);
	if (ret)
		return ret;
	ret = rhca_mlx5_resize_hw_cq(rhca_mlx5_mdev(cq->ibcq.device), &spec,
				     &cq->hw);
	/* Without an answer the adapter may use either: keep both as long as the queue */
	if (ret == -ETIMEDOUT)
		cq->unanswered = entries.umem;
	else if (ret)
		ib_umem_release(entries.umem);
	if (ret)
		return ret;
	rhca_mlx5_buffer_move_entries(&cq->buffer, &entries);
	cq->log_entries = log_entries;
	cq->ibcq.cqe = BIT(log_entries) - 1;
	return 0;
}

/*
 * The resize_cq verb. The adapter marks the end of the old entries with a special one. The process
 * copies earlier entries, not read yet, to the new memory. Process context of the owner. Returns 0;
 * -EINVAL for an unsupported size, or if unread entries would not fit; -ETIMEDOUT if the firmware
 * does not answer, and -EIO from then on, as either memory may be in use; an error of pinning.
 */
int rhca_mlx5_resize_cq(struct ib_cq *ibcq, rhca_cqe_count entries,
			struct ib_udata *udata)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibcq->device);
	struct rhca_mlx5_cq *cq = to_rhca_mlx5_cq(ibcq);
	int ret;

	if (!udata || !MLX5_CAP_GEN(mdev, cq_resize))
		return -EOPNOTSUPP;
	/* One entry always stays free */
	if (entries < 1 || entries >= BIT(MLX5_CAP_GEN(mdev, log_max_cq_sz)))
		return -EINVAL;
	mutex_lock(&cq->resize_lock);
	ret = resize_locked(cq, order_base_2(entries + 1), udata);
	mutex_unlock(&cq->resize_lock);
	return ret;
}

int rhca_mlx5_modify_cq(struct ib_cq *ibcq, u16 count, u16 period_us)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibcq->device);
	struct rhca_mlx5_cq *cq = to_rhca_mlx5_cq(ibcq);
	int ret = 0;

	if (!MLX5_CAP_GEN(mdev, cq_moderation))
		return -EOPNOTSUPP;
	if (period_us > MLX5_MAX_CQ_PERIOD)
		return -EINVAL;
	mutex_lock(&cq->resize_lock);
	if (!cq->has_ended)
		ret = mlx5_core_modify_cq_moderation(mdev, &cq->hw, period_us,
						     count);
	mutex_unlock(&cq->resize_lock);
	return ret;
}

/*
 * Create a completion queue of minimal size for the driver itself. It is never armed: read its
 * entries with rhca_mlx5_cq_entry(). @cq: all zero; undo with rhca_mlx5_destroy_cq(). May sleep.
 * Returns 0 or an error, with nothing left allocated.
 */
int rhca_mlx5_own_cq_create(struct rhca_mlx5_cq *cq, struct rhca_mlx5 *hca)
{
	const struct ib_cq_init_attr attr = { .cqe = 1 };

	cq->ibcq.device = hca->ibdev;
	return rhca_mlx5_create_cq(&cq->ibcq, &attr, NULL);
}

/* Status by the adapter's syndrome; 0 (IB_WC_SUCCESS) for others */
static const u8 statuses[] = {
	[MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR]		= IB_WC_LOC_LEN_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR]		= IB_WC_LOC_QP_OP_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_PROT_ERR]		= IB_WC_LOC_PROT_ERR,
	[MLX5_CQE_SYNDROME_WR_FLUSH_ERR]		= IB_WC_WR_FLUSH_ERR,
	[MLX5_CQE_SYNDROME_MW_BIND_ERR]			= IB_WC_MW_BIND_ERR,
	[MLX5_CQE_SYNDROME_BAD_RESP_ERR]		= IB_WC_BAD_RESP_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR]		= IB_WC_LOC_ACCESS_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR]	= IB_WC_REM_INV_REQ_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR]		= IB_WC_REM_ACCESS_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_OP_ERR]		= IB_WC_REM_OP_ERR,
	[MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR]	= IB_WC_RETRY_EXC_ERR,
	[MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR]		= IB_WC_RNR_RETRY_EXC_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR]		= IB_WC_REM_ABORT_ERR,
};

/* The status for a syndrome of a completion or of a queue pair. */
enum ib_wc_status rhca_mlx5_status_of(u8 syndrome)
{
	if (syndrome < ARRAY_SIZE(statuses) && statuses[syndrome])
		return statuses[syndrome];
	return IB_WC_GENERAL_ERR;
}
