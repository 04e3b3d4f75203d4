// SPDX-License-Identifier: GPL-2.0
/* Receive queues. Processes write to the ring themselves, kernel users post. */
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/qp/rq.h"

/* One layout: entries are copied as they are */
static_assert(sizeof(struct ib_sge) == sizeof(struct rxe_sge));

/*
 * Make a receive queue.
 * @max_wr: requests that it must hold
 * @max_sge: entries that each may have
 * @udata: the verb's, or NULL for a kernel user
 * @info: where a process maps it
 * Returns 0 or -ENOMEM.
 */
int rhca_rq_init(struct rhca_rq *rq, u32 max_wr, u32 max_sge,
		 struct ib_udata *udata, struct mminfo *info)
{
	u32 bytes = sizeof(struct rxe_recv_wqe) +
		    max_sge * sizeof(struct rxe_sge);
	int ret;

	spin_lock_init(&rq->post_lock);
	spin_lock_init(&rq->take_lock);
	rq->taken = 0;
	rq->ready = 0;
	rq->freed = 0;
	ret = rhca_ring_alloc(&rq->ring, max(max_wr, 1U), bytes, udata, info);
	if (ret)
		return ret;
	rq->max_sge = max_sge;
	rq->max_wr = rhca_ring_capacity(&rq->ring);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rq_init);

void rhca_rq_exit(struct rhca_rq *rq)
{
	rhca_ring_free(&rq->ring);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rq_exit);

/* Is the slot at @producer free, and not the last one? */
static bool has_room(struct rhca_rq *rq, u32 producer)
{
	lockdep_assert_held(&rq->post_lock);
	if (!((producer + 1 - rq->freed) & rq->ring.mask))
		/* The taker's reads of a slot before it is written again */
		rq->freed = smp_load_acquire(&rq->ring.shared->consumer_index);
	return (producer + 1 - rq->freed) & rq->ring.mask;
}

