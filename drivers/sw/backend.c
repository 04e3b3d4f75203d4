// SPDX-License-Identifier: GPL-2.0
/* The software HCA as a backend: skbs in, skbs out. */
#include <linux/slab.h>
#include <net/l3mdev.h>
#include <rhca/compat.h>

#include "sw/backend.h"
#include "sw/verbs/qp/ah.h"
#include "sw/verbs/qp/path.h"
#include "sw/verbs/counters.h"
#include "sw/identity.h"
#include "sw/verbs/memory/mr.h"
#include "sw/verbs/memory/mw.h"
#include "sw/verbs/memory/odp_lanes.h"
#include "sw/verbs/device.h"
#include "sw/verbs/port.h"
#include "sw/verbs/timing_wheel.h"
#include "sw/verbs/transport.h"
#include "sw/verbs/queue/cq.h"
#include "sw/verbs/queue/ring.h"
#include "sw/qp/flush.h"
#include "sw/packet/pool.h"
#include "sw/packet/transmit.h"
#include "sw/qp/hold.h"
#include "sw/qp/qp.h"
#include "sw/qp/turn_sched.h"
#include "sw/tx/congestion.h"
#include "sw/tx/probe.h"
#include "sw/tx/requester.h"
#include "sw/tx/send_sched.h"
#include "sw/rx/execute.h"
#include "sw/rx/respond_turn.h"
#include "sw/rx/responder.h"
#include "sw/tx/ack_timeout.h"
#include "sw/rx/socket.h"

static int port_open(struct rhca_port *port)
{
	struct net *net = rhca_port_get_net(port);
	struct rhca_verbs_port *vport;

	if (!net)
		return -ENODEV;
	vport = kzalloc(sizeof(*vport), GFP_KERNEL);
	if (vport) {
		spin_lock_init(&vport->paths_lock);
		INIT_LIST_HEAD(&vport->paths);
		vport->transport = rhca_udp_open(net);
	}
	put_net(net);
	port->private = vport;
	return vport ? 0 : -ENOMEM;
}

static void port_quiesce(struct rhca_port *port)
{
	struct rhca_verbs_port *vport = to_verbs_port(port);

	vport->quiesced = true;
	rhca_paths_forget_routes(vport);
	rhca_udp_quiesce(vport->transport);
}

static void port_close(struct rhca_port *port)
{
	struct rhca_verbs_port *vport = to_verbs_port(port);

	if (!vport->quiesced)
		port_quiesce(port);
	rhca_udp_close(vport->transport);
	kfree(vport);
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

/* RoCE v2 cannot be received while another socket holds its UDP port */
static bool port_speaks(struct rhca_port *port, enum ib_gid_type type)
{
	return type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	       rhca_udp_is_open(to_verbs_port(port)->transport, vrf_of(port));
}

static int qp_create(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	u32 max_sge = base->srq ? base->srq->rq.max_sge : base->rq.max_sge;

	qp->recv.wqe = kzalloc(struct_size(qp->recv.wqe, sge, max_sge),
			       GFP_KERNEL_ACCOUNT);
	qp->congestion = kzalloc(sizeof(*qp->congestion), GFP_KERNEL_ACCOUNT);
	if (!qp->recv.wqe || !qp->congestion || rhca_probe_init(qp)) {
		kfree(qp->recv.wqe);
		kfree(qp->congestion);
		return -ENOMEM;
	}
	spin_lock_init(&qp->congestion->lock);
	spin_lock_init(&qp->send.lock);
	spin_lock_init(&qp->recv.lock);
	rhca_flush_qp_init(qp);
	rhca_retry_init(qp);
	rhca_turn_init(&qp->send.turn, qp, &rhca_send_turn_ops);
	rhca_respond_init(qp);
	return 0;
}

/* Older kernels' ib_core shows a QP by netlink until it is destroyed: see qp_rate() */
static void free_congestion(struct rhca_sw_qp *qp)
{
	mutex_lock(&qp->base.core.modify_lock);
	kfree(qp->congestion);
	qp->congestion = NULL;
	mutex_unlock(&qp->base.core.modify_lock);
}

/* Without references only timers start turns, and only turns start the hrtimer: stop each once */
static void qp_destroy(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);

	rhca_turn_exit(&qp->send.turn, &qp->send.lock);
	rhca_respond_exit(qp);
	timer_delete_sync(&qp->send.ack_timer);
	rhca_wheel_stop(&qp->send.probe_timer);
	rhca_flush_qp_stop(qp);
	rhca_probe_free(qp);
	spin_lock_bh(&qp->recv.lock);
	rhca_hold_free(&qp->recv.hold);
	spin_unlock_bh(&qp->recv.lock);
	rhca_tx_memory_close(base);
	free_congestion(qp);
	kfree(qp->recv.resources);
	kfree(qp->recv.wqe);
}

