/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Framing: what is between the Ethernet header and the BTH.
 *   v1, annex A16:   | Ethernet 0x8915 | GRH 40 |            BTH ... ICRC |
 *   v2, annex A17:   | Ethernet        | IPv4 20 or IPv6 40 | UDP 8 | BTH ... ICRC |
 */
#ifndef RHCA_WIRE_ENCAP_H
#define RHCA_WIRE_ENCAP_H

#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

enum rhca_encap {
	RHCA_V1,		/* GRH */
	RHCA_V2_IPV4,
	RHCA_V2_IPV6,
	RHCA_NUM_ENCAPS,
};

#define RHCA_GRH_BYTES		40
#define RHCA_MAX_NETWORK_BYTES	48	/* IPv6 + UDP */

/* The fields of the network headers of one flow */
struct rhca_flow {
	enum rhca_encap	encap;
	union ib_gid	sgid;		/* source; for IPv4 a mapped address, ::ffff:a.b.c.d */
	union ib_gid	dgid;		/* destination, likewise */
	u8		tclass;		/* traffic class (GRH, IPv6) or TOS (IPv4) */
	u8		hop_limit;	/* hop limit or TTL */
	u32		flow_label;	/* 20 bits; IPv4 has none */
	u16		udp_sport;	/* UDP source port of v2, host order */
};

static inline bool rhca_gid_equal(const union ib_gid *a, const union ib_gid *b)
{
	return a->global.subnet_prefix == b->global.subnet_prefix &&
	       a->global.interface_id == b->global.interface_id;
}

static inline const struct in6_addr *rhca_gid_ipv6(const union ib_gid *gid)
{
	return (const struct in6_addr *)gid->raw;
}

/* Is it an IPv4-mapped address (::ffff:a.b.c.d)? */
static inline bool rhca_gid_is_ipv4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped(rhca_gid_ipv6(gid));
}

/* The IPv4 address inside a mapped GID */
static inline __be32 rhca_gid_ipv4(const union ib_gid *gid)
{
	return rhca_gid_ipv6(gid)->s6_addr32[3];
}

/* Constant sizes, so that memcpy() is inlined */
static inline void rhca_network_copy(enum rhca_encap encap, void *to,
				     const void *from)
{
	switch (encap) {
	case RHCA_V2_IPV4:
		memcpy(to, from, sizeof(struct iphdr) + sizeof(struct udphdr));
		break;
	case RHCA_V2_IPV6:
		memcpy(to, from, sizeof(struct ipv6hdr) + sizeof(struct udphdr));
		break;
	default:
		memcpy(to, from, RHCA_GRH_BYTES);
		break;
	}
}

unsigned int rhca_network_bytes(enum rhca_encap encap);
void rhca_network_resize(enum rhca_encap encap, void *hdr,
			 unsigned int ib_bytes);
void rhca_network_fill(void *hdr, const struct rhca_flow *flow,
		       unsigned int ib_bytes, u16 ip_id);
bool rhca_network_valid(enum rhca_encap encap, const void *hdr,
			unsigned int ib_bytes);
void rhca_network_parse(enum rhca_encap encap, const void *hdr,
			struct rhca_flow *flow);
enum rhca_encap rhca_encap_of(enum ib_gid_type type, const union ib_gid *sgid);

#endif
