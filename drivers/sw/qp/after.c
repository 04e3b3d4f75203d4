// SPDX-License-Identifier: GPL-2.0
/* After a QP's lock has been released: flush the other half of one that failed, raise events */
#include <rhca/compat.h>

#include "sw/qp/after.h"
#include "sw/qp/flush.h"
#include "sw/qp/turn_sched.h"

/* rhca_batch_end() of a batch that has left something */
void rhca_batch_finish(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	rhca_flush_rest(qp, batch);
	rhca_batch_raise(qp, batch);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_batch_finish);

/* --- in a verb ---------------------------------------------------------------- */

static void take_deferred(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	unsigned long deferred;

	if (!READ_ONCE(qp->deferred) && !atomic_read(&qp->deferred_events))
		return;
	deferred = xchg(&qp->deferred, 0);
	batch->raise_send |= !!(deferred & BIT(RHCA_RAISE_SEND));
	batch->raise_recv |= !!(deferred & BIT(RHCA_RAISE_RECV));
	batch->srq_limit |= !!(deferred & BIT(RHCA_RAISE_SRQ_LIMIT));
	batch->events |= atomic_xchg(&qp->deferred_events, 0);
	if (deferred & BIT(RHCA_FLUSH_MORE)) {
		batch->flush_send = true;
		batch->flush_recv = true;
	}
}

/**
 * rhca_batch_end_deferred - rhca_batch_end(), and what a verb has left to a tasklet
 * @qp: the QP
 * @batch: what was collected
 */
void rhca_batch_end_deferred(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	take_deferred(qp, batch);
	rhca_batch_end(qp, batch);
}

static void defer_events(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (batch->raise_send)
		set_bit(RHCA_RAISE_SEND, &qp->deferred);
	if (batch->raise_recv)
		set_bit(RHCA_RAISE_RECV, &qp->deferred);
	if (batch->srq_limit)
		set_bit(RHCA_RAISE_SRQ_LIMIT, &qp->deferred);
	atomic_or(batch->events, &qp->deferred_events);
	rhca_turn_call_tasklet(&qp->send.turn);
}

/**
 * rhca_batch_end_in_verb - rhca_batch_end() for a verb
 * @qp: the QP
 * @batch: what was collected
 *
 * A kernel user may hold locks while it posts that its completion or event handler
 * takes as well, and a handler that posts would come back here: leave it to softirq.
 */
void rhca_batch_end_in_verb(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	if (rhca_batch_is_empty(batch))
		return;
	rhca_flush_rest(qp, batch);
	if (qp->base.is_user)
		rhca_batch_raise(qp, batch);
	else if (rhca_batch_raises(batch))
		defer_events(qp, batch);
}
