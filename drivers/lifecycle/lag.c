// SPDX-License-Identifier: GPL-2.0
/*
 * One device in place of two, and back.
 *
 * A bond of exactly two ports in a mode that RoCE knows becomes one device, and
 * so do two netdevs that the file roce_lag_ecmp_dev joins. The devices of the
 * members go; the new one remembers what they were, and when it ends they come
 * back. Devices cannot be made and removed where events are told, so both are noted
 * as due, and done with the state as it is by then (slot_apply.c).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <net/bonding.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/registry.h"
#include "core/rules/netdev_id.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_events.h"
#include "lifecycle/lag.h"
#include "lifecycle/lag_members.h"
#include "lifecycle/netdev_check.h"

static const struct rhca_backend_ops *software;
static void (*kick)(const struct net_device *ndev);

static int set_due(const struct net_device *ndev, enum rhca_slot_flag flag)
{
	int ret = rhca_slot_set(ndev, flag | RHCA_SLOT_KICKED, true);

	kick(ndev);
	return ret;
}

/* --- making and ending ------------------------------------------------------------ */

static void keep(const struct rhca_lag_replaced *old, const struct net_device *ndev,
		 const struct rhca_pkey_table *pkeys)
{
	u32 port;

	for (port = 0; port < old->num_ports; port++)
		if (rhca_netdev_is(ndev, &old->netdev[port]))
			rhca_slot_member(ndev, true, old->name, pkeys);
}

/*
 * The netdev of a member goes: hardware is reset, or it moves to another namespace. No
 * device is made again on it here, and the next one that is made has what it had.
 */
static void keep_for_next(const struct net_device *ndev)
{
	struct rhca_dev *lag = rhca_dev_find_lag(ndev);
	struct rhca_pkey_table pkeys;
	u32 i;

	if (!lag)
		return;
	/* Never thawed: the LAG ends because of this */
	rhca_pkeys_freeze(&lag->ports[0], true);
	rhca_pkeys_copy(&lag->ports[0], &pkeys);
	for (i = 0; i < lag->replaced.num_devices; i++)
		keep(&lag->replaced.device[i], ndev, &pkeys);
	ib_device_put(&lag->ibdev);
}

static void keep_all_ports(const struct rhca_lag_replaced *old,
			   const struct rhca_pkey_table *pkeys)
{
	struct net_device *ndev;
	u32 port;

	for (port = 0; port < old->num_ports; port++) {
		ndev = rhca_netdev_get(&old->netdev[port]);
		if (ndev)
			rhca_slot_member(ndev, false, old->name, pkeys);
		dev_put(ndev);
	}
}

/* Until their devices are there again their netdevs may go, too */
static void keep_for_all(const struct rhca_lag_members *members)
{
	u32 i;

	for (i = 0; i < members->record.num_devices; i++)
		keep_all_ports(&members->record.device[i], &members->pkeys);
}

/* Made when all its netdevs are there, which nobody holds until then */
static int note_return(const struct rhca_lag_replaced *old,
		       const struct rhca_pkey_table *pkeys)
{
	struct net_device *first = rhca_netdev_get(&old->netdev[0]);
	struct rhca_slot_ports ports = { .num = old->num_ports };
	int ret;

	if (!first)
		return -ENODEV;
	memcpy(ports.netdev, old->netdev, sizeof(old->netdev));
	if (pkeys)
		keep_all_ports(old, pkeys);
	ret = rhca_slot_member_returns(first, &ports);
	kick(first);
	dev_put(first);
	return ret;
}

/**
 * rhca_lag_members_return - A LAG ends: its members have devices of their own again
 * @record: the devices that it stood for
 * @pkeys: its partitions, which they get, or NULL: what they had
 *
 * Context: may sleep; RTNL may be held. One whose netdev has gone, or is in another
 * namespace now, stays away.
 */
void rhca_lag_members_return(const struct rhca_lag_record *record,
			     const struct rhca_pkey_table *pkeys)
{
	u32 i;

	for (i = 0; i < record->num_devices; i++)
		if (note_return(&record->device[i], pkeys))
			pr_info("%s: its LAG has ended, but a netdev of it has gone\n",
				record->device[i].name);
}

static void restore(const struct rhca_lag_members *members)
{
	rhca_lag_members_return(&members->record, &members->pkeys);
}

