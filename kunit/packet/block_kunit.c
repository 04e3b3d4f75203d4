// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks: what is built is cut by the kernel and each packet looked at; what
 * arrives has faults in the middle, other QPs in between, and sizes that lie.
 */
#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "core/counters.h"
#include "core/device.h"
#include "sw/verbs/qp/qp.h"
#include "lib/hca.h"
#include "sw/backend.h"
#include "sw/packet/block.h"
#include "sw/rx/receive.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xfffffe		/* wraps inside a block */
#define TARGET		16384

#define SEGMENT_BYTES(payload)	(12 + (payload) + 4)

/* --- losses ------------------------------------------------------------------ */

static void packets_leave_singly_after_a_loss(struct kunit *test)
{
	struct rhca_block_backoff backoff = {};

	rhca_block_lost(&backoff);
	KUNIT_EXPECT_EQ(test, backoff.single, RHCA_BLOCK_SINGLE_LEAST);
	rhca_block_sent(&backoff, RHCA_BLOCK_SINGLE_LEAST - 1);
	KUNIT_EXPECT_EQ(test, backoff.single, 1);
	rhca_block_sent(&backoff, 64);
	KUNIT_EXPECT_EQ(test, backoff.single, 0);
}

/* What leaves between two losses is a send window at most */
static void path_that_no_block_survives_sees_few(struct kunit *test)
{
	struct rhca_block_backoff backoff = {};
	u32 single = 0, in_blocks = 0;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		rhca_block_lost(&backoff);
		single += backoff.single;
		rhca_block_sent(&backoff, backoff.single);
		rhca_block_sent(&backoff, 128);
		in_blocks += 128;
	}
	KUNIT_EXPECT_LE(test, backoff.window, RHCA_BLOCK_SINGLE_MOST);
	KUNIT_EXPECT_GT(test, single, 100 * in_blocks);
}

static void losses_that_are_rare_are_forgotten(struct kunit *test)
{
	struct rhca_block_backoff backoff = {};
	unsigned int i;

	for (i = 0; i < 20; i++) {
		rhca_block_lost(&backoff);
		KUNIT_EXPECT_EQ(test, backoff.single, RHCA_BLOCK_SINGLE_LEAST);
		rhca_block_sent(&backoff, backoff.single);
		rhca_block_sent(&backoff, 8 * RHCA_BLOCK_SINGLE_LEAST);
	}
}

struct proof_case {
	const char *desc;
	u32 left;	/* PSN of the block */
	bool lost;	/* something was repeated before the acknowledgement */
	u32 upto;
	u32 single;	/* after the next loss */
};

static const struct proof_case proof_cases[] = {
	{ "a block has arrived", 5, false, 6, RHCA_BLOCK_SINGLE_PROVEN },
	{ "across the end of PSNs", 0xffffff, false, 0, RHCA_BLOCK_SINGLE_PROVEN },
	{ "what was before it has", 5, false, 5, RHCA_BLOCK_SINGLE_LEAST },
	{ "it may be the repeat that has", 5, true, 6, 2 * RHCA_BLOCK_SINGLE_LEAST },
};
KUNIT_ARRAY_PARAM_DESC(proof, proof_cases, desc);

static void blocks_that_arrive_are_kept_to(struct kunit *test)
{
	const struct proof_case *c = test->param_value;
	struct rhca_block_backoff backoff = {};

	rhca_block_left(&backoff, c->left);
	if (c->lost)
		rhca_block_lost(&backoff);
	rhca_block_acked(&backoff, c->upto);
	rhca_block_lost(&backoff);
	KUNIT_EXPECT_EQ(test, backoff.single, c->single);
}

/* --- building ------------------------------------------------------------------ */

static void framing_desc(const enum rhca_encap *encap, char *desc)
{
	strscpy(desc, *encap == RHCA_V2_IPV4 ? "v2 IPv4" : "v2 IPv6",
		KUNIT_PARAM_DESC_SIZE);
}

