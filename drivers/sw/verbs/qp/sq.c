// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue and the requests that kernel users post to it. Those of processes come from their
 * rings, see sq_fetch.c.
 */
#include <linux/hash.h>
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/qp/ah.h"
#include "sw/verbs/qp/qp.h"
#include "sw/verbs/qp/sq.h"
#include "sw/verbs/qp/wr_rule.h"
#include "wire/headers.h"

/*
 * Create a send queue. @cap: requested, within the device's limits; set to the actual values. A
 * process may fill its ring further; the excess waits for a free slot. @udata, @info: as for
 * rhca_ring_alloc(). Returns 0 or -ENOMEM.
 */
int rhca_sq_init(struct rhca_sq *sq, struct ib_qp_cap *cap,
		 struct ib_udata *udata, struct mminfo *info)
{
	u32 tail_bytes = max_t(u32, cap->max_send_sge * sizeof(struct ib_sge),
			       cap->max_inline_data);
	u32 slots = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	int ret;

	tail_bytes = ALIGN(tail_bytes, sizeof(struct ib_sge));
	spin_lock_init(&sq->post_lock);
	sq->stride = ALIGN(sizeof(struct rhca_send_wqe) + tail_bytes,
			   L1_CACHE_BYTES);
	sq->mask = slots - 1;
	sq->max_wr = slots;
	sq->max_sge = tail_bytes / sizeof(struct ib_sge);
	sq->max_inline = tail_bytes;
	sq->slots = kvzalloc(array_size(slots, sq->stride), GFP_KERNEL_ACCOUNT);
	if (!sq->slots)
		return -ENOMEM;
	if (udata) {
		ret = rhca_ring_alloc(&sq->ring, sq->max_wr,
				      sizeof(struct rxe_send_wqe) + tail_bytes,
				      udata, info);
		if (ret) {
			kvfree(sq->slots);
			return ret;
		}
	}
	cap->max_send_wr = sq->max_wr;
	cap->max_send_sge = min_t(u32, sq->max_sge, RHCA_MAX_SGE);
	cap->max_inline_data = sq->max_inline;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_sq_init);

/* Free a send queue. @sq: the queue, after rhca_sq_reset(). */
void rhca_sq_exit(struct rhca_sq *sq)
{
	rhca_ring_free(&sq->ring);
	kvfree(sq->slots);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_sq_exit);

/* --- kernel users --------------------------------------------------------- */

static void copy_inline(struct rhca_send_wqe *wqe, const struct ib_send_wr *wr)
{
	u8 *to = wqe->inline_data;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
}

/* User datagrams may be forced to one GID type; management datagrams never */
static void take_datagram(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
			  const struct ib_send_wr *wr)
{
	struct rhca_verbs_ah *ah = to_verbs_ah(ud_wr(wr)->ah);

	wqe->path = rhca_path_get(qp->type == IB_QPT_GSI ?
				  ah->path : ah->ud_path);
	wqe->dest_qpn = ud_wr(wr)->remote_qpn & RHCA_QPN_MASK;
	wqe->qkey = ud_wr(wr)->remote_qkey;
	wqe->pkey_index = ud_wr(wr)->pkey_index;
}

static void take_parameters(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
			    const struct ib_send_wr *wr)
{
	if (rhca_is_datagram(qp)) {
		take_datagram(qp, wqe, wr);
		return;
	}
	switch (wqe->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case RHCA_WR_ATOMIC_WRITE:
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = atomic_wr(wr)->remote_addr;
		wqe->rkey = atomic_wr(wr)->rkey;
		wqe->compare_add = atomic_wr(wr)->compare_add;
		wqe->swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_REG_MR:
		wqe->mr = reg_wr(wr)->mr;
		wqe->key = reg_wr(wr)->key;
		wqe->access = reg_wr(wr)->access;
		break;
	default:
		break;
	}
}

/* Is the slot at @index free? */
static bool has_room(struct rhca_sq *sq, u32 index)
{
	lockdep_assert_held(&sq->post_lock);
	if (index - sq->freed >= sq->max_wr)
		/* Order the release of the slot before it is reused */
		sq->freed = smp_load_acquire(&sq->head);
	return index - sq->freed < sq->max_wr;
}

