// SPDX-License-Identifier: GPL-2.0
/*
 * Devices of other drivers, and which netdevs they serve.
 *
 * ib_core finds a device by its netdev only if the driver has bound it; drivers of adapters have
 * get_netdev() instead.
 */
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "lifecycle/others.h"

static DEFINE_XARRAY(others);		/* by address, struct ib_device */
static DEFINE_MUTEX(others_mutex);	/* none is removed while it is called */

/* ib_core has added a device of another driver. May sleep. Returns 0 or -ENOMEM. */
int rhca_others_add(struct ib_device *ibdev)
{
	return xa_insert(&others, (unsigned long)ibdev, ibdev, GFP_KERNEL);
}

/* The device is being unregistered. May sleep. */
void rhca_others_remove(struct ib_device *ibdev)
{
	mutex_lock(&others_mutex);
	xa_erase(&others, (unsigned long)ibdev);
	mutex_unlock(&others_mutex);
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
	struct ib_device *ibdev;
	unsigned long address;
	bool found = false;

	mutex_lock(&others_mutex);
	xa_for_each(&others, address, ibdev) {
		found = has_port_on(ibdev, ndev);
		if (found) {
			strscpy(name, ibdev->name, IB_DEVICE_NAME_MAX);
			break;
		}
	}
	mutex_unlock(&others_mutex);
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
	listed = xa_load(&others, (unsigned long)ibdev);
	ib_device_put(ibdev);
	return listed ? 1 : -EAGAIN;
}
