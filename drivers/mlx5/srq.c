// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues, basic ones and those of XRC domains. */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/mlx5-abi.h>

#include "command.h"
#include "context.h"
#include "cq.h"
#include "device.h"
#include "srq.h"
#include "wqe.h"
#include "xrc.h"

#define MIN_ENTRY_BYTES	32
#define MAX_POOL_OFFSET	31	/* its field is a bit shorter than a queue pair's */

static struct mlx5_wqe_srq_next_seg *entry_at(struct rhca_mlx5_srq *srq,
					      u16 index)
{
	return mlx5_frag_buf_get_wqe(&srq->entries, index);
}

static u8 log_entry_bytes(u32 max_sge)
{
	size_t bytes = sizeof(struct mlx5_wqe_srq_next_seg) +
		       max_sge * sizeof(struct mlx5_wqe_data_seg);

	return order_base_2(max_t(size_t, bytes, MIN_ENTRY_BYTES));
}

static int check_init(const struct mlx5_core_dev *mdev,
		      const struct ib_srq_init_attr *init)
{
	const struct ib_srq_attr *attr = &init->attr;

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	/* An SRQ without entries is allowed as in mlx5_ib, for libmlx5 */
	if (attr->max_wr >= BIT(MLX5_CAP_GEN(mdev, log_max_srq_sz)) ||
	    attr->max_sge > rhca_mlx5_max_srq_sge(mdev))
		return -EINVAL;
	return 0;
}

static size_t bytes_of(const struct rhca_mlx5_srq_spec *spec)
{
	return (size_t)1 << (spec->log_entries + spec->log_entry_bytes);
}

static int pin_srq(struct rhca_mlx5_srq *srq, struct ib_udata *udata,
		   struct rhca_mlx5_srq_spec *spec)
{
	struct rhca_mlx5_user_queue queue = { .bytes = bytes_of(spec) };
	struct mlx5_ib_create_srq cmd = {};
	int ret;

	ret = rhca_mlx5_take_request(udata, &cmd, sizeof(cmd), spec->is_xrc ?
				     offsetofend(typeof(cmd), uidx) : 0);
	if (ret)
		return ret;
	if (cmd.reserved0 || cmd.reserved1 ||
	    cmd.uidx > RHCA_MLX5_NO_USER_INDEX)
		return -EINVAL;
	if (cmd.flags)
		return -EOPNOTSUPP;
	spec->user_index = cmd.uidx;
	queue.address = cmd.buf_addr;
	queue.record = cmd.db_addr;
	ret = rhca_mlx5_buffer_pin(&srq->buffer, rhca_mlx5_context_of(udata),
				   &queue);
	if (ret)
		return ret;
	if (srq->buffer.page_offset > MAX_POOL_OFFSET) {
		rhca_mlx5_buffer_free(&srq->buffer,
				      rhca_mlx5_mdev(srq->ibsrq.device));
		return -EINVAL;
	}
	return 0;
}

/* Link all entries into the free list */
static void link_entries(struct rhca_mlx5_srq *srq)
{
	u32 i;

	for (i = 0; i < srq->num_entries; i++)
		entry_at(srq, i)->next_wqe_index =
			cpu_to_be16((i + 1) & (srq->num_entries - 1));
	srq->head = 0;
	srq->tail = srq->num_entries - 1;
}

static int alloc_kernel(struct rhca_mlx5_srq *srq,
			const struct rhca_mlx5_srq_spec *spec)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(srq->ibsrq.device);
	int ret;

	srq->wr_id = kvcalloc(srq->num_entries, sizeof(*srq->wr_id),
			      GFP_KERNEL);
	if (!srq->wr_id)
		return -ENOMEM;
	ret = rhca_mlx5_buffer_alloc(&srq->buffer, mdev, bytes_of(spec));
	if (ret) {
		kvfree(srq->wr_id);
		return ret;
	}
	mlx5_init_fbc(srq->buffer.frags.frags, spec->log_entry_bytes,
		      spec->log_entries, &srq->entries);
	link_entries(srq);
	return 0;
}

