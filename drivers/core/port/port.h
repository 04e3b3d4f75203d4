/* SPDX-License-Identifier: GPL-2.0 */
/* A port: one netdev, its link state, its GID table and its counters. */
#ifndef RHCA_CORE_PORT_PORT_H
#define RHCA_CORE_PORT_PORT_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

#include "core/port/device_types.h"

void rhca_port_init(struct rhca_port *port, struct rhca_dev *dev, u32 num,
		    struct net_device *ndev);
void rhca_port_set_second(struct rhca_port *port, struct net_device *ndev);
void rhca_port_release_netdev(struct rhca_port *port,
			      void (*quiesce)(struct rhca_port *port));
struct net_device *rhca_port_get_netdev(struct rhca_port *port);
struct net *rhca_port_get_net(struct rhca_port *port);
enum ib_mtu rhca_port_mtu(struct rhca_port *port);
void rhca_port_event(struct rhca_port *port, enum ib_event_type type);
void rhca_port_update(struct rhca_port *port, bool mtu_changed);

/* Is it a netdev of the port? */
static inline bool rhca_port_uses(const struct rhca_port *port,
				  const struct net_device *ndev)
{
	return rcu_access_pointer(port->ndev) == ndev ||
	       rcu_access_pointer(port->second) == ndev;
}

/* Does the port have GIDs of this type? */
static inline bool rhca_port_has_gid_type(const struct rhca_port *port,
					  enum ib_gid_type type)
{
	return port->gid_types & BIT(type);
}

/**
 * rhca_port_gid_index - Is this destination one of the port's GIDs?
 * @port: the port
 * @query: from the packet
 *
 * Context: RCU read side.
 * Return: the index, or -ENOENT.
 */
static inline int rhca_port_gid_index(struct rhca_port *port,
				      const struct rhca_gid_query *query)
{
	const struct net_device *ndev = rcu_dereference(port->ndev);

	if (!ndev || !net_eq(dev_net(ndev), query->net))
		return -ENOENT;
	return rhca_gid_find(&port->gids, query);
}

extern const struct attribute_group rhca_port_group;
extern const struct ib_device_ops rhca_port_verbs;

#endif
