// SPDX-License-Identifier: GPL-2.0
/* Creation and removal of devices: "rdma link add", the parameter netdevs=, and netdev events. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <rhca/compat.h>

#include "borrowed/rxe_module.h"
#include "lifecycle/lag.h"
#include "lifecycle/link.h"
#include "lifecycle/netdevs.h"
#include "lifecycle/others.h"
#include "lifecycle/rxe_links.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_apply.h"
#include "lifecycle/slot_events.h"
#include "lifecycle/slot_facts.h"
#include "core/device.h"
#include "core/mcast.h"
#include "core/port/offer.h"
#include "core/port_events.h"
#include "core/registry.h"

static struct rdma_link_ops link_ops;

static int device_added(struct ib_device *ibdev)
{
	int ret = 0;

	if (rhca_is_device(ibdev)) {
		/* First: the device may already be being unregistered */
		rhca_set_link_ops(ibdev, &link_ops);
		rhca_slot_device_added(to_rhca_dev(ibdev));
		rhca_dev_plugged(to_rhca_dev(ibdev));
		rhca_lag_device_added(to_rhca_dev(ibdev));
	} else {
		ret = rhca_others_add(ibdev);
	}
	rhca_slot_kick(NULL);
	return ret;
}

/* Called first in an unregistration, see borrowed/uverbs_order.c */
static void device_removed(struct ib_device *ibdev, void *data)
{
	struct rhca_dev *dev = to_rhca_dev(ibdev);
	bool by_user;

	if (!rhca_is_device(ibdev)) {
		rhca_others_remove(ibdev);
		rhca_slot_kick(NULL);
		return;
	}
	/*
	 * We did not start this removal. The user did (or moves the device to another namespace),
	 * or rdma_rxe does: then the device is created again if its netdev stays. If it is a
	 * registration that fails, there is nothing new to save
	 */
	by_user = dev->offer || !rhca_in_tree_unloading();
	if (!test_bit(RHCA_DEV_REMOVED, &dev->flags) &&
	    READ_ONCE(dev->registrant) != current)
		rhca_slot_device_removed(dev, by_user);
	rhca_dev_unplugged(dev);
	rhca_slot_kick(NULL);
}

static struct ib_client ib_client = {
	.name		= "roce_hca",
	.add		= device_added,
	.remove		= device_removed,
	.no_kverbs_req	= true,
};

/*
 * "rdma link del": the user wants no device there, even if it is already being removed for another
 * reason and would be created again. If its netdevs have moved, they may have other users' devices
 * by now, which are not meant.
 */
static int __maybe_unused dellink(struct ib_device *ibdev)
{
	struct rhca_dev *dev = to_rhca_dev(ibdev);

	if (rhca_dev_netdevs_stay(dev))
		rhca_slot_device_removed(dev, true);
	return 0;
}

static struct rdma_link_ops link_ops = {
	.type		= "roce",
	.newlink	= rhca_slot_request,
	RHCA_LINK_DEL(dellink)
};

static void netdev_added(struct net_device *ndev)
{
	if (rhca_slot_may_stand_in(ndev))
		return;
	if (rhca_netdevs_rule_of(ndev))
		rhca_slot_set(ndev, RHCA_SLOT_RULE_DUE | RHCA_SLOT_KICKED, true);
	else if (rhca_netdevs_leave_out(ndev))
		pr_info_once("netdevs= leaves out what users make in network namespaces of their own, such as %s\n",
			     netdev_name(ndev));
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	const struct netdev_notifier_changeupper_info *info = ptr;

	switch (event) {
	case NETDEV_REGISTER:
		rhca_slot_netdev_added(ndev);
		fallthrough;
	case NETDEV_CHANGENAME:
		netdev_added(ndev);
		break;
	case NETDEV_CHANGEUPPER:
		if (netif_is_bond_master(info->upper_dev) &&
		    rhca_lag_bond_changed(info->upper_dev))
			rhca_slot_kick(NULL);	/* it, and its members */
		break;
	case NETDEV_UNREGISTER:
		/* Its device is removed too, and with it the other ports */
		if (rhca_slot_netdev_removed(ndev) || rhca_netdev_served(ndev))
			rhca_slot_kick(NULL);
		rhca_dev_remove_netdev(ndev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		rhca_port_changed(ndev, false);
		break;
	case NETDEV_CHANGEMTU:
		rhca_port_changed(ndev, true);
		/* IPv6 may have been disabled or enabled, which raises no GID event */
		rhca_mcast_gids_changed();
		break;
	default:
		return NOTIFY_DONE;
	}
	rhca_slot_kick(ndev);
	return NOTIFY_DONE;
}

static void withdraw_from(struct rhca_dev *dev)
{
	struct net_device *ndev = rhca_port_get_netdev(&dev->ports[0]);

	if (!ndev)
		return;
	/* Without memory the next device starts with defaults */
	if (rhca_slot_save(dev) ||
	    rhca_slot_set(ndev, RHCA_SLOT_WAS_HARDWARE, true))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	dev_put(ndev);
}

static void offer_withdrawn(struct rhca_offer *offer)
{
	rhca_dev_remove_offer(offer, withdraw_from);
	rhca_slot_kick(NULL);
}

static void anything_changed(void)
{
	rhca_slot_kick(NULL);
}

const struct rhca_lifecycle rhca_lifecycle = {
	.offers_changed		= anything_changed,
	.offer_withdrawn	= offer_withdrawn,
	.device_taken		= rhca_slot_device_taken,
	.device_removed		= rhca_slot_save,
	.device_ended		= anything_changed,
};

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

/**
 * rhca_link_init - Start creating devices
 *
 * Registering the notifier announces the netdevs that exist already.
 *
 * Return: 0; -ENOMEM; -EBUSY when rdma_rxe is loaded and rxe_links=Y.
 */
int rhca_link_init(void)
{
	int ret;

	ret = rhca_rxe_links_init();
	if (ret)
		return ret;
	ret = rhca_slot_apply_init();
	if (ret)
		goto err_exit_rxe_links;
	ret = ib_register_client(&ib_client);
	if (ret)
		goto err_exit_apply;
	/* Registering the notifier replays NETDEV_REGISTER, which creates devices */
	ret = register_netdevice_notifier(&netdev_notifier);
	if (ret)
		goto err_unregister_client;
	rhca_slot_apply_start();
	rdma_link_register(&link_ops);
	rhca_rxe_links_start();
	return 0;

err_unregister_client:
	ib_unregister_client(&ib_client);
err_exit_apply:
	rhca_slot_apply_exit();
err_exit_rxe_links:
	rhca_rxe_links_exit();
	return ret;
}

/**
 * rhca_link_exit - Stop creating devices, and remove all
 */
void rhca_link_exit(void)
{
	rhca_rxe_links_stop();
	rdma_link_unregister(&link_ops);
	rhca_slot_apply_stop();
	/* Unregistering the notifier replays NETDEV_UNREGISTER for each netdev */
	unregister_netdevice_notifier(&netdev_notifier);
	rhca_slot_exit();
	rhca_dev_remove_all();
	ib_unregister_client(&ib_client);
	rhca_slot_apply_exit();
	rhca_rxe_links_exit();
}

MODULE_ALIAS_RDMA_LINK("roce");
