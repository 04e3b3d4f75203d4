// SPDX-License-Identifier: GPL-2.0
/*
 * What a QP state allows, and modify_qp: check, prepare, commit. Which
 * transitions are legal is ib_core's table.
 */
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/device.h"
#include "core/qp.h"
#include "sw/verbs/qp_state.h"
#include "wire/headers.h"

/* IBTA vol. 1, 10.3.1, figure 124 and the text of each state */
static const u8 abilities[IB_QPS_ERR + 1] = {
	[IB_QPS_RESET]	= 0,
	[IB_QPS_INIT]	= RHCA_QP_POST_RECV,
	[IB_QPS_RTR]	= RHCA_QP_POST_RECV | RHCA_QP_RECEIVE,
	[IB_QPS_RTS]	= RHCA_QP_POST_RECV | RHCA_QP_POST_SEND |
			  RHCA_QP_RECEIVE | RHCA_QP_TRANSMIT |
			  RHCA_QP_COMPLETE,
	[IB_QPS_SQD]	= RHCA_QP_POST_RECV | RHCA_QP_POST_SEND |
			  RHCA_QP_RECEIVE | RHCA_QP_COMPLETE,
	[IB_QPS_SQE]	= RHCA_QP_POST_RECV | RHCA_QP_POST_SEND |
			  RHCA_QP_RECEIVE | RHCA_QP_FLUSH_SEND,
	[IB_QPS_ERR]	= RHCA_QP_POST_RECV | RHCA_QP_POST_SEND |
			  RHCA_QP_FLUSH_SEND | RHCA_QP_FLUSH_RECV,
};

u8 rhca_qp_abilities(enum ib_qp_state state)
{
	return state <= IB_QPS_ERR ? abilities[state] : 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_abilities);

/**
 * rhca_qp_can - Does the QP's state allow this now?
 * @qp: the QP
 * @wanted: all of RHCA_QP_* that are needed
 */
bool rhca_qp_can(const struct rhca_qp *qp, u8 wanted)
{
	/* Pairs with the commit: the state's attributes are in place */
	return (abilities[smp_load_acquire(&qp->state)] & wanted) == wanted;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_can);

/**
 * rhca_qp_fail - The data path met an error
 * @qp: the QP
 * @to: IB_QPS_ERR, or IB_QPS_SQE when only the send queue of a UC or UD QP fails
 *
 * Context: any; no lock is needed, since modify_qp commits with a compare and
 * exchange of its own.
 * Return: true for the caller that moved it, who must see to the flush.
 */
bool rhca_qp_fail(struct rhca_qp *qp, enum ib_qp_state to)
{
	int state = READ_ONCE(qp->state);

	do {
		if (state == IB_QPS_ERR || state == IB_QPS_RESET ||
		    state == to)
			return false;
	} while (!try_cmpxchg(&qp->state, &state, to));
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_fail);

/**
 * struct qp_change - What a commit takes over and must not have to allocate
 * @path: the new destination, or NULL
 */
struct qp_change {
	struct rhca_path *path;
};

static int check_limits(const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > RHCA_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > RHCA_MAX_RD_ATOMIC)
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

/*
 * The entry must be a valid one, 11.2.5.2; it may become invalid later. QP1 has
 * all of them, and names one with each request.
 */
static int check_pkey_index(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			    int mask)
{
	struct rhca_port *port = mask & IB_QP_PORT ?
		rhca_port_of(qp->dev, attr->port_num) : qp->port;
	u16 pkey;

	if (!(mask & IB_QP_PKEY_INDEX))
		return 0;
	if (attr->pkey_index >= RHCA_NUM_PKEYS)
		return -EINVAL;
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		return 0;
	rcu_read_lock();
	pkey = rhca_pkey_at(&port->pkeys, attr->pkey_index);
	rcu_read_unlock();
	if (rhca_pkey_valid(pkey))
		return 0;
	ibdev_dbg(&qp->dev->ibdev, "QP %#x: no P_Key at index %u of port %u\n",
		  qp->number, attr->pkey_index, port->num);
	return -EINVAL;
}

