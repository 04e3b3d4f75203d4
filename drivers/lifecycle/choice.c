// SPDX-License-Identifier: GPL-2.0
/*
 * Which backend serves a netdev. Hardware comes before software; software serves
 * where hardware has gone and the netdev is still there. What the user has set
 * goes along, under the same name.
 *
 * A port whose partitions are not the default ones stays with software: hardware
 * has but one, and isolation between partitions would be lost.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "lifecycle/choice.h"
#include "core/device.h"
#include "core/offer.h"
#include "core/port/port_pkeys.h"
#include "core/port/settings.h"
#include "core/registry.h"
#include "lifecycle/lag_members.h"
#include "core/rules/netdev_walk.h"
#include "lifecycle/slot.h"

#define NAME_TRIES		20
#define NAME_INTERVAL_MS	50

static const struct rhca_choice_ops *ops;
static struct workqueue_struct *queue;
static bool running;			/* under queue_lock */
static DEFINE_SPINLOCK(queue_lock);	/* queueing against the end */

static void choose(struct work_struct *work);
static DECLARE_WORK(choose_work, choose);

/* --- making and replacing --------------------------------------------------- */

static void free_settings(const struct rhca_dev_spec *spec)
{
	u32 i;

	for (i = 0; i < spec->num_ports; i++)
		kfree(spec->settings[i]);
}

/* What is kept for its ports goes into @spec, for free_settings() */
static int use_settings(struct rhca_dev_spec *spec)
{
	struct rhca_settings *settings;
	u32 i;

	for (i = 0; i < spec->num_ports; i++) {
		settings = rhca_slot_copy(spec->netdevs[i]);
		if (IS_ERR(settings)) {
			free_settings(spec);
			return PTR_ERR(settings);
		}
		if (!settings)
			continue;
		if (!spec->name && settings->name[0])
			spec->name = settings->name;
		spec->pkeys[i] = &settings->pkeys;
		spec->settings[i] = settings;
	}
	return 0;
}

static bool has_kept_name(const struct rhca_dev_spec *spec)
{
	u32 i;

	for (i = 0; i < spec->num_ports; i++)
		if (spec->settings[i] && spec->name == spec->settings[i]->name)
			return true;
	return false;
}

static void tell_partitions(const struct net_device *ndev)
{
	if (rhca_slot_is_set(ndev, RHCA_SLOT_TOLD))
		return;
	rhca_slot_set(ndev, RHCA_SLOT_TOLD, true);
	pr_info("%s stays with software: hardware has no partitions but the default one\n",
		netdev_name(ndev));
}

static bool can_take(const struct rhca_settings *settings,
		     const struct net_device *ndev)
{
	if (!settings || !rhca_pkeys_part_tenants(&settings->pkeys))
		return true;
	tell_partitions(ndev);
	return false;
}

/*
 * The old device of that name may be held for a moment by who looks at it. A name
 * that the user gives is taken, or refused, as it is.
 */
static int create_under_name(struct rhca_dev_spec *spec)
{
	bool kept_name = has_kept_name(spec);
	u32 tries = NAME_TRIES;
	int ret;

	while ((ret = rhca_dev_create(spec)) == -ENFILE && kept_name && tries--)
		msleep(NAME_INTERVAL_MS);
	if (ret == -ENFILE && kept_name) {
		spec->name = NULL;
		ret = rhca_dev_create(spec);
	}
	return ret;
}

/* Hardware that cannot serve after all does not cost the port its device */
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

