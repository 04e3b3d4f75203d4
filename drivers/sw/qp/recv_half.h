/* SPDX-License-Identifier: GPL-2.0 */
/* The receive half of a QP: helpers for all parts of the responder. */
#ifndef RHCA_SW_QP_RECV_HALF_H
#define RHCA_SW_QP_RECV_HALF_H

#include <linux/ktime.h>

#include "sw/qp/payload.h"
#include "sw/qp/qp.h"
#include "sw/verbs/memory/mw.h"

/**
 * rhca_pause_recv - Pause the responses; the turn ends with it
 * @qp: the QP; the caller owns the turn of its responder
 * @pause: why
 * @delay_ns: how long
 */
static inline void rhca_pause_recv(struct rhca_sw_qp *qp, enum rhca_pause pause,
				   u64 delay_ns)
{
	lockdep_assert_held(&qp->recv.lock);
	qp->recv.pause = pause;
	WRITE_ONCE(qp->recv.turn.not_before, ktime_get_ns() + delay_ns);
}

/* Get the memory of a peer's key if the QP may access the range; check again for each packet */
static inline struct rhca_mem *rhca_responder_hold(struct rhca_sw_qp *qp,
						   u32 rkey, u64 va, u32 length,
						   int access)
{
	struct rhca_remote remote = {
		.dev	= qp->base.dev,
		.pd	= qp->base.pd,
		.qp_num	= qp->base.number,
		.rkey	= rkey,
		.va	= va,
		.length	= length,
		.access	= access,
	};

	lockdep_assert_held(&qp->recv.lock);
	return rhca_mem_hold_remote(&qp->recv.held, &remote);
}

/* Returns 0, -ENOENT if none is posted, or another error if it is unusable */
static inline int rhca_responder_take_wqe(struct rhca_sw_qp *qp)
{
	if (qp->base.srq)
		return rhca_srq_take(qp->base.srq, qp->recv.wqe,
				     &qp->recv.srq_limit_reached);
	return rhca_rq_take(&qp->base.rq, qp->recv.wqe);
}

/* Bytes of the current receive request; uses recv.held */
static inline struct rhca_span rhca_receive_span(struct rhca_sw_qp *qp, u32 offset, u32 bytes)
{
	return (struct rhca_span) {
		.sge	 = qp->recv.wqe->sge,
		.num_sge = qp->recv.wqe->num_sge,
		.offset	 = offset,
		.bytes	 = bytes,
		/* Receives of a shared queue use memory of that queue's domain, 10.2.3 */
		.pd	 = qp->base.srq ? qp->base.srq->ibsrq.pd : qp->base.pd,
		.held	 = &qp->recv.held,
	};
}

static inline struct rhca_resource *
rhca_resource_at(struct rhca_responder *recv, u32 index)
{
	return &recv->resources[index & (recv->num_resources - 1)];
}

static inline u32 rhca_response_packets(const struct rhca_sw_qp *qp, u32 length)
{
	return max(DIV_ROUND_UP(length, qp->base.mtu_bytes), 1U);
}

#endif
