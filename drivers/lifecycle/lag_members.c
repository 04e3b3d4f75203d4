// SPDX-License-Identifier: GPL-2.0
/* The members of a bond, their devices and partitions: the facts that decide on a LAG. */
#include <linux/rtnetlink.h>

#include "lifecycle/lag_members.h"
#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/registry.h"
#include "lifecycle/slot.h"

/* A LAG has one P_Key table: merging two different ones would break isolation */
static void compare_partitions(struct rhca_lag_members *members,
			       const struct rhca_pkey_table *pkeys)
{
	if (!members->record.num_devices)
		members->pkeys = *pkeys;
	else if (memcmp(pkeys, &members->pkeys, sizeof(*pkeys)))
		members->facts.partitions_differ = true;
}

/* Add a member's device to the record, unless it has two already */
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
 * The same for the device that is due to be created again on @ndev. Returns false if there is none,
 * or none that a LAG can replace. The caller holds a reference or RTNL. May sleep.
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

/* Count ports of the members' devices that are not in the bond: a LAG would remove those too */
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
 * @dev: the device; if so, it takes no settings from us
 */
bool rhca_lag_by_hardware(const struct rhca_dev *dev)
{
	return dev->offer && dev->offer->decides_lag;
}

/* Count a member by its own device, or by the one to be created again after a removal */
static void add_member(struct net_device *member, struct rhca_lag_members *members)
{
	struct rhca_lag_facts *facts = &members->facts;
	struct rhca_dev *dev = rhca_dev_find(member);

	/* A bond as a member may be a LAG, whose members' devices would be created again */
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

/* Check a member of an existing LAG, which may not cover it if another device was created first */
static void check_member(struct net_device *member, struct rhca_lag_members *members)
{
	members->facts.num_outside += rhca_netdev_served(member);
	members->facts.num_ports += rhca_lag_record_covers(&members->record, member);
}

/*
 * Fill in the record and the facts of a bond's members. If @members has the record of its LAG
 * already, check the members against that. RTNL held.
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

/* Get the devices that a LAG replaced; none if @ndev has no LAG. Any context. */
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

/* Is this netdev a member of a LAG device? */
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
