/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues, of one QP or shared: a ring of receive work requests. */
#ifndef RHCA_SW_VERBS_QP_RQ_H
#define RHCA_SW_VERBS_QP_RQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "sw/verbs/queue/ring.h"

/* A receive work request, copied out of its ring */
struct rhca_recv_wqe {
	u64 wr_id;		/* the user's cookie */
	u64 length;		/* total bytes of @sge */
	u32 num_sge;		/* entries of @sge */
	struct ib_sge sge[];	/* destination of the message; up to the queue's max_sge */
};

struct rhca_rq {
	u32 max_sge;			/* maximum entries of a request */
	u32 max_wr;			/* requests that fit, at least as many as requested */
	spinlock_t post_lock;		/* for posting kernel users, innermost; protects: */
	u32 freed;			/* consumer index of @ring last seen by producers */

	/* shared queues: protects the consumer side below; otherwise the QP half's lock does */
	spinlock_t take_lock;
	struct rhca_ring ring;		/* the requests */
	u32 ready;			/* requests in @ring known to be posted */
	u32 taken;			/* number of requests taken so far */
};

int rhca_rq_init(struct rhca_rq *rq, u32 max_wr, u32 max_sge,
		 struct ib_udata *udata, struct mminfo *info);
int rhca_rq_post(struct rhca_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr);
void rhca_rq_reset(struct rhca_rq *rq);
int rhca_rq_take(struct rhca_rq *rq, struct rhca_recv_wqe *wqe);
int rhca_rq_resize(struct rhca_rq *rq, struct rhca_ring *fresh);

#endif
