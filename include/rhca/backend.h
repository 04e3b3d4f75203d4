/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The backend interface, between what is decided and what is done.
 *
 * The core decides: which devices there are, who may use a port, which address
 * a packet is sent to and with which header fields, under which names all of
 * this is shown. A backend does it: queues, memory, packets. If an adapter does
 * something by itself, it is not in the core.
 *
 * The core embeds struct ib_qp and struct ib_ah in objects of its own; a backend
 * embeds those in its own and says in &struct rhca_backend_ops.verbs how large
 * they are. All other objects (PD, CQ, SRQ, MR, MW, contexts) are the backend's
 * alone.
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

/* What a device can do, as far as the core has to know */
struct rhca_caps {
	u32 max_qp_wr;			/* work requests of a send or receive queue */
	u32 max_send_sge;		/* scatter/gather entries of a send request */
	u32 max_recv_sge;		/* likewise of a receive request */
	u32 max_inline;			/* bytes of inline data */
	u8 max_rd_atomic;		/* READs and atomics in flight of a QP, either way */
	u32 max_msg_bytes;		/* longest message */
	u16 num_gids;			/* of a port, at most RHCA_NUM_GIDS */
	u16 num_pkeys;			/* likewise, at most RHCA_NUM_PKEYS */
	unsigned long gid_types;	/* RoCE versions, BIT(enum ib_gid_type) */
	/*
	 * Packets do not pass the host's IP stack: a GID serves whatever network namespace
	 * its netdev is in, and not only in that of the port's netdev
	 */
	bool any_net;
};

/* What modify_qp asks for, checked and resolved */
struct rhca_qp_change {
	const struct ib_qp_attr *attr;
	int mask;				/* which of @attr count */
	enum ib_qp_state from;			/* what the check was made against */
	enum ib_qp_state next;			/* @from when the state stays */
	struct rhca_port *port;			/* the one that @attr names, or the QP's, or NULL */
	const struct rhca_address *address;	/* with IB_QP_AV: from now on; else NULL */
};

