// SPDX-License-Identifier: GPL-2.0
/*
 * The software HCA as a backend: skbs in, skbs out.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/l3mdev.h>
#include <rhca/compat.h>

#include "sw/backend.h"
#include "sw/verbs/ah.h"
#include "sw/verbs/counters.h"
#include "sw/verbs/mcast.h"
#include "sw/verbs/mw.h"
#include "sw/verbs/odp.h"
#include "sw/verbs/pd.h"
#include "sw/verbs/port.h"
#include "sw/verbs/transport.h"
#include "sw/verbs/ucontext.h"
#include "sw/transport/doorbell.h"
#include "sw/transport/pool.h"
#include "sw/transport/qp.h"
#include "sw/transport/requester.h"
#include "sw/transport/responder.h"
#include "sw/transport/retry.h"
#include "sw/transport/socket.h"

static struct workqueue_struct *flush_wq;

/*
 * A process posts receives without telling: look for them after an error, and
 * less often the longer nothing comes.
 */
#define FLUSH_FIRST		msecs_to_jiffies(10)
#define FLUSH_INTERVAL		msecs_to_jiffies(100)
#define FLUSH_LONGEST		msecs_to_jiffies(1600)

static void flush_half(struct rhca_sw_qp *qp, spinlock_t *lock,
		       void (*flush)(struct rhca_sw_qp *qp,
				     struct rhca_batch *batch),
		       struct rhca_batch *batch)
{
	spin_lock_bh(lock);
	flush(qp, batch);
	spin_unlock_bh(lock);
}

static void raise_events(struct rhca_sw_qp *qp, u32 events)
{
	unsigned long left = events;
	int type;

	for_each_set_bit(type, &left, BITS_PER_TYPE(events))
		rhca_qp_event(&qp->base.core, type);
}

/*
 * What was posted before the QP failed is flushed at once, in portions. A process
 * can fill its rings as fast as they are emptied: what comes later has to wait, so
 * that it cannot keep the kernel busy at nobody's cost.
 */
static void flush_later(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (!qp->base.core.is_user) {
		if (batch->flush_more) {
			tasklet_schedule(&qp->send.task);
			tasklet_schedule(&qp->recv.task);
		}
		return;
	}
	if (batch->flush_more &&
	    atomic_sub_return(batch->flushed, &qp->flush_credit) > 0)
		mod_delayed_work(flush_wq, &qp->flush_work, 0);
	else
		queue_delayed_work(flush_wq, &qp->flush_work, FLUSH_FIRST);
}

/* Flush the other half, which may have completions to raise as well */
static void flush_rest(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	if (batch->flush_send)
		flush_half(qp, &qp->send.lock, rhca_requester_flush, batch);
	if (batch->flush_recv)
		flush_half(qp, &qp->recv.lock, rhca_responder_flush, batch);
	if (batch->flush_more || batch->flush_send || batch->flush_recv)
		flush_later(qp, batch);
}

static void raise_all(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (batch->raise_send || batch->raise_recv) {
		local_bh_disable();
		if (batch->raise_send)
			rhca_cq_raise(rhca_send_cq(&qp->base));
		if (batch->raise_recv)
			rhca_cq_raise(rhca_recv_cq(&qp->base));
		local_bh_enable();
	}
	if (batch->srq_limit)
		rhca_srq_limit_event(qp->base.srq);
	if (batch->events)
		raise_events(qp, batch->events);
}

/**
 * rhca_batch_end - Do what a batch left: flush the other half, raise events
 * @qp: the QP
 * @batch: what was collected; what the flush adds is added
 *
 * Context: any but hardirq; none of the QP's locks held.
 */
void rhca_batch_end(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	flush_rest(qp, batch);
	raise_all(qp, batch);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_batch_end);

static void process_half(struct rhca_sw_qp *qp, spinlock_t *lock,
			 void (*step)(struct rhca_sw_qp *qp,
				      struct rhca_batch *batch),
			 struct rhca_batch *batch)
{
	rcu_read_lock();
	flush_half(qp, lock, step, batch);
	rcu_read_unlock();
}

static void process_send(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	process_half(qp, &qp->send.lock, rhca_requester_send, batch);
}

static void process_recv(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	process_half(qp, &qp->recv.lock, rhca_responder_continue, batch);
}