static const enum rhca_encap framings[] = { RHCA_V2_IPV4, RHCA_V2_IPV6 };
KUNIT_ARRAY_PARAM(framing, framings, framing_desc);

struct builder {
	struct kunit *test;
	struct test_hca *hca;
	struct rhca_verbs_qp *qp;
	struct rhca_path *path;
	struct rhca_block *block;
	u8 *payload;
	u32 psn;
};

static void builder_setup(struct builder *b, struct kunit *test)
{
	unsigned int i;

	b->test = test;
	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->qp = ibqp_to_verbs(test_qp(b->hca, IB_QPT_RC));
	b->path = test_alloc(test, sizeof(*b->path));
	b->block = test_alloc(test, sizeof(*b->block));
	b->payload = test_alloc(test, 4096);
	for (i = 0; i < 4096; i++)
		b->payload[i] = test_payload(i);
	test_flow(&b->path->address.flow, *(const enum rhca_encap *)test->param_value);
	b->path->address.port = &to_rhca_dev(b->hca->ibdev)->ports[0];
	b->psn = FIRST_PSN;
}

/* A sealed segment, as the next packet of the QP */
static void build(struct builder *b, struct rhca_packet *packet, u8 opcode,
		  u32 bytes)
{
	struct rhca_bth_fields fields = {
		.opcode = opcode, .pkey = 0xffff, .dest_qpn = 0x17,
		.psn = b->psn,
	};

	b->psn = (b->psn + 1) & 0xffffff;
	KUNIT_ASSERT_TRUE(b->test,
			  rhca_packet_begin_segment(packet, b->qp, b->path,
						    &fields, bytes));
	rhca_packet_protect(packet);
	rhca_packet_copy(packet, b->payload, bytes);
	rhca_packet_seal(packet);
}

/* False where it does not fit; then it is given up */
static bool add(struct builder *b, u8 opcode, u32 bytes)
{
	struct rhca_packet packet;
	bool fits;

	local_bh_disable();
	build(b, &packet, opcode, bytes);
	fits = !b->block->segments || rhca_block_fits(b->block, &packet);
	if (fits)
		rhca_block_add(b->block, &packet);
	else
		rhca_packet_free(&packet);
	local_bh_enable();
	return fits;
}

/* VLANs and bonds get it without a pass through the IP stack's output */
static void expect_total(struct builder *b, struct sk_buff *skb)
{
	if (b->path->address.flow.encap == RHCA_V2_IPV4) {
		KUNIT_EXPECT_EQ(b->test, ntohs(ip_hdr(skb)->tot_len), skb->len);
		KUNIT_EXPECT_EQ(b->test, 0, ip_fast_csum(ip_hdr(skb), 5));
	} else {
		KUNIT_EXPECT_EQ(b->test, ntohs(ipv6_hdr(skb)->payload_len),
				skb->len - sizeof(struct ipv6hdr));
	}
}

/* As the stack would hand it to a device */
static struct sk_buff *finish(struct builder *b)
{
	enum rhca_encap encap = b->path->address.flow.encap;
	struct sk_buff *skb;

	local_bh_disable();
	skb = rhca_block_finish(b->block, encap);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(b->test, skb);
	expect_total(b, skb);
	skb->dev = b->hca->ndev[0];
	skb->protocol = htons(encap == RHCA_V2_IPV4 ? ETH_P_IP : ETH_P_IPV6);
	skb_push(skb, ETH_HLEN);
	skb_reset_mac_header(skb);
	skb->mac_len = ETH_HLEN;
	return skb;
}

