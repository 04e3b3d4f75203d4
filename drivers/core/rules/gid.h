/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GID table of a port. ib_core owns the table and fills it from netdev and address events; this is
 * a copy for matching the packets to UD QPs and QP1.
 */
#ifndef RHCA_CORE_RULES_GID_H
#define RHCA_CORE_RULES_GID_H

#include <linux/in.h>
#include <linux/netdevice.h>
#include <linux/seqlock.h>
#include <rdma/ib_verbs.h>

#include "wire/encap.h"

#define RHCA_NUM_GIDS	128

/* A GID as packets are matched with it */
struct rhca_gid_entry {
	/* All zero: empty, or ib_core has a GID on a netdev of another namespace */
	union ib_gid gid;
	enum ib_gid_type type;
	int ifindex;		/* of the port's netdev, a VLAN on it, an upper device */
};

#define RHCA_NO_VLAN	0xffff

/* The GIDs of a port, for packets without a connection */
struct rhca_gid_table {
	seqlock_t lock;					/* packets only read the sequence */
	int end;					/* index after the last entry in use */
	struct rhca_gid_entry entry[RHCA_NUM_GIDS];	/* by index of ib_core's table */
};

/* A packet's destination */
struct rhca_gid_query {
	struct net *net;		/* namespace it arrived in */
	const union ib_gid *gid;	/* destination GID */
	enum ib_gid_type type;		/* by its framing */
	int ifindex;			/* netdev that the GID must be on; 0 for any */
	int domain_of;			/* if 0: one in the same L3 domain as this; 0 for any */
};

void rhca_gid_table_set(struct rhca_gid_table *table, u16 index,
			const struct rhca_gid_entry *entry);
int rhca_gid_find(struct rhca_gid_table *table,
		  const struct rhca_gid_query *query);
bool rhca_same_l3_domain(struct net *net, int a, int b);
int rhca_gid_ifindex(struct rhca_gid_table *table, u16 index);
bool rhca_gid_has_netdev(struct rhca_gid_table *table, int ifindex);

/* Is it a group of IPv6, or of IPv4 (224.0.0.0/4)? */
static inline bool rhca_gid_is_multicast(const union ib_gid *gid)
{
	return gid->raw[0] == 0xff ||
	       (rhca_gid_is_ipv4(gid) && ipv4_is_multicast(rhca_gid_ipv4(gid)));
}

#endif
