// SPDX-License-Identifier: GPL-2.0
/*
 * A device comes back on the same netdevs under the same name. The work that
 * makes it holds references to the netdevs; when one of them goes meanwhile
 * there is nothing to come back to.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "core/comeback.h"
#include "core/device.h"
#include "core/offer.h"
#include "core/registry.h"

/**
 * struct comeback - A device that will be made again
 * @work: makes it
 * @spec: what it was
 * @why: why it had gone, for the log
 * @tries_left: until its name must be free
 * @name: what @spec.name points to
 * @pkeys: what @spec.pkeys point to
 * @trackers: of the netdevs in @spec; the last one is for the second netdev
 * @entry: in comebacks; whoever takes it off the list owns it
 */
struct comeback {
	struct delayed_work work;
	struct rhca_dev_spec spec;
	const char *why;
	u32 tries_left;
	char name[IB_DEVICE_NAME_MAX];
	struct rhca_pkey_table pkeys[RHCA_MAX_PORTS];
	netdevice_tracker trackers[RHCA_MAX_PORTS + 1];
	struct list_head entry;
};

static LIST_HEAD(comebacks);			/* under comebacks_lock */
static bool stopped;				/* under comebacks_lock */
static DEFINE_SPINLOCK(comebacks_lock);
static struct workqueue_struct *comeback_wq;

/*
 * Who unregistered the device may be walking all devices, and would meet the new
 * one: let it end before one appears. The old device keeps its name until the last
 * reference to it has gone, so the new one may have to ask more than once.
 */
#define COMEBACK_DELAY	msecs_to_jiffies(200)
#define COMEBACK_TRIES	50

/**
 * rhca_in_tree_module - The in-tree software driver, which shares our driver id
 *
 * Return: its kobject, for kobject_put(), or NULL when it is not loaded.
 */
struct kobject *rhca_in_tree_module(void)
{
	return kset_find_obj(THIS_MODULE->mkobj.kobj.kset, "rdma_rxe");
}

/**
 * rhca_stranger_unloading - Is the in-tree software driver being unloaded?
 *
 * It shares our driver id, and its exit unregisters every device with that id.
 * Removal by netlink looks the same to a device, but happens while that module
 * lives or is not there.
 *
 * Context: any that may sleep.
 */
bool rhca_stranger_unloading(void)
{
	struct kobject *kobj = rhca_in_tree_module();
	struct module_kobject *mkobj;
	bool going;

	if (!kobj)
		return false;
	mkobj = container_of(kobj, struct module_kobject, kobj);
	going = mkobj->mod && mkobj->mod->state == MODULE_STATE_GOING;
	kobject_put(kobj);
	return going;
}

static void release_comeback(struct comeback *back)
{
	u32 i;

	for (i = 0; i < back->spec.num_ports; i++)
		netdev_put(back->spec.netdevs[i], &back->trackers[i]);
	netdev_put(back->spec.second, &back->trackers[RHCA_MAX_PORTS]);
	kfree(back);
}

static bool claim_comeback(struct comeback *back)
{
	bool mine;

	spin_lock(&comebacks_lock);
	mine = !list_empty(&back->entry);
	list_del_init(&back->entry);
	spin_unlock(&comebacks_lock);
	return mine;
}

static bool queue_comeback(struct comeback *back)
{
	bool queued;

	spin_lock(&comebacks_lock);
	queued = !stopped;
	if (queued) {
		list_add(&back->entry, &comebacks);
		queue_delayed_work(comeback_wq, &back->work, COMEBACK_DELAY);
	}
	spin_unlock(&comebacks_lock);
	return queued;
}

static void come_back(struct work_struct *work)
{
	struct comeback *back = container_of(to_delayed_work(work),
					     struct comeback, work);
	int ret;

	if (!claim_comeback(back))
		return;
	if (rhca_stranger_unloading() && queue_comeback(back))
		return;
	ret = rhca_dev_create(&back->spec);
	if (ret == -ENFILE && --back->tries_left && queue_comeback(back))
		return;
	if (ret == -ENFILE) {
		/* Another device has its name now */
		back->spec.name = NULL;
		ret = rhca_dev_create(&back->spec);
	}
	if (ret) {
		pr_warn("%s: %s and could not be brought back (error %d)\n",
			back->name, back->why, ret);
		rhca_comeback_replaced(dev_net(back->spec.netdevs[0]),
				       &back->spec);
	} else {
		rhca_offers_recheck();
		pr_info("%s: %s; it is back%s\n", back->name, back->why,
			back->spec.name ? "" :
			" under another name, its own is taken");
	}
	release_comeback(back);
}

static struct comeback *new_comeback(const struct rhca_dev_spec *spec)
{
	struct comeback *back = kzalloc(sizeof(*back), GFP_KERNEL);
	u32 i;

