// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues. Processes write to the ring themselves, kernel users post.
 */
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/rq.h"

static_assert(sizeof(struct rhca_sge) == sizeof(struct rxe_sge));
static_assert(sizeof(struct rhca_sge) == sizeof(struct ib_sge));

/**
 * rhca_rq_init - Make a receive queue
 * @rq: filled in
 * @max_wr: requests that it must hold
 * @max_sge: entries that each may have
 * @udata: the verb's, or NULL for a kernel user
 * @info: where a process maps it
 *
 * Return: 0 or -ENOMEM.
 */
int rhca_rq_init(struct rhca_rq *rq, u32 max_wr, u32 max_sge,
		 struct ib_udata *udata, struct mminfo *info)
{
	u32 bytes = sizeof(struct rxe_recv_wqe) +
		    max_sge * sizeof(struct rxe_sge);
	int ret;

	spin_lock_init(&rq->post_lock);
	spin_lock_init(&rq->take_lock);
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

static int post_one(struct rhca_rq *rq, const struct ib_recv_wr *wr)
{
	struct rxe_queue_buf *shared = rq->ring.shared;
	u32 producer = shared->producer_index;
	/* The taker's reads of a slot before it is written again */
	u32 consumer = smp_load_acquire(&shared->consumer_index);
	struct rxe_recv_wqe *wqe;

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (((producer + 1 - consumer) & rq->ring.mask) == 0)
		return -ENOMEM;
	wqe = rhca_ring_slot(&rq->ring, producer);
	wqe->wr_id = wr->wr_id;
	wqe->dma.num_sge = wr->num_sge;
	memcpy(wqe->dma.sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	/* The request before the index that announces it */
	smp_store_release(&shared->producer_index,
			  (producer + 1) & rq->ring.mask);
	return 0;
}

/**
 * rhca_rq_post - Post receive requests of a kernel user
 * @rq: its queue
 * @wr: list of requests
 * @bad_wr: on failure the first request that was not posted
 *
 * Context: any.
 * Return: 0, -ENOMEM when the queue is full, -EINVAL for too many entries.
 */
int rhca_rq_post(struct rhca_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&rq->post_lock, flags);
	for (; wr; wr = wr->next) {
		ret = post_one(rq, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&rq->post_lock, flags);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rq_post);

/**
 * rhca_rq_reset - Drop all requests without completions
 * @rq: the queue of a QP in RESET
 *
 * Context: bottom halves off.
 */
void rhca_rq_reset(struct rhca_rq *rq)
{
	spin_lock(&rq->take_lock);
	rhca_ring_release(&rq->ring, rhca_ring_filled(&rq->ring));
	spin_unlock(&rq->take_lock);
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
 * @left: set to the number of requests that remain
 *
 * Context: bottom halves off.
 * Return: 0; -ENOENT when the queue is empty; -EINVAL when the request, which
 * has been taken, is malformed.
 */
int rhca_rq_take(struct rhca_rq *rq, struct rhca_recv_wqe *wqe, u32 *left)
{
	int ret = -ENOENT;
	u32 filled;

	spin_lock(&rq->take_lock);
	filled = rhca_ring_filled(&rq->ring);
	if (filled) {
		ret = copy_out(rq, wqe);
		rhca_ring_release(&rq->ring, 1);
		*left = filled - 1;
	}
	spin_unlock(&rq->take_lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rq_take);
