/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core's part of queue pairs: attributes, address, order of operations. The backend, which
 * embeds this, has queues and packets.
 */
#ifndef RHCA_CORE_QP_QP_H
#define RHCA_CORE_QP_QP_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "core/port/address.h"

struct rhca_dev;

/* Queue pair; a backend embeds it */
struct rhca_qp {
	struct ib_qp ibqp;
	struct rhca_dev *dev;
	struct list_head entry;		/* in the device's list of QPs */
	unsigned long mtu_reported;	/* bit 0: a mismatch with the peer's path MTU is logged */
	bool is_user;			/* belongs to a process */

	struct mutex modify_lock;	/* serialises modify_qp; protects: */
	bool has_address;		/* it is connected */
	enum ib_qp_state state;		/* set by modify_qp; see rhca_qp_state() */
	struct rhca_port *port;		/* from INIT on; of QP1 always */
	struct ib_qp_attr attr;		/* set by modify_qp */
	struct rhca_address address;	/* destination, if @has_address */
	struct ib_qp_init_attr init;	/* capabilities and flags, for query_qp */
};

static inline struct rhca_qp *to_rhca_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct rhca_qp, ibqp);
}

static inline bool rhca_qp_is_datagram(const struct rhca_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_UD || qp->ibqp.qp_type == IB_QPT_GSI;
}

enum ib_qp_state rhca_qp_state(const struct rhca_qp *qp);
void rhca_qp_for_each(struct rhca_dev *dev, void (*fn)(struct rhca_qp *qp));
void rhca_qp_event(struct rhca_qp *qp, enum ib_event_type type);
void rhca_qp_mtu_mismatch(struct rhca_qp *qp, u32 peer_bytes, u32 our_bytes,
			  const union ib_gid *peer, u32 peer_qpn);
int rhca_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int rhca_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int rhca_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp);	/* restrack.c */
void rhca_qp_readdress(struct rhca_qp *qp);
void rhca_qp_quiesce(struct rhca_qp *qp);

extern const struct ib_device_ops rhca_qp_verbs;

#endif
