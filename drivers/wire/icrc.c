// SPDX-License-Identifier: GPL-2.0
/*
 * The invariant CRC of a packet.
 */
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

static void mask_grh(struct ib_grh *grh)
{
	grh->version_tclass_flow |= cpu_to_be32(GENMASK(27, 0));
	grh->hop_limit = 0xff;
}

static void mask_ipv4(struct iphdr *ip)
{
	ip->tos = 0xff;
	ip->ttl = 0xff;
	ip->check = (__force __sum16)0xffff;
}

static void mask_udp(struct udphdr *udp)
{
	udp->check = (__force __sum16)0xffff;
}

/**
 * rhca_icrc_headers - CRC over the masked headers up to the end of the BTH
 * @vectors: from rhca_crc32_begin()
 * @encap: the framing
 * @network_hdr: network headers with the BTH behind them, contiguous
 *
 * Return: the running value; what follows the BTH goes in with rhca_crc32() or
 * rhca_icrc_skb().
 */
u32 rhca_icrc_headers(bool vectors, enum rhca_encap encap,
		      const void *network_hdr)
{
	unsigned int network_bytes = rhca_network_bytes(encap);
	u8 copy[MASKED_BYTES] __aligned(8);
	struct rhca_bth *bth;
	void *network = copy + LRH_BYTES;

	memset(copy, 0xff, LRH_BYTES);
	memcpy(network, network_hdr, network_bytes + sizeof(*bth));
	if (encap == RHCA_V2_IPV4) {
		mask_ipv4(network);
		mask_udp(network + sizeof(struct iphdr));
	} else {
		mask_grh(network);
		if (encap == RHCA_V2_IPV6)
			mask_udp(network + sizeof(struct ipv6hdr));
	}
	bth = network + network_bytes;
	bth->dest |= cpu_to_be32(RHCA_BTH_RESERVED8A);
	return rhca_crc32(vectors, ~0U, copy,
			  LRH_BYTES + network_bytes + sizeof(*bth));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_icrc_headers);

/**
 * rhca_icrc_skb - CRC over a range of a packet, wherever its bytes lie
 * @vectors: from rhca_crc32_begin()
 * @crc: value so far
 * @skb: the packet; linear, with page fragments or with a fragment list
 * @offset: first byte, from skb->data
 * @bytes: how many; the range must lie inside the packet
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
EXPORT_SYMBOL_IF_KUNIT(rhca_icrc_skb);
