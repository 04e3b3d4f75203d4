// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware has no command that changes a memory key: a request does, on a queue pair
 * of a service that is there for nothing else. It is made when the first change needs
 * it, since few programs register anything again, and holds one request at a time.
 */
#include <linux/iopoll.h>
#include <linux/mlx5/qp.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "command.h"
#include "cq.h"
#include "device.h"
#include "fatal.h"
#include "umr.h"
#include "wqe.h"

#define LOG_COMPLETIONS	1	/* the fewest that a queue may have */
#define LOG_BLOCKS	2	/* of 64 bytes: two requests */
#define POLL_US		20	/* a request takes some microseconds */
#define TIMEOUT_US	(10 * USEC_PER_SEC)	/* then there is something wrong */

/* A request: to which key, what, and the key's new context */
struct request {
	struct mlx5_wqe_ctrl_seg control;
	struct mlx5_wqe_umr_ctrl_seg umr;
	struct mlx5_mkey_seg key;
};

#define REQUEST_BLOCKS	(sizeof(struct request) / MLX5_SEND_WQE_BB)

static_assert(sizeof(struct request) % MLX5_SEND_WQE_BB == 0);
static_assert(BIT(LOG_BLOCKS) % REQUEST_BLOCKS == 0);

/**
 * struct rhca_mlx5_umr_queue - A queue pair whose requests change memory keys
 * @pd: number of its protection domain
 * @cq: its completion queue
 * @buffer: its send queue
 * @spec: what the adapter knows of it
 * @number: its number
 * @next_block: of the next request; counts on from round to round
 */
struct rhca_mlx5_umr_queue {
	u32 pd;
	struct rhca_mlx5_cq cq;
	struct rhca_mlx5_buffer buffer;
	struct rhca_mlx5_qp_spec spec;
	u32 number;
	u16 next_block;
};

static int create_pd(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	return mlx5_core_alloc_pd(hca->mdev, &queue->pd);
}

static void destroy_pd(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	mlx5_core_dealloc_pd(hca->mdev, queue->pd);
}

static int create_cq(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	return rhca_mlx5_own_cq_create(&queue->cq, hca, LOG_COMPLETIONS);
}

static void destroy_cq(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	rhca_mlx5_own_cq_destroy(&queue->cq, hca);
}

static int create_qp(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	int ret;

	ret = rhca_mlx5_buffer_alloc(&queue->buffer, hca->mdev,
				     MLX5_SEND_WQE_BB << LOG_BLOCKS);
	if (ret)
		return ret;
	queue->spec = (struct rhca_mlx5_qp_spec) {
		.service	 = MLX5_QP_ST_REG_UMR,
		.pd		 = queue->pd,
		.send_cq	 = queue->cq.hw.cqn,
		.recv_cq	 = queue->cq.hw.cqn,
		.buffer		 = &queue->buffer,
		.log_send	 = LOG_BLOCKS,
		.has_send	 = true,
		.uar		 = hca->doorbells.index,
		.user_index	 = RHCA_MLX5_NO_USER_INDEX,
		.may_change_keys = true,
	};
	ret = rhca_mlx5_create_hw_qp(hca->mdev, &queue->spec, &queue->number);
	if (ret)
		rhca_mlx5_buffer_free(&queue->buffer, hca->mdev);
	return ret;
}

static void destroy_qp(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	rhca_mlx5_destroy_hw_qp(hca->mdev, queue->number);
	rhca_mlx5_buffer_free(&queue->buffer, hca->mdev);
}

/* It has no peer: the states are gone through with what has no default alone */
static int start_qp(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	static const struct {
		enum ib_qp_state next;
		int mask;
	} steps[] = {
		{ IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT },
		{ IB_QPS_RTR, 0 },
		{ IB_QPS_RTS, 0 },
	};
	const struct ib_qp_attr attr = {};
	struct rhca_mlx5_qp_change change = {
		.spec	= &queue->spec,
		.number	= queue->number,
		.attr	= &attr,
		.from	= IB_QPS_RESET,
	};
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		change.next = steps[i].next;
		change.mask = steps[i].mask;
		ret = rhca_mlx5_change_hw_qp(hca->mdev, &change);
		if (ret)
			return ret;
		change.from = change.next;
	}
	return 0;
}

/* Destroying the queue pair stops it */
static void stop_qp(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
}

/* In the order in which one needs another */
static const struct part {
	int (*create)(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca);
	void (*destroy)(struct rhca_mlx5_umr_queue *queue,
			struct rhca_mlx5 *hca);
} parts[] = {
	{ create_pd, destroy_pd },
	{ create_cq, destroy_cq },
	{ create_qp, destroy_qp },
	{ start_qp, stop_qp },
};

static void destroy_parts(struct rhca_mlx5_umr_queue *queue,
			  struct rhca_mlx5 *hca, size_t num)
{
	while (num--)
		parts[num].destroy(queue, hca);
	kfree(queue);
}

static void destroy_queue(struct rhca_mlx5 *hca)
{
	if (hca->umr_queue)
		destroy_parts(hca->umr_queue, hca, ARRAY_SIZE(parts));
	hca->umr_queue = NULL;
}

static int create_queue(struct rhca_mlx5 *hca)
{
	struct rhca_mlx5_umr_queue *queue;
	size_t i;
	int ret;

	lockdep_assert_held(&hca->umr_lock);
	if (hca->umr_queue)
		return 0;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		ret = parts[i].create(queue, hca);
		if (ret) {
			destroy_parts(queue, hca, i);
			return ret;
		}
	}
	hca->umr_queue = queue;
	return 0;
}

