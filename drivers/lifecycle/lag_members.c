// SPDX-License-Identifier: GPL-2.0
/*
 * What there is below a bond: members, their devices and partitions, and what of
 * it decides on a LAG.
 */
#include <linux/rtnetlink.h>

#include "lifecycle/lag_members.h"
#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/registry.h"
#include "lifecycle/slot.h"

/* A LAG has one table: with two different ones isolation would be lost */
static void compare_partitions(struct rhca_lag_members *members,
			       const struct rhca_pkey_table *pkeys)
{
	if (!members->record.num_devices)
		members->pkeys = *pkeys;
	else if (memcmp(pkeys, &members->pkeys, sizeof(*pkeys)))
		members->facts.partitions_differ = true;
}

/* Enter a member's device into the record, unless that has two already */
void rhca_lag_record_device(struct rhca_lag_members *members,
			    struct rhca_dev *dev)
{
	struct rhca_lag_record *record = &members->record;
	struct rhca_lag_replaced *replaced;
	struct rhca_pkey_table pkeys;
	struct net_device *ndev;
	u32 i;

	if (record->num_devices == RHCA_LAG_MEMBERS)
		return;
	replaced = &record->device[record->num_devices];
	strscpy(replaced->name, dev->ibdev.name, sizeof(replaced->name));
	for (i = 0; i < dev->num_ports && i < RHCA_LAG_MEMBERS; i++) {
		rhca_pkeys_copy(&dev->ports[i], &pkeys);
		compare_partitions(members, &pkeys);
		record->num_devices += !i;
		ndev = rhca_port_get_netdev(&dev->ports[i]);
		rhca_netdev_note(&replaced->netdev[i], ndev);
		replaced->num_ports++;
		dev_put(ndev);
	}
}

/*
 * The same with a device that returns to @ndev, if not to a LAG. The caller has a reference or
 * RTNL. May sleep. Returns whether there is one.
 */
bool rhca_lag_record_returning(struct rhca_lag_members *members,
			       const struct net_device *ndev)
{
	struct rhca_lag_record *record = &members->record;
	struct rhca_lag_replaced device;
	struct rhca_pkey_table pkeys;

	if (!rhca_slot_returning(ndev, &device, &pkeys))
		return false;
	compare_partitions(members, &pkeys);
	if (!rhca_lag_record_covers(record, ndev) &&
	    record->num_devices < RHCA_LAG_MEMBERS)
		record->device[record->num_devices++] = device;
	return true;
}

/* Ports of the members' devices that are no members: a LAG would take them along */
static u32 ports_outside(const struct rhca_lag_record *record, struct net_device *bond)
{
	struct net_device *ndev;
	u32 i, port, outside = 0;

	for (i = 0; i < record->num_devices; i++) {
		for (port = 0; port < record->device[i].num_ports; port++) {
			ndev = rhca_netdev_get(&record->device[i].netdev[port]);
			outside += !ndev || netdev_master_upper_dev_get(ndev) != bond;
			dev_put(ndev);
		}
	}
	return outside;
}

/**
 * rhca_lag_by_hardware - Does the hardware make one device of bonded ports itself?
 * @dev: the device; if so, nobody tells it how
 */
bool rhca_lag_by_hardware(const struct rhca_dev *dev)
{
	return dev->offer && dev->offer->decides_lag;
}

/* Its device is its own, or returns; of one that is being removed else nothing counts */
static void add_member(struct net_device *member, struct rhca_lag_members *members)
{
	struct rhca_lag_facts *facts = &members->facts;
	struct rhca_dev *dev = rhca_dev_find(member);

	/* One that may be a LAG itself, whose members' devices would return */
	facts->num_outside += netif_is_bond_master(member);
	if (!dev || test_bit(RHCA_DEV_REMOVED, &dev->flags)) {
		facts->num_ports += rhca_lag_record_returning(members, member);
	} else if (!rhca_lag_by_hardware(dev)) {
		facts->num_ports++;
		facts->num_outside += dev->num_ports > RHCA_LAG_MEMBERS ||
				      rcu_access_pointer(dev->ports[0].second);
		if (!rhca_lag_record_covers(&members->record, member))
			rhca_lag_record_device(members, dev);
	}
	if (dev)
		ib_device_put(&dev->ibdev);
}

/* A LAG stands for it, or not: somebody was quicker and made a device on it */
static void check_member(struct net_device *member, struct rhca_lag_members *members)
{
	members->facts.num_outside += rhca_netdev_served(member);
	members->facts.num_ports += rhca_lag_record_covers(&members->record, member);
}

/*
 * The members of a bond, whose devices are their own, or which its LAG stands for: then @members
 * has the record of it. Fills in record and facts. RTNL held.
 */
void rhca_lag_find_members(struct net_device *bond, struct rhca_lag_members *members)
{
	void (*see)(struct net_device *member, struct rhca_lag_members *members) =
		members->record.num_devices ? check_member : add_member;
	struct net_device *member;
	struct list_head *iter;

	ASSERT_RTNL();
	netdev_for_each_lower_dev(bond, member, iter) {
		members->facts.num_members++;
		members->facts.disabled |= rhca_slot_is_set(member, RHCA_SLOT_LAG_OFF);
		see(member, members);
	}
	if (see == add_member)
		members->facts.num_outside += ports_outside(&members->record, bond);
}

/* The devices that a LAG was made of, none where there is no LAG. Any context. */
void rhca_lag_find_replaced(const struct net_device *ndev,
			    struct rhca_lag_members *members)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	memset(members, 0, sizeof(*members));
	if (!dev)
		return;
	members->record = dev->replaced;
	ib_device_put(&dev->ibdev);
}

/* Does a LAG device stand for this netdev? */
bool rhca_lag_has_member(const struct net_device *ndev)
{
	struct rhca_lag_members members = {};
	struct net_device *master;

	rcu_read_lock();
	master = netdev_master_upper_dev_get_rcu((struct net_device *)ndev);
	if (master)
		rhca_lag_find_replaced(master, &members);
	rcu_read_unlock();
	return rhca_lag_record_covers(&members.record, ndev);
}