/*
 * A pass holds its half's lock from its first packet until its last answer is built, which may be
 * sent with others at the end of the softirq's batch.
 */
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
	int ret;

	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTR) {
		ret = rhca_tx_memory_open(base);
		if (ret)
			return ret;
	}
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
		    int mask, enum ib_qp_state next)
{
	struct rhca_requester *send = &qp->send;

	spin_lock_bh(&send->lock);
	if (mask & IB_QP_SQ_PSN) {
		send->next_psn = attr->sq_psn & RHCA_PSN_MASK;
		send->oldest_unacked_psn = send->next_psn;
		send->newest_psn = send->next_psn;
		send->ask_psn = send->next_psn - 1;
		rhca_cwnd_reset(&send->cwnd);
		if (send->recovery)
			send->recovery->again_end = send->next_psn;
	}
	if (mask & IB_QP_RETRY_CNT)
		send->retries_left = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		send->rnr_retries_left = attr->rnr_retry;
	if (mask & IB_QP_TIMEOUT)
		rhca_ack_timeout_changed(qp);
	/* Keep it in SQD, which only RTS can enter */
	if (next != IB_QPS_SQD)
		send->drain_reported = false;
	spin_unlock_bh(&send->lock);
}

static void reset(struct rhca_sw_qp *qp)
{
	spin_lock_bh(&qp->send.lock);
	rhca_requester_reset(qp);
	spin_unlock_bh(&qp->send.lock);
	spin_lock_bh(&qp->recv.lock);
	rhca_responder_reset(qp);
	/* End a pause. Of the requester, entering RTS does it */
	rhca_turn_start(&qp->recv.turn, RHCA_KICK_STATE, RHCA_KICK_QUEUE);
	spin_unlock_bh(&qp->recv.lock);
	rhca_congestion_reset(qp);
	rhca_flush_qp_reset(qp);
}

/* For datagram QPs it may change at any time; packets are built with the lock held */
static void set_mtu(struct rhca_sw_qp *qp, enum ib_mtu mtu)
{
	spin_lock_bh(&qp->send.lock);
	qp->base.mtu_bytes = ib_mtu_enum_to_int(mtu);
	spin_unlock_bh(&qp->send.lock);
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
		set_mtu(qp, attr->path_mtu);
	else if (rhca_is_datagram(base) && base->port)
		set_mtu(qp, rhca_port_mtu(base->port));
	set_rtr(qp, attr, mask);
	set_rts(qp, attr, mask, next);
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
		rhca_send_kick(qp, RHCA_KICK_STATE, &batch);
		break;
	default:
		break;
	}
	rhca_batch_end(qp, &batch);
}

/*
 * 11.2.5.3: the PSNs of the next packets; and whether the send queue drains, for users who have not
 * requested the event
 */
static int qp_query(struct rhca_qp *core, struct ib_qp_attr *attr, int mask)
{
	struct rhca_sw_qp *qp = to_sw_qp(to_verbs_qp(core));

	spin_lock_bh(&qp->send.lock);
	attr->sq_psn = qp->send.newest_psn;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    !qp->send.drain_reported;
	spin_unlock_bh(&qp->send.lock);
	spin_lock_bh(&qp->recv.lock);
	attr->rq_psn = qp->recv.expected_psn;
	spin_unlock_bh(&qp->recv.lock);
	return 0;
}

