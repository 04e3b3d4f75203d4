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

/* One GID as packets see it */
struct rhca_gid_entry {
	/* All zero: empty, as where ib_core has one on a netdev of another namespace */
	union ib_gid gid;
	enum ib_gid_type type;
	int ifindex;		/* of the port's netdev, a VLAN on it, an upper device */
};

#define RHCA_NO_VLAN	0xffff

/* What packets without a connection are matched with */
struct rhca_gid_table {
	seqlock_t lock;					/* packets read without taking it */
	int end;					/* behind the last entry in use */
	struct rhca_gid_entry entry[RHCA_NUM_GIDS];	/* by index of ib_core's table */
};

/* A destination that a packet names */
struct rhca_gid_query {
	const struct net *net;		/* namespace that it arrived in */
	const union ib_gid *gid;	/* destination GID */
	enum ib_gid_type type;		/* by its framing */
	int ifindex;			/* netdev that the GID must be on; 0 for any */
};

void rhca_gid_table_set(struct rhca_gid_table *table, u16 index,
			const struct rhca_gid_entry *entry);
int rhca_gid_find(struct rhca_gid_table *table,
		  const struct rhca_gid_query *query);
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
