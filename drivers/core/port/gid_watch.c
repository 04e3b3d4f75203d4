// SPDX-License-Identifier: GPL-2.0
/*
 * ib_core reads the addresses of any netdev when a device is registered, but hears
 * of changes on Ethernet netdevs only: not on tunnels, PPP or loopback. There we hear
 * of them, and have ib_core read all again. Nor does it hear that such a netdev is
 * being unregistered, which so waits until the device has gone; the kernel's selftest
 * rxe_test_NETDEV_UNREGISTER, and scripts like it, rely on that.
 *
 * Kernels that do not let drivers take GIDs off keep those of an address that has
 * gone until the device goes.
 */
#include <linux/rtnetlink.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "borrowed/roce_gid_mgmt.h"
#include "core/port/device_types.h"
#include "core/port/gid_watch.h"
#include "core/port/port.h"

/*
 * How long a default GID may stay away after its last user has gone. ib_core, which
 * cannot be asked whether its place is free, writes a line to the log each time that
 * it is not: less often the longer it takes.
 */
#define FIRST_RETRY	HZ
#define LONGEST_RETRY	(64 * HZ)

/*
 * One address cannot be taken off alone: the GIDs of all of them go, and those that
 * are left come back, perhaps at another index: an entry keeps its place, without a
 * netdev, while something has a reference to it. Connected QPs send on; what is being
 * connected meanwhile may have to be tried again. A default GID has no other place to
 * come back at: see retry_later().
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

	/* Either not registered yet, which is told us, or no more */
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

/*
 * Undo rhca_gid_watch_init() of a port that nobody tells of addresses any more. May sleep, RTNL
 * not held.
 */
void rhca_gid_watch_exit(struct rhca_port *port)
{
	/* Each queues the other one, but the work no more without a registered device */
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

/* Do what could not be done before a device was registered. Any context. */
void rhca_gid_watch_registered(struct rhca_dev *dev)
{
	u32 i;

	rcu_read_lock();
	for (i = 0; i < dev->num_ports; i++)
		rhca_gid_watch_address(&dev->ports[i], false);
	rcu_read_unlock();
}
