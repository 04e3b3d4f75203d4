// SPDX-License-Identifier: GPL-2.0
/*
 * Which netdev it was. An index alone does not say so: each namespace counts its own,
 * and a netdev may have changed its namespace since.
 */
#include <linux/netdevice.h>
#include <net/net_namespace.h>
#include <rhca/compat.h>

#include "core/rules/netdev_id.h"

/**
 * rhca_netdev_note - Note a netdev
 * @id: filled in
 * @ndev: the netdev, or NULL for none
 *
 * Context: RTNL or RCU read side, or the caller has a reference.
 */
void rhca_netdev_note(struct rhca_netdev_id *id, const struct net_device *ndev)
{
	*id = (struct rhca_netdev_id) {};
	if (!ndev)
		return;
	rcu_read_lock();
	id->net_cookie = dev_net(ndev)->net_cookie;
	id->ifindex = ndev->ifindex;
	rcu_read_unlock();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdev_note);

/**
 * rhca_netdev_is - Is it the netdev that was noted?
 * @ndev: a netdev; the caller has a reference, RTNL or the RCU read side
 * @id: from rhca_netdev_note()
 */
bool rhca_netdev_is(const struct net_device *ndev,
		    const struct rhca_netdev_id *id)
{
	struct rhca_netdev_id own;

	rhca_netdev_note(&own, ndev);
	return own.ifindex && own.ifindex == id->ifindex &&
	       own.net_cookie == id->net_cookie;
}

/**
 * rhca_netdev_get - The netdev that was noted
 * @id: from rhca_netdev_note()
 *
 * Context: any.
 * Return: the netdev with a reference, for dev_put(); NULL when it has gone or changed
 * its namespace. It may be another one that was made with the same index.
 */
struct net_device *rhca_netdev_get(const struct rhca_netdev_id *id)
{
	struct net_device *ndev = NULL;
	struct net *net;

	if (!id->ifindex)
		return NULL;
	rcu_read_lock();
	for_each_net_rcu(net) {
		if (net->net_cookie != id->net_cookie)
			continue;
		ndev = dev_get_by_index_rcu(net, id->ifindex);
		dev_hold(ndev);
		break;
	}
	rcu_read_unlock();
	return ndev;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdev_get);

/**
 * rhca_netdev_beside - Another netdev of the same namespace
 * @ndev: a netdev that the caller has a reference to
 * @name: of the other one
 *
 * A netdev that leaves a namespace does not keep that from being freed: it is looked at
 * under RCU.
 *
 * Context: any.
 * Return: the netdev with a reference, for dev_put(), or NULL.
 */
struct net_device *rhca_netdev_beside(const struct net_device *ndev,
				      const char *name)
{
	struct net_device *other;

	rcu_read_lock();
	other = dev_get_by_name_rcu(dev_net(ndev), name);
	dev_hold(other);
	rcu_read_unlock();
	return other;
}
