// SPDX-License-Identifier: GPL-2.0
/* The list of ports that receive packets. */
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "sw/verbs/port.h"

static LIST_HEAD(ports);
static DEFINE_MUTEX(ports_mutex);	/* protects writes to @ports */

/**
 * rhca_verbs_port_open - Make a port visible to packets
 * @core: the port
 * @transport: the transport's data for it
 *
 * Return: 0 or -ENOMEM.
 */
int rhca_verbs_port_open(struct rhca_port *core, void *transport)
{
	struct rhca_verbs_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return -ENOMEM;
	port->core = core;
	port->transport = transport;
	core->private = port;
	mutex_lock(&ports_mutex);
	list_add_tail_rcu(&port->entry, &ports);
	mutex_unlock(&ports_mutex);
	return 0;
}

/**
 * rhca_verbs_port_close - Hide a port from packets
 * @core: the port
 *
 * Context: may sleep; on return no packet uses the port.
 * Return: the transport's data for it.
 */
void *rhca_verbs_port_close(struct rhca_port *core)
{
	struct rhca_verbs_port *port = to_verbs_port(core);
	void *transport = port->transport;

	mutex_lock(&ports_mutex);
	list_del_rcu(&port->entry);
	mutex_unlock(&ports_mutex);
	synchronize_rcu();
	core->private = NULL;
	kfree(port);
	return transport;
}

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
	struct rhca_verbs_port *port;
	int found;

	list_for_each_entry_rcu(port, &ports, entry) {
		found = rhca_port_gid_index(port->core, query);
		if (found >= 0) {
			*index = found;
			return port->core;
		}
	}
	return NULL;
}

/**
 * rhca_port_find_netdev - Find the port on a netdev, or NULL
 * @ndev: the netdev
 *
 * Context: RCU read side, during which the port is valid.
 */
struct rhca_port *rhca_port_find_netdev(const struct net_device *ndev)
{
	struct rhca_verbs_port *port;

	list_for_each_entry_rcu(port, &ports, entry)
		if (rhca_port_uses(port->core, ndev))
			return port->core;
	return NULL;
}