/* Each is a packet that any receiver takes; returns how many */
static unsigned int expect_sound(struct builder *b, struct sk_buff *list)
{
	struct rhca_rx *rx = test_alloc(b->test, sizeof(*rx));
	struct sk_buff *skb, *next;
	unsigned int num = 0;

	skb_list_walk_safe(list, skb, next) {
		skb_mark_not_on_list(skb);
		skb_pull(skb, skb_network_offset(skb));
		KUNIT_EXPECT_EQ(b->test, RHCA_PARSE_OK,
				rhca_rx_parse(rx, skb, b->path->address.flow.encap));
		KUNIT_EXPECT_TRUE_MSG(b->test, rhca_rx_icrc_ok(rx),
				      "ICRC of packet %u", num);
		KUNIT_EXPECT_EQ(b->test, rx->psn, (FIRST_PSN + num) & 0xffffff);
		num++;
		kfree_skb(skb);
	}
	kunit_kfree(b->test, rx);
	return num;
}

static void packets_cut_from_a_block_are_sound(struct kunit *test)
{
	static const u32 sizes[] = { 1, 4, 63, 256, 1024, 4096 };
	struct builder b;
	unsigned int i, num;

	builder_setup(&b, test);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		b.psn = FIRST_PSN;
		for (num = 0; num < RHCA_BLOCK_PACKETS; num++)
			if (!add(&b, SEND_MIDDLE, sizes[i]))
				break;
		KUNIT_EXPECT_GE(test, num, 15);
		KUNIT_EXPECT_EQ_MSG(test, num,
				    expect_sound(&b, test_segments(test,
								   finish(&b))),
				    "%u bytes", sizes[i]);
	}
}

/* With any number of them, of which the last is shorter */
static void shorter_last_packet_ends_a_block(struct kunit *test)
{
	struct builder b;
	unsigned int num, i;

	builder_setup(&b, test);
	for (num = 1; num < 5; num++) {
		b.psn = FIRST_PSN;
		for (i = 0; i < num; i++)
			KUNIT_EXPECT_TRUE(test, add(&b, SEND_MIDDLE, MTU));
		KUNIT_EXPECT_TRUE(test, add(&b, SEND_LAST, 5));
		KUNIT_EXPECT_FALSE(test, add(&b, SEND_ONLY, 5));
		KUNIT_EXPECT_EQ(test, num + 1,
				expect_sound(&b, test_segments(test,
							       finish(&b))));
	}
}

static void lone_packet_is_no_block(struct kunit *test)
{
	static const u32 sizes[] = { 0, 64, 4096 };
	struct sk_buff *skb;
	struct builder b;
	unsigned int i;

	builder_setup(&b, test);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		b.psn = FIRST_PSN;
		add(&b, SEND_ONLY, sizes[i]);
		skb = finish(&b);
		KUNIT_EXPECT_FALSE(test, skb_is_gso(skb));
		KUNIT_EXPECT_EQ(test, 1, expect_sound(&b, skb));
	}
}

static void what_does_not_follow_does_not_fit(struct kunit *test)
{
	struct builder b;

	builder_setup(&b, test);
	KUNIT_EXPECT_TRUE(test, add(&b, SEND_MIDDLE, MTU));
	b.psn++;
	KUNIT_EXPECT_FALSE_MSG(test, add(&b, SEND_MIDDLE, MTU), "PSN gap");
	b.psn = (FIRST_PSN + 1) & 0xffffff;
	KUNIT_EXPECT_FALSE_MSG(test, add(&b, SEND_LAST, MTU + 4), "longer");
	b.psn = (FIRST_PSN + 1) & 0xffffff;
	KUNIT_EXPECT_FALSE_MSG(test, add(&b, SEND_MIDDLE, MTU - 4),
			       "shorter, and not the end of a message");
	kfree_skb(finish(&b));
}

static void block_is_not_larger_than_an_ip_packet(struct kunit *test)
{
	struct sk_buff *skb;
	struct builder b;
	unsigned int num = 0;

	builder_setup(&b, test);
	while (add(&b, SEND_MIDDLE, 4096))
		num++;
	skb = finish(&b);
	KUNIT_EXPECT_EQ(test, num, 15);
	KUNIT_EXPECT_LE(test, skb->len - ETH_HLEN, 65535);
	KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_segs, num);
	KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_size, SEGMENT_BYTES(4096));
	kfree_skb(skb);
}

