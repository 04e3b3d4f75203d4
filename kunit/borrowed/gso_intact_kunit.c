// SPDX-License-Identifier: GPL-2.0
/* Blocks to this host, but not their clones, are marked so that UDP does not segment them. */
#include <linux/delay.h>
#include <linux/ip.h>
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <net/udp_tunnel.h>
#include <rhca/compat.h>

#include "borrowed/gso_intact.h"
#include "lib/packet.h"

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

/* A clone that a bridge forwards to its other ports shares the memory */
static void only_blocks_to_our_port_are_marked(struct kunit *test)
{
	struct sk_buff *ours = block(test, RHCA_UDP_PORT);
	struct sk_buff *other = block(test, RHCA_UDP_PORT + 1);
	struct sk_buff *forwarded = block(test, RHCA_UDP_PORT);
	struct sk_buff *clone = skb_clone(forwarded, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, clone);
	pass_hook(test, ours);
	pass_hook(test, other);
	pass_hook(test, clone);
	KUNIT_EXPECT_TRUE(test, is_marked(ours));
	KUNIT_EXPECT_FALSE(test, is_marked(other));
	KUNIT_EXPECT_TRUE(test, is_marked(clone));
	KUNIT_EXPECT_FALSE(test, is_marked(forwarded));
	kfree_skb(ours);
	kfree_skb(other);
	kfree_skb(clone);
	kfree_skb(forwarded);
}

/* --- the kernel's handling of blocks ----------------------------------------- */

#define LOOPBACK_IN	{						\
	.sin_family = AF_INET,						\
	.sin_port = htons(RHCA_UDP_PORT),				\
	.sin_addr.s_addr = htonl(INADDR_LOOPBACK),			\
}

static atomic_t packets, segments;

static int count_packet(struct sock *sk, struct sk_buff *skb)
{
	atomic_add(skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1, &segments);
	atomic_inc(&packets);
	kfree_skb(skb);
	return 0;
}

static struct socket *encapsulation_socket(struct kunit *test)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1, .encap_rcv = count_packet,
	};
	struct sockaddr_in here = LOOPBACK_IN;
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_DGRAM,
						  IPPROTO_UDP, &sock));
	KUNIT_EXPECT_EQ(test, 0, kernel_bind(sock, (void *)&here, sizeof(here)));
	setup_udp_tunnel_sock(&init_net, rhca_tunnel_of(sock), &tunnel);
	udp_allow_gso(sock->sk);
	return sock;
}

static void send_block(struct kunit *test)
{
	static char bytes[NUM_SEGMENTS * SEGMENT_BYTES];
	struct kvec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct sockaddr_in there = LOOPBACK_IN;
	struct msghdr msg = { .msg_name = &there, .msg_namelen = sizeof(there) };
	int segment = SEGMENT_BYTES;
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_DGRAM,
						  IPPROTO_UDP, &sock));
	KUNIT_EXPECT_EQ(test, 0, sock->ops->setsockopt(sock, SOL_UDP, UDP_SEGMENT,
						       KERNEL_SOCKPTR(&segment),
						       sizeof(segment)));
	KUNIT_EXPECT_EQ(test, (int)sizeof(bytes),
			kernel_sendmsg(sock, &msg, &part, 1, sizeof(bytes)));
	sock_release(sock);
}

/* Returns the number of segments received; @packets: number of packets they arrived in */
static int receive_block(struct kunit *test)
{
	int patience = 1000;

	atomic_set(&packets, 0);
	atomic_set(&segments, 0);
	send_block(test);
	while (atomic_read(&segments) < NUM_SEGMENTS && patience--)
		usleep_range(1000, 2000);
	return atomic_read(&segments);
}

static void kernel_delivers_a_marked_block_uncut(struct kunit *test)
{
	struct net_device *lo = init_net.loopback_dev;
	bool was_up = lo->flags & IFF_UP;
	struct socket *sock;

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, 0, dev_open(lo, NULL));
	rtnl_unlock();
	sock = encapsulation_socket(test);

	KUNIT_EXPECT_EQ(test, receive_block(test), NUM_SEGMENTS);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&packets), NUM_SEGMENTS,
			    "nothing has to be borrowed any more");
	KUNIT_EXPECT_EQ(test, 0, rhca_gso_intact_begin(&init_net));
	KUNIT_EXPECT_EQ(test, receive_block(test), NUM_SEGMENTS);
	KUNIT_EXPECT_EQ(test, atomic_read(&packets), 1);
	rhca_gso_intact_end(&init_net);

	sock_release(sock);
	rtnl_lock();
	if (!was_up)
		dev_close(lo);
	rtnl_unlock();
	synchronize_rcu();
}

TEST_SUITE(rhca_gso_intact,
	   KUNIT_CASE(only_blocks_to_our_port_are_marked),
	   KUNIT_CASE(kernel_delivers_a_marked_block_uncut));
#endif
