/* SPDX-License-Identifier: GPL-2.0 */
/* Send requests that are executed locally. */
#ifndef RHCA_SW_TX_LOCAL_OP_H
#define RHCA_SW_TX_LOCAL_OP_H

#include "sw/verbs/qp/sq.h"

struct rhca_verbs_qp;

int rhca_local_execute(struct rhca_verbs_qp *qp, struct rhca_send_wqe *wqe);

/* Is it a local request that executes at once, whatever is in flight? */
static inline bool rhca_wqe_is_immediate(const struct rhca_send_wqe *wqe)
{
	return wqe->opcode == IB_WR_REG_MR || wqe->opcode == IB_WR_BIND_MW;
}

static inline bool rhca_wqe_is_local(const struct rhca_send_wqe *wqe)
{
	return rhca_wqe_is_immediate(wqe) || wqe->opcode == IB_WR_LOCAL_INV;
}

#endif
