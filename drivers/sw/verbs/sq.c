// SPDX-License-Identifier: GPL-2.0
/*
 * Send work requests, in from kernel users and from the rings of processes.
 */
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rhca/compat.h>

#include "sw/verbs/ah.h"
#include "sw/verbs/device.h"
#include "sw/verbs/qp.h"
#include "sw/verbs/sq.h"
#include "wire/headers.h"

#define FOR_RC		BIT(IB_QPT_RC)
#define FOR_UC		BIT(IB_QPT_UC)
#define FOR_UD		(BIT(IB_QPT_UD) | BIT(IB_QPT_GSI))

/**
 * struct wr_rule - What a work request opcode may be
 * @qp_types: BIT(enum ib_qp_type) of the types that take it
 * @kernel_only: not for processes
 * @process_only: ib_verbs.h has no request of it
 * @exact_bytes: length that the message must have; 0 for any
 * @no_inline: its list says where the response goes to
 * @no_data: operation without a scatter/gather list
 */
struct wr_rule {
	u16 qp_types;
	bool kernel_only;
	bool process_only;
	u8 exact_bytes;
	bool no_inline;
	bool no_data;
};

/* IBTA vol. 1, 11.4.1.1, table 94 and 10.6 for the local operations */
static const struct wr_rule wr_rules[] = {
	[IB_WR_SEND]			= { FOR_RC | FOR_UC | FOR_UD },
	[IB_WR_SEND_WITH_IMM]		= { FOR_RC | FOR_UC | FOR_UD },
	[IB_WR_SEND_WITH_INV]		= { FOR_RC },
	[IB_WR_RDMA_WRITE]		= { FOR_RC | FOR_UC },
	[IB_WR_RDMA_WRITE_WITH_IMM]	= { FOR_RC | FOR_UC },
	[IB_WR_RDMA_READ]		= { FOR_RC, .no_inline = true },
	[IB_WR_ATOMIC_CMP_AND_SWP]	= { FOR_RC, .exact_bytes = 8,
					    .no_inline = true },
	[IB_WR_ATOMIC_FETCH_AND_ADD]	= { FOR_RC, .exact_bytes = 8,
					    .no_inline = true },
	[IB_WR_LOCAL_INV]		= { FOR_RC | FOR_UC, .no_data = true },
	[IB_WR_BIND_MW]			= { FOR_RC | FOR_UC, .no_data = true,
					    .process_only = true },
	[IB_WR_REG_MR]			= { FOR_RC | FOR_UC, .no_data = true,
					    .kernel_only = true },
	[RHCA_WR_FLUSH]			= { FOR_RC, .no_data = true,
					    .process_only = true },
	[RHCA_WR_ATOMIC_WRITE]		= { FOR_RC, .exact_bytes = 8 },
};

static const struct wr_rule *find_rule(const struct rhca_verbs_qp *qp, u32 opcode)
{
	const struct wr_rule *rule;

	if (opcode >= ARRAY_SIZE(wr_rules))
		return NULL;
	rule = &wr_rules[opcode];
	if (!(rule->qp_types & BIT(qp->core.ibqp.qp_type)) ||
	    (qp->core.is_user ? rule->kernel_only : rule->process_only))
		return NULL;
	return rule;
}

/* Datagrams are one packet, 9.8.3.1 */
static u32 max_message(const struct rhca_verbs_qp *qp)
{
	return rhca_is_datagram(qp) ?
		ib_mtu_enum_to_int(rhca_port_mtu(qp->port)) :
		RHCA_MAX_MSG_BYTES;
}

/**
 * rhca_sq_init - Make a send queue
 * @sq: filled in
 * @cap: what is wanted, within the device's limits; set to what there is. A
 *	process may put more into its ring, where it waits for a free slot
 * @udata: the verb's, or NULL for a kernel user
 * @info: where a process maps the ring
 *
 * Return: 0 or -ENOMEM.
 */
int rhca_sq_init(struct rhca_sq *sq, struct ib_qp_cap *cap,
		 struct ib_udata *udata, struct mminfo *info)
{
	u32 tail_bytes = max_t(u32, cap->max_send_sge * sizeof(struct rhca_sge),
			       cap->max_inline_data);
	u32 slots = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	int ret;

