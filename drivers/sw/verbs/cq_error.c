// SPDX-License-Identifier: GPL-2.0
/*
 * CQ errors, IBTA vol. 1, 11.6.3.2: a CQ that had no room for a completion has
 * lost it, so nobody can know any more what its QPs have done. They go to ERR.
 */
#include <linux/workqueue.h>

#include "sw/verbs/cq_error.h"
#include "sw/verbs/transport.h"

/*
 * One look finds the QPs of all CQs that have overrun since the last one. A
 * process can make its CQs overrun as often as it likes, but not keep a CPU busy
 * looking for their QPs.
 */
#define LOOK_DELAY	msecs_to_jiffies(10)

static void fail_qp(struct rhca_qp *core)
{
	struct rhca_verbs_qp *qp = to_verbs_qp(core);
	bool moved;

	if (!rhca_qp_has_cq_error(qp))
		return;
	/* Behind a modify_qp that did not see the error yet */
	mutex_lock(&core->modify_lock);
	moved = rhca_qp_fail(qp, IB_QPS_ERR);
	if (moved)
		qp->dev->transport->qp_entered(qp, IB_QPS_ERR);
	mutex_unlock(&core->modify_lock);
	if (moved)
		rhca_qp_event(core, IB_EVENT_QP_FATAL);
}

/* Of struct rhca_verbs_dev */
void rhca_cq_errors_work(struct work_struct *work)
{
	struct rhca_verbs_dev *dev = container_of(to_delayed_work(work),
						  struct rhca_verbs_dev,
						  cq_errors);

	rhca_qp_for_each(dev->core, fail_qp);
}

/**
 * rhca_cq_error_report - A CQ has overrun: tell its user, and fail its QPs
 * @cq: the CQ, marked as overrun
 *
 * The QPs follow in the background, those that have nothing to complete too, each
 * with IB_EVENT_QP_FATAL. modify_qp lets none of them out of RESET again.
 *
 * Context: any; no QP or CQ lock held.
 */
void rhca_cq_error_report(struct rhca_cq *cq)
{
	struct ib_event event = {
		.device		= cq->ibcq.device,
		.element.cq	= &cq->ibcq,
		.event		= IB_EVENT_CQ_ERR,
	};

	ibdev_dbg(cq->ibcq.device, "completion queue of %d entries overrun\n",
		  cq->ibcq.cqe);
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	schedule_delayed_work(&to_verbs_dev(cq->ibcq.device)->cq_errors,
			      LOOK_DELAY);
}
