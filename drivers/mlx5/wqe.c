// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests of the kernel: a control segment followed by segments that depend on the kind
 * (remote address, operation, memory), in units of 16 bytes.
 */
#include <linux/log2.h>
#include <rdma/ib_verbs.h>

#include "address.h"
#include "device.h"
#include "key_access.h"
#include "mkey.h"
#include "qp_types.h"
#include "wqe.h"

#define UNIT_BYTES	MLX5_SEND_WQE_DS

/* A request that is being built */
struct builder {
	struct rhca_mlx5_qp *qp;	/* to post it on */
	const struct ib_send_wr *wr;	/* the user's request */
	u8 *at;				/* end of the segments so far */
};

static const struct request_kind {
	u8 opcode;
	enum ib_wc_opcode completion;
	bool names_remote;
} kinds[] = {
	[IB_WR_RDMA_WRITE]		= { MLX5_OPCODE_RDMA_WRITE,
					    IB_WC_RDMA_WRITE, true },
	[IB_WR_RDMA_WRITE_WITH_IMM]	= { MLX5_OPCODE_RDMA_WRITE_IMM,
					    IB_WC_RDMA_WRITE, true },
	[IB_WR_SEND]			= { MLX5_OPCODE_SEND, IB_WC_SEND },
	[IB_WR_SEND_WITH_IMM]		= { MLX5_OPCODE_SEND_IMM, IB_WC_SEND },
	[IB_WR_SEND_WITH_INV]		= { MLX5_OPCODE_SEND_INVAL,
					    IB_WC_SEND },
	[IB_WR_RDMA_READ]		= { MLX5_OPCODE_RDMA_READ,
					    IB_WC_RDMA_READ, true },
	[IB_WR_ATOMIC_CMP_AND_SWP]	= { MLX5_OPCODE_ATOMIC_CS,
					    IB_WC_COMP_SWAP, true },
	[IB_WR_ATOMIC_FETCH_AND_ADD]	= { MLX5_OPCODE_ATOMIC_FA,
					    IB_WC_FETCH_ADD, true },
	[IB_WR_LOCAL_INV]		= { MLX5_OPCODE_UMR, IB_WC_LOCAL_INV },
	[IB_WR_REG_MR]			= { MLX5_OPCODE_UMR, IB_WC_REG_MR },
};

