// SPDX-License-Identifier: GPL-2.0
/*
 * When a device is registered, ib_core reads the addresses of any netdev, but it handles changes on
 * Ethernet netdevs only: not on tunnels, PPP or loopback. For those we get the events and make
 * ib_core read all again. It also misses that such a netdev is being unregistered, which so waits
 * until the device has ended; the kernel's selftest rxe_test_NETDEV_UNREGISTER, and scripts like
 * it, rely on that.
 *
 * Kernels that do not let drivers delete GIDs keep those of a removed address until the device
 * ends.
 */
#include <linux/rtnetlink.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "borrowed/roce_gid_mgmt.h"
#include "core/port/device_types.h"
#include "core/port/gid_watch.h"
#include "core/port/port.h"

/*
 * Delays until a missing default GID is added again, once its last user is gone. ib_core cannot be
 * asked whether its place is free, and logs a line whenever it is not: so retry less and less
 * often.
 */
#define FIRST_RETRY	HZ
#define LONGEST_RETRY	(64 * HZ)

/*
 * A single address cannot be deleted: delete the GIDs of all, and have the rest added again,
 * perhaps at another index, as an entry that is referenced keeps its place, without a netdev.
 * Connected QPs keep sending; a connection that is being set up may have to be retried. A default
 * GID has a fixed place: see retry_later().
 */
static void read_addresses(struct rhca_port *port, struct net_device *ndev)
{
	struct ib_device *ibdev = &port->dev->ibdev;

	if (test_and_clear_bit(0, &port->gid_watch.removed))
		rhca_del_netdev_gids(ibdev, port->num, ndev);
	rdma_roce_rescan_device(ibdev);
}

static bool default_gid_missing(struct rhca_port *port)
{
	u16 i, num = rhca_ib_core_default_gids(port->gid_types);

	for (i = 0; i < num; i++)
		if (!rhca_gid_ifindex(&port->gids, i))
			return true;
	return false;
}

static void retry_later(struct rhca_gid_watch *watch)
{
	schedule_delayed_work(&watch->retry, watch->retry_delay);
	watch->retry_delay = min_t(unsigned long, 2 * watch->retry_delay,
				   LONGEST_RETRY);
}

static void do_work(struct work_struct *work)
{
	struct rhca_port *port = container_of(work, struct rhca_port,
					      gid_watch.work);
	struct rhca_gid_watch *watch = &port->gid_watch;
	struct net_device *ndev;

	/* Not registered yet, then rhca_gid_watch_registered() follows, or no longer */
	if (!ib_device_try_get(&port->dev->ibdev))
		return;
	ndev = rhca_port_get_netdev(port);
	if (ndev)
		read_addresses(port, ndev);
	if (ndev && default_gid_missing(port))
		retry_later(watch);
	else
		watch->retry_delay = FIRST_RETRY;
	dev_put(ndev);
	ib_device_put(&port->dev->ibdev);
}

static void retry(struct work_struct *work)
{
	struct rhca_gid_watch *watch = container_of(to_delayed_work(work),
						    struct rhca_gid_watch,
						    retry);

	schedule_work(&watch->work);
}

void rhca_gid_watch_init(struct rhca_port *port)
{
	INIT_WORK(&port->gid_watch.work, do_work);
	INIT_DELAYED_WORK(&port->gid_watch.retry, retry);
	port->gid_watch.retry_delay = FIRST_RETRY;
}

/* Undo rhca_gid_watch_init() after the last rhca_gid_watch_address(). May sleep, RTNL not held. */
void rhca_gid_watch_exit(struct rhca_port *port)
{
	/* Each queues the other, but the work does not without a registered device */
	cancel_delayed_work_sync(&port->gid_watch.retry);
	cancel_work_sync(&port->gid_watch.work);
}

/* An address was added to a port's netdev, or removed. RCU read side. */
void rhca_gid_watch_address(struct rhca_port *port, bool removed)
{
	const struct net_device *ndev = rcu_dereference(port->ndev);

	if (!ndev || rhca_ib_core_watches(ndev))
		return;
	if (removed)
		set_bit(0, &port->gid_watch.removed);
	schedule_work(&port->gid_watch.work);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_watch_address);

/* Catch up on what was not possible before the registration. Any context. */
void rhca_gid_watch_registered(struct rhca_dev *dev)
{
	u32 i;

	rcu_read_lock();
	for (i = 0; i < dev->num_ports; i++)
		rhca_gid_watch_address(&dev->ports[i], false);
	rcu_read_unlock();
}
