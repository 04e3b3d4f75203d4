// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's side of the GID table. ib_core adds and deletes GIDs, as it watches netdevs, VLANs,
 * bonds and addresses (roce_gid_mgmt).
 */
#include <rhca/backend.h>

#include "core/gid_verbs.h"
#include "core/mcast.h"
#include "core/port/device_types.h"
#include "core/rules/gid.h"

/*
 * Empty if the netdev is in another namespace: none of our packets arrive on it, and its index may
 * be that of another netdev here.
 */
static struct rhca_gid_entry entry_of(const struct rhca_port *port,
				      const struct ib_gid_attr *attr)
{
	struct rhca_gid_entry entry = {};
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	if (ndev && net_eq(dev_net(ndev), port->net))
		entry = (struct rhca_gid_entry) {
			.gid	 = attr->gid,
			.type	 = attr->gid_type,
			.ifindex = ndev->ifindex,
		};
	rcu_read_unlock();
	return entry;
}

static int change_gid(const struct ib_gid_attr *attr, bool add)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(attr->device),
					      attr->port_num);
	struct rhca_gid_entry entry = {};
	int ret = 0;

	if (!port || attr->index >= RHCA_NUM_GIDS)
		return -EINVAL;
	if (port->dev->backend->gid_set)
		ret = port->dev->backend->gid_set(port, attr, add);
	/* ib_core has dropped it whatever we return */
	if (ret && add)
		return ret;
	if (add)
		entry = entry_of(port, attr);
	rhca_gid_table_set(&port->gids, attr->index, &entry);
	rhca_mcast_gids_changed();
	return 0;
}

static int add_gid(const struct ib_gid_attr *attr, void **context)
{
	return change_gid(attr, true);
}

static int del_gid(const struct ib_gid_attr *attr, void **context)
{
	return change_gid(attr, false);
}

const struct ib_device_ops rhca_gid_verbs = {
	.add_gid	= add_gid,
	.del_gid	= del_gid,
};
