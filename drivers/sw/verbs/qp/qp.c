// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: numbers, lookup, creation, destruction, posting. */
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/rdma_user_rxe.h>
#include <rhca/compat.h>

#include "core/mcast.h"
#include "sw/verbs/port.h"
#include "sw/verbs/qp/qp.h"
#include "sw/verbs/transport.h"
#include "wire/headers.h"

#define GSI_NUMBER	1
#define FIRST_NUMBER	0x10	/* 0 and 1 are special QPs; leave a gap */

/*
 * All QPs of all devices by number, so a packet needs one lookup and a number identifies one QP of
 * the host. Numbers are allocated cyclically, so that a late packet does not reach a new QP.
 */
static DEFINE_XARRAY_FLAGS(qp_table, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH |
			    XA_FLAGS_ACCOUNT);
static u32 next_number = FIRST_NUMBER;

void rhca_qp_table_exit(void)
{
	xa_destroy(&qp_table);
}

/**
 * rhca_qp_get_handle - Get the QP of a handle
 * @handle: found under RCU, or NULL
 *
 * Context: RCU read side.
 * Return: the QP with a reference that destroy_qp waits for, or NULL.
 */
struct rhca_verbs_qp *rhca_qp_get_handle(struct rhca_qp_handle *handle)
{
	if (!handle || !refcount_inc_not_zero(&handle->refs))
		return NULL;
	return handle->qp;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_get_handle);

/**
 * rhca_qp_find_handle - Find the handle of a QP number
 * @number: from a packet
 *
 * Context: RCU read side.
 * Return: the handle, or NULL.
 */
struct rhca_qp_handle *rhca_qp_find_handle(u32 number)
{
	return xa_load(&qp_table, number);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_find_handle);

/**
 * rhca_qp_get_gsi - Get QP1 of a port
 * @port: the port
 *
 * Context: RCU read side.
 * Return: as rhca_qp_get_handle().
 */
struct rhca_verbs_qp *rhca_qp_get_gsi(struct rhca_port *port)
{
	return rhca_qp_get_handle(rcu_dereference(to_verbs_port(port)->gsi));
}

/**
 * rhca_qp_put - Drop a reference
 * @qp: from one of rhca_qp_get_*()
 */
void rhca_qp_put(struct rhca_verbs_qp *qp)
{
	struct rhca_qp_handle *handle = qp->handle;

	if (refcount_dec_and_test(&handle->refs))
		complete(&handle->idle);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_put);

/* &struct rhca_backend_ops.mcast_attach: the handle outlives the QP by RCU */
int rhca_verbs_mcast_attach(struct rhca_mcast_attachment *attachment)
{
	attachment->private = to_verbs_qp(attachment->qp)->handle;
	return 0;
}

/**
 * rhca_qp_get_mcast - Get a QP that receives a copy of a multicast packet
 * @attachment: found by rhca_mcast_visit()
 *
 * Context: RCU read side.
 * Return: as rhca_qp_get_handle(); also NULL if it has moved to another port.
 */
struct rhca_verbs_qp *
rhca_qp_get_mcast(const struct rhca_mcast_attachment *attachment)
{
	struct rhca_verbs_qp *qp = rhca_qp_get_handle(attachment->private);

	if (!qp || READ_ONCE(qp->port) == attachment->port)
		return qp;
	rhca_qp_put(qp);
	return NULL;
}

static int check_init(const struct ib_qp_init_attr *init)
{
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_GSI:
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags)
		return -EOPNOTSUPP;
	return init->send_cq && init->recv_cq ? 0 : -EINVAL;
}

static int reserve_number(struct rhca_verbs_qp *qp)
{
	int ret;

	if (qp->type == IB_QPT_GSI) {
		qp->number = GSI_NUMBER;
		return rcu_access_pointer(to_verbs_port(qp->port)->gsi) ?
			-EBUSY : 0;
	}
	ret = xa_alloc_cyclic_bh(&qp_table, &qp->number, NULL,
				 XA_LIMIT(FIRST_NUMBER, RHCA_MULTICAST_QPN - 1),
				 &next_number, GFP_KERNEL);
	return ret < 0 ? ret : 0;
}