/*
 * Users of the members' devices see them go as if they were unplugged. @frozen are
 * these devices.
 */
static int make_lag(const struct rhca_lag_members *members,
		    struct rhca_lag_frozen *frozen, struct net_device *first,
		    struct net_device *second)
{
	const struct rhca_lag_record *record = &members->record;
	struct rhca_dev_spec spec = {
		.backend	= software,
		.netdevs	= { first },
		.num_ports	= 1,
		.second		= second,
		.replaced	= *record,
		.pkeys		= { &members->pkeys },
	};
	int ret;

	keep_for_all(members);
	rhca_lag_remove_frozen(frozen);
	ret = rhca_dev_create(&spec);
	trace_rhca_netdev(first->name, "LAG in place of its members", ret);
	if (!ret) {
		pr_info("%s is one RDMA device now, in place of %s%s%s\n",
			netdev_name(first), record->device[0].name,
			record->num_devices > 1 ? " and " : "",
			record->device[1].name);
		return 0;
	}
	pr_warn("no RDMA device in place of those of %s's members: error %d\n",
		netdev_name(first), ret);
	rhca_slot_set(first, RHCA_SLOT_FAILED, true);
	restore(members);
	return ret;
}

/* To a second netdev of a pair that had no device none returns: a rule may name it by now */
static void follow_rule(const struct net_device *second)
{
	if (!second || rhca_slot_is_set(second, RHCA_SLOT_RETURNS) ||
	    !rhca_slot_is_set(second, RHCA_SLOT_RULE_MISSED))
		return;
	rhca_slot_set(second, RHCA_SLOT_RULE_MISSED, false);
	set_due(second, RHCA_SLOT_RULE_DUE);
}

/* Its user is removing it, which is for its members, too */
static bool is_unwanted(struct rhca_dev *lag)
{
	struct net_device *ndev = rhca_port_get_netdev(&lag->ports[0]);
	bool unwanted = ndev && rhca_slot_is_unwanted(ndev);

	dev_put(ndev);
	return unwanted;
}

/*
 * It is being removed: nothing is written any more. Its members have devices again when it
 * has ended, which is an event.
 */
static void give_back(struct rhca_dev *lag)
{
	struct net_device *second = rhca_port_get_second(&lag->ports[0]);
	struct rhca_lag_members members = { .record = lag->replaced };

	rhca_pkeys_freeze_all(lag, true);
	rhca_pkeys_copy(&lag->ports[0], &members.pkeys);
	keep_for_all(&members);
	if (rhca_dev_claim(lag) && !is_unwanted(lag)) {
		restore(&members);
		follow_rule(second);
	}
	dev_put(second);
}

/* It may have ended already, and another device be there, which stays */
static void end_lag(struct net_device *ndev)
{
	struct rhca_dev *lag = rhca_dev_find(ndev);

	if (lag && lag->replaced.num_devices) {
		give_back(lag);
		rhca_dev_remove_later(lag);
	} else if (lag) {
		ib_device_put(&lag->ibdev);
	}
}

/* @members has the record of the LAG that there is, or none and gets it */
static bool bond_qualifies_now(struct net_device *bond,
			       struct rhca_lag_members *members)
{
	ASSERT_RTNL();
	members->facts.bond_mode =
		BOND_MODE((struct bonding *)netdev_priv(bond));
	if (members->record.num_devices)
		rhca_lag_check_members(bond, members);
	else
		rhca_lag_find_members(bond, members);
	return bond->reg_state == NETREG_REGISTERED &&
	       rhca_lag_decide(&members->facts) != RHCA_LAG_NONE;
}

static bool bond_qualifies(struct net_device *bond, struct rhca_lag_members *members)
{
	bool qualifies;

	rtnl_lock();
	qualifies = bond_qualifies_now(bond, members);
	rhca_slot_set(bond, RHCA_SLOT_TABLES_DIFFERED,
		      members->facts.partitions_differ);
	rtnl_unlock();
	return qualifies;
}

/**
 * rhca_lag_bond_is_lag - Is one device to stand for the members of a bond?
 * @bond: the bond
 *
 * Context: RTNL held.
 */
bool rhca_lag_bond_is_lag(struct net_device *bond)
{
	struct rhca_lag_members members;

	rhca_lag_find_replaced(bond, &members);
	/* One of its own; or one that is on its way */
	if (!members.record.num_devices && rhca_netdev_served(bond))
		return false;
	return !rhca_slot_is_set(bond, RHCA_SLOT_TABLES_DIFFERED) &&
	       bond_qualifies_now(bond, &members);
}

