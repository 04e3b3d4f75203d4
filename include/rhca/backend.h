/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The backend interface, between policy and mechanism.
 *
 * The core decides: which devices exist, who may use a port, the destination address and header
 * fields of packets, and the names under which all of this appears. A backend provides the
 * mechanism: queues, memory, packets. What an adapter does by itself is not in the core.
 *
 * The core embeds struct ib_qp and struct ib_ah in its own objects; a backend embeds those in its
 * own and gives their sizes in &struct rhca_backend_ops.verbs. All other objects (PD, CQ, SRQ, MR,
 * MW, contexts) belong to the backend alone.
 */
#ifndef RHCA_BACKEND_H
#define RHCA_BACKEND_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include <rhca/counter.h>

struct net_device;
struct rhca_address;
struct rhca_ah;
struct rhca_counter_set;
struct rhca_dev;
struct rhca_mcast_attachment;
struct rhca_pkey_table;
struct rhca_pma_values;
struct rhca_port;
struct rhca_qp;

/* Capabilities of a device that the core needs */
struct rhca_caps {
	u32 max_qp_wr;			/* work requests of a send or receive queue */
	u32 max_send_sge;		/* scatter/gather entries of a send request */
	u32 max_recv_sge;		/* the same of a receive request */
	u32 max_inline;			/* bytes of inline data */
	u8 max_rd_atomic;		/* READs and atomics in flight per QP and direction */
	u32 max_msg_bytes;		/* longest message */
	u16 num_gids;			/* of a port, at most RHCA_NUM_GIDS */
	u16 num_pkeys;			/* the same, at most RHCA_NUM_PKEYS */
	unsigned long gid_types;	/* RoCE versions, BIT(enum ib_gid_type) */
	/*
	 * Packets bypass the host's IP stack: a GID serves its netdev's network namespace, even if
	 * that is not the port netdev's
	 */
	bool any_net;
};

/* A modify_qp request, checked and resolved */
struct rhca_qp_change {
	const struct ib_qp_attr *attr;
	int mask;				/* valid fields of @attr */
	enum ib_qp_state from;			/* state it was checked against */
	enum ib_qp_state next;			/* same as @from if unchanged */
	struct rhca_port *port;			/* from @attr, or the QP's, or NULL */
	const struct rhca_address *address;	/* new address with IB_QP_AV; else NULL */
};

/**
 * struct rhca_backend_ops - Operations of a backend
 *
 * All may sleep unless stated otherwise. "Optional" operations are NULL in a backend that has
 * nothing to do or cannot do it. None may take a lock that is held while the backend's offer is
 * added or withdrawn. From @qp_modify to @qp_rate, and in @counters_bind, @qp->modify_lock is held.
 *
 * @name: short name for logs and for the sysfs file "backend".
 * @verbs: the device's first table of verbs; the first table that sets a verb takes precedence.
 *	@dev_init may add tables with ib_set_device_ops(). Together they contain the device's
 *	identity (owner, driver_id, uverbs_abi_ver), sizes of all objects, and every verb that needs
 *	no policy.
 *
 * @dev_init: Initialise a new device; its ports are set up, but users and packets cannot see it
 *	yet. Set @dev->caps and the backend's fields of @dev->ibdev; @dev->hca_type and
 *	@dev->board_id if there is a board; keep private data in @dev->private. On error nothing is
 *	kept.
 * @dev_exit: Undo @dev_init. There are no objects left.
 * @dev_quiesce: Optional. The device is about to be unregistered and all its QPs have been moved to
 *	ERR: return when their completions have been written.
 *
 * @port_open: The port's netdev is set; start to accept packets for it. On error nothing stays open
 *	and the device is not registered.
 * @port_quiesce: Optional. The port's netdev is being unregistered, and no packet finds it by the
 *	port any more: stop receiving, and keep nothing that belongs to its network namespace. At
 *	most once per @port_open. RTNL is held, so this must neither take it nor take long;
 *	@port_close follows in the background.
 * @port_close: Undo @port_open. No packet is looking for a port any more that can find this one.
 *	When it returns no packet of the port is being handled.
 * @port_speaks: Optional. Can the port receive packets of this RoCE version now? Without it, it can
 *	if policy enables that version.
 * @gid_set: Optional. The entry of the port's GID table is now @attr or, unless @add, no longer: is
 *	empty. An error rejects the GID; emptying cannot be rejected.
 * @pkeys_check: Optional. May this be the port's P_Key table? -EOPNOTSUPP if it is not supported.
 *	Without it, any may. RTNL may be held, and must not be taken.
 *
 * @qp_create: @qp->dev and @qp->ibqp are set. Check the backend's part of @init, write back what
 *	was granted, set @qp->ibqp.qp_num and respond to @udata. On error the backend keeps nothing.
 * @qp_destroy: Once it returns 0, no completion of the QP is written and none of its memory is
 *	used. An error leaves the QP, in RESET or ERR, to be destroyed again.
 * @qp_modify: Make the change; the core stores the attributes afterwards. An error leaves the QP
 *	unchanged or in ERR. Must fail at once if the hardware is gone: all QPs of a device are
 *	moved one after the other before it is unregistered.
 * @qp_readdress: Optional. Knobs have changed: a connected QP now sends to @address, in which only
 *	the traffic class differs. Without it knobs only apply to new connections, and their files
 *	say so.
 * @qp_state: Optional. The QP's current state, at least as new as visible completions imply.
 *	Without it the core uses the state set by modify_qp, or SQE if the user states that
 *	(IB_QP_CUR_STATE) for a QP in RTS, which @qp_modify checks.
 * @qp_query: Optional. The core has filled in what was set; add what only the backend knows,
 *	limited by @mask.
 * @qp_rate: Optional. Rate to which congestion control has reduced the QP, Mbit/s, 0 if it has not.
 * @qp_count: Count an event of the QP seen by the core. Any context.
 *
 * @ah_create: @ah->address and @ah->ud_address are set. Sleeps only with RDMA_CREATE_AH_SLEEPABLE
 *	in @flags. Respond to @udata unless it is NULL. On error the backend keeps nothing.
 * @ah_destroy: Optional. Undo @ah_create. Sleeps only with RDMA_DESTROY_AH_SLEEPABLE in @flags.
 *
 * @mcast_attach: @attachment->qp receives what is sent to @attachment->gid on @attachment->port.
 *	The core has checked the QP, the GID and the limits of query_device, and does not attach a
 *	QP twice; the port's netdev has joined the group. Set @attachment->private if this backend
 *	delivers packets that reach the host. May sleep; RTNL not held.
 * @mcast_detach: Optional. Undo @mcast_attach; packets no longer find @attachment, but may still
 *	use it. May sleep; RTNL not held.
 *
 * @has_counter: Optional: without it the device has all counters. A counter that the backend does
 *	not support is absent, not 0.
 * @counters_open: A set of counters is created: a port's own, which is the port's first, or that of
 *	an rdma_counter's QPs. Keep private data in @set->private.
 * @counters_close: No QP uses the set any more, but packets in progress may; the core frees @set
 *	when this returns. @shown, by enum rhca_counter, NULL for a port's own, has the values last
 *	shown to users: add later counts to the port.
 * @counters_read: Fill @values, which are 0, by enum rhca_counter.
 * @counters_bind: The QP now counts in the set; from INIT until it is bound, it counts in its
 *	port's own. Binding to that cannot fail.
 * @counters_enable: Optional. Enable or disable an optional counter of the port.
 * @pma_read: Optional. All-time counts of the port, as defined by the performance management class,
 *	except link_downed, which the core counts. Without it the core adds up the counters.
 */