/**
 * rhca_choice_create - Make a device, by the best backend there is
 * @spec: what it should be; its backend is the one that always can
 *
 * Hardware serves single ports only: of devices with several it would have to own
 * all.
 *
 * Context: may sleep, RTNL not held.
 * Return: as rhca_dev_create(). After -EALREADY hardware will serve, once its last
 * device has gone. -ENOMEM also where what was set before cannot be taken over.
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
	if (offer && can_take(spec->settings[0], ndev))
		ret = create_by(spec, offer);
	else
		ret = create_under_name(spec);
	if (offer)
		rhca_offer_release(offer);
	free_settings(spec);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_choice_create);

static void create_by_offer(struct net_device *ndev)
{
	struct rhca_dev_spec spec = {
		.backend = ops->software(), .netdevs = { ndev }, .num_ports = 1,
	};
	int ret = ops->may_serve(ndev);

	if (!ret)
		ret = rhca_choice_create(&spec);
	trace_rhca_netdev(ndev->name, "hardware offers to serve", ret);
	if (ret && ret != -EEXIST && ret != -EALREADY)
		pr_warn("no RDMA device on %s, which hardware offers to serve: error %d\n",
			netdev_name(ndev), ret);
}

/* May it be taken from software, by hardware that offers to serve it? */
static bool give_up_software(struct rhca_dev *dev, struct net_device *ndev)
{
	struct rhca_port *port = &dev->ports[0];
	struct rhca_pkey_table pkeys;

	if (dev->offer || dev->num_ports > 1 || !rhca_settings_cover(dev) ||
	    ops->others_serve(ndev))
		return false;
	/* Looked at again when it cannot change any more */
	rhca_pkeys_freeze(port, true);
	rhca_pkeys_copy(port, &pkeys);
	if (rhca_pkeys_part_tenants(&pkeys))
		tell_partitions(ndev);
	else if (!rhca_slot_save(dev))
		return true;
	rhca_pkeys_freeze(port, false);
	return false;
}

static void choose_for(struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	bool free = !rhca_lag_has_member(ndev);

	if (dev) {
		free = give_up_software(dev, ndev);
		if (free) {
			trace_rhca_netdev(ndev->name, "hardware takes over", 0);
			rhca_dev_remove_and_put(dev);
			pr_info("%s: hardware takes over\n", netdev_name(ndev));
		} else {
			ib_device_put(&dev->ibdev);
		}
	}
	/* Who removes the device while it gives way wants none */
	if (free && !rhca_slot_is_unwanted(ndev))
		create_by_offer(ndev);
}

/* While an offer has a device, software that serves is not given up for it */
static bool is_candidate(const struct net_device *ndev)
{
	struct rhca_offer *offer;
	bool is_free;

	if (ndev->reg_state != NETREG_REGISTERED)
		return false;
	offer = rhca_offer_find(ndev);
	if (!offer)
		return false;
	is_free = rhca_offer_is_free(offer);
	rhca_offer_release(offer);
	return is_free && !rhca_slot_is_unwanted(ndev);
}

static void choose(struct work_struct *work)
{
	rhca_netdev_walk(is_candidate, choose_for);
}

/* --- offers ----------------------------------------------------------------- */

static void offers_changed(void)
{
	unsigned long flags;

	ops->kick(NULL);
	spin_lock_irqsave(&queue_lock, flags);
	if (running)
		queue_work(queue, &choose_work);
	spin_unlock_irqrestore(&queue_lock, flags);
}

/**
 * rhca_choice_netdev_came - Hardware may offer to serve a netdev that is new
 *
 * Context: any.
 */
void rhca_choice_netdev_came(void)
{
	if (rhca_offers_exist())
		offers_changed();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_choice_netdev_came);

static void withdraw_from(struct rhca_dev *dev)
{
	struct net_device *ndev = rhca_port_get_netdev(&dev->ports[0]);

	if (!ndev)
		return;
	/* Without memory it begins anew */
	if (rhca_slot_save(dev) ||
	    rhca_slot_set(ndev, RHCA_SLOT_WAS_HARDWARE, true))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	dev_put(ndev);
}

static void offer_withdrawn(struct rhca_offer *offer)
{
	rhca_dev_remove_offer(offer, withdraw_from);
	ops->kick(NULL);
}

static const struct rhca_offer_listener listener = {
	.changed	= offers_changed,
	.withdrawn	= offer_withdrawn,
};

/**
 * rhca_choice_init - Begin to choose
 * @choice_ops: a constant
 * @wq: an ordered queue that outlives rhca_choice_stop()
 */
void rhca_choice_init(const struct rhca_choice_ops *choice_ops,
		      struct workqueue_struct *wq)
{
	ops = choice_ops;
	queue = wq;
	spin_lock_irq(&queue_lock);
	running = true;
	spin_unlock_irq(&queue_lock);
	rhca_offers_listen(&listener);
}

/**
 * rhca_choice_stop - No device is made of an offer any more
 *
 * Context: may sleep, RTNL not held. No offer is left, since those who made them
 * need this module.
 */
void rhca_choice_stop(void)
{
	rhca_offers_listen(NULL);
	spin_lock_irq(&queue_lock);
	running = false;
	spin_unlock_irq(&queue_lock);
	cancel_work_sync(&choose_work);
}
