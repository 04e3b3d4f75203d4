/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Delivery to the QPs of a multicast group, IBTA vol. 1, 10.5.
 */
#ifndef RHCA_SW_VERBS_MCAST_H
#define RHCA_SW_VERBS_MCAST_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

struct rhca_port;
struct rhca_qp;
struct rhca_verbs_qp;

/**
 * struct rhca_mcast_visitor - What is to be done with the QPs of a group
 * @visit: called with each; the reference to the QP is not the callee's
 */
struct rhca_mcast_visitor {
	void (*visit)(struct rhca_mcast_visitor *visitor,
		      struct rhca_verbs_qp *qp);
};

int rhca_verbs_mcast_attach(struct rhca_qp *core, struct rhca_port *port,
			    const union ib_gid *gid);
void rhca_verbs_mcast_detach(struct rhca_qp *core, struct rhca_port *port,
			     const union ib_gid *gid);
struct rhca_port *rhca_mcast_port(const union ib_gid *gid,
				  const struct net_device *ndev);
void rhca_mcast_visit(const union ib_gid *gid, const struct net_device *ndev,
		      struct rhca_mcast_visitor *visitor);

#endif
