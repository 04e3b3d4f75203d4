// SPDX-License-Identifier: GPL-2.0
/*
 * Creation and removal of devices with the best backend: hardware before software, which serves
 * where hardware fails. The new device keeps the name of the old one and the settings of its ports.
 *
 * A port with partitions other than the default one stays with software: hardware has only the
 * default one, and isolation between partitions would be lost.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "core/device.h"
#include "core/port/offer.h"
#include "core/port/port_pkeys.h"
#include "core/port/settings.h"
#include "core/registry.h"
#include "core/rules/netdev.h"
#include "lifecycle/lag.h"
#include "lifecycle/lag_members.h"
#include "lifecycle/netdev_check.h"
#include "lifecycle/netdevs.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_act.h"
#include "lifecycle/slot_events.h"

#define NAME_TRIES		20
#define NAME_INTERVAL_MS	50

static void free_settings(const struct rhca_dev_spec *spec)
{
	u32 i;

	for (i = 0; i < spec->num_ports; i++)
		kfree(spec->settings[i]);
}

/* Copy the kept settings of its ports to @spec, for free_settings() */
static int use_settings(struct rhca_dev_spec *spec)
{
	struct rhca_settings *settings;
	u32 i;

	for (i = 0; i < spec->num_ports; i++) {
		settings = rhca_slot_copy(spec->netdevs[i], false);
		if (IS_ERR(settings)) {
			free_settings(spec);
			return PTR_ERR(settings);
		}
		if (!settings)
			continue;
		if (!spec->name && settings->name[0]) {
			spec->name = settings->name;
			spec->name_is_kept = true;
		}
		spec->pkeys[i] = &settings->pkeys;
		spec->settings[i] = settings;
	}
	return 0;
}

/*
 * References may keep the old device of that name for a moment: retry. A name given by the user is
 * tried once.
 */
static int create_under_name(struct rhca_dev_spec *spec)
{
	u32 tries = NAME_TRIES;
	int ret;

	while ((ret = rhca_dev_create(spec)) == -ENFILE && spec->name_is_kept && tries--)
		msleep(NAME_INTERVAL_MS);
	if (ret == -ENFILE && spec->name_is_kept) {
		spec->name_is_kept = false;
		spec->name = NULL;
		ret = rhca_dev_create(spec);
	}
	return ret;
}

/* If hardware fails, fall back to software */
static int create_by(struct rhca_dev_spec *spec, struct rhca_offer *offer)
{
	const struct rhca_backend_ops *software = spec->backend;
	int ret;

	spec->backend = offer->backend;
	spec->offer = offer;
	ret = create_under_name(spec);
	if (!ret || ret == -EEXIST || ret == -ENODEV || ret == -ENFILE ||
	    ret == -EALREADY)
		return ret;
	trace_rhca_netdev(spec->netdevs[0]->name, "hardware could not", ret);
	pr_warn("no RDMA device by hardware on %s: error %d; software serves it\n",
		netdev_name(spec->netdevs[0]), ret);
	rhca_offer_fail(offer);
	spec->backend = software;
	spec->offer = NULL;
	return create_under_name(spec);
}

/*
 * Create a device with hardware that offers, else with the backend of @spec. Hardware serves only
 * devices with one port: of several it would have to own all. May sleep, RTNL not held. Returns as
 * rhca_dev_create(); -EALREADY: hardware will serve once its last device is freed; -ENOMEM also if
 * the kept settings cannot be copied.
 */
int rhca_choice_create(struct rhca_dev_spec *spec)
{
	struct net_device *ndev = spec->netdevs[0];
	struct rhca_offer *offer = NULL;
	int ret;

	ret = use_settings(spec);
	if (ret)
		return ret;
	if (spec->num_ports == 1)
		offer = rhca_offer_find(ndev);
	if (offer && !(spec->settings[0] &&
		       rhca_pkeys_has_partitions(&spec->settings[0]->pkeys)))
		ret = create_by(spec, offer);
	else
		ret = create_under_name(spec);
	if (offer)
		rhca_offer_release(offer);
	free_settings(spec);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_choice_create);

/* --- for the slots ---------------------------------------------------------------- */

/*
 * Create a device after checking its netdevs; chooses the backend of @spec. May sleep, RTNL not
 * held. Returns as rhca_netdev_check() and rhca_choice_create().
 */
int rhca_slot_create(struct rhca_dev_spec *spec)
{
	u32 i;
	int ret;

	spec->backend = &rhca_sw_backend;
	/* If they move to another namespace meanwhile, create none */
	if (!spec->net)
		spec->net = dev_net(spec->netdevs[0]);
	for (i = 0; i < spec->num_ports; i++) {
		ret = rhca_netdev_check(spec->netdevs[i]);
		if (ret)
			return ret;
	}
	return rhca_choice_create(spec);
}

