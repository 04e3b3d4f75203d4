// SPDX-License-Identifier: GPL-2.0
/*
 * Slots: the state kept for a netdev that has, had or should have a device: its settings and the
 * user's wish. A slot stays with a netdev that moves to another namespace; a netdev that replaces
 * another one on the same hardware inherits it.
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
DEFINE_MUTEX(rhca_slots_mutex);	/* protects the list and the slots */
static bool closed;			/* likewise: the module is being removed; no slots */

/* The slot of a netdev, or NULL. rhca_slots_mutex held. */
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
 * Find or create the slot of a netdev. @removed: also if it is being unregistered, since
 * rhca_slot_netdev_removed() cleans up afterwards. May sleep; rhca_slots_mutex held. Returns NULL
 * if there is no memory, or the netdev or this module is being removed.
 */
struct rhca_slot *rhca_slot_get(const struct net_device *ndev, bool removed)
{
	struct rhca_slot *slot = rhca_slot_find(ndev);

	if (slot || closed || (!removed && ndev->reg_state != NETREG_REGISTERED))
		return slot;
	slot = kzalloc(sizeof(*slot), GFP_KERNEL);
	if (slot) {
		slot->ndev = ndev;
		list_add(&slot->entry, &rhca_slots);
	}
	return slot;
}

/* Free a slot. rhca_slots_mutex held. */
void rhca_slot_forget(struct rhca_slot *slot)
{
	list_del(&slot->entry);
	kfree(slot);
}

/* --- flags -------------------------------------------------------------------------- */

/**
 * rhca_slot_set - Set or clear flags of a netdev
 * @ndev: the netdev
 * @flags: of enum rhca_slot_flag
 * @on: set them
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
 * rhca_slot_is_set - Is any of these flags of a netdev set?
 * @ndev: the netdev
 * @flags: of enum rhca_slot_flag
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
 * Clear @flag and return whether it was set. If the netdev was kicked since its facts were
 * collected, leave the flag set and return false: code that sets it again also sets
 * RHCA_SLOT_KICKED. May sleep; RTNL may be held.
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
 * Start a pass over the netdevs that were kicked or were to be looked at later: each of them once,
 * so that none waits for others that are kicked again. @missed: those with a missed rule as well,
 * which is due again, as a device that may have been in its way was removed. May sleep.
 */
void rhca_slot_begin_pass(bool missed)
{
	const unsigned int now = RHCA_SLOT_KICKED | RHCA_SLOT_LATER |
				 (missed ? RHCA_SLOT_RULE_MISSED : 0);
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	list_for_each_entry(slot, &rhca_slots, entry) {
		if (!(slot->flags & now))
			continue;
		if (slot->flags & now & RHCA_SLOT_RULE_MISSED)
			slot->flags |= RHCA_SLOT_RULE_DUE;
		slot->flags = (slot->flags & ~now) | RHCA_SLOT_IN_PASS;
	}
	mutex_unlock(&rhca_slots_mutex);
}

/*
 * Take the next netdev of the pass and clear RHCA_SLOT_KICKED. May sleep. Returns it with a
 * reference, for dev_put(), or NULL.
 */
struct net_device *rhca_slot_take_next(void)
{
	struct net_device *ndev = NULL;
	struct rhca_slot *slot;

