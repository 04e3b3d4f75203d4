/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs of the software HCA: number, queues, state. The datapath embeds this. */
#ifndef RHCA_SW_VERBS_QP_QP_H
#define RHCA_SW_VERBS_QP_QP_H

#include <linux/completion.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>

#include "core/qp/qp.h"
#include "sw/verbs/counters.h"
#include "sw/verbs/device.h"
#include "sw/verbs/qp/path.h"
#include "sw/verbs/qp/qp_state.h"
#include "sw/verbs/qp/rq.h"
#include "sw/verbs/qp/sq.h"
#include "sw/verbs/qp/srq.h"
#include "sw/verbs/queue/cq.h"

struct rhca_mcast_attachment;
struct rhca_verbs_qp;
struct socket;

/* What a QP number refers to; outlives the QP by a grace period */
struct rhca_qp_handle {
	refcount_t refs;		/* the QP itself, and packets in progress */
	struct completion idle;		/* completed when the last of @refs is dropped */
	struct rcu_head rcu;		/* lookups run under RCU */
	struct rhca_verbs_qp *qp;	/* valid as long as a reference is held */
};

/* Attributes that packets use, as in struct ib_qp_attr */
struct rhca_verbs_attr {
	u32 dest_qp_num;	/* the peer's QP */
	u16 pkey_index;		/* index in the port's table */
	u8 timeout;		/* code of the ACK timeout */
	u8 max_rd_atomic;	/* READs and atomics that may be outstanding */
	int qp_access_flags;	/* what the peer may do */
	u32 qkey;		/* Q_Key */
	u8 max_dest_rd_atomic;	/* those of the peer that may be outstanding */
	u8 retry_cnt;		/* consecutive timeouts and sequence errors allowed */
	u8 rnr_retry;		/* consecutive RNR NAKs allowed */
	u8 min_rnr_timer;	/* code of the delay in our RNR NAKs */
	u8 en_sqd_async_notify;	/* raise an event when the send queue has drained */
};

/*
 * Queue pair. With many QPs in use each cache line that a packet or request touches is a miss: from
 * @pd on these are three, and they use nothing in @core.
 */
struct rhca_verbs_qp {
	struct rhca_qp core;		/* the core's part */
	struct ib_pd *pd ____cacheline_aligned;
	struct rhca_verbs_dev *dev;
	struct rhca_port *port;		/* from INIT on */
	struct rhca_qp_handle *handle;	/* what QP numbers refer to */
	/* its port's or a counter set's; written under @core.modify_lock, read under RCU */
	struct rhca_counters __percpu *counters;
	struct rhca_path __rcu *path;	/* destination of a connected QP */
	struct rhca_srq *srq;		/* or NULL */
	struct socket *owner;		/* owns its packets in flight, from RTR on (transmit.h) */
	struct rhca_cq *send_cq;
	u32 number;			/* QP number, unique over all devices, except QP1 */
	u32 mtu_bytes;			/* path MTU */
	int state;	/* under @core.modify_lock; the data path sets ERR and SQE */
	u8 type;			/* enum ib_qp_type */
	bool is_user;			/* as of @core */
	u8 lag_member;			/* assigned LAG member, from INIT on */
	bool signal_all;		/* each send request has a completion */
	struct rhca_verbs_attr attr;	/* under @core.modify_lock; packets read single fields */
	struct rhca_sq sq;
	struct rhca_rq rq;		/* unless @srq */
};

static inline struct rhca_verbs_qp *to_verbs_qp(const struct rhca_qp *qp)
{
	return container_of(qp, struct rhca_verbs_qp, core);
}

static inline struct rhca_verbs_qp *ibqp_to_verbs(struct ib_qp *ibqp)
{
	return to_verbs_qp(to_rhca_qp(ibqp));
}

/**
 * rhca_qp_half_can - Does the QP's state allow this now?
 * @qp: the QP
 * @wanted: RHCA_QP_* that are all needed
 *
 * Context: the lock of the QP's send or receive half held. modify_qp takes both between storing the
 * attributes and the state, so that whoever sees the state under one of them also sees the
 * attributes. Without a lock it is a hint, to be checked again later.
 */
