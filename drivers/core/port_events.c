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

struct change {
	const struct net_device *ndev;
	bool mtu;
};

static void tell_change(struct rhca_port *port, const void *what)
{
	const struct change *change = what;

	if (!rhca_port_uses(port, change->ndev) ||
	    !ib_device_try_get(&port->dev->ibdev))
		return;
	rhca_port_update(port, change->mtu);
	ib_device_put(&port->dev->ibdev);
}

/**
 * rhca_port_changed - A netdev changed: tell the ports on it
 * @ndev: the netdev
 * @mtu_changed: it was the MTU
 *
 * Context: RTNL held.
 */
void rhca_port_changed(struct net_device *ndev, bool mtu_changed)
{
	struct change change = { .ndev = ndev, .mtu = mtu_changed };

	rhca_port_for_each(tell_change, &change);
}

struct address_change {
	const struct net_device *ndev;
	bool removed;
};

static void tell_address_change(struct rhca_port *port, const void *what)
{
	const struct address_change *change = what;

	if (rhca_port_uses(port, change->ndev))
		rhca_gid_watch_address(port, change->removed);
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
	struct address_change change = { .ndev = ndev, .removed = removed };

	rhca_port_for_each(tell_address_change, &change);
}

static void tell_apps_changed(struct rhca_port *port, const void *what)
{
	const struct net_device *ndev = rcu_dereference(port->ndev);
	const int *ifindex = what;

	if (ndev && (ndev->ifindex == *ifindex || is_vlan_dev(ndev)))
		rhca_qos_read_apps(port);
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
	rhca_port_for_each(tell_apps_changed, &ifindex);
}
