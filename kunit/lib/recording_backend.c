// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <rhca/compat.h>

#include "core/mcast.h"
#include "core/qp/ah.h"
#include "core/qp/qp.h"
#include "recording_backend.h"

#define MAX_RECORDED	1024
#define FIRST_QPN	0x100

/* The MAD layer also uses the device, so several contexts record */
static DEFINE_SPINLOCK(recording_lock);		/* protects: */
static struct recorded recording[MAX_RECORDED];
static u32 num_recorded;
static unsigned long gid_types = BIT(IB_GID_TYPE_ROCE) |
				 BIT(IB_GID_TYPE_ROCE_UDP_ENCAP);
static u32 failing_port;
static int port_error;
static bool netdevs_move;
static int errors[RECORDED_NUM_CALLS];
static atomic_t next_qpn = ATOMIC_INIT(FIRST_QPN);

struct recording_qp {
	struct rhca_qp base;
	enum ib_qp_state state;
};

struct recording_set {
	u64 value[RHCA_NUM_COUNTERS];
};

static struct recording_qp *to_recording_qp(const struct rhca_qp *qp)
{
	return container_of(qp, struct recording_qp, base);
}

/* Returns the result for the call */
static int record(const struct recorded *r)
{
	unsigned long flags;

	spin_lock_irqsave(&recording_lock, flags);
	if (num_recorded < MAX_RECORDED)
		recording[num_recorded++] = *r;
	spin_unlock_irqrestore(&recording_lock, flags);
	return errors[r->call];
}

static int record_call(enum recorded_call call)
{
	return record(&(struct recorded) { .call = call });
}

static int record_port(enum recorded_call call, const struct rhca_port *port)
{
	return record(&(struct recorded) {
		.call = call, .port_num = port->num,
		.has_netdev = rcu_access_pointer(port->ndev),
	});
}

static int record_qp(enum recorded_call call, const struct rhca_qp *qp)
{
	int ret = record(&(struct recorded) { .call = call, .qp = qp });

	/* QP1 belongs to ib_core, not to the test */
	return qp->ibqp.qp_type == IB_QPT_GSI ? 0 : ret;
}

/* --- the backend ------------------------------------------------------------ */

static int dev_init(struct rhca_dev *dev)
{
	int ret = record_call(RECORDED_DEV_INIT);

	dev->caps = (struct rhca_caps) {
		.max_qp_wr = 128, .max_send_sge = 4, .max_recv_sge = 4,
		.max_inline = 64, .max_rd_atomic = 128,
		.max_msg_bytes = 1U << 31,
		.num_gids = RHCA_NUM_GIDS, .num_pkeys = RHCA_NUM_PKEYS,
		.gid_types = READ_ONCE(gid_types),
	};
	dev->ibdev.num_comp_vectors = 1;
	return ret;
}

/* Operations that do nothing else than record, if that, and their results */
#define RECORDS(type, name, record, ...)	static type name(__VA_ARGS__) { record; }

RECORDS(void, dev_exit, record_call(RECORDED_DEV_EXIT), struct rhca_dev *dev)
RECORDS(void, dev_quiesce, record_call(RECORDED_DEV_QUIESCE), struct rhca_dev *dev)
RECORDS(void, port_quiesce, record_port(RECORDED_PORT_QUIESCE, port), struct rhca_port *port)
RECORDS(void, port_close, record_port(RECORDED_PORT_CLOSE, port), struct rhca_port *port)
RECORDS(int, gid_set, return record_port(RECORDED_GID_SET, port),
	struct rhca_port *port, const struct ib_gid_attr *attr, bool add)
RECORDS(int, pkeys_check, return record_port(RECORDED_PKEYS_CHECK, port),
	struct rhca_port *port, const struct rhca_pkey_table *table)
RECORDS(int, qp_destroy, return record_qp(RECORDED_QP_DESTROY, qp),
	struct rhca_qp *qp, struct ib_udata *udata)
RECORDS(void, qp_count, record_qp(RECORDED_QP_COUNT, qp),
	struct rhca_qp *qp, enum rhca_counter which)
RECORDS(void, ah_destroy, record_call(RECORDED_AH_DESTROY), struct rhca_ah *ah, u32 flags)
RECORDS(int, mcast_attach, return record_qp(RECORDED_MCAST_ATTACH, attachment->qp),
	struct rhca_mcast_attachment *attachment)
RECORDS(void, mcast_detach, record_qp(RECORDED_MCAST_DETACH, attachment->qp),
	struct rhca_mcast_attachment *attachment)