static bool is_atomic(const struct ib_send_wr *wr)
{
	return wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       wr->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/* The next @bytes of the request, zeroed */
static void *append(struct builder *b, size_t bytes)
{
	void *segment = b->at;

	memset(segment, 0, bytes);
	b->at += bytes;
	return segment;
}

static void add_datagram(struct builder *b)
{
	const struct ib_ud_wr *wr = ud_wr(b->wr);
	struct mlx5_wqe_datagram_seg *segment = append(b, sizeof(*segment));
	const struct rhca_mlx5_ah *ah = rhca_mlx5_ah_of(wr->ah);
	bool is_mad = b->qp->base.ibqp.qp_type == IB_QPT_GSI;
	const struct rhca_flow *flow = is_mad ? &ah->base.address.flow :
						&ah->base.ud_address.flow;

	segment->av = is_mad ? ah->av : ah->ud_av;
	if (flow->encap != RHCA_V1)
		segment->av.udp_sport =
			cpu_to_be16(rdma_get_udp_sport(flow->flow_label,
						       b->qp->base.ibqp.qp_num,
						       wr->remote_qpn));
	segment->av.dqp_dct = cpu_to_be32(wr->remote_qpn |
					  MLX5_EXTENDED_UD_AV);
	segment->av.key.qkey.qkey = cpu_to_be32(wr->remote_qkey);
}

static void add_remote(struct builder *b, u64 address, u32 rkey)
{
	struct mlx5_wqe_raddr_seg *segment = append(b, sizeof(*segment));

	segment->raddr = cpu_to_be64(address);
	segment->rkey = cpu_to_be32(rkey);
}

static void add_atomic(struct builder *b)
{
	const struct ib_atomic_wr *wr = atomic_wr(b->wr);
	struct mlx5_wqe_atomic_seg *segment;

	add_remote(b, wr->remote_addr, wr->rkey);
	segment = append(b, sizeof(*segment));
	if (wr->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
		segment->swap_add = cpu_to_be64(wr->swap);
		segment->compare = cpu_to_be64(wr->compare_add);
	} else {
		segment->swap_add = cpu_to_be64(wr->compare_add);
	}
}

static void set_data(struct mlx5_wqe_data_seg *segment, u32 bytes, u32 lkey,
		     u64 address)
{
	segment->byte_count = cpu_to_be32(bytes);
	segment->lkey = cpu_to_be32(lkey);
	segment->addr = cpu_to_be64(address);
}

static void add_data(struct builder *b, const struct ib_sge *sge)
{
	struct mlx5_wqe_data_seg *segment;

	/* To the adapter a length of 0 means 2 GiB */
	if (!sge->length)
		return;
	segment = append(b, sizeof(*segment));
	set_data(segment, sge->length, sge->lkey, sge->addr);
}

static int add_inline(struct builder *b)
{
	struct mlx5_wqe_inline_seg *segment = (void *)b->at;
	const struct ib_sge *sge = b->wr->sg_list;
	u8 *to = (u8 *)segment->data;
	u32 bytes = 0;
	int i;

	for (i = 0; i < b->wr->num_sge; i++, sge++) {
		if (sge->length > b->qp->sq.max_inline - bytes)
			return -EINVAL;
		memcpy(to + bytes, (void *)(uintptr_t)sge->addr, sge->length);
		bytes += sge->length;
	}
	if (!bytes)
		return 0;
	segment->byte_count = cpu_to_be32(bytes | MLX5_INLINE_SEG);
	b->at += ALIGN(sizeof(*segment) + bytes, UNIT_BYTES);
	return 0;
}

static int add_segments(struct builder *b)
{
	int i;

	if (b->wr->num_sge > b->qp->sq.max_sge)
		return -EINVAL;
	if (b->wr->send_flags & IB_SEND_INLINE)
		return add_inline(b);
	for (i = 0; i < b->wr->num_sge; i++)
		add_data(b, &b->wr->sg_list[i]);
	return 0;
}

/*
 * Fields of the key that a registration sets. Some adapters cannot change the right to atomics; the
 * others must clear what an earlier registration has set.
 */
static u64 registration_mask(const struct mlx5_core_dev *mdev)
{
	return MLX5_MKEY_MASK_LEN | MLX5_MKEY_MASK_PAGE_SIZE |
	       MLX5_MKEY_MASK_START_ADDR | MLX5_MKEY_MASK_EN_RINVAL |
	       MLX5_MKEY_MASK_KEY | MLX5_MKEY_MASK_LR | MLX5_MKEY_MASK_LW |
	       MLX5_MKEY_MASK_RR | MLX5_MKEY_MASK_RW |
	       MLX5_MKEY_MASK_SMALL_FENCE | MLX5_MKEY_MASK_FREE |
	       (rhca_mlx5_key_access_mask(mdev) & MLX5_MKEY_MASK_A);
}

/* Relaxed ordering was set at the key's creation */
static u8 rights_of(int access)
{
	return MLX5_PERM_LOCAL_READ | MLX5_PERM_UMR_EN |
	       (access & IB_ACCESS_LOCAL_WRITE ? MLX5_PERM_LOCAL_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_READ ? MLX5_PERM_REMOTE_READ : 0) |
	       (access & IB_ACCESS_REMOTE_WRITE ? MLX5_PERM_REMOTE_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_ATOMIC ? MLX5_PERM_ATOMIC : 0);
}

static void add_key(struct builder *b, const struct ib_reg_wr *wr, u32 octwords)
{
	const struct rhca_mlx5_mr *mr = to_rhca_mlx5_mr(wr->mr);
	struct mlx5_mkey_seg *segment = append(b, sizeof(*segment));
	bool has_pieces = mr->list.has_pieces;

	segment->flags = rights_of(wr->access) |
			 (has_pieces ? MLX5_MKC_ACCESS_MODE_KLMS :
				       MLX5_MKC_ACCESS_MODE_MTT);
	/* Any queue pair may use it; the low byte is the key's variant */
	segment->qpn_mkey7_0 = cpu_to_be32(0xffffff00 | (wr->key & 0xff));
	segment->flags_pd = cpu_to_be32(MLX5_MKEY_REMOTE_INVAL);
	segment->start_addr = cpu_to_be64(mr->ibmr.iova);
	segment->len = cpu_to_be64(mr->ibmr.length);
	segment->xlt_oct_size = cpu_to_be32(octwords);
	if (!has_pieces)
		segment->log2_page_size = ilog2(mr->ibmr.page_size);
}

static int add_registration(struct builder *b)
{
	const struct ib_reg_wr *wr = reg_wr(b->wr);
	const struct rhca_mlx5_mr *mr = to_rhca_mlx5_mr(wr->mr);
	const struct rhca_mlx5_key_list *list = &mr->list;
	u32 bytes = ALIGN(rhca_mlx5_key_list_bytes(list), RHCA_MLX5_LIST_ALIGN);
	bool is_inline = bytes <= RHCA_MLX5_INLINE_LIST_BYTES;
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(mr->ibmr.device);
	struct mlx5_wqe_umr_ctrl_seg *control;

	if (!list->entries || wr->wr.send_flags & IB_SEND_INLINE ||
	    rhca_mlx5_unchangeable_access(mdev, wr->access))
		return -EINVAL;
	control = append(b, sizeof(*control));
	/* Fails if the key is in use: it has to be invalidated first */
	control->flags = MLX5_UMR_CHECK_NOT_FREE |
			 (is_inline ? MLX5_UMR_INLINE : 0);
	control->xlt_octowords = cpu_to_be16(bytes / MLX5_OCTWORD);
	control->mkey_mask = cpu_to_be64(registration_mask(mdev));
	add_key(b, wr, bytes / MLX5_OCTWORD);
	if (is_inline)
		memcpy(append(b, RHCA_MLX5_INLINE_LIST_BYTES), list->entries,
		       rhca_mlx5_key_list_bytes(list));
	else
		set_data(append(b, sizeof(struct mlx5_wqe_data_seg)), bytes,
			 b->qp->base.ibqp.pd->local_dma_lkey, list->dma);
	return 0;
}

static int add_invalidation(struct builder *b)
{
	struct mlx5_wqe_umr_ctrl_seg *control = append(b, sizeof(*control));
	struct mlx5_mkey_seg *key = append(b, sizeof(*key));

	control->flags = MLX5_UMR_INLINE;
	control->mkey_mask = cpu_to_be64(MLX5_MKEY_MASK_FREE);
	key->status = MLX5_MKEY_STATUS_FREE;
	return 0;
}

static int add_body(struct builder *b)
{
	const struct ib_send_wr *wr = b->wr;

	if (wr->opcode == IB_WR_REG_MR)
		return add_registration(b);
	if (wr->opcode == IB_WR_LOCAL_INV)
		return add_invalidation(b);
	if (rhca_qp_is_datagram(&b->qp->base))
		add_datagram(b);
	else if (is_atomic(wr))
		add_atomic(b);
	else if (kinds[wr->opcode].names_remote)
		add_remote(b, rdma_wr(wr)->remote_addr, rdma_wr(wr)->rkey);
	return add_segments(b);
}

static __be32 immediate_of(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return wr->ex.imm_data;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		return cpu_to_be32(wr->ex.invalidate_rkey);
	case IB_WR_REG_MR:
		return cpu_to_be32(reg_wr(wr)->key);
	default:
		return 0;
	}
}

