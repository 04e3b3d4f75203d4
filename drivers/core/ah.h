/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address vectors, resolved: everything that a packet to one destination needs
 * besides its transport headers.
 */
#ifndef RHCA_CORE_AH_H
#define RHCA_CORE_AH_H

#include <linux/if_ether.h>
#include <linux/refcount.h>
#include <net/dst_cache.h>
#include <net/inet_ecn.h>
#include <rdma/ib_verbs.h>

#include "wire/encap.h"

struct rhca_dev;
struct rhca_port;

/**
 * struct rhca_path - The way to one destination. Immutable once published
 * @refs: users: an address handle, a QP, a posted datagram
 * @rcu: readers find it through RCU pointers
 * @port: the port that packets leave from
 * @pd: of the address handle; datagrams of other domains may not use it
 * @sgid_index: index of the source GID in the port's table
 * @ifindex: netdev of the source GID, in the namespace of the port's netdev
 * @vlan_id: VLAN of that netdev, RHCA_NO_VLAN without
 * @sl: service level of the address vector, 0 if it gives none; see
 *	rhca_qos_priority()
 * @tclass: traffic class of the address vector; in @flow is what is in effect
 * @dmac: destination MAC, for RoCE v1 and for VLANs
 * @flow: network header fields; the UDP port is the sender's to choose
 * @route: cached IP route of RoCE v2, per CPU; use with bottom halves off
 * @second_route: the same by the port's second netdev, where it has one
 */
struct rhca_path {
	refcount_t refs;
	struct rcu_head rcu;
	struct rhca_port *port;
	struct ib_pd *pd;
	u16 sgid_index;
	u16 vlan_id;
	int ifindex;
	u8 sl;
	u8 tclass;
	u8 dmac[ETH_ALEN];
	struct rhca_flow flow;
	struct dst_cache route;
	struct dst_cache second_route;
};

/**
 * struct rhca_ah - Address handle
 * @ibah: ib_core's part
 * @path: the destination with the source GID that the handle names
 * @ud_path: the same with the GID type that ud_gid_type asks for; may be @path
 * @number: how the user ABI calls it, 0 for kernel users
 */
struct rhca_ah {
	struct ib_ah ibah;
	struct rhca_path *path;
	struct rhca_path *ud_path;
	u32 number;
};

static inline struct rhca_ah *to_rhca_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct rhca_ah, ibah);
}

struct rhca_path *rhca_path_create(struct rhca_dev *dev, struct ib_pd *pd,
				   const struct rdma_ah_attr *attr, gfp_t gfp);
struct rhca_path *rhca_path_copy(const struct rhca_path *old);
void rhca_path_put(struct rhca_path *path);
struct rhca_path *rhca_path_get_number(struct rhca_dev *dev, struct ib_pd *pd,
				       u32 number);

/* No ECN capability is announced while nothing reacts to marks */
static inline u8 rhca_without_ecn(u8 tclass)
{
	return tclass & ~INET_ECN_MASK;
}

static inline struct rhca_path *rhca_path_get(struct rhca_path *path)
{
	refcount_inc(&path->refs);
	return path;
}

extern const struct ib_device_ops rhca_ah_verbs;

#endif
