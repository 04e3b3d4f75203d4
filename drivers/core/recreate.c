// SPDX-License-Identifier: GPL-2.0
/*
 * LAGs that are made again on the same netdevs under the same name, after another driver
 * has unregistered them. The job that makes one holds references to the netdevs, and is
 * given up when one of them is unregistered meanwhile: then the devices return that the
 * LAG stands for.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "borrowed/rxe_module.h"
#include "core/device.h"
#include "core/offer.h"
#include "core/port/settings.h"
#include "core/recreate.h"
#include "core/registry.h"

/**
 * struct recreate_job - A device that will be made again
 * @work: makes it
 * @spec: what it was
 * @why: why it had gone, for the log
 * @tries_left: until its name must be free
 * @name: what @spec.name points to
 * @pkeys: what @spec.pkeys point to
 * @settings: and @spec.settings, for each port
 * @trackers: of the netdevs in @spec; the last one is for the second netdev
 * @entry: in recreate_jobs; whoever takes it off the list owns it
 */
struct recreate_job {
	struct delayed_work work;
	struct rhca_dev_spec spec;
	const char *why;
	u32 tries_left;
	char name[IB_DEVICE_NAME_MAX];
	struct rhca_pkey_table pkeys[RHCA_MAX_PORTS];
	struct rhca_settings *settings;
	netdevice_tracker trackers[RHCA_MAX_PORTS + 1];
	struct list_head entry;
};

static LIST_HEAD(recreate_jobs);		/* under recreate_lock */
static bool stopped;				/* under recreate_lock */
static DEFINE_SPINLOCK(recreate_lock);
static struct workqueue_struct *recreate_wq;
static void (*lag_ended)(const struct rhca_lag_record *record,
			 const struct rhca_pkey_table *pkeys);

/*
 * Who unregistered the device may be walking all devices, and would meet the new
 * one: let it end before one appears. The old device keeps its name until the last
 * reference to it has gone, so the new one may have to ask more than once.
 */
#define RECREATE_DELAY	msecs_to_jiffies(200)
#define RECREATE_TRIES	50

static void release_job(struct recreate_job *job)
{
	u32 i;

	for (i = 0; i < job->spec.num_ports; i++)
		netdev_put(job->spec.netdevs[i], &job->trackers[i]);
	netdev_put(job->spec.second, &job->trackers[RHCA_MAX_PORTS]);
	kfree(job->settings);
	kfree(job);
}

static bool claim_job(struct recreate_job *job)
{
	bool mine;

	spin_lock(&recreate_lock);
	mine = !list_empty(&job->entry);
	list_del_init(&job->entry);
	spin_unlock(&recreate_lock);
	return mine;
}

static bool queue_job(struct recreate_job *job)
{
	bool queued;

	spin_lock(&recreate_lock);
	queued = !stopped;
	if (queued) {
		list_add(&job->entry, &recreate_jobs);
		queue_delayed_work(recreate_wq, &job->work, RECREATE_DELAY);
	}
	spin_unlock(&recreate_lock);
	return queued;
}

static void recreate(struct work_struct *work)
{
	struct recreate_job *job = container_of(to_delayed_work(work),
						struct recreate_job, work);
	int ret;

	if (!claim_job(job))
		return;
	if (rhca_in_tree_unloading() && queue_job(job))
		return;
	ret = rhca_dev_create(&job->spec);
	if (ret == -ENFILE && --job->tries_left && queue_job(job))
		return;
	if (ret == -ENFILE) {
		/* Another device has its name now */
		job->spec.name = NULL;
		ret = rhca_dev_create(&job->spec);
	}
	trace_rhca_netdev(job->spec.netdevs[0]->name, "brought back", ret);
	if (ret) {
		pr_warn("%s: %s and could not be brought back (error %d)\n",
			job->name, job->why, ret);
		rhca_recreate_replaced(&job->spec.replaced,
				       job->spec.pkeys[0]);
	} else {
		rhca_offers_recheck();
		pr_info("%s: %s; it is back%s\n", job->name, job->why,
			job->spec.name ? "" :
			" under another name, its own is taken");
	}
	release_job(job);
}

static struct recreate_job *alloc_job(const struct rhca_dev_spec *spec)
{
	struct recreate_job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	u32 i;

	if (!job)
		return NULL;
	job->settings = kcalloc(spec->num_ports, sizeof(*job->settings),
				GFP_KERNEL);
	if (!job->settings) {
		kfree(job);
		return NULL;
	}
	INIT_LIST_HEAD(&job->entry);
	INIT_DELAYED_WORK(&job->work, recreate);
	job->spec = *spec;
	/* The caller's; only software, which needs no offer, is made again like this */
	memset(job->spec.pkeys, 0, sizeof(job->spec.pkeys));
	memset(job->spec.settings, 0, sizeof(job->spec.settings));
	job->spec.offer = NULL;
	strscpy(job->name, spec->name, sizeof(job->name));
	job->spec.name = job->name;
	job->tries_left = RECREATE_TRIES;
	for (i = 0; i < spec->num_ports; i++) {
		if (spec->pkeys[i]) {
			job->pkeys[i] = *spec->pkeys[i];
			job->spec.pkeys[i] = &job->pkeys[i];
		}
		if (spec->settings[i]) {
			job->settings[i] = *spec->settings[i];
			job->spec.settings[i] = &job->settings[i];
		}
		netdev_hold(spec->netdevs[i], &job->trackers[i], GFP_KERNEL);
	}
	netdev_hold(spec->second, &job->trackers[RHCA_MAX_PORTS], GFP_KERNEL);
	return job;
}