	if (!back)
		return NULL;
	INIT_LIST_HEAD(&back->entry);
	INIT_DELAYED_WORK(&back->work, come_back);
	back->spec = *spec;
	/* The caller's; only software, which needs no offer, comes back like this */
	memset(back->spec.pkeys, 0, sizeof(back->spec.pkeys));
	back->spec.settings = NULL;
	back->spec.offer = NULL;
	strscpy(back->name, spec->name, sizeof(back->name));
	back->spec.name = back->name;
	back->tries_left = COMEBACK_TRIES;
	for (i = 0; i < spec->num_ports; i++) {
		if (spec->pkeys[i]) {
			back->pkeys[i] = *spec->pkeys[i];
			back->spec.pkeys[i] = &back->pkeys[i];
		}
		netdev_hold(spec->netdevs[i], &back->trackers[i], GFP_KERNEL);
	}
	netdev_hold(spec->second, &back->trackers[RHCA_MAX_PORTS], GFP_KERNEL);
	return back;
}

/**
 * rhca_comeback_plan - Make a device again in a moment
 * @spec: what it was, with a name; the caller keeps its references to netdevs
 *	and its partitions
 * @why: why it had gone, a constant string
 *
 * Context: may sleep. Without memory the device stays away.
 */
void rhca_comeback_plan(const struct rhca_dev_spec *spec, const char *why)
{
	struct comeback *back = new_comeback(spec);

	if (!back)
		return;
	back->why = why;
	if (!queue_comeback(back))
		release_comeback(back);
}

static bool find_netdevs(struct net *net, const struct rhca_lag_replaced *old,
			 struct rhca_dev_spec *spec)
{
	struct net_device *ndev;
	u32 i;

	for (i = 0; i < old->num_ports; i++) {
		ndev = dev_get_by_index(net, old->ifindex[i]);
		if (!ndev)
			return false;
		spec->netdevs[spec->num_ports++] = ndev;
		if (ndev->reg_state != NETREG_REGISTERED)
			return false;
	}
	return true;
}

/**
 * rhca_comeback_replaced - Make the devices again that a LAG stands for
 * @net: where their netdevs are
 * @lag: what the LAG was: @lag->replaced, its backend and its partitions, which
 *	they get
 *
 * Context: may sleep; RTNL may be held. One whose netdev has gone stays away.
 */
void rhca_comeback_replaced(struct net *net, const struct rhca_dev_spec *lag)
{
	const struct rhca_lag_replaced *old = lag->replaced.device;
	u32 i;

	for (i = 0; i < lag->replaced.num_devices; i++, old++) {
		struct rhca_dev_spec spec = {
			.name	 = old->name,
			.backend = lag->backend,
			.pkeys	 = { lag->pkeys[0], lag->pkeys[0] },
		};

		if (find_netdevs(net, old, &spec))
			rhca_comeback_plan(&spec, "its LAG has ended");
		else
			pr_info("%s: its LAG has ended, but a netdev of it has gone\n",
				old->name);
		rhca_dev_spec_put_netdevs(&spec);
	}
}

static bool comeback_on(const struct comeback *back,
			const struct net_device *ndev)
{
	u32 i;

	for (i = 0; i < back->spec.num_ports; i++)
		if (back->spec.netdevs[i] == ndev)
			return true;
	return !ndev || back->spec.second == ndev;
}

static struct comeback *take_comeback(const struct net_device *ndev)
{
	struct comeback *back, *found = NULL;

	spin_lock(&comebacks_lock);
	list_for_each_entry(back, &comebacks, entry) {
		if (comeback_on(back, ndev)) {
			list_del_init(&back->entry);
			found = back;
			break;
		}
	}
	spin_unlock(&comebacks_lock);
	return found;
}

/**
 * rhca_comeback_cancel - Give up the comebacks that wait for a netdev
 * @ndev: the netdev, or NULL for all
 *
 * Of a LAG, the devices that it stands for come back instead.
 *
 * Context: may sleep; RTNL may be held: a comeback that has begun is not waited
 * for.
 */
void rhca_comeback_cancel(const struct net_device *ndev)
{
	struct comeback *back;

	while ((back = take_comeback(ndev))) {
		cancel_delayed_work_sync(&back->work);
		if (ndev)
			rhca_comeback_replaced(dev_net(ndev), &back->spec);
		release_comeback(back);
	}
}

/**
 * rhca_comeback_stop - Module unload: nothing comes back any more
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_comeback_stop(void)
{
	spin_lock(&comebacks_lock);
	stopped = true;
	spin_unlock(&comebacks_lock);
	rhca_comeback_cancel(NULL);
	flush_workqueue(comeback_wq);
}

int rhca_comeback_init(void)
{
	comeback_wq = alloc_ordered_workqueue("roce_hca", 0);
	return comeback_wq ? 0 : -ENOMEM;
}

void rhca_comeback_exit(void)
{
	destroy_workqueue(comeback_wq);
}
