// SPDX-License-Identifier: GPL-2.0
/* Receive queues. Processes write to the ring themselves; kernel users post. */
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/qp/rq.h"

/* Same layout: entries are copied unchanged */
static_assert(sizeof(struct ib_sge) == sizeof(struct rxe_sge));

/*
 * Create a receive queue; only its @ring is to be freed. @max_wr: minimum number of requests.
 * @max_sge: maximum entries of each. @udata, @info: as for rhca_ring_alloc(). Returns 0 or -ENOMEM.
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

/* Is the slot at @producer free, and not the last free one? */
static bool has_room(struct rhca_rq *rq, u32 producer)
{
	lockdep_assert_held(&rq->post_lock);
	if (!((producer + 1 - rq->freed) & rq->ring.mask))
		/* Order the consumer's reads of a slot before it is reused */
		rq->freed = smp_load_acquire(&rq->ring.shared->consumer_index);
	return (producer + 1 - rq->freed) & rq->ring.mask;
}

/* Write a request without publishing it */
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
 * Post receive requests of a kernel user. @bad_wr: on failure the first request not posted. Any
 * context. Returns 0, -ENOMEM if the queue is full, -EINVAL for too many entries.
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
	/* Order the requests before the index */
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

/* The process may overwrite the ring at any time: copy first, then check */
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
 * @wqe: with room for @rq->max_sge entries; filled in; on -EINVAL as an empty request
 *
 * Its slot is freed by rhca_ring_give_back() on @rq->ring.
 *
 * Context: the lock of the QP's half held, or @rq->take_lock.
 * Return: 0; -ENOENT if there is none; -EINVAL if it was malformed, but taken.
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

/* Copied with interrupts off: some microseconds at most */
#define MOVE_AT_ONCE	32U
/* A user that posts faster than this many rounds can copy needs no longer queue */
#define MOVE_ROUNDS	(4 * RHCA_MAX_SRQ_WR / MOVE_AT_ONCE)

/* Switch to the resized ring. Both arguments count requests as rhca_rq.taken does */
static void switch_rings(struct rhca_rq *rq, struct rhca_ring *fresh, u32 taken, u32 posted)
{
	fresh->index = taken & fresh->mask;
	fresh->shared->consumer_index = fresh->index;
	/* Order the requests before the index */
	smp_store_release(&fresh->shared->producer_index, posted & fresh->mask);
	swap(rq->ring, *fresh);
	rq->freed = rq->ring.index;
	rq->ready = 0;
	WRITE_ONCE(rq->max_wr, rhca_ring_capacity(&rq->ring));
}

/*
 * Copy the next requests unchecked, as they are checked when taken. Between two rounds requests may
 * be taken and their slots reused.
 * @copied: requests before this one have been copied or taken
 * Returns 0 once @fresh and the old ring have been exchanged, -EAGAIN if there are more, -EINVAL if
 * they do not fit.
 */
static int move_some(struct rhca_rq *rq, struct rhca_ring *fresh, u32 *copied)
{
	u32 filled, done, n;
	int ret = -EINVAL;

	spin_lock_bh(&rq->take_lock);
	spin_lock_irq(&rq->post_lock);
	filled = rhca_ring_filled(&rq->ring);
	/* A process may withdraw posted requests, at its own risk */
	done = clamp_t(s32, *copied - rq->taken, 0, filled);
	if (filled <= rhca_ring_capacity(fresh)) {
		n = min(filled - done, MOVE_AT_ONCE);
		*copied = rq->taken + done + n;
		rhca_ring_copy(fresh, rq->taken + done, &rq->ring, rq->ring.index + done, n);
		ret = done + n == filled ? 0 : -EAGAIN;
	}
	if (!ret)
		switch_rings(rq, fresh, rq->taken, *copied);
	spin_unlock_irq(&rq->post_lock);
	spin_unlock_bh(&rq->take_lock);
	return ret;
}

/*
 * Replace the ring by one of another length and move pending requests in order; kernel users may
 * post and QPs take meanwhile. A process must not post: it holds its library's lock. @fresh: empty,
 * with elements of the same size; on success the old ring. Process context; one resize at a time.
 * Returns 0, -EINVAL if too many requests are posted, -EBUSY if they are posted faster than they
 * can be moved.
 */
int rhca_rq_resize(struct rhca_rq *rq, struct rhca_ring *fresh)
{
	u32 copied = READ_ONCE(rq->taken);
	int rounds, ret;

	for (rounds = MOVE_ROUNDS; rounds; rounds--) {
		ret = move_some(rq, fresh, &copied);
		if (ret != -EAGAIN)
			return ret;
		cond_resched();
	}
	return -EBUSY;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rq_resize);