struct rhca_backend_ops {
	const char *name;
	const struct ib_device_ops *verbs;

	int (*dev_init)(struct rhca_dev *dev);
	void (*dev_exit)(struct rhca_dev *dev);
	void (*dev_quiesce)(struct rhca_dev *dev);

	int (*port_open)(struct rhca_port *port);
	void (*port_quiesce)(struct rhca_port *port);
	void (*port_close)(struct rhca_port *port);
	bool (*port_speaks)(struct rhca_port *port, enum ib_gid_type type);
	int (*gid_set)(struct rhca_port *port, const struct ib_gid_attr *attr,
		       bool add);
	int (*pkeys_check)(struct rhca_port *port,
			   const struct rhca_pkey_table *table);

	int (*qp_create)(struct rhca_qp *qp, struct ib_qp_init_attr *init,
			 struct ib_udata *udata);
	int (*qp_destroy)(struct rhca_qp *qp, struct ib_udata *udata);
	int (*qp_modify)(struct rhca_qp *qp, const struct rhca_qp_change *change,
			 struct ib_udata *udata);
	int (*qp_readdress)(struct rhca_qp *qp,
			    const struct rhca_address *address);
	enum ib_qp_state (*qp_state)(const struct rhca_qp *qp);
	int (*qp_query)(struct rhca_qp *qp, struct ib_qp_attr *attr, int mask);
	u32 (*qp_rate)(struct rhca_qp *qp);
	void (*qp_count)(struct rhca_qp *qp, enum rhca_counter which);

	int (*ah_create)(struct rhca_ah *ah, u32 flags, struct ib_udata *udata);
	void (*ah_destroy)(struct rhca_ah *ah, u32 flags);

	int (*mcast_attach)(struct rhca_mcast_attachment *attachment);
	void (*mcast_detach)(struct rhca_mcast_attachment *attachment);

	bool (*has_counter)(const struct rhca_dev *dev,
			    enum rhca_counter which);
	int (*counters_open)(struct rhca_counter_set *set);
	void (*counters_close)(struct rhca_counter_set *set, const u64 *shown);
	int (*counters_read)(struct rhca_counter_set *set, u64 *values);
	int (*counters_bind)(struct rhca_qp *qp, struct rhca_counter_set *set);
	int (*counters_enable)(struct rhca_port *port, enum rhca_counter which,
			       bool enable);
	int (*pma_read)(struct rhca_port *port, struct rhca_pma_values *values);
};

/* Software, for netdevs without hardware support */
extern const struct rhca_backend_ops rhca_sw_backend;

/* A backend's offer to serve netdevs, embedded in the data about its hardware */
struct rhca_offer {
	/* The core's: */
	struct list_head entry;
	atomic_t users;			/* its device, and creations in progress */
	struct lockdep_map users_map;	/* tells lockdep that a withdrawal waits for @users */
	bool has_device;		/* from before @dev_init until after @dev_exit */
	bool failed;			/* creating a device failed, so software serves */

	/* The backend's: */
	const struct rhca_backend_ops *backend;
	struct device *dma_device;	/* for DMA mapping, or NULL */
	/* Can it serve this netdev? Called under RCU; does not sleep */
	bool (*covers)(const struct rhca_offer *offer,
		       const struct net_device *ndev);
	bool able;			/* false: another backend should serve */
	bool decides_lag;	/* the hardware itself combines bonded ports into one device */
};

void rhca_offer_add(struct rhca_offer *offer);
void rhca_offer_withdraw(struct rhca_offer *offer);

#endif
