// SPDX-License-Identifier: GPL-2.0
/*
 * Slots: what is known of a netdev that has, had or shall have a device: the settings,
 * and what the user wanted. A slot stays with a netdev that changes its namespace. A
 * netdev that takes the place of another on the same hardware inherits it.
 */
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rhca/compat.h>

#include "lifecycle/slot.h"
#include "core/registry.h"
#include "core/rules/netdev.h"

LIST_HEAD(rhca_slots);
DEFINE_MUTEX(rhca_slots_mutex);	/* protects it, and what is in it */
static bool closed;			/* likewise: the module goes, there are no slots */

/* The slot of a netdev. rhca_slots_mutex held. Returns NULL: it has none. */
struct rhca_slot *rhca_slot_find(const struct net_device *ndev)
{
	struct rhca_slot *slot;

	lockdep_assert_held(&rhca_slots_mutex);
	list_for_each_entry(slot, &rhca_slots, entry)
		if (slot->ndev == ndev)
			return slot;
	return NULL;
}

/*
 * The slot of a netdev, which it gets if it has none. @goes: it may be one that is being
 * unregistered: rhca_slot_netdev_goes() looks at it afterwards. May sleep; rhca_slots_mutex held.
 * Returns NULL: no memory, or the netdev has gone, or the module goes.
 */
struct rhca_slot *rhca_slot_get(const struct net_device *ndev, bool goes)
{
	struct rhca_slot *slot = rhca_slot_find(ndev);

	if (slot || closed || (!goes && ndev->reg_state != NETREG_REGISTERED))
		return slot;
	slot = kzalloc(sizeof(*slot), GFP_KERNEL);
	if (slot) {
		slot->ndev = ndev;
		list_add(&slot->entry, &rhca_slots);
	}
	return slot;
}

/* Nothing is known of a netdev any more. rhca_slots_mutex held. */
void rhca_slot_forget(struct rhca_slot *slot)
{
	list_del(&slot->entry);
	kfree(slot);
}

/* --- flags -------------------------------------------------------------------------- */

/**
 * rhca_slot_set - Something is so of a netdev, or not any more
 * @ndev: the netdev
 * @flags: what, of enum rhca_slot_flag
 * @on: it is so
 *
 * Context: may sleep; RTNL may be held.
 * Return: 0 or -ENOMEM.
 */
int rhca_slot_set(const struct net_device *ndev, unsigned int flags, bool on)
{
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	slot = on ? rhca_slot_get(ndev, false) : rhca_slot_find(ndev);
	if (slot)
		slot->flags = (slot->flags & ~flags) | (on ? flags : 0);
	mutex_unlock(&rhca_slots_mutex);
	return slot || !on ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_set);

/**
 * rhca_slot_is_set - Is something so of a netdev?
 * @ndev: the netdev
 * @flags: what: one of these
 *
 * Context: may sleep; RTNL may be held.
 */
bool rhca_slot_is_set(const struct net_device *ndev, unsigned int flags)
{
	struct rhca_slot_known known;

	rhca_slot_read(ndev, &known);
	return known.flags & flags;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_is_set);

/*
 * What is due is decided on, and no more due. Is it its turn? Not if something has happened to
 * the netdev since it was looked at: who makes something due, again, sets RHCA_SLOT_KICKED with
 * it. May sleep; RTNL may be held.
 */
bool rhca_slot_take(const struct net_device *ndev, enum rhca_slot_flag flag)
{
	struct rhca_slot *slot;
	bool was;

	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_find(ndev);
	was = slot && slot->flags & flag && !(slot->flags & RHCA_SLOT_KICKED);
	if (was)
		slot->flags &= ~flag;
	mutex_unlock(&rhca_slots_mutex);
	return was;
}

/*
 * A look at netdevs begins. Those that were to be looked at later are to be looked at now.
 * @lost: a device has left that may have been in the way of rules. May sleep.
 */
void rhca_slot_look_anew(bool lost)
{
	const unsigned int now = RHCA_SLOT_LATER |
				 (lost ? RHCA_SLOT_RULE_MISSED : 0);
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	list_for_each_entry(slot, &rhca_slots, entry) {
		if (!(slot->flags & now))
			continue;
		if (slot->flags & now & RHCA_SLOT_RULE_MISSED)
			slot->flags |= RHCA_SLOT_RULE_DUE;
		slot->flags = (slot->flags & ~now) | RHCA_SLOT_KICKED;
	}
	mutex_unlock(&rhca_slots_mutex);
}

/*
 * A netdev that is to be looked at. May sleep. Returns with a reference, for dev_put(), once
 * for each time that RHCA_SLOT_KICKED was set; NULL: none.
 */