static void free_memory(struct rhca_mlx5_srq *srq)
{
	rhca_mlx5_buffer_free(&srq->buffer, rhca_mlx5_mdev(srq->ibsrq.device));
	kvfree(srq->wr_id);
}

static int copy_number(const struct rhca_mlx5_srq *srq, struct ib_udata *udata)
{
	struct mlx5_ib_create_srq_resp resp = { .srqn = srq->numbered.number };

	return ib_copy_to_udata(udata, &resp, min(udata->outlen, sizeof(resp)));
}

static bool is_xrc(const struct rhca_mlx5_srq *srq)
{
	return srq->ibsrq.srq_type == IB_SRQT_XRC;
}

static void describe(struct rhca_mlx5_srq *srq,
		     const struct ib_srq_init_attr *init,
		     struct rhca_mlx5_srq_spec *spec)
{
	*spec = (struct rhca_mlx5_srq_spec) {
		.buffer		 = &srq->buffer,
		.log_entries	 = order_base_2(init->attr.max_wr + 1),
		.log_entry_bytes = log_entry_bytes(init->attr.max_sge),
		.pd		 = to_rhca_mlx5_pd(srq->ibsrq.pd)->number,
		.is_xrc		 = is_xrc(srq),
		.user_index	 = RHCA_MLX5_NO_USER_INDEX,
	};
	if (spec->is_xrc) {
		spec->xrcd = to_rhca_mlx5_xrcd(init->ext.xrc.xrcd)->number;
		spec->cq = to_rhca_mlx5_cq(init->ext.cq)->hw.cqn;
	}
	srq->num_entries = BIT(spec->log_entries);
	srq->max_sge = (BIT(spec->log_entry_bytes) -
			sizeof(struct mlx5_wqe_srq_next_seg)) /
		       sizeof(struct mlx5_wqe_data_seg);
}

/* The adapter holds a queue: leak its memory and mark what it uses */
static void leak(struct rhca_mlx5_srq *srq)
{
	struct ib_srq *ibsrq = &srq->ibsrq;

	to_rhca_mlx5_pd(ibsrq->pd)->has_leaked = true;
	if (is_xrc(srq)) {
		to_rhca_mlx5_cq(ibsrq->ext.cq)->has_leaked = true;
		to_rhca_mlx5_xrcd(ibsrq->ext.xrc.xrcd)->has_leaked = true;
	}
	rhca_mlx5_buffer_leak(&srq->buffer);
	kvfree(srq->wr_id);
}

int rhca_mlx5_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			 struct ib_udata *udata)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibsrq->device);
	struct rhca_mlx5_srq *srq = to_rhca_mlx5_srq(ibsrq);
	struct rhca_mlx5_srq_spec spec;
	u32 number;
	int ret;

	ret = rhca_brings_srq(udata) ? -EOPNOTSUPP : check_init(hca->mdev, init);
	if (ret)
		return ret;
	/* Completions of the kernel are looked up by QP, and have no such queue */
	if (!udata && init->srq_type == IB_SRQT_XRC)
		return -EOPNOTSUPP;
	spin_lock_init(&srq->lock);
	describe(srq, init, &spec);
	ret = udata ? pin_srq(srq, udata, &spec) : alloc_kernel(srq, &spec);
	if (ret)
		return ret;
	ret = rhca_mlx5_create_hw_srq(hca->mdev, &spec, &number);
	/* It may still be executed */
	if (ret == -ETIMEDOUT) {
		leak(srq);
		return ret;
	}
	if (ret)
		goto err_free;
	ret = rhca_mlx5_number_add(&hca->srqs, number, &srq->numbered);
	if (!ret && udata)
		ret = copy_number(srq, udata);
	if (ret)
		goto err_destroy;
	ibsrq->ext.xrc.srq_num = number;
	init->attr.max_wr = srq->num_entries - 1;
	init->attr.max_sge = srq->max_sge;
	return 0;

