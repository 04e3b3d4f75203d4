// SPDX-License-Identifier: GPL-2.0
/*
 * Devices are made and removed, for netdevs of which has been decided which they should
 * have (slot_apply.c).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/netdevice.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/registry.h"
#include "core/rules/netdev_id.h"
#include "lifecycle/choice.h"
#include "lifecycle/netdev_check.h"
#include "lifecycle/netdevs.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_act.h"

static const struct rhca_backend_ops *software;

/**
 * rhca_slot_act_init - Before the first device is made
 * @backend: who serves what hardware does not
 */
void rhca_slot_act_init(const struct rhca_backend_ops *backend)
{
	software = backend;
}

/**
 * rhca_slot_create - Make a device on netdevs that may have one
 * @spec: what it should be; its backend is chosen here
 *
 * Context: may sleep, RTNL not held.
 * Return: as rhca_netdev_check() and rhca_choice_create().
 */
int rhca_slot_create(struct rhca_dev_spec *spec)
{
	u32 i;
	int ret;

	spec->backend = software;
	for (i = 0; i < spec->num_ports; i++) {
		ret = rhca_netdev_check(spec->netdevs[i]);
		if (ret)
			return ret;
	}
	return rhca_choice_create(spec);
}

/**
 * rhca_slot_stand_in - Make a device where another driver has none, or hardware has gone
 * @ndev: the netdev
 *
 * Context: as rhca_slot_create().
 */
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
	rhca_slot_set(ndev, RHCA_SLOT_FAILED, true);
}

/**
 * rhca_slot_create_by_rule - Make the device that a rule of netdevs= asks for
 * @ndev: one of its netdevs; all must be there, the last one to come makes it
 * @rule: the rule, a constant
 *
 * Context: as rhca_slot_create().
 */
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

/**
 * rhca_slot_give_way - Remove what stands in for a device that is there now
 * @ndev: the netdev
 *
 * Its QPs are flushed before it is unregistered, see rhca_dev_unplugged(). The next one
 * has its settings. Nobody waits for its end, which its users may put off: that is an
 * event.
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_slot_give_way(struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	if (!dev)
		return;
	if (rhca_slot_save(dev))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	trace_rhca_netdev(ndev->name, "stand-in gives way", 0);
	if (rhca_dev_remove_later(dev))
		pr_info("%s has an RDMA device of another driver: the stand-in is removed\n",
			netdev_name(ndev));
}

/**
 * rhca_slot_tell_of_offer - Say what has become of an offer
 * @ndev: the netdev that hardware offers to serve
 * @ret: 0, or why it does not
 */
void rhca_slot_tell_of_offer(const struct net_device *ndev, int ret)
{
	trace_rhca_netdev(ndev->name, "hardware offers to serve", ret);
	if (ret && ret != -EEXIST && ret != -EALREADY)
		pr_warn("no RDMA device on %s, which hardware offers to serve: error %d\n",
			netdev_name(ndev), ret);
}

/**
 * rhca_slot_create_by_offer - Make a device that hardware offers
 * @ndev: the netdev
 *
 * Context: as rhca_slot_create().
 */
void rhca_slot_create_by_offer(struct net_device *ndev)
{
	struct rhca_dev_spec spec = { .netdevs = { ndev }, .num_ports = 1 };

	rhca_slot_tell_of_offer(ndev, rhca_slot_create(&spec));
}

/* Looked at again when its partitions cannot change any more */
static bool may_give_up(struct rhca_dev *dev)
{
	struct rhca_pkey_table pkeys;

	if (rhca_slot_save(dev))
		return false;
	rhca_pkeys_copy(&dev->ports[0], &pkeys);
	if (!rhca_pkeys_part_tenants(&pkeys))
		return true;
	rhca_pkeys_freeze_all(dev, false);
	return false;
}

/**
 * rhca_slot_take_over - Remove software's device for one by hardware
 * @ndev: the netdev
 *
 * That is made when the other one has ended; one by software, should the offer be
 * withdrawn until then; and none, should its user remove it.
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_slot_take_over(struct net_device *ndev)
{
	struct rhca_slot_ports ports = { .num = 1 };
	struct rhca_dev *dev = rhca_dev_find(ndev);

	if (!dev)
		return;
	if (!may_give_up(dev)) {
		ib_device_put(&dev->ibdev);
		return;
	}
	trace_rhca_netdev(ndev->name, "hardware takes over", 0);
	rhca_netdev_note(&ports.netdev[0], ndev);
	/* Fails for no netdev that stays: its settings have been saved */
	rhca_slot_set_returns(ndev, &ports);
	if (rhca_dev_remove_later(dev))
		pr_info("%s: hardware takes over\n", netdev_name(ndev));
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

/* On the netdevs that it was on, which need not be there any more */
static int create_again(struct net_device *ndev)
{
	struct rhca_dev_spec spec = {};
	struct rhca_slot_known known;
	int ret = -ENODEV;
	u32 i;

	rhca_slot_read(ndev, &known);
	if (find_ports(&known.ports, &spec))
		ret = rhca_slot_create(&spec);
	for (i = 0; i < spec.num_ports; i++)
		dev_put(spec.netdevs[i]);
	return ret;
}

/**
 * rhca_slot_bring_back - Make a device again that its user did not ask to be removed
 * @ndev: its first netdev
 *
 * Tried once, unless hardware has a device that is ending: that is an event.
 *
 * Context: as rhca_slot_create().
 */
void rhca_slot_bring_back(struct net_device *ndev)
{
	int ret = create_again(ndev);

	trace_rhca_netdev(ndev->name, "brought back", ret);
	if (!ret)
		pr_info("%s had lost its RDMA device; it is back\n",
			netdev_name(ndev));
	if (!ret || ret == -EALREADY)
		return;
	pr_warn("%s had lost its RDMA device, which could not be brought back (error %d)\n",
		netdev_name(ndev), ret);
	rhca_slot_set(ndev, RHCA_SLOT_RETURNS, false);
	rhca_slot_set(ndev, RHCA_SLOT_FAILED, true);
}
