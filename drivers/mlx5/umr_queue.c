// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair of the service that only changes memory keys. It has one request at a time, and the
 * caller waits for it: most take some microseconds.
 */
#include <linux/iopoll.h>
#include <linux/kmemleak.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rhca/backend.h>

#include "device.h"
#include "umr_queue.h"

#define LOG_BLOCKS	2	/* of 64 bytes: the longest request has three */
#define POLL_US		20
#define TIMEOUT_US	(10 * USEC_PER_SEC)	/* then something is wrong */

static_assert(sizeof(struct rhca_mlx5_umr_request) <=
	      MLX5_SEND_WQE_BB << LOG_BLOCKS);

static int create_bus_key(struct rhca_mlx5_umr_queue *queue,
			  struct rhca_mlx5 *hca)
{
	const struct rhca_mlx5_key_spec spec = {
		.pd		= queue->pd,
		.unbounded	= true,
	};

	return rhca_mlx5_create_key(hca->mdev, &spec, 0, &queue->bus_key);
}

static int create_qp(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	int ret;

	ret = rhca_mlx5_buffer_alloc(&queue->buffer, hca->mdev,
				     MLX5_SEND_WQE_BB << LOG_BLOCKS);
	if (ret)
		return ret;
	queue->spec = (struct rhca_mlx5_qp_spec) {
		.service	= MLX5_QP_ST_REG_UMR,
		.pd		= queue->pd,
		.send_cq	= queue->cq.hw.cqn,
		.recv_cq	= queue->cq.hw.cqn,
		.buffer		= &queue->buffer,
		.log_send	= LOG_BLOCKS,
		.has_send	= true,
		.uar		= hca->doorbells.index,
		.user_index	= RHCA_MLX5_NO_USER_INDEX,
		.fast_registration = true,
		.timestamps	= mlx5_get_qp_default_ts(hca->mdev),
	};
	ret = rhca_mlx5_create_hw_qp(hca->mdev, &queue->spec, &queue->number);
	if (ret)
		rhca_mlx5_buffer_free(&queue->buffer, hca->mdev);
	return ret;
}

static int destroy_qp(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	int ret = rhca_mlx5_give_back(hca->mdev, MLX5_CMD_OP_DESTROY_QP,
				      queue->number);

	if (ret)
		rhca_mlx5_buffer_leak(&queue->buffer);
	else
		rhca_mlx5_buffer_free(&queue->buffer, hca->mdev);
	return ret;
}

