// SPDX-License-Identifier: GPL-2.0
/*
 * What is kept of a netdev whose device changes its backend, or is removed: the
 * settings, and what the user wanted. It stays with a netdev that changes its
 * namespace. A netdev that takes the place of another on the same hardware inherits it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

#include "control/kept.h"
#include "core/device.h"
#include "core/registry.h"
#include "core/settings.h"

#define MAX_GONE	512	/* netdevs that are waited for */

/**
 * struct kept - What is known of a port that has, or had, several backends
 * @entry: in the list of them; of those that are waited for, the last one to go is last
 * @ndev: its netdev, to compare; NULL when that has gone
 * @parent: name of the netdev's parent device: after a reload or reset there is a
 *	new netdev on it
 * @perm_addr: the netdev's permanent address, which tells those on one parent
 *	apart
 * @dev_port: and so does this, on adapters with several ports
 * @standin: hardware served it until it went
 * @unwanted: its user has removed the device
 * @told: the log says that its partitions keep it from hardware
 * @has_settings: @settings are those of the last device, which has gone or goes
 * @settings: what is kept
 */
struct kept {
	struct list_head entry;
	const struct net_device *ndev;
	char parent[64];
	u8 perm_addr[MAX_ADDR_LEN];
	u16 dev_port;
	bool standin;
	bool unwanted;
	bool told;
	bool has_settings;
	struct rhca_settings settings;
};

static LIST_HEAD(kept_list);
static DEFINE_MUTEX(kept_mutex);	/* protects it */

/* Would another netdev in its place be known as such? Those of software would not */
static bool is_hardware(const struct net_device *ndev)
{
	return ndev->dev.parent &&
	       memchr_inv(ndev->perm_addr, 0, sizeof(ndev->perm_addr));
}

static void name_hardware(struct kept *kept, const struct net_device *ndev)
{
	strscpy(kept->parent, dev_name(ndev->dev.parent), sizeof(kept->parent));
	memcpy(kept->perm_addr, ndev->perm_addr, sizeof(kept->perm_addr));
	kept->dev_port = ndev->dev_port;
}

static bool is_on_hardware(const struct kept *kept,
			   const struct net_device *ndev)
{
	return is_hardware(ndev) && kept->dev_port == ndev->dev_port &&
	       !strncmp(kept->parent, dev_name(ndev->dev.parent),
			sizeof(kept->parent) - 1) &&
	       !memcmp(kept->perm_addr, ndev->perm_addr,
		       sizeof(kept->perm_addr));
}

/*
 * One that takes the place of a netdev that went is it from now on; not one that has
 * gone as well, which somebody still holds.
 */
static struct kept *find_kept(const struct net_device *ndev)
{
	struct kept *kept;

	lockdep_assert_held(&kept_mutex);
	list_for_each_entry(kept, &kept_list, entry)
		if (kept->ndev == ndev)
			return kept;
	list_for_each_entry(kept, &kept_list, entry) {
		if (kept->ndev || !is_on_hardware(kept, ndev))
			continue;
		if (ndev->reg_state == NETREG_REGISTERED)
			kept->ndev = ndev;
		return kept;
	}
	return NULL;
}

/*
 * NULL: no memory, or the netdev has gone. Only rhca_kept_netdev_goes(), which looks at
 * @ndev afterwards, and who is called before it, may give it one that is being unregistered.
 */
static struct kept *get_kept(const struct net_device *ndev, bool goes)
{
	struct kept *kept = find_kept(ndev);

	if (kept || (!goes && ndev->reg_state != NETREG_REGISTERED))
		return kept;
	kept = kzalloc(sizeof(*kept), GFP_KERNEL);
	if (kept) {
		kept->ndev = ndev;
		list_add(&kept->entry, &kept_list);
	}
	return kept;
}

static void forget(struct kept *kept)
{
	list_del(&kept->entry);
	kfree(kept);
}

static void save(struct kept *kept, struct rhca_dev *dev)
{
	kept->has_settings = true;
	rhca_settings_save(dev, &kept->settings);
}

/**
 * rhca_kept_save - Keep the settings of a device that is about to change its backend
 * @dev: the device
 * @ndev: its netdev
 * @standin: it is hardware that goes, so that software stands in
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int rhca_kept_save(struct rhca_dev *dev, const struct net_device *ndev,
		   bool standin)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = get_kept(ndev, false);
	if (kept) {
		kept->standin = standin;
		save(kept, dev);
	}
	mutex_unlock(&kept_mutex);
	return kept ? 0 : -ENOMEM;
}

/**
 * rhca_kept_member - Keep what a member of a LAG gets back of it with its next device
 * @ndev: the member, which may be going
 * @name: of the device that it had
 * @pkeys: the LAG's partitions
 *
 * Context: may sleep.
 */
void rhca_kept_member(const struct net_device *ndev, const char *name,
		      const struct rhca_pkey_table *pkeys)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = get_kept(ndev, true);
	if (kept) {
		kept->has_settings = true;
		memset(&kept->settings, 0, sizeof(kept->settings));
		strscpy(kept->settings.name, name, sizeof(kept->settings.name));
		kept->settings.pkeys = *pkeys;
		kept->settings.tclass.global = RHCA_TCLASS_OFF;
	} else {
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	}
	mutex_unlock(&kept_mutex);
}

