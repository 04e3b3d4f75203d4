// SPDX-License-Identifier: GPL-2.0
/*
 * A block of packets whose segment size somebody else has chosen: any local
 * process with a raw packet socket can.
 */
#include <kunit/test.h>

#include "lib/hca.h"
#include "sw/backend.h"
#include "sw/rx/receive.h"
#include "sw/verbs/counters.h"

#define SEGMENT_BYTES	(12 + 4 + 4)	/* BTH, AETH, ICRC: the shortest that parses */
#define MAX_SEGMENTS	64		/* as many as GRO puts together */
#define NOBODY_QPN	0x123456

static const struct segments_case {
	const char *desc;
	enum rhca_encap encap;
	u32 bytes;
	u16 gso_size;
	u32 parsed;		/* segments that are looked at, and find no QP */
	u32 refused;
} segments_cases[] = {
	{ "IPv4, as many as go", RHCA_V2_IPV4, MAX_SEGMENTS * SEGMENT_BYTES,
	  SEGMENT_BYTES, MAX_SEGMENTS, 0 },
	{ "IPv4, one more", RHCA_V2_IPV4, (MAX_SEGMENTS + 1) * SEGMENT_BYTES,
	  SEGMENT_BYTES, 0, 1 },
	{ "IPv4, one more that is short", RHCA_V2_IPV4,
	  MAX_SEGMENTS * SEGMENT_BYTES + 1, SEGMENT_BYTES, 0, 1 },
	{ "IPv4, segments of one byte", RHCA_V2_IPV4, 60000, 1, 0, 1 },
	{ "IPv6, as many as go", RHCA_V2_IPV6, MAX_SEGMENTS * SEGMENT_BYTES,
	  SEGMENT_BYTES, MAX_SEGMENTS, 0 },
	{ "IPv6, segments of four bytes", RHCA_V2_IPV6, 60000, 4, 0, 1 },
};
KUNIT_ARRAY_PARAM_DESC(segments, segments_cases, desc);

static u64 count(struct test_hca *hca, enum rhca_counter which)
{
	return rhca_counter_sum(rhca_port_set(&to_rhca_dev(hca->ibdev)->ports[0])->values,
				which);
}

/* Acknowledgements to nobody, one behind the other below one network header */
static struct sk_buff *make_block(struct kunit *test,
				  const struct segments_case *c)
{
	unsigned int network = rhca_network_bytes(c->encap), at;
	struct rhca_bth_fields bth = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE, .pkey = 0xffff,
		.dest_qpn = NOBODY_QPN,
	};
	u8 *bytes = test_alloc(test, network + c->bytes + SEGMENT_BYTES);
	struct rhca_flow flow;
	struct sk_buff *skb;

	test_flow(&flow, c->encap);
	rhca_network_fill(bytes, &flow, c->bytes, 0);
	for (at = 0; at < c->bytes; at += SEGMENT_BYTES)
		rhca_bth_fill((struct rhca_bth *)(bytes + network + at), &bth);
	skb = test_skb(test, bytes, network + c->bytes, TEST_LINEAR, 0);
	skb_shinfo(skb)->gso_size = c->gso_size;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	return skb;
}

static void block_of_too_many_segments_is_not_looked_at(struct kunit *test)
{
	const struct segments_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct sk_buff *skb = make_block(test, c);

	skb->dev = hca->ndev[0];
	local_bh_disable();
	rhca_receive(skb, c->encap);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, count(hca, RHCA_RX_DROPPED_NO_QP), c->parsed);
	KUNIT_EXPECT_EQ(test, count(hca, RHCA_RX_DROPPED_BAD_LENGTH),
			c->refused);
	KUNIT_EXPECT_EQ(test, count(hca, RHCA_RX_DROPPED_TRUNCATED), 0);
}

TEST_SUITE(rhca_segments,
	   KUNIT_CASE_PARAM(block_of_too_many_segments_is_not_looked_at, segments_gen_params));
