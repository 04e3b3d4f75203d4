// SPDX-License-Identifier: GPL-2.0
/*
 * Collect the facts that decide on a netdev's device: its own state under RTNL, other drivers'
 * devices and offers without it.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_verbs.h>

#include "borrowed/rxe_module.h"
#include "core/device.h"
#include "core/port/offer.h"
#include "core/port/port_pkeys.h"
#include "core/registry.h"
#include "core/rules/netdev.h"
#include "lifecycle/lag.h"
#include "lifecycle/lag_members.h"
#include "lifecycle/netdev_check.h"
#include "lifecycle/netdevs.h"
#include "lifecycle/others.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_facts.h"

/* --- devices of ours -------------------------------------------------------------- */

static enum rhca_slot_has kind_of(const struct rhca_dev *dev)
{
	if (dev->offer)
		return RHCA_HAS_HARDWARE;
	return rhca_dev_is_lag(dev) ? RHCA_HAS_LAG : RHCA_HAS_SOFTWARE;
}

static void look_at_own(struct rhca_dev *dev, struct rhca_slot_facts *f)
{
	struct rhca_pkey_table pkeys;

	rhca_pkeys_copy(&dev->ports[0], &pkeys);
	f->tenants = rhca_pkeys_has_partitions(&pkeys);
	f->has = kind_of(dev);
	if (f->has == RHCA_HAS_SOFTWARE)
		f->one_port = dev->num_ports == 1;
}

/* A device that exists but is not found is being registered or unregistered */
static void look_at_none(const struct net_device *ndev,
			 struct rhca_slot_facts *f)
{
	if (rhca_netdev_served(ndev))
		f->has = RHCA_HAS_LEAVING;
	else if (rhca_netdev_led(ndev))
		f->leader = RHCA_LEADER_LAG;
}

/* Returns the offer behind the netdev's own device, for comparison */
static const struct rhca_offer *look_at_device(const struct net_device *ndev,
					       struct rhca_slot_facts *f)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	const struct rhca_offer *offer = NULL;

	if (!dev) {
		look_at_none(ndev, f);
		return NULL;
	}
	if (test_bit(RHCA_DEV_REMOVED, &dev->flags)) {
		f->has = RHCA_HAS_LEAVING;
	} else if (!rhca_dev_netdevs_stay(dev)) {
		f->has = RHCA_HAS_ORPHAN;
	} else if (rcu_access_pointer(dev->ports[0].ndev) != ndev) {
		f->leader = RHCA_LEADER_DEVICE;
	} else {
		look_at_own(dev, f);
		offer = dev->offer;
	}
	ib_device_put(&dev->ibdev);
	return offer;
}

/* --- netdev, rules, bonds --------------------------------------------------------- */

static enum rhca_slot_netdev state_of(const struct net_device *ndev)
{
	if (ndev->reg_state != NETREG_REGISTERED)
		return RHCA_NETDEV_GONE;
	return netif_running(ndev) && netif_device_present(ndev) ?
	       RHCA_NETDEV_UP : RHCA_NETDEV_DOWN;
}

static void look_at_netdev(const struct net_device *ndev,
			   struct rhca_slot_facts *f)
{
	const struct rhca_netdevs_rule *rule = rhca_netdevs_rule_of(ndev);
	bool ethernet = ndev->type == ARPHRD_ETHER;

	ASSERT_RTNL();
	f->netdev = state_of(ndev);
	f->can_roce = rhca_netdev_can_roce(ndev);
	f->under_bond = netif_is_lag_port(ndev);
	f->standin_rule = rule && rule->standin && ethernet;
	f->was_hardware &= ethernet;
}

/*
 * The rule of netdevs= that creates a device on a netdev, or NULL. Patterns match only NICs: other
 * kinds must be named, and then the log says why there is no device. The members of a bond may
 * become one device. The caller holds a reference or RTNL.
 */
const struct rhca_netdevs_rule *
rhca_slot_new_rule(const struct net_device *ndev)
{
	const struct rhca_netdevs_rule *rule = rhca_netdevs_rule_of(ndev);
	bool is_nic = ndev->type == ARPHRD_ETHER &&
		      !netif_is_bond_master(ndev) && !is_vlan_dev(ndev);

	if (!rule || is_nic || rhca_netdevs_rule_names(rule, ndev->name))
		return rule;
	return NULL;
}

/* Are all ports of a rule available, or taken by the netdev's own device? */
static bool ports_there(struct net_device *ndev,
			const struct rhca_netdevs_rule *rule,
			enum rhca_slot_has has)
{
	struct net_device *port[RHCA_MAX_PORTS];
	bool there = true;
	u32 i, num;

	if (has != RHCA_HAS_NONE)
		return true;
	num = rhca_netdevs_find_ports(rule, ndev, port);
	for (i = 0; i < num; i++) {
		there &= rhca_netdevs_concern(port[i]) &&
			 !rhca_slot_is_unwanted(port[i]) &&
			 !(port[i] != ndev && rhca_netdev_served(port[i]));
		dev_put(port[i]);
	}
	return there && num == rule->num_ports;
}