/* --- receiving ----------------------------------------------------------------- */

struct bench {
	struct test_hca *hca;
	struct ib_qp *qp;
	struct sk_buff *skb;
	u8 *packet;
};

static const struct test_qp_spec spec = {
	.rq_psn = FIRST_PSN, .sq_psn = FIRST_PSN, .initiator_depth = 16,
	.retries = 7,
};

/* The v2 GID stands behind the v1 GID of the same address */
static struct bench *setup(struct kunit *test, enum ib_qp_type type)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->hca->gid_index++;
	b->qp = test_qp(b->hca, type);
	b->packet = test_alloc(test, TEST_PACKET_BYTES);
	b->skb = NULL;
	test_qp_bring_up(b->hca, b->qp, &spec, IB_QPS_RTS);
	memset(b->hca->buffer + TARGET, 0, TEST_BUFFER_BYTES - TARGET);
	return b;
}

static unsigned int extended_bytes_of(u8 opcode)
{
	switch (opcode) {
	case UD_SEND_ONLY:
		return 8;
	case READ_FIRST:
	case READ_LAST:
	case READ_ONLY:
		return 4;
	default:
		return 0;
	}
}

/* The next segment of the block that is about to arrive, to @qp */
static u8 *append_to(struct bench *b, struct ib_qp *qp, u8 opcode, int psn,
		     u32 bytes)
{
	static const u8 aeth[8] = { 0x1f, 0, 0, 1 };
	static const u8 deth[8] = { 0x11, 0x11, 0x11, 0x11 };
	struct test_packet p = {
		.flow = { .encap = RHCA_V2_IPV6, .hop_limit = 64,
			  .udp_sport = 0xd00d, .dgid = b->hca->gid },
		.bth = { .opcode = opcode, .psn = (FIRST_PSN + psn) & 0xffffff,
			 .dest_qpn = qp->qp_num },
		.extended = opcode == UD_SEND_ONLY ? deth : aeth,
		.extended_bytes = extended_bytes_of(opcode),
		.payload_bytes = bytes,
	};
	unsigned int network = rhca_network_bytes(RHCA_V2_IPV6), len;

	test_peer_gid(&p.flow.sgid);
	len = test_build(b->packet, &p);
	if (!b->skb) {
		b->skb = alloc_skb(65536, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(b->hca->test, b->skb);
		skb_put_data(b->skb, b->packet, network);
		skb_shinfo(b->skb)->gso_size = len - network;
	}
	return skb_put_data(b->skb, b->packet + network, len - network);
}

static u8 *append(struct bench *b, u8 opcode, int psn, u32 bytes)
{
	return append_to(b, b->qp, opcode, psn, bytes);
}

/* With the type that GRO and blocks have where a socket gets them */
static void arrive(struct bench *b)
{
	struct sk_buff *skb = b->skb;

	skb_reset_network_header(skb);
	rhca_network_resize(RHCA_V2_IPV6, skb->data,
			    skb->len - rhca_network_bytes(RHCA_V2_IPV6));
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_UDP_TUNNEL;
	skb_shinfo(skb)->gso_segs = 2;
	skb->dev = b->hca->ndev[0];
	b->skb = NULL;
	local_bh_disable();
	rhca_receive(skb, RHCA_V2_IPV6);
	local_bh_enable();
}

static u64 counter(struct bench *b, enum rhca_counter which)
{
	return rhca_counter_sum(ibqp_to_verbs(b->qp)->counters, which);
}

static void post_recvs(struct bench *b, struct ib_qp *qp, u64 first,
		       unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		test_post_recv(b->hca, qp, first + i, TARGET + i * 2048, 2048);
}

static void each_message_of_a_block_completes(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post_recvs(b, b->qp, 7, 4);
	append(b, SEND_ONLY, 0, 64);
	append(b, SEND_ONLY, 1, 64);
	append(b, SEND_ONLY, 2, 64);
	append(b, SEND_ONLY, 3, 3);
	arrive(b);
	test_expect_completions(b->hca, 7, 4);
	test_expect_payload(b->hca, TARGET, 64);
	test_expect_payload(b->hca, TARGET + 4096, 64);
	test_expect_payload(b->hca, TARGET + 6144, 3);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_RX_PACKETS), 4);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_RX_BYTES),
			4 * (48 + 12 + 4) + 3 * 64 + 4);
}