/**
 * struct rhca_backend_ops - What the core asks of a backend
 *
 * Everything may sleep unless it says otherwise. "Optional" operations are NULL
 * in a backend that has nothing to do there, or that cannot do it. None may ask
 * for a lock that is held where the backend's offer is added or withdrawn. From @qp_modify
 * to @qp_rate, and in @counters_bind, @qp->modify_lock is held.
 *
 * @name: short name for logs and for the sysfs file "backend".
 * @verbs: the first table of verbs that the device gets; the first table that
 *	sets a verb counts. @dev_init may add tables with ib_set_device_ops().
 *	Together they have the device's identity (owner, driver_id,
 *	uverbs_abi_ver), sizes of all objects, and every verb that policy has no
 *	say in.
 *
 * @dev_init: A device comes into being; its ports are set up, but no user and no
 *	packet sees it. Set @dev->caps and what is the backend's in @dev->ibdev;
 *	@dev->hca_type and @dev->board_id where there is a board; keep private
 *	data in @dev->private. On error nothing is kept.
 * @dev_exit: Undo @dev_init. No object is left.
 * @dev_quiesce: Optional. The device is about to be unregistered and all its QPs
 *	have been moved to ERR: return when their completions have been written.
 *
 * @port_open: The port's netdev is set; start to accept packets for it. On error
 *	nothing stays open and the device is not registered.
 * @port_quiesce: Optional. The port's netdev is being unregistered: stop to listen
 *	for it. Once for each @port_open at most. RTNL is held, so it must neither
 *	ask for that nor take long; @port_close follows in the background.
 * @port_close: Undo @port_open. When it returns no packet of the port is being
 *	handled.
 * @port_speaks: Optional. Do packets of this RoCE version come in at the port
 *	now? Without it, those that the policy enables do.
 * @port_query: Optional. The core has filled in what it knows; put in what only
 *	the backend does.
 * @gid_set: Optional. Entry @index of the port's GID table is now @attr; NULL: is
 *	empty. An error refuses the GID; emptying cannot be refused.
 * @pkeys_check: Optional. May this be the port's P_Key table? -EOPNOTSUPP if it
 *	cannot be meant. Without it, any may. RTNL may be held, and is not
 *	taken.
 *
 * @qp_create: @qp->dev and @qp->ibqp are set. Check what is the backend's in
 *	@init, write back what was granted, set @qp->ibqp.qp_num and answer to
 *	@udata. On error the backend keeps nothing.
 * @qp_destroy: No completion of the QP is written and none of its memory is used
 *	once it returns 0. An error leaves the QP, in RESET or ERR, to be destroyed
 *	again.
 * @qp_modify: Make the change; the core stores the attributes afterwards. An error leaves
 *	the QP as it was, or in ERR. Must fail at once when the hardware has gone: all QPs
 *	of a device are moved one after the other before it is unregistered.
 * @qp_readdress: Optional. The knobs have changed: a connected QP sends to @address from
 *	now on, where only the traffic class differs. Without it knobs hold for new
 *	connections only, and their files say so.
 * @qp_state: Optional. The QP's state now, and no older one than the completions that are
 *	visible tell of. Without it the core takes the state that modify_qp left it in, or
 *	SQE where its user says so (IB_QP_CUR_STATE) of one in RTS, which @qp_modify checks.
 * @qp_query: Optional. The core has filled in what was set; put in what only the backend
 *	knows of what @mask asks for.
 * @qp_rate: Optional. What congestion has slowed the QP down to, Mbit/s, 0 if it has not.
 * @qp_count: Optional. The core has seen something of the QP that has a counter.
 *	Any context.
 *
 * @ah_create: @ah->address and @ah->ud_address are set. Sleeps only with
 *	RDMA_CREATE_AH_SLEEPABLE in @flags. Answer to @udata unless it is NULL. On
 *	error the backend keeps nothing.
 * @ah_destroy: Undo @ah_create. Sleeps only with RDMA_DESTROY_AH_SLEEPABLE in
 *	@flags.
 *
 * @mcast_attach: @attachment->qp receives what is sent to @attachment->gid on
 *	@attachment->port. The core has checked the QP, the GID and the limits of
 *	query_device, and attaches no QP twice; the port's netdev listens to the
 *	group. Set @attachment->private if packets that reach the host are to be
 *	delivered by this backend. May sleep; RTNL not held.
 * @mcast_detach: Optional. Undo @mcast_attach; packets do not find @attachment
 *	any more, but may still look at it. May sleep; RTNL not held.
 *
 * @has_counter: Optional: without it the device has all counters. One that the
 *	backend does not count is absent, not 0.
 * @counters_open: A set of counters is made: a port's own, which is the port's
 *	first, or one that an rdma_counter's QPs are to count into. Keep private
 *	data in @set->private.
 * @counters_close: No QP counts into the set any more, but packets that are
 *	under way may; the core frees @set when this returns. @shown, by enum
 *	rhca_counter, NULL for a port's own, is what users were last shown of it:
 *	what was counted beyond that falls to the port.
 * @counters_read: Fill @values, which are 0, by enum rhca_counter.
 * @counters_bind: The QP counts into the set from now on; until it is bound, and from
 *	INIT on, it counts into its port's own. Binding to that cannot fail. Optional:
 *	without it QPs are not bound to counters.
 * @counters_enable: Optional. Turn an optional counter of the port on or off.
 * @pma_read: Optional. Everything that was ever counted on the port, as the
 *	performance management class has it, but for the downs of the link, which
 *	the core counts. Without it the core adds up the counters.
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
	void (*port_query)(struct rhca_port *port, struct ib_port_attr *attr);
	int (*gid_set)(struct rhca_port *port, u16 index,
		       const struct ib_gid_attr *attr);
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

/* Software, which serves what no hardware does */
extern const struct rhca_backend_ops rhca_sw_backend;

/* A backend can serve netdevs. It embeds this in what it knows of its hardware */
struct rhca_offer {
	/* The core's: */
	struct list_head entry;
	atomic_t users;			/* its device, and who is about to make one */
	struct lockdep_map users_map;	/* shows lockdep that a withdrawal waits for them */
	bool has_device;		/* one, from before @dev_init to behind @dev_exit */
	bool failed;			/* no device could be made of it, so that software serves */

	/* The backend's: */
	const struct rhca_backend_ops *backend;
	struct device *dma_device;	/* that memory is mapped for, or NULL */
	/* Would it serve this netdev? Called under RCU; does not sleep */
	bool (*covers)(const struct rhca_offer *offer,
		       const struct net_device *ndev);
	bool able;			/* false: somebody else should serve */
	bool decides_lag;		/* the hardware itself makes one device of bonded ports */
};

void rhca_offer_add(struct rhca_offer *offer);
void rhca_offer_withdraw(struct rhca_offer *offer);

#endif
