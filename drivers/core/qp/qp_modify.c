// SPDX-License-Identifier: GPL-2.0
/*
 * modify_qp: check, resolve, call the backend, store; and query_qp. ib_core's table says which
 * transitions are legal.
 */
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/port/device_types.h"
#include "core/port/port.h"
#include "core/qp/qp.h"

static int check_limits(const struct rhca_caps *caps,
			const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > caps->max_rd_atomic)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > caps->max_rd_atomic)
		return -EINVAL;
	if ((mask & IB_QP_TIMEOUT) && attr->timeout > 31)
		return -EINVAL;
	if ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return -EINVAL;
	if ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7)
		return -EINVAL;
	if ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return -EINVAL;
	if ((mask & IB_QP_PATH_MTU) && (attr->path_mtu < IB_MTU_256 ||
					attr->path_mtu > IB_MTU_4096))
		return -EINVAL;
	return 0;
}

static struct rhca_port *new_port(const struct rhca_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return mask & IB_QP_PORT ? rhca_port_of(qp->dev, attr->port_num) : qp->port;
}

/*
 * The entry must be valid, 11.2.5.2, in the table of the QP's (new) port; it may become invalid
 * later. QP1 uses all entries, one per request.
 */
static int check_pkey_index(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			    int mask)
{
	struct rhca_port *port = new_port(qp, attr, mask);
	u32 index = mask & IB_QP_PKEY_INDEX ? attr->pkey_index : qp->attr.pkey_index;
	u16 pkey;

	if (!(mask & IB_QP_PKEY_INDEX) && port == qp->port)
		return 0;
	if (index >= qp->dev->caps.num_pkeys)
		return -EINVAL;
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		return 0;
	rcu_read_lock();
	pkey = rhca_pkey_at(&port->pkeys, index);
	rcu_read_unlock();
	if (rhca_pkey_valid(pkey))
		return 0;
	ibdev_dbg(&qp->dev->ibdev, "QP %#x: no P_Key at index %u of port %u\n",
		  qp->ibqp.qp_num, index, port->num);
	return -EINVAL;
}

static int check_path_mtu(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			  int mask)
{
	enum ib_mtu mtu = mask & IB_QP_PATH_MTU ? attr->path_mtu : qp->attr.path_mtu;
	struct rhca_port *port = new_port(qp, attr, mask);
	enum ib_mtu port_mtu;

	if (!(mask & IB_QP_PATH_MTU) && port == qp->port)
		return 0;
	port_mtu = rhca_port_mtu(port);
	if (mtu <= port_mtu)
		return 0;
	/* Most often the peer's: rdma_cm uses the path MTU of the active side */
	rhca_qp_mtu_mismatch(qp, ib_mtu_enum_to_int(mtu),
			     ib_mtu_enum_to_int(port_mtu),
			     &rdma_ah_read_grh(mask & IB_QP_AV ? &attr->ah_attr :
					       &qp->attr.ah_attr)->dgid,
			     mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
						     qp->attr.dest_qp_num);
	return -EINVAL;
}

/*
 * The peer is reached through the QP's own port, whose P_Keys apply: the port and the path of a
 * connection can change only together
 */
static int check_path_port(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			   int mask)
{
	u32 num, path;

	if (mask & IB_QP_AV)
		path = rdma_ah_get_port_num(&attr->ah_attr);
	else if (qp->has_address)
		path = qp->address.port->num;
	else
		return 0;
	num = mask & IB_QP_PORT ? attr->port_num : qp->port->num;
	return path == num ? 0 : -EINVAL;
}

static int check_attr(struct rhca_qp *qp, const struct ib_qp_attr *attr,
		      int mask, enum ib_qp_state from, enum ib_qp_state next)
{
	int ret;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE))
		return -EOPNOTSUPP;	/* RoCE has no path migration */
	if (!ib_modify_qp_is_ok(from, next, qp->ibqp.qp_type, mask))
		return -EINVAL;
	if ((mask & IB_QP_PORT) && !rhca_port_of(qp->dev, attr->port_num))
		return -EINVAL;
	ret = check_limits(&qp->dev->caps, attr, mask);
	if (ret)
		return ret;
	ret = check_pkey_index(qp, attr, mask);
	if (ret)
		return ret;
	ret = check_path_port(qp, attr, mask);
	if (ret)
		return ret;
	return check_path_mtu(qp, attr, mask);
}

