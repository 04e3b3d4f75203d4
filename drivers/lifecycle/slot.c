// SPDX-License-Identifier: GPL-2.0
/*
 * Slots: what is known of a netdev that has, had or shall have a device: the settings,
 * and what the user wanted. A slot stays with a netdev that changes its namespace. A
 * netdev that takes the place of another on the same hardware inherits it.
 *
 * Settings are saved whenever a device ends that its user has not removed, and the next
 * one has them. They are not forgotten then: its netdev may have moved before it was
 * registered, so that it could not be found to be saved, and it ends at once.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/devlink.h>
#include <rhca/compat.h>

#include "lifecycle/slot.h"
#include "core/device.h"
#include "core/device_netdevs.h"
#include "core/port/port_pkeys.h"
#include "core/port/settings.h"
#include "core/registry.h"
#include "core/rules/lag.h"
#include "core/rules/netdev.h"
#include "core/rules/netdev_id.h"

#define MAX_GONE	512	/* netdevs that are waited for */
#define NO_PORT		UINT_MAX

/**
 * struct rhca_slot - What is known of a netdev
 * @entry: in the list of them; of those that are waited for, the last one to go is last
 * @ndev: its netdev, there until the notifier takes it away; NULL when it has gone
 * @parent: name of the netdev's parent device: after a reload or reset there is a
 *	new netdev on it
 * @perm_addr: the netdev's permanent address, which tells those on one parent
 *	apart
 * @dev_port: and so does this, on adapters with several ports
 * @devlink_port: and this, on switches: their ports may have one address; NO_PORT: none
 * @wish: what the user has asked for
 * @wish_before: that it was removed: the wish until then. A device that moves to another
 *	RDMA namespace looks removed on its way
 * @removed: and its number, by which it is known when it is back; 0: none
 * @rule: of netdevs=, if that is the wish
 * @pair: the netdev that the user has joined this one to
 * @flags: of enum rhca_slot_flag
 * @ports: of the device that is to be there again, with RHCA_SLOT_RETURNS
 * @has_settings: @settings are those of the last port on it that was saved
 * @settings: what is kept
 * @row: of the table of decisions that matched last
 * @has: and what the netdev had then
 * @changing: and that another driver's device was being registered or unregistered
 * @since: when the former two became so, in jiffies
 */
struct rhca_slot {
	struct list_head entry;
	const struct net_device *ndev;
	char parent[64];
	u8 perm_addr[MAX_ADDR_LEN];
	u16 dev_port;
	unsigned int devlink_port;
	enum rhca_wish wish;
	enum rhca_wish wish_before;
	u32 removed;
	const struct rhca_netdevs_rule *rule;
	struct rhca_netdev_id pair;
	unsigned int flags;
	struct rhca_slot_ports ports;
	bool has_settings;
	struct rhca_settings settings;
	unsigned int row;
	enum rhca_slot_has has;
	bool changing;
	unsigned long since;
};

static LIST_HEAD(slots);
static DEFINE_MUTEX(slots_mutex);	/* protects it */

/* Would another netdev in its place be known as such? Those of software would not */
static bool is_hardware(const struct net_device *ndev)
{
	return rhca_netdev_on_bus(ndev) &&
	       memchr_inv(ndev->perm_addr, 0, sizeof(ndev->perm_addr));
}

static unsigned int devlink_port(const struct net_device *ndev)
{
	const struct devlink_port *port = rhca_netdev_devlink_port(ndev);

	ASSERT_RTNL();
	return port ? port->index : NO_PORT;
}

static void name_hardware(struct rhca_slot *slot, const struct net_device *ndev)
{
	strscpy(slot->parent, dev_name(ndev->dev.parent), sizeof(slot->parent));
	memcpy(slot->perm_addr, ndev->perm_addr, sizeof(slot->perm_addr));
	slot->dev_port = ndev->dev_port;
	slot->devlink_port = devlink_port(ndev);
}

static bool is_on_hardware(const struct rhca_slot *slot,
			   const struct net_device *ndev)
{
	return is_hardware(ndev) && slot->dev_port == ndev->dev_port &&
	       slot->devlink_port == devlink_port(ndev) &&
	       !strncmp(slot->parent, dev_name(ndev->dev.parent),
			sizeof(slot->parent) - 1) &&
	       !memcmp(slot->perm_addr, ndev->perm_addr,
		       sizeof(slot->perm_addr));
}

