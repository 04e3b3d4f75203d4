// SPDX-License-Identifier: GPL-2.0
/*
 * What events do to slots: netdevs come and go, devices appear and end.
 *
 * Settings are saved whenever a device ends that its user has not removed, and the next
 * one has them. They are not forgotten then: its netdev may have moved before it was
 * registered, so that it could not be found to be saved, and it ends at once.
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

#define MAX_GONE	512	/* netdevs that are waited for */
#define NO_PORT		UINT_MAX

/*
 * A virtual function has no permanent address until its administrator gives it one, and each
 * netdev on it a random one: its port is what stays.
 */
static bool is_function(const struct net_device *ndev)
{
	return dev_is_pci(ndev->dev.parent) && rhca_netdev_devlink_port(ndev);
}

/* Would another netdev in its place be known as such? Those of software would not */
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
	memset(hardware, 0, sizeof(*hardware));	/* gaps, too: it is compared as a whole */
	strscpy(hardware->parent, dev_name(ndev->dev.parent), sizeof(hardware->parent));
	memcpy(hardware->perm_addr, ndev->perm_addr, sizeof(hardware->perm_addr));
	hardware->dev_port = ndev->dev_port;
	hardware->devlink_port = port ? port->index : NO_PORT;
}

/* --- settings ----------------------------------------------------------------------- */

/*
 * Of a netdev that stays, or has a next one that is known by its hardware. One whose end was
 * told while its device was on its way to another RDMA namespace has had its turn.
 */
static bool outlives(const struct rhca_port *port, const struct net_device *ndev)
{
	return ndev->reg_state == NETREG_REGISTERED ||
	       (ndev->reg_state == NETREG_UNREGISTERING && !port->told_of_end &&
		is_hardware(ndev));
}

/* A tenant that is let into a partition afterwards is forgotten, see rhca_pkeys_freeze() */
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

static int save_port(struct rhca_port *port, bool goes)
{
	struct net_device *ndev = rhca_port_get_netdev(port);
	bool wanted = ndev && outlives(port, ndev);
	struct rhca_slot *slot = wanted ? rhca_slot_get(ndev, goes) : NULL;

	if (slot) {
		slot->has_settings = true;
		save_settings(port, &slot->settings);
	}
	dev_put(ndev);
	return wanted && !slot ? -ENOMEM : 0;
}

/* What a member of a LAG gets back of it with its next device */
static void save_member(struct rhca_slot *slot, const char *name, struct rhca_dev *lag)
{
	slot->has_settings = true;
	memset(&slot->settings, 0, sizeof(slot->settings));
	strscpy(slot->settings.name, name, sizeof(slot->settings.name));
	rhca_pkeys_copy(&lag->ports[0], &slot->settings.pkeys);
	slot->settings.tclass.global = RHCA_TCLASS_OFF;
	slot->settings.cc = (struct rhca_cc)RHCA_CC_DEFAULT;
}

/* They have had slots since their devices were removed. The LAG's own settings end */
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
 * @goes: one of its netdevs does, and takes the device along. Others may be unregistered
 * together with it, and their end be told afterwards.
 */
static int save(struct rhca_dev *dev, bool goes)
{
	int ret = 0;
	u32 i;

	if (rhca_dev_is_lag(dev)) {
		save_members(dev);
		return 0;
	}
	for (i = 0; i < dev->num_ports; i++)
		ret = save_port(&dev->ports[i], goes) ?: ret;
	return ret;
}

/*
 * Keep the settings of a device that is going to be removed for one that takes its place: its
 * partitions do not change any more. Those of a LAG are for the devices that it stands for. May
 * sleep. Returns 0; -ENOMEM, and they can be written still.
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

/* They end with a device that its user has removed: one that is only moved does not ask */
static const struct rhca_settings *find_settings(struct rhca_slot *slot, bool lag)
{
	if (lag)
		return slot->flags & RHCA_SLOT_LAG_RETURNS ? &slot->lag : NULL;
	if (slot->wish == RHCA_WISH_REMOVED)
		slot->has_settings = false;
	return slot->has_settings ? &slot->settings : NULL;
}

/*
 * The settings that are kept for a netdev, for a new device on it; @lag: for a LAG that is made
 * again, on it or as the first of a pair. May sleep. Returns a copy, for kfree(); NULL: there are
 * none; -ENOMEM: a device without them would be in partitions that it was not in.
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
 * A netdev is new, or comes from another namespace. One that takes the place of a netdev that
 * went is it from now on. RTNL held.
 */
void rhca_slot_netdev_came(const struct net_device *ndev)
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

