// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses that nobody answers for.
 *
 * ib_core resolves the address of a peer before it asks the driver to move a QP
 * to RTR or to create an address handle. When ARP or neighbour discovery fails,
 * the program gets ETIMEDOUT and the driver is never called, so the neighbour
 * table is the only place to learn why. It does not tell who asked: the line is
 * also written when other traffic than RDMA finds nobody.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_vlan.h>
#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include <net/neighbour.h>
#include <net/netevent.h>

#include "control/neighbours.h"
#include "core/device.h"
#include "core/registry.h"
#include "core/rules/netdev_id.h"

#define TELL_AGAIN	(10 * 60 * HZ)	/* the same address, at the earliest */
#define MAX_TOLD	16		/* addresses within that time */

/**
 * struct told - An address that the log has named
 * @when: in jiffies
 * @netdev: on which; none in an entry that was never used
 * @address: IPv4 as an IPv4-mapped one
 */
struct told {
	unsigned long when;
	struct rhca_netdev_id netdev;
	struct in6_addr address;
};

static struct told told[MAX_TOLD];
static DEFINE_SPINLOCK(told_lock);	/* protects told */

static bool is_recent(const struct told *entry)
{
	return entry->netdev.ifindex &&
	       time_before(jiffies, entry->when + TELL_AGAIN);
}

/* Remember it, unless it was told a moment ago or too many others were */
static bool is_news(const struct net_device *ndev,
		    const struct in6_addr *address)
{
	struct told *room = NULL;
	bool known = false;
	size_t i;

	spin_lock_bh(&told_lock);
	for (i = 0; i < ARRAY_SIZE(told); i++) {
		if (!is_recent(&told[i]))
			room = &told[i];
		else if (rhca_netdev_is(ndev, &told[i].netdev) &&
			 ipv6_addr_equal(&told[i].address, address))
			known = true;
	}
	if (room && !known) {
		room->when = jiffies;
		room->address = *address;
		rhca_netdev_note(&room->netdev, ndev);
	}
	spin_unlock_bh(&told_lock);
	return room && !known;
}

/* VLANs belong to the device on the netdev below */
static struct rhca_dev *find_device(const struct net_device *ndev)
{
	if (is_vlan_dev(ndev))
		ndev = vlan_dev_real_dev(ndev);
	return rhca_dev_find(ndev);
}

static void write_line(const struct rhca_dev *dev,
		       const struct neighbour *neigh)
{
	const char *name = dev_name(&dev->ibdev.dev);

	if (neigh->tbl->family == AF_INET)
		pr_info("%s: no answer to ARP for %pI4 on %s: RDMA connections to it time out\n",
			name, neigh->primary_key, netdev_name(neigh->dev));
	else
		pr_info("%s: no answer to neighbour discovery for %pI6c on %s: RDMA connections to it time out\n",
			name, neigh->primary_key, netdev_name(neigh->dev));
}

static void tell(const struct neighbour *neigh)
{
	struct rhca_dev *dev = find_device(neigh->dev);
	struct in6_addr address;

	if (!dev)
		return;
	if (neigh->tbl->family == AF_INET)
		ipv6_addr_set_v4mapped(*(const __be32 *)neigh->primary_key,
				       &address);
	else
		memcpy(&address, neigh->primary_key, sizeof(address));
	if (is_news(neigh->dev, &address))
		write_line(dev, neigh);
	ib_device_put(&dev->ibdev);
}

static int neigh_event(struct notifier_block *nb, unsigned long event,
		       void *data)
{
	const struct neighbour *neigh = data;

	if (event == NETEVENT_NEIGH_UPDATE &&
	    READ_ONCE(neigh->nud_state) == NUD_FAILED &&
	    (neigh->tbl->family == AF_INET || neigh->tbl->family == AF_INET6))
		tell(neigh);
	return NOTIFY_DONE;
}

static struct notifier_block neigh_notifier = {
	.notifier_call = neigh_event,
};

/**
 * rhca_neighbours_init - Begin to tell of addresses that nobody answers for
 */
void rhca_neighbours_init(void)
{
	register_netevent_notifier(&neigh_notifier);
}

/**
 * rhca_neighbours_exit - Undo rhca_neighbours_init()
 */
void rhca_neighbours_exit(void)
{
	unregister_netevent_notifier(&neigh_notifier);
}
