// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of slots by events of netdevs and devices.
 *
 * Settings are saved whenever a device ends that its user has not removed, and given to the next
 * one. They are kept even then: if a netdev moves before its new device is registered, that device
 * cannot be found to save them again, and ends at once.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/devlink.h>
#include <rhca/compat.h>

#include "lifecycle/slot_events.h"
#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/port/settings.h"
#include "core/registry.h"
#include "core/rules/lag.h"
#include "core/rules/netdev.h"
#include "lifecycle/slot.h"

#define MAX_GONE	512	/* unregistered netdevs whose slots are kept */
#define NO_PORT		UINT_MAX

/*
 * Until its administrator sets one, a virtual function has no permanent address, and its netdev a
 * new random one each time: identify it by its devlink port.
 */
static bool is_function(const struct net_device *ndev)
{
	return dev_is_pci(ndev->dev.parent) && rhca_netdev_devlink_port(ndev);
}

/* Can a netdev that replaces it be recognised? Not if it is a software netdev */
static bool is_hardware(const struct net_device *ndev)
{
	return rhca_netdev_on_bus(ndev) &&
	       (memchr_inv(ndev->perm_addr, 0, sizeof(ndev->perm_addr)) ||
		is_function(ndev));
}

static void name_hardware(struct rhca_slot_hardware *hardware,
			  const struct net_device *ndev)
{
	const struct devlink_port *port = rhca_netdev_devlink_port(ndev);

	ASSERT_RTNL();
	memset(hardware, 0, sizeof(*hardware));	/* padding, too: for memcmp() */
	strscpy(hardware->parent, dev_name(ndev->dev.parent), sizeof(hardware->parent));
	memcpy(hardware->perm_addr, ndev->perm_addr, sizeof(hardware->perm_addr));
	hardware->dev_port = ndev->dev_port;
	hardware->devlink_port = port ? port->index : NO_PORT;
}

/* --- settings ----------------------------------------------------------------------- */

/*
 * Are settings to be kept? Yes if the netdev stays, or a successor is recognised by its hardware.
 * Not if its end was announced before, while its device was moving to another RDMA namespace.
 */
static bool outlives(const struct rhca_port *port, const struct net_device *ndev)
{
	return ndev->reg_state == NETREG_REGISTERED ||
	       (ndev->reg_state == NETREG_UNREGISTERING && !port->end_reported &&
		is_hardware(ndev));
}

/* Later changes of partitions are lost, see rhca_pkeys_freeze() */
static void save_settings(struct rhca_port *port, struct rhca_settings *settings)
{
	strscpy(settings->name, port->dev->ibdev.name, sizeof(settings->name));
	rhca_pkeys_copy(port, &settings->pkeys);
	mutex_lock(&port->qos.tclass_lock);
	settings->tclass = port->qos.tclass;
	mutex_unlock(&port->qos.tclass_lock);
	settings->ttl = READ_ONCE(port->qos.ttl);
	settings->cc = port->cc;
}

static int save_port(struct rhca_port *port, bool removed)
{
	struct net_device *ndev = rhca_port_get_netdev(port);
	bool wanted = ndev && outlives(port, ndev);
	struct rhca_slot *slot = wanted ? rhca_slot_get(ndev, removed) : NULL;

	if (slot) {
		slot->has_settings = true;
		save_settings(port, &slot->settings);
	}
	dev_put(ndev);
	return wanted && !slot ? -ENOMEM : 0;
}

/* Save what a LAG's member gets for its next device */
static void save_member(struct rhca_slot *slot, const char *name, struct rhca_dev *lag)
{
	slot->has_settings = true;
	memset(&slot->settings, 0, sizeof(slot->settings));
	strscpy(slot->settings.name, name, sizeof(slot->settings.name));
	rhca_pkeys_copy(&lag->ports[0], &slot->settings.pkeys);
	slot->settings.tclass.global = RHCA_TCLASS_OFF;
	slot->settings.cc = (struct rhca_cc)RHCA_CC_DEFAULT;
}

/* They have slots since their devices were removed. The LAG's own settings are dropped */
static void save_members(struct rhca_dev *lag)
{
	const struct rhca_lag_replaced *old;
	struct rhca_slot *slot;
	u32 i, port;

	list_for_each_entry(slot, &rhca_slots, entry) {
		if (!slot->ndev)
			continue;
		if (slot->ndev == lag->ports[0].made_on) {
			slot->has_settings = false;
			slot->flags &= ~RHCA_SLOT_LAG_RETURNS;
		}
		for (i = 0; i < lag->replaced.num_devices; i++) {
			old = &lag->replaced.device[i];
			for (port = 0; port < old->num_ports; port++)
				if (rhca_netdev_is(slot->ndev, &old->netdev[port]))
					save_member(slot, old->name, lag);
		}
	}
}