static u32 qp_rate(struct rhca_qp *qp)
{
	return rhca_congestion_rate(to_sw_qp(to_verbs_qp(qp)));
}

static bool drop_posted(struct rhca_verbs_qp *base)
{
	struct rhca_sw_qp *qp = to_sw_qp(base);
	bool refused;

	spin_lock_bh(&qp->send.lock);
	refused = !rhca_qp_half_can(base, RHCA_QP_POST_SEND);
	if (refused)
		rhca_requester_empty(qp);
	spin_unlock_bh(&qp->send.lock);
	return refused;
}

static const struct rhca_transport_ops transport = {
	.qp_create	= qp_create,
	.qp_destroy	= qp_destroy,
	.qp_settle	= qp_settle,
	.qp_prepare	= qp_prepare,
	.qp_modify	= qp_modify,
	.qp_entered	= qp_entered,
	.drop_posted	= drop_posted,
	.kick_send	= rhca_send_posted,
	.kick_recv	= rhca_respond_posted,
};

static const struct ib_device_ops sizes = {
	INIT_RDMA_OBJ_SIZE(ib_ah, rhca_verbs_ah, core.ibah),
	INIT_RDMA_OBJ_SIZE(ib_qp, rhca_sw_qp, base.core.ibqp),
};

static const struct ib_device_ops *const verbs[] = {
	&rhca_identity_verbs, &rhca_ucontext_verbs, &rhca_cq_verbs,
	&rhca_cq_resize_verbs, &rhca_srq_verbs, &rhca_mr_verbs,
	&rhca_mw_verbs, &rhca_verbs_qp_verbs, &rhca_cc_verbs,
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
	.port_quiesce		= port_quiesce,
	.port_close		= port_close,
	.port_speaks		= port_speaks,
	.qp_create		= rhca_verbs_qp_create,
	.qp_destroy		= rhca_verbs_qp_destroy,
	.qp_modify		= rhca_verbs_qp_modify,
	.qp_readdress		= rhca_verbs_qp_readdress,
	.qp_state		= rhca_verbs_qp_state,
	.qp_query		= qp_query,
	.qp_rate		= qp_rate,
	.qp_count		= rhca_verbs_qp_count,
	.ah_create		= rhca_verbs_ah_create,
	.ah_destroy		= rhca_verbs_ah_destroy,
	.mcast_attach		= rhca_verbs_mcast_attach,
	.has_counter		= rhca_verbs_has_counter,
	.counters_open		= rhca_verbs_counters_open,
	.counters_close		= rhca_verbs_counters_close,
	.counters_read		= rhca_verbs_counters_read,
	.counters_bind		= rhca_verbs_qp_bind,
	.counters_enable	= rhca_verbs_counters_enable,
};
EXPORT_SYMBOL_IF_KUNIT(rhca_sw_backend);

/**
 * rhca_sw_init - Start receiving packets
 *
 * Return: 0 or an error, with nothing left open.
 */
int rhca_sw_init(void)
{
	int ret;

	rhca_pool_init();
	rhca_turn_lists_init();
	rhca_wheels_init();
	ret = rhca_flush_init();
	if (ret)
		return ret;
	ret = rhca_odp_lanes_init();
	if (ret)
		goto err_flush_exit;
	ret = rhca_socket_init();
	if (ret)
		goto err_odp_exit;
	rhca_dwell_init();
	return 0;

err_odp_exit:
	rhca_odp_lanes_exit();
err_flush_exit:
	rhca_flush_exit();
	return ret;
}

void rhca_sw_exit(void)
{
	rhca_dwell_exit();
	rhca_socket_exit();
	rhca_holds_exit();
	rhca_turn_lists_exit();
	rhca_wheels_exit();
	rhca_pool_exit();
	rhca_qp_table_exit();
	rhca_odp_lanes_exit();
	rhca_flush_exit();
}