/* It has no peer: enter each state with defaults */
static int start_qp(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	const struct ib_qp_attr attr = {};
	struct rhca_qp_change step = { .attr = &attr, .from = IB_QPS_RESET };
	const struct rhca_mlx5_qp_change change = {
		.spec	= &queue->spec,
		.number	= queue->number,
		.asked	= &step,
	};
	int ret;

	for (; step.from != IB_QPS_RTS; step.from = step.next) {
		step.next = step.from + 1;	/* INIT, RTR, RTS */
		ret = rhca_mlx5_change_hw_qp(hca->mdev, &change);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Create a function's queue. @hca: with its doorbells set up. May sleep. Returns 0 or an error,
 * with nothing left allocated.
 */
int rhca_mlx5_umr_queue_create(struct rhca_mlx5 *hca)
{
	struct device *device = hca->mdev->device;
	struct rhca_mlx5_umr_queue *queue;
	int ret;

	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return -ENOMEM;
	ret = mlx5_core_alloc_pd(hca->mdev, &queue->pd);
	if (ret)
		goto err_free;
	ret = create_bus_key(queue, hca);
	if (ret)
		goto err_dealloc_pd;
	ret = rhca_mlx5_key_list_alloc(&queue->list, device,
				       RHCA_MLX5_UMR_LIST_PAGES);
	if (ret)
		goto err_destroy_key;
	ret = rhca_mlx5_own_cq_create(&queue->cq, hca);
	if (ret)
		goto err_free_list;
	ret = create_qp(queue, hca);
	if (ret)
		goto err_destroy_cq;
	ret = start_qp(queue, hca);
	if (ret)
		goto err_destroy_qp;
	mutex_init(&hca->umr_lock);
	hca->umr_queue = queue;
	return 0;

err_destroy_qp:
	destroy_qp(queue, hca);
err_destroy_cq:
	rhca_mlx5_destroy_cq(&queue->cq.ibcq, NULL);
err_free_list:
	rhca_mlx5_key_list_free(&queue->list, device);
err_destroy_key:
	rhca_mlx5_give_key_back(hca->mdev, queue->bus_key);
err_dealloc_pd:
	mlx5_core_dealloc_pd(hca->mdev, queue->pd);
err_free:
	kfree(queue);
	return ret;
}

/*
 * If the adapter does not release a part, leak all: a request that timed out may still be executed.
 */
static int destroy_parts(struct rhca_mlx5_umr_queue *queue,
			 struct rhca_mlx5 *hca)
{
	int ret;

	ret = destroy_qp(queue, hca);
	if (ret)
		return ret;
	rhca_mlx5_destroy_cq(&queue->cq.ibcq, NULL);
	rhca_mlx5_key_list_free(&queue->list, hca->mdev->device);
	return rhca_mlx5_give_key_back(hca->mdev, queue->bus_key) ?:
	       mlx5_core_dealloc_pd(hca->mdev, queue->pd);
}

/* Undo rhca_mlx5_umr_queue_create() when its protection domain has no key any more. */
void rhca_mlx5_umr_queue_destroy(struct rhca_mlx5 *hca)
{
	if (destroy_parts(hca->umr_queue, hca))
		kmemleak_not_leak(hca->umr_queue);
	else
		kfree(hca->umr_queue);
	hca->umr_queue = NULL;
	mutex_destroy(&hca->umr_lock);
}

/* Copy by blocks, since a request may wrap around the end of the ring */
static void post(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca,
		 const struct rhca_mlx5_umr_request *request, size_t bytes)
{
	u8 *ring = queue->buffer.frags.frags[0].buf;
	const u8 *from = (const u8 *)request;
	__be32 *first = NULL;
	size_t done, part;
	u8 *block;

	for (done = 0; done < bytes; done += part) {
		block = ring + (queue->next_block & (BIT(LOG_BLOCKS) - 1)) *
			       MLX5_SEND_WQE_BB;
		part = min_t(size_t, bytes - done, MLX5_SEND_WQE_BB);
		memcpy(block, from + done, part);
		if (!first)
			first = (__be32 *)block;
		queue->next_block++;
	}
	wmb();		/* the request before the count */
	queue->buffer.db.db[MLX5_SND_DBR] = cpu_to_be32(queue->next_block);
	wmb();		/* the count before the doorbell */
	mlx5_write64(first, hca->doorbells.map);
}

/* Returns -EAGAIN while there is none */
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

static int wait_until_done(struct rhca_mlx5_umr_queue *queue,
			   struct rhca_mlx5 *hca)
{
	int ret, late;

	late = read_poll_timeout(take_completion, ret,
				 ret != -EAGAIN || rhca_mlx5_is_dead(hca),
				 POLL_US, TIMEOUT_US, false, &queue->cq);
	if (late)
		return late;
	return ret == -EAGAIN ? -EIO : ret;
}

/* A failed request leaves the queue pair in error, or is still on it */
static void restart(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca)
{
	queue->is_broken = rhca_mlx5_command_on(hca->mdev, MLX5_CMD_OP_2RST_QP,
						queue->number);
	/* Each command to silent firmware takes a minute */
	if (queue->is_broken)
		return;
	while (take_completion(&queue->cq) != -EAGAIN)
		;
	queue->next_block = 0;
	queue->buffer.db.db[MLX5_SND_DBR] = 0;
	queue->is_broken = start_qp(queue, hca);
}

/*
 * Execute @request, with all but @control filled in, on @key. @hca->umr_lock held; sleeps as long
 * as the adapter takes. Returns 0; -EIO if the adapter rejected it, is dead, or the queue could not
 * be restarted after an earlier request: the key is unchanged. -ETIMEDOUT if the adapter did not
 * answer: the key is unchanged or changed.
 */
int rhca_mlx5_umr_execute(struct rhca_mlx5 *hca,
			  struct rhca_mlx5_umr_request *request, u32 key)
{
	struct rhca_mlx5_umr_queue *queue = hca->umr_queue;
	size_t bytes = request->umr.flags & MLX5_UMR_INLINE ?
		       offsetof(struct rhca_mlx5_umr_request, list) :
		       sizeof(*request);
	int ret;

	lockdep_assert_held(&hca->umr_lock);
	if (queue->is_broken || rhca_mlx5_is_dead(hca))
		return -EIO;
	request->control = (struct mlx5_wqe_ctrl_seg) {
		.opmod_idx_opcode = cpu_to_be32(queue->next_block << 8 |
						MLX5_OPCODE_UMR),
		.qpn_ds = cpu_to_be32(queue->number << 8 |
				      bytes / MLX5_SEND_WQE_DS),
		.fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE,
		.umr_mkey = cpu_to_be32(key),
	};
	post(queue, hca, request, bytes);
	ret = wait_until_done(queue, hca);
	if (!ret)
		return 0;
	ibdev_err(hca->ibdev, "memory key %#x could not be changed: error %d\n",
		  key, ret);
	restart(queue, hca);
	return ret;
}