/* The request is written, and not yet announced */
static int post_one(struct rhca_rq *rq, const struct ib_recv_wr *wr, u32 producer)
{
	struct rxe_recv_wqe *wqe = rhca_ring_slot(&rq->ring, producer);

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (!has_room(rq, producer))
		return -ENOMEM;
	wqe->wr_id = wr->wr_id;
	wqe->dma.num_sge = wr->num_sge;
	memcpy(wqe->dma.sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	return 0;
}

/*
 * Post receive requests of a kernel user. @bad_wr: on failure the first request that was not
 * posted. Any context. Returns 0, -ENOMEM when the queue is full, -EINVAL for too many entries.
 */
int rhca_rq_post(struct rhca_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int ret = 0;
	u32 end;

	spin_lock_irqsave(&rq->post_lock, flags);
	for (end = rq->ring.shared->producer_index; wr; wr = wr->next, end++) {
		ret = post_one(rq, wr, end);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	/* The requests before the index that announces them */
	smp_store_release(&rq->ring.shared->producer_index,
			  end & rq->ring.mask);
	spin_unlock_irqrestore(&rq->post_lock, flags);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rq_post);

/**
 * rhca_rq_reset - Drop all requests without completions
 * @rq: the queue of a QP in RESET
 *
 * Context: as rhca_rq_take().
 */
void rhca_rq_reset(struct rhca_rq *rq)
{
	rhca_ring_release(&rq->ring, rhca_ring_filled(&rq->ring));
	rq->ready = 0;
}

/* The ring is the process's to scribble on: copy first, then check */
static int copy_out(struct rhca_rq *rq, struct rhca_recv_wqe *wqe)
{
	const struct rxe_recv_wqe *slot = rhca_ring_slot(&rq->ring,
							 rq->ring.index);
	u32 num_sge = READ_ONCE(slot->dma.num_sge);
	u32 i;

	wqe->wr_id = READ_ONCE(slot->wr_id);
	wqe->num_sge = 0;
	wqe->length = 0;
	if (num_sge > rq->max_sge)
		return -EINVAL;
	memcpy(wqe->sge, slot->dma.sge, num_sge * sizeof(wqe->sge[0]));
	wqe->num_sge = num_sge;
	for (i = 0; i < num_sge; i++)
		wqe->length += wqe->sge[i].length;
	return 0;
}

/**
 * rhca_rq_take - Take the oldest request
 * @rq: the queue
 * @wqe: with room for @rq->max_sge entries; filled in; also on -EINVAL, as an empty request
 *
 * Its slot is free when rhca_ring_give_back() has been called for @rq->ring.
 *
 * Context: one at a time: the lock of the QP's half held, or @rq->take_lock.
 * Return: 0; -ENOENT when the queue is empty; -EINVAL when the request, which
 * has been taken, is malformed.
 */
int rhca_rq_take(struct rhca_rq *rq, struct rhca_recv_wqe *wqe)
{
	int ret;

	if (!rq->ready)
		rq->ready = rhca_ring_filled(&rq->ring);
	if (!rq->ready)
		return -ENOENT;
	ret = copy_out(rq, wqe);
	rhca_ring_advance(&rq->ring);
	rq->ready--;
	rq->taken++;
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rq_take);

/* Of a resize: requests go over in order */
struct move {
	struct rhca_ring *fresh;	/* the ring that they go to */
	u32 put;			/* how many were copied */
	/* of these, the last ones, how many had not been taken when last seen */
	u32 ahead;
	u32 taken;			/* rhca_rq.taken when last seen */
};

/* What is copied with the locks held takes some microseconds at most */
#define MOVE_AT_ONCE	16
/* Who posts faster than this many rounds can copy has no need of a longer queue */
#define MOVE_ROUNDS	16

/*
 * Raw: they are checked when they are taken. While no lock is held, some may be
 * taken and their slots posted to again; then see_progress() drops the copies.
 */
static void copy_requests(const struct rhca_rq *rq, struct move *move,
			  u32 from, u32 n)
{
	while (n--)
		memcpy(rhca_ring_slot(move->fresh, move->put++),
		       rhca_ring_slot(&rq->ring, from++),
		       1U << move->fresh->stride_shift);
}

/* Return: how many requests of the @filled ones have no copy */
static u32 see_progress(const struct rhca_rq *rq, struct move *move, u32 filled)
{
	u32 taken = rq->taken - move->taken;

	lockdep_assert_held(&rq->take_lock);
	move->taken = rq->taken;
	move->ahead = taken < move->ahead ? move->ahead - taken : 0;
	/* A process may take back what it has posted, at its own risk */
	move->ahead = min(move->ahead, filled);
	return filled - move->ahead;
}

static void switch_rings(struct rhca_rq *rq, struct move *move)
{
	struct rhca_ring *fresh = move->fresh;

	fresh->index = (move->put - move->ahead) & fresh->mask;
	fresh->shared->consumer_index = fresh->index;
	/* The requests before the index that announces them */
	smp_store_release(&fresh->shared->producer_index,
			  move->put & fresh->mask);
	swap(rq->ring, *fresh);
	rq->freed = rq->ring.index;
	rq->ready = 0;
	WRITE_ONCE(rq->max_wr, rhca_ring_capacity(&rq->ring));
}

/*
 * One round: copy all without a lock, or the last few with both, and be done.
 *
 * Return: 0 when the rings were exchanged, -EAGAIN when there is more, -EINVAL when
 * the new ring is too small.
 */
static int move_some(struct rhca_rq *rq, struct move *move)
{
	u32 filled, from, n;

	spin_lock_bh(&rq->take_lock);
	spin_lock_irq(&rq->post_lock);
	filled = rhca_ring_filled(&rq->ring);
	n = see_progress(rq, move, filled);
	from = rq->ring.index + move->ahead;
	if (filled <= rhca_ring_capacity(move->fresh)) {
		move->ahead = filled;
		if (n <= MOVE_AT_ONCE) {
			copy_requests(rq, move, from, n);
			switch_rings(rq, move);
		}
	}
	spin_unlock_irq(&rq->post_lock);
	spin_unlock_bh(&rq->take_lock);

	if (filled > rhca_ring_capacity(move->fresh))
		return -EINVAL;
	if (n <= MOVE_AT_ONCE)
		return 0;
	copy_requests(rq, move, from, n);
	return -EAGAIN;
}

/*
 * Exchange the ring for one of another length. Requests that nobody has taken go over in order;
 * kernel users may post and QPs take meanwhile. A process must not post: it holds its library's
 * lock. @ring: empty, with elements of the same size; on success the old ring. Process; the
 * caller lets one resize run at a time. Returns 0, -EINVAL when more requests are posted than
 * fit, -EBUSY when the other side posts faster than they can be moved.
 */
int rhca_rq_resize(struct rhca_rq *rq, struct rhca_ring *ring)
{
	struct move move = { .fresh = ring };
	int round, ret = -EAGAIN;

	for (round = 0; round < MOVE_ROUNDS && ret == -EAGAIN; round++) {
		ret = move_some(rq, &move);
		cond_resched();
	}
	return ret == -EAGAIN ? -EBUSY : ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rq_resize);