static void send_task(struct tasklet_struct *task)
{
	struct rhca_sw_qp *qp = container_of(task, struct rhca_sw_qp,
					     send.task);
	struct rhca_batch batch = {
		.raise_send = test_and_clear_bit(RHCA_RAISE_SEND,
						 &qp->deferred),
		.raise_recv = test_and_clear_bit(RHCA_RAISE_RECV,
						 &qp->deferred),
		.srq_limit = test_and_clear_bit(RHCA_RAISE_SRQ_LIMIT,
						&qp->deferred),
		.events = atomic_xchg(&qp->deferred_events, 0),
	};

	process_send(qp, &batch);
	rhca_batch_end(qp, &batch);
}

static void recv_task(struct tasklet_struct *task)
{
	struct rhca_sw_qp *qp = container_of(task, struct rhca_sw_qp,
					     recv.task);
	struct rhca_batch batch = {};

	process_recv(qp, &batch);
	rhca_batch_end(qp, &batch);
}

static void defer_events(struct rhca_sw_qp *qp, const struct rhca_batch *batch)
{
	if (batch->raise_send)
		set_bit(RHCA_RAISE_SEND, &qp->deferred);
	if (batch->raise_recv)
		set_bit(RHCA_RAISE_RECV, &qp->deferred);
	if (batch->srq_limit)
		set_bit(RHCA_RAISE_SRQ_LIMIT, &qp->deferred);
	atomic_or(batch->events, &qp->deferred_events);
	tasklet_schedule(&qp->send.task);
}

/*
 * A kernel user may hold locks while it posts that its completion or event handler
 * takes as well, and a handler that posts would come back here: leave it to softirq.
 */
static void end_in_verb(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	flush_rest(qp, batch);
	if (qp->base.core.is_user)
		raise_all(qp, batch);
	else if (batch->raise_send || batch->raise_recv || batch->srq_limit ||
		 batch->events)
		defer_events(qp, batch);
}

/* Is there something to look for that nobody will tell of? */
static bool posts_are_silent(const struct rhca_sw_qp *qp)
{
	return !qp->base.srq && rhca_qp_can(&qp->base, RHCA_QP_FLUSH_RECV) &&
	       !rhca_cq_is_overrun(rhca_recv_cq(&qp->base));
}

/* As long as the QP is in ERR */
static void flush_again(struct work_struct *work)
{
	struct rhca_sw_qp *qp = container_of(to_delayed_work(work),
					     struct rhca_sw_qp, flush_work);
	struct rhca_batch batch = {};

	if (rhca_qp_can(&qp->base, RHCA_QP_FLUSH_SEND))
		process_send(qp, &batch);
	if (rhca_qp_can(&qp->base, RHCA_QP_FLUSH_RECV))
		process_recv(qp, &batch);
	if (batch.flushed)
		qp->flush_delay = FLUSH_INTERVAL;
	else
		qp->flush_delay = min(2 * qp->flush_delay, FLUSH_LONGEST);
	raise_all(qp, &batch);
	if (batch.flush_more &&
	    atomic_sub_return(batch.flushed, &qp->flush_credit) > 0)
		queue_delayed_work(flush_wq, &qp->flush_work, 0);
	else if (batch.flush_more || posts_are_silent(qp))
		queue_delayed_work(flush_wq, &qp->flush_work, qp->flush_delay);
}

static int port_open(struct rhca_port *port)
{
	struct net *net = rhca_port_get_net(port);
	void *socket;
	int ret;

	if (!net)
		return -ENODEV;
	socket = rhca_udp_open(net);
	put_net(net);
	ret = rhca_verbs_port_open(port, socket);
	if (ret)
		rhca_udp_close(socket);
	return ret;
}

static void port_close(struct rhca_port *port)
{
	rhca_udp_close(rhca_verbs_port_close(port));
}

static int vrf_of(struct rhca_port *port)
{
	const struct net_device *ndev;
	int vrf;

	rcu_read_lock();
	ndev = rcu_dereference(port->ndev);
	vrf = ndev ? l3mdev_master_ifindex_rcu(ndev) : 0;
	rcu_read_unlock();
	return vrf;
}

/* RoCE v2 does not come in while somebody else holds its UDP port */
static bool port_speaks(struct rhca_port *port, enum ib_gid_type type)
{
	return type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	       rhca_udp_is_open(to_verbs_port(port)->transport, vrf_of(port));
}