static inline bool rhca_qp_half_can(const struct rhca_verbs_qp *qp, u8 wanted)
{
	return (rhca_qp_state_abilities[READ_ONCE(qp->state)] & wanted) == wanted;
}

/**
 * rhca_qp_can - The same without its locks held
 * @qp: the QP
 * @wanted: RHCA_QP_* that are all needed
 */
static inline bool rhca_qp_can(const struct rhca_verbs_qp *qp, u8 wanted)
{
	if (!rhca_qp_half_can(qp, wanted))
		return false;
	/* Pairs with the commit: the attributes precede the state */
	smp_acquire__after_ctrl_dep();
	return true;
}

/*
 * Is it the current process's? ib_core has a reference to the thread that created it until
 * destroy_qp is done, none for kernel users
 */
static inline bool rhca_is_of_current(const struct rhca_verbs_qp *qp)
{
	struct task_struct *creator = qp->core.ibqp.res.task;

	return creator && same_thread_group(creator, current);
}

static inline bool rhca_is_datagram(const struct rhca_verbs_qp *qp)
{
	return qp->type == IB_QPT_UD || qp->type == IB_QPT_GSI;
}

static inline bool rhca_is_rc(const struct rhca_verbs_qp *qp)
{
	return qp->type == IB_QPT_RC;
}

/*
 * A QP only sends on its own port: an address handle of another port would leak this port's P_Keys
 * there.
 */
static inline bool rhca_qp_may_use(const struct rhca_verbs_qp *qp, const struct rhca_path *path)
{
	return path->address.port == qp->port;
}

/*
 * RCU read side; the QP's current P_Key at the port that a packet uses. That may be another than
 * @qp->port while modify_qp replaces port and path in SQD. 0 matches nothing
 */
static inline u16 rhca_qp_pkey(const struct rhca_verbs_qp *qp, const struct rhca_port *port)
{
	return rhca_pkey_at(&port->pkeys, READ_ONCE(qp->attr.pkey_index));
}

static inline struct rhca_cq *rhca_recv_cq(const struct rhca_verbs_qp *qp)
{
	return to_rhca_cq(qp->core.ibqp.recv_cq);
}

/* Has a CQ of the QP lost a completion? If so, the QP is unusable */
static inline bool rhca_qp_has_cq_error(const struct rhca_verbs_qp *qp)
{
	return rhca_cq_is_overrun(qp->send_cq) ||
	       rhca_cq_is_overrun(rhca_recv_cq(qp));
}

/* RCU read side, or bottom halves off */
static inline struct rhca_counters __percpu *
rhca_qp_counters(const struct rhca_verbs_qp *qp)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_any_held(),
			 "counters may go under a QP that counts");
	return READ_ONCE(qp->counters);
}

static inline void rhca_qp_count(const struct rhca_verbs_qp *qp,
				 enum rhca_counter which)
{
	rhca_counter_inc(rhca_qp_counters(qp), which);
}

/* For tracepoints */
static inline const char *rhca_qp_dev_name(const struct rhca_verbs_qp *qp)
{
	return qp->core.dev->ibdev.name;
}

struct rhca_qp_handle *rhca_qp_find_handle(u32 number);
struct rhca_verbs_qp *rhca_qp_get_handle(struct rhca_qp_handle *handle);
struct rhca_verbs_qp *rhca_qp_get_gsi(struct rhca_port *port);
struct rhca_verbs_qp *
rhca_qp_get_mcast(const struct rhca_mcast_attachment *attachment);
void rhca_qp_put(struct rhca_verbs_qp *qp);
void rhca_qp_table_exit(void);

int rhca_verbs_qp_create(struct rhca_qp *core, struct ib_qp_init_attr *init,
			 struct ib_udata *udata);
int rhca_verbs_qp_destroy(struct rhca_qp *core, struct ib_udata *udata);
int rhca_verbs_mcast_attach(struct rhca_mcast_attachment *attachment);
int rhca_verbs_qp_bind(struct rhca_qp *core, struct rhca_counter_set *core_set);
void rhca_verbs_qp_count(struct rhca_qp *core, enum rhca_counter which);

extern const struct ib_device_ops rhca_verbs_qp_verbs;

#endif
