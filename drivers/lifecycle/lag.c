// SPDX-License-Identifier: GPL-2.0
/*
 * One device in place of two: which bonds and pairs of netdevs make one.
 *
 * A bond of exactly two ports in a mode that RoCE supports becomes one device, and so do two
 * netdevs joined through the file roce_lag_ecmp_dev. The devices of the members are removed; they
 * are created again when the LAG ends. The table in slot_wants.c decides, with the facts from here.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rhca/compat.h>

#include "borrowed/bonding.h"
#include "core/device.h"
#include "core/registry.h"
#include "core/rules/netdev.h"
#include "lifecycle/slot.h"
#include "lifecycle/lag.h"
#include "lifecycle/lag_members.h"
#include "lifecycle/netdev_check.h"

/* --- bonds ------------------------------------------------------------------------ */

/**
 * rhca_lag_bond_of - The bond that a netdev is, or is a member of
 * @ndev: the netdev
 *
 * Context: RTNL held, or RCU read side.
 * Return: the bond, even if it is itself the port of a bridge, or NULL.
 */
struct net_device *rhca_lag_bond_of(struct net_device *ndev)
{
	struct net_device *master;

	if (netif_is_bond_master(ndev))
		return ndev;
	rcu_read_lock();
	master = netdev_master_upper_dev_get_rcu(ndev);
	rcu_read_unlock();
	return master && netif_is_bond_master(master) ? master : NULL;
}

static bool bond_qualifies_now(struct net_device *bond,
			       struct rhca_lag_members *members)
{
	ASSERT_RTNL();
	members->facts.bond_mode = rhca_bonding_mode(bond);
	rhca_lag_find_members(bond, members);
	return bond->reg_state == NETREG_REGISTERED &&
	       rhca_lag_decide(&members->facts) != RHCA_LAG_NONE;
}

/* Does a netdev have a device of ours, or one being created or due to be created again? */
static bool has_own(const struct net_device *ndev)
{
	return rhca_netdev_served(ndev) || rhca_slot_returns(ndev);
}

/**
 * rhca_lag_bond_concerned - The bond whose LAG a netdev's device may decide on
 * @ndev: the netdev
 *
 * Context: may sleep, RTNL held.
 * Return: the bond that it is or is a member of, if it has a device of ours or one due to be
 * created again, else NULL.
 */
struct net_device *rhca_lag_bond_concerned(struct net_device *ndev)
{
	struct net_device *bond = rhca_lag_bond_of(ndev);

	return bond && has_own(ndev) ? bond : NULL;
}

/*
 * Should one device replace those of a bond's members? Fills in @members with their devices, or
 * with those that the existing LAG replaces. The caller holds RTNL.
 */
bool rhca_lag_bond_is_lag(struct net_device *bond, struct rhca_lag_members *members)
{
	bool is_lag;

	rhca_lag_find_replaced(bond, members);
	if (!members->record.num_devices && has_own(bond))
		return false;
	if (rhca_slot_is_set(bond, RHCA_SLOT_LAG_WAITS | RHCA_SLOT_LAG_FAILED))
		return false;
	is_lag = bond_qualifies_now(bond, members);
	if (members->facts.partitions_differ)
		rhca_slot_set(bond, RHCA_SLOT_LAG_WAITS, true);
	return is_lag;
}

/**
 * rhca_lag_bond_changed - A member was added to or removed from a bond
 * @bond: the bond
 *
 * Context: may sleep, RTNL held.
 * Return: whether the caller has to kick it and its members: one that has left is not needed for
 * that, as a LAG takes two.
 */
bool rhca_lag_bond_changed(struct net_device *bond)
{
	bool concerned = has_own(bond);
	struct net_device *member;
	struct list_head *iter;

	ASSERT_RTNL();
	rhca_slot_set(bond, RHCA_SLOT_LAG_WAITS | RHCA_SLOT_LAG_FAILED |
		      RHCA_SLOT_LAG_RETURNS, false);
	netdev_for_each_lower_dev(bond, member, iter)
		concerned |= has_own(member);
	return concerned;
}

static void bond_of_port_changed(struct rhca_port *port)
{
	struct net_device *ndev, *bond;

	rcu_read_lock();
	ndev = rcu_dereference(port->ndev);
	bond = ndev ? rhca_lag_bond_of(ndev) : NULL;
	dev_hold(bond);
	rcu_read_unlock();
	if (bond)
		rhca_slot_set(bond, RHCA_SLOT_LAG_WAITS, false);
	dev_put(bond);
}