/* Create a stand-in where another driver has no device, or hardware was withdrawn */
void rhca_slot_stand_in(struct net_device *ndev)
{
	struct rhca_dev_spec spec = { .netdevs = { ndev }, .num_ports = 1 };
	int ret = rhca_slot_create(&spec);

	trace_rhca_netdev(ndev->name, "stand-in", ret);
	if (!ret) {
		pr_info("%s has lost its RDMA device, or has none: a software device stands in\n",
			netdev_name(ndev));
		return;
	}
	pr_warn("no stand-in on %s: error %d\n", netdev_name(ndev), ret);
}

/* Create the device that a rule of netdevs= asks for, once all of its netdevs exist */
void rhca_slot_create_by_rule(struct net_device *ndev,
			      const struct rhca_netdevs_rule *rule)
{
	struct rhca_dev_spec spec = {};
	u32 i;
	int ret;

	spec.num_ports = rhca_netdevs_find_ports(rule, ndev, spec.netdevs);
	if (spec.num_ports == rule->num_ports) {
		ret = rhca_slot_create(&spec);
		trace_rhca_netdev(ndev->name, "rule of netdevs=", ret);
		if (ret)
			pr_warn("no RDMA device on %s: error %d\n",
				netdev_name(ndev), ret);
		else
			rhca_slot_set_wish(spec.netdevs[0], RHCA_WISH_RULE,
					   rule);
	}
	for (i = 0; i < spec.num_ports; i++)
		dev_put(spec.netdevs[i]);
}

/*
 * Remove a netdev's device and keep its settings for the next one; those of a LAG for its members'
 * devices. Does not wait for the end, which users of the device can delay: that raises an event.
 * @why: logged after the netdev's name. May sleep, RTNL not held.
 */
void rhca_slot_remove(struct net_device *ndev, const char *why)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	if (!dev)
		return;
	if (rhca_slot_save(dev))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	trace_rhca_netdev(ndev->name, "is to have none", 0);
	if (rhca_dev_remove_later(dev))
		pr_info("%s %s\n", netdev_name(ndev), why);
}

/*
 * Remove a netdev's device that has lost a netdev, as the event that it missed would have. May
 * sleep, RTNL not held. Returns whether there was one.
 */
bool rhca_slot_drop_orphan(struct net_device *ndev)
{
	struct rhca_dev *dev;
	bool is_orphan;

	rtnl_lock();
	dev = rhca_dev_find(ndev);
	is_orphan = dev && !rhca_dev_netdevs_stay(dev);
	if (is_orphan) {
		rhca_slot_save(dev);
		rhca_dev_drop(dev);
	}
	rtnl_unlock();
	if (dev)
		ib_device_put(&dev->ibdev);
	return is_orphan;
}

/* Log the result of an offer to serve a netdev. @ret: 0, or why it is not used. */
void rhca_slot_log_offer(const struct net_device *ndev, int ret)
{
	trace_rhca_netdev(ndev->name, "hardware offers to serve", ret);
	if (ret && ret != -EEXIST && ret != -EALREADY)
		pr_warn("no RDMA device on %s, which hardware offers to serve: error %d\n",
			netdev_name(ndev), ret);
}

/* Create a device that hardware offers */
void rhca_slot_create_by_offer(struct net_device *ndev)
{
	struct rhca_dev_spec spec = { .netdevs = { ndev }, .num_ports = 1 };

	rhca_slot_log_offer(ndev, rhca_slot_create(&spec));
}

/* Check partitions after saving, which freezes them */
static bool may_give_up(struct rhca_dev *dev, bool tenants)
{
	struct rhca_pkey_table pkeys;

	if (test_bit(RHCA_DEV_REMOVED, &dev->flags) || rhca_slot_save(dev))
		return false;
	rhca_pkeys_copy(&dev->ports[0], &pkeys);
	if (tenants || !rhca_pkeys_has_partitions(&pkeys))
		return true;
	rhca_pkeys_freeze(dev, false);
	return false;
}

/*
 * Claim a device for removal, to be created again. Not if it is being removed already, or a netdev
 * was unregistered or moved, which RTNL prevents meanwhile
 */
static bool claim_to_return(struct rhca_dev *dev)
{
	struct rhca_slot_ports ports;
	bool claimed;

	rtnl_lock();
	claimed = rhca_dev_netdevs_stay(dev) && rhca_dev_claim(dev);
	if (claimed) {
		rhca_slot_note_ports(dev, &ports);
		/* Does not fail: its settings have been saved */
		rhca_slot_set_returns(rtnl_dereference(dev->ports[0].ndev), &ports);
	}
	rtnl_unlock();
	return claimed;
}

/*
 * Remove the device on a netdev for a better one: hardware, or a LAG, which is created when this
 * one has ended. If by then the reason is gone this one is created again; if the user removes it,
 * none is. @tenants: the new one can have partitions. May sleep, RTNL not held. Returns whether
 * this call removes it.
 */
bool rhca_slot_make_room(struct net_device *ndev, bool tenants)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	if (!dev)
		return false;
	if (!may_give_up(dev, tenants) || !claim_to_return(dev)) {
		ib_device_put(&dev->ibdev);
		return false;
	}
	trace_rhca_netdev(ndev->name, "makes room", 0);
	rhca_dev_remove_later(dev);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_make_room);

