// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks to this host are marked so that UDP leaves them whole, and what shares
 * memory with them is not.
 */
#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

#include "borrowed/gso_intact.h"
#include "lib/packet.h"
#include "wire/headers.h"

#ifdef CONFIG_NETFILTER
#define SEGMENT_BYTES	64
#define NUM_SEGMENTS	3

static struct sk_buff *block(struct kunit *test, u16 port)
{
	unsigned int bytes = sizeof(struct iphdr) + sizeof(struct udphdr) +
			     NUM_SEGMENTS * SEGMENT_BYTES;
	struct sk_buff *skb = alloc_skb(bytes, GFP_KERNEL);
	struct udphdr *udp;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, bytes);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, sizeof(struct iphdr));
	ip_hdr(skb)->protocol = IPPROTO_UDP;
	udp = udp_hdr(skb);
	udp->dest = htons(port);
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	skb_shinfo(skb)->gso_size = SEGMENT_BYTES;
	skb_shinfo(skb)->gso_segs = NUM_SEGMENTS;
	return skb;
}

static void pass_hook(struct kunit *test, struct sk_buff *skb)
{
	struct nf_hook_state state = {
		.hook = NF_INET_LOCAL_IN, .pf = NFPROTO_IPV4,
	};

	KUNIT_EXPECT_EQ(test, rhca_gso_intact_keep(NULL, skb, &state), NF_ACCEPT);
}

static bool is_marked(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type & SKB_GSO_UDP_TUNNEL;
}

static void block_to_our_port_is_marked(struct kunit *test)
{
	struct sk_buff *ours = block(test, RHCA_UDP_PORT);
	struct sk_buff *other = block(test, RHCA_UDP_PORT + 1);

	pass_hook(test, ours);
	pass_hook(test, other);
	KUNIT_EXPECT_TRUE(test, is_marked(ours));
	KUNIT_EXPECT_FALSE(test, is_marked(other));
	kfree_skb(ours);
	kfree_skb(other);
}

/* What a bridge sends on to its other ports is the same memory */
static void clone_is_marked_alone(struct kunit *test)
{
	struct sk_buff *forwarded = block(test, RHCA_UDP_PORT);
	struct sk_buff *ours = skb_clone(forwarded, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ours);
	pass_hook(test, ours);
	KUNIT_EXPECT_TRUE(test, is_marked(ours));
	KUNIT_EXPECT_FALSE(test, is_marked(forwarded));
	kfree_skb(ours);
	kfree_skb(forwarded);
}

static struct kunit_case whole_tests[] = {
	KUNIT_CASE(block_to_our_port_is_marked),
	KUNIT_CASE(clone_is_marked_alone),
	{}
};

static struct kunit_suite whole_suite = {
	.name = "rhca_whole",
	.test_cases = whole_tests,
};
kunit_test_suite(whole_suite);
#endif
