// SPDX-License-Identifier: GPL-2.0
/*
 * The list of all devices: creation, lookup and removal.
 *
 * A device is removed in three cases: its netdev is unregistered, its user removes it ("rdma link
 * del", module unload), or another driver unregisters every device with our driver id, as the
 * in-tree software driver does on unload. All end in dealloc_driver(); after the third a new device
 * is created.
 */
#include <linux/rtnetlink.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "borrowed/rxe_module.h"
#include "core/device.h"
#include "core/mcast.h"
#include "core/port/offer.h"
#include "core/port/gid_watch.h"
#include "core/qp/port_qos.h"
#include "core/qp/qp.h"
#include "core/registry.h"

/*
 * All devices. devices_mutex protects the list and serialises creation; packets walk it under RCU.
 * Never take it under RTNL, which registration takes inside it.
 */
LIST_HEAD(rhca_devices);
static DEFINE_MUTEX(devices_mutex);

/* Devices that are not freed; the module stays until there are none */
static atomic_t num_devices = ATOMIC_INIT(0);
/* Wakes module unload: the last device was freed, or one can be found again */
static DECLARE_WAIT_QUEUE_HEAD(devices_wait);

static void list_device(struct rhca_dev *dev)
{
	u32 i;

	list_add_tail_rcu(&dev->entry, &rhca_devices);
	/* Changes from here on raise events */
	for (i = 0; i < dev->num_ports; i++)
		rhca_qos_read_apps(&dev->ports[i]);
}

/* Packets to QP1 may be walking the list */
static void unlist_device(struct rhca_dev *dev)
{
	mutex_lock(&devices_mutex);
	list_del_rcu(&dev->entry);
	mutex_unlock(&devices_mutex);
	synchronize_rcu();
}

/* Does rdma_rxe unregister it? Its exit unregisters all devices with our shared driver id */
static bool is_taken(const struct rhca_dev *dev)
{
	/* Hardware returns through its bus */
	return !test_bit(RHCA_DEV_REMOVED, &dev->flags) && !dev->offer &&
	       rhca_in_tree_unloading();
}

/* ib_core calls this once no user of the device is left */
static void dealloc_driver(struct ib_device *ibdev)
{
	struct rhca_dev *dev = to_rhca_dev(ibdev);
	bool had_offer = dev->offer;

	/* While it is listed no successor reads them */
	if (test_bit(RHCA_DEV_REMOVED, &dev->flags) && !rhca_dev_is_lag(dev))
		rhca_lifecycle.device_removed(dev);
	unlist_device(dev);
	trace_rhca_device(ibdev->name, "", "gone", 0);
	if (is_taken(dev))
		rhca_lifecycle.device_taken(dev);
	rhca_dev_close_ports(dev);
	rhca_dev_free_parts(dev);
	/* Its offer is free again, perhaps for another netdev */
	if (had_offer)
		rhca_offers_recheck();
	/* After the last device the module may be freed: hold it until this has returned */
	mutex_lock(&devices_mutex);
	rhca_lifecycle.device_ended();
	if (atomic_dec_and_test(&num_devices))
		wake_up(&devices_wait);
	mutex_unlock(&devices_mutex);
}

/**
 * rhca_dev_unplugged - Move QPs to ERR, with all completions, before processes lose their objects
 * @dev: the device, which is being unregistered, or moved to another RDMA namespace, see
 *	enable_driver()
 *
 * Context: may sleep.
 */
void rhca_dev_unplugged(struct rhca_dev *dev)
{
	trace_rhca_device(dev->ibdev.name, "", "unplugged", 0);
	set_bit(RHCA_DEV_UNPLUGGED, &dev->flags);
	rhca_qp_for_each(dev, rhca_qp_quiesce);
	if (dev->backend->dev_quiesce)
		dev->backend->dev_quiesce(dev);
}

static bool is_on(const struct rhca_dev *dev, const void *ndev)
{
	u32 i;

	for (i = 0; i < dev->num_ports; i++)
		if (rhca_port_uses(&dev->ports[i], ndev))
			return true;
	return false;
}

/* Is it a LAG that replaced the device on a netdev, which need not be its member any more? */
static bool stands_for(const struct rhca_dev *dev, const void *ndev)
{
	return rhca_lag_record_covers(&dev->replaced, ndev);
}

/*
 * Does it exclude a device of the netdev's own? Until its end, which raises an event for @ndev; but
 * not once it has lost its netdev, as its users may hold it for long.
 */
static bool leads(const struct rhca_dev *dev, const void *ndev)
{
	return rcu_access_pointer(dev->ports[0].ndev) && stands_for(dev, ndev);
}

static bool is_of_offer(const struct rhca_dev *dev, const void *offer)
{
	return !offer || dev->offer == offer;
}

