/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Invariant CRC, IBTA vol. 1, 7.8.1, annexes A16.3 and A17.3.3: the Ethernet CRC-32 over the packet
 * from the network header to the last pad byte, with fields that may change on the way replaced by
 * ones, and preceded by eight bytes of ones, where InfiniBand has its local route header.
 */
#ifndef RHCA_WIRE_ICRC_H
#define RHCA_WIRE_ICRC_H

#include <linux/skbuff.h>
#include <linux/types.h>

#include "wire/encap.h"

#define RHCA_ICRC_EXT_BYTES	36	/* the longest extended headers */

/* ICRC over the network headers of packets of a flow and size */
struct rhca_icrc_flow {
	u32 crc;	/* the CRC over them, with the identification @ip_id */
	u16 ip_id;	/* IPv4 identification, the only difference; else 0 */
};

void rhca_icrc_init(void);
void rhca_icrc_flow_begin(bool vectors, enum rhca_encap encap,
			  const void *network_hdr, struct rhca_icrc_flow *flow);
u32 rhca_icrc_flow_crc(const struct rhca_icrc_flow *flow, u16 ip_id);
u32 rhca_icrc_transport(bool vectors, u32 crc, const void *transport,
			unsigned int bytes);
u32 rhca_icrc_begin(bool vectors, enum rhca_encap encap,
		    const void *network_hdr, const void *transport,
		    unsigned int behind);
u32 rhca_icrc_skb(bool vectors, u32 crc, const struct sk_buff *skb,
		  unsigned int offset, unsigned int bytes);

/* The same up to the end of the BTH, which follows the network headers */
static inline u32 rhca_icrc_headers(bool vectors, enum rhca_encap encap,
				    const void *network_hdr)
{
	return rhca_icrc_begin(vectors, encap, network_hdr,
			       network_hdr + rhca_network_bytes(encap), 0);
}

/* The four bytes after the padding: little-endian, complemented */
static inline __le32 rhca_icrc_final(u32 crc)
{
	return cpu_to_le32(~crc);
}

#endif
