// SPDX-License-Identifier: GPL-2.0
/*
 * What is kept of a netdev whose device changes its backend, or is removed: the
 * settings, and what the user wanted. It stays with a netdev that changes its
 * namespace. A netdev that takes the place of another on the same hardware inherits it.
 *
 * Settings are saved whenever a device ends that its user has not removed, and the next
 * one has them. They are not forgotten then: its netdev may have moved before it was
 * registered, so that it could not be found to be saved, and it ends at once.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/devlink.h>
#include <rhca/compat.h>

#include "lifecycle/kept.h"
#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/port/settings.h"
#include "core/registry.h"
#include "core/rules/lag.h"
#include "core/rules/netdev.h"
#include "core/rules/netdev_id.h"

#define MAX_GONE	512	/* netdevs that are waited for */
#define NO_PORT		UINT_MAX

/**
 * struct kept - What is known of a port that has, or had, several backends
 * @entry: in the list of them; of those that are waited for, the last one to go is last
 * @ndev: its netdev, there until the notifier takes it away; NULL when it has gone
 * @parent: name of the netdev's parent device: after a reload or reset there is a
 *	new netdev on it
 * @perm_addr: the netdev's permanent address, which tells those on one parent
 *	apart
 * @dev_port: and so does this, on adapters with several ports
 * @devlink_port: and this, on switches: their ports may have one address; NO_PORT: none
 * @standin: hardware of ours served it until it went
 * @unwanted: its user has removed the device
 * @told: the log says that its partitions keep it from hardware
 * @has_settings: @settings are those of the last port on it that was saved
 * @settings: what is kept
 */
struct kept {
	struct list_head entry;
	const struct net_device *ndev;
	char parent[64];
	u8 perm_addr[MAX_ADDR_LEN];
	u16 dev_port;
	unsigned int devlink_port;
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
	return rhca_netdev_on_bus(ndev) &&
	       memchr_inv(ndev->perm_addr, 0, sizeof(ndev->perm_addr));
}

static unsigned int devlink_port(const struct net_device *ndev)
{
	const struct devlink_port *port = rhca_netdev_devlink_port(ndev);

	ASSERT_RTNL();
	return port ? port->index : NO_PORT;
}

static void name_hardware(struct kept *kept, const struct net_device *ndev)
{
	strscpy(kept->parent, dev_name(ndev->dev.parent), sizeof(kept->parent));
	memcpy(kept->perm_addr, ndev->perm_addr, sizeof(kept->perm_addr));
	kept->dev_port = ndev->dev_port;
	kept->devlink_port = devlink_port(ndev);
}

static bool is_on_hardware(const struct kept *kept,
			   const struct net_device *ndev)
{
	return is_hardware(ndev) && kept->dev_port == ndev->dev_port &&
	       kept->devlink_port == devlink_port(ndev) &&
	       !strncmp(kept->parent, dev_name(ndev->dev.parent),
			sizeof(kept->parent) - 1) &&
	       !memcmp(kept->perm_addr, ndev->perm_addr,
		       sizeof(kept->perm_addr));
}

static struct kept *find_kept(const struct net_device *ndev)
{
	struct kept *kept;

	lockdep_assert_held(&kept_mutex);
	list_for_each_entry(kept, &kept_list, entry)
		if (kept->ndev == ndev)
			return kept;
	return NULL;
}

/**
 * rhca_kept_netdev_came - A netdev is new, or comes from another namespace
 * @ndev: the netdev; one that takes the place of a netdev that went is it from now on
 *
 * Context: RTNL held.
 */
void rhca_kept_netdev_came(const struct net_device *ndev)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	if (find_kept(ndev))
		goto out;
	list_for_each_entry(kept, &kept_list, entry) {
		if (kept->ndev || !is_on_hardware(kept, ndev))
			continue;
		kept->ndev = ndev;
		break;
	}
out:
	mutex_unlock(&kept_mutex);
}

/*
 * NULL: no memory, or the netdev has gone. Only rhca_kept_netdev_goes(), which looks at
 * @ndev afterwards or is still to be called for it, and who is called before it, may give
 * it one that is being unregistered.
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

/* Of a netdev that stays, or has a next one that is known by its hardware */
static bool outlives(const struct net_device *ndev)
{
	return ndev->reg_state == NETREG_REGISTERED || is_hardware(ndev);
}

static int save_port(struct rhca_port *port, bool goes)
{
	struct net_device *ndev = rhca_port_get_netdev(port);
	bool wanted = ndev && outlives(ndev);
	struct kept *kept = wanted ? get_kept(ndev, goes) : NULL;

	if (kept) {
		kept->has_settings = true;
		rhca_settings_save(port, &kept->settings);
	}
	dev_put(ndev);
	return wanted && !kept ? -ENOMEM : 0;
}

/*
 * @goes: one of its netdevs does, and takes the device along. Others may be unregistered
 * together with it; as the device is still there, they have not been announced yet.
 */