/* Look again when nobody can change the tables, and make it if it still holds */
static void make_bond_lag(struct net_device *bond,
			  const struct rhca_lag_record *record)
{
	struct rhca_lag_members members = {};
	struct rhca_lag_frozen frozen = {};

	rhca_lag_freeze_record(&frozen, record);
	/* What has come or gone meanwhile has the bond looked at again */
	if (bond_qualifies(bond, &members) &&
	    rhca_lag_same_devices(&members.record, record) &&
	    frozen.num == record->num_devices)
		make_lag(&members, &frozen, bond, NULL);
	rhca_lag_thaw(&frozen);		/* where nothing was removed */
}

static void check_bond(struct net_device *bond)
{
	struct rhca_lag_members members;
	bool is_lag, wanted;

	rhca_lag_find_replaced(bond, &members);
	is_lag = members.record.num_devices;
	wanted = bond_qualifies(bond, &members);
	if (is_lag && !wanted)
		end_lag(bond);
	if (is_lag || !wanted)
		return;
	if (rhca_netdev_served(bond))
		netdev_info(bond, "has an RDMA device of its own, so its members keep theirs\n");
	else if (!rhca_netdev_check(bond))
		make_bond_lag(bond, &members.record);
}

/* Can the device on a netdev be one half of a pair? It is recorded if so */
static bool record_half(struct rhca_lag_members *members, struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	bool usable;

	if (!dev)
		return true;
	usable = dev->num_ports == 1 && !dev->replaced.num_devices &&
		 !rhca_lag_by_hardware(dev) &&
		 !test_bit(RHCA_DEV_REMOVED, &dev->flags);
	if (usable)
		rhca_lag_record_device(members, dev);
	ib_device_put(&dev->ibdev);
	return usable && !members->facts.partitions_differ;
}

/**
 * rhca_lag_may_join - Can one device stand for two netdevs without a bond?
 * @first: a netdev
 * @second: another one; the caller has a reference to both
 *
 * Context: may sleep.
 */
bool rhca_lag_may_join(struct net_device *first, struct net_device *second)
{
	struct rhca_lag_members members = {};

	return record_half(&members, first) && members.record.num_devices &&
	       record_half(&members, second);
}

/* As it was when the file was written, unless somebody came between */
static bool make_pair(struct net_device *first, struct net_device *second)
{
	struct rhca_lag_members members = {};
	struct rhca_lag_frozen frozen = {};
	bool made;

	rhca_lag_freeze(&frozen, first);
	rhca_lag_freeze(&frozen, second);
	made = record_half(&members, first) && members.record.num_devices &&
	       record_half(&members, second) &&
	       members.record.num_devices == frozen.num &&
	       !make_lag(&members, &frozen, first, second);
	rhca_lag_thaw(&frozen);		/* where nothing was removed */
	return made;
}

/* What cannot be made is no wish any more */
static void join(struct net_device *first)
{
	struct rhca_slot_known known;
	struct net_device *second;

	rhca_slot_read(first, &known);
	second = rhca_netdev_get(&known.pair);
	if (!second || !make_pair(first, second))
		rhca_slot_set_pair(first, NULL);
	dev_put(second);
}

/* --- what is due -------------------------------------------------------------------- */

/**
 * rhca_lag_apply - Make or end the LAG of a netdev, if that is due
 * @ndev: the netdev
 *
 * Context: may sleep, RTNL not held; one at a time.
 */
void rhca_lag_apply(struct net_device *ndev)
{
	if (rhca_slot_take(ndev, RHCA_SLOT_BOND_DUE) &&
	    netif_is_bond_master(ndev))
		check_bond(ndev);
	if (rhca_slot_take(ndev, RHCA_SLOT_JOIN_DUE))
		join(ndev);
	if (rhca_slot_take(ndev, RHCA_SLOT_PART_DUE))
		end_lag(ndev);
}

/**
 * rhca_lag_bond_changed - A bond got or lost a member
 * @bond: a bond's netdev; the caller has a reference or RTNL
 *
 * Context: may sleep; RTNL may be held.
 */