static const struct rdma_ah_attr *peer_of(const struct rhca_qp *qp,
					  const struct ib_qp_attr *attr,
					  int mask)
{
	return mask & IB_QP_AV ? &attr->ah_attr : &qp->attr.ah_attr;
}

static int check_path_mtu(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			  int mask)
{
	enum ib_mtu port_mtu;

	if (!(mask & IB_QP_PATH_MTU))
		return 0;
	port_mtu = rhca_port_mtu(qp->port);
	if (attr->path_mtu <= port_mtu)
		return 0;
	/* Most often a peer's wish: rdma_cm asks for the path MTU of who began */
	rhca_qp_mtu_mismatch(qp, ib_mtu_enum_to_int(attr->path_mtu),
			     ib_mtu_enum_to_int(port_mtu),
			     &rdma_ah_read_grh(peer_of(qp, attr, mask))->dgid,
			     mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
						     qp->attr.dest_qp_num);
	return -EINVAL;
}

/* The peer is reached by the QP's own port, whose P_Keys it has */
static int check_path_port(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			   int mask)
{
	u32 num;

	if (!(mask & IB_QP_AV))
		return 0;
	num = mask & IB_QP_PORT ? attr->port_num : qp->port->num;
	return rdma_ah_get_port_num(&attr->ah_attr) == num ? 0 : -EINVAL;
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
	ret = check_limits(attr, mask);
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

/* Only RC has its class forced; others take what the application asked for */
static u8 tclass_of(const struct rhca_qp *qp, const struct rhca_path *path)
{
	int forced = qp->ibqp.qp_type == IB_QPT_RC ?
		rhca_qos_forced_tclass(&path->port->qos, &path->flow) :
		RHCA_TCLASS_OFF;

	return rhca_without_ecn(forced == RHCA_TCLASS_OFF ? path->tclass :
							    forced);
}

static int prepare(struct rhca_qp *qp, const struct ib_qp_attr *attr, int mask,
		   struct qp_change *change)
{
	struct rhca_path *path;

	if (!(mask & IB_QP_AV))
		return 0;
	path = rhca_path_create(qp->dev, qp->ibqp.pd, &attr->ah_attr,
				GFP_KERNEL_ACCOUNT);
	if (IS_ERR(path))
		return PTR_ERR(path);
	path->flow.udp_sport = rdma_get_udp_sport(path->flow.flow_label,
						  qp->number,
						  mask & IB_QP_DEST_QPN ?
						  attr->dest_qp_num :
						  qp->attr.dest_qp_num);
	path->flow.tclass = tclass_of(qp, path);
	change->path = path;
	return 0;
}

#define STORE(bit, field) \
	do { if (mask & (bit)) WRITE_ONCE(to->field, attr->field); } while (0)

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
		/* References in here are ib_core's: keep the plain values */
		to->ah_attr = attr->ah_attr;
		to->ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_PORT) {
		qp->port = rhca_port_of(qp->dev, attr->port_num);
		rhca_counters_follow_port(qp);
		WRITE_ONCE(qp->lag_member,
			   atomic_fetch_inc(&qp->port->next_member));
	}
}

static void take_path(struct rhca_qp *qp, struct qp_change *change)
{
	if (change->path)
		change->path = rcu_replace_pointer(qp->path, change->path,
						   lockdep_is_held(&qp->modify_lock));
}

static void forget(struct rhca_qp *qp)
{
	rhca_path_put(rcu_replace_pointer(qp->path, NULL,
					  lockdep_is_held(&qp->modify_lock)));
	memset(&qp->attr, 0, sizeof(qp->attr));
	clear_bit(0, &qp->mtu_told);
}

/*
 * RESET empties the queues, so the state goes first and nothing new begins;
 * every other state becomes visible when its attributes are in place.
 */
static bool commit(struct rhca_qp *qp, const struct ib_qp_attr *attr, int mask,
		   struct qp_change *change, int from, enum ib_qp_state next)
{
	const struct rhca_backend_ops *backend = qp->dev->backend;

