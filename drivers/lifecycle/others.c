// SPDX-License-Identifier: GPL-2.0
/*
 * Devices of other drivers, and which netdevs they serve.
 *
 * ib_core finds a device by its netdev only if the driver has bound it; drivers of adapters have
 * get_netdev() instead.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "lifecycle/others.h"

struct other_device {
	struct list_head entry;
	struct ib_device *ibdev;
};

static LIST_HEAD(other_devices);
static DEFINE_MUTEX(other_devices_mutex);	/* protects the list */

/* ib_core has added a device of another driver. May sleep. Returns 0 or -ENOMEM. */
int rhca_others_add(struct ib_client *client, struct ib_device *ibdev)
{
	struct other_device *other = kzalloc(sizeof(*other), GFP_KERNEL);

	if (!other)
		return -ENOMEM;
	other->ibdev = ibdev;
	mutex_lock(&other_devices_mutex);
	list_add(&other->entry, &other_devices);
	mutex_unlock(&other_devices_mutex);
	ib_set_client_data(ibdev, client, other);
	return 0;
}

/* The device is being unregistered. May sleep. */
void rhca_others_remove(struct other_device *other)
{
	mutex_lock(&other_devices_mutex);
	list_del(&other->entry);
	mutex_unlock(&other_devices_mutex);
	kfree(other);
}

static bool has_port_on(struct ib_device *ibdev, const struct net_device *ndev)
{
	struct net_device *theirs;
	bool found = false;
	u32 port;

	if (!ibdev->ops.get_netdev)
		return false;
	rdma_for_each_port(ibdev, port) {
		theirs = ibdev->ops.get_netdev(ibdev, port);
		found |= theirs == ndev;
		dev_put(theirs);
	}
	return found;
}

static bool adapter_serves(const struct net_device *ndev, char *name)
{
	struct other_device *other;
	bool found = false;

	mutex_lock(&other_devices_mutex);
	list_for_each_entry(other, &other_devices, entry) {
		if (has_port_on(other->ibdev, ndev)) {
			strscpy(name, other->ibdev->name, IB_DEVICE_NAME_MAX);
			found = true;
			break;
		}
	}
	mutex_unlock(&other_devices_mutex);
	return found;
}

/* Between rhca_others_add() and rhca_others_remove() */
static bool is_listed(const struct ib_device *ibdev)
{
	struct other_device *other;
	bool found = false;

	mutex_lock(&other_devices_mutex);
	list_for_each_entry(other, &other_devices, entry)
		found |= other->ibdev == ibdev;
	mutex_unlock(&other_devices_mutex);
	return found;
}

/*
 * Does another driver have a device on this netdev? Copies its name to @name, which has
 * IB_DEVICE_NAME_MAX bytes. ib_core binds a device to its netdev before it adds the device to
 * clients, and unbinds it after it has removed it from them. May sleep. Returns 1 or 0; -EAGAIN
 * while a device is bound that clients do not see.
 */
int rhca_others_serve(struct net_device *ndev, char *name)
{
	struct ib_device *ibdev = ib_device_get_by_netdev(ndev,
							  RDMA_DRIVER_UNKNOWN);
	bool listed;

	if (!ibdev)
		return adapter_serves(ndev, name);
	strscpy(name, ibdev->name, IB_DEVICE_NAME_MAX);
	listed = is_listed(ibdev);
	ib_device_put(ibdev);
	return listed ? 1 : -EAGAIN;
}