struct net_device *rhca_slot_take_kicked(void)
{
	struct net_device *ndev = NULL;
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	/* The oldest first, so that devices are named in the order of their netdevs */
	list_for_each_entry_reverse(slot, &rhca_slots, entry) {
		if (!slot->ndev || !(slot->flags & RHCA_SLOT_KICKED))
			continue;
		slot->flags &= ~RHCA_SLOT_KICKED;
		/* The slot has it to compare; it is there as long as the slot says so */
		ndev = (struct net_device *)slot->ndev;
		dev_hold(ndev);
		break;
	}
	mutex_unlock(&rhca_slots_mutex);
	return ndev;
}

/* --- wishes ------------------------------------------------------------------------- */

/* Has its user removed the device on a netdev? May sleep. */
bool rhca_slot_is_unwanted(const struct net_device *ndev)
{
	struct rhca_slot_known known;

	rhca_slot_read(ndev, &known);
	return known.wish == RHCA_WISH_REMOVED;
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

/*
 * A device was made because somebody has asked for it, or a @rule of netdevs=. May sleep, RTNL
 * not held: the netdev may have moved since, and its wish ended.
 */
void rhca_slot_set_wish(struct net_device *ndev, enum rhca_wish wish,
			const struct rhca_netdevs_rule *rule)
{
	struct rhca_slot *slot = NULL;
	struct rhca_dev *dev;

	rtnl_lock();
	mutex_lock(&rhca_slots_mutex);
	dev = rhca_dev_find(ndev);
	if (dev)
		slot = rhca_slot_get(ndev, false);
	if (slot) {
		set_wish(slot, dev, wish);
		slot->rule = rule;
		slot->flags &= ~RHCA_SLOT_RULE_MISSED;
	}
	mutex_unlock(&rhca_slots_mutex);
	rtnl_unlock();
	if (dev)
		ib_device_put(&dev->ibdev);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_set_wish);

/* The netdevs that a device is on. @dev: the device, which has all of them. RTNL held. */
void rhca_slot_note_ports(const struct rhca_dev *dev, struct rhca_slot_ports *ports)
{
	*ports = (struct rhca_slot_ports) { .serial = dev->serial };
	for (; ports->num < dev->num_ports; ports->num++)
		rhca_netdev_note(&ports->netdev[ports->num],
				 rtnl_dereference(dev->ports[ports->num].ndev));
}

/*
 * A device is removed that is to be there again, on all of @ports, unless there is another one
 * before, or a netdev goes or moves. May sleep; RTNL may be held. Returns 0 or -ENOMEM.
 */
int rhca_slot_set_returns(const struct net_device *ndev,
			  const struct rhca_slot_ports *ports)
{
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_get(ndev, false);
	if (slot) {
		slot->flags |= RHCA_SLOT_RETURNS;
		slot->ports = *ports;
	}
	mutex_unlock(&rhca_slots_mutex);
	return slot ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_set_returns);

/* The slot of the device that is to be on a netdev again */
static const struct rhca_slot *find_returning(const struct net_device *ndev)
{
	const struct rhca_slot *slot;
	u32 i;

	list_for_each_entry(slot, &rhca_slots, entry) {
		if (!(slot->flags & RHCA_SLOT_RETURNS) ||
		    slot->wish == RHCA_WISH_REMOVED)
			continue;
		for (i = 0; i < slot->ports.num; i++)
			if (rhca_netdev_is(ndev, &slot->ports.netdev[i]))
				return slot;
	}
	return NULL;
}

/*
 * The device that returns to a netdev, for a LAG in its place, and its partitions there. May
 * sleep; RTNL held, or the caller has a reference. Returns false: there is none, or not one
 * that a LAG can stand for.
 */
bool rhca_slot_returning(const struct net_device *ndev,
			 struct rhca_lag_replaced *device,
			 struct rhca_pkey_table *pkeys)
{
	const struct rhca_slot *slot, *own;
	bool found;

	mutex_lock(&rhca_slots_mutex);
	slot = find_returning(ndev);
	own = rhca_slot_find(ndev);
	found = slot && slot->has_settings && own && own->has_settings &&
		slot->ports.num <= RHCA_LAG_MEMBERS;
	if (found) {
		strscpy(device->name, slot->settings.name, sizeof(device->name));
		device->num_ports = slot->ports.num;
		memcpy(device->netdev, slot->ports.netdev, sizeof(device->netdev));
		*pkeys = own->settings.pkeys;
	}
	mutex_unlock(&rhca_slots_mutex);
	return found;
}

/*
 * A pair ends: the rule that it was in the way of is due, unless a device returns to its second
 * netdev, @ndev, which may be NULL. rhca_slots_mutex held.
 */
void rhca_slot_follow_rule(const struct net_device *ndev)
{
	struct rhca_slot *slot = ndev ? rhca_slot_find(ndev) : NULL;

	if (!slot || slot->flags & RHCA_SLOT_RETURNS ||
	    !(slot->flags & RHCA_SLOT_RULE_MISSED))
		return;
	slot->flags &= ~RHCA_SLOT_RULE_MISSED;
	slot->flags |= RHCA_SLOT_RULE_DUE | RHCA_SLOT_KICKED;
}

/* The wish for a pair ends, be there a LAG of it by now, or not. rhca_slots_mutex held. */
void rhca_slot_end_pair(struct rhca_slot *first)
{
	struct net_device *second = rhca_netdev_get(&first->pair);

	rhca_slot_follow_rule(second);
	dev_put(second);
	first->pair = (struct rhca_netdev_id) {};
	first->flags &= ~RHCA_SLOT_LAG_RETURNS;
}

static void set_pair(struct rhca_slot *first, const struct net_device *second)
{
	rhca_slot_end_pair(first);
	rhca_netdev_note(&first->pair, second);
	first->flags |= RHCA_SLOT_KICKED;
}

/*
 * The user has joined a netdev, which is to be looked at, to another one; or parted them: NULL.
 * May sleep. Returns 0 or -ENOMEM.
 */
int rhca_slot_set_pair(const struct net_device *first,
		       const struct net_device *second)
{
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_get(first, false);
	if (slot)
		set_pair(slot, second);
	mutex_unlock(&rhca_slots_mutex);
	return slot ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_set_pair);

/*
 * A netdev and the one that it was joined to cannot have one device. Whom the user has joined
 * it to since that was looked at is to be looked at first. May sleep.
 */
void rhca_slot_give_up_pair(const struct net_device *first)
{
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_find(first);
	if (slot && !(slot->flags & RHCA_SLOT_KICKED))
		set_pair(slot, NULL);
	mutex_unlock(&rhca_slots_mutex);
}

/*
 * The netdev that the user has joined to this one. May sleep; the caller has a reference.
 * Returns with a reference, for dev_put(); NULL: there is none.
 */
struct net_device *rhca_slot_joined_to(const struct net_device *second)
{
	struct net_device *first = NULL;
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	list_for_each_entry(slot, &rhca_slots, entry) {
		if (!slot->ndev || !rhca_netdev_is(second, &slot->pair))
			continue;
		first = (struct net_device *)slot->ndev;
		dev_hold(first);
		break;
	}
	mutex_unlock(&rhca_slots_mutex);
	return first;
}

/* --- what is known, and followed from it -------------------------------------------- */

/* What is known of a netdev; all zero if it has no slot. May sleep; RTNL may be held. */
void rhca_slot_read(const struct net_device *ndev, struct rhca_slot_known *known)
{
	const struct rhca_slot *slot;

	*known = (struct rhca_slot_known) {};
	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_find(ndev);
	if (slot) {
		known->wish = slot->wish;
		known->rule = slot->rule;
		known->pair = slot->pair;
		known->flags = slot->flags;
		known->ports = slot->ports;
		known->tenants = slot->has_settings &&
			rhca_pkeys_part_tenants(&slot->settings.pkeys);
	}
	mutex_unlock(&rhca_slots_mutex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_read);

/*
 * The table of decisions was asked for a netdev. May sleep. Returns since when, in jiffies, the
 * same row matches, and the netdev has the same; or since another driver's device began to
 * change before, since the end of that is no event.
 */
unsigned long rhca_slot_decided(const struct net_device *ndev,
				const struct rhca_slot_facts *f,
				enum rhca_slot_row row)
{
	unsigned long since = jiffies;
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_get(ndev, false);
	if (slot && slot->has == f->has && (slot->row == row || slot->changing))
		since = slot->since;
	if (slot) {
		slot->row = row;
		slot->has = f->has;
		slot->changing = f->other == RHCA_OTHER_CHANGING;
		slot->since = since;
	}
	mutex_unlock(&rhca_slots_mutex);
	return since;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_decided);

/*
 * Nobody hears of netdevs that go any more, which slots point to: what is told of devices until
 * the last one has ended finds no slot, and makes none
 */
void rhca_slot_exit(void)
{
	struct rhca_slot *slot, *next;

	mutex_lock(&rhca_slots_mutex);
	closed = true;
	list_for_each_entry_safe(slot, next, &rhca_slots, entry)
		rhca_slot_forget(slot);
	mutex_unlock(&rhca_slots_mutex);
}
