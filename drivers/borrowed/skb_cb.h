/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Our use of the control block of a packet that is passed to the IP stack.
 *
 * We use:	bytes of sk_buff.cb that nothing else writes before the functions that build
 *		the frame (sw/packet/frame.c), despite the netfilter hooks in between: the IP
 *		stack uses the first bytes, and a netfilter queue, which segments a block,
 *		those from SKB_GSO_CB_OFFSET on.
 * Where:	include/net/ip.h, struct inet_skb_parm; include/linux/ipv6.h, struct
 *		inet6_skb_parm; include/net/gso.h (linux/skbuff.h), SKB_GSO_CB_OFFSET, and
 *		net/core/gso.c, which preserves the bytes before it.
 * Since:	4.5; looked at in 6.1 (headers), 6.12 and 7.3.
 * If it changes: frames on VLANs and bonds have a wrong address, priority or member. If the
 *		structs grow, compilation fails.
 * Test:	the assertions below; vlan-pcp, netfilter-queue.
 */
#ifndef RHCA_BORROWED_SKB_CB_H
#define RHCA_BORROWED_SKB_CB_H

#include <linux/build_bug.h>
#include <linux/if_ether.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/ip.h>
#include <rhca/compat.h>

/* Control block of a packet */
struct rhca_packet_cb {
	u8 ip_stack[24];
	u8 dmac[ETH_ALEN];
	u8 priority;
	u8 lag_member : 7;
	u8 copy_to_self : 1;
	/* Until it enters the IP stack */
	u8 packets;
	bool may_overtake;
	u32 psn;
};

static_assert(sizeof(struct inet_skb_parm) <=
	      sizeof_field(struct rhca_packet_cb, ip_stack));
static_assert(sizeof(struct inet6_skb_parm) <=
	      sizeof_field(struct rhca_packet_cb, ip_stack));
static_assert(offsetof(struct rhca_packet_cb, packets) <= SKB_GSO_CB_OFFSET);
static_assert(sizeof(struct rhca_packet_cb) <= sizeof_field(struct sk_buff, cb));

#define RHCA_PACKET_CB(skb)	((struct rhca_packet_cb *)(skb)->cb)

#endif