/* A device of ours was added, perhaps on a bond's member. The caller kicks bonds. May sleep. */
void rhca_lag_device_added(struct rhca_dev *dev)
{
	u32 i;

	for (i = 0; i < dev->num_ports; i++)
		bond_of_port_changed(&dev->ports[i]);
}

/* --- pairs that the user has joined ------------------------------------------------ */

/* Has the device recorded last several ports? It may be one that is due to be created again */
static bool has_ports(const struct rhca_lag_record *record)
{
	return record->num_devices && record->device[record->num_devices - 1].num_ports > 1;
}

/* Can the device on a netdev be half of a pair? If so, record it */
static bool record_half(struct rhca_lag_members *members, struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	bool usable;

	if (!dev || test_bit(RHCA_DEV_REMOVED, &dev->flags)) {
		usable = rhca_lag_record_returning(members, ndev) || !dev;
	} else {
		usable = dev->num_ports == 1 && !dev->replaced.num_devices &&
			 !rhca_lag_by_hardware(dev);
		if (usable)
			rhca_lag_record_device(members, dev);
	}
	if (dev)
		ib_device_put(&dev->ibdev);
	return usable && !members->facts.partitions_differ && !has_ports(&members->record);
}

/*
 * Can one device serve two netdevs without a bond? Fills in @members with their devices. The caller
 * holds references to both. May sleep.
 */
bool rhca_lag_may_join(struct net_device *first, struct net_device *second,
		       struct rhca_lag_members *members)
{
	*members = (struct rhca_lag_members) {};
	return record_half(members, first) && members->record.num_devices &&
	       record_half(members, second);
}

/*
 * Find the devices that a LAG on a netdev would replace. @first: a bond, or the first netdev of a
 * pair; @second is then set to the other one, with a reference. Returns false if there is no LAG to
 * make. May sleep, RTNL not held.
 */
bool rhca_lag_find(struct net_device *first, struct rhca_lag_members *members,
		   struct net_device **second)
{
	struct rhca_slot_known known;
	bool is_lag;

	rhca_slot_read(first, &known);
	*second = rhca_netdev_get(&known.pair);
	if (*second)
		return rhca_lag_may_join(first, *second, members);
	rtnl_lock();
	is_lag = netif_is_bond_master(first) && rhca_lag_bond_is_lag(first, members);
	rtnl_unlock();
	return is_lag;
}

/* Why two netdevs cannot be joined, or 0 */
static int check_pair(struct rhca_dev *dev, struct net_device *first,
		      struct net_device *second)
{
	struct rhca_lag_members members;
	int ret;

	if (dev->num_ports != 1 || dev->replaced.num_devices ||
	    rhca_lag_by_hardware(dev) || netif_is_bond_master(first))
		return -EOPNOTSUPP;
	if (second == first || second->type != ARPHRD_ETHER ||
	    netif_is_bond_slave(first) || netif_is_bond_slave(second) ||
	    netif_is_bond_master(second))
		return -EINVAL;
	ret = rhca_netdev_served(second) ? 0 : rhca_netdev_check(second);
	return ret ?: rhca_lag_may_join(first, second, &members) ? 0 : -EBUSY;
}

/**
 * rhca_lag_join - Ask for one device on two netdevs without a bond
 * @dev: the device of the first one
 * @first: its netdev; the caller holds a reference, and kicks it
 * @name: of the other netdev
 *
 * Context: may sleep. After success @dev is removed asynchronously.
 * Return: 0; -ENODEV when there is no netdev of that name; -EINVAL when the two cannot be a pair;
 * -EOPNOTSUPP when the device is a LAG, is on a bond, has several ports, or its hardware decides;
 * -EBUSY when the other netdev's device cannot be used; -ENOMEM.
 */
int rhca_lag_join(struct rhca_dev *dev, struct net_device *first,
		  const char *name)
{
	struct net_device *second = rhca_netdev_beside(first, name);
	int ret;

	if (!second)
		return -ENODEV;
	ret = check_pair(dev, first, second);
	if (!ret)
		ret = rhca_slot_set_pair(first, second);
	dev_put(second);
	return ret;
}

/**
 * rhca_lag_part - Undo rhca_lag_join(), asynchronously; does nothing if there is no pair
 * @dev: the device
 * @first: its netdev; the caller holds a reference, and kicks it
 *
 * Return: 0 or -ENOMEM.
 */
int rhca_lag_part(struct rhca_dev *dev, struct net_device *first)
{
	struct rhca_slot_known known;

	rhca_slot_read(first, &known);
	if (!rcu_access_pointer(dev->ports[0].second) && !known.pair.ifindex)
		return 0;
	return rhca_slot_set_pair(first, NULL);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_lag_part);