static void message_of_many_packets_arrives_in_one_block(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post_recvs(b, b->qp, 1, 1);
	append(b, SEND_FIRST, 0, MTU);
	append(b, SEND_MIDDLE, 1, MTU);
	append(b, SEND_MIDDLE, 2, MTU);
	append(b, SEND_LAST, 3, 9);
	arrive(b);
	test_expect_completions(b->hca, 1, 1);
	test_expect_payload(b->hca, TARGET, MTU);
	test_expect_payload(b->hca, TARGET + 2 * MTU, MTU);
	test_expect_payload(b->hca, TARGET + 3 * MTU, 9);
}

/* Its payload is copied before anyone knows; the right one replaces it */
static void damaged_middle_packet_is_replaced(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	int i;

	post_recvs(b, b->qp, 1, 1);
	append(b, SEND_FIRST, 0, MTU);
	append(b, SEND_MIDDLE, 1, MTU);
	append(b, SEND_MIDDLE, 2, MTU)[100] ^= 0x10;
	append(b, SEND_MIDDLE, 3, MTU);
	append(b, SEND_LAST, 4, 9);
	arrive(b);
	test_expect_completions(b->hca, 1, 0);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_RX_ICRC_ENCAPSULATED), 1);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_OUT_OF_SEQUENCE), 2);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_RX_PACKETS), 4);
	for (i = 2; i < 4; i++)
		append(b, SEND_MIDDLE, i, MTU);
	append(b, SEND_LAST, 4, 9);
	arrive(b);
	test_expect_completions(b->hca, 1, 1);
	for (i = 0; i < 4; i++)
		test_expect_payload(b->hca, TARGET + i * MTU, MTU);
	test_expect_payload(b->hca, TARGET + 4 * MTU, 9);
}

/* Programs wait for its last byte */
static void damaged_last_packet_touches_nothing(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	u32 i;

	post_recvs(b, b->qp, 1, 1);
	append(b, SEND_FIRST, 0, MTU);
	append(b, SEND_LAST, 1, 64)[30] ^= 0x10;
	arrive(b);
	test_expect_completions(b->hca, 1, 0);
	for (i = 0; i < 64; i++)
		KUNIT_EXPECT_EQ(test, b->hca->buffer[TARGET + MTU + i], 0);
}

static void middle_packet_of_another_partition_is_refused(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	u8 *segment;

	post_recvs(b, b->qp, 1, 1);
	append(b, SEND_FIRST, 0, MTU);
	segment = append(b, SEND_MIDDLE, 1, MTU);
	segment[2] = 0x12;
	memcpy(b->packet + 48, segment, SEGMENT_BYTES(MTU));
	test_seal(b->packet, 48 + SEGMENT_BYTES(MTU), RHCA_V2_IPV6);
	memcpy(segment, b->packet + 48, SEGMENT_BYTES(MTU));
	append(b, SEND_LAST, 2, 9);
	arrive(b);
	test_expect_completions(b->hca, 1, 0);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_RX_DROPPED_BAD_PKEY), 1);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_RX_PACKETS), 2);
}

struct fault_case {
	const char *desc;
	u8 offset;		/* of a byte in the segment, which is flipped */
	enum rhca_counter counter;
};

static const struct fault_case faults[] = {
	{ "payload", 20, RHCA_RX_ICRC_ENCAPSULATED },
	{ "PSN", 11, RHCA_RX_ICRC_ENCAPSULATED },
	{ "P_Key", 3, RHCA_RX_ICRC_ENCAPSULATED },
	{ "opcode", 0, RHCA_RX_DROPPED_BAD_OPCODE },
	{ "QP number", 5, RHCA_RX_DROPPED_NO_QP },
};
KUNIT_ARRAY_PARAM_DESC(fault, faults, desc);

