// SPDX-License-Identifier: GPL-2.0
/*
 * Which backend serves a netdev. Hardware comes before software; software serves
 * where hardware has gone and the netdev is still there. What the user has set
 * goes along, under the same name.
 *
 * A port whose partitions are not the default ones stays with software: hardware
 * has but one, and tenants that were kept apart would meet.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/list.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "control/choice.h"
#include "control/netdev_walk.h"
#include "control/standin.h"
#include "core/device.h"
#include "core/offer.h"
#include "core/registry.h"
#include "core/settings.h"

#define NAME_TRIES		20
#define NAME_INTERVAL_MS	50

/**
 * struct kept - Settings of a port that changes its backend
 * @entry: in the list of them
 * @parent: name of its netdev's parent device, which is there again after a reload
 *	or reset with a new netdev; empty for a netdev without
 * @dev_port: which of the parent's netdevs
 * @ifindex: the netdev, where it has no parent
 * @net: its namespace, to compare
 * @standin: hardware served it
 * @settings: what is kept
 */
struct kept {
	struct list_head entry;
	char parent[64];
	unsigned short dev_port;
	int ifindex;
	const struct net *net;
	bool standin;
	struct rhca_settings settings;
};

static LIST_HEAD(kept_list);
static DEFINE_MUTEX(kept_mutex);	/* protects it */

static const struct rhca_choice_ops *ops;
static struct workqueue_struct *queue;
static bool running;			/* under queue_lock */
static DEFINE_SPINLOCK(queue_lock);	/* queueing against the end */

static void choose(struct work_struct *work);
static DECLARE_WORK(choose_work, choose);

/* --- settings that are kept ------------------------------------------------- */

static void name_netdev(struct kept *kept, const struct net_device *ndev)
{
	if (ndev->dev.parent) {
		strscpy(kept->parent, dev_name(ndev->dev.parent),
			sizeof(kept->parent));
		kept->dev_port = ndev->dev_port;
		return;
	}
	kept->ifindex = ndev->ifindex;
	kept->net = dev_net(ndev);
}

static bool is_of(const struct kept *kept, const struct net_device *ndev)
{
	if (ndev->dev.parent)
		return !strcmp(kept->parent, dev_name(ndev->dev.parent)) &&
		       kept->dev_port == ndev->dev_port;
	return kept->ifindex == ndev->ifindex && kept->net == dev_net(ndev);
}

static struct kept *find_kept(const struct net_device *ndev)
{
	struct kept *kept;

	lockdep_assert_held(&kept_mutex);
	list_for_each_entry(kept, &kept_list, entry)
		if (is_of(kept, ndev))
			return kept;
	return NULL;
}

static void drop_kept(struct kept *kept)
{
	if (!kept)
		return;
	list_del(&kept->entry);
	kfree(kept);
}

/* Of a device that is about to change its backend */
static int keep(struct rhca_dev *dev, const struct net_device *ndev,
		bool standin)
{
	struct kept *kept = kzalloc(sizeof(*kept), GFP_KERNEL);

	if (!kept)
		return -ENOMEM;
	name_netdev(kept, ndev);
	kept->standin = standin;
	rhca_settings_save(dev, &kept->settings);
	mutex_lock(&kept_mutex);
	drop_kept(find_kept(ndev));
	list_add(&kept->entry, &kept_list);
	mutex_unlock(&kept_mutex);
	return 0;
}

/* A copy, or NULL */
static struct rhca_settings *copy_kept(const struct net_device *ndev)
{
	struct rhca_settings *settings = NULL;
	const struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = find_kept(ndev);
	if (kept)
		settings = kmemdup(&kept->settings, sizeof(kept->settings),
				   GFP_KERNEL);
	mutex_unlock(&kept_mutex);
	return settings;
}

/**
 * rhca_choice_forget - What was kept for a netdev is not wanted any more
 * @ndev: a netdev that is being unregistered, or whose device its user removes
 *
 * Where the netdev has a parent device, a reload brings another in its place that
 * gets the settings, so they stay as long as the netdev only goes.
 */
void rhca_choice_forget(const struct net_device *ndev)
{
	if (ndev->dev.parent && ndev->reg_state != NETREG_REGISTERED)
		return;
	mutex_lock(&kept_mutex);
	drop_kept(find_kept(ndev));
	mutex_unlock(&kept_mutex);
}

/**
 * rhca_choice_wants_standin - Did hardware serve this netdev until it went?
 * @ndev: the netdev
 *
 * Context: may sleep.
 */
bool rhca_choice_wants_standin(const struct net_device *ndev)
{
	const struct kept *kept;
	bool wants;

	mutex_lock(&kept_mutex);
	kept = find_kept(ndev);
	wants = kept && kept->standin;
	mutex_unlock(&kept_mutex);
	return wants;
}

/* --- making and replacing --------------------------------------------------- */

static void use_settings(struct rhca_dev_spec *spec,
			 const struct rhca_settings *settings)
{
	if (!settings)
		return;
	if (!spec->name)
		spec->name = settings->name;
	spec->pkeys[0] = &settings->pkeys;
	spec->settings = settings;
}

