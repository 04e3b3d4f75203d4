// SPDX-License-Identifier: GPL-2.0
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rhca/compat.h>

#include "core/rules/netdev_walk.h"
#include "core/rules/netdev_id.h"

/* A netdev that @wanted said yes to */
struct candidate {
	struct list_head entry;
	struct rhca_netdev_id id;
};

static void note_candidates(struct net *net, struct list_head *list,
			    bool (*wanted)(const struct net_device *ndev))
{
	struct candidate *candidate;
	struct net_device *ndev;

	ASSERT_RTNL();
	for_each_netdev(net, ndev) {
		if (!wanted(ndev))
			continue;
		candidate = kzalloc(sizeof(*candidate), GFP_KERNEL);
		if (!candidate)
			return;
		rhca_netdev_note(&candidate->id, ndev);
		list_add_tail(&candidate->entry, list);
	}
}

/* What was done for the ones before may have taken long */
static struct net_device *
get_if_wanted(const struct rhca_netdev_id *id,
	      bool (*wanted)(const struct net_device *ndev))
{
	struct net_device *ndev;

	rtnl_lock();
	ndev = rhca_netdev_get(id);
	if (ndev && !wanted(ndev)) {
		dev_put(ndev);
		ndev = NULL;
	}
	rtnl_unlock();
	return ndev;
}

/**
 * rhca_netdev_walk - Do something to netdevs of all namespaces
 * @wanted: to which; called with RTNL held, and again before @fn
 * @fn: what; may sleep, RTNL is not held: the netdev may have changed since
 *
 * Devices are made and removed without RTNL, which guards the lists: they are
 * noted first. Without memory some are left out.
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_netdev_walk(bool (*wanted)(const struct net_device *ndev),
		      void (*fn)(struct net_device *ndev))
{
	struct candidate *candidate, *next;
	struct net_device *ndev;
	LIST_HEAD(list);
	struct net *net;

	rtnl_lock();
	down_read(&net_rwsem);
	for_each_net(net)
		note_candidates(net, &list, wanted);
	up_read(&net_rwsem);
	rtnl_unlock();
	list_for_each_entry_safe(candidate, next, &list, entry) {
		ndev = get_if_wanted(&candidate->id, wanted);
		if (ndev)
			fn(ndev);
		dev_put(ndev);
		kfree(candidate);
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdev_walk);