static struct rhca_slot *find_slot(const struct net_device *ndev)
{
	struct rhca_slot *slot;

	lockdep_assert_held(&slots_mutex);
	list_for_each_entry(slot, &slots, entry)
		if (slot->ndev == ndev)
			return slot;
	return NULL;
}

/**
 * rhca_slot_netdev_came - A netdev is new, or comes from another namespace
 * @ndev: the netdev; one that takes the place of a netdev that went is it from now on
 *
 * Context: RTNL held.
 */
void rhca_slot_netdev_came(const struct net_device *ndev)
{
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	if (find_slot(ndev))
		goto out;
	list_for_each_entry(slot, &slots, entry) {
		if (slot->ndev || !is_on_hardware(slot, ndev))
			continue;
		slot->ndev = ndev;
		break;
	}
out:
	mutex_unlock(&slots_mutex);
}

/*
 * NULL: no memory, or the netdev has gone. Only rhca_slot_netdev_goes(), which looks at
 * @ndev afterwards or is still to be called for it, and who is called before it, may give
 * it one that is being unregistered.
 */
static struct rhca_slot *get_slot(const struct net_device *ndev, bool goes)
{
	struct rhca_slot *slot = find_slot(ndev);

	if (slot || (!goes && ndev->reg_state != NETREG_REGISTERED))
		return slot;
	slot = kzalloc(sizeof(*slot), GFP_KERNEL);
	if (slot) {
		slot->ndev = ndev;
		list_add(&slot->entry, &slots);
	}
	return slot;
}

/**
 * rhca_slot_set - Something is so of a netdev, or not any more
 * @ndev: the netdev
 * @flag: what
 * @on: it is so
 *
 * Context: may sleep; RTNL may be held.
 * Return: 0 or -ENOMEM.
 */
int rhca_slot_set(const struct net_device *ndev, enum rhca_slot_flag flag,
		  bool on)
{
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	slot = on ? get_slot(ndev, false) : find_slot(ndev);
	if (slot)
		slot->flags = (slot->flags & ~flag) | (on ? flag : 0);
	mutex_unlock(&slots_mutex);
	return slot || !on ? 0 : -ENOMEM;
}

/**
 * rhca_slot_is_set - Is something so of a netdev?
 * @ndev: the netdev
 * @flag: what
 *
 * Context: may sleep; RTNL may be held.
 */
bool rhca_slot_is_set(const struct net_device *ndev, enum rhca_slot_flag flag)
{
	struct rhca_slot_known known;

	rhca_slot_read(ndev, &known);
	return known.flags & flag;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_is_set);

/**
 * rhca_slot_take - Something is so of a netdev no more. Was it?
 * @ndev: the netdev
 * @flag: what
 *
 * Context: may sleep; RTNL may be held.
 */
bool rhca_slot_take(const struct net_device *ndev, enum rhca_slot_flag flag)
{
	struct rhca_slot *slot;
	bool was;

	mutex_lock(&slots_mutex);
	slot = find_slot(ndev);
	was = slot && slot->flags & flag;
	if (was)
		slot->flags &= ~flag;
	mutex_unlock(&slots_mutex);
	return was;
}

/**
 * rhca_slot_look_anew - A look at netdevs begins
 * @lost: a device has left that may have been in the way of rules
 *
 * Those that were to be looked at later are to be looked at now.
 *
 * Context: may sleep.
 */
void rhca_slot_look_anew(bool lost)
{
	const unsigned int now = RHCA_SLOT_LATER |
				 (lost ? RHCA_SLOT_RULE_MISSED : 0);
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	list_for_each_entry(slot, &slots, entry) {
		if (!(slot->flags & now))
			continue;
		if (slot->flags & now & RHCA_SLOT_RULE_MISSED)
			slot->flags |= RHCA_SLOT_RULE_DUE;
		slot->flags = (slot->flags & ~now) | RHCA_SLOT_KICKED;
	}
	mutex_unlock(&slots_mutex);
}

/**
 * rhca_slot_take_kicked - A netdev that is to be looked at
 *
 * Context: may sleep.
 * Return: with a reference, for dev_put(), once for each time that RHCA_SLOT_KICKED was
 * set; NULL: none.
 */