static bool can_take(const struct rhca_settings *settings,
		     const struct net_device *ndev)
{
	if (!settings || !rhca_settings_part_tenants(settings))
		return true;
	pr_info("%s stays with software: hardware has no partitions but the default one\n",
		netdev_name(ndev));
	return false;
}

/* The old device of that name may be held for a moment by who looks at it */
static int create_under_name(struct rhca_dev_spec *spec)
{
	u32 tries = NAME_TRIES;
	int ret;

	while ((ret = rhca_dev_create(spec)) == -ENFILE && spec->settings &&
	       tries--)
		msleep(NAME_INTERVAL_MS);
	if (ret == -ENFILE && spec->settings) {
		spec->name = NULL;
		ret = rhca_dev_create(spec);
	}
	return ret;
}

/**
 * rhca_choice_create - Make a device, by the best backend there is
 * @spec: what it should be; its backend is the one that always can
 *
 * Hardware serves single ports only: of devices with several it would have to own
 * all.
 *
 * Context: may sleep, RTNL not held.
 * Return: as rhca_dev_create().
 */
int rhca_choice_create(struct rhca_dev_spec *spec)
{
	struct net_device *ndev = spec->netdevs[0];
	struct rhca_settings *settings = NULL;
	struct rhca_offer *offer = NULL;
	int ret;

	if (spec->num_ports == 1 && !spec->second) {
		settings = copy_kept(ndev);
		offer = rhca_offer_find(ndev);
	}
	use_settings(spec, settings);
	if (offer && can_take(settings, ndev)) {
		spec->backend = offer->backend;
		spec->offer = offer;
	}
	ret = create_under_name(spec);
	if (offer)
		rhca_offer_put(offer);
	kfree(settings);
	return ret;
}

static void create_by_offer(struct net_device *ndev)
{
	struct rhca_dev_spec spec = {
		.backend = ops->software(), .netdevs = { ndev }, .num_ports = 1,
	};
	int ret = ops->may_serve(ndev);

	if (!ret)
		ret = rhca_choice_create(&spec);
	if (ret)
		pr_warn("no RDMA device by hardware on %s: error %d\n",
			netdev_name(ndev), ret);
}

/* Is it served by another than the best, and may be taken from it? */
static bool give_up_software(struct rhca_dev *dev,
			     const struct net_device *ndev)
{
	struct rhca_settings *settings;
	bool can;

	if (dev->num_ports != 1 || rcu_access_pointer(dev->ports[0].second) ||
	    keep(dev, ndev, false))
		return false;
	settings = copy_kept(ndev);
	can = settings && can_take(settings, ndev);
	kfree(settings);
	if (!can)
		rhca_pkeys_freeze(&dev->ports[0], false);
	return can;
}

static void choose_for(struct net_device *ndev)
{
	struct rhca_offer *offer = rhca_offer_find(ndev);
	struct rhca_dev *dev;
	bool free = true;

	if (!offer)
		return;
	rhca_offer_put(offer);
	dev = rhca_dev_find(ndev);
	if (dev) {
		free = dev->offer != offer && give_up_software(dev, ndev);
		ib_device_put(&dev->ibdev);
		if (free) {
			rhca_dev_remove(ndev);
			pr_info("%s: hardware takes over\n", netdev_name(ndev));
		}
	}
	if (free)
		create_by_offer(ndev);
}

static bool is_candidate(const struct net_device *ndev)
{
	return ndev->reg_state == NETREG_REGISTERED;
}

static void choose(struct work_struct *work)
{
	rhca_netdev_walk(is_candidate, choose_for);
}

/* --- offers ----------------------------------------------------------------- */

static void offers_changed(void)
{
	unsigned long flags;

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

static void withdraw_from(struct rhca_dev *dev)
{
	struct net_device *ndev = rhca_port_get_netdev(&dev->ports[0]);

	if (!ndev)
		return;
	/* Without memory it begins anew */
	if (keep(dev, ndev, true))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	dev_put(ndev);
}

static void offer_withdrawn(struct rhca_offer *offer)
{
	rhca_dev_remove_offer(offer, withdraw_from);
	rhca_standin_needed();
}

static const struct rhca_offer_listener listener = {
	.changed	= offers_changed,
	.withdrawn	= offer_withdrawn,
};

/**
 * rhca_choice_init - Begin to choose
 * @choice_ops: a constant
 * @wq: an ordered queue that outlives rhca_choice_exit()
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
 * rhca_choice_exit - No device is made of an offer any more
 *
 * Context: may sleep, RTNL not held. No offer is left, since those who made them
 * need this module.
 */
void rhca_choice_exit(void)
{
	struct kept *kept, *next;

	rhca_offers_listen(NULL);
	spin_lock_irq(&queue_lock);
	running = false;
	spin_unlock_irq(&queue_lock);
	cancel_work_sync(&choose_work);
	list_for_each_entry_safe(kept, next, &kept_list, entry)
		drop_kept(kept);
}