/*
 * @removed: one of its netdevs is unregistered or moved, which removes the device. Others may be
 * unregistered together with it, with their events afterwards.
 */
static int save(struct rhca_dev *dev, bool removed)
{
	int ret = 0;
	u32 i;

	if (rhca_dev_is_lag(dev)) {
		save_members(dev);
		return 0;
	}
	for (i = 0; i < dev->num_ports; i++)
		ret = save_port(&dev->ports[i], removed) ?: ret;
	return ret;
}

/*
 * Save the settings of a device that is about to be removed, and freeze its partitions: others are
 * writable until it is unregistered, when this is called again. Those of a LAG are saved once, for
 * its members' devices. May sleep. Returns 0; on -ENOMEM the partitions stay writable.
 */
int rhca_slot_save(struct rhca_dev *dev)
{
	int ret;

	rhca_pkeys_freeze(dev, true);
	mutex_lock(&rhca_slots_mutex);
	ret = save(dev, false);
	rhca_slot_follow_rule(rcu_access_pointer(dev->ports[0].second));
	mutex_unlock(&rhca_slots_mutex);
	if (ret)
		rhca_pkeys_freeze(dev, false);
	return ret;
}

/* Drop settings once the user has removed the device; a mere move does not call this */
static const struct rhca_settings *find_settings(struct rhca_slot *slot, bool lag)
{
	if (lag)
		return slot->flags & RHCA_SLOT_LAG_RETURNS ? &slot->lag : NULL;
	if (slot->wish == RHCA_WISH_REMOVED)
		slot->has_settings = false;
	return slot->has_settings ? &slot->settings : NULL;
}

/*
 * Copy the settings kept for a new device on a netdev. @lag: for a LAG to be created again, on it
 * or as the first of a pair. May sleep. Returns a copy, for kfree(); NULL if there are none; on
 * -ENOMEM create no device, since it would be in partitions that it was not in.
 */
struct rhca_settings *rhca_slot_copy(const struct net_device *ndev, bool lag)
{
	const struct rhca_settings *settings;
	struct rhca_settings *copy = NULL;
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_find(ndev);
	settings = slot ? find_settings(slot, lag) : NULL;
	if (settings)
		copy = kmemdup(settings, sizeof(*settings), GFP_KERNEL) ?: ERR_PTR(-ENOMEM);
	mutex_unlock(&rhca_slots_mutex);
	return copy;
}

/* --- netdevs ------------------------------------------------------------------------ */

/*
 * A netdev is new, or from another namespace. If it replaces an unregistered one, it inherits that
 * one's slot. RTNL held.
 */
void rhca_slot_netdev_added(const struct net_device *ndev)
{
	struct rhca_slot_hardware hardware;
	struct rhca_slot *slot;

	if (!is_hardware(ndev))
		return;
	name_hardware(&hardware, ndev);
	mutex_lock(&rhca_slots_mutex);
	if (rhca_slot_find(ndev))
		goto out;
	list_for_each_entry(slot, &rhca_slots, entry) {
		if (slot->ndev || memcmp(&slot->hardware, &hardware, sizeof(hardware)))
			continue;
		slot->ndev = ndev;
		break;
	}
out:
	mutex_unlock(&rhca_slots_mutex);
}

/* Forget wishes for a netdev that is unregistered or moved */
static void end_wish(struct rhca_slot *slot)
{
	if (slot->wish != RHCA_WISH_REMOVED)
		slot->wish = RHCA_WISH_NONE;
	slot->wish_before = RHCA_WISH_NONE;
	slot->rule = NULL;
	slot->flags &= ~(RHCA_SLOT_LAG_WAITS | RHCA_SLOT_LAG_FAILED |
			 RHCA_SLOT_RULE_MISSED | RHCA_SLOT_RETURNS |
			 RHCA_SLOT_LAG_RETURNS | RHCA_SLOT_RULE_DUE);
	/* Decisions start over */
	slot->row = 0;
	slot->changing = false;
}