static int resolve(struct rhca_qp *qp, const struct ib_qp_attr *attr, int mask,
		   struct rhca_address *address)
{
	int ret;

	ret = rhca_address_resolve(qp->dev, &attr->ah_attr, address);
	if (ret)
		return ret;
	rhca_address_connect(address, qp->ibqp.qp_type, qp->ibqp.qp_num,
			     mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
						     qp->attr.dest_qp_num);
	return 0;
}

#define STORE(bit, field) \
	do { if (mask & (bit)) to->field = attr->field; } while (0)

static void store_attr(struct rhca_qp *qp, const struct ib_qp_attr *attr,
		       int mask)
{
	struct ib_qp_attr *to = &qp->attr;

	STORE(IB_QP_ACCESS_FLAGS, qp_access_flags);
	STORE(IB_QP_PKEY_INDEX, pkey_index);
	STORE(IB_QP_PORT, port_num);
	STORE(IB_QP_QKEY, qkey);
	STORE(IB_QP_PATH_MTU, path_mtu);
	STORE(IB_QP_TIMEOUT, timeout);
	STORE(IB_QP_RETRY_CNT, retry_cnt);
	STORE(IB_QP_RNR_RETRY, rnr_retry);
	STORE(IB_QP_RQ_PSN, rq_psn);
	STORE(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	STORE(IB_QP_MIN_RNR_TIMER, min_rnr_timer);
	STORE(IB_QP_SQ_PSN, sq_psn);
	STORE(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	STORE(IB_QP_DEST_QPN, dest_qp_num);
	STORE(IB_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	if (mask & IB_QP_AV) {
		/* ib_core owns the references in here: keep the plain values */
		to->ah_attr = attr->ah_attr;
		to->ah_attr.grh.sgid_attr = NULL;
	}
}

/* A QP in RESET has no attributes, IBTA vol. 1, 10.3.1.1; QP1 keeps its port */
static void forget(struct rhca_qp *qp)
{
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->has_address = false;
	clear_bit(0, &qp->mtu_reported);
}

static void store(struct rhca_qp *qp, const struct rhca_qp_change *change)
{
	WRITE_ONCE(qp->state, change->next);
	if (change->next == IB_QPS_RESET) {
		forget(qp);
		return;
	}
	if (change->next != IB_QPS_SQD)
		qp->attr.en_sqd_async_notify = 0;
	store_attr(qp, change->attr, change->mask);
	if (change->mask & IB_QP_PORT)
		WRITE_ONCE(qp->port, change->port);
	if (change->address) {
		qp->address = *change->address;
		qp->has_address = true;
	}
}

/*
 * Hardware moves a QP to SQE without informing the driver, IBTA vol. 1, 10.3.1.6, and to SQD, where
 * it drains the send queue by itself. The user has seen the completion or the event and says so;
 * hardware rejects a wrong state. (ERR can be left without this, and ib_core's table forbids it
 * there.)
 */
static int state_before(const struct rhca_qp *qp,
			const struct ib_qp_attr *attr, int mask,
			enum ib_qp_state *from)
{
	*from = rhca_qp_state(qp);
	if (!(mask & IB_QP_CUR_STATE) || attr->cur_qp_state == *from)
		return 0;
	if (qp->dev->backend->qp_state || *from != IB_QPS_RTS ||
	    (attr->cur_qp_state != IB_QPS_SQE && attr->cur_qp_state != IB_QPS_SQD))
		return -EINVAL;
	*from = attr->cur_qp_state;
	return 0;
}

static int modify_locked(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			 int mask, struct ib_udata *udata)
{
	struct rhca_qp_change change = {
		.attr = attr, .mask = mask, .port = new_port(qp, attr, mask),
	};
	struct rhca_address address;
	int ret;

	ret = state_before(qp, attr, mask, &change.from);
	if (ret)
		return ret;
	change.next = mask & IB_QP_STATE ? attr->qp_state : change.from;
	ret = check_attr(qp, attr, mask, change.from, change.next);
	if (ret)
		return ret;
	if (mask & IB_QP_AV) {
		ret = resolve(qp, attr, mask, &address);
		if (ret)
			return ret;
		change.address = &address;
	}
	ret = qp->dev->backend->qp_modify(qp, &change, udata);
	if (!ret)
		store(qp, &change);
	return ret;
}

static void quiesce_locked(struct rhca_qp *qp)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	enum ib_qp_state from = rhca_qp_state(qp);

	lockdep_assert_held(&qp->modify_lock);
	if (from != IB_QPS_RESET && from != IB_QPS_ERR &&
	    modify_locked(qp, &attr, IB_QP_STATE, NULL))
		ibdev_dbg(&qp->dev->ibdev, "QP %#x is not flushed\n",
			  qp->ibqp.qp_num);
}

/*
 * If the device is being unregistered, a process's QP is in ERR afterwards: rhca_dev_unplugged()
 * may have skipped it in RESET. Returns 0; -EINVAL for an illegal change, with nothing changed, or
 * if the QP failed meanwhile and is in ERR; -EOPNOTSUPP for path migration; -ENODEV if the source
 * GID's netdev was removed; an error of the backend.
 */
int rhca_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	int ret;

	mutex_lock(&qp->modify_lock);
	ret = modify_locked(qp, attr, mask, udata);
	if (!ret && qp->is_user && test_bit(RHCA_DEV_UNPLUGGED, &qp->dev->flags))
		quiesce_locked(qp);
	mutex_unlock(&qp->modify_lock);
	return ret;
}

static int readdress_locked(struct rhca_qp *qp)
{
	const struct rhca_backend_ops *backend = qp->dev->backend;
	struct rhca_address address = qp->address;
	int ret;

	lockdep_assert_held(&qp->modify_lock);
	if (!qp->has_address || !backend->qp_readdress ||
	    !rhca_address_renew(&address, qp->ibqp.qp_type))
		return 0;
	ret = backend->qp_readdress(qp, &address);
	if (!ret)
		qp->address = address;
	return ret;
}

/*
 * Apply changed rules for the traffic class to a connected QP, from its next packet on, if the
 * backend can. May sleep.
 */
void rhca_qp_readdress(struct rhca_qp *qp)
{
	int ret;

	mutex_lock(&qp->modify_lock);
	ret = readdress_locked(qp);
	mutex_unlock(&qp->modify_lock);
	if (ret)
		ibdev_warn(&qp->dev->ibdev,
			   "QP %#x keeps its old traffic class: error %d\n",
			   qp->ibqp.qp_num, ret);
}

/*
 * Before a device is unregistered, move a process's QP to ERR, so that its completions can be
 * polled while there is a device to write them. Kernel users are notified by ib_core, and drain
 * their QPs themselves. May sleep.
 */
void rhca_qp_quiesce(struct rhca_qp *qp)
{
	if (!qp->is_user)
		return;
	mutex_lock(&qp->modify_lock);
	quiesce_locked(qp);
	mutex_unlock(&qp->modify_lock);
}

/* Fills in all of @attr; the backend may omit what @mask does not request */
int rhca_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	const struct rhca_backend_ops *backend = qp->dev->backend;
	int ret = 0;

	mutex_lock(&qp->modify_lock);
	*attr = qp->attr;
	if (!rhca_qp_is_datagram(qp) && qp->has_address)
		attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	attr->qp_state = rhca_qp_state(qp);
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->cap = qp->init.cap;
	*init = qp->init;
	if (backend->qp_query)
		ret = backend->qp_query(qp, attr, mask);
	attr->cur_qp_state = attr->qp_state;
	mutex_unlock(&qp->modify_lock);
	return ret;
}
