/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_VERBS_QP_SRQ_H
#define RHCA_SW_VERBS_QP_SRQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "sw/verbs/qp/rq.h"

struct rhca_srq {
	struct ib_srq ibsrq;		/* ib_core's part */
	struct rhca_rq rq;		/* the requests; @rq.take_lock also protects @limit */
	struct mutex resize_lock;	/* one resize at a time */
	u32 limit;			/* event if fewer requests than this remain, 0 = off */
};

static inline struct rhca_srq *to_rhca_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct rhca_srq, ibsrq);
}

int rhca_srq_take(struct rhca_srq *srq, struct rhca_recv_wqe *wqe,
		  bool *limit_reached);
void rhca_srq_limit_event(struct rhca_srq *srq);

extern const struct ib_device_ops rhca_srq_verbs;

#endif