struct net_device *rhca_slot_take_kicked(void)
{
	struct net_device *ndev = NULL;
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	/* The oldest first, so that devices are named in the order of their netdevs */
	list_for_each_entry_reverse(slot, &slots, entry) {
		if (!slot->ndev || !(slot->flags & RHCA_SLOT_KICKED))
			continue;
		slot->flags &= ~RHCA_SLOT_KICKED;
		/* The slot has it to compare; it is there as long as the slot says so */
		ndev = (struct net_device *)slot->ndev;
		dev_hold(ndev);
		break;
	}
	mutex_unlock(&slots_mutex);
	return ndev;
}

/* Of a netdev that is unregistered or moves nothing is wanted there */
static void end_wish(struct rhca_slot *slot)
{
	if (slot->wish != RHCA_WISH_REMOVED)
		slot->wish = RHCA_WISH_NONE;
	slot->wish_before = RHCA_WISH_NONE;
	slot->rule = NULL;
	slot->flags &= ~(RHCA_SLOT_TABLES_DIFFERED | RHCA_SLOT_FAILED |
			 RHCA_SLOT_RULE_MISSED | RHCA_SLOT_RETURNS |
			 RHCA_SLOT_DUE);
}

/* Of the netdev, and of the one that was joined to it */
static void end_pairs(const struct net_device *ndev)
{
	struct rhca_slot *slot;

	list_for_each_entry(slot, &slots, entry)
		if (slot->ndev == ndev || rhca_netdev_is(ndev, &slot->pair))
			slot->pair = (struct rhca_netdev_id) {};
}

static void forget(struct rhca_slot *slot)
{
	list_del(&slot->entry);
	kfree(slot);
}

/* Of a netdev that stays, or has a next one that is known by its hardware */
static bool outlives(const struct net_device *ndev)
{
	return ndev->reg_state == NETREG_REGISTERED || is_hardware(ndev);
}

static int save_port(struct rhca_port *port, bool goes)
{
	struct net_device *ndev = rhca_port_get_netdev(port);
	bool wanted = ndev && outlives(ndev);
	struct rhca_slot *slot = wanted ? get_slot(ndev, goes) : NULL;

	if (slot) {
		slot->has_settings = true;
		rhca_settings_save(port, &slot->settings);
	}
	dev_put(ndev);
	return wanted && !slot ? -ENOMEM : 0;
}

/*
 * @goes: one of its netdevs does, and takes the device along. Others may be unregistered
 * together with it; as the device is still there, they have not been announced yet.
 */
static int save(struct rhca_dev *dev, bool goes)
{
	int ret = 0;
	u32 i;

	if (!rhca_settings_cover(dev))
		return 0;
	for (i = 0; i < dev->num_ports; i++)
		ret = save_port(&dev->ports[i], goes) ?: ret;
	return ret;
}

/**
 * rhca_slot_save - Keep the settings of a device for one that takes its place
 * @dev: the device, which is going to be removed: its partitions do not change any more
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM, and they can be written still.
 */
int rhca_slot_save(struct rhca_dev *dev)
{
	int ret;

	rhca_pkeys_freeze_all(dev, true);
	mutex_lock(&slots_mutex);
	ret = save(dev, false);
	mutex_unlock(&slots_mutex);
	if (ret)
		rhca_pkeys_freeze_all(dev, false);
	return ret;
}

/**
 * rhca_slot_member - Keep what a member of a LAG gets back of it with its next device
 * @ndev: the member
 * @goes: it goes, and rhca_slot_netdev_goes() follows
 * @name: of the device that it had
 * @pkeys: the LAG's partitions
 *
 * Context: may sleep.
 */
void rhca_slot_member(const struct net_device *ndev, bool goes, const char *name,
		      const struct rhca_pkey_table *pkeys)
{
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	slot = get_slot(ndev, goes);
	if (slot) {
		slot->has_settings = true;
		memset(&slot->settings, 0, sizeof(slot->settings));
		strscpy(slot->settings.name, name, sizeof(slot->settings.name));
		slot->settings.pkeys = *pkeys;
		slot->settings.tclass.global = RHCA_TCLASS_OFF;
		slot->settings.cc = (struct rhca_cc)RHCA_CC_DEFAULT;
	} else {
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	}
	mutex_unlock(&slots_mutex);
}