/* As if the wire had lost it: what follows is out of sequence, and repeated */
static void fault_in_the_middle_loses_that_packet(struct kunit *test)
{
	const struct fault_case *c = test->param_value;
	struct bench *b = setup(test, IB_QPT_RC);
	int i;

	post_recvs(b, b->qp, 1, 4);
	append(b, SEND_ONLY, 0, 64);
	append(b, SEND_ONLY, 1, 64)[c->offset] ^= 0xff;
	append(b, SEND_ONLY, 2, 64);
	append(b, SEND_ONLY, 3, 64);
	arrive(b);
	test_expect_completions(b->hca, 1, 1);
	KUNIT_EXPECT_EQ(test, counter(b, c->counter), 1);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_OUT_OF_SEQUENCE), 2);
	for (i = 1; i < 4; i++)
		append(b, SEND_ONLY, i, 64);
	arrive(b);
	test_expect_completions(b->hca, 2, 3);
	test_expect_payload(b->hca, TARGET + 6144, 64);
}

static void datagrams_behind_a_fault_arrive(struct kunit *test)
{
	const struct fault_case *c = test->param_value;
	struct bench *b = setup(test, IB_QPT_UD);
	int i;

	post_recvs(b, b->qp, 1, 3);
	for (i = 0; i < 4; i++)
		append(b, UD_SEND_ONLY, i, 64)[c->offset] ^= i == 1 ? 0xff : 0;
	arrive(b);
	test_expect_completions(b->hca, 1, 3);
	test_expect_payload(b->hca, TARGET + 2048 + 40, 64);
	KUNIT_EXPECT_EQ(test, counter(b, c->counter), 1);
}

static void packets_of_other_qps_may_be_in_between(struct kunit *test)
{
	struct ib_qp *other;
	struct bench *b = setup(test, IB_QPT_RC);

	other = test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	post_recvs(b, b->qp, 1, 1);
	post_recvs(b, other, 2, 1);
	post_recvs(b, b->qp, 3, 1);
	post_recvs(b, other, 4, 1);
	append(b, SEND_ONLY, 0, 64);
	append_to(b, other, SEND_ONLY, 0, 64);
	append(b, SEND_ONLY, 1, 64);
	append_to(b, other, SEND_ONLY, 1, 64);
	arrive(b);
	test_expect_completions(b->hca, 1, 4);
}

static void post_read(struct bench *b, u64 id, u32 bytes)
{
	struct ib_sge sge = test_sge(b->hca, TARGET + id * 2048, bytes);
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = id, .opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED, .sg_list = &sge,
			.num_sge = 1 },
		.remote_addr = 0x1000,
	};

	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_send(b->qp, &wr.wr, NULL));
}

static void several_read_responses_arrive_in_one_block(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	int i;

	for (i = 0; i < 3; i++)
		post_read(b, i, 32);
	for (i = 0; i < 3; i++)
		append(b, READ_ONLY, i, 32);
	arrive(b);
	test_expect_completions(b->hca, 0, 3);
	for (i = 0; i < 3; i++)
		test_expect_payload(b->hca, TARGET + i * 2048, 32);
}

/* The request in between goes to the other half of the QP */
static void read_response_and_request_share_a_block(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post_recvs(b, b->qp, 9, 1);
	post_read(b, 10, 2 * MTU + 8);
	append(b, READ_FIRST, 0, MTU);
	arrive(b);
	append(b, READ_MIDDLE, 1, MTU);
	append(b, SEND_ONLY, 0, MTU);
	append(b, READ_LAST, 2, 8);
	arrive(b);
	test_expect_completions(b->hca, 9, 2);
	test_expect_payload(b->hca, TARGET + 10 * 2048 + MTU, MTU);
	test_expect_payload(b->hca, TARGET + 10 * 2048 + 2 * MTU, 8);
}

