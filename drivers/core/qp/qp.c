// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: create, list, destroy, events. */
#include <rhca/backend.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "core/port/device_types.h"
#include "core/qp/qp.h"

/**
 * rhca_qp_state - The state of a QP
 * @qp: the QP
 *
 * Context: process; no lock of the data path held. An error may move the QP to ERR at any
 * time.
 */
enum ib_qp_state rhca_qp_state(const struct rhca_qp *qp)
{
	const struct rhca_backend_ops *backend = qp->dev->backend;

	return backend->qp_state ? backend->qp_state(qp) :
				   READ_ONCE(qp->state);
}

/**
 * rhca_qp_for_each - Call a function for each QP of a device
 * @dev: the device
 * @fn: may sleep; must not create or destroy QPs, which is locked out meanwhile
 *
 * Context: may sleep.
 */
void rhca_qp_for_each(struct rhca_dev *dev, void (*fn)(struct rhca_qp *qp))
{
	struct rhca_qp *qp;

	mutex_lock(&dev->qps_lock);
	list_for_each_entry(qp, &dev->qps, entry)
		fn(qp);
	mutex_unlock(&dev->qps_lock);
}

static void list_qp(struct rhca_qp *qp)
{
	mutex_lock(&qp->dev->qps_lock);
	list_add_tail(&qp->entry, &qp->dev->qps);
	mutex_unlock(&qp->dev->qps_lock);
}

static void unlist_qp(struct rhca_qp *qp)
{
	mutex_lock(&qp->dev->qps_lock);
	list_del(&qp->entry);
	mutex_unlock(&qp->dev->qps_lock);
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

	trace_rhca_qp_event(qp->dev->ibdev.name, qp->ibqp.qp_num,
			    ib_event_msg(type));
	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}
RHCA_EXPORT(rhca_qp_event);

/**
 * rhca_qp_mtu_mismatch - Count that the peer uses another path MTU, and log it once
 * @qp: the QP
 * @peer_bytes: the peer's path MTU, seen in its packets or requested
 * @our_bytes: path MTU of the QP, or the largest of its port
 * @peer: its GID
 * @peer_qpn: its QP
 *
 * Context: any; QP locks may be held.
 */
void rhca_qp_mtu_mismatch(struct rhca_qp *qp, u32 peer_bytes, u32 our_bytes,
			  const union ib_gid *peer, u32 peer_qpn)
{
	qp->dev->backend->qp_count(qp, RHCA_PATH_MTU_MISMATCH);
	if (test_and_set_bit(0, &qp->mtu_reported))
		return;
	ibdev_warn_ratelimited(&qp->dev->ibdev,
			       "QP %#x: peer %pI6c QP %#x uses path MTU %u, here it is %u\n",
			       qp->ibqp.qp_num, peer->raw, peer_qpn, peer_bytes,
			       our_bytes);
}

static int check_caps(const struct rhca_caps *caps,
		      const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (cap->max_send_wr > caps->max_qp_wr ||
	    cap->max_send_sge > caps->max_send_sge ||
	    cap->max_inline_data > caps->max_inline)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > caps->max_qp_wr ||
			   cap->max_recv_sge > caps->max_recv_sge))
		return -EINVAL;
	return 0;
}

static int create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct rhca_dev *dev = to_rhca_dev(ibqp->device);
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	int ret;

	ret = rhca_brings_qp(udata) ? -EOPNOTSUPP : check_caps(&dev->caps, init);
	if (ret)
		return ret;
	if (init->qp_type == IB_QPT_GSI) {
		qp->port = rhca_port_of(dev, init->port_num);
		if (!qp->port || udata)
			return -EINVAL;
	}
	mutex_init(&qp->modify_lock);
	qp->dev = dev;
	/* ib_core creates XRC targets without udata, since processes may share one */
	qp->is_user = udata || init->qp_type == IB_QPT_XRC_TGT;
	qp->state = IB_QPS_RESET;
	ret = dev->backend->qp_create(qp, init, udata);
	if (ret)
		return ret;
	qp->init = *init;
	list_qp(qp);
	return 0;
}

static int destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	int ret;

	/* Before the backend frees it */
	unlist_qp(qp);
	ret = qp->dev->backend->qp_destroy(qp, udata);
	if (ret)
		list_qp(qp);
	return ret;
}

const struct ib_device_ops rhca_qp_verbs = {
	.create_qp		= create_qp,
	.destroy_qp		= destroy_qp,
	.fill_res_qp_entry	= rhca_qp_fill_res,
	.modify_qp		= rhca_qp_modify,
	.query_qp		= rhca_qp_query,
};