/*
 * A registration waits for earlier requests, with the adapter's fence mode for that, and the next
 * request waits for the registration. An invalidation is an ordinary request: it waits for READs
 * only if its user says so.
 */
static u8 take_fence(struct rhca_mlx5 *hca, struct rhca_mlx5_sq *sq,
		     const struct ib_send_wr *wr)
{
	u8 fence = sq->fence;

	if (wr->opcode == IB_WR_REG_MR) {
		sq->fence = MLX5_FENCE_MODE_INITIATOR_SMALL;
		return hca->key_fence;
	}
	sq->fence = MLX5_FENCE_MODE_NONE;
	if (wr->send_flags & IB_SEND_FENCE)
		return fence ? MLX5_FENCE_MODE_SMALL_AND_FENCE :
			       MLX5_FENCE_MODE_FENCE;
	return fence;
}

static void set_control(struct builder *b)
{
	struct rhca_mlx5_sq *sq = &b->qp->sq;
	struct mlx5_wqe_ctrl_seg *control = (void *)sq->scratch;
	const struct ib_send_wr *wr = b->wr;
	u32 units = (b->at - sq->scratch) / UNIT_BYTES;
	bool signalled = sq->signal_all || wr->send_flags & IB_SEND_SIGNALED;

	control->opmod_idx_opcode = cpu_to_be32((sq->next_block & 0xffff) << 8 |
						kinds[wr->opcode].opcode);
	control->qpn_ds = cpu_to_be32(b->qp->numbered.number << 8 | units);
	control->fm_ce_se = take_fence(rhca_mlx5_of(b->qp->base.ibqp.device),
				       sq, wr) |
			    (signalled ? MLX5_WQE_CTRL_CQ_UPDATE : 0) |
			    (wr->send_flags & IB_SEND_SOLICITED ?
			     MLX5_WQE_CTRL_SOLICITED : 0);
	control->imm = immediate_of(wr);
}

