// SPDX-License-Identifier: GPL-2.0
/* Writes and reads the network headers of RoCE v1 (annex A16) and v2 (A17). */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <rhca/compat.h>

#include "wire/encap.h"
#include "wire/headers.h"

#define GRH_VERSION		GENMASK(31, 28)
#define GRH_TCLASS		GENMASK(27, 20)
#define GRH_FLOW_LABEL		GENMASK(19, 0)
#define GRH_IP_VERSION		6
#define GRH_NEXT_HEADER		0x1b	/* "IBA transport", vol. 1, 8.3 */

static const u8 network_bytes[RHCA_NUM_ENCAPS] = {
	[RHCA_V1]	= RHCA_GRH_BYTES,
	[RHCA_V2_IPV4]	= sizeof(struct iphdr) + sizeof(struct udphdr),
	[RHCA_V2_IPV6]	= sizeof(struct ipv6hdr) + sizeof(struct udphdr),
};

/**
 * rhca_network_bytes - Size of everything between Ethernet and BTH
 * @encap: the framing
 */
unsigned int rhca_network_bytes(enum rhca_encap encap)
{
	return network_bytes[encap];
}
EXPORT_SYMBOL_IF_KUNIT(rhca_network_bytes);

/**
 * rhca_encap_of - Framing of packets for a GID
 * @type: its type in the GID table
 * @sgid: the GID; a mapped IPv4 address means IPv4 with v2
 */
