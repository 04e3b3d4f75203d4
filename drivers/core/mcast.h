/* SPDX-License-Identifier: GPL-2.0 */
/* Multicast groups and the UD QPs that are attached to them, IBTA vol. 1, 10.5. */
#ifndef RHCA_CORE_MCAST_H
#define RHCA_CORE_MCAST_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

struct rhca_port;
struct rhca_qp;

/* A QP in a multicast group */
struct rhca_mcast_attachment {
	struct hlist_node node;		/* in the group's list; packets read it under RCU */
	struct rcu_head rcu;		/* packets may still use it on removal */
	struct rhca_qp *qp;		/* not for packets: RCU does not protect it */
	struct rhca_port *port;
	const union ib_gid *gid;	/* the group */
	kuid_t owner;			/* user who is charged; invalid: no limit */
	/*
	 * For the backend, constant after &struct rhca_backend_ops.mcast_attach; packets may use
	 * what it points to until a grace period after @mcast_detach. NULL: this backend does not
	 * want packets that reach the host
	 */
	void *private;
};

/**
 * struct rhca_mcast_visitor - Callback for the QPs of a group
 * @visit: called for each, on the RCU read side
 */
struct rhca_mcast_visitor {
	void (*visit)(struct rhca_mcast_visitor *visitor,
		      const struct rhca_mcast_attachment *attachment);
};

struct rhca_port *rhca_mcast_port(const union ib_gid *gid,
				  const struct net_device *ndev);
void rhca_mcast_visit(const union ib_gid *gid, const struct net_device *ndev,
		      struct rhca_mcast_visitor *visitor);
void rhca_mcast_gids_changed(void);
void rhca_mcast_forget_netdev(const struct net_device *ndev);
void rhca_mcast_exit(void);

extern const struct ib_device_ops rhca_mcast_verbs;

#endif
