/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GID table of a port. ib_core keeps the table and fills it from netdev and
 * address events; this is the copy that packets to UD and QP1 are matched with.
 */
#ifndef RHCA_CORE_RULES_GID_H
#define RHCA_CORE_RULES_GID_H

#include <linux/in.h>
#include <linux/netdevice.h>
#include <linux/seqlock.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

#define RHCA_NUM_GIDS	128

/**
 * struct rhca_gid_entry - One GID as packets see it
 * @gid: the GID; all zero when the entry is empty, as it is where ib_core has a GID
 *	on a netdev of another namespace than the port's
 * @type: RoCE v1 or v2
 * @ifindex: netdev of the address: the port's, a VLAN on it, an upper device
 * @vlan_id: VLAN of that netdev, RHCA_NO_VLAN without
 */
struct rhca_gid_entry {
	union ib_gid gid;
	enum ib_gid_type type;
	int ifindex;
	u16 vlan_id;
};

#define RHCA_NO_VLAN	0xffff

/**
 * struct rhca_gid_table - What packets without a connection are matched with
 * @lock: protects the rest; a packet reads without taking it
 * @end: index behind the last entry in use
 * @entry: by index of ib_core's table
 */
struct rhca_gid_table {
	seqlock_t lock;
	int end;
	struct rhca_gid_entry entry[RHCA_NUM_GIDS];
};

/**
 * struct rhca_gid_query - A destination that a packet names
 * @net: namespace that it arrived in
 * @gid: destination GID
 * @type: by its framing
 * @ifindex: netdev that the GID must be on; 0 for any
 */
struct rhca_gid_query {
	const struct net *net;
	const union ib_gid *gid;
	enum ib_gid_type type;
	int ifindex;
};

void rhca_gid_table_init(struct rhca_gid_table *table);
void rhca_gid_table_set(struct rhca_gid_table *table, u16 index,
			const struct rhca_gid_entry *entry);
int rhca_gid_find(struct rhca_gid_table *table,
		  const struct rhca_gid_query *query);
u16 rhca_gid_vlan(struct rhca_gid_table *table, u16 index);
int rhca_gid_ifindex(struct rhca_gid_table *table, u16 index);
bool rhca_gid_has_netdev(struct rhca_gid_table *table, int ifindex);

/* An IPv4 address, mapped: behind ::ffff: */
static inline bool rhca_gid_is_ipv4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid->raw);
}

/* An IPv6 group, or an IPv4 one: 224.0.0.0/4 */
static inline bool rhca_gid_is_multicast(const union ib_gid *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid->raw;

	return gid->raw[0] == 0xff ||
	       (rhca_gid_is_ipv4(gid) &&
		ipv4_is_multicast(addr->s6_addr32[3]));
}

#endif
