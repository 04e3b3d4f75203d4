/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups and the UD QPs that are attached to them, IBTA vol. 1, 10.5.
 */
#ifndef RHCA_SW_VERBS_MCAST_H
#define RHCA_SW_VERBS_MCAST_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

struct rhca_port;
struct rhca_qp;

/**
 * struct rhca_mcast_visitor - What is to be done with the QPs of a group
 * @visit: called with each; the reference to the QP is not the callee's
 */
struct rhca_mcast_visitor {
	void (*visit)(struct rhca_mcast_visitor *visitor, struct rhca_qp *qp);
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