	tail_bytes = ALIGN(tail_bytes, sizeof(struct rhca_sge));
	spin_lock_init(&sq->post_lock);
	sq->stride = ALIGN(sizeof(struct rhca_send_wqe) + tail_bytes,
			   L1_CACHE_BYTES);
	sq->mask = slots - 1;
	sq->max_wr = slots;
	sq->max_sge = tail_bytes / sizeof(struct rhca_sge);
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

/**
 * rhca_sq_exit - Free a send queue
 * @sq: the queue; its requests have been dropped by rhca_sq_reset()
 */
void rhca_sq_exit(struct rhca_sq *sq)
{
	rhca_ring_free(&sq->ring);
	kvfree(sq->slots);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_sq_exit);

static int check_wqe(const struct rhca_verbs_qp *qp, const struct rhca_send_wqe *wqe,
		     const struct wr_rule *rule, u64 length)
{
	if (length > max_message(qp))
		return -EMSGSIZE;
	if (rule->exact_bytes && length != rule->exact_bytes)
		return -EINVAL;
	if ((wqe->send_flags & IB_SEND_INLINE) &&
	    (rule->no_inline || length > qp->sq.max_inline))
		return -EINVAL;
	return 0;
}

/*
 * A QP sends by its own port only, whose P_Keys it has: an address handle of
 * another port would carry them out there.
 */
static bool leaves_by_own_port(const struct rhca_verbs_qp *qp,
			       const struct rhca_path *path)
{
	return path->address.port == qp->port;
}

static void begin_wqe(struct rhca_send_wqe *wqe)
{
	wqe->status = IB_WC_SUCCESS;
	wqe->numbered = false;
	wqe->done = false;
	wqe->invalidated = false;
}

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

static void take_rdma(struct rhca_send_wqe *wqe, const struct ib_send_wr *wr)
{
	wqe->remote_addr = rdma_wr(wr)->remote_addr;
	wqe->rkey = rdma_wr(wr)->rkey;
}

static void take_atomic(struct rhca_send_wqe *wqe, const struct ib_send_wr *wr)
{
	wqe->remote_addr = atomic_wr(wr)->remote_addr;
	wqe->rkey = atomic_wr(wr)->rkey;
	wqe->compare_add = atomic_wr(wr)->compare_add;
	wqe->swap = atomic_wr(wr)->swap;
}

static void take_registration(struct rhca_send_wqe *wqe,
			      const struct ib_send_wr *wr)
{
	wqe->mr = reg_wr(wr)->mr;
	wqe->key = reg_wr(wr)->key;
	wqe->access = reg_wr(wr)->access;
}

/* User QPs' datagrams may be forced to one GID type; management ones never */
static void take_datagram(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
			  const struct ib_send_wr *wr)
{
	struct rhca_verbs_ah *ah = to_verbs_ah(ud_wr(wr)->ah);

	wqe->path = rhca_path_get(qp->core.ibqp.qp_type == IB_QPT_GSI ?
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
		take_rdma(wqe, wr);
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		take_atomic(wqe, wr);
		break;
	case IB_WR_REG_MR:
		take_registration(wqe, wr);
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
		/* The slot has been given back before it is written again */
		sq->freed = smp_load_acquire(&sq->head);
	return index - sq->freed < sq->max_wr;
}

/* The request is written, and not yet announced */
static int post_one(struct rhca_verbs_qp *qp, const struct ib_send_wr *wr,
		    u32 index)
{
	const struct wr_rule *rule = find_rule(qp, wr->opcode);
	struct rhca_sq *sq = &qp->sq;
	struct rhca_send_wqe *wqe = rhca_sq_wqe(sq, index);
	u64 length = 0;
	int i, ret;

	if (!rule || wr->num_sge < 0 || wr->num_sge > sq->max_sge)
		return -EINVAL;
	if (rhca_is_datagram(qp) &&
	    !leaves_by_own_port(qp, to_verbs_ah(ud_wr(wr)->ah)->path))
		return -EINVAL;
	if (!has_room(sq, index))
		return -ENOMEM;
	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;

	begin_wqe(wqe);
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->send_flags = wr->send_flags;
	wqe->imm_data = wr->ex.imm_data;
	wqe->num_sge = rule->no_data ? 0 : wr->num_sge;
	wqe->length = length;
	ret = check_wqe(qp, wqe, rule, length);
	if (ret)
		return ret;
	if (wr->send_flags & IB_SEND_INLINE)
		copy_inline(wqe, wr);
	else
		memcpy(wqe->sge, wr->sg_list,
		       wqe->num_sge * sizeof(wqe->sge[0]));
	take_parameters(qp, wqe, wr);	/* last: it takes a reference */
	return 0;
}

/* It has not been used for a turn of the queue */
static void prefetch_slot(const struct rhca_sq *sq)
{
	const void *slot = rhca_sq_wqe(sq, READ_ONCE(sq->tail));
	u32 at;

	for (at = 0; at < sizeof(struct rhca_send_wqe); at += L1_CACHE_BYTES)
		prefetchw(slot + at);
}

/**
 * rhca_sq_post - Queue send requests of a kernel user
 * @qp: the QP
 * @wr: list of requests
 * @bad_wr: on failure the first request that was not queued
 *
 * Context: any.
 * Return: 0; -ENOMEM when the queue is full; -EINVAL or -EMSGSIZE for a request
 * that is not legal.
 */
int rhca_sq_post(struct rhca_verbs_qp *qp, const struct ib_send_wr *wr,
		 const struct ib_send_wr **bad_wr)
{
	unsigned long flags;
	int ret = 0;
	u32 end;

	prefetch_slot(&qp->sq);
	spin_lock_irqsave(&qp->sq.post_lock, flags);
	for (end = qp->sq.tail; wr; wr = wr->next, end++) {
		ret = post_one(qp, wr, end);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	/* The requests before the index that announces them */
	smp_store_release(&qp->sq.tail, end);
	spin_unlock_irqrestore(&qp->sq.post_lock, flags);
	return ret;
}

/* --- processes ------------------------------------------------------------ */

static void fetch_rdma(struct rhca_send_wqe *wqe, const struct rxe_send_wr *wr)
{
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->rkey = wr->wr.rdma.rkey;
}

static void fetch_atomic(struct rhca_send_wqe *wqe, const struct rxe_send_wr *wr)
{
	wqe->remote_addr = wr->wr.atomic.remote_addr;
	wqe->rkey = wr->wr.atomic.rkey;
	wqe->compare_add = wr->wr.atomic.compare_add;
	wqe->swap = wr->wr.atomic.swap;
}

static void fetch_bind(struct rhca_send_wqe *wqe, const struct rxe_send_wr *wr)
{
	wqe->bind.addr = wr->wr.mw.addr;
	wqe->bind.length = wr->wr.mw.length;
	wqe->bind.window_key = wr->wr.mw.mw_rkey;
	wqe->bind.new_key = wr->wr.mw.rkey;
	wqe->bind.region_key = wr->wr.mw.mr_lkey;
	wqe->bind.access = wr->wr.mw.access;
}

/* wr.flush of struct rxe_send_wr, which older kernels' headers do not have */
struct user_flush {
	__aligned_u64 remote_addr;
	__u32 length;
	__u32 rkey;
	__u8 type;
	__u8 level;
};
static_assert(sizeof(struct user_flush) <=
	      sizeof_field(struct rxe_send_wr, wr));

/* A responder would refuse what is none of these, A19 */
static int fetch_flush(struct rhca_send_wqe *wqe, const struct rxe_send_wr *wr)
{
	struct user_flush flush;

	memcpy(&flush, &wr->wr, sizeof(flush));
	wqe->remote_addr = flush.remote_addr;
	wqe->rkey = flush.rkey;
	wqe->flush_bytes = flush.length;
	wqe->placement = flush.type;
	wqe->selectivity = flush.level;
	return wqe->placement && !(wqe->placement & ~RHCA_PLACE_ALL) &&
	       wqe->selectivity <= RHCA_SELECT_MR ? 0 : -EINVAL;
}

static int fetch_datagram(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
			  const struct rxe_send_wr *wr)
{
	wqe->path = rhca_path_get_number(qp->dev, qp->core.ibqp.pd,
					 wr->wr.ud.ah_num);
	wqe->dest_qpn = wr->wr.ud.remote_qpn & RHCA_QPN_MASK;
	wqe->qkey = wr->wr.ud.remote_qkey;
	return wqe->path && leaves_by_own_port(qp, wqe->path) ? 0 : -EINVAL;
}

static int fetch_parameters(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
			    const struct rxe_send_wr *wr)
{
	if (rhca_is_datagram(qp))
		return fetch_datagram(qp, wqe, wr);
	switch (wqe->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		fetch_atomic(wqe, wr);
		break;
	case IB_WR_BIND_MW:
		fetch_bind(wqe, wr);
		break;
	case RHCA_WR_FLUSH:
		return fetch_flush(wqe, wr);
	default:
		fetch_rdma(wqe, wr);
		break;
	}
	return 0;
}

/* Scatter/gather list or inline bytes; sizes come from the copied header */
static int fetch_data(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
		      const struct rxe_dma_info *head,
		      const struct rxe_send_wqe *slot, u64 *length)
{
	u32 i;

	*length = 0;
	if ((wqe->send_flags & IB_SEND_INLINE) ||
	    wqe->opcode == RHCA_WR_ATOMIC_WRITE) {
		wqe->send_flags |= IB_SEND_INLINE;
		wqe->num_sge = 0;
		if (head->length > qp->sq.max_inline)
			return -EINVAL;
		memcpy(wqe->inline_data, slot->dma.inline_data, head->length);
		*length = head->length;
		return 0;
	}
	if (head->num_sge > qp->sq.max_sge)
		return -EINVAL;
	wqe->num_sge = head->num_sge;
	memcpy(wqe->sge, slot->dma.sge, wqe->num_sge * sizeof(wqe->sge[0]));
	for (i = 0; i < wqe->num_sge; i++)
		*length += wqe->sge[i].length;
	return 0;
}

/*
 * The slot is the process's to scribble on: its fixed part is copied first, the
 * checks and everything after use the copy only.
 */
static int copy_wqe(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe,
		    const struct rxe_send_wqe *slot)
{
	const struct wr_rule *rule;
	struct rxe_dma_info head;
	struct rxe_send_wr wr;
	u64 length;
	int ret;

	memcpy(&wr, &slot->wr, sizeof(wr));
	memcpy(&head, &slot->dma, sizeof(head));
	barrier();	/* the copies are what counts from here on */
	wqe->wr_id = wr.wr_id;
	wqe->opcode = wr.opcode;
	wqe->send_flags = wr.send_flags & (IB_SEND_FENCE | IB_SEND_SIGNALED |
					   IB_SEND_SOLICITED | IB_SEND_INLINE);
	wqe->num_sge = 0;
	wqe->length = 0;
	wqe->imm_data = wr.ex.imm_data;
	rule = find_rule(qp, wr.opcode);
	if (!rule)
		return -EINVAL;
	if (!rule->no_data) {
		ret = fetch_data(qp, wqe, &head, slot, &length);
		if (ret)
			return ret;
		if (length > max_message(qp))
			return -EMSGSIZE;
		wqe->length = length;
	}
	ret = fetch_parameters(qp, wqe, &wr);
	return ret ?: check_wqe(qp, wqe, rule, wqe->length);
}

/* A malformed request completes with the status that names the fault */
static enum ib_wc_status status_of(int error)
{
	return error == -EMSGSIZE ? IB_WC_LOC_LEN_ERR : IB_WC_LOC_QP_OP_ERR;
}

/**
 * rhca_sq_fetch - Take the next request out of a process's ring
 * @qp: a QP of a process
 *
 * Context: the backend's send lock held.
 * Return: true when there is one request more in the queue.
 */
bool rhca_sq_fetch(struct rhca_verbs_qp *qp)
{
	struct rhca_sq *sq = &qp->sq;
	u32 taken = sq->tail - sq->head;
	struct rhca_send_wqe *wqe;
	int ret;

	if (rhca_ring_filled(&sq->ring) <= taken || taken >= sq->max_wr)
		return false;
	wqe = rhca_sq_wqe(sq, sq->tail);
	begin_wqe(wqe);
	if (rhca_is_datagram(qp))
		wqe->path = NULL;
	ret = copy_wqe(qp, wqe, rhca_ring_slot(&sq->ring, sq->tail));
	if (ret)
		wqe->status = status_of(ret);
	sq->tail++;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_sq_fetch);

/* --- both ----------------------------------------------------------------- */

static void drop_path(struct rhca_send_wqe *wqe)
{
	rhca_path_put(wqe->path);
	wqe->path = NULL;
}

/**
 * rhca_sq_complete - The oldest requests are done: free their slots
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
		drop_path(rhca_sq_wqe(sq, sq->head + i));
	/* The slots are read no more before they may be written again */
	smp_store_release(&sq->head, sq->head + num);
	if (qp->core.is_user)
		rhca_ring_release(&sq->ring, num);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_sq_complete);

/**
 * rhca_sq_reset - Drop all requests without completions
 * @qp: a QP in RESET, or one that is being destroyed
 *
 * Context: the backend's send lock held, or nothing else can reach @qp.
 */
void rhca_sq_reset(struct rhca_verbs_qp *qp)
{
	struct rhca_sq *sq = &qp->sq;

	if (sq->head != sq->tail)
		rhca_sq_complete(qp, sq->tail - sq->head);
	if (qp->core.is_user && sq->ring.shared) {
		rhca_ring_release(&sq->ring, rhca_ring_filled(&sq->ring));
		sq->head = sq->ring.index;
		sq->tail = sq->ring.index;
	}
}