static void reset_flush(struct rhca_sw_qp *qp)
{
	u32 most = qp->base.sq.ring.mask;

	if (!qp->base.srq)
		most += qp->base.rq.ring.mask;
	atomic_set(&qp->flush_credit, most);
	qp->flush_delay = FLUSH_INTERVAL;
}

static int qp_create(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	u32 max_sge = base->srq ? base->srq->rq.max_sge : base->rq.max_sge;

	qp->recv.wqe = kzalloc(struct_size(qp->recv.wqe, sge, max_sge),
			       GFP_KERNEL_ACCOUNT);
	if (!qp->recv.wqe)
		return -ENOMEM;
	spin_lock_init(&qp->send.lock);
	spin_lock_init(&qp->recv.lock);
	tasklet_setup(&qp->send.task, send_task);
	tasklet_setup(&qp->recv.task, recv_task);
	INIT_DELAYED_WORK(&qp->flush_work, flush_again);
	rhca_retry_init(qp);
	rhca_doorbell_init(qp);
	reset_flush(qp);
	return 0;
}

/*
 * Timers start tasklets and work, and those start timers: stop all of them
 * twice. What starts once the state is RESET does nothing.
 */
static void qp_destroy(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	int round;

	for (round = 0; round < 2; round++) {
		rhca_retry_exit(qp);
		rhca_doorbell_exit(qp);
		tasklet_kill(&qp->send.task);
		tasklet_kill(&qp->recv.task);
		cancel_delayed_work_sync(&qp->flush_work);
	}
	kfree(qp->recv.resources);
	kfree(qp->recv.wqe);
}

/* A pass holds the lock of its half from its first packet to its last answer */
static void qp_settle(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);

	spin_lock_bh(&qp->send.lock);
	spin_unlock_bh(&qp->send.lock);
	spin_lock_bh(&qp->recv.lock);
	spin_unlock_bh(&qp->recv.lock);
}

static int qp_prepare(struct rhca_verbs_qp *base, const struct ib_qp_attr *attr,
		      int mask)
{
	if (!(mask & IB_QP_MAX_DEST_RD_ATOMIC))
		return 0;
	return rhca_responder_reserve(to_sw_qp(base), attr->max_dest_rd_atomic);
}

static void set_rtr(struct rhca_sw_qp *qp, const struct ib_qp_attr *attr,
		    int mask)
{
	spin_lock_bh(&qp->recv.lock);
	if (mask & IB_QP_RQ_PSN)
		qp->recv.expected_psn = attr->rq_psn & RHCA_PSN_MASK;
	spin_unlock_bh(&qp->recv.lock);
}

static void set_rts(struct rhca_sw_qp *qp, const struct ib_qp_attr *attr,
		    int mask)
{
	struct rhca_requester *send = &qp->send;

	spin_lock_bh(&send->lock);
	if (mask & IB_QP_SQ_PSN) {
		send->next_psn = attr->sq_psn & RHCA_PSN_MASK;
		send->oldest_unacked_psn = send->next_psn;
		send->newest_psn = send->next_psn;
	}
	if (mask & IB_QP_RETRY_CNT)
		send->retries_left = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		send->rnr_retries_left = attr->rnr_retry;
	send->drain_told = false;
	spin_unlock_bh(&send->lock);
}

static void reset(struct rhca_sw_qp *qp)
{
	spin_lock_bh(&qp->send.lock);
	rhca_requester_reset(qp);
	spin_unlock_bh(&qp->send.lock);
	spin_lock_bh(&qp->recv.lock);
	rhca_responder_reset(qp);
	spin_unlock_bh(&qp->recv.lock);
	reset_flush(qp);
}

static void qp_modify(struct rhca_verbs_qp *base, const struct ib_qp_attr *attr,
		      int mask, enum ib_qp_state next)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);

	if (next == IB_QPS_RESET) {
		reset(qp);
		return;
	}
	if (mask & IB_QP_PATH_MTU)
		qp->mtu_bytes = ib_mtu_enum_to_int(attr->path_mtu);
	else if (rhca_is_datagram(base) && base->port)
		qp->mtu_bytes = ib_mtu_enum_to_int(rhca_port_mtu(base->port));
	set_rtr(qp, attr, mask);
	set_rts(qp, attr, mask);
}

