/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues, of one QP or shared: a ring of receive work requests. */
#ifndef RHCA_SW_VERBS_QP_RQ_H
#define RHCA_SW_VERBS_QP_RQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "sw/verbs/queue/ring.h"

/**
 * struct rhca_recv_wqe - A receive work request, copied out of its ring
 * @wr_id: the user's cookie
 * @length: bytes of all of @sge
 * @num_sge: entries of @sge
 * @sge: where to put the message; as many as the queue's max_sge
 */
struct rhca_recv_wqe {
	u64 wr_id;
	u64 length;
	u32 num_sge;
	struct ib_sge sge[];
};

/**
 * struct rhca_rq - Receive queue
 * @max_sge: entries that a request may have
 * @max_wr: requests that fit, at least those that were asked for
 * @post_lock: serialises kernel users that post; innermost
 * @freed: consumer index of @ring as last seen by who posts
 * @take_lock: of a shared queue; for that of a QP the backend's lock does
 * @ring: the requests
 * @ready: requests in @ring that are known to be posted
 * @taken: how many were taken so far
 */
struct rhca_rq {
	u32 max_sge;
	u32 max_wr;
	spinlock_t post_lock;		/* producer side, of kernel users, and: */
	u32 freed;

	spinlock_t take_lock;		/* shared queues: consumer side of: */
	struct rhca_ring ring;
	u32 ready;
	u32 taken;
};

int rhca_rq_init(struct rhca_rq *rq, u32 max_wr, u32 max_sge,
		 struct ib_udata *udata, struct mminfo *info);
void rhca_rq_exit(struct rhca_rq *rq);
int rhca_rq_post(struct rhca_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr);
void rhca_rq_reset(struct rhca_rq *rq);
int rhca_rq_take(struct rhca_rq *rq, struct rhca_recv_wqe *wqe);
int rhca_rq_resize(struct rhca_rq *rq, struct rhca_ring *ring);

#endif
