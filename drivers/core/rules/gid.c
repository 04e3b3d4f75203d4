// SPDX-License-Identifier: GPL-2.0
/* The GID table that packets are matched with. Independent of ports; gid_verbs.c fills it. */
#include <linux/string.h>
#include <net/l3mdev.h>
#include <rhca/compat.h>

#include "core/rules/gid.h"

/* Change entry @index, below RHCA_NUM_GIDS. @entry: all zero to empty it. */
void rhca_gid_table_set(struct rhca_gid_table *table, u16 index,
			const struct rhca_gid_entry *entry)
{
	write_seqlock_bh(&table->lock);
	table->entry[index] = *entry;
	table->end = RHCA_NUM_GIDS;
	while (table->end && !memchr_inv(&table->entry[table->end - 1].gid, 0,
					 sizeof(union ib_gid)))
		table->end--;
	write_sequnlock_bh(&table->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_table_set);

/* Are two netdevs in the same VRF, or none? @a, @b: their indices */
bool rhca_same_l3_domain(struct net *net, int a, int b)
{
	return l3mdev_master_ifindex_by_index(net, a) ==
	       l3mdev_master_ifindex_by_index(net, b);
}

static bool entry_matches(const struct rhca_gid_entry *entry,
			  const struct rhca_gid_query *query)
{
	if (entry->type != query->type || !rhca_gid_equal(&entry->gid, query->gid))
		return false;
	if (query->ifindex)
		return entry->ifindex == query->ifindex;
	return !query->domain_of ||
	       rhca_same_l3_domain(query->net, entry->ifindex, query->domain_of);
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

/*
 * Find the GID of a packet's destination; ignores the namespace. Any context. Returns its index or
 * -ENOENT.
 */
int rhca_gid_find(struct rhca_gid_table *table,
		  const struct rhca_gid_query *query)
{
	unsigned int seq;
	int index;

	do {
		seq = read_seqbegin(&table->lock);
		index = find_entry(table, query);
	} while (read_seqretry(&table->lock, seq));
	return index;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_find);

/**
 * rhca_gid_ifindex - Netdev of a GID
 * @table: of a port
 * @index: below RHCA_NUM_GIDS
 *
 * Return: the index of the netdev, 0 where there is no GID.
 */
int rhca_gid_ifindex(struct rhca_gid_table *table, u16 index)
{
	unsigned int seq;
	int ifindex;

	do {
		seq = read_seqbegin(&table->lock);
		ifindex = table->entry[index].ifindex;
	} while (read_seqretry(&table->lock, seq));
	return ifindex;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_ifindex);

/* Does a netdev have a GID? */
bool rhca_gid_has_netdev(struct rhca_gid_table *table, int ifindex)
{
	bool found = false;
	u16 i;

	for (i = 0; i < RHCA_NUM_GIDS && !found; i++)
		found = rhca_gid_ifindex(table, i) == ifindex;
	return found;
}
