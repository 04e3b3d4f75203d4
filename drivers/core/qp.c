// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: create, find, destroy, post.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/rdma_user_rxe.h>
#include <rdma/uverbs_ioctl.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/device.h"
#include "core/qp.h"
#include "wire/headers.h"

#define GSI_NUMBER	1
#define FIRST_NUMBER	0x10	/* 0 and 1 are special QPs; leave some room */

/*
 * All QPs of all devices by number, so a packet needs one lookup and a number
 * never means two QPs on one host. Numbers go round, so that a late packet does
 * not find a young QP.
 */
static DEFINE_XARRAY_FLAGS(qp_table, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
static u32 next_number = FIRST_NUMBER;

void rhca_qp_table_exit(void)
{
	xa_destroy(&qp_table);
}

/**
 * rhca_qp_get_handle - The QP behind a handle
 * @handle: found under RCU, or NULL
 *
 * Context: RCU read side.
 * Return: as rhca_qp_get().
 */
struct rhca_qp *rhca_qp_get_handle(struct rhca_qp_handle *handle)
{
	if (!handle || !refcount_inc_not_zero(&handle->refs))
		return NULL;
	return handle->qp;
}

/**
 * rhca_qp_get - Find a QP by number
 * @number: from a packet
 *
 * Context: RCU read side.
 * Return: the QP with a reference that destroy_qp waits for, or NULL.
 */
struct rhca_qp *rhca_qp_get(u32 number)
{
	return rhca_qp_get_handle(xa_load(&qp_table, number));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_get);

/**
 * rhca_qp_get_gsi - QP1 of a port
 * @port: the port
 *
 * Context: RCU read side.
 * Return: as rhca_qp_get().
 */
struct rhca_qp *rhca_qp_get_gsi(struct rhca_port *port)
{
	return rhca_qp_get_handle(rcu_dereference(port->gsi));
}

/**
 * rhca_qp_put - Drop a reference
 * @qp: from one of the functions above
 */
void rhca_qp_put(struct rhca_qp *qp)
{
	struct rhca_qp_handle *handle = qp->handle;

	if (refcount_dec_and_test(&handle->refs))
		complete(&handle->idle);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_put);

/* The next one of the device from @number on, with a reference */
static struct rhca_qp *next_qp(const struct rhca_dev *dev,
			       unsigned long *number)
{
	struct rhca_qp_handle *handle;
	struct rhca_qp *qp = NULL;

	rcu_read_lock();
	xa_for_each_start(&qp_table, *number, handle, *number) {
		qp = rhca_qp_get_handle(handle);
		if (qp && qp->dev == dev)
			break;
		if (qp)
			rhca_qp_put(qp);
		qp = NULL;
	}
	rcu_read_unlock();
	return qp;
}

/**
 * rhca_qp_for_each - Do something to every QP of a device but QP1
 * @dev: the device
 * @fn: may sleep; the QP is not destroyed meanwhile
 *
 * A QP that is created meanwhile may be missed.
 *
 * Context: may sleep.
 */
void rhca_qp_for_each(struct rhca_dev *dev, void (*fn)(struct rhca_qp *qp))
{
	unsigned long number = FIRST_NUMBER;
	struct rhca_qp *qp;

	while ((qp = next_qp(dev, &number))) {
		fn(qp);
		rhca_qp_put(qp);
		number++;
	}
}

/**
 * rhca_qp_event - Raise an asynchronous event of the QP
 * @qp: the QP
 * @type: the event
 *
 * Context: any, without QP locks.
 */
void rhca_qp_event(struct rhca_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device		= &qp->dev->ibdev,
		.element.qp	= &qp->ibqp,
		.event		= type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

/**
 * rhca_qp_mtu_mismatch - The peer uses another path MTU
 * @qp: the QP
 * @peer_bytes: the peer's, as its packets show it or as it asks for
 * @our_bytes: path MTU of the QP, or the largest that its port has
 * @peer: its GID
 * @peer_qpn: its QP
 *
 * Counts it. The log has a line for the first one of a QP, and not for many QPs
 * at once.
 *
 * Context: any; QP locks may be held.
 */
void rhca_qp_mtu_mismatch(struct rhca_qp *qp, u32 peer_bytes, u32 our_bytes,
			  const union ib_gid *peer, u32 peer_qpn)
{
	rcu_read_lock();
	rhca_qp_count(qp, RHCA_PATH_MTU_MISMATCH);
	rcu_read_unlock();
	if (test_and_set_bit(0, &qp->mtu_told))
		return;
	ibdev_warn_ratelimited(&qp->dev->ibdev,
			       "QP %#x: peer %pI6c QP %#x uses path MTU %u, here it is %u\n",
			       qp->number, peer->raw, peer_qpn, peer_bytes,
			       our_bytes);
}

static int check_init(struct rhca_dev *dev, const struct ib_qp_init_attr *init,
		      bool is_user)
{
	const struct ib_qp_cap *cap = &init->cap;

	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		break;
	case IB_QPT_GSI:
		if (is_user || !rhca_port_of(dev, init->port_num))
			return -EINVAL;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > RHCA_MAX_QP_WR ||
	    cap->max_send_sge > RHCA_MAX_SGE ||
	    cap->max_inline_data > RHCA_MAX_INLINE)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > RHCA_MAX_QP_WR ||
			   cap->max_recv_sge > RHCA_MAX_SGE))
		return -EINVAL;
	return 0;
}

