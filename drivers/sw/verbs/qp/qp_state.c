// SPDX-License-Identifier: GPL-2.0
/* What QP states allow, and transitions: prepare, commit. The core has validated the request. */
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/verbs/qp/qp.h"
#include "sw/verbs/transport.h"

/* IBTA vol. 1, 10.3.1, figure 124 and the text of each state */
const u8 rhca_qp_state_abilities[IB_QPS_ERR + 1] = {
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
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_state_abilities);

/**
 * rhca_qp_fail - Move a QP to an error state from the data path
 * @qp: the QP
 * @to: IB_QPS_ERR, or IB_QPS_SQE if only the send queue of a UC or UD QP fails
 *
 * Context: any; needs no lock, since modify_qp commits with its own compare and exchange.
 * Return: true if this call moved it; the caller must then see to the flush.
 */
bool rhca_qp_fail(struct rhca_verbs_qp *qp, enum ib_qp_state to)
{
	int state = READ_ONCE(qp->state);

	do {
		if (state == IB_QPS_ERR || state == IB_QPS_RESET ||
		    state == to)
			return false;
	} while (!try_cmpxchg(&qp->state, &state, to));
	trace_rhca_qp_state(rhca_qp_dev_name(qp), qp->number, state, to, "error");
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_qp_fail);

/*
 * Make RESET visible. A completion is visible before the acknowledgement of its message is sent.
 * Its user may reset or destroy the QP at once, but the peer must still learn that its message
 * arrived: so wait for the pass that completed it. No lock of the data path held.
 */
void rhca_qp_enter_reset(struct rhca_verbs_qp *qp)
{
	qp->dev->transport->qp_settle(qp);
	trace_rhca_qp_state(rhca_qp_dev_name(qp), qp->number,
			    READ_ONCE(qp->state), IB_QPS_RESET, "modify_qp");
	/* Earlier posts are in the queues to be emptied */
	smp_store_release(&qp->state, IB_QPS_RESET);
}

/* For a QP in RESET, which completes nothing any more */
void rhca_qp_purge_completions(struct rhca_verbs_qp *qp)
{
	rhca_cq_purge(rhca_recv_cq(qp), &qp->core.ibqp);
	if (qp->send_cq != rhca_recv_cq(qp))
		rhca_cq_purge(qp->send_cq, &qp->core.ibqp);
}

#define STORE(bit, field) \
	do { if (mask & (bit)) WRITE_ONCE(to->field, attr->field); } while (0)

