// SPDX-License-Identifier: GPL-2.0
/*
 * UDP segments a GSO packet before an encapsulation socket gets it, unless its type is
 * that of a tunnel. Our socket accepts GSO packets, from a peer's block or from GRO, so
 * set that type here, in the last hook for packets to this host, after which no device
 * reads it.
 *
 * We use:	that SKB_GSO_UDP_TUNNEL in the type of a packet decides this, and that nothing
 *		reads the type between the last hook and the socket. For an encapsulation
 *		socket udp_allow_gso() alone is not enough.
 * Where:	include/linux/udp.h, udp_unexpected_gso(), called by udp_queue_rcv_skb() in
 *		net/ipv4/udp.c, udpv6_queue_rcv_skb() in net/ipv6/udp.c.
 * Since:	6.9 and stable releases since; looked at in 6.1 (headers), 6.12 and 7.3.
 * If it changes: blocks arrive segmented: slower, with no other effect.
 * Test:	KUnit suite rhca_gso_intact; blocks.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <rhca/compat.h>

#include "borrowed/gso_intact.h"
#include "wire/headers.h"

#ifdef CONFIG_NETFILTER
static bool is_udp(const struct sk_buff *skb, u8 family)
{
	return family == NFPROTO_IPV4 ? ip_hdr(skb)->protocol == IPPROTO_UDP :
	       ipv6_hdr(skb)->nexthdr == IPPROTO_UDP;
}

static bool is_block(struct sk_buff *skb, u8 family)
{
	unsigned int type = skb_shinfo(skb)->gso_type;
	struct udphdr buffer;
	const struct udphdr *udp;

	if (!(type & SKB_GSO_UDP_L4) || (type & SKB_GSO_FRAGLIST) ||
	    skb->encapsulation || !is_udp(skb, family))
		return false;
	udp = skb_header_pointer(skb, skb_transport_offset(skb),
				 sizeof(buffer), &buffer);
	return udp && udp->dest == htons(RHCA_UDP_PORT);
}

/*
 * A clone, from a bridge or mirroring, shares the type with an skb that is sent on another device:
 * tun warns about a type that it does not know and drops the packet. Without memory for its own
 * copy of the type the clone is segmented.
 */
unsigned int rhca_gso_intact_keep(void *priv, struct sk_buff *skb,
				  const struct nf_hook_state *state)
{
	if (unlikely(skb_is_gso(skb)) && is_block(skb, state->pf) &&
	    !skb_unclone(skb, GFP_ATOMIC))
		skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_TUNNEL;
	return NF_ACCEPT;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gso_intact_keep);

static const struct nf_hook_ops gso_intact_hook = {
	.hook		= rhca_gso_intact_keep,
	.pf		= NFPROTO_INET,	/* IPv4 and IPv6 */
	.hooknum	= NF_INET_LOCAL_IN,
	.priority	= NF_IP_PRI_LAST,
};

/**
 * rhca_gso_intact_begin - Have blocks delivered to our sockets unsegmented
 * @net: the namespace of the sockets
 *
 * Context: may sleep.
 * Return: 0, or an error, after which blocks arrive segmented.
 */
int rhca_gso_intact_begin(struct net *net)
{
	return nf_register_net_hook(net, &gso_intact_hook);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gso_intact_begin);

void rhca_gso_intact_end(struct net *net)
{
	nf_unregister_net_hook(net, &gso_intact_hook);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gso_intact_end);
#else
int rhca_gso_intact_begin(struct net *net)
{
	return 0;
}

void rhca_gso_intact_end(struct net *net)
{
}
#endif
