// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's side of the GID table. Add and delete come from ib_core, which
 * watches netdevs, VLANs, bonds and addresses (roce_gid_mgmt).
 */
#include <linux/if_vlan.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/device.h"
#include "core/gid.h"
#include "core/mcast.h"

void rhca_gid_table_init(struct rhca_gid_table *table)
{
	seqlock_init(&table->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_table_init);

/*
 * Empty where the netdev is in another namespace: no packet that we see comes by it,
 * and its index may be another netdev's here.
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
			.vlan_id = is_vlan_dev(ndev) ? vlan_dev_vlan_id(ndev) :
						       RHCA_NO_VLAN,
		};
	rcu_read_unlock();
	return entry;
}

static bool is_empty(const struct rhca_gid_entry *entry)
{
	return !memchr_inv(&entry->gid, 0, sizeof(entry->gid));
}

/**
 * rhca_gid_table_set - Change one entry
 * @table: the table
 * @index: below RHCA_NUM_GIDS
 * @entry: its new value, all zero to empty it
 */
void rhca_gid_table_set(struct rhca_gid_table *table, u16 index,
			const struct rhca_gid_entry *entry)
{
	write_seqlock_bh(&table->lock);
	table->entry[index] = *entry;
	table->end = RHCA_NUM_GIDS;
	while (table->end && is_empty(&table->entry[table->end - 1]))
		table->end--;
	write_sequnlock_bh(&table->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_table_set);

static struct rhca_gid_entry get_entry(struct rhca_gid_table *table, u16 index)
{
	struct rhca_gid_entry entry;
	unsigned int seq;

	do {
		seq = read_seqbegin(&table->lock);
		entry = table->entry[index];
	} while (read_seqretry(&table->lock, seq));
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
		ret = port->dev->backend->gid_set(port, attr->index,
						  add ? attr : NULL);
	/* ib_core has dropped it, whatever is said */
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

static bool entry_matches(const struct rhca_gid_entry *entry,
			  const struct rhca_gid_query *query)
{
	return entry->type == query->type &&
	       (!query->ifindex || entry->ifindex == query->ifindex) &&
	       !memcmp(&entry->gid, query->gid, sizeof(entry->gid));
}

static int find_entry(const struct rhca_gid_table *table,
		      const struct rhca_gid_query *query)
{
	int i;

	for (i = 0; i < table->end; i++)
		if (entry_matches(&table->entry[i], query))
			return i;
	return -ENOENT;
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
	struct rhca_gid_table *table = &port->gids;
	unsigned int seq;
	int index;

	if (!ndev || !net_eq(dev_net(ndev), query->net))
		return -ENOENT;
	do {
		seq = read_seqbegin(&table->lock);
		index = find_entry(table, query);
	} while (read_seqretry(&table->lock, seq));
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
	return get_entry(&port->gids, index).vlan_id;
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
	return get_entry(&port->gids, index).ifindex;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_ifindex);

/**
 * rhca_gid_has_netdev - Does the port have a GID on a netdev?
 * @port: the port
 * @ifindex: the netdev
 */
bool rhca_gid_has_netdev(struct rhca_port *port, int ifindex)
{
	bool found = false;
	u16 i;

	for (i = 0; i < RHCA_NUM_GIDS && !found; i++)
		found = rhca_gid_ifindex(port, i) == ifindex;
	return found;
}

const struct ib_device_ops rhca_gid_verbs = {
	.add_gid	= add_gid,
	.del_gid	= del_gid,
};
