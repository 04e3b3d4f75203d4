// SPDX-License-Identifier: GPL-2.0
/* Finds the port of the software HCA that a packet is for. */
#include <linux/if_vlan.h>
#include <rhca/backend.h>

#include "core/device.h"
#include "core/registry.h"
#include "sw/verbs/port.h"

/**
 * rhca_port_find_gid - Find the port that owns a GID
 * @query: destination of the packet
 * @index: set to the index in the port's table
 *
 * Context: RCU read side, during which the port is valid.
 */
struct rhca_port *rhca_port_find_gid(const struct rhca_gid_query *query,
				     u16 *index)
{
	struct rhca_port *port;
	struct rhca_dev *dev;
	int found;

	rhca_for_each_port_rcu(dev, port) {
		if (dev->backend != &rhca_sw_backend)
			continue;
		found = rhca_port_gid_index(port, query);
		if (found >= 0) {
			*index = found;
			return port;
		}
	}
	return NULL;
}

/**
 * rhca_port_find_netdev - Find the port on a netdev or below a VLAN, or NULL
 * @ndev: the netdev
 *
 * Context: RCU read side, during which the port is valid.
 */
struct rhca_port *rhca_port_find_netdev(const struct net_device *ndev)
{
	struct rhca_port *port;
	struct rhca_dev *dev;

	if (is_vlan_dev(ndev))
		ndev = vlan_dev_real_dev(ndev);
	rhca_for_each_port_rcu(dev, port)
		if (dev->backend == &rhca_sw_backend && rhca_port_uses(port, ndev))
			return port;
	return NULL;
}