static void damaged_middle_response_is_replaced(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post_read(b, 0, 3 * MTU + 8);
	append(b, READ_FIRST, 0, MTU);
	arrive(b);
	append(b, READ_MIDDLE, 1, MTU);
	append(b, READ_MIDDLE, 2, MTU)[100] ^= 0x10;
	append(b, READ_LAST, 3, 8);
	arrive(b);
	test_expect_completions(b->hca, 0, 0);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_RX_ICRC_ENCAPSULATED), 1);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_IMPLIED_NAK_SEQ_ERR), 1);
	append(b, READ_MIDDLE, 2, MTU);
	append(b, READ_LAST, 3, 8);
	arrive(b);
	test_expect_completions(b->hca, 0, 1);
	test_expect_payload(b->hca, TARGET + MTU, MTU);
	test_expect_payload(b->hca, TARGET + 2 * MTU, MTU);
	test_expect_payload(b->hca, TARGET + 3 * MTU, 8);
}

struct size_case {
	const char *desc;
	unsigned int gso_size;
	unsigned int packets;
};

/* What a guest may write into the header of its packet; nobody has checked it */
static const struct size_case sizes[] = {
	{ "1", 1, 1 },
	{ "less than BTH and ICRC", 15, 1 },
	{ "odd", 81, 1 },
	{ "more than 128 segments", 16, 200 },
	{ "larger than the packet", 4000, 1 },
	{ "as large as it can be", 65535, 1 },
};
KUNIT_ARRAY_PARAM_DESC(size, sizes, desc);

static void segment_size_that_lies_is_refused(struct kunit *test)
{
	const struct size_case *c = test->param_value;
	u64 before, refused;
	struct bench *b = setup(test, IB_QPT_RC);
	unsigned int i;

	post_recvs(b, b->qp, 1, 2);
	before = counter(b, RHCA_RX_DROPPED_BAD_LENGTH);
	for (i = 0; i < c->packets; i++)
		append(b, SEND_ONLY, i, 64);
	append(b, SEND_ONLY, i, 64);
	skb_shinfo(b->skb)->gso_size = c->gso_size;
	arrive(b);
	refused = counter(b, RHCA_RX_DROPPED_BAD_LENGTH) - before +
		  counter(b, RHCA_RX_DROPPED_TRUNCATED) +
		  counter(b, RHCA_RX_ICRC_ENCAPSULATED) +
		  counter(b, RHCA_RX_DROPPED_BAD_OPCODE);
	KUNIT_EXPECT_GE(test, refused, 1);
	KUNIT_EXPECT_LE(test, refused, 2);
	test_expect_completions(b->hca, 1, 0);
	/* And nothing is left behind */
	append(b, SEND_ONLY, 0, 64);
	append(b, SEND_ONLY, 1, 64);
	arrive(b);
	test_expect_completions(b->hca, 1, 2);
}

static void other_segmentation_offload_is_refused(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post_recvs(b, b->qp, 1, 2);
	append(b, SEND_ONLY, 0, 64);
	append(b, SEND_ONLY, 1, 64);
	skb_reset_network_header(b->skb);
	rhca_network_resize(RHCA_V2_IPV6, b->skb->data, b->skb->len - 48);
	skb_shinfo(b->skb)->gso_type = SKB_GSO_TCPV6 | SKB_GSO_UDP_TUNNEL;
	b->skb->dev = b->hca->ndev[0];
	local_bh_disable();
	rhca_receive(b->skb, RHCA_V2_IPV6);
	local_bh_enable();
	test_expect_completions(b->hca, 1, 0);
	KUNIT_EXPECT_EQ(test, counter(b, RHCA_RX_DROPPED_BAD_LENGTH), 1);
}

/* --- groups ---------------------------------------------------------------------- */

#define GROUP_QPS	40
#define GROUP_PACKETS	RHCA_BLOCK_PACKETS
#define MAX_COPIES	(256 * RHCA_BLOCK_GROUP_PACKETS)

