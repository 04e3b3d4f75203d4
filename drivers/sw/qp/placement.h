/* SPDX-License-Identifier: GPL-2.0 */
/* RDMA FLUSH at the responder. */
#ifndef RHCA_SW_QP_PLACEMENT_H
#define RHCA_SW_QP_PLACEMENT_H

#include "sw/packet/parse.h"
#include "sw/qp/qp.h"

int rhca_flush_access(const struct rhca_rx *rx);
bool rhca_flush_allowed(struct rhca_sw_qp *qp, const struct rhca_rx *rx);
void rhca_flush_begin(struct rhca_sw_qp *qp, struct rhca_resource *res,
		      const struct rhca_rx *rx);
int rhca_flush_place(struct rhca_sw_qp *qp, struct rhca_resource *res);
bool rhca_flush_is_pending(struct rhca_responder *recv);

#endif