static void release_number(struct rhca_verbs_qp *qp)
{
	if (qp->type == IB_QPT_GSI)
		RCU_INIT_POINTER(to_verbs_port(qp->port)->gsi, NULL);
	else
		xa_erase_bh(&qp_table, qp->number);
}

/* Make the QP visible to packets */
static void publish(struct rhca_verbs_qp *qp)
{
	if (qp->type == IB_QPT_GSI)
		rcu_assign_pointer(to_verbs_port(qp->port)->gsi, qp->handle);
	else
		xa_store_bh(&qp_table, qp->number, qp->handle, GFP_KERNEL);
}

static int create_handle(struct rhca_verbs_qp *qp)
{
	qp->handle = kzalloc(sizeof(*qp->handle), GFP_KERNEL_ACCOUNT);
	if (!qp->handle)
		return -ENOMEM;
	refcount_set(&qp->handle->refs, 1);
	init_completion(&qp->handle->idle);
	qp->handle->qp = qp;
	return 0;
}

static int create_queues(struct rhca_verbs_qp *qp, struct ib_qp_init_attr *init,
			 struct ib_udata *udata, struct rxe_create_qp_resp *resp)
{
	int ret;

	ret = rhca_sq_init(&qp->sq, &init->cap, udata, &resp->sq_mi);
	if (ret || qp->srq)
		return ret;
	ret = rhca_rq_init(&qp->rq, init->cap.max_recv_wr,
			   init->cap.max_recv_sge, udata, &resp->rq_mi);
	if (ret) {
		rhca_sq_exit(&qp->sq);
		return ret;
	}
	init->cap.max_recv_wr = min_t(u32, qp->rq.max_wr, RHCA_MAX_QP_WR);
	init->cap.max_recv_sge = qp->rq.max_sge;
	return 0;
}

static void destroy_queues(struct rhca_verbs_qp *qp)
{
	rhca_sq_reset(qp);
	if (!qp->srq)
		rhca_ring_free(&qp->rq.ring);
	rhca_sq_exit(&qp->sq);
}

static int build(struct rhca_verbs_qp *qp, struct ib_qp_init_attr *init,
		 struct ib_udata *udata)
{
	const struct rhca_transport_ops *transport = qp->dev->transport;
	struct rxe_create_qp_resp resp = {};
	int ret;

	ret = create_handle(qp);
	if (ret)
		return ret;
	ret = reserve_number(qp);
	if (ret)
		goto err_free_handle;
	ret = create_queues(qp, init, udata, &resp);
	if (ret)
		goto err_release_number;
	ret = transport->qp_create(qp);
	if (ret)
		goto err_destroy_queues;
	if (udata) {
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret)
			goto err_destroy_transport;
	}
	return 0;

err_destroy_transport:
	transport->qp_destroy(qp);
err_destroy_queues:
	destroy_queues(qp);
err_release_number:
	release_number(qp);
err_free_handle:
	kfree(qp->handle);
	return ret;
}

/* &struct rhca_backend_ops.qp_create */
int rhca_verbs_qp_create(struct rhca_qp *core, struct ib_qp_init_attr *init,
			 struct ib_udata *udata)
{
	struct rhca_verbs_qp *qp = to_verbs_qp(core);
	int ret;

	ret = check_init(init);
	if (ret)
		return ret;
	if (udata && (udata->inlen ||
		      udata->outlen < sizeof(struct rxe_create_qp_resp)))
		return -EINVAL;
	qp->dev = core->dev->private;
	if (!rhca_limit_take(qp->dev, RHCA_LIMIT_QP, RHCA_MAX_QP))
		return -ENOMEM;
	qp->type = init->qp_type;
	qp->is_user = core->is_user;
	qp->pd = core->ibqp.pd;
	qp->signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->send_cq = to_rhca_cq(init->send_cq);
	qp->port = core->port;
	qp->counters = rhca_port_set(core->port ?: &core->dev->ports[0])->values;
	qp->state = IB_QPS_RESET;
	qp->srq = init->srq ? to_rhca_srq(init->srq) : NULL;
	ret = build(qp, init, udata);
	if (ret) {
		rhca_limit_give(qp->dev, RHCA_LIMIT_QP);
		return ret;
	}
	/* ib_core counts this QP as theirs afterwards */
	rhca_cq_recover(qp->send_cq);
	rhca_cq_recover(to_rhca_cq(init->recv_cq));
	core->ibqp.qp_num = qp->number;
	publish(qp);
	return 0;
}

