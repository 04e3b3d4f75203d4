// SPDX-License-Identifier: GPL-2.0
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "core/device.h"
#include "core/qp.h"
#include "recording_backend.h"

#define MAX_RECORDED	512

/* The MAD layer uses the device as well: several contexts write */
static DEFINE_SPINLOCK(recording_lock);		/* protects: */
static struct recorded recording[MAX_RECORDED];
static u32 num_recorded;
static u32 failing_port;
static int port_error;
static int qp_create_error;

static void record(const struct recorded *r)
{
	unsigned long flags;

	spin_lock_irqsave(&recording_lock, flags);
	if (num_recorded < MAX_RECORDED)
		recording[num_recorded++] = *r;
	spin_unlock_irqrestore(&recording_lock, flags);
}

static void record_port(enum recorded_call call, const struct rhca_port *port)
{
	record(&(struct recorded) { .call = call, .port_num = port->num });
}

static void record_qp(enum recorded_call call, const struct rhca_qp *qp,
		      enum ib_qp_state state, int mask)
{
	record(&(struct recorded) {
		.call = call, .qp = qp, .state = state, .mask = mask,
		.visible = READ_ONCE(qp->state),
	});
}

static int port_open(struct rhca_port *port)
{
	record_port(RECORDED_PORT_OPEN, port);
	return port->num == failing_port ? port_error : 0;
}

static void port_close(struct rhca_port *port)
{
	record_port(RECORDED_PORT_CLOSE, port);
}

static int qp_create(struct rhca_qp *qp)
{
	if (qp->ibqp.qp_type != IB_QPT_GSI && qp_create_error)
		return qp_create_error;
	record_qp(RECORDED_QP_CREATE, qp, IB_QPS_RESET, 0);
	return 0;
}

static void qp_destroy(struct rhca_qp *qp)
{
	record_qp(RECORDED_QP_DESTROY, qp, IB_QPS_RESET, 0);
}

static void qp_modify(struct rhca_qp *qp, const struct ib_qp_attr *attr,
		      int mask, enum ib_qp_state next)
{
	lockdep_assert_held(&qp->modify_lock);
	record_qp(RECORDED_QP_MODIFY, qp, next, mask);
}

static void qp_entered(struct rhca_qp *qp, enum ib_qp_state state)
{
	lockdep_assert_held(&qp->modify_lock);
	record_qp(RECORDED_QP_ENTERED, qp, state, 0);
}

static void kick_send(struct rhca_qp *qp)
{
	record_qp(RECORDED_KICK_SEND, qp, IB_QPS_RESET, 0);
}

static void kick_recv(struct rhca_qp *qp)
{
	record_qp(RECORDED_KICK_RECV, qp, IB_QPS_RESET, 0);
}

/* No verbs: QPs are the core's own, of the core's own size */
const struct rhca_backend_ops recording_backend = {
	.name		= "recording",
	.port_open	= port_open,
	.port_close	= port_close,
	.qp_create	= qp_create,
	.qp_destroy	= qp_destroy,
	.qp_modify	= qp_modify,
	.qp_entered	= qp_entered,
	.kick_send	= kick_send,
	.kick_recv	= kick_recv,
};

void recording_clear(void)
{
	num_recorded = 0;
	failing_port = 0;
	qp_create_error = 0;
}

void recording_fail_port(u32 port_num, int error)
{
	failing_port = port_num;
	port_error = error;
}

void recording_fail_qp_create(int error)
{
	qp_create_error = error;
}

static bool is_port_call(const struct recorded *r)
{
	return r->call == RECORDED_PORT_OPEN || r->call == RECORDED_PORT_CLOSE;
}

/* Those about @qp, or those about ports for NULL */
static u32 select_calls(const struct rhca_qp *qp, struct recorded *to, u32 room)
{
	unsigned long flags;
	u32 i, num = 0;

	spin_lock_irqsave(&recording_lock, flags);
	for (i = 0; i < num_recorded && num < room; i++)
		if (qp ? recording[i].qp == qp : is_port_call(&recording[i]))
			to[num++] = recording[i];
	spin_unlock_irqrestore(&recording_lock, flags);
	return num;
}

u32 recording_of_qp(const struct ib_qp *qp, struct recorded *to, u32 room)
{
	return select_calls(container_of(qp, struct rhca_qp, ibqp), to, room);
}

u32 recording_of_ports(struct recorded *to, u32 room)
{
	return select_calls(NULL, to, room);
}