/* End the pairs with this netdev. Returns whether there were any */
static bool end_pairs(const struct net_device *ndev)
{
	struct rhca_slot *slot;
	bool any = false;

	list_for_each_entry(slot, &rhca_slots, entry)
		if (slot->ndev == ndev || rhca_netdev_is(ndev, &slot->pair)) {
			any |= slot->pair.ifindex;
			rhca_slot_end_pair(slot);
		}
	return any;
}

/* A device with several ports is not created again without one of them */
static void end_returns(const struct net_device *ndev)
{
	struct rhca_slot *slot;
	u32 i;

	list_for_each_entry(slot, &rhca_slots, entry)
		for (i = 0; i < slot->ports.num; i++)
			if (rhca_netdev_is(ndev, &slot->ports.netdev[i]))
				slot->flags &= ~RHCA_SLOT_RETURNS;
}

static void forget_oldest_gone(void)
{
	struct rhca_slot *slot, *oldest = NULL;
	u32 num = 0;

	list_for_each_entry_reverse(slot, &rhca_slots, entry) {
		if (slot->ndev)
			continue;
		oldest = slot;
		num++;
	}
	if (num > MAX_GONE)
		rhca_slot_forget(oldest);
}

/* Keep the slot for a netdev on the same hardware, or free it */
static void wait_for_next(struct rhca_slot *slot, const struct net_device *ndev)
{
	if (!is_hardware(ndev) ||
	    !(slot->has_settings || slot->wish == RHCA_WISH_REMOVED ||
	      slot->flags & RHCA_SLOT_WAS_HARDWARE)) {
		rhca_slot_forget(slot);
		return;
	}
	name_hardware(&slot->hardware, ndev);
	slot->ndev = NULL;
	slot->flags &= ~RHCA_SLOT_LAG_OFF;
	list_move_tail(&slot->entry, &rhca_slots);
	forget_oldest_gone();
}

/* Mark its ports: what is stored for the netdev after this would never be freed */
static void note_end(const struct net_device *ndev)
{
	struct rhca_port *port;
	struct rhca_dev *dev;

	rcu_read_lock();
	rhca_for_each_port_rcu(dev, port)
		if (rcu_access_pointer(port->ndev) == ndev)
			port->end_reported = true;
	rcu_read_unlock();
}

/*
 * A netdev is being unregistered or moved to another namespace; its device still exists. Save the
 * settings if the netdev moves, or is hardware, which a reload replaces; also for the other netdevs
 * of the device, which is removed, and for all members of a LAG, even if the netdev is one. A
 * device that is not registered needs no saving: it was made with the kept settings, or its own
 * were saved when it began to move to another RDMA namespace. RTNL held. Returns whether the netdev
 * was in a pair; the caller then kicks the other one.
 */
bool rhca_slot_netdev_removed(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev) ?: rhca_dev_find_lag(ndev);
	struct rhca_slot *slot;
	bool was_joined;

	if (dev)
		rhca_pkeys_freeze(dev, true);
	mutex_lock(&rhca_slots_mutex);
	if (dev && save(dev, true))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	if (dev)
		rhca_slot_follow_rule(rcu_access_pointer(dev->ports[0].second));
	slot = rhca_slot_find(ndev);
	was_joined = end_pairs(ndev);
	end_returns(ndev);
	if (slot)
		end_wish(slot);
	if (slot && ndev->reg_state != NETREG_REGISTERED)
		wait_for_next(slot, ndev);
	note_end(ndev);
	mutex_unlock(&rhca_slots_mutex);
	if (dev)
		ib_device_put(&dev->ibdev);
	return was_joined;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_netdev_removed);

/* --- devices ------------------------------------------------------------------------ */

/* Save a LAG's settings for when it is created again */
static int save_lag(struct rhca_dev *lag)
{
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_get(rtnl_dereference(lag->ports[0].ndev), false);
	if (slot) {
		slot->flags |= RHCA_SLOT_LAG_RETURNS;
		save_settings(&lag->ports[0], &slot->lag);
	}
	mutex_unlock(&rhca_slots_mutex);
	return slot ? 0 : -ENOMEM;
}

/*
 * Another driver has unregistered a device of ours: save it to be created again (a LAG: from its
 * members' devices, which are created again). Until now its partitions were writable. May sleep,
 * RTNL not held. If a netdev has moved, it is not.
 */