static int reserve_number(struct rhca_qp *qp, u32 port_num)
{
	int ret;

	if (qp->ibqp.qp_type == IB_QPT_GSI) {
		qp->number = GSI_NUMBER;
		qp->port = rhca_port_of(qp->dev, port_num);
		qp->counters = qp->port->counters;
		return rcu_access_pointer(qp->port->gsi) ? -EBUSY : 0;
	}
	ret = xa_alloc_cyclic_bh(&qp_table, &qp->number, NULL,
				 XA_LIMIT(FIRST_NUMBER, RHCA_MULTICAST_QPN - 1),
				 &next_number, GFP_KERNEL);
	return ret < 0 ? ret : 0;
}

static void release_number(struct rhca_qp *qp)
{
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		RCU_INIT_POINTER(qp->port->gsi, NULL);
	else
		xa_erase_bh(&qp_table, qp->number);
}

/* From here on packets find it */
static void publish(struct rhca_qp *qp)
{
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		rcu_assign_pointer(qp->port->gsi, qp->handle);
	else
		xa_store_bh(&qp_table, qp->number, qp->handle, GFP_KERNEL);
}

static int create_handle(struct rhca_qp *qp)
{
	qp->handle = kzalloc(sizeof(*qp->handle), GFP_KERNEL_ACCOUNT);
	if (!qp->handle)
		return -ENOMEM;
	refcount_set(&qp->handle->refs, 1);
	init_completion(&qp->handle->idle);
	qp->handle->qp = qp;
	return 0;
}

static int create_queues(struct rhca_qp *qp, struct ib_qp_init_attr *init,
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
	init->cap.max_recv_wr = qp->rq.max_wr;
	init->cap.max_recv_sge = qp->rq.max_sge;
	return 0;
}

static void destroy_queues(struct rhca_qp *qp)
{
	rhca_sq_reset(qp);
	if (!qp->srq)
		rhca_rq_exit(&qp->rq);
	rhca_sq_exit(&qp->sq);
}

static int build(struct rhca_qp *qp, struct ib_qp_init_attr *init,
		 struct ib_udata *udata)
{
	struct rxe_create_qp_resp resp = {};
	int ret;

	ret = create_handle(qp);
	if (ret)
		return ret;
	ret = reserve_number(qp, init->port_num);
	if (ret)
		goto err_free_handle;
	ret = create_queues(qp, init, udata, &resp);
	if (ret)
		goto err_release_number;
	ret = qp->dev->backend->qp_create(qp);
	if (ret)
		goto err_destroy_queues;
	if (udata) {
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret)
			goto err_destroy_backend;
	}
	return 0;

err_destroy_backend:
	qp->dev->backend->qp_destroy(qp);
err_destroy_queues:
	destroy_queues(qp);
err_release_number:
	release_number(qp);
err_free_handle:
	kfree(qp->handle);
	return ret;
}

