// SPDX-License-Identifier: GPL-2.0
/*
 * What has happened to netdevs, for the ports on them: whoever listens to the network
 * stack does not know our devices.
 */
#include <linux/if_vlan.h>
#include <linux/netdevice.h>

#include "core/device.h"
#include "core/port/gid_watch.h"
#include "core/port_events.h"
#include "core/qp/port_qos.h"
#include "core/registry.h"

/**
 * rhca_port_changed - A netdev changed: tell the ports on it
 * @ndev: the netdev
 * @mtu_changed: it was the MTU
 *
 * Context: RTNL held.
 */
void rhca_port_changed(struct net_device *ndev, bool mtu_changed)
{
	struct rhca_port *port;
	struct rhca_dev *dev;

	rcu_read_lock();
	rhca_for_each_port_rcu(dev, port) {
		if (!rhca_port_uses(port, ndev) || !ib_device_try_get(&dev->ibdev))
			continue;
		rhca_port_update(port, mtu_changed);
		ib_device_put(&dev->ibdev);
	}
	rcu_read_unlock();
}

/**
 * rhca_port_address_changed - A netdev has got an IP address, or lost one
 * @ndev: the netdev
 * @removed: which of both
 *
 * Context: any but interrupts; does not sleep.
 */
void rhca_port_address_changed(const struct net_device *ndev, bool removed)
{
	struct rhca_port *port;
	struct rhca_dev *dev;

	rcu_read_lock();
	rhca_for_each_port_rcu(dev, port)
		if (rhca_port_uses(port, ndev))
			rhca_gid_watch_address(port, removed);
	rcu_read_unlock();
}

/**
 * rhca_port_apps_changed - A DCB APP table changed: tell the ports on its netdev
 * @ifindex: of the netdev, in a namespace that nobody told; a port that is not
 *	concerned finds nothing new
 *
 * Context: any but interrupts; does not sleep.
 */
void rhca_port_apps_changed(int ifindex)
{
	const struct net_device *ndev;
	struct rhca_port *port;
	struct rhca_dev *dev;

	rcu_read_lock();
	rhca_for_each_port_rcu(dev, port) {
		ndev = rcu_dereference(port->ndev);
		if (ndev && (ndev->ifindex == ifindex || is_vlan_dev(ndev)))
			rhca_qos_read_apps(port);
	}
	rcu_read_unlock();
}