void rhca_lag_bond_changed(const struct net_device *bond)
{
	set_due(bond, RHCA_SLOT_BOND_DUE);
}

static void bond_of_port_changed(struct rhca_port *port)
{
	struct net_device *ndev = rhca_port_get_netdev(port), *master;

	if (!ndev)
		return;
	rcu_read_lock();
	master = netdev_master_upper_dev_get_rcu(ndev) ?: ndev;
	dev_hold(master);
	rcu_read_unlock();
	if (netif_is_bond_master(master))
		rhca_lag_bond_changed(master);
	dev_put(master);
	dev_put(ndev);
}

/**
 * rhca_lag_device_added - A device of ours has appeared, perhaps on a member or
 * back on a bond that has changed meanwhile
 * @dev: the device
 *
 * Context: may sleep.
 */
void rhca_lag_device_added(struct rhca_dev *dev)
{
	u32 i;

	for (i = 0; i < dev->num_ports; i++)
		bond_of_port_changed(&dev->ports[i]);
}

/**
 * rhca_lag_netdev_gone - A netdev is being unregistered: so is a LAG on it, or of it
 * @ndev: the netdev, or one that moves to another namespace; its device has not been
 *	told yet
 *
 * Context: RTNL held.
 */
void rhca_lag_netdev_gone(struct net_device *ndev)
{
	struct rhca_dev *lag = rhca_dev_find(ndev);

	keep_for_next(ndev);
	if (lag && lag->replaced.num_devices)
		give_back(lag);
	if (lag)
		ib_device_put(&lag->ibdev);
}

/* --- pairs that the user wants -------------------------------------------------- */

/* Why two netdevs cannot be joined, or 0 */
static int check_pair(struct rhca_dev *dev, struct net_device *first,
		      struct net_device *second)
{
	struct rhca_lag_members members = {};

	if (dev->num_ports != 1 || dev->replaced.num_devices ||
	    rhca_lag_by_hardware(dev) || netif_is_bond_master(first))
		return -EOPNOTSUPP;
	if (second == first || second->type != ARPHRD_ETHER ||
	    netif_is_bond_slave(first) || netif_is_bond_slave(second) ||
	    netif_is_bond_master(second))
		return -EINVAL;
	if (!rhca_netdev_served(second))
		return rhca_netdev_check(second);
	rhca_lag_record_device(&members, dev);
	return record_half(&members, second) ? 0 : -EBUSY;
}

/**
 * rhca_lag_join - Make one device for two netdevs without a bond, in a moment
 * @dev: the device of the first one
 * @first: its netdev; the caller holds a reference
 * @name: of the other netdev
 *
 * Context: may sleep. The device is gone some time after success.
 * Return: 0; -ENODEV when there is no netdev of that name; -EINVAL when the two
 * cannot be a pair; -EOPNOTSUPP when the device is a LAG, on a bond or has
 * several ports, or its hardware decides; -EBUSY when the other's device cannot be
 * taken; -ENOMEM.
 */
int rhca_lag_join(struct rhca_dev *dev, struct net_device *first,
		  const char *name)
{
	struct net_device *second = rhca_netdev_beside(first, name);
	int ret;

	if (!second)
		return -ENODEV;
	ret = check_pair(dev, first, second);
	if (!ret) {
		rhca_slot_set_pair(first, second);
		ret = set_due(first, RHCA_SLOT_JOIN_DUE);
	}
	dev_put(second);
	return ret;
}

/**
 * rhca_lag_part - End in a moment what rhca_lag_join() made; else do nothing
 * @dev: the device
 * @first: its netdev; the caller holds a reference
 *
 * Return: 0 or -ENOMEM.
 */
int rhca_lag_part(struct rhca_dev *dev, struct net_device *first)
{
	if (!rcu_access_pointer(dev->ports[0].second))
		return 0;
	rhca_slot_set_pair(first, NULL);
	return set_due(first, RHCA_SLOT_PART_DUE);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_lag_part);

/* --- life ----------------------------------------------------------------------------- */

/**
 * rhca_lag_init - Begin to watch bonds
 * @backend: who serves LAGs, and devices that come back when one ends
 * @slot_kick: rhca_slot_kick()
 */
void rhca_lag_init(const struct rhca_backend_ops *backend,
		   void (*slot_kick)(const struct net_device *ndev))
{
	software = backend;
	kick = slot_kick;
}