/* Of a netdev that is unregistered or moves nothing is wanted there */
static void end_wish(struct rhca_slot *slot)
{
	if (slot->wish != RHCA_WISH_REMOVED)
		slot->wish = RHCA_WISH_NONE;
	slot->wish_before = RHCA_WISH_NONE;
	slot->rule = NULL;
	slot->flags &= ~(RHCA_SLOT_LAG_WAITS | RHCA_SLOT_LAG_FAILED |
			 RHCA_SLOT_RULE_MISSED | RHCA_SLOT_RETURNS |
			 RHCA_SLOT_LAG_RETURNS | RHCA_SLOT_RULE_DUE);
	/* What the table of decisions says from now on it has not said before */
	slot->row = 0;
	slot->changing = false;
}

/* Of the netdev, and of the one that was joined to it. Returns whether there were any */
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

/* A device that was on several netdevs does not return without one of them */
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

/* Another one may be found by what is known of its hardware */
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

/* What would be stored of the netdev from now on nobody would take away */
static void note_end(const struct net_device *ndev)
{
	struct rhca_port *port;
	struct rhca_dev *dev;

	rcu_read_lock();
	rhca_for_each_port_rcu(dev, port)
		if (rcu_access_pointer(port->ndev) == ndev)
			port->told_of_end = true;
	rcu_read_unlock();
}

/*
 * A netdev is being unregistered, or moves to another namespace; its device has not been told
 * yet. What its user has set is kept: of a netdev that moves, and of hardware's: a reload brings
 * another one in its place. So it is of the other netdevs of the device, which goes, and of a
 * LAG's members, be the netdev one of them. A device that is not registered has been made with
 * what is kept, or its settings were saved when it began its way to another RDMA namespace.
 * RTNL held. Returns whether another one was joined to it, which is to be looked at.
 */
bool rhca_slot_netdev_goes(const struct net_device *ndev)
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
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_netdev_goes);

/* --- devices ------------------------------------------------------------------------ */

/* For the LAG that is made again on the same netdevs */
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
 * Another driver has unregistered a device: it returns. Until now its partitions could be
 * written. A LAG is made again of the devices that return. May sleep, RTNL not held. Returns
 * false where a netdev has moved: it stays away, and is in the way no more.
 */
bool rhca_slot_device_taken(struct rhca_dev *dev)
{
	struct rhca_slot_ports ports;
	bool stays;
	int ret = 0;

	rtnl_lock();
	stays = rhca_dev_netdevs_stay(dev);
	if (stays) {
		rhca_slot_note_ports(dev, &ports);
		/* Without them tenants that were kept apart would meet */
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
	return stays;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_device_taken);

/* Drops the reference to it */
static void note_unwanted(struct net_device *ndev, const struct rhca_dev *dev)
{
	struct rhca_slot *slot = ndev ? rhca_slot_get(ndev, false) : NULL;

	if (slot) {
		if (slot->wish != RHCA_WISH_REMOVED)
			slot->wish_before = slot->wish;
		slot->wish = RHCA_WISH_REMOVED;
		slot->removed = dev->serial;
		/* Of its own: nobody has asked for a LAG in its place */
		if (netif_is_bond_master(ndev) && !dev->replaced.num_devices)
			slot->flags |= RHCA_SLOT_LAG_WAITS;
	}
	dev_put(ndev);
}

/* A LAG is the device of its members, too */
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
 * A device is being unregistered, which nobody of us wanted. It may be on its way to another
 * RDMA namespace, where it comes back and its partitions can be written again. @by_user: its
 * user has removed it, unless it comes back: none is made on its netdevs until somebody wants
 * one. May sleep.
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

/* Its netdev may be another one by now, on the same hardware */
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
 * It can be found before its clients hear of it, and they do once more when it is back from
 * another RDMA namespace: be it already to make room, it is not the one that was to return
 */
static bool makes_room(const struct rhca_slot *slot, const struct rhca_dev *dev)
{
	return slot->flags & RHCA_SLOT_RETURNS && slot->ports.serial == dev->serial;
}

/* What was to follow devices before it has come */
static void end_waiting(struct rhca_slot *slot, const struct rhca_dev *dev)
{
	slot->flags &= ~RHCA_SLOT_LAG_RETURNS;
	/* What a LAG stands for returns when that has ended */
	if (!slot->ndev || !rhca_lag_record_covers(&dev->replaced, slot->ndev))
		slot->flags &= ~RHCA_SLOT_RETURNS;
	if (!rcu_access_pointer(dev->ports[0].second))
		rhca_slot_end_pair(slot);
	/* Under the mutex: one that is withdrawn is claimed before its slot has this */
	if (dev->offer && !test_bit(RHCA_DEV_REMOVED, &dev->flags))
		slot->flags &= ~RHCA_SLOT_WAS_HARDWARE;
}

/*
 * There is a device, new or back from another RDMA namespace. Its netdevs may have moved
 * meanwhile, and it have let go of them. May sleep.
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