static bool port_is_free(const struct rhca_netdev_id *port)
{
	struct net_device *ndev = rhca_netdev_get(port);
	bool served;

	if (!ndev)
		return false;
	rhca_slot_make_room(ndev, true);
	served = rhca_netdev_served(ndev);
	dev_put(ndev);
	return !served;
}

/* Are a member's netdevs without a device? Those that there are get removed */
static bool has_made_room(const struct rhca_lag_replaced *old)
{
	bool is_free = true;
	u32 i;

	for (i = 0; i < old->num_ports; i++)
		is_free &= port_is_free(&old->netdev[i]);
	return is_free;
}

/* If rdma_rxe has removed the LAG, create it with its old settings */
static int create_lag(struct net_device *first, struct net_device *second,
		      struct rhca_lag_members *members)
{
	struct rhca_settings *settings = rhca_slot_copy(first, true);
	struct rhca_dev_spec spec = {
		.backend	= &rhca_sw_backend,
		.netdevs	= { first },
		.net		= dev_net(first),
		.num_ports	= 1,
		.second		= second,
		.replaced	= members->record,
		.pkeys		= { &members->pkeys },
		.settings	= { settings },
	};
	int ret;

	if (IS_ERR(settings))
		return PTR_ERR(settings);
	spec.name_is_kept = settings;
	spec.name = settings ? settings->name : NULL;
	ret = create_under_name(&spec);
	trace_rhca_netdev(first->name, "LAG in place of its members", ret);
	kfree(settings);
	return ret;
}

/* On failure drop the LAG: its members' devices are created again */
static int make_lag(struct net_device *first, struct net_device *second,
		    struct rhca_lag_members *members)
{
	const struct rhca_lag_replaced *old = members->record.device;
	int ret = create_lag(first, second, members);

	if (!ret) {
		pr_info("%s is one RDMA device now, in place of %s%s%s\n",
			netdev_name(first), old[0].name,
			members->record.num_devices > 1 ? " and " : "",
			old[1].name);
		return 0;
	}
	pr_warn("no RDMA device in place of those of %s's members: error %d\n",
		netdev_name(first), ret);
	rhca_slot_set(first, RHCA_SLOT_LAG_FAILED, true);
	rhca_slot_set_pair(first, NULL);
	return ret;
}

/*
 * Create one device in place of those of the members of a bond or pair. Those are removed first, as
 * on hot unplug, and each end is an event that leads here again. @first: the bond, or the first of
 * the pair. May sleep, RTNL not held. Returns 0, or an error, after which the caller kicks the
 * members.
 */
int rhca_slot_make_lag(struct net_device *first)
{
	struct rhca_lag_members members;
	struct net_device *second;
	bool is_free = rhca_lag_find(first, &members, &second);
	u32 i, num = is_free ? members.record.num_devices : 0;
	int ret = 0;

	for (i = 0; i < num; i++)
		is_free &= has_made_room(&members.record.device[i]);
	if (is_free && !(second && rhca_netdev_served(second)))
		ret = make_lag(first, second, &members);
	dev_put(second);
	return ret;
}

static bool find_ports(const struct rhca_slot_ports *ports,
		       struct rhca_dev_spec *spec)
{
	struct net_device *ndev;

	while (spec->num_ports < ports->num) {
		ndev = rhca_netdev_get(&ports->netdev[spec->num_ports]);
		if (!ndev)
			return false;
		spec->netdevs[spec->num_ports++] = ndev;
	}
	return true;
}

/* Create a device on its old netdevs, some of which may not exist any more */
static int create_again(const struct rhca_slot_ports *ports)
{
	struct rhca_dev_spec spec = {};
	int ret = -ENODEV;
	u32 i;

	if (find_ports(ports, &spec))
		ret = rhca_slot_create(&spec);
	for (i = 0; i < spec.num_ports; i++)
		dev_put(spec.netdevs[i]);
	return ret;
}

/*
 * Create a device again that was removed, but not by its user. Tried once, except while hardware's
 * last device is ending, which raises an event. Since the decision, the user may have created one,
 * or the netdev may have been unregistered or moved.
 */
void rhca_slot_bring_back(struct net_device *ndev)
{
	struct rhca_slot_known known;
	int ret;

	rhca_slot_read(ndev, &known);
	if (!(known.flags & RHCA_SLOT_RETURNS))
		return;
	ret = create_again(&known.ports);
	trace_rhca_netdev(ndev->name, "brought back", ret);
	if (!ret)
		pr_info("%s had lost its RDMA device; it is back\n",
			netdev_name(ndev));
	if (!ret || ret == -EALREADY || rhca_netdev_served(ndev))
		return;
	pr_warn("%s had lost its RDMA device, which could not be brought back (error %d)\n",
		netdev_name(ndev), ret);
	rhca_slot_set(ndev, RHCA_SLOT_RETURNS, false);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_bring_back);