enum rhca_encap rhca_encap_of(enum ib_gid_type type, const union ib_gid *sgid)
{
	if (type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return RHCA_V1;
	return rhca_gid_is_ipv4(sgid) ? RHCA_V2_IPV4 : RHCA_V2_IPV6;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_encap_of);

static void ipv4_to_gid(__be32 addr, union ib_gid *gid)
{
	ipv6_addr_set_v4mapped(addr, (struct in6_addr *)gid->raw);
}

/* GRH and IPv6 header have the same layout, 8.3 and RFC 8200 */
static void fill_grh(struct ib_grh *grh, const struct rhca_flow *flow,
		     unsigned int payload_bytes, u8 next_header)
{
	grh->version_tclass_flow =
		be32_encode_bits(GRH_IP_VERSION, GRH_VERSION) |
		be32_encode_bits(flow->tclass, GRH_TCLASS) |
		be32_encode_bits(flow->flow_label, GRH_FLOW_LABEL);
	grh->paylen = cpu_to_be16(payload_bytes);
	grh->next_hdr = next_header;
	grh->hop_limit = flow->hop_limit;
	grh->sgid = flow->sgid;
	grh->dgid = flow->dgid;
}

/* Set DF and the identification ourselves: the ICRC covers both */
static void fill_ipv4(struct iphdr *ip, const struct rhca_flow *flow,
		      unsigned int udp_bytes, u16 ip_id)
{
	*ip = (struct iphdr) {
		.version	= IPVERSION,
		.ihl		= sizeof(*ip) / 4,
		.tos		= flow->tclass,
		.tot_len	= cpu_to_be16(sizeof(*ip) + udp_bytes),
		.id		= cpu_to_be16(ip_id),
		.frag_off	= htons(IP_DF),
		.ttl		= flow->hop_limit,
		.protocol	= IPPROTO_UDP,
		.saddr		= rhca_gid_ipv4(&flow->sgid),
		.daddr		= rhca_gid_ipv4(&flow->dgid),
	};
	ip->check = ip_fast_csum(ip, ip->ihl);
}

/* Checksum 0: the ICRC protects the packet, A17.3.1.2.1 and RFC 6935 */
static void fill_udp(struct udphdr *udp, u16 sport, unsigned int udp_bytes)
{
	udp->source = cpu_to_be16(sport);
	udp->dest = cpu_to_be16(RHCA_UDP_PORT);
	udp->len = cpu_to_be16(udp_bytes);
	udp->check = 0;
}

/**
 * rhca_network_fill - Write the headers between Ethernet and BTH
 * @hdr: rhca_network_bytes() bytes
 * @flow: what to write
 * @ib_bytes: bytes from the BTH to the end of the ICRC
 * @ip_id: IPv4 identification, ignored by the other framings
 */
void rhca_network_fill(void *hdr, const struct rhca_flow *flow,
		       unsigned int ib_bytes, u16 ip_id)
{
	unsigned int udp_bytes = sizeof(struct udphdr) + ib_bytes;

	switch (flow->encap) {
	case RHCA_V2_IPV4:
		fill_ipv4(hdr, flow, udp_bytes, ip_id);
		fill_udp(hdr + sizeof(struct iphdr), flow->udp_sport, udp_bytes);
		break;
	case RHCA_V2_IPV6:
		fill_grh(hdr, flow, udp_bytes, IPPROTO_UDP);
		fill_udp(hdr + sizeof(struct ipv6hdr), flow->udp_sport, udp_bytes);
		break;
	default:
		fill_grh(hdr, flow, ib_bytes, GRH_NEXT_HEADER);
		break;
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_network_fill);

/**
 * rhca_network_resize - Change the lengths to those of a segment of a block
 * @encap: a framing over UDP
 * @hdr: rhca_network_bytes() bytes; the IPv4 checksum, which no ICRC covers, is left unchanged
 * @ib_bytes: bytes from the BTH to the end of the ICRC
 */
void rhca_network_resize(enum rhca_encap encap, void *hdr,
			 unsigned int ib_bytes)
{
	unsigned int udp_bytes = sizeof(struct udphdr) + ib_bytes;
	struct ipv6hdr *ip6 = hdr;
	struct iphdr *ip = hdr;
	struct udphdr *udp;

	if (encap == RHCA_V2_IPV4) {
		ip->tot_len = cpu_to_be16(sizeof(*ip) + udp_bytes);
		udp = hdr + sizeof(*ip);
	} else {
		ip6->payload_len = cpu_to_be16(udp_bytes);
		udp = hdr + sizeof(*ip6);
	}
	udp->len = cpu_to_be16(udp_bytes);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_network_resize);

static bool ipv4_valid(const struct iphdr *ip, unsigned int udp_bytes)
{
	return ip->version == IPVERSION && ip->ihl == sizeof(*ip) / 4 &&
	       be16_to_cpu(ip->tot_len) == sizeof(*ip) + udp_bytes &&
	       !ip_is_fragment(ip);
}

static bool grh_valid(const struct ib_grh *grh, unsigned int payload_bytes,
		      u8 next_header)
{
	return be32_get_bits(grh->version_tclass_flow, GRH_VERSION) ==
			GRH_IP_VERSION &&
	       grh->next_hdr == next_header &&
	       be16_to_cpu(grh->paylen) == payload_bytes;
}

/**
 * rhca_network_valid - Check the headers between Ethernet and BTH
 * @encap: the framing
 * @hdr: rhca_network_bytes() readable bytes
 * @ib_bytes: bytes that follow them
 *
 * IPv4 options, IPv6 extension headers and fragments are not valid in RoCE (A17.3.1).
 *
 * Return: true if version, next header and all lengths are correct.
 */
bool rhca_network_valid(enum rhca_encap encap, const void *hdr,
			unsigned int ib_bytes)
{
	unsigned int udp_bytes = sizeof(struct udphdr) + ib_bytes;
	const struct udphdr *udp;

	switch (encap) {
	case RHCA_V2_IPV4:
		udp = hdr + sizeof(struct iphdr);
		return ipv4_valid(hdr, udp_bytes) &&
		       be16_to_cpu(udp->len) == udp_bytes;
	case RHCA_V2_IPV6:
		udp = hdr + sizeof(struct ipv6hdr);
		return grh_valid(hdr, udp_bytes, IPPROTO_UDP) &&
		       be16_to_cpu(udp->len) == udp_bytes;
	default:
		return grh_valid(hdr, ib_bytes, GRH_NEXT_HEADER);
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_network_valid);

/**
 * rhca_network_parse - Read the headers that rhca_network_valid() accepted
 * @encap: the framing
 * @hdr: the headers
 * @flow: filled in
 */
void rhca_network_parse(enum rhca_encap encap, const void *hdr,
			struct rhca_flow *flow)
{
	const struct ib_grh *grh = hdr;
	const struct iphdr *ip = hdr;
	const struct udphdr *udp;
	u32 word;

	flow->encap = encap;
	flow->udp_sport = 0;
	if (encap == RHCA_V2_IPV4) {
		udp = hdr + sizeof(*ip);
		ipv4_to_gid(ip->saddr, &flow->sgid);
		ipv4_to_gid(ip->daddr, &flow->dgid);
		flow->tclass = ip->tos;
		flow->hop_limit = ip->ttl;
		flow->flow_label = 0;
		flow->udp_sport = be16_to_cpu(udp->source);
		return;
	}

	word = be32_to_cpu(grh->version_tclass_flow);
	flow->sgid = grh->sgid;
	flow->dgid = grh->dgid;
	flow->tclass = FIELD_GET(GRH_TCLASS, word);
	flow->flow_label = FIELD_GET(GRH_FLOW_LABEL, word);
	flow->hop_limit = grh->hop_limit;
	if (encap == RHCA_V2_IPV6) {
		udp = hdr + sizeof(struct ipv6hdr);
		flow->udp_sport = be16_to_cpu(udp->source);
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_network_parse);