	lockdep_assert_held(&qp->modify_lock);
	if (next == IB_QPS_RESET) {
		/* First the state: nothing new begins while queues are emptied */
		smp_store_release(&qp->state, IB_QPS_RESET);
		backend->qp_modify(qp, attr, mask, next);
		forget(qp);
		backend->qp_entered(qp, next);
		return true;
	}
	store_attr(qp, attr, mask);
	take_path(qp, change);
	backend->qp_modify(qp, attr, mask, next);
	/*
	 * The data path may have moved it: ERROR is reached all the same, but
	 * entered, with its events, only once. What was posted since is flushed.
	 */
	if (next == IB_QPS_ERR) {
		if (xchg(&qp->state, IB_QPS_ERR) == IB_QPS_ERR) {
			backend->kick_send(qp);
			backend->kick_recv(qp);
			return true;
		}
	} else if (cmpxchg(&qp->state, from, next) != from) {
		return false;
	}
	backend->qp_entered(qp, next);
	return true;
}

static int modify_locked(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	int from = READ_ONCE(qp->state);
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : from;
	struct qp_change change = {};
	int ret;

	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != from)
		return -EINVAL;
	ret = check_attr(qp, attr, mask, from, next);
	if (ret)
		return ret;
	ret = prepare(qp, attr, mask, &change);
	if (ret)
		return ret;
	if (!commit(qp, attr, mask, &change, from, next))
		ret = -EINVAL;
	rhca_path_put(change.path);	/* the old one, or what was not taken */
	return ret;
}

/**
 * rhca_qp_modify - The modify_qp verb
 * @ibqp: the QP
 * @attr: new attributes
 * @mask: which of them
 * @udata: unused
 *
 * Return: 0; -EINVAL for a transition, attribute or limit that is not legal,
 * with nothing changed, or when the QP failed meanwhile and is in ERR;
 * -EOPNOTSUPP for path migration; -ENOMEM.
 */
int rhca_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	int ret;

	mutex_lock(&qp->modify_lock);
	ret = modify_locked(qp, attr, mask);
	mutex_unlock(&qp->modify_lock);
	return ret;
}

static int renew_path(struct rhca_qp *qp)
{
	struct rhca_path *old, *path;
	u8 tclass;

	lockdep_assert_held(&qp->modify_lock);
	old = rcu_dereference_protected(qp->path,
					lockdep_is_held(&qp->modify_lock));
	if (!old)
		return 0;
	tclass = tclass_of(qp, old);
	if (tclass == old->flow.tclass)
		return 0;
	path = rhca_path_copy(old);
	if (IS_ERR(path))
		return PTR_ERR(path);
	path->flow.tclass = tclass;
	rcu_assign_pointer(qp->path, path);
	rhca_path_put(old);
	return 0;
}

/**
 * rhca_qp_renew_path - The rules for the traffic class have changed
 * @qp: the QP; a connected one follows with its next packet
 *
 * Context: may sleep.
 */
void rhca_qp_renew_path(struct rhca_qp *qp)
{
	int ret;

	mutex_lock(&qp->modify_lock);
	ret = renew_path(qp);
	mutex_unlock(&qp->modify_lock);
	if (ret)
		ibdev_warn(&qp->dev->ibdev,
			   "QP %#x keeps its old traffic class: error %d\n",
			   qp->number, ret);
}

static void query_address(struct rhca_qp *qp, struct ib_qp_attr *attr)
{
	if (!rhca_qp_is_datagram(qp) && rcu_access_pointer(qp->path))
		attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
}

/**
 * rhca_qp_query - The query_qp verb
 * @ibqp: the QP
 * @attr: filled in, all of it
 * @mask: ignored: everything is cheap
 * @init: filled in
 */
int rhca_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);

	mutex_lock(&qp->modify_lock);
	*attr = qp->attr;
	query_address(qp, attr);
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->cap = qp->init.cap;
	mutex_unlock(&qp->modify_lock);

	*init = qp->init;
	return 0;
}
