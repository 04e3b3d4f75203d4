// SPDX-License-Identifier: GPL-2.0
/* Events that work on a QP has left to be raised without its locks. */

#include "sw/qp/raise.h"

static void raise_events(struct rhca_sw_qp *qp, u32 events)
{
	unsigned long left = events;
	int type;

	for_each_set_bit(type, &left, BITS_PER_TYPE(events))
		rhca_qp_event(&qp->base.core, type);
}

/*
 * Raise the events of completions, of an SRQ and of the QP. Any context but hardirq; none of
 * the QP's locks held.
 */
void rhca_batch_raise(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (batch->raise_send || batch->raise_recv) {
		local_bh_disable();
		if (batch->raise_send)
			rhca_cq_raise(rhca_send_cq(&qp->base));
		if (batch->raise_recv)
			rhca_cq_raise(rhca_recv_cq(&qp->base));
		local_bh_enable();
	}
	if (batch->srq_limit)
		rhca_srq_limit_event(qp->base.srq);
	if (batch->events)
		raise_events(qp, batch->events);
}