RECORDS(int, counters_bind,
	lockdep_assert_held(&qp->modify_lock); return record_qp(RECORDED_COUNTERS_BIND, qp),
	struct rhca_qp *qp, struct rhca_counter_set *set)
RECORDS(int, counters_enable, return record_port(RECORDED_COUNTERS_ENABLE, port),
	struct rhca_port *port, enum rhca_counter which, bool enable)

static int port_open(struct rhca_port *port)
{
	record_port(RECORDED_PORT_OPEN, port);
	if (netdevs_move)
		port->net = (const void *)port;
	return port->num == failing_port ? port_error : 0;
}

static int qp_create(struct rhca_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	int ret = record_qp(RECORDED_QP_CREATE, qp);

	qp->ibqp.qp_num = init->qp_type == IB_QPT_GSI ? 1 :
			  atomic_inc_return(&next_qpn);
	to_recording_qp(qp)->state = IB_QPS_RESET;
	return ret;
}

static int qp_modify(struct rhca_qp *qp, const struct rhca_qp_change *change,
		     struct ib_udata *udata)
{
	struct recorded r = {
		.call = RECORDED_QP_MODIFY, .qp = qp, .from = change->from,
		.state = change->next, .mask = change->mask,
		.port_num = change->port ? change->port->num : 0,
	};
	int ret;

	lockdep_assert_held(&qp->modify_lock);
	if (change->address)
		r.address = *change->address;
	ret = record(&r);
	if (!ret)
		to_recording_qp(qp)->state = change->next;
	return ret;
}

static int qp_readdress(struct rhca_qp *qp, const struct rhca_address *address)
{
	lockdep_assert_held(&qp->modify_lock);
	return record(&(struct recorded) {
		.call = RECORDED_QP_READDRESS, .qp = qp, .address = *address,
	});
}

RECORDS(enum ib_qp_state, qp_state, return READ_ONCE(to_recording_qp(qp)->state),
	const struct rhca_qp *qp)

static int ah_create(struct rhca_ah *ah, u32 flags, struct ib_udata *udata)
{
	return record(&(struct recorded) {
		.call = RECORDED_AH_CREATE, .address = ah->address,
	});
}

static int counters_open(struct rhca_counter_set *set)
{
	int ret = record_port(RECORDED_COUNTERS_OPEN, set->port);
	struct recording_set *to;

	if (ret)
		return ret;
	to = kzalloc(sizeof(*to), GFP_KERNEL);
	set->private = to;
	return to ? 0 : -ENOMEM;
}

static void counters_close(struct rhca_counter_set *set, const u64 *shown)
{
	record_port(RECORDED_COUNTERS_CLOSE, set->port);
	kfree(set->private);
}

static int counters_read(struct rhca_counter_set *set, u64 *values)
{
	const struct recording_set *from = set->private;

	memcpy(values, from->value, sizeof(from->value));
	return record_port(RECORDED_COUNTERS_READ, set->port);
}

/* --- verbs ------------------------------------------------------------------ */

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	*attr = (struct ib_device_attr) {
		.max_qp = 256, .max_qp_wr = 128, .max_send_sge = 4,
		.max_recv_sge = 4, .max_cq = 256, .max_cqe = 1024,
		.max_mcast_grp = 16, .max_mcast_qp_attach = 2,
		.max_total_mcast_qp_attach = 32, .max_pd = 256, .max_pkeys = RHCA_NUM_PKEYS,
		.sys_image_guid = ibdev->node_guid,
	};
	return 0;
}

RECORDS(int, alloc_pd, return 0, struct ib_pd *pd, struct ib_udata *udata)
RECORDS(int, dealloc_pd, return 0, struct ib_pd *pd, struct ib_udata *udata)
RECORDS(int, destroy_cq, return 0, struct ib_cq *cq, struct ib_udata *udata)
RECORDS(int, poll_cq, return 0, struct ib_cq *cq, int num, struct ib_wc *wc)
RECORDS(int, req_notify_cq, return 0, struct ib_cq *cq, enum ib_cq_notify_flags flags)

RECORDS(int, post_send, return 0, struct ib_qp *qp, const struct ib_send_wr *wr,
	const struct ib_send_wr **bad_wr)
RECORDS(int, post_recv, return 0, struct ib_qp *qp, const struct ib_recv_wr *wr,
	const struct ib_recv_wr **bad_wr)
RECORDS(int, dereg_mr, kfree(mr); return 0, struct ib_mr *mr, struct ib_udata *udata)

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	struct ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	return mr ?: ERR_PTR(-ENOMEM);
}