static union ib_gid group = { .raw = { 0xff, 0x15, [13] = 1, 2, 5 } };
static struct ib_qp whole_group = { .qp_num = 0xffffff };

/* Nobody has posted a buffer: what is delivered is counted as lacking one */
static void copies_of_a_block_to_a_group_are_bounded(struct kunit *test)
{
	u32 delivered = DIV_ROUND_UP(MAX_COPIES, GROUP_QPS), i;
	struct ib_qp *qp[GROUP_QPS];
	struct bench *b = setup(test, IB_QPT_UD);

	qp[0] = b->qp;
	for (i = 1; i < GROUP_QPS; i++)
		qp[i] = test_qp_in(b->hca, IB_QPT_UD, &spec, IB_QPS_RTS);
	for (i = 0; i < GROUP_QPS; i++)
		KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(qp[i], &group, 0));
	b->hca->gid = group;
	for (i = 0; i < GROUP_PACKETS; i++)
		append_to(b, &whole_group, UD_SEND_ONLY, i, 24);
	arrive(b);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_OUT_OF_BUFFER),
			delivered * GROUP_QPS);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_DROPPED_NO_RESOURCE),
			GROUP_PACKETS - delivered);
	for (i = 0; i < GROUP_QPS; i++)
		KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp[i], &group, 0));
}

static void block_to_a_group_is_short(struct kunit *test)
{
	struct builder b;
	unsigned int num = 0;

	builder_setup(&b, test);
	b.path->address.flow.dgid = group;
	while (num < RHCA_BLOCK_PACKETS && add(&b, SEND_MIDDLE, MTU))
		num++;
	KUNIT_EXPECT_EQ(test, num, RHCA_BLOCK_GROUP_PACKETS);
	kfree_skb(finish(&b));
}

static struct kunit_case block_tests[] = {
	KUNIT_CASE(packets_leave_singly_after_a_loss),
	KUNIT_CASE(path_that_no_block_survives_sees_few),
	KUNIT_CASE(losses_that_are_rare_are_forgotten),
	KUNIT_CASE_PARAM(blocks_that_arrive_are_kept_to, proof_gen_params),
	KUNIT_CASE_PARAM(packets_cut_from_a_block_are_sound, framing_gen_params),
	KUNIT_CASE_PARAM(shorter_last_packet_ends_a_block, framing_gen_params),
	KUNIT_CASE_PARAM(lone_packet_is_no_block, framing_gen_params),
	KUNIT_CASE_PARAM(what_does_not_follow_does_not_fit, framing_gen_params),
	KUNIT_CASE_PARAM(block_is_not_larger_than_an_ip_packet, framing_gen_params),
	KUNIT_CASE(each_message_of_a_block_completes),
	KUNIT_CASE(message_of_many_packets_arrives_in_one_block),
	KUNIT_CASE(damaged_middle_packet_is_replaced),
	KUNIT_CASE(damaged_last_packet_touches_nothing),
	KUNIT_CASE(middle_packet_of_another_partition_is_refused),
	KUNIT_CASE(damaged_middle_response_is_replaced),
	KUNIT_CASE_PARAM(fault_in_the_middle_loses_that_packet, fault_gen_params),
	KUNIT_CASE_PARAM(datagrams_behind_a_fault_arrive, fault_gen_params),
	KUNIT_CASE(packets_of_other_qps_may_be_in_between),
	KUNIT_CASE(several_read_responses_arrive_in_one_block),
	KUNIT_CASE(read_response_and_request_share_a_block),
	KUNIT_CASE_PARAM(segment_size_that_lies_is_refused, size_gen_params),
	KUNIT_CASE(other_segmentation_offload_is_refused),
	KUNIT_CASE(copies_of_a_block_to_a_group_are_bounded),
	KUNIT_CASE_PARAM(block_to_a_group_is_short, framing_gen_params),
	{}
};

TEST_SUITE("rhca_block", block_tests);