static int save(struct rhca_dev *dev, bool goes)
{
	int ret = 0;
	u32 i;

	if (!rhca_settings_cover(dev))
		return 0;
	for (i = 0; i < dev->num_ports; i++)
		ret = save_port(&dev->ports[i], goes) ?: ret;
	return ret;
}

/**
 * rhca_kept_save - Keep the settings of a device for one that takes its place
 * @dev: the device, which is going to be removed: its partitions do not change any more
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM, and they can be written still.
 */
int rhca_kept_save(struct rhca_dev *dev)
{
	int ret;

	rhca_pkeys_freeze_all(dev, true);
	mutex_lock(&kept_mutex);
	ret = save(dev, false);
	mutex_unlock(&kept_mutex);
	if (ret)
		rhca_pkeys_freeze_all(dev, false);
	return ret;
}

/**
 * rhca_kept_want_standin - Software shall stand in where hardware goes
 * @ndev: the netdev
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int rhca_kept_want_standin(const struct net_device *ndev)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = get_kept(ndev, false);
	if (kept)
		kept->standin = true;
	mutex_unlock(&kept_mutex);
	return kept ? 0 : -ENOMEM;
}

/**
 * rhca_kept_member - Keep what a member of a LAG gets back of it with its next device
 * @ndev: the member
 * @goes: it goes, and rhca_kept_netdev_goes() follows
 * @name: of the device that it had
 * @pkeys: the LAG's partitions
 *
 * Context: may sleep.
 */
void rhca_kept_member(const struct net_device *ndev, bool goes, const char *name,
		      const struct rhca_pkey_table *pkeys)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	kept = get_kept(ndev, goes);
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

/**
 * rhca_kept_netdev_goes - A netdev is being unregistered, or moves to another namespace
 * @ndev: the netdev, whose device has not been told yet
 *
 * What its user has set is kept: of a netdev that moves, and of hardware's: a reload
 * brings another one in its place. So it is of the other netdevs of the device, which
 * goes. A device that is not registered has been made with what is kept, or its settings
 * were saved when it began its way to another RDMA namespace.
 *
 * Context: RTNL held.
 */
void rhca_kept_netdev_goes(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	struct kept *kept;

	if (dev)
		rhca_pkeys_freeze_all(dev, true);
	mutex_lock(&kept_mutex);
	if (dev && save(dev, true))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	kept = find_kept(ndev);
	if (kept && ndev->reg_state != NETREG_REGISTERED)
		wait_for_next(kept, ndev);
	mutex_unlock(&kept_mutex);
	if (dev)
		ib_device_put(&dev->ibdev);
}

/* Drops the reference to it */
static void note_unwanted(struct net_device *ndev)
{
	struct kept *kept = ndev ? get_kept(ndev, false) : NULL;

	if (kept)
		kept->unwanted = true;
	dev_put(ndev);
}

/* A LAG is the device of its members, too */
static void set_unwanted(struct rhca_dev *dev)
{
	const struct rhca_lag_replaced *old = dev->replaced.device;
	u32 i, port;

	for (i = 0; i < dev->num_ports; i++)
		note_unwanted(rhca_port_get_netdev(&dev->ports[i]));
	for (i = 0; i < dev->replaced.num_devices; i++, old++)
		for (port = 0; port < old->num_ports; port++)
			note_unwanted(rhca_netdev_get(&old->netdev[port]));
}

/**
 * rhca_kept_device_removed - A device is being unregistered, which nobody of us wanted
 * @dev: the device. It may be on its way to another RDMA namespace, where it comes back
 *	and cannot be found meanwhile: its settings are saved, but its partitions
 *	can be written again there
 * @by_user: its user has removed it, unless it comes back: while nobody wants a device
 *	on its netdevs, none is made of an offer or by a rule, and none stands in
 *
 * Context: may sleep.
 */
void rhca_kept_device_removed(struct rhca_dev *dev, bool by_user)
{
	mutex_lock(&kept_mutex);
	save(dev, false);
	if (by_user)
		set_unwanted(dev);
	mutex_unlock(&kept_mutex);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_kept_device_removed);

static bool is_for(const struct kept *kept, const struct rhca_dev *dev)
{
	u32 i;

	if (!kept->ndev)
		return false;
	for (i = 0; i < dev->num_ports; i++)
		if (dev->ports[i].made_on == kept->ndev)
			return true;
	return rhca_lag_record_covers(&dev->replaced, kept->ndev);
}

/**
 * rhca_kept_device_added - There is a device
 * @dev: the device, new or back from another RDMA namespace. Its netdevs may have moved
 *	meanwhile, and it have let go of them
 *
 * Context: may sleep.
 */
void rhca_kept_device_added(struct rhca_dev *dev)
{
	struct kept *kept;

	mutex_lock(&kept_mutex);
	list_for_each_entry(kept, &kept_list, entry) {
		if (!is_for(kept, dev))
			continue;
		kept->unwanted = false;
		kept->standin &= !dev->offer;
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
