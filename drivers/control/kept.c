// SPDX-License-Identifier: GPL-2.0
/*
 * What is kept of a netdev whose device changes its backend, or is removed: the
 * settings, and what the user wanted. A netdev that takes the place of another on the
 * same hardware inherits it.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

#include "control/kept.h"
#include "core/device.h"
#include "core/settings.h"

/**
 * struct kept - What is known of a port that has, or had, several backends
 * @entry: in the list of them
 * @ifindex: its netdev, 0 when that has gone
 * @net: the netdev's namespace, to compare
 * @parent: name of the netdev's parent device: after a reload or reset there is a
 *	new netdev on it; empty for a netdev without
 * @perm_addr: the netdev's permanent address, which tells those on one parent
 *	apart
 * @standin: hardware served it until it went
 * @unwanted: its user has removed the device
 * @told: the log says that its partitions keep it from hardware
 * @has_settings: @settings are those of the last device that we removed
 * @settings: what is kept
 */
struct kept {
	struct list_head entry;
	int ifindex;
	const struct net *net;
	char parent[64];
	u8 perm_addr[MAX_ADDR_LEN];
	bool standin;
	bool unwanted;
	bool told;
	bool has_settings;
	struct rhca_settings settings;
};

static LIST_HEAD(kept_list);
static DEFINE_MUTEX(kept_mutex);	/* protects it */

static const char *parent_name(const struct net_device *ndev)
{
	return ndev->dev.parent ? dev_name(ndev->dev.parent) : "";
}

static void name_netdev(struct kept *kept, const struct net_device *ndev)
{
	kept->ifindex = ndev->ifindex;
	kept->net = dev_net(ndev);
	strscpy(kept->parent, parent_name(ndev), sizeof(kept->parent));
	memcpy(kept->perm_addr, ndev->perm_addr, sizeof(kept->perm_addr));
}

static bool is_of(const struct kept *kept, const struct net_device *ndev)
{
	if (kept->ifindex)
		return kept->ifindex == ndev->ifindex &&
		       kept->net == dev_net(ndev);
	return ndev->dev.parent &&
	       !strncmp(kept->parent, parent_name(ndev),
			sizeof(kept->parent) - 1) &&
	       !memcmp(kept->perm_addr, ndev->perm_addr,
		       sizeof(kept->perm_addr));
}

/* One that takes the place of a netdev that went is it from now on */
static struct kept *find_kept(const struct net_device *ndev)
{
	struct kept *kept;

	lockdep_assert_held(&kept_mutex);
	list_for_each_entry(kept, &kept_list, entry) {
		if (is_of(kept, ndev)) {
			name_netdev(kept, ndev);
			return kept;
		}
	}
	return NULL;
}

/* NULL: no memory */
static struct kept *get_kept(const struct net_device *ndev)
{
	struct kept *kept = find_kept(ndev);

	if (kept)
		return kept;
	kept = kzalloc(sizeof(*kept), GFP_KERNEL);
	if (kept) {
		name_netdev(kept, ndev);
		list_add(&kept->entry, &kept_list);
	}
	return kept;
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
	kept = get_kept(ndev);
	if (kept) {
		kept->standin = standin;
		kept->has_settings = true;
		rhca_settings_save(dev, &kept->settings);
	}
	mutex_unlock(&kept_mutex);
	return kept ? 0 : -ENOMEM;
}

/**
 * rhca_kept_copy - The settings that are kept for a netdev, for a new device on it
 * @ndev: the netdev. They end with a device that its user has removed: the next one
 *	begins anew. One that is only moved to another RDMA namespace, or made again
 *	after rdma_rxe took it away, does not ask
 *
 * Context: may sleep.
 * Return: a copy, for kfree(), or NULL.
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
				   GFP_KERNEL);
	mutex_unlock(&kept_mutex);
	return settings;
}

/**
 * rhca_kept_netdev_gone - A netdev is being unregistered
 * @ndev: the netdev
 *
 * Where it has a parent device, a reload brings another in its place that gets the
 * settings.
 *
 * Context: RTNL held.
 */
void rhca_kept_netdev_gone(const struct net_device *ndev)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = find_kept(ndev);
	if (kept && ndev->dev.parent && !kept->unwanted) {
		kept->ifindex = 0;
	} else if (kept) {
		list_del(&kept->entry);
		kfree(kept);
	}
	mutex_unlock(&kept_mutex);
}

/**
 * rhca_kept_set_unwanted - Its user has removed the device on a netdev, or it is
 *	there again
 * @ndev: the netdev; while nobody wants a device on it, none is made of an offer
 *	and none stands in
 * @unwanted: which of both
 *
 * Context: may sleep.
 */
void rhca_kept_set_unwanted(const struct net_device *ndev, bool unwanted)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = unwanted ? get_kept(ndev) : find_kept(ndev);
	if (kept)
		kept->unwanted = unwanted;
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
	kept = get_kept(ndev);
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
	list_for_each_entry_safe(kept, next, &kept_list, entry) {
		list_del(&kept->entry);
		kfree(kept);
	}
	mutex_unlock(&kept_mutex);
}
