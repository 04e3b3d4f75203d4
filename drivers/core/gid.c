// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's side of the GID table. Add and delete come from ib_core, which
 * watches netdevs, VLANs, bonds and addresses (roce_gid_mgmt).
 */
#include <linux/if_vlan.h>
#include <rhca/compat.h>

#include "core/device.h"
#include "core/gid.h"
#include "core/mcast.h"

void rhca_gid_table_init(struct rhca_gid_table *table)
{
	spin_lock_init(&table->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_table_init);

static void entry_from_attr(struct rhca_gid_entry *entry,
			    const struct ib_gid_attr *attr)
{
	struct net_device *ndev;

	entry->gid = attr->gid;
	entry->type = attr->gid_type;
	entry->ifindex = 0;
	entry->vlan_id = RHCA_NO_VLAN;
	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	if (ndev) {
		entry->ifindex = ndev->ifindex;
		if (is_vlan_dev(ndev))
			entry->vlan_id = vlan_dev_vlan_id(ndev);
	}
	rcu_read_unlock();
}

static int add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(attr->device),
					      attr->port_num);
	struct rhca_gid_entry entry;

	if (!port || attr->index >= RHCA_NUM_GIDS)
		return -EINVAL;
	entry_from_attr(&entry, attr);
	spin_lock_bh(&port->gids.lock);
	port->gids.entry[attr->index] = entry;
	spin_unlock_bh(&port->gids.lock);
	rhca_mcast_gids_changed();
	return 0;
}

static int del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(attr->device),
					      attr->port_num);

	if (!port || attr->index >= RHCA_NUM_GIDS)
		return -EINVAL;
	spin_lock_bh(&port->gids.lock);
	memset(&port->gids.entry[attr->index], 0,
	       sizeof(port->gids.entry[attr->index]));
	spin_unlock_bh(&port->gids.lock);
	rhca_mcast_gids_changed();
	return 0;
}

static bool entry_matches(const struct rhca_gid_entry *entry,
			  const struct rhca_gid_query *query)
{
	return entry->type == query->type &&
	       (!query->ifindex || entry->ifindex == query->ifindex) &&
	       !memcmp(&entry->gid, query->gid, sizeof(entry->gid));
}

/**
 * rhca_gid_find - Is this destination one of the port's GIDs?
 * @port: the port
 * @query: what the packet says
 *
 * Context: RCU read side.
 * Return: the index, or -ENOENT.
 */
int rhca_gid_find(struct rhca_port *port, const struct rhca_gid_query *query)
{
	const struct net_device *ndev = rcu_dereference(port->ndev);
	int index = -ENOENT;
	int i;

	if (!ndev || !net_eq(dev_net(ndev), query->net))
		return -ENOENT;
	spin_lock_bh(&port->gids.lock);
	for (i = 0; i < RHCA_NUM_GIDS; i++) {
		if (entry_matches(&port->gids.entry[i], query)) {
			index = i;
			break;
		}
	}
	spin_unlock_bh(&port->gids.lock);
	return index;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_find);

/**
 * rhca_gid_vlan - VLAN of a GID's netdev
 * @port: the port
 * @index: an index that rhca_gid_find() returned
 *
 * Return: the VLAN ID, or RHCA_NO_VLAN.
 */
u16 rhca_gid_vlan(struct rhca_port *port, u16 index)
{
	u16 vlan_id;

	spin_lock_bh(&port->gids.lock);
	vlan_id = port->gids.entry[index].vlan_id;
	spin_unlock_bh(&port->gids.lock);
	return vlan_id;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_vlan);

/**
 * rhca_gid_ifindex - Netdev of a GID
 * @port: the port
 * @index: below RHCA_NUM_GIDS
 *
 * Return: the index of the netdev, 0 where there is no GID.
 */
int rhca_gid_ifindex(struct rhca_port *port, u16 index)
{
	int ifindex;

	spin_lock_bh(&port->gids.lock);
	ifindex = port->gids.entry[index].ifindex;
	spin_unlock_bh(&port->gids.lock);
	return ifindex;
}

/**
 * rhca_gid_has_netdev - Does the port have a GID on a netdev?
 * @port: the port
 * @ifindex: the netdev
 */
bool rhca_gid_has_netdev(struct rhca_port *port, int ifindex)
{
	bool found = false;
	int i;

	spin_lock_bh(&port->gids.lock);
	for (i = 0; i < RHCA_NUM_GIDS && !found; i++)
		found = port->gids.entry[i].ifindex == ifindex;
	spin_unlock_bh(&port->gids.lock);
	return found;
}

const struct ib_device_ops rhca_gid_verbs = {
	.add_gid	= add_gid,
	.del_gid	= del_gid,
};
