// SPDX-License-Identifier: GPL-2.0
/*
 * Resizing of a process's completion queue, IBTA vol. 1, 11.2.8.4: switches to a new ring while
 * completions may arrive.
 */
#include <rhca/compat.h>

#include "sw/verbs/queue/cq.h"
#include "sw/verbs/device.h"

/* Copied at a time with interrupts off */
#define MOVE_AT_ONCE	64U

/*
 * Copy the next unpolled entries. The old ring's slots stay unchanged: the provider library does
 * not poll while it resizes. A process that polls may lose its own completions.
 * @next: index in the old ring of the first entry not copied
 * Returns 0 once @fresh and the old ring have been exchanged, -EAGAIN if there are more, -EINVAL if
 * they do not fit.
 */
static int move_some(struct rhca_cq *cq, struct rhca_ring *fresh, u32 *next)
{
	int ret = -EINVAL;
	u32 left, n;

	spin_lock_irq(&cq->lock);
	left = (cq->ring.index - *next) & cq->ring.mask;
	if (left <= rhca_ring_capacity(fresh) - fresh->index) {
		n = min(left, MOVE_AT_ONCE);
		rhca_ring_copy(fresh, fresh->index, &cq->ring, *next, n);
		fresh->index += n;
		*next += n;
		ret = n == left ? 0 : -EAGAIN;
	}
	if (!ret) {
		rhca_ring_publish(fresh);
		swap(cq->ring, *fresh);
		cq->ibcq.cqe = rhca_ring_capacity(&cq->ring);
	}
	spin_unlock_irq(&cq->lock);
	return ret;
}

/* Terminates, since completions that arrive meanwhile must fit into the new ring, too */
static int move_all(struct rhca_cq *cq, struct rhca_ring *fresh)
{
	u32 next = READ_ONCE(cq->ring.shared->consumer_index);
	int ret;

	lockdep_assert_held(&cq->resize_lock);
	do {
		ret = move_some(cq, fresh, &next);
		cond_resched();
	} while (ret == -EAGAIN);
	return ret;
}

/* ib_core only offers resizing to processes */
static int resize_cq(struct ib_cq *ibcq, rhca_cqe_count entries,
		     struct ib_udata *udata)
{
	struct rhca_cq *cq = to_rhca_cq(ibcq);
	struct rhca_ring ring;
	int ret;

	if (!udata || !cq->user)
		return -EOPNOTSUPP;
	if (entries < 1 || entries > RHCA_MAX_CQE)
		return -EINVAL;
	ret = rhca_cq_ring_alloc(&ring, entries, udata);
	if (ret)
		return ret;
	mutex_lock(&cq->resize_lock);
	ret = move_all(cq, &ring);
	mutex_unlock(&cq->resize_lock);
	/* the new ring, or on success the old one */
	rhca_ring_free(&ring);
	return ret;
}

const struct ib_device_ops rhca_cq_resize_verbs = {
	.rhca_resize_cq	= resize_cq,
};