static void store_attr(struct rhca_verbs_qp *qp, const struct rhca_qp_change *change)
{
	const struct ib_qp_attr *attr = change->attr;
	struct rhca_verbs_attr *to = &qp->attr;
	int mask = change->mask;

	/* Requested with a transition to SQD, for that one only */
	if (change->next != IB_QPS_SQD)
		WRITE_ONCE(to->en_sqd_async_notify, 0);
	STORE(IB_QP_ACCESS_FLAGS, qp_access_flags);
	STORE(IB_QP_PKEY_INDEX, pkey_index);
	STORE(IB_QP_QKEY, qkey);
	STORE(IB_QP_TIMEOUT, timeout);
	STORE(IB_QP_RETRY_CNT, retry_cnt);
	STORE(IB_QP_RNR_RETRY, rnr_retry);
	STORE(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	STORE(IB_QP_MIN_RNR_TIMER, min_rnr_timer);
	STORE(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	STORE(IB_QP_DEST_QPN, dest_qp_num);
	STORE(IB_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
}

static void store_port(struct rhca_verbs_qp *qp, struct rhca_port *port)
{
	WRITE_ONCE(qp->port, port);
	if (!qp->core.ibqp.counter)
		WRITE_ONCE(qp->counters, rhca_port_set(port)->values);
	WRITE_ONCE(qp->lag_member, atomic_fetch_inc(&port->next_member));
}

static struct rhca_path *swap_path(struct rhca_verbs_qp *qp,
				   struct rhca_path *path)
{
	return rcu_replace_pointer(qp->path, path,
				   lockdep_is_held(&qp->core.modify_lock));
}

static void replace_path(struct rhca_verbs_qp *qp, struct rhca_path *path)
{
	rhca_path_put(swap_path(qp, path));
}

/* State first, so that nothing new starts while queues are emptied */
static void commit_reset(struct rhca_verbs_qp *qp,
			 const struct rhca_qp_change *change)
{
	const struct rhca_transport_ops *transport = qp->dev->transport;

	rhca_qp_enter_reset(qp);
	transport->qp_modify(qp, change->attr, change->mask, IB_QPS_RESET);
	rhca_qp_purge_completions(qp);
	replace_path(qp, NULL);
	/* Packets that have yet to see the state may read old or zeroed values */
	data_race(memset(&qp->attr, 0, sizeof(qp->attr)));
	transport->qp_entered(qp, IB_QPS_RESET);
}

/* Values replaced by a change, until the new state is visible */
struct replaced {
	struct rhca_verbs_attr attr;	/* attributes */
	struct rhca_port *port;		/* port */
	/* old counters */
	struct rhca_counters __percpu *counters;
	u32 lag_member;			/* old LAG member */
	struct rhca_path *path;		/* old destination, with a reference */
	bool has_path;			/* @path has been replaced */
};

static void store(struct rhca_verbs_qp *qp, const struct rhca_qp_change *change,
		  struct rhca_path *path, struct replaced *old)
{
	*old = (struct replaced) {
		.attr = qp->attr, .port = qp->port, .counters = qp->counters,
		.lag_member = qp->lag_member, .has_path = path,
	};
	store_attr(qp, change);
	if (change->mask & IB_QP_PORT)
		store_port(qp, change->port);
	if (path)
		old->path = swap_path(qp, path);
	qp->dev->transport->qp_modify(qp, change->attr, change->mask,
				      change->next);
}

/*
 * The QP failed meanwhile. It can return from SQE to RTS with its attributes, so undo the change.
 * Only RTS and SQD lead to SQE, and changes in these states include no PSN.
 */
static void restore(struct rhca_verbs_qp *qp, struct replaced *old)
{
	/* Fields are read one by one, and most of them do not change here */
	data_race(qp->attr = old->attr);
	WRITE_ONCE(qp->port, old->port);
	WRITE_ONCE(qp->counters, old->counters);
	WRITE_ONCE(qp->lag_member, old->lag_member);
	if (old->has_path)
		old->path = swap_path(qp, old->path);
}

/*
 * States other than RESET become visible after their attributes. The data path may have moved the
 * QP meanwhile: ERROR is still reached, but entered, with its events, only once. What was posted
 * since is flushed.
 */
static int show_state(struct rhca_verbs_qp *qp,
		      const struct rhca_qp_change *change)
{
	const struct rhca_transport_ops *transport = qp->dev->transport;
	int from = change->from;

	if (change->next == IB_QPS_ERR) {
		if (xchg(&qp->state, IB_QPS_ERR) == IB_QPS_ERR) {
			transport->kick_send(qp);
			transport->kick_recv(qp);
			return 0;
		}
	} else if (!try_cmpxchg(&qp->state, &from, (int)change->next)) {
		return -EINVAL;
	}
	if (change->next != from)
		trace_rhca_qp_state(rhca_qp_dev_name(qp), qp->number, from,
				    change->next, "modify_qp");
	transport->qp_entered(qp, change->next);
	return 0;
}

static int commit(struct rhca_verbs_qp *qp, const struct rhca_qp_change *change,
		  struct rhca_path *path)
{
	struct replaced old;
	int ret;

	store(qp, change, path, &old);
	ret = show_state(qp, change);
	if (ret)
		restore(qp, &old);
	rhca_path_put(old.path);
	return ret;
}

static bool has_sends(const struct rhca_verbs_qp *qp)
{
	return qp->is_user ? rhca_ring_filled(&qp->sq.ring) :
			     READ_ONCE(qp->sq.head) != READ_ONCE(qp->sq.tail);
}

static bool has_receives(const struct rhca_verbs_qp *qp)
{
	return rhca_qp_can(qp, RHCA_QP_FLUSH_RECV) && !qp->srq &&
	       rhca_ring_filled(&qp->rq.ring);
}

/*
 * Flush what was posted to a QP in ERR or SQE. The transport does that in portions; a process may
 * post as fast, so limit the rounds. modify_lock held.
 */
void rhca_qp_flush_all(struct rhca_verbs_qp *qp)
{
	u32 rounds = qp->sq.max_wr + (qp->srq ? 0 : qp->rq.max_wr);

	lockdep_assert_held(&qp->core.modify_lock);
	while (rounds-- && (has_sends(qp) || has_receives(qp))) {
		qp->dev->transport->kick_send(qp);
		qp->dev->transport->kick_recv(qp);
		cond_resched();
	}
}

/* &struct rhca_backend_ops.qp_modify; -EINVAL if the QP or one of its CQs has failed */
int rhca_verbs_qp_modify(struct rhca_qp *core,
			 const struct rhca_qp_change *change,
			 struct ib_udata *udata)
{
	struct rhca_verbs_qp *qp = to_verbs_qp(core);
	struct rhca_path *path = NULL;
	int ret;

	lockdep_assert_held(&core->modify_lock);
	if (change->next == IB_QPS_RESET) {
		commit_reset(qp, change);
		return 0;
	}
	if (change->next != IB_QPS_ERR && rhca_qp_has_cq_error(qp))
		return -EINVAL;
	ret = qp->dev->transport->qp_prepare(qp, change->attr, change->mask);
	if (ret)
		return ret;
	if (change->address) {
		path = rhca_path_create(change->address, qp->pd,
					GFP_KERNEL_ACCOUNT);
		if (IS_ERR(path))
			return PTR_ERR(path);
	}
	/* Flush what was posted before the failure was known, 10.3.1.6 */
	if (change->from == IB_QPS_SQE && change->next == IB_QPS_RTS)
		rhca_qp_flush_all(qp);
	return commit(qp, change, path);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_verbs_qp_modify);

static void fail_qp_of_cq(struct rhca_qp *core)
{
	struct rhca_verbs_qp *qp = to_verbs_qp(core);
	bool moved;

	if (!rhca_qp_has_cq_error(qp))
		return;
	/* After a modify_qp that did not see the error yet */
	mutex_lock(&core->modify_lock);
	moved = rhca_qp_fail(qp, IB_QPS_ERR);
	if (moved)
		qp->dev->transport->qp_entered(qp, IB_QPS_ERR);
	mutex_unlock(&core->modify_lock);
	if (moved)
		rhca_qp_event(core, IB_EVENT_QP_FATAL);
}

/*
 * CQ errors, 11.6.3.2: a lost completion leaves the state of the QPs unknown. One scan finds the
 * QPs of all CQs overrun since the last one, including QPs with nothing to complete. modify_qp does
 * not let them out of RESET again.
 */
void rhca_cq_errors_work(struct work_struct *work)
{
	struct rhca_verbs_dev *dev = container_of(to_delayed_work(work),
						  struct rhca_verbs_dev,
						  cq_errors);

	rhca_qp_for_each(dev->core, fail_qp_of_cq);
}

/* &struct rhca_backend_ops.qp_readdress; applies from the next packet on */
int rhca_verbs_qp_readdress(struct rhca_qp *core,
			    const struct rhca_address *address)
{
	struct rhca_path *path;

	path = rhca_path_create(address, core->ibqp.pd, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(path))
		return PTR_ERR(path);
	replace_path(to_verbs_qp(core), path);
	return 0;
}

/*
 * &struct rhca_backend_ops.qp_state. An error completion is written before the state changes, so
 * that no flushed request precedes it in a CQ. A user that has polled it must then see the state it
 * implies, 10.3.1.
 */
enum ib_qp_state rhca_verbs_qp_state(const struct rhca_qp *core)
{
	struct rhca_verbs_qp *qp = to_verbs_qp(core);

	qp->dev->transport->qp_settle(qp);
	return READ_ONCE(qp->state);
}