static void look_at_rule(struct net_device *ndev,
			 const struct rhca_slot_known *known,
			 struct rhca_slot_facts *f)
{
	if (f->wish != RHCA_WISH_RULE || !known->rule)
		return;
	if (f->has == RHCA_HAS_NONE)
		f->one_port = known->rule->num_ports == 1;
	f->ports_there = ports_there(ndev, known->rule, f->has);
}

/* The bond that a netdev is or is a member of, if it should be a LAG; with a reference */
static struct net_device *bond_of(struct net_device *ndev)
{
	struct net_device *bond = rhca_lag_bond_of(ndev);
	struct rhca_lag_members members;

	ASSERT_RTNL();
	if (!bond || !rhca_lag_bond_is_lag(bond, &members))
		return NULL;
	dev_hold(bond);
	return bond;
}

static int others_serve(struct net_device *ndev)
{
	char name[IB_DEVICE_NAME_MAX];

	return rhca_others_serve(ndev, name);
}

/* RTNL is not held: calls another driver */
static void look_at_bond(const struct net_device *ndev, struct net_device *bond,
			 struct rhca_slot_facts *f)
{
	if (bond == ndev)
		f->lag = RHCA_SLOT_LAG_HERE;
	else if (bond && !others_serve(bond))
		f->lag = RHCA_SLOT_LAG_MEMBER;
	dev_put(bond);
}

static void look_at_pair(struct net_device *ndev,
			 const struct rhca_slot_known *known,
			 struct rhca_slot_facts *f)
{
	struct net_device *second = rhca_netdev_get(&known->pair);
	struct net_device *first = rhca_slot_joined_to(ndev);
	struct rhca_lag_members members;

	if (second)
		f->pair = f->has == RHCA_HAS_LAG ||
			  rhca_lag_may_join(ndev, second, &members) ?
			  RHCA_PAIR_USABLE : RHCA_PAIR_WAITS;
	/* If two are joined to each other, the first one looked at has the LAG */
	if (first && !second && rhca_lag_may_join(first, ndev, &members) &&
	    !others_serve(first))
		f->lag = RHCA_SLOT_LAG_MEMBER;
	dev_put(first);
	dev_put(second);
}

/* --- other drivers, offers -------------------------------------------------------- */

static enum rhca_slot_other look_at_others(struct net_device *ndev)
{
	int rival = others_serve(ndev);

	if (rival < 0)
		return RHCA_OTHER_CHANGING;
	return rival ? RHCA_OTHER_SERVES : RHCA_OTHER_NONE;
}

/*
 * May a device of ours stand in for another one? Yes if netdevs= says so, or our hardware device
 * there was withdrawn. The caller holds a reference or RTNL. May sleep.
 */
bool rhca_slot_may_stand_in(const struct net_device *ndev)
{
	const struct rhca_netdevs_rule *rule = rhca_netdevs_rule_of(ndev);
	struct rhca_slot_known known;

	rhca_slot_read(ndev, &known);
	return ndev->type == ARPHRD_ETHER && known.wish != RHCA_WISH_REMOVED &&
	       (known.flags & RHCA_SLOT_WAS_HARDWARE ||
		(rule && rule->standin));
}

/* A new request counts as a wish until it is refused */
static void read_slot(const struct net_device *ndev, enum rhca_wish asked,
		      struct rhca_slot_known *known)
{
	rhca_slot_read(ndev, known);
	if (asked == RHCA_WISH_RULE)
		known->rule = rhca_slot_new_rule(ndev);
	if (asked == RHCA_WISH_RULE && known->rule &&
	    known->wish == RHCA_WISH_NONE)
		known->wish = RHCA_WISH_RULE;
	if (asked != RHCA_WISH_LINK)
		return;
	/* After a removal by the user the next device starts with defaults */
	known->tenants &= known->wish != RHCA_WISH_REMOVED;
	known->wish = RHCA_WISH_LINK;
}

/*
 * Collect the facts on a netdev, to which the caller holds a reference. They are not read
 * atomically and may be inconsistent. @asked: RHCA_WISH_RULE: a rule of netdevs= matches;
 * RHCA_WISH_LINK: "rdma link add". May sleep, RTNL not held.
 */
void rhca_slot_look_at(struct net_device *ndev, enum rhca_wish asked,
		       struct rhca_slot_facts *f)
{
	const struct rhca_offer *own;
	struct rhca_slot_known known;
	struct net_device *bond;

	read_slot(ndev, asked, &known);
	*f = (struct rhca_slot_facts) {};
	f->wish = known.wish;
	f->request = asked == RHCA_WISH_LINK;
	f->was_hardware = known.flags & RHCA_SLOT_WAS_HARDWARE;
	f->tenants = known.tenants;
	f->returns = known.flags & RHCA_SLOT_RETURNS;
	f->one_port = !f->returns || known.ports.num == 1;
	rtnl_lock();
	own = look_at_device(ndev, f);
	look_at_netdev(ndev, f);
	look_at_rule(ndev, &known, f);
	bond = bond_of(ndev);
	rtnl_unlock();
	look_at_bond(ndev, bond, f);
	look_at_pair(ndev, &known, f);
	f->other = look_at_others(ndev);
	f->offer = rhca_offer_look(ndev, own);
	f->rxe_leaving = rhca_in_tree_unloading();
}
