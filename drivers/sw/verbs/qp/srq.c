// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues, IBTA vol. 1, 10.2.9. */
#include <rdma/rdma_user_rxe.h>
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/qp/srq.h"

static atomic_t next_number = ATOMIC_INIT(1);

static int check_init(const struct ib_srq_init_attr *init)
{
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	/* Ignore the limit, which modify_srq sets: programs leave anything there */
	if (!init->attr.max_wr || init->attr.max_wr > RHCA_MAX_SRQ_WR ||
	    init->attr.max_sge > RHCA_MAX_SGE)
		return -EINVAL;
	return 0;
}

static int init_queue(struct rhca_srq *srq, struct ib_srq_init_attr *init,
		      struct ib_udata *udata)
{
	struct rxe_create_srq_resp resp = {};
	int ret;

	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	ret = rhca_rq_init(&srq->rq, init->attr.max_wr,
			   max(init->attr.max_sge, 1U), udata, &resp.mi);
	if (ret)
		return ret;
	resp.srq_num = atomic_inc_return(&next_number);
	if (udata) {
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret)
			rhca_ring_free(&srq->rq.ring);
	}
	return ret;
}

static int create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		      struct ib_udata *udata)
{
	struct rhca_verbs_dev *dev = to_verbs_dev(ibsrq->device);
	struct rhca_srq *srq = to_rhca_srq(ibsrq);
	int ret;

	ret = rhca_brings_srq(udata) ? -EOPNOTSUPP : check_init(init);
	if (ret)
		return ret;
	if (!rhca_limit_take(dev, RHCA_LIMIT_SRQ, RHCA_MAX_SRQ))
		return -ENOMEM;
	ret = init_queue(srq, init, udata);
	if (ret) {
		rhca_limit_give(dev, RHCA_LIMIT_SRQ);
		return ret;
	}
	mutex_init(&srq->resize_lock);
	init->attr.max_wr = min_t(u32, srq->rq.max_wr, RHCA_MAX_SRQ_WR);
	init->attr.max_sge = srq->rq.max_sge;
	return 0;
}

static int resize(struct rhca_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	u32 bytes = sizeof(struct rxe_recv_wqe) +
		    srq->rq.max_sge * sizeof(struct rxe_sge);
	struct rxe_modify_srq_cmd cmd = {};
	struct rhca_ring ring;
	struct mminfo info = {};
	int ret;

	if (udata) {
		if (udata->inlen < sizeof(cmd))
			return -EINVAL;
		ret = ib_copy_from_udata(&cmd, udata, sizeof(cmd));
		if (ret)
			return ret;
	}
	ret = rhca_ring_alloc(&ring, max_wr, bytes, udata, &info);
	if (ret)
		return ret;
	if (udata && copy_to_user(u64_to_user_ptr(cmd.mmap_info_addr), &info,
				  sizeof(info))) {
		ret = -EFAULT;
		goto err_free;
	}

	mutex_lock(&srq->resize_lock);
	ret = rhca_rq_resize(&srq->rq, &ring);
	mutex_unlock(&srq->resize_lock);
	/* the new ring, or on success the old one */
err_free:
	rhca_ring_free(&ring);
	return ret;
}

/**
 * rhca_srq_limit_event - Raise the limit event
 * @srq: the queue
 *
 * Context: any, without QP locks.
 */
void rhca_srq_limit_event(struct rhca_srq *srq)
{
	struct ib_event event = {
		.device		= srq->ibsrq.device,
		.element.srq	= &srq->ibsrq,
		.event		= IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/* The limit is armed once, 11.2.3.3: the event disarms it */
static bool take_limit(struct rhca_srq *srq)
{
	lockdep_assert_held(&srq->rq.take_lock);
	if (!srq->limit || rhca_ring_count(&srq->rq.ring) >= srq->limit)
		return false;
	WRITE_ONCE(srq->limit, 0);
	return true;
}

static int modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rhca_srq *srq = to_rhca_srq(ibsrq);
	u32 max_wr = mask & IB_SRQ_MAX_WR ? attr->max_wr :
					    READ_ONCE(srq->rq.max_wr);
	bool reached;
	int ret;

	if ((mask & IB_SRQ_MAX_WR) && (!max_wr || max_wr > RHCA_MAX_SRQ_WR))
		return -EINVAL;
	if ((mask & IB_SRQ_LIMIT) && attr->srq_limit > max_wr)
		return -EINVAL;
	if ((mask & IB_SRQ_MAX_WR) && !(mask & IB_SRQ_LIMIT) &&
	    max_wr < READ_ONCE(srq->limit))
		return -EINVAL;

	if (mask & IB_SRQ_MAX_WR) {
		ret = resize(srq, max_wr, udata);
		if (ret)
			return ret;
	}
	if (mask & IB_SRQ_LIMIT) {
		spin_lock_bh(&srq->rq.take_lock);
		WRITE_ONCE(srq->limit, attr->srq_limit);
		reached = take_limit(srq);
		spin_unlock_bh(&srq->rq.take_lock);
		if (reached)
			rhca_srq_limit_event(srq);
	}
	return 0;
}

static int query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct rhca_srq *srq = to_rhca_srq(ibsrq);

	attr->max_wr = min_t(u32, READ_ONCE(srq->rq.max_wr), RHCA_MAX_SRQ_WR);
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

static int destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	rhca_ring_free(&to_rhca_srq(ibsrq)->rq.ring);
	rhca_limit_give(to_verbs_dev(ibsrq->device), RHCA_LIMIT_SRQ);
	return 0;
}

static int post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad_wr)
{
	return rhca_rq_post(&to_rhca_srq(ibsrq)->rq, wr, bad_wr);
}

/**
 * rhca_srq_take - Take the oldest request and check the limit
 * @srq: the queue
 * @wqe: filled in
 * @limit_reached: set, but never cleared, if rhca_srq_limit_event() is due
 *
 * Context: bottom halves off; QP locks may be held.
 * Return: as rhca_rq_take().
 */
int rhca_srq_take(struct rhca_srq *srq, struct rhca_recv_wqe *wqe,
		  bool *limit_reached)
{
	int ret;

	spin_lock(&srq->rq.take_lock);
	ret = rhca_rq_take(&srq->rq, wqe);
	rhca_ring_give_back(&srq->rq.ring);
	if (ret != -ENOENT && take_limit(srq))
		*limit_reached = true;
	spin_unlock(&srq->rq.take_lock);
	return ret;
}

const struct ib_device_ops rhca_srq_verbs = {
	.create_srq	= create_srq,
	.destroy_srq	= destroy_srq,
	.modify_srq	= modify_srq,
	.post_srq_recv	= post_srq_recv,
	.query_srq	= query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, rhca_srq, ibsrq),
};