/**
 * rhca_slot_copy - The settings that are kept for a netdev, for a new device on it
 * @ndev: the netdev. They end with a device that its user has removed: the next one
 *	begins anew. One that is only moved to another RDMA namespace, or made again
 *	after rdma_rxe took it away, does not ask
 *
 * Context: may sleep.
 * Return: a copy, for kfree(); NULL: there are none; -ENOMEM: a device without them
 * would be in partitions that it was not in.
 */
struct rhca_settings *rhca_slot_copy(const struct net_device *ndev)
{
	struct rhca_settings *settings = NULL;
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	slot = find_slot(ndev);
	if (slot && slot->wish == RHCA_WISH_REMOVED)
		slot->has_settings = false;
	if (slot && slot->has_settings)
		settings = kmemdup(&slot->settings, sizeof(slot->settings),
				   GFP_KERNEL) ?: ERR_PTR(-ENOMEM);
	mutex_unlock(&slots_mutex);
	return settings;
}

static void forget_oldest_gone(void)
{
	struct rhca_slot *slot, *oldest = NULL;
	u32 num = 0;

	list_for_each_entry_reverse(slot, &slots, entry) {
		if (slot->ndev)
			continue;
		oldest = slot;
		num++;
	}
	if (num > MAX_GONE)
		forget(oldest);
}

/* Another one may be found by what is known of its hardware */
static void wait_for_next(struct rhca_slot *slot, const struct net_device *ndev)
{
	if (!is_hardware(ndev) ||
	    !(slot->has_settings || slot->wish == RHCA_WISH_REMOVED ||
	      slot->flags & RHCA_SLOT_WAS_HARDWARE)) {
		forget(slot);
		return;
	}
	name_hardware(slot, ndev);
	slot->ndev = NULL;
	slot->flags &= ~RHCA_SLOT_LAG_OFF;
	list_move_tail(&slot->entry, &slots);
	forget_oldest_gone();
}

/**
 * rhca_slot_netdev_goes - A netdev is being unregistered, or moves to another namespace
 * @ndev: the netdev, whose device has not been told yet
 *
 * What its user has set is kept: of a netdev that moves, and of hardware's: a reload
 * brings another one in its place. So it is of the other netdevs of the device, which
 * goes. A device that is not registered has been made with what is kept, or its settings
 * were saved when it began its way to another RDMA namespace.
 *
 * Context: RTNL held.
 */
void rhca_slot_netdev_goes(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	struct rhca_slot *slot;

	if (dev)
		rhca_pkeys_freeze_all(dev, true);
	mutex_lock(&slots_mutex);
	if (dev && save(dev, true))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	slot = find_slot(ndev);
	end_pairs(ndev);
	if (slot)
		end_wish(slot);
	if (slot && ndev->reg_state != NETREG_REGISTERED)
		wait_for_next(slot, ndev);
	mutex_unlock(&slots_mutex);
	if (dev)
		ib_device_put(&dev->ibdev);
}

static void note_ports(const struct rhca_dev *dev, struct rhca_slot_ports *ports)
{
	for (ports->num = 0; ports->num < dev->num_ports; ports->num++)
		rhca_netdev_note(&ports->netdev[ports->num],
				 rtnl_dereference(dev->ports[ports->num].ndev));
}

/**
 * rhca_slot_device_taken - Another driver has unregistered a device: it returns
 * @dev: the device, which cannot be found any more. Until now its partitions could be
 *	written
 *
 * Context: may sleep, RTNL not held.
 * Return: false where a netdev has moved: it stays away, and is in the way no more.
 */
bool rhca_slot_device_taken(struct rhca_dev *dev)
{
	struct rhca_slot_ports ports = {};
	bool stays;
	int ret = 0;

	rtnl_lock();
	stays = rhca_dev_netdevs_stay(dev);
	if (stays) {
		note_ports(dev, &ports);
		/* Without them tenants that were kept apart would meet */
		ret = rhca_slot_save(dev) ?:
		      rhca_slot_set_returns(rtnl_dereference(dev->ports[0].ndev),
					    &ports);
	}
	rtnl_unlock();
	if (ret)
		pr_warn("%s: no memory to bring it back\n",
			dev_name(&dev->ibdev.dev));
	return stays;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_device_taken);