err_destroy:
	rhca_mlx5_number_remove(&hca->srqs, &srq->numbered);
	if (rhca_mlx5_destroy_hw_srq(hca->mdev, spec.is_xrc, number)) {
		leak(srq);
		return ret;
	}
err_free:
	free_memory(srq);
	return ret;
}

int rhca_mlx5_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			 enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rhca_mlx5_srq *srq = to_rhca_mlx5_srq(ibsrq);

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;	/* cannot be resized */
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit >= srq->num_entries)
		return -EINVAL;
	return rhca_mlx5_arm_hw_srq(rhca_mlx5_mdev(ibsrq->device), is_xrc(srq),
				    srq->numbered.number, attr->srq_limit);
}

int rhca_mlx5_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct rhca_mlx5_srq *srq = to_rhca_mlx5_srq(ibsrq);
	u16 limit;
	int ret;

	ret = rhca_mlx5_query_hw_srq(rhca_mlx5_mdev(ibsrq->device), is_xrc(srq),
				     srq->numbered.number, &limit);
	if (ret)
		return ret;
	attr->max_wr = srq->num_entries - 1;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = limit;
	return 0;
}

/*
 * With a lost queue pair the SRQ is lost too; an error would make ib_core keep it for ever. And
 * kernel users do not retry.
 */
int rhca_mlx5_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct rhca_mlx5_srq *srq = to_rhca_mlx5_srq(ibsrq);
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibsrq->device);
	u32 number = srq->numbered.number;
	int ret;

	ret = udata ? rhca_mlx5_destroy_hw_srq(hca->mdev, is_xrc(srq), number) :
		      rhca_mlx5_give_back(hca->mdev, MLX5_CMD_OP_DESTROY_RMP, number);
	if (ret && udata && !srq->has_leaked)
		return ret;
	rhca_mlx5_number_remove(&hca->srqs, &srq->numbered);
	if (ret)
		leak(srq);
	else
		free_memory(srq);
	return 0;
}

static int post_one(struct rhca_mlx5_srq *srq, const struct ib_recv_wr *wr)
{
	struct mlx5_wqe_srq_next_seg *entry = entry_at(srq, srq->head);

	lockdep_assert_held(&srq->lock);
	if (wr->num_sge > srq->max_sge)
		return -EINVAL;
	if (srq->head == srq->tail)
		return -ENOMEM;
	srq->wr_id[srq->head] = wr->wr_id;
	rhca_mlx5_set_scatter((struct mlx5_wqe_data_seg *)(entry + 1), wr,
			      srq->max_sge,
			      rhca_mlx5_of(srq->ibsrq.device)->end_of_list);
	srq->head = be16_to_cpu(entry->next_wqe_index);
	srq->posted++;
	return 0;
}

int rhca_mlx5_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad_wr)
{
	struct rhca_mlx5_srq *srq = to_rhca_mlx5_srq(ibsrq);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&srq->lock, flags);
	for (; wr; wr = wr->next) {
		ret = post_one(srq, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	wmb();		/* the entries before the count */
	srq->buffer.db.db[0] = cpu_to_be32(srq->posted);
	spin_unlock_irqrestore(&srq->lock, flags);
	return ret;
}

/*
 * Free a used entry. @srq: of the kernel. @index: of the entry, from the completion. The CQ's lock
 * is held. Returns the request's wr_id.
 */
u64 rhca_mlx5_srq_take(struct rhca_mlx5_srq *srq, u16 index)
{
	unsigned long flags;
	u64 wr_id;

	index &= srq->num_entries - 1;
	spin_lock_irqsave(&srq->lock, flags);
	wr_id = srq->wr_id[index];
	entry_at(srq, srq->tail)->next_wqe_index = cpu_to_be16(index);
	srq->tail = index;
	spin_unlock_irqrestore(&srq->lock, flags);
	return wr_id;
}