/* Without memory the device stays away. @why is a constant string, for the log */
static void plan_recreation(const struct rhca_dev_spec *spec, const char *why)
{
	struct recreate_job *job = alloc_job(spec);

	if (!job)
		return;
	job->why = why;
	if (!queue_job(job))
		release_job(job);
}

/* Those that are where they were. Pairs with put_netdevs() */
static bool hold_netdevs(struct rhca_dev *dev, struct rhca_dev_spec *spec)
{
	struct net_device *ndev;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < dev->num_ports; i++) {
		ndev = rcu_dereference(dev->ports[i].ndev);
		if (!ndev || ndev->reg_state != NETREG_REGISTERED ||
		    !net_eq(dev_net(ndev), dev->ports[i].net))
			break;
		dev_hold(ndev);
		spec->netdevs[spec->num_ports++] = ndev;
	}
	spec->second = rcu_dereference(dev->ports[0].second);
	dev_hold(spec->second);
	rcu_read_unlock();
	return spec->num_ports == dev->num_ports;
}

/* Names those that are held, and no other */
static void put_netdevs(struct rhca_dev_spec *spec)
{
	u32 i;

	for (i = 0; i < spec->num_ports; i++)
		dev_put(spec->netdevs[i]);
	dev_put(spec->second);
}

/**
 * rhca_recreate_dev - Make a device again in a moment, as it was
 * @dev: the device, which has been unregistered
 * @why: a constant string, for the log
 *
 * Context: may sleep. Without memory the device stays away, and where a netdev has gone
 * or moved; of a LAG, the devices that it stands for are made again then.
 */
void rhca_recreate_dev(struct rhca_dev *dev, const char *why)
{
	struct rhca_dev_spec spec = {
		.name		= dev_name(&dev->ibdev.dev),
		.backend	= dev->backend,
		.replaced	= dev->replaced,
	};
	struct rhca_settings *settings;
	u32 i;

	settings = kcalloc(dev->num_ports, sizeof(*settings), GFP_KERNEL);
	if (!settings)
		return;
	/* Tenants that were kept apart must not meet meanwhile */
	for (i = 0; i < dev->num_ports; i++) {
		rhca_settings_save(&dev->ports[i], &settings[i]);
		spec.pkeys[i] = &settings[i].pkeys;
		spec.settings[i] = &settings[i];
	}
	if (hold_netdevs(dev, &spec))
		plan_recreation(&spec, why);
	else
		rhca_recreate_replaced(&spec.replaced, spec.pkeys[0]);
	put_netdevs(&spec);
	kfree(settings);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recreate_dev);

/**
 * rhca_recreate_listen - Be told of LAGs that have ended and are not made again
 * @new: called with what the LAG stood for and its partitions, or NULL for the default
 *	ones; only leaves word, RTNL may be held. NULL: tell nobody any more
 *
 * Context: any.
 */
void rhca_recreate_listen(void (*new)(const struct rhca_lag_record *record,
				      const struct rhca_pkey_table *pkeys))
{
	WRITE_ONCE(lag_ended, new);
}

/**
 * rhca_recreate_replaced - The devices return that a LAG stands for
 * @record: these devices
 * @pkeys: the LAG's partitions, which they get, or NULL
 *
 * Context: may sleep; RTNL may be held.
 */
void rhca_recreate_replaced(const struct rhca_lag_record *record,
			    const struct rhca_pkey_table *pkeys)
{
	void (*tell)(const struct rhca_lag_record *record,
		     const struct rhca_pkey_table *pkeys) = READ_ONCE(lag_ended);

	if (tell)
		tell(record, pkeys);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recreate_replaced);

static bool job_on(const struct recreate_job *job,
		   const struct net_device *ndev)
{
	u32 i;

	for (i = 0; i < job->spec.num_ports; i++)
		if (job->spec.netdevs[i] == ndev)
			return true;
	return !ndev || job->spec.second == ndev;
}

static struct recreate_job *take_job(const struct net_device *ndev)
{
	struct recreate_job *job, *found = NULL;

	spin_lock(&recreate_lock);
	list_for_each_entry(job, &recreate_jobs, entry) {
		if (job_on(job, ndev)) {
			list_del_init(&job->entry);
			found = job;
			break;
		}
	}
	spin_unlock(&recreate_lock);
	return found;
}

/**
 * rhca_recreate_cancel - Give up the jobs that wait for a netdev
 * @ndev: the netdev, or NULL for all
 *
 * Of a LAG, the devices that it stands for are made again instead.
 *
 * Context: may sleep; RTNL may be held: a job that has begun is not waited for.
 */
void rhca_recreate_cancel(const struct net_device *ndev)
{
	struct recreate_job *job;

	while ((job = take_job(ndev))) {
		cancel_delayed_work_sync(&job->work);
		if (ndev)
			rhca_recreate_replaced(&job->spec.replaced,
					       job->spec.pkeys[0]);
		release_job(job);
	}
}

/**
 * rhca_recreate_stop - Module unload: no device is made again any more
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_recreate_stop(void)
{
	spin_lock(&recreate_lock);
	stopped = true;
	spin_unlock(&recreate_lock);
	rhca_recreate_cancel(NULL);
	flush_workqueue(recreate_wq);
}

int rhca_recreate_init(void)
{
	recreate_wq = alloc_ordered_workqueue("roce_hca", 0);
	return recreate_wq ? 0 : -ENOMEM;
}

void rhca_recreate_exit(void)
{
	destroy_workqueue(recreate_wq);
}
