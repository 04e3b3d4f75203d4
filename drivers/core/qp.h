/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs: attributes, queues, state. What moves the bytes is the backend's
 * and embeds this.
 */
#ifndef RHCA_CORE_QP_H
#define RHCA_CORE_QP_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

#include "core/ah.h"
#include "core/counters.h"
#include "sw/verbs/cq.h"
#include "core/port.h"
#include "sw/verbs/qp_state.h"
#include "sw/verbs/rq.h"
#include "sw/verbs/sq.h"
#include "sw/verbs/srq.h"

struct rhca_dev;

/**
 * struct rhca_qp_handle - What packets find under a QP number
 * @refs: the QP itself, and packets that are being handled
 * @idle: completed when the last of @refs has gone
 * @rcu: lookups run under RCU; the handle outlives the QP by a grace period
 * @qp: valid as long as a reference is held
 */
struct rhca_qp_handle {
	refcount_t refs;
	struct completion idle;
	struct rcu_head rcu;
	struct rhca_qp *qp;
};

/**
 * struct rhca_qp - Queue pair
 * @ibqp: ib_core's part
 * @dev: its device
 * @port: its port, from INIT on
 * @handle: what packets find
 * @number: QP number, unique over all devices, except QP1
 * @counters: what it counts into: its port's or a counter set's; written under
 *	@modify_lock, read under RCU
 * @lag_member: member of a LAG that it sits on, from INIT on
 * @is_user: the queues are a process's
 * @sq: send queue
 * @rq: receive queue, unless @srq
 * @srq: shared receive queue, or NULL
 * @mtu_told: bit 0: the log has a line about the peer's path MTU; until RESET
 * @modify_lock: serialises modify_qp; protects writes to @attr and @path
 * @state: changed under @modify_lock, or to ERR and SQE by the data path; read
 *	anywhere
 * @attr: as set by modify_qp; the data path reads single fields
 * @path: where a connected QP sends to; RCU
 * @init: capabilities and flags, for query_qp
 */
struct rhca_qp {
	struct ib_qp ibqp;
	struct rhca_dev *dev;
	struct rhca_port *port;
	struct rhca_qp_handle *handle;
	u32 number;
	struct rhca_counters __percpu *counters;
	u32 lag_member;
	bool is_user;
	struct rhca_sq sq;
	struct rhca_rq rq;
	struct rhca_srq *srq;
	unsigned long mtu_told;

	struct mutex modify_lock;	/* protects: */
	int state;
	struct ib_qp_attr attr;
	struct rhca_path __rcu *path;
	struct ib_qp_init_attr init;
};

static inline struct rhca_qp *to_rhca_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct rhca_qp, ibqp);
}

static inline bool rhca_qp_is_datagram(const struct rhca_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_UD || qp->ibqp.qp_type == IB_QPT_GSI;
}

static inline bool rhca_qp_is_rc(const struct rhca_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_RC;
}

/* RCU read side; as the port's table has it now. 0 matches nothing */
static inline u16 rhca_qp_pkey(const struct rhca_qp *qp)
{
	return rhca_pkey_at(&qp->port->pkeys, READ_ONCE(qp->attr.pkey_index));
}

static inline struct rhca_cq *rhca_send_cq(const struct rhca_qp *qp)
{
	return to_rhca_cq(qp->ibqp.send_cq);
}

static inline struct rhca_cq *rhca_recv_cq(const struct rhca_qp *qp)
{
	return to_rhca_cq(qp->ibqp.recv_cq);
}

/* RCU read side, or bottom halves off */
static inline struct rhca_counters __percpu *
rhca_qp_counters(const struct rhca_qp *qp)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_any_held(),
			 "counters may go under a QP that counts");
	return READ_ONCE(qp->counters);
}

static inline void rhca_qp_count(const struct rhca_qp *qp,
				 enum rhca_counter which)
{
	rhca_counter_inc(rhca_qp_counters(qp), which);
}

struct rhca_qp *rhca_qp_get_handle(struct rhca_qp_handle *handle);
struct rhca_qp *rhca_qp_get(u32 number);
struct rhca_qp *rhca_qp_get_gsi(struct rhca_port *port);
void rhca_qp_put(struct rhca_qp *qp);
void rhca_qp_for_each(struct rhca_dev *dev, void (*fn)(struct rhca_qp *qp));
void rhca_qp_event(struct rhca_qp *qp, enum ib_event_type type);
void rhca_qp_mtu_mismatch(struct rhca_qp *qp, u32 peer_bytes, u32 our_bytes,
			  const union ib_gid *peer, u32 peer_qpn);
void rhca_qp_table_exit(void);

extern const struct ib_device_ops rhca_qp_verbs;

#endif
