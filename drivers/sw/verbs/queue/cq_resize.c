// SPDX-License-Identifier: GPL-2.0
/*
 * Resizing a completion queue of a process, IBTA vol. 1, 11.2.8.4: it gets another ring,
 * and completions come meanwhile.
 */
#include <rhca/compat.h>

#include "sw/verbs/queue/cq.h"
#include "sw/verbs/device.h"

/* Entries that the process has not polled go over in order */
struct move {
	struct rhca_ring fresh;
	u32 next;		/* index in the old ring */
};

/* So few that they may be copied with interrupts off */
#define MOVE_LOCKED	64

static u32 begin_move(struct rhca_cq *cq, struct move *move)
{
	u32 pending;

	spin_lock_irq(&cq->lock);
	pending = cq->ring.mask - rhca_ring_room(&cq->ring);
	move->next = cq->ring.index - pending;
	spin_unlock_irq(&cq->lock);
	return pending;
}

/*
 * The old ring's slots stay as they are: the provider library does not poll while
 * it resizes. A process that does may lose completions, its own.
 */
static int move_entries(const struct rhca_ring *old, struct move *move, u32 n)
{
	if (n > rhca_ring_room(&move->fresh))
		return -EINVAL;
	while (n--) {
		memcpy(rhca_ring_slot(&move->fresh, move->fresh.index),
		       rhca_ring_slot(old, move->next++),
		       sizeof(struct ib_uverbs_wc));
		rhca_ring_advance(&move->fresh);
		if (n && n % 4096 == 0)
			cond_resched();
	}
	rhca_ring_publish(&move->fresh);
	return 0;
}

/*
 * The last entries, and those that came during the copying, unless they are too
 * many: then @left is their number and nothing has happened.
 */
static int finish_move(struct rhca_cq *cq, struct move *move, u32 *left)
{
	struct rhca_ring old;
	int ret = 0;

	spin_lock_irq(&cq->lock);
	*left = (cq->ring.index - move->next) & cq->ring.mask;
	if (*left <= MOVE_LOCKED) {
		ret = move_entries(&cq->ring, move, *left);
		if (!ret) {
			old = cq->ring;
			cq->ring = move->fresh;
			cq->ibcq.cqe = rhca_ring_capacity(&move->fresh);
		}
		*left = 0;
		spin_unlock_irq(&cq->lock);
		if (!ret)
			rhca_ring_free(&old);
		return ret;
	}
	spin_unlock_irq(&cq->lock);
	return 0;
}

/* Completions may come faster than they are copied: but not for ever */
#define MOVE_ROUNDS	16

static int move_all(struct rhca_cq *cq, struct move *move)
{
	u32 left = begin_move(cq, move);
	int round, ret;

	lockdep_assert_held(&cq->resize_lock);
	for (round = 0; round < MOVE_ROUNDS; round++) {
		ret = move_entries(&cq->ring, move, left);
		if (!ret)
			ret = finish_move(cq, move, &left);
		if (ret || !left)
			return ret;
	}
	return -EBUSY;
}

/* Only processes resize: ib_core offers it to nobody else */
static int resize_cq(struct ib_cq *ibcq, rhca_cqe_count entries,
		     struct ib_udata *udata)
{
	struct rhca_cq *cq = to_rhca_cq(ibcq);
	struct move move;
	int ret;

	if (!udata || !cq->user)
		return -EOPNOTSUPP;
	if (entries < 1 || entries > RHCA_MAX_CQE)
		return -EINVAL;
	ret = rhca_cq_ring_alloc(&move.fresh, entries, udata);
	if (ret)
		return ret;
	mutex_lock(&cq->resize_lock);
	ret = move_all(cq, &move);
	mutex_unlock(&cq->resize_lock);
	if (ret)
		rhca_ring_free(&move.fresh);
	return ret;
}

const struct ib_device_ops rhca_cq_resize_verbs = {
	.rhca_resize_cq	= resize_cq,
};