static void qp_entered(struct rhca_verbs_qp *base, enum ib_qp_state state)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	struct rhca_batch batch = {};

	switch (state) {
	case IB_QPS_ERR:
		batch.flush_send = true;
		batch.flush_recv = true;
		if (base->srq)
			rhca_batch_event(&batch, IB_EVENT_QP_LAST_WQE_REACHED);
		break;
	case IB_QPS_RTS:
	case IB_QPS_SQD:
		process_send(qp, &batch);
		break;
	default:
		break;
	}
	rhca_batch_end(qp, &batch);
}

/* With interrupts off a packet cannot be sent: leave it to a softirq */
static void kick_send(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	struct rhca_batch batch = {};

	if (irqs_disabled() || in_hardirq()) {
		tasklet_schedule(&qp->send.task);
		return;
	}
	if (rhca_doorbell_waits(qp))
		return;
	process_send(qp, &batch);
	end_in_verb(qp, &batch);
	rhca_doorbell_done(qp);
}

static void kick_recv(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	struct rhca_batch batch = {};

	if (irqs_disabled() || in_hardirq()) {
		tasklet_schedule(&qp->recv.task);
		return;
	}
	process_recv(qp, &batch);
	end_in_verb(qp, &batch);
}

static const struct rhca_transport_ops transport = {
	.qp_create	= qp_create,
	.qp_destroy	= qp_destroy,
	.qp_settle	= qp_settle,
	.qp_prepare	= qp_prepare,
	.qp_modify	= qp_modify,
	.qp_entered	= qp_entered,
	.kick_send	= kick_send,
	.kick_recv	= kick_recv,
};

static const struct ib_device_ops sizes = {
	INIT_RDMA_OBJ_SIZE(ib_ah, rhca_verbs_ah, core.ibah),
	INIT_RDMA_OBJ_SIZE(ib_qp, rhca_sw_qp, base.core.ibqp),
};

static const struct ib_device_ops *const verbs[] = {
	&rhca_verbs_device_verbs, &rhca_ucontext_verbs, &rhca_pd_verbs,
	&rhca_cq_verbs, &rhca_srq_verbs, &rhca_mr_verbs, &rhca_mw_verbs,
	&rhca_verbs_qp_verbs,
};

static int dev_init(struct rhca_dev *dev)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		ib_set_device_ops(&dev->ibdev, verbs[i]);
	return rhca_verbs_dev_init(dev, &transport);
}

const struct rhca_backend_ops rhca_sw_backend = {
	.name			= "software",
	.verbs			= &sizes,
	.dev_init		= dev_init,
	.dev_exit		= rhca_verbs_dev_exit,
	.port_open		= port_open,
	.port_close		= port_close,
	.port_speaks		= port_speaks,
	.qp_create		= rhca_verbs_qp_create,
	.qp_destroy		= rhca_verbs_qp_destroy,
	.qp_modify		= rhca_verbs_qp_modify,
	.qp_readdress		= rhca_verbs_qp_readdress,
	.qp_state		= rhca_verbs_qp_state,
	.qp_count		= rhca_verbs_qp_count,
	.ah_create		= rhca_verbs_ah_create,
	.ah_destroy		= rhca_verbs_ah_destroy,
	.mcast_attach		= rhca_verbs_mcast_attach,
	.counters_open		= rhca_verbs_counters_open,
	.counters_close		= rhca_verbs_counters_close,
	.counters_read		= rhca_verbs_counters_read,
	.counters_bind		= rhca_verbs_counters_bind,
	.counters_enable	= rhca_verbs_counters_enable,
};
EXPORT_SYMBOL_IF_KUNIT(rhca_sw_backend);

/**
 * rhca_sw_init - Begin to receive packets
 *
 * Return: 0 or an error, with nothing left open.
 */
int rhca_sw_init(void)
{
	int ret;

	/* One at a time: it does not take more than one CPU from others */
	flush_wq = alloc_workqueue("roce_hca_flush", WQ_UNBOUND, 1);
	if (!flush_wq)
		return -ENOMEM;
	ret = rhca_odp_init();
	if (ret)
		goto err_destroy_flush;
	ret = rhca_socket_init();
	if (ret)
		goto err_odp_exit;
	return 0;

err_odp_exit:
	rhca_odp_exit();
err_destroy_flush:
	destroy_workqueue(flush_wq);
	return ret;
}

void rhca_sw_exit(void)
{
	rhca_socket_exit();
	rhca_doorbells_exit();
	rhca_pool_exit();
	rhca_qp_table_exit();
	rhca_odp_exit();
	destroy_workqueue(flush_wq);
}