void rhca_slot_device_taken(struct rhca_dev *dev)
{
	struct rhca_slot_ports ports;
	int ret = 0;

	rtnl_lock();
	if (rhca_dev_netdevs_stay(dev)) {
		rhca_slot_note_ports(dev, &ports);
		/* Without its P_Keys isolated tenants would see each other */
		ret = rhca_slot_save(dev);
		if (rhca_dev_is_lag(dev))
			ret = save_lag(dev) ?: ret;
		else if (!ret)
			ret = rhca_slot_set_returns(rtnl_dereference(dev->ports[0].ndev),
						    &ports);
	}
	rtnl_unlock();
	if (ret)
		pr_warn("%s: no memory to bring it back\n", dev->ibdev.name);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_device_taken);

/* Mark a netdev as removed by the user; puts the reference to it */
static void note_unwanted(struct net_device *ndev, const struct rhca_dev *dev)
{
	struct rhca_slot *slot = ndev ? rhca_slot_get(ndev, false) : NULL;

	if (slot) {
		if (slot->wish != RHCA_WISH_REMOVED)
			slot->wish_before = slot->wish;
		slot->wish = RHCA_WISH_REMOVED;
		slot->removed = dev->serial;
		/* Not a LAG: its removal must not create one */
		if (netif_is_bond_master(ndev) && !dev->replaced.num_devices)
			slot->flags |= RHCA_SLOT_LAG_WAITS;
	}
	dev_put(ndev);
}

/* A LAG is also the device of its members */
static void set_unwanted(struct rhca_dev *dev)
{
	const struct rhca_lag_replaced *old = dev->replaced.device;
	u32 i, port;

	for (i = 0; i < dev->num_ports; i++)
		note_unwanted(rhca_port_get_netdev(&dev->ports[i]), dev);
	for (i = 0; i < dev->replaced.num_devices; i++, old++)
		for (port = 0; port < old->num_ports; port++)
			note_unwanted(rhca_netdev_get(&old->netdev[port]), dev);
}

/*
 * A device is being unregistered, but not by us. It may be moving to another RDMA namespace, where
 * it is registered again and its partitions become writable. @by_user: treat it as removed by its
 * user, unless it is registered again: create none on its netdevs without a new request. May sleep.
 */
void rhca_slot_device_removed(struct rhca_dev *dev, bool by_user)
{
	mutex_lock(&rhca_slots_mutex);
	save(dev, false);
	if (by_user)
		set_unwanted(dev);
	mutex_unlock(&rhca_slots_mutex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_device_removed);

/* Is this the slot of a device? Its netdev may have been replaced, on the same hardware */
static bool is_for(const struct rhca_slot *slot, const struct rhca_dev *dev)
{
	u32 i;

	if (slot->removed == dev->serial)
		return true;
	if (!slot->ndev)
		return false;
	for (i = 0; i < dev->num_ports; i++)
		if (dev->ports[i].made_on == slot->ndev)
			return true;
	return rhca_lag_record_covers(&dev->replaced, slot->ndev);
}

/*
 * Is the device itself the one to be created again? It may be claimed before clients have seen it,
 * and clients see it again after a move to another RDMA namespace: it is not its own successor
 */
static bool makes_room(const struct rhca_slot *slot, const struct rhca_dev *dev)
{
	return slot->flags & RHCA_SLOT_RETURNS && slot->ports.serial == dev->serial;
}

/* A device was added: whatever waited for one is done */
static void end_waiting(struct rhca_slot *slot, const struct rhca_dev *dev)
{
	slot->flags &= ~RHCA_SLOT_LAG_RETURNS;
	/* Members' devices are created again when the LAG ends */
	if (!slot->ndev || !rhca_lag_record_covers(&dev->replaced, slot->ndev))
		slot->flags &= ~RHCA_SLOT_RETURNS;
	if (!rcu_access_pointer(dev->ports[0].second))
		rhca_slot_end_pair(slot);
	/* Under the mutex: a withdrawn device is claimed before WAS_HARDWARE is set */
	if (dev->offer && !test_bit(RHCA_DEV_REMOVED, &dev->flags))
		slot->flags &= ~RHCA_SLOT_WAS_HARDWARE;
}

/*
 * A device was added, new or moved from another RDMA namespace. By now its netdevs may have moved,
 * and the device may have dropped them. May sleep.
 */
void rhca_slot_device_added(struct rhca_dev *dev)
{
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	list_for_each_entry(slot, &rhca_slots, entry) {
		if (!is_for(slot, dev))
			continue;
		if (slot->wish == RHCA_WISH_REMOVED)
			slot->wish = slot->wish_before;
		slot->removed = 0;
		if (!makes_room(slot, dev))
			end_waiting(slot, dev);
	}
	mutex_unlock(&rhca_slots_mutex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_device_added);