/* Drops the reference to it */
static void note_unwanted(struct net_device *ndev, const struct rhca_dev *dev)
{
	struct rhca_slot *slot = ndev ? get_slot(ndev, false) : NULL;

	if (slot) {
		if (slot->wish != RHCA_WISH_REMOVED)
			slot->wish_before = slot->wish;
		slot->wish = RHCA_WISH_REMOVED;
		slot->removed = dev->serial;
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

/**
 * rhca_slot_device_removed - A device is being unregistered, which nobody of us wanted
 * @dev: the device. It may be on its way to another RDMA namespace, where it comes back
 *	and cannot be found meanwhile: its settings are saved, but its partitions
 *	can be written again there
 * @by_user: its user has removed it, unless it comes back: while nobody wants a device
 *	on its netdevs, none is made of an offer or by a rule, and none stands in
 *
 * Context: may sleep.
 */
void rhca_slot_device_removed(struct rhca_dev *dev, bool by_user)
{
	mutex_lock(&slots_mutex);
	save(dev, false);
	if (by_user)
		set_unwanted(dev);
	mutex_unlock(&slots_mutex);
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

/**
 * rhca_slot_device_added - There is a device
 * @dev: the device, new or back from another RDMA namespace. Its netdevs may have moved
 *	meanwhile, and it have let go of them
 *
 * Context: may sleep.
 */
void rhca_slot_device_added(struct rhca_dev *dev)
{
	bool ends = test_bit(RHCA_DEV_REMOVED, &dev->flags);
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	list_for_each_entry(slot, &slots, entry) {
		if (!is_for(slot, dev))
			continue;
		if (slot->wish == RHCA_WISH_REMOVED)
			slot->wish = slot->wish_before;
		slot->removed = 0;
		slot->flags &= ~RHCA_SLOT_FAILED;
		/* What is to follow one that ends already has been noted */
		if (!ends || !dev->replaced.num_devices)
			slot->flags &= ~RHCA_SLOT_RETURNS;
		if (!ends && dev->offer)
			slot->flags &= ~RHCA_SLOT_WAS_HARDWARE;
	}
	mutex_unlock(&slots_mutex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_device_added);

/**
 * rhca_slot_is_unwanted - Has its user removed the device on a netdev?
 * @ndev: the netdev
 *
 * Context: may sleep.
 */
bool rhca_slot_is_unwanted(const struct net_device *ndev)
{
	const struct rhca_slot *slot;
	bool unwanted;

	mutex_lock(&slots_mutex);
	slot = find_slot(ndev);
	unwanted = slot && slot->wish == RHCA_WISH_REMOVED;
	mutex_unlock(&slots_mutex);
	return unwanted;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_is_unwanted);

/* One that is being removed, or moves to another RDMA namespace, has it when it is back */
static void set_wish(struct rhca_slot *slot, const struct rhca_dev *dev,
		     enum rhca_wish wish)
{
	if (slot->wish == RHCA_WISH_REMOVED && slot->removed == dev->serial)
		slot->wish_before = wish;
	else
		slot->wish = wish;
}

/**
 * rhca_slot_set_wish - A device was made because somebody has asked for it
 * @ndev: its first netdev
 * @wish: who has
 * @rule: of netdevs=, if it has; a constant
 *
 * What was refused is no wish: it was not made when its reason had gone. A device of its
 * own is none of a pair.
 *
 * Context: may sleep, RTNL not held: the netdev may have moved since, and its wish ended.
 */
void rhca_slot_set_wish(struct net_device *ndev, enum rhca_wish wish,
			const struct rhca_netdevs_rule *rule)
{
	struct rhca_slot *slot = NULL;
	struct rhca_dev *dev;

	rtnl_lock();
	mutex_lock(&slots_mutex);
	dev = rhca_dev_find(ndev);
	if (dev)
		slot = get_slot(ndev, false);
	if (slot) {
		set_wish(slot, dev, wish);
		slot->rule = rule;
		if (!(slot->flags & RHCA_SLOT_JOIN_DUE))
			slot->pair = (struct rhca_netdev_id) {};
		slot->flags &= ~(RHCA_SLOT_FAILED | RHCA_SLOT_RULE_MISSED);
	}
	mutex_unlock(&slots_mutex);
	rtnl_unlock();
	if (dev)
		ib_device_put(&dev->ibdev);
}

static bool is_served(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	bool served = dev && !test_bit(RHCA_DEV_REMOVED, &dev->flags);

	if (dev)
		ib_device_put(&dev->ibdev);
	return served;
}

static int set_returns(const struct net_device *ndev,
		       const struct rhca_slot_ports *ports)
{
	struct rhca_slot *slot = get_slot(ndev, false);

	if (!slot)
		return -ENOMEM;
	slot->flags |= RHCA_SLOT_RETURNS;
	slot->ports = *ports;
	return 0;
}

/**
 * rhca_slot_set_returns - A device is removed that is to be there again
 * @ndev: its first netdev
 * @ports: all of its netdevs
 *
 * Forgotten when there is one, and when the netdev goes or moves.
 *
 * Context: may sleep; RTNL may be held.
 * Return: 0 or -ENOMEM.
 */
int rhca_slot_set_returns(const struct net_device *ndev,
			  const struct rhca_slot_ports *ports)
{
	int ret;

	mutex_lock(&slots_mutex);
	ret = set_returns(ndev, ports);
	mutex_unlock(&slots_mutex);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_set_returns);

/**
 * rhca_slot_member_returns - The LAG ends that stood for a device
 * @ndev: the device's first netdev
 * @ports: all of its netdevs
 *
 * Somebody may have been quicker: one that has a device again does not wait for it. Who
 * registers one meanwhile calls rhca_slot_device_added() afterwards.
 *
 * Context: may sleep; RTNL may be held.
 * Return: 0 or -ENOMEM.
 */
int rhca_slot_member_returns(const struct net_device *ndev,
			     const struct rhca_slot_ports *ports)
{
	int ret = 0;

	mutex_lock(&slots_mutex);
	if (!is_served(ndev))
		ret = set_returns(ndev, ports);
	mutex_unlock(&slots_mutex);
	return ret;
}

/**
 * rhca_slot_set_pair - The user has joined a netdev to another one, or parted them
 * @first: the netdev
 * @second: the other one, or NULL
 *
 * Context: may sleep.
 */
void rhca_slot_set_pair(const struct net_device *first,
			const struct net_device *second)
{
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	slot = second ? get_slot(first, false) : find_slot(first);
	if (slot)
		rhca_netdev_note(&slot->pair, second);
	mutex_unlock(&slots_mutex);
}

/**
 * rhca_slot_read - What is known of a netdev
 * @ndev: the netdev
 * @known: filled in; all zero if it has no slot
 *
 * Context: may sleep; RTNL may be held.
 */
void rhca_slot_read(const struct net_device *ndev, struct rhca_slot_known *known)
{
	const struct rhca_slot *slot;

	*known = (struct rhca_slot_known) {};
	mutex_lock(&slots_mutex);
	slot = find_slot(ndev);
	if (slot) {
		known->wish = slot->wish;
		known->rule = slot->rule;
		known->pair = slot->pair;
		known->flags = slot->flags;
		known->ports = slot->ports;
		known->tenants = slot->has_settings &&
			rhca_pkeys_part_tenants(&slot->settings.pkeys);
	}
	mutex_unlock(&slots_mutex);
}

/**
 * rhca_slot_decided - The table of decisions was asked for a netdev
 * @ndev: the netdev
 * @f: the facts
 * @row: the row that matched
 *
 * Context: may sleep.
 * Return: in jiffies, since when it is this row, and the netdev has this; or since
 * another driver's device began to change before, since the end of that is no event.
 */
unsigned long rhca_slot_decided(const struct net_device *ndev,
				const struct rhca_slot_facts *f, unsigned int row)
{
	unsigned long since = jiffies;
	struct rhca_slot *slot;

	mutex_lock(&slots_mutex);
	slot = get_slot(ndev, false);
	if (slot && slot->has == f->has && (slot->row == row || slot->changing))
		since = slot->since;
	if (slot) {
		slot->row = row;
		slot->has = f->has;
		slot->changing = f->other == RHCA_OTHER_CHANGING;
		slot->since = since;
	}
	mutex_unlock(&slots_mutex);
	return since;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_decided);

/**
 * rhca_slot_exit - Forget everything, when nobody asks any more
 */
void rhca_slot_exit(void)
{
	struct rhca_slot *slot, *next;

	mutex_lock(&slots_mutex);
	list_for_each_entry_safe(slot, next, &slots, entry)
		forget(slot);
	mutex_unlock(&slots_mutex);
}
