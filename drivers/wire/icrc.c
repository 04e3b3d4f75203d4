// SPDX-License-Identifier: GPL-2.0
/* The invariant CRC of a packet. */
#include <linux/crc32.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <rhca/compat.h>

#include "wire/icrc.h"
#include "wire/crc32.h"
#include "wire/headers.h"

#define LRH_BYTES	8	/* ones in place of the local route header */
#define MASKED_BYTES	(LRH_BYTES + RHCA_MAX_NETWORK_BYTES + \
			 sizeof(struct rhca_bth))

static void mask_network(void *network, enum rhca_encap encap)
{
	struct ib_grh *grh = network;	/* or the IPv6 header */
	struct iphdr *ip = network;
	struct udphdr *udp;

	if (encap == RHCA_V2_IPV4) {
		ip->tos = 0xff;
		ip->ttl = 0xff;
		ip->check = (__force __sum16)0xffff;
		udp = network + sizeof(*ip);
		udp->check = (__force __sum16)0xffff;
		return;
	}
	grh->version_tclass_flow |= cpu_to_be32(GENMASK(27, 0));
	grh->hop_limit = 0xff;
	if (encap == RHCA_V2_IPV6) {
		udp = network + sizeof(struct ipv6hdr);
		udp->check = (__force __sum16)0xffff;
	}
}

/* Write what precedes the BTH in the CRC to @to */
static void copy_masked(u8 *to, enum rhca_encap encap, const void *network_hdr)
{
	memset(to, 0xff, LRH_BYTES);
	rhca_network_copy(encap, to + LRH_BYTES, network_hdr);
	mask_network(to + LRH_BYTES, encap);
}

/**
 * rhca_icrc_begin - CRC over the masked headers and some bytes after them
 * @vectors: from rhca_crc32_begin()
 * @encap: the framing
 * @network_hdr: network headers
 * @transport: the BTH
 * @behind: bytes after the BTH to include, a multiple of 4 up to RHCA_ICRC_EXT_BYTES: each call of
 *	rhca_crc32() has a fixed cost, so few bytes are best included
 *
 * Return: the CRC so far; add the rest with rhca_crc32() or rhca_icrc_skb().
 */
u32 rhca_icrc_begin(bool vectors, enum rhca_encap encap,
		    const void *network_hdr, const void *transport,
		    unsigned int behind)
{
	unsigned int network_bytes = rhca_network_bytes(encap);
	u8 copy[MASKED_BYTES + RHCA_ICRC_EXT_BYTES] __aligned(8) __uninitialized;
	const u8 *from = transport + sizeof(struct rhca_bth);
	struct rhca_bth *bth;
	unsigned int i;

	copy_masked(copy, encap, network_hdr);
	bth = (struct rhca_bth *)(copy + LRH_BYTES + network_bytes);
	memcpy(bth, transport, sizeof(*bth));
	bth->dest |= cpu_to_be32(RHCA_BTH_RESERVED8A);
	for (i = 0; i < behind; i += sizeof(u32))
		memcpy((u8 *)(bth + 1) + i, from + i, sizeof(u32));
	return rhca_crc32(vectors, ~0U, copy,
			  LRH_BYTES + network_bytes + sizeof(*bth) + behind);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_icrc_begin);

/* --- packets that differ in little ---------------------------------------- */

/*
 * A CRC is linear: if two packets of equal length differ in one byte, their CRCs differ by the
 * contribution of that byte. Used for the upper and the lower byte of the IPv4 identification, up
 * to the end of the network headers.
 */
static u32 id_crcs[2][256];

#define BEHIND_ID	(sizeof(struct iphdr) + sizeof(struct udphdr) - \
			 offsetofend(struct iphdr, id))

void rhca_icrc_init(void)
{
	u8 bytes[2 + BEHIND_ID] = {};
	unsigned int i;

	for (i = 0; i < 256; i++) {
		bytes[0] = i;
		bytes[1] = 0;
		id_crcs[0][i] = crc32_le(0, bytes, sizeof(bytes));
		bytes[0] = 0;
		bytes[1] = i;
		id_crcs[1][i] = crc32_le(0, bytes, sizeof(bytes));
	}
}

/**
 * rhca_icrc_flow_begin - Start a series of packets with the same network headers
 * @vectors: from rhca_crc32_begin()
 * @encap: the framing
 * @network_hdr: network headers of one of them
 * @flow: filled in
 */
void rhca_icrc_flow_begin(bool vectors, enum rhca_encap encap,
			  const void *network_hdr, struct rhca_icrc_flow *flow)
{
	u8 copy[LRH_BYTES + RHCA_MAX_NETWORK_BYTES] __aligned(8) __uninitialized;
	const struct iphdr *ip = network_hdr;

	copy_masked(copy, encap, network_hdr);
	flow->crc = rhca_crc32(vectors, ~0U, copy,
			       LRH_BYTES + rhca_network_bytes(encap));
	flow->ip_id = encap == RHCA_V2_IPV4 ? be16_to_cpu(ip->id) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_icrc_flow_begin);

/**
 * rhca_icrc_flow_crc - ICRC over the network headers of one of these packets
 * @flow: the common part
 * @ip_id: its IPv4 identification; 0 with other framings
 *
 * Return: the CRC so far, for rhca_icrc_transport().
 */
u32 rhca_icrc_flow_crc(const struct rhca_icrc_flow *flow, u16 ip_id)
{
	u16 change = flow->ip_id ^ ip_id;

	return flow->crc ^ id_crcs[0][change >> 8] ^ id_crcs[1][change & 0xff];
}
EXPORT_SYMBOL_IF_KUNIT(rhca_icrc_flow_crc);

/**
 * rhca_icrc_transport - Update an ICRC with the BTH and what follows it
 * @vectors: from rhca_crc32_begin()
 * @crc: over the network headers
 * @transport: the BTH, with the rest contiguous after it
 * @bytes: how many
 */
u32 rhca_icrc_transport(bool vectors, u32 crc, const void *transport,
			unsigned int bytes)
{
	/* The reserved byte before the QP number */
	static_assert(offsetof(struct rhca_bth, dest) == 4);

	return rhca_crc32_masked(vectors, crc, transport, bytes);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_icrc_transport);

/* --- any skb layout --------------------------------------------------------- */

/**
 * rhca_icrc_skb - CRC over a range of a packet of any skb layout
 * @vectors: from rhca_crc32_begin()
 * @crc: value so far
 * @skb: the packet; linear, with page fragments or with a fragment list
 * @offset: first byte, from skb->data
 * @bytes: how many; the range must be inside the packet
 */
u32 rhca_icrc_skb(bool vectors, u32 crc, const struct sk_buff *skb,
		  unsigned int offset, unsigned int bytes)
{
	struct skb_seq_state walk;
	unsigned int done = 0;
	const u8 *chunk;
	unsigned int len;

	if (offset + bytes <= skb_headlen(skb))
		return rhca_crc32(vectors, crc, skb->data + offset, bytes);

	skb_prepare_seq_read((struct sk_buff *)skb, offset, offset + bytes,
			     &walk);
	while (done < bytes && (len = skb_seq_read(done, &chunk, &walk))) {
		len = min(len, bytes - done);
		crc = rhca_crc32(vectors, crc, chunk, len);
		done += len;
	}
	skb_abort_seq_read(&walk);
	return crc;
}