/* Write a request without publishing it */
static int post_one(struct rhca_verbs_qp *qp, const struct ib_send_wr *wr,
		    u32 index)
{
	const struct rhca_wr_rule *rule = rhca_wr_rule_find(qp, wr->opcode);
	struct rhca_sq *sq = &qp->sq;
	struct rhca_send_wqe *wqe = rhca_sq_wqe(sq, index);
	u64 length = 0;
	int i, ret;

	if (!rule || wr->num_sge < 0 || wr->num_sge > sq->max_sge)
		return -EINVAL;
	if (rhca_is_datagram(qp) &&
	    !rhca_qp_may_use(qp, to_verbs_ah(ud_wr(wr)->ah)->path))
		return -EINVAL;
	if (!has_room(sq, index))
		return -ENOMEM;
	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;

	rhca_wqe_begin(wqe);
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->send_flags = wr->send_flags;
	wqe->imm_data = wr->ex.imm_data;
	wqe->num_sge = rule->no_data ? 0 : wr->num_sge;
	wqe->length = length;
	ret = rhca_wr_check(qp, wqe, rule, length);
	if (ret)
		return ret;
	if (wr->send_flags & IB_SEND_INLINE)
		copy_inline(wqe, wr);
	else
		memcpy(wqe->sge, wr->sg_list,
		       wqe->num_sge * sizeof(wqe->sge[0]));
	take_parameters(qp, wqe, wr);	/* last, as it takes a reference */
	return 0;
}

/* Have all posted requests completed? */
static bool is_empty(const struct rhca_sq *sq)
{
	return READ_ONCE(sq->head) == READ_ONCE(sq->tail);
}

/* Start slot of an empty queue: spread, so that queues do not all map to the same cache sets */
static u32 home_of(const struct rhca_sq *sq)
{
	return hash_ptr(sq, 16) & sq->mask;
}

/*
 * Restart an empty queue at the same slots, which are still cached; the others are colder. No slot
 * is read now: readers are done before they move the head, and the writes here depend on that.
 */
static void restart(struct rhca_sq *sq)
{
	lockdep_assert_held(&sq->post_lock);
	if (!is_empty(sq))
		return;
	WRITE_ONCE(sq->base, sq->tail - home_of(sq));
	sq->freed = sq->tail;
}

static void prefetch_slot(const struct rhca_sq *sq)
{
	u32 index = is_empty(sq) ? READ_ONCE(sq->base) + home_of(sq) :
				   READ_ONCE(sq->tail);
	const void *slot = rhca_sq_wqe(sq, index);
	u32 at;

	for (at = 0; at < sizeof(struct rhca_send_wqe); at += L1_CACHE_BYTES)
		prefetchw(slot + at);
}

/*
 * Queue send requests of a kernel user. @bad_wr: on failure the first request not queued. Any
 * context. Returns 0; -ENOMEM if the queue is full; -EINVAL or -EMSGSIZE for an invalid request.
 */
int rhca_sq_post(struct rhca_verbs_qp *qp, const struct ib_send_wr *wr,
		 const struct ib_send_wr **bad_wr)
{
	unsigned long flags;
	int ret = 0;
	u32 end;

	prefetch_slot(&qp->sq);
	spin_lock_irqsave(&qp->sq.post_lock, flags);
	restart(&qp->sq);
	for (end = qp->sq.tail; wr; wr = wr->next, end++) {
		ret = post_one(qp, wr, end);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	smp_wmb();	/* the requests before the index that announces them */
	WRITE_ONCE(qp->sq.tail, end);
	spin_unlock_irqrestore(&qp->sq.post_lock, flags);
	return ret;
}

/* --- completion ----------------------------------------------------------- */

/**
 * rhca_sq_complete - Free the slots of the oldest requests
 * @qp: the QP
 * @num: how many
 *
 * Context: the backend's send lock held.
 */
void rhca_sq_complete(struct rhca_verbs_qp *qp, u32 num)
{
	struct rhca_sq *sq = &qp->sq;
	u32 i;

	for (i = 0; i < num && rhca_is_datagram(qp); i++)
		rhca_path_put(rhca_sq_wqe(sq, sq->head + i)->path);
	/* Order reads of the slots before their reuse */
	smp_store_release(&sq->head, sq->head + num);
	if (qp->is_user)
		rhca_ring_release(&sq->ring, num);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_sq_complete);

/**
 * rhca_sq_reset - Drop all requests without completions
 * @qp: a QP that has not been in RTS since RESET, or one that is being destroyed
 *
 * Context: the backend's send lock held, or nothing else can reach @qp.
 */
void rhca_sq_reset(struct rhca_verbs_qp *qp)
{
	struct rhca_sq *sq = &qp->sq;

	if (sq->head != sq->tail)
		rhca_sq_complete(qp, sq->tail - sq->head);
	if (qp->is_user && sq->ring.shared) {
		rhca_ring_release(&sq->ring, rhca_ring_filled(&sq->ring));
		sq->head = sq->ring.index;
		sq->tail = sq->ring.index;
	}
}