static int create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct rhca_dev *dev = to_rhca_dev(ibqp->device);
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	int ret;

	ret = check_init(dev, init, udata);
	if (ret)
		return ret;
	if (udata && (udata->inlen ||
		      udata->outlen < sizeof(struct rxe_create_qp_resp)))
		return -EINVAL;
	if (!rhca_limit_take(dev, RHCA_LIMIT_QP, RHCA_MAX_QP))
		return -ENOMEM;

	mutex_init(&qp->modify_lock);
	qp->dev = dev;
	qp->counters = dev->ports[0].counters;
	qp->is_user = udata;
	qp->state = IB_QPS_RESET;
	qp->srq = init->srq ? to_rhca_srq(init->srq) : NULL;
	ret = build(qp, init, udata);
	if (ret) {
		rhca_limit_give(dev, RHCA_LIMIT_QP);
		return ret;
	}
	qp->init = *init;
	ibqp->qp_num = qp->number;
	publish(qp);
	return 0;
}

static bool has_posted(const struct rhca_qp *qp)
{
	return rhca_ring_filled(&qp->sq.ring) ||
	       (!qp->srq && rhca_ring_filled(&qp->rq.ring));
}

/* The backend flushes in portions; a process may post as fast, but not for ever */
static void flush_all(struct rhca_qp *qp)
{
	const struct rhca_backend_ops *backend = qp->dev->backend;
	u32 rounds = qp->sq.max_wr + (qp->srq ? 0 : qp->rq.max_wr);

	lockdep_assert_held(&qp->modify_lock);
	while (rounds-- && has_posted(qp)) {
		backend->kick_send(qp);
		backend->kick_recv(qp);
		cond_resched();
	}
}

/*
 * The device is being unregistered under a process that may wait for
 * completions in the rings that it has mapped: let it have them. A QP that is in
 * ERR already may have requests that were posted since.
 */
static void flush_if_unplugged(struct rhca_qp *qp)
{
	if (!qp->is_user || !READ_ONCE(qp->dev->unplugged))
		return;
	mutex_lock(&qp->modify_lock);
	if (rhca_qp_fail(qp, IB_QPS_ERR))
		qp->dev->backend->qp_entered(qp, IB_QPS_ERR);
	if (rhca_qp_can(qp, RHCA_QP_FLUSH_RECV))
		flush_all(qp);
	mutex_unlock(&qp->modify_lock);
}

static int destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);

	flush_if_unplugged(qp);
	release_number(qp);
	/* No packet finds it from here on; those inside see RESET */
	smp_store_release(&qp->state, IB_QPS_RESET);
	rhca_qp_put(qp);
	wait_for_completion(&qp->handle->idle);
	qp->dev->backend->qp_destroy(qp);
	destroy_queues(qp);
	rhca_path_put(rcu_replace_pointer(qp->path, NULL, true));
	kfree_rcu(qp->handle, rcu);
	rhca_limit_give(qp->dev, RHCA_LIMIT_QP);
	return 0;
}

/* A process calls this with no requests: they are in the ring already */
static int post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad_wr)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	int ret = 0;

	if (!rhca_qp_can(qp, RHCA_QP_POST_SEND)) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (!qp->is_user)
		ret = rhca_sq_post(qp, wr, bad_wr);
	qp->dev->backend->kick_send(qp);
	return ret;
}

static int post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	int ret;

	if (!rhca_qp_can(qp, RHCA_QP_POST_RECV) || qp->srq) {
		*bad_wr = wr;
		return -EINVAL;
	}
	ret = rhca_rq_post(&qp->rq, wr, bad_wr);
	smp_mb();	/* either the flush sees the request, or we see ERR */
	if (rhca_qp_can(qp, RHCA_QP_FLUSH_RECV))
		qp->dev->backend->kick_recv(qp);
	return ret;
}

const struct ib_device_ops rhca_qp_verbs = {
	.create_qp	= create_qp,
	.destroy_qp	= destroy_qp,
	.modify_qp	= rhca_qp_modify,
	.post_recv	= post_recv,
	.post_send	= post_send,
	.query_qp	= rhca_qp_query,

	INIT_RDMA_OBJ_SIZE(ib_qp, rhca_qp, ibqp),
};
