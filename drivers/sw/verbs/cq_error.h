/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A completion queue in error, and its QPs.
 */
#ifndef RHCA_SW_VERBS_CQ_ERROR_H
#define RHCA_SW_VERBS_CQ_ERROR_H

#include "sw/verbs/qp.h"

struct work_struct;

void rhca_cq_error_report(struct rhca_cq *cq);
void rhca_cq_errors_work(struct work_struct *work);

/* Has the QP a CQ that lost a completion? It is of no use any more */
static inline bool rhca_qp_has_cq_error(const struct rhca_verbs_qp *qp)
{
	return rhca_cq_is_overrun(rhca_send_cq(qp)) ||
	       rhca_cq_is_overrun(rhca_recv_cq(qp));
}

#endif
