// SPDX-License-Identifier: GPL-2.0
/*
 * CQ errors, IBTA vol. 1, 11.6.3.2: a CQ that had no room for a completion has
 * lost it, so nobody can know any more what its QPs have done. They go to ERR.
 */
#include <linux/workqueue.h>

#include "sw/verbs/qp/cq_error.h"
#include "sw/verbs/qp/qp.h"
#include "sw/verbs/transport.h"

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

/*
 * Of struct rhca_verbs_dev. One look finds the QPs of all CQs that have overrun since the
 * last one, those that have nothing to complete too. modify_qp lets none of them out of
 * RESET again.
 */
void rhca_cq_errors_work(struct work_struct *work)
{
	struct rhca_verbs_dev *dev = container_of(to_delayed_work(work),
						  struct rhca_verbs_dev,
						  cq_errors);

	rhca_qp_for_each(dev->core, fail_qp);
}