static int create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr, rhca_create_cq_arg *arg)
{
	cq->cqe = attr->cqe;
	return 0;
}

static const struct ib_device_ops recording_verbs = {
	.owner		= THIS_MODULE,

	.alloc_pd	= alloc_pd,
	.create_cq	= create_cq,
	.dealloc_pd	= dealloc_pd,
	.dereg_mr	= dereg_mr,
	.destroy_cq	= destroy_cq,
	.get_dma_mr	= get_dma_mr,
	.poll_cq	= poll_cq,
	.post_recv	= post_recv,
	.post_send	= post_send,
	.query_device	= query_device,
	.req_notify_cq	= req_notify_cq,

	/* Some consist only of ib_core's part */
	.size_ib_cq	= sizeof(struct ib_cq),
	.size_ib_pd	= sizeof(struct ib_pd),
	INIT_RDMA_OBJ_SIZE(ib_ah, rhca_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_qp, recording_qp, base.ibqp),
};

const struct rhca_backend_ops recording_backend = {
	.name			= "recording",
	.verbs			= &recording_verbs,
	.dev_init		= dev_init,
	.dev_exit		= dev_exit,
	.dev_quiesce		= dev_quiesce,
	.port_open		= port_open,
	.port_quiesce		= port_quiesce,
	.port_close		= port_close,
	.gid_set		= gid_set,
	.pkeys_check		= pkeys_check,
	.qp_create		= qp_create,
	.qp_destroy		= qp_destroy,
	.qp_modify		= qp_modify,
	.qp_readdress		= qp_readdress,
	.qp_state		= qp_state,
	.qp_count		= qp_count,
	.ah_create		= ah_create,
	.ah_destroy		= ah_destroy,
	.mcast_attach		= mcast_attach,
	.mcast_detach		= mcast_detach,
	.counters_open		= counters_open,
	.counters_close		= counters_close,
	.counters_read		= counters_read,
	.counters_bind		= counters_bind,
	.counters_enable	= counters_enable,
};

/* --- the recording ---------------------------------------------------------- */

/* Also clears requested errors */
void recording_clear(void)
{
	num_recorded = 0;
	failing_port = 0;
	netdevs_move = false;
	gid_types = BIT(IB_GID_TYPE_ROCE) | BIT(IB_GID_TYPE_ROCE_UDP_ENCAP);
	memset(errors, 0, sizeof(errors));
}

/* Let the call return @error from now on, 0 for success; except for QP1 */
void recording_fail(enum recorded_call call, int error)
{
	WRITE_ONCE(errors[call], error);
}

/* Limit devices created from now on to these GID types, until recording_clear() */
void recording_limit_gid_types(unsigned long types)
{
	WRITE_ONCE(gid_types, types);
}

void recording_fail_port(u32 port_num, int error)
{
	failing_port = port_num;
	port_error = error;
}

/*
 * Let the netdevs of devices created from now on move to another namespace before registration,
 * which leaves the device in the wrong one. The namespace pointer is only compared.
 */
void recording_move_netdevs(bool move)
{
	netdevs_move = move;
}

/* As an adapter that changes a QP's state by itself on an error */
void recording_set_state(struct ib_qp *qp, enum ib_qp_state state)
{
	WRITE_ONCE(to_recording_qp(to_rhca_qp(qp))->state, state);
}

void recording_count(struct rhca_counter_set *set, enum rhca_counter which, u64 n)
{
	struct recording_set *to = set->private;

	to->value[which] += n;
}

/*
 * Copy up to @room calls of the kinds in @calls (BIT() of each; 0: all) for that QP (NULL: any);
 * returns how many were found.
 */
u32 recording_of(unsigned long calls, const struct ib_qp *qp, struct recorded *to, u32 room)
{
	const struct rhca_qp *core = qp ? container_of(qp, struct rhca_qp, ibqp) : NULL;
	const struct recorded *r;
	unsigned long flags;
	u32 num = 0;

	spin_lock_irqsave(&recording_lock, flags);
	for (r = recording; r < recording + num_recorded && num < room; r++) {
		if ((calls && !(calls & BIT(r->call))) || (qp && r->qp != core))
			continue;
		if (to)
			to[num] = *r;
		num++;
	}
	spin_unlock_irqrestore(&recording_lock, flags);
	return num;
}

/* How many calls of this kind were recorded */
u32 recording_num(enum recorded_call call)
{
	return recording_of(BIT(call), NULL, NULL, MAX_RECORDED);
}
