// SPDX-License-Identifier: GPL-2.0
/*
 * The netdevs that the ports of a device are on: which they are, whether they are where
 * they were, and how a device lets go of them.
 */
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>
#include <rhca/backend.h>

#include "core/device_netdevs.h"
#include "core/port/device_types.h"
#include "core/port/port.h"

/* Is a netdev one of a device? Any context. */
bool rhca_dev_is_on(const struct rhca_dev *dev, const struct net_device *ndev)
{
	u32 i;

	for (i = 0; i < dev->num_ports; i++)
		if (rhca_port_uses(&dev->ports[i], ndev))
			return true;
	return false;
}

/*
 * Was a LAG made of the device on a netdev, and others?
 * @dev: the LAG, or another device
 * @ndev: the netdev, which need not be its member any more
 * Any context; the caller has a reference to the netdev, RTNL or the RCU read side.
 */
bool rhca_dev_stands_for(const struct rhca_dev *dev,
			 const struct net_device *ndev)
{
	return rhca_lag_record_covers(&dev->replaced, ndev);
}

/*
 * Does a LAG keep a netdev from having a device of its own? It does to its end, of which @ndev
 * hears; but whose netdev has gone may be held by its users for long. @dev: the LAG, or another
 * device. Context: as rhca_dev_stands_for().
 */
bool rhca_dev_leads(const struct rhca_dev *dev, const struct net_device *ndev)
{
	return rcu_access_pointer(dev->ports[0].ndev) &&
	       rhca_dev_stands_for(dev, ndev);
}

static bool netdev_stays(const struct rhca_port *port,
			 const struct net_device *ndev)
{
	return ndev && ndev->reg_state == NETREG_REGISTERED &&
	       net_eq(dev_net(ndev), port->net);
}

/**
 * rhca_dev_netdevs_stay - Are all netdevs of a device where they were?
 * @dev: the device
 *
 * Context: any.
 */
bool rhca_dev_netdevs_stay(const struct rhca_dev *dev)
{
	struct net_device *second;
	bool stay = true;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < dev->num_ports; i++) {
		second = rcu_dereference(dev->ports[i].second);
		stay &= net_eq(dev->ports[i].net, dev->ports[0].net);
		stay &= netdev_stays(&dev->ports[i],
				     rcu_dereference(dev->ports[i].ndev));
		stay &= !second || netdev_stays(&dev->ports[i], second);
	}
	rcu_read_unlock();
	return stay;
}

/*
 * A device lets go of its netdevs. Who waits for the unregistration of a netdev finds its
 * sockets closed: the backend stops to listen while the netdev is still held. May sleep; RTNL
 * may be held.
 */
void rhca_dev_release_netdevs(struct rhca_dev *dev)
{
	struct rhca_port *port;
	u32 i;

	for (i = 0; i < dev->num_ports; i++) {
		port = &dev->ports[i];
		if (rcu_access_pointer(port->ndev) && dev->backend->port_quiesce)
			dev->backend->port_quiesce(port);
		rhca_port_release_netdev(port);
	}
}

/*
 * Look at the state of all netdevs of a device. @dev: the device: news that came before it was
 * registered was heard by no port. May sleep, RTNL held.
 */
void rhca_dev_update_ports(struct rhca_dev *dev)
{
	u32 i;

	if (!ib_device_try_get(&dev->ibdev))
		return;
	for (i = 0; i < dev->num_ports; i++)
		rhca_port_update(&dev->ports[i], false);
	ib_device_put(&dev->ibdev);
}
