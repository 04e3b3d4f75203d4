// SPDX-License-Identifier: GPL-2.0
/* Local operations, IBTA vol. 1, 10.6: requests that only change keys and send nothing. */
#include "sw/tx/local_op.h"
#include "sw/verbs/memory/mw.h"
#include "sw/verbs/qp/qp.h"

static int execute_invalidate(struct rhca_verbs_qp *qp,
			      struct rhca_send_wqe *wqe)
{
	int ret;

	if (wqe->invalidated)
		return rhca_key_is_idle(qp->dev, wqe->invalidate_rkey) ?
			0 : -EINPROGRESS;
	ret = rhca_key_invalidate(qp->dev, qp->pd,
				  wqe->invalidate_rkey,
				  qp->number, false);
	wqe->invalidated = ret == -EINPROGRESS;
	return ret;
}

/*
 * Execute a local operation. send.lock held, bottom halves off; the caller holds no memory
 * reference of the QP. Returns 0; -EINPROGRESS while packets still use the invalidated memory:
 * retry; another error if the request is invalid.
 */
int rhca_local_execute(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe)
{
	switch (wqe->opcode) {
	case IB_WR_REG_MR:
		return rhca_key_register(qp->dev, qp->pd, wqe->mr, wqe->key,
					 wqe->access);
	case IB_WR_LOCAL_INV:
		return execute_invalidate(qp, wqe);
	default:
		return rhca_mw_bind(qp->dev, qp->pd, qp->number, &wqe->bind);
	}
}
