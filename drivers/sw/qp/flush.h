/* SPDX-License-Identifier: GPL-2.0 */
/* Work for a QP after one of its locks is released: flushes and events. */
#ifndef RHCA_SW_QP_FLUSH_H
#define RHCA_SW_QP_FLUSH_H

#include "sw/qp/qp.h"

#if IS_ENABLED(CONFIG_KUNIT)
extern struct workqueue_struct *rhca_flush_again_wq;
#endif

int rhca_flush_init(void);
void rhca_flush_exit(void);
void rhca_flush_qp_init(struct rhca_sw_qp *qp);
void rhca_flush_qp_stop(struct rhca_sw_qp *qp);
void rhca_flush_qp_reset(struct rhca_sw_qp *qp);
void rhca_batch_finish(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_batch_end_in_verb(struct rhca_sw_qp *qp, struct rhca_batch *batch);
void rhca_batch_end_deferred(struct rhca_sw_qp *qp, struct rhca_batch *batch);

static inline bool rhca_batch_raises(const struct rhca_batch *batch)
{
	return batch->raise_send | batch->raise_recv | batch->srq_limit |
	       batch->events;
}

/* The common case if completions are polled */
static inline bool rhca_batch_is_empty(const struct rhca_batch *batch)
{
	return !(batch->flush_send | batch->flush_recv | batch->flush_more |
		 rhca_batch_raises(batch));
}

/**
 * rhca_batch_end - Finish a batch: flush the other half, raise events
 * @qp: the QP
 * @batch: what was collected; a flush adds to it
 *
 * Context: any but hardirq; none of the QP's locks held.
 */
static inline void rhca_batch_end(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	if (!rhca_batch_is_empty(batch))
		rhca_batch_finish(qp, batch);
}

#endif
