// SPDX-License-Identifier: GPL-2.0
/*
 * Events of netdevs, passed on to the ports on them: changes of state; DCB APP tables, which "dcb
 * app" or an LLDP agent writes; and IP addresses, for ports whose netdev ib_core does not watch.
 */
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <net/addrconf.h>
#include <net/dcbevent.h>
#include <net/dcbnl.h>
#include <net/if_inet6.h>

#include "core/port_events.h"
#include "core/device.h"
#include "core/port/gid_watch.h"
#include "core/qp/port_qos.h"
#include "core/registry.h"

/**
 * rhca_port_changed - A netdev changed: update the ports on it
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

static int address_event(const struct net_device *ndev, unsigned long event)
{
	struct rhca_port *port;
	struct rhca_dev *dev;

	if (event != NETDEV_UP && event != NETDEV_DOWN)
		return NOTIFY_DONE;
	rcu_read_lock();
	rhca_for_each_port_rcu(dev, port)
		if (rhca_port_uses(port, ndev))
			rhca_gid_watch_address(port, event == NETDEV_DOWN);
	rcu_read_unlock();
	return NOTIFY_DONE;
}

static int inetaddr_event(struct notifier_block *nb, unsigned long event,
			  void *data)
{
	const struct in_ifaddr *address = data;

	return address_event(address->ifa_dev->dev, event);
}

static int inet6addr_event(struct notifier_block *nb, unsigned long event,
			   void *data)
{
	const struct inet6_ifaddr *address = data;

	return address_event(address->idev->dev, event);
}

/*
 * The event names a netdev by its index, but not the namespace: unaffected ports read the same
 * values again
 */
static int dcb_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct dcb_app_type *changed = data;
	const struct net_device *ndev;
	struct rhca_port *port;
	struct rhca_dev *dev;

	if (event != DCB_APP_EVENT)
		return NOTIFY_DONE;
	rcu_read_lock();
	rhca_for_each_port_rcu(dev, port) {
		ndev = rcu_dereference(port->ndev);
		if (ndev && (ndev->ifindex == changed->ifindex || is_vlan_dev(ndev)))
			rhca_qos_read_apps(port);
	}
	rcu_read_unlock();
	return NOTIFY_DONE;
}

static struct notifier_block dcb_notifier = {
	.notifier_call = dcb_event,
};

static struct notifier_block inetaddr_notifier = {
	.notifier_call = inetaddr_event,
};

static struct notifier_block inet6addr_notifier = {
	.notifier_call = inet6addr_event,
};

/**
 * rhca_port_events_init - Register the notifiers, before there are ports
 *
 * Changes of state are reported through rhca_port_changed() instead.
 *
 * Return: 0, or an error with nothing registered.
 */
int rhca_port_events_init(void)
{
	int ret = register_dcbevent_notifier(&dcb_notifier);

	if (ret)
		return ret;
	register_inetaddr_notifier(&inetaddr_notifier);
	if (IS_ENABLED(CONFIG_IPV6))
		register_inet6addr_notifier(&inet6addr_notifier);
	return 0;
}

/**
 * rhca_port_events_exit - Undo rhca_port_events_init()
 */
void rhca_port_events_exit(void)
{
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&inet6addr_notifier);
	unregister_inetaddr_notifier(&inetaddr_notifier);
	unregister_dcbevent_notifier(&dcb_notifier);
}