static bool has_guid(const struct rhca_dev *dev, const void *guid)
{
	return dev->ibdev.node_guid == *(const __be64 *)guid;
}

static bool any_device(bool (*fits)(const struct rhca_dev *dev, const void *what),
		       const void *what)
{
	struct rhca_dev *dev;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &rhca_devices, entry)
		found |= fits(dev, what);
	rcu_read_unlock();
	return found;
}

/* Find the first match that is registered, with a reference */
static struct rhca_dev *
find_device(bool (*fits)(const struct rhca_dev *dev, const void *what),
	    const void *what)
{
	struct rhca_dev *dev, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &rhca_devices, entry) {
		if (fits(dev, what) && ib_device_try_get(&dev->ibdev)) {
			found = dev;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/**
 * rhca_netdev_served - Is there a device of ours on this netdev?
 * @ndev: the netdev
 */
bool rhca_netdev_served(const struct net_device *ndev)
{
	return any_device(is_on, ndev);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdev_served);

/**
 * rhca_netdev_led - Is there a LAG that serves this netdev?
 * @ndev: the netdev; the caller has a reference, or RTNL
 */
bool rhca_netdev_led(const struct net_device *ndev)
{
	return any_device(leads, ndev);
}

/*
 * ib_core calls this before any client, which may already admit processes: the device is being
 * registered, or has moved to another RDMA namespace
 */
static int enable_driver(struct ib_device *ibdev)
{
	clear_bit(RHCA_DEV_UNPLUGGED, &to_rhca_dev(ibdev)->flags);
	return 0;
}

static const struct ib_device_ops registry_verbs = {
	.dealloc_driver	= dealloc_driver,
	.enable_driver	= enable_driver,
};

static const char *name_of(const struct rhca_dev_spec *spec)
{
	/* ib_core takes it as a pattern; only a renamed device can have a % in its name */
	if (spec->name && !strchr(spec->name, '%'))
		return spec->name;
	if (netif_is_bond_master(spec->netdevs[0]))
		return "roce_bond%d";
	return spec->second ? "roce_lag%d" : "roce%d";
}

static int register_device(struct rhca_dev *dev,
			   const struct rhca_dev_spec *spec)
{
	int ret;

	ret = rhca_dev_open_ports(dev);
	if (ret)
		return ret;
	list_device(dev);
	WRITE_ONCE(dev->registrant, current);
	ret = ib_register_device(&dev->ibdev, name_of(spec),
				 dev->offer ? dev->offer->dma_device : NULL);
	WRITE_ONCE(dev->registrant, NULL);
	if (ret) {
		list_del_rcu(&dev->entry);
		synchronize_rcu();
		rhca_dev_close_ports(dev);
	}
	return ret;
}

/**
 * rhca_dev_plugged - A device was added, or has moved to another RDMA namespace
 * @dev: the device; whether its netdevs are still there is decided in lifecycle/
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_dev_plugged(struct rhca_dev *dev)
{
	u32 i;

	/* Changes of state until now reached no port */
	rtnl_lock();
	for (i = 0; i < dev->num_ports; i++)
		rhca_port_update(&dev->ports[i], false);
	rtnl_unlock();
	rhca_gid_watch_registered(dev);
	wake_up(&devices_wait);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_dev_plugged);

/*
 * NVMe, iSER and RTRS find what they have for a device by its GUID. Netdevs may share a MAC, and a
 * netdev may have a new device while users hold the old one, which is listed until its end: count
 * down from the marker FF-FE of an EUI-48.
 */
static void make_guid_unique(struct rhca_dev *dev)
{
	__be64 *guid = &dev->ibdev.node_guid;

	lockdep_assert_held(&devices_mutex);
	while (any_device(has_guid, guid))
		be64_add_cpu(guid, -BIT_ULL(24));
}

static int create_locked(const struct rhca_dev_spec *spec)
{
	struct rhca_dev *dev;
	u32 i;
	int ret;

	for (i = 0; i < spec->num_ports; i++)
		if (rhca_netdev_served(spec->netdevs[i]))
			return -EEXIST;
	if (spec->second && rhca_netdev_served(spec->second))
		return -EEXIST;
	dev = rhca_dev_alloc(spec);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (!dev->offer)
		make_guid_unique(dev);
	ib_set_device_ops(&dev->ibdev, &registry_verbs);
	atomic_inc(&num_devices);
	ret = register_device(dev, spec);
	trace_rhca_device(ret ? "" : dev->ibdev.name, spec->netdevs[0]->name,
			  ret ? "failed" : "registered", ret);
	if (ret) {
		/* A device that was never registered has no dealloc_driver() */
		rhca_dev_free_parts(dev);
		dev->ibdev.ops.dealloc_driver = NULL;
		ib_dealloc_device(&dev->ibdev);
		atomic_dec(&num_devices);
		return ret;
	}
	/* RTNL: a move is complete, or has not begun, and will find the device */
	rtnl_lock();
	ret = rhca_dev_netdevs_stay(dev) ? 0 : -ENODEV;
	rtnl_unlock();
	return ret;
}

/**
 * rhca_dev_create - Create and register a device
 * @spec: its description
 *
 * Context: may sleep; RTNL not held, since registration queries ethtool.
 * Return: 0; -EEXIST if one of the netdevs has a device; -EALREADY while the offer has
 * another, ending device; -ENFILE or -EEXIST from ib_core if the name is taken; -ENODEV if a
 * netdev was unregistered or moved meanwhile, when the device, if there is one, is removed by
 * lifecycle/; an error of the backend.
 */
int rhca_dev_create(const struct rhca_dev_spec *spec)
{
	int ret;

	mutex_lock(&devices_mutex);
	ret = create_locked(spec);
	mutex_unlock(&devices_mutex);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_dev_create);

/**
 * rhca_dev_find - Find the device on a netdev
 * @ndev: the netdev
 *
 * Return: the device with a reference that keeps it registered, for
 * ib_device_put(); NULL when there is none or it is being unregistered.
 */
struct rhca_dev *rhca_dev_find(const struct net_device *ndev)
{
	return find_device(is_on, ndev);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_dev_find);

/**
 * rhca_dev_find_lag - Find the LAG that replaced the device on a netdev
 * @ndev: the netdev, which need not be its member any more
 *
 * Return: as rhca_dev_find().
 */
struct rhca_dev *rhca_dev_find_lag(const struct net_device *ndev)
{
	return find_device(stands_for, ndev);
}

/**
 * rhca_dev_drop - Release a device's netdevs, and remove it in the background
 * @dev: a device with a reference that keeps it registered, which the caller puts
 *
 * Context: RTNL held.
 */
void rhca_dev_drop(struct rhca_dev *dev)
{
	ASSERT_RTNL();
	rhca_dev_release_netdevs(dev);
	rhca_dev_claim(dev);
	ib_unregister_device_queued(&dev->ibdev);
}

/**
 * rhca_dev_remove_netdev - Remove the device on a netdev that is being unregistered
 * @ndev: the netdev
 *
 * In the background, but its ports stop receiving and release their netdevs at once: the
 * unregistration does not wait for users of the device, and the other netdevs are free.
 *
 * Context: RTNL held.
 */
void rhca_dev_remove_netdev(struct net_device *ndev)
{
	struct rhca_dev *found;

	rhca_mcast_forget_netdev(ndev);
	found = rhca_dev_find(ndev);
	if (!found)
		return;
	rhca_dev_drop(found);
	ib_device_put(&found->ibdev);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_dev_remove_netdev);

/**
 * rhca_dev_remove_later - Remove a device for good, in the background
 * @dev: from rhca_dev_find(), whose reference is put
 *
 * Context: may sleep. Its netdevs are free when @device_ended is called.
 * Return: false if it was claimed already.
 */
bool rhca_dev_remove_later(struct rhca_dev *dev)
{
	bool first = rhca_dev_claim(dev);

	ib_unregister_device_queued(&dev->ibdev);
	ib_device_put(&dev->ibdev);
	return first;
}

/**
 * rhca_dev_remove_offer - Remove the devices that were created from an offer
 * @offer: the offer
 * @before: called with each of them before it is unregistered
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_dev_remove_offer(const struct rhca_offer *offer,
			   void (*before)(struct rhca_dev *dev))
{
	struct rhca_dev *dev;

	while ((dev = find_device(is_of_offer, offer))) {
		if (rhca_dev_claim(dev))
			before(dev);
		ib_unregister_device_and_put(&dev->ibdev);
	}
}

/*
 * An unregistered device is either ending, in dealloc_driver(), or moving to another RDMA
 * namespace, and then is passed to rhca_dev_plugged(): both wake this up.
 */
static struct rhca_dev *wait_for_device(void)
{
	struct rhca_dev *dev;

	wait_event(devices_wait,
		   (dev = find_device(is_of_offer, NULL)) || !atomic_read(&num_devices));
	return dev;
}

/**
 * rhca_dev_remove_all - Remove all devices for good, at module unload
 *
 * Context: may sleep; no new device can be requested any more.
 */
void rhca_dev_remove_all(void)
{
	struct rhca_dev *dev;

	while ((dev = wait_for_device())) {
		rhca_dev_claim(dev);
		ib_unregister_device_and_put(&dev->ibdev);
	}
	/* dealloc_driver() of the last device holds this until it is done */
	mutex_lock(&devices_mutex);
	mutex_unlock(&devices_mutex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_dev_remove_all);