/*
 * The device is unregistered while a process may wait for completions in its mapped rings: deliver
 * them. The core has moved the QP to ERR, but requests may have been posted since.
 */
static void flush_if_unplugged(struct rhca_verbs_qp *qp)
{
	if (!qp->is_user ||
	    !test_bit(RHCA_DEV_UNPLUGGED, &qp->core.dev->flags))
		return;
	mutex_lock(&qp->core.modify_lock);
	if (rhca_qp_can(qp, RHCA_QP_FLUSH_RECV))
		rhca_qp_flush_all(qp);
	mutex_unlock(&qp->core.modify_lock);
}

/* &struct rhca_backend_ops.qp_destroy */
int rhca_verbs_qp_destroy(struct rhca_qp *core, struct ib_udata *udata)
{
	struct rhca_verbs_qp *qp = to_verbs_qp(core);

	flush_if_unplugged(qp);
	release_number(qp);
	/* Packets no longer find it; current ones see RESET */
	rhca_qp_enter_reset(qp);
	rhca_qp_put(qp);
	wait_for_completion(&qp->handle->idle);
	qp->dev->transport->qp_destroy(qp);
	rhca_qp_purge_completions(qp);
	destroy_queues(qp);
	rhca_path_put(rcu_replace_pointer(qp->path, NULL, true));
	kfree_rcu(qp->handle, rcu);
	rhca_limit_give(qp->dev, RHCA_LIMIT_QP);
	return 0;
}

/*
 * &struct rhca_backend_ops.counters_bind. Packets in progress may use the old set for another grace
 * period.
 */
int rhca_verbs_qp_bind(struct rhca_qp *core, struct rhca_counter_set *core_set)
{
	const struct rhca_verbs_set *set = core_set->private;

	lockdep_assert_held(&core->modify_lock);
	WRITE_ONCE(to_verbs_qp(core)->counters, set->values);
	return 0;
}

/* &struct rhca_backend_ops.qp_count */
void rhca_verbs_qp_count(struct rhca_qp *core, enum rhca_counter which)
{
	rcu_read_lock();
	rhca_qp_count(to_verbs_qp(core), which);
	rcu_read_unlock();
}

/*
 * With many QPs in use none is in the caches. The fields that a post reads are adjacent; the word
 * of its turn is in the second line of the transport's data after the QP.
 */
static void prefetch_for_post(const struct rhca_verbs_qp *qp)
{
	prefetch(&qp->pd);
	prefetch(&qp->attr);
	prefetchw(&qp->sq.head);
	prefetchw((const void *)(qp + 1) + L1_CACHE_BYTES);
}

/* A process calls this without requests: they are already in its ring */
static int post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad_wr)
{
	struct rhca_verbs_qp *qp = ibqp_to_verbs(ibqp);
	int ret = 0;

	prefetch_for_post(qp);
	if (!rhca_qp_can(qp, RHCA_QP_POST_SEND) &&
	    (!qp->is_user || qp->dev->transport->drop_posted(qp))) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (!qp->is_user)
		ret = rhca_sq_post(qp, wr, bad_wr);
	qp->dev->transport->kick_send(qp);
	return ret;
}

static int post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr)
{
	struct rhca_verbs_qp *qp = ibqp_to_verbs(ibqp);
	int ret;

	if (!rhca_qp_can(qp, RHCA_QP_POST_RECV) || qp->srq) {
		*bad_wr = wr;
		return -EINVAL;
	}
	ret = rhca_rq_post(&qp->rq, wr, bad_wr);
	smp_mb();	/* either the flush sees the request, or we see ERR */
	if (rhca_qp_can(qp, RHCA_QP_FLUSH_RECV))
		qp->dev->transport->kick_recv(qp);
	return ret;
}

const struct ib_device_ops rhca_verbs_qp_verbs = {
	.post_recv	= post_recv,
	.post_send	= post_send,
};