/* Copy the request by blocks to the queue, which may wrap around between them */
static void enqueue(struct builder *b)
{
	struct rhca_mlx5_sq *sq = &b->qp->sq;
	u32 num = DIV_ROUND_UP(b->at - sq->scratch, MLX5_SEND_WQE_BB);
	u32 first = sq->next_block & (sq->num_blocks - 1);
	u32 i;

	for (i = 0; i < num; i++)
		memcpy(mlx5_frag_buf_get_wqe(&sq->blocks, (first + i) &
					     (sq->num_blocks - 1)),
		       sq->scratch + i * MLX5_SEND_WQE_BB, MLX5_SEND_WQE_BB);
	sq->next_block += num;
	sq->newest = first;
	sq->posted++;
	sq->request[first] = (struct rhca_mlx5_request) {
		.wr_id	= b->wr->wr_id,
		.number	= sq->posted,
		.blocks	= num,
		.opcode	= kinds[b->wr->opcode].completion,
	};
}

static int post_one_send(struct rhca_mlx5_qp *qp, const struct ib_send_wr *wr)
{
	struct builder b = { .qp = qp, .wr = wr, .at = qp->sq.scratch };
	int ret;

	lockdep_assert_held(&qp->sq.lock);
	if (wr->opcode >= ARRAY_SIZE(kinds) || !kinds[wr->opcode].opcode)
		return -EOPNOTSUPP;
	if (qp->sq.posted - READ_ONCE(qp->sq.completed) >= qp->sq.max_wr)
		return -ENOMEM;
	append(&b, sizeof(struct mlx5_wqe_ctrl_seg));
	ret = add_body(&b);
	if (ret)
		return ret;
	set_control(&b);
	enqueue(&b);
	return 0;
}

/* The doorbell takes the first 8 bytes of the newest request */
static void ring_doorbell(struct rhca_mlx5_qp *qp)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(qp->base.ibqp.device);
	__be32 *newest = mlx5_frag_buf_get_wqe(&qp->sq.blocks, qp->sq.newest);

	lockdep_assert_held(&qp->sq.lock);
	/* Requests are flushed, see fatal.c, and the UAR may be gone */
	if (unlikely(rhca_mlx5_is_dead(hca)))
		return;
	wmb();		/* the requests before the count */
	qp->buffer.db.db[MLX5_SND_DBR] = cpu_to_be32(qp->sq.next_block &
						     0xffff);
	wmb();		/* the count before the doorbell */
	mlx5_write64(newest, hca->doorbells.map);
}

int rhca_mlx5_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr)
{
	struct rhca_mlx5_qp *qp = to_rhca_mlx5_qp(ibqp);
	unsigned long flags;
	u32 before;
	int ret = 0;

	spin_lock_irqsave(&qp->sq.lock, flags);
	before = qp->sq.posted;
	for (; wr; wr = wr->next) {
		ret = post_one_send(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->sq.posted != before)
		ring_doorbell(qp);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	rhca_mlx5_posted(rhca_mlx5_of(ibqp->device));
	return ret;
}

/*
 * Write a receive request's scatter list. @to: in the queue's entry. @room: segments of the entry,
 * at least the request's. @end_of_list: the adapter's key that ends a list.
 */
void rhca_mlx5_set_scatter(struct mlx5_wqe_data_seg *to,
			   const struct ib_recv_wr *wr, u32 room,
			   __be32 end_of_list)
{
	const struct mlx5_wqe_data_seg *end = to + room;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		/* To the adapter a length of 0 means 2 GiB */
		if (!wr->sg_list[i].length)
			continue;
		set_data(to++, wr->sg_list[i].length, wr->sg_list[i].lkey,
			 wr->sg_list[i].addr);
	}
	if (to < end) {
		to->byte_count = 0;
		to->lkey = end_of_list;
		to->addr = 0;
	}
}

static int post_one_recv(struct rhca_mlx5_rq *rq, const struct ib_recv_wr *wr,
			 __be32 end_of_list)
{
	u32 index = rq->posted & (rq->num_entries - 1);

	lockdep_assert_held(&rq->lock);
	if (wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (rq->posted - READ_ONCE(rq->completed) >= rq->num_entries)
		return -ENOMEM;
	rhca_mlx5_set_scatter(mlx5_frag_buf_get_wqe(&rq->entries, index), wr,
			      rq->max_sge, end_of_list);
	rq->wr_id[index] = wr->wr_id;
	rq->posted++;
	return 0;
}

int rhca_mlx5_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct rhca_mlx5_qp *qp = to_rhca_mlx5_qp(ibqp);
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibqp->device);
	unsigned long flags;
	int ret = 0;

	if (!qp->spec.has_recv) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->rq.lock, flags);
	for (; wr; wr = wr->next) {
		ret = post_one_recv(&qp->rq, wr, hca->end_of_list);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	wmb();		/* the entries before the count */
	qp->buffer.db.db[MLX5_RCV_DBR] = cpu_to_be32(qp->rq.posted & 0xffff);
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	rhca_mlx5_posted(hca);
	return ret;
}