/**
 * rhca_kept_copy - The settings that are kept for a netdev, for a new device on it
 * @ndev: the netdev. They end with a device that its user has removed: the next one
 *	begins anew. One that is only moved to another RDMA namespace, or made again
 *	after rdma_rxe took it away, does not ask
 *
 * Context: may sleep.
 * Return: a copy, for kfree(); NULL: there are none; -ENOMEM: a device without them
 * would be in partitions that it was not in.
 */
struct rhca_settings *rhca_kept_copy(const struct net_device *ndev)
{
	struct rhca_settings *settings = NULL;
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = find_kept(ndev);
	if (kept && kept->unwanted)
		kept->has_settings = false;
	if (kept && kept->has_settings)
		settings = kmemdup(&kept->settings, sizeof(kept->settings),
				   GFP_KERNEL) ?: ERR_PTR(-ENOMEM);
	mutex_unlock(&kept_mutex);
	return settings;
}

static void forget_oldest_gone(void)
{
	struct kept *kept, *oldest = NULL;
	u32 num = 0;

	list_for_each_entry_reverse(kept, &kept_list, entry) {
		if (kept->ndev)
			continue;
		oldest = kept;
		num++;
	}
	if (num > MAX_GONE)
		forget(oldest);
}

/* Another one may be found by what is known of its hardware */
static void wait_for_next(struct kept *kept, const struct net_device *ndev)
{
	if (!is_hardware(ndev) ||
	    !(kept->has_settings || kept->unwanted || kept->standin)) {
		forget(kept);
		return;
	}
	name_hardware(kept, ndev);
	kept->ndev = NULL;
	list_move_tail(&kept->entry, &kept_list);
	forget_oldest_gone();
}

/* Does what is set outlive it? */
static bool is_kept(const struct net_device *ndev, const struct rhca_dev *dev)
{
	return dev && rhca_settings_cover(dev) &&
	       (ndev->reg_state == NETREG_REGISTERED || is_hardware(ndev));
}

/**
 * rhca_kept_netdev_goes - A netdev is being unregistered, or moves to another namespace
 * @ndev: the netdev, whose device has not been told yet
 *
 * What its user has set is kept: of a netdev that moves, and of hardware's: a reload
 * brings another one in its place.
 *
 * Context: RTNL held.
 */
void rhca_kept_netdev_goes(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	struct kept *kept;

	mutex_lock(&kept_mutex);
	if (is_kept(ndev, dev)) {
		kept = get_kept(ndev, true);
		if (kept)
			save(kept, dev);
		else
			pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	} else {
		kept = find_kept(ndev);
	}
	if (kept && ndev->reg_state != NETREG_REGISTERED)
		wait_for_next(kept, ndev);
	mutex_unlock(&kept_mutex);
	if (dev)
		ib_device_put(&dev->ibdev);
}

/**
 * rhca_kept_device_removed - The user has removed the device on a netdev
 * @ndev: the netdev; while nobody wants a device on it, none is made of an offer or by
 *	a rule, and none stands in
 *
 * Context: may sleep.
 */
void rhca_kept_device_removed(const struct net_device *ndev)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = get_kept(ndev, false);
	if (kept)
		kept->unwanted = true;
	mutex_unlock(&kept_mutex);
}

/**
 * rhca_kept_device_added - There is a device on a netdev
 * @ndev: the netdev; what is kept of a former device is not for the next one any more
 *
 * Context: may sleep.
 */
void rhca_kept_device_added(const struct net_device *ndev)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = find_kept(ndev);
	if (kept) {
		kept->unwanted = false;
		/* It may have gone already, and this be what the device has left */
		if (kept->ndev == ndev)
			kept->has_settings = false;
	}
	mutex_unlock(&kept_mutex);
}

/**
 * rhca_kept_is_unwanted - Has its user removed the device on a netdev?
 * @ndev: the netdev
 *
 * Context: may sleep.
 */
bool rhca_kept_is_unwanted(const struct net_device *ndev)
{
	const struct kept *kept;
	bool unwanted;

	mutex_lock(&kept_mutex);
	kept = find_kept(ndev);
	unwanted = kept && kept->unwanted;
	mutex_unlock(&kept_mutex);
	return unwanted;
}

/**
 * rhca_kept_wants_standin - Did hardware serve this netdev until it went?
 * @ndev: the netdev
 *
 * Context: may sleep.
 */
bool rhca_kept_wants_standin(const struct net_device *ndev)
{
	const struct kept *kept;
	bool wants;

	mutex_lock(&kept_mutex);
	kept = find_kept(ndev);
	wants = kept && kept->standin && !kept->unwanted;
	mutex_unlock(&kept_mutex);
	return wants;
}

/**
 * rhca_kept_tell_once - Shall the log say that partitions keep a netdev from hardware?
 * @ndev: the netdev
 *
 * Context: may sleep.
 * Return: true the first time.
 */
bool rhca_kept_tell_once(const struct net_device *ndev)
{
	struct kept *kept;
	bool first;

	mutex_lock(&kept_mutex);
	kept = get_kept(ndev, false);
	first = kept && !kept->told;
	if (kept)
		kept->told = true;
	mutex_unlock(&kept_mutex);
	return first;
}

/**
 * rhca_kept_exit - Forget everything, when nobody asks any more
 */
void rhca_kept_exit(void)
{
	struct kept *kept, *next;

	mutex_lock(&kept_mutex);
	list_for_each_entry_safe(kept, next, &kept_list, entry)
		forget(kept);
	mutex_unlock(&kept_mutex);
}