	mutex_lock(&rhca_slots_mutex);
	/* The oldest first, so that devices are named in the order of their netdevs */
	list_for_each_entry_reverse(slot, &rhca_slots, entry) {
		if (!slot->ndev || !(slot->flags & RHCA_SLOT_IN_PASS))
			continue;
		slot->flags &= ~(RHCA_SLOT_IN_PASS | RHCA_SLOT_KICKED);
		/* Const in the slot, which only compares it; valid as long as the slot has it */
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

/* If the device is being removed or moved to another RDMA namespace: for when it is back */
static void set_wish(struct rhca_slot *slot, const struct rhca_dev *dev,
		     enum rhca_wish wish)
{
	if (slot->wish == RHCA_WISH_REMOVED && slot->removed == dev->serial)
		slot->wish_before = wish;
	else
		slot->wish = wish;
}

/*
 * A device was created for "rdma link add" or a @rule of netdevs=. May sleep, RTNL not held: if the
 * netdev has moved since, the wish has ended.
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

/* Record the netdevs of a device, which must have all of them. RTNL held. */
void rhca_slot_note_ports(const struct rhca_dev *dev, struct rhca_slot_ports *ports)
{
	*ports = (struct rhca_slot_ports) { .serial = dev->serial };
	for (; ports->num < dev->num_ports; ports->num++)
		rhca_netdev_note(&ports->netdev[ports->num],
				 rtnl_dereference(dev->ports[ports->num].ndev));
}

/*
 * A device on @ports is being removed and must be created again, unless another one is created
 * first, or a netdev is unregistered or moved. May sleep; RTNL may be held. Returns 0 or -ENOMEM.
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

/* The slot whose device is due to be created again, with @ndev as one of its ports */
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

/* Is a device due to be created again on a netdev? May sleep; RTNL may be held. */
bool rhca_slot_returns(const struct net_device *ndev)
{
	bool returns;

	mutex_lock(&rhca_slots_mutex);
	returns = find_returning(ndev);
	mutex_unlock(&rhca_slots_mutex);
	return returns;
}

/*
 * The device that is due to be created again on a netdev, and its partitions, for a LAG to replace
 * it. The caller holds RTNL or a reference. May sleep. Returns false if there is none, or none that
 * a LAG can replace.
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
 * A pair ends, so the rule that it blocked is due, unless a device is due to be created again on
 * @ndev, its second netdev, which may be NULL. rhca_slots_mutex held.
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

/* Forget a pair, whether or not its LAG exists. rhca_slots_mutex held. */
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

/* Is it known by its index, beside the first one? No longer when it goes or moves away. */
static bool is_beside(const struct net_device *first,
		      const struct net_device *second)
{
	bool ret;

	rcu_read_lock();
	ret = dev_get_by_index_rcu(dev_net(first), second->ifindex) == second;
	rcu_read_unlock();
	return ret;
}

/*
 * Join a netdev to a second one, or part them (@second is NULL), and kick it. May sleep. Returns 0,
 * -ENOMEM, or -ENODEV if the second one is going: a later netdev may get its index.
 */
int rhca_slot_set_pair(const struct net_device *first,
		       const struct net_device *second)
{
	struct rhca_slot *slot;
	int ret = 0;

	mutex_lock(&rhca_slots_mutex);
	slot = rhca_slot_get(first, false);
	if (!slot)
		ret = -ENOMEM;
	else if (second && !is_beside(first, second))
		ret = -ENODEV;
	else
		set_pair(slot, second);
	mutex_unlock(&rhca_slots_mutex);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_set_pair);

/*
 * The two netdevs of a pair cannot have one device: forget the pair. If the netdev was kicked,
 * leave it: the user may have joined it to another one since. May sleep.
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
 * The first netdev of a pair, given its second, to which the caller holds a reference. May sleep.
 * Returns it with a reference, for dev_put(), or NULL.
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

/* --- state and decisions ------------------------------------------------------------ */

/* Copy what decides on a netdev; all zero without a slot. May sleep; RTNL may be held. */
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
			rhca_pkeys_has_partitions(&slot->settings.pkeys);
	}
	mutex_unlock(&rhca_slots_mutex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_read);

/*
 * Record a decision. May sleep. Returns since when, in jiffies, the same row matches with the same
 * device. If another driver's device was changing before, that time counts too, since the end of
 * the change raises no event.
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
 * Free all slots. The netdev notifier, which keeps their pointers valid, is unregistered by now:
 * later device events find no slot and create none
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