/* Parts of the key that change */
static u64 mask_of(const struct rhca_mlx5_key_change *change)
{
	u64 mask = 0;

	if (change->new_pd)
		mask |= MLX5_MKEY_MASK_PD;
	if (!change->new_access)
		return mask;
	mask |= MLX5_MKEY_MASK_LR | MLX5_MKEY_MASK_LW | MLX5_MKEY_MASK_RR |
		MLX5_MKEY_MASK_RW;
	if ((change->access ^ change->old_rights) & IB_ACCESS_REMOTE_ATOMIC)
		mask |= MLX5_MKEY_MASK_A;
	return mask;
}

static void build(const struct rhca_mlx5_umr_queue *queue,
		  const struct rhca_mlx5_key_change *change,
		  struct request *request)
{
	*request = (struct request) {
		.control = {
			.opmod_idx_opcode = cpu_to_be32(queue->next_block << 8 |
							MLX5_OPCODE_UMR),
			.qpn_ds = cpu_to_be32(queue->number << 8 |
					      sizeof(*request) /
					      MLX5_SEND_WQE_DS),
			.fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE,
			.umr_mkey = cpu_to_be32(change->key),
		},
		.umr = {
			/* Fails where the key is free: a stranger's */
			.flags		= MLX5_UMR_CHECK_FREE | MLX5_UMR_INLINE,
			.mkey_mask	= cpu_to_be64(mask_of(change)),
		},
		.key = {
			.flags		= rhca_mlx5_key_rights(change->access),
			/* Any queue pair may use it; the low byte is the key's */
			.qpn_mkey7_0	= cpu_to_be32(0xffffff00 |
						      (change->key & 0xff)),
			.flags_pd	= cpu_to_be32(change->pd),
		},
	};
}

static void post(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca,
		 const struct request *request)
{
	u8 *blocks = queue->buffer.frags.frags[0].buf;
	u32 first = queue->next_block & (BIT(LOG_BLOCKS) - 1);

	memcpy(blocks + first * MLX5_SEND_WQE_BB, request, sizeof(*request));
	queue->next_block += REQUEST_BLOCKS;
	wmb();		/* the request before the count */
	queue->buffer.db.db[MLX5_SND_DBR] = cpu_to_be32(queue->next_block);
	wmb();		/* the count before the doorbell */
	mlx5_write64((__be32 *)(blocks + first * MLX5_SEND_WQE_BB),
		     hca->doorbells.map);
}

/* -EAGAIN: there is none yet */
static int take_completion(struct rhca_mlx5_cq *cq)
{
	struct mlx5_cqe64 *cqe;
	int ret = -EAGAIN;

	spin_lock_irq(&cq->lock);
	cqe = rhca_mlx5_cq_entry(cq, cq->hw.cons_index);
	if (cqe) {
		dma_rmb();	/* the owner bit before the rest */
		ret = get_cqe_opcode(cqe) == MLX5_CQE_REQ ? 0 : -EIO;
		cq->hw.cons_index++;
		mlx5_cq_set_ci(&cq->hw);
	}
	spin_unlock_irq(&cq->lock);
	return ret;
}

static int wait(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	int ret, late;

	late = read_poll_timeout(take_completion, ret,
				 ret != -EAGAIN || rhca_mlx5_is_dead(hca),
				 POLL_US, TIMEOUT_US, false, &queue->cq);
	if (late)
		return late;
	return ret == -EAGAIN ? -EIO : ret;
}

static int change_locked(struct rhca_mlx5 *hca,
			 const struct rhca_mlx5_key_change *change)
{
	struct request request;
	int ret;

	lockdep_assert_held(&hca->umr_lock);
	ret = create_queue(hca);
	if (ret)
		return ret;
	build(hca->umr_queue, change, &request);
	post(hca->umr_queue, hca, &request);
	ret = wait(hca->umr_queue, hca);
	if (ret) {
		ibdev_err(hca->ibdev, "memory key %#x could not be changed: error %d\n",
			  change->key, ret);
		/* It is in error, or a request is on it still: the next gets a new one */
		destroy_queue(hca);
	}
	return ret;
}

/**
 * rhca_mlx5_change_key - Change a memory key that stays in use
 * @hca: the function
 * @change: what is to change
 *
 * Context: may sleep, as long as the adapter takes for one request.
 * Return: 0; -EOPNOTSUPP where the adapter cannot change a right that is asked for;
 * -EIO where it refused, -ETIMEDOUT where it did not answer: the key is as it was; what
 * creating the queue says.
 */
int rhca_mlx5_change_key(struct rhca_mlx5 *hca,
			 const struct rhca_mlx5_key_change *change)
{
	int ret;

	if (mask_of(change) & MLX5_MKEY_MASK_A &&
	    MLX5_CAP_GEN(hca->mdev, umr_modify_atomic_disabled))
		return -EOPNOTSUPP;
	if (rhca_mlx5_is_dead(hca))
		return -EIO;
	mutex_lock(&hca->umr_lock);
	ret = change_locked(hca, change);
	mutex_unlock(&hca->umr_lock);
	return ret;
}

void rhca_mlx5_umr_init(struct rhca_mlx5 *hca)
{
	mutex_init(&hca->umr_lock);
	hca->umr_queue = NULL;
}

/* No region is left */
void rhca_mlx5_umr_exit(struct rhca_mlx5 *hca)
{
	destroy_queue(hca);
	mutex_destroy(&hca->umr_lock);
}
