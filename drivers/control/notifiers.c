// SPDX-License-Identifier: GPL-2.0
/*
 * News for ports: DCB APP tables, which "dcb app" or an LLDP agent writes, and IP addresses,
 * for ports whose netdev ib_core does not watch.
 */
#include <linux/inetdevice.h>
#include <linux/notifier.h>
#include <net/addrconf.h>
#include <net/dcbevent.h>
#include <net/dcbnl.h>
#include <net/if_inet6.h>

#include "control/notifiers.h"
#include "core/port_events.h"

static int apps_changed(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	const struct dcb_app_type *changed = ptr;

	if (event == DCB_APP_EVENT)
		rhca_port_apps_changed(changed->ifindex);
	return NOTIFY_DONE;
}

static int address_event(const struct net_device *ndev, unsigned long event)
{
	if (event == NETDEV_UP || event == NETDEV_DOWN)
		rhca_port_address_changed(ndev, event == NETDEV_DOWN);
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

static struct notifier_block dcb_notifier = {
	.notifier_call = apps_changed,
};

static struct notifier_block inetaddr_notifier = {
	.notifier_call = inetaddr_event,
};

static struct notifier_block inet6addr_notifier = {
	.notifier_call = inet6addr_event,
};

/**
 * rhca_notifiers_init - Begin to listen, before there are ports
 *
 * Return: 0, or an error with nothing registered.
 */
int rhca_notifiers_init(void)
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
 * rhca_notifiers_exit - Undo rhca_notifiers_init()
 */
void rhca_notifiers_exit(void)
{
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&inet6addr_notifier);
	unregister_inetaddr_notifier(&inetaddr_notifier);
	unregister_dcbevent_notifier(&dcb_notifier);
}
