// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks: those we build are segmented by the kernel and each packet checked; those received have
 * faults in the middle, packets of other QPs in between, and wrong sizes.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "lib/course.h"
#include "sw/packet/block.h"
#include "sw/rx/receive.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xfffffe		/* wraps inside a block */
#define TARGET		16384
#define SLOT		2048			/* bytes of a buffer there */

#define SEGMENT_BYTES(payload)	(12 + (payload) + 4)

/* --- losses ------------------------------------------------------------------ */

static void packets_leave_singly_after_a_loss(struct kunit *test)
{
	struct rhca_block_backoff backoff = {};

	rhca_block_lost(&backoff);
	KUNIT_EXPECT_EQ(test, backoff.single, RHCA_BLOCK_SINGLE_MIN);
	rhca_block_sent(&backoff, RHCA_BLOCK_SINGLE_MIN - 1);
	KUNIT_EXPECT_EQ(test, backoff.single, 1);
	rhca_block_sent(&backoff, 64);
	KUNIT_EXPECT_EQ(test, backoff.single, 0);
}

/* Between two losses at most a send window leaves in blocks */
static void path_that_loses_blocks_gets_few(struct kunit *test)
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
	KUNIT_EXPECT_LE(test, backoff.window, RHCA_BLOCK_SINGLE_MAX);
	KUNIT_EXPECT_GT(test, single, 100 * in_blocks);
}

static void rare_losses_are_forgotten(struct kunit *test)
{
	struct rhca_block_backoff backoff = {};
	unsigned int i;

	for (i = 0; i < 20; i++) {
		rhca_block_lost(&backoff);
		KUNIT_EXPECT_EQ(test, backoff.single, RHCA_BLOCK_SINGLE_MIN);
		rhca_block_sent(&backoff, backoff.single);
		rhca_block_sent(&backoff, 8 * RHCA_BLOCK_SINGLE_MIN);
	}
}

static const struct proof_case {
	const char *desc;
	u32 left;	/* PSN of the block */
	bool lost;	/* something was retransmitted before the acknowledgement */
	u32 upto;
	u32 single;	/* after the next loss */
} proof_cases[] = {
	{ "a block has arrived", 5, false, 6, RHCA_BLOCK_SINGLE_PROVEN },
	{ "across the end of PSNs", 0xffffff, false, 0, RHCA_BLOCK_SINGLE_PROVEN },
	{ "packets before it have arrived", 5, false, 5, RHCA_BLOCK_SINGLE_MIN },
	{ "a retransmission may have arrived instead", 5, true, 6, 2 * RHCA_BLOCK_SINGLE_MIN },
};
KUNIT_ARRAY_PARAM_DESC(proof, proof_cases, desc);

static void blocks_that_arrive_shorten_the_backoff(struct kunit *test)
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

static const enum rhca_encap framings[] = { RHCA_V2_IPV4, RHCA_V2_IPV6 };
KUNIT_ARRAY_PARAM(framing, framings, test_framing_desc);

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
	b->path->address.port = test_port(b->hca);
	b->psn = FIRST_PSN;
}

/* Build a sealed segment: the next packet of the QP */
static void build(struct builder *b, struct rhca_packet *packet, u8 opcode, u32 bytes)
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

/* Returns false if the packet does not fit; it is freed then */
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

/* VLANs and bonds get the skb without the IP stack's output path, which would set the length */
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

/* Any receiver must accept each of them; returns their number */
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
		KUNIT_EXPECT_TRUE_MSG(b->test, rhca_rx_icrc_ok(rx), "ICRC of packet %u", num);
		KUNIT_EXPECT_EQ(b->test, rx->psn, (FIRST_PSN + num) & 0xffffff);
		num++;
		kfree_skb(skb);
	}
	kunit_kfree(b->test, rx);
	return num;
}

static void segments_of_a_block_are_valid_packets(struct kunit *test)
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
				    expect_sound(&b, test_segments(test, finish(&b))),
				    "%u bytes", sizes[i]);
	}
}

/* With any number of packets, the last of which is shorter */
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
		KUNIT_EXPECT_EQ(test, num + 1, expect_sound(&b, test_segments(test, finish(&b))));
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

static void only_consecutive_packets_fit(struct kunit *test)
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

static const struct test_qp_spec spec = {
	.rq_psn = FIRST_PSN, .sq_psn = FIRST_PSN, .initiator_depth = 16,
	.retries = 7, .v2 = true,
};

/* The next block to arrive, and its newest segment */
static struct sk_buff *block;
static u8 *segment;

static unsigned int extended_bytes_of(u8 opcode)
{
	switch (opcode) {
	case UD_SEND_ONLY:
		return 8;
	case READ_FIRST:
	case READ_LAST:
	case READ_ONLY:
	case ACKNOWLEDGE:
		return 4;
	default:
		return 0;
	}
}

/* Append a segment for @qp */
static void append_to(struct bench *b, struct ib_qp *qp, u8 opcode, int psn, u32 bytes)
{
	static const u8 aeth[8] = { NO_CREDITS, 0, 0, 1 };
	static const u8 deth[8] = { 0x11, 0x11, 0x11, 0x11, 0, 0xad, 0xbe, 0xef };
	struct test_packet p = {
		.flow.encap = RHCA_V2_IPV6,
		.bth = { .opcode = opcode, .psn = (FIRST_PSN + psn) & 0xffffff,
			 .dest_qpn = qp->qp_num },
		.extended = opcode == UD_SEND_ONLY ? deth : aeth,
		.extended_bytes = extended_bytes_of(opcode),
		.payload_bytes = bytes,
	};

	test_from_peer(b->hca, &p);
	segment = test_block_add(b->hca->test, &block, &p);
}

static ACT(do_append, append_to(b, b->qp, s->r.opcode, s->r.psn, s->r.payload_bytes))
static ACT(do_spoil, segment[s->r.va] ^= s->n)

/* Append SENDs, or ACKs to no QP: the shortest packets that parse */
static void do_append_many(struct bench *b, const struct step *s)
{
	static struct ib_qp nobody = { .qp_num = 0x123456 };
	u32 i;

	for (i = 0; i < s->n; i++)
		append_to(b, s->r.payload_bytes ? b->qp : &nobody, s->r.opcode, i,
			  s->r.payload_bytes);
}

static ACT(do_append_byte, skb_put_zero(block, 1))
static ACT(do_size, skb_shinfo(block)->gso_size = s->n)

/* Change the P_Key; the ICRC is valid */
static void do_repartition(struct bench *b, const struct step *s)
{
	u8 *packet = test_alloc(b->hca->test, TEST_PACKET_BYTES);

	segment[2] = 0x12;
	memcpy(packet, block->data, 48);
	memcpy(packet + 48, segment, SEGMENT_BYTES(MTU));
	test_seal(packet, 48 + SEGMENT_BYTES(MTU), RHCA_V2_IPV6);
	memcpy(segment, packet + 48, SEGMENT_BYTES(MTU));
}

/* With the type that GRO uses and a socket gets blocks with, or another one */
static void do_arrive(struct bench *b, const struct step *s)
{
	struct sk_buff *skb = block;

	block = NULL;
	test_block_end(skb, RHCA_V2_IPV6, s->n | SKB_GSO_UDP_TUNNEL, b->hca->ndev[0]);
	test_arrive(skb, RHCA_V2_IPV6);
}

/* A block with a wrong segment size: one packet or all of them, and perhaps the rest */
static void is_refused(struct bench *b, const struct step *s)
{
	u64 refused = test_count(b->hca, RHCA_RX_DROPPED_BAD_LENGTH) +
		      test_count(b->hca, RHCA_RX_DROPPED_TRUNCATED) +
		      test_count(b->hca, RHCA_RX_ICRC_ENCAPSULATED) +
		      test_count(b->hca, RHCA_RX_DROPPED_BAD_OPCODE);

	KUNIT_EXPECT_GE(b->hca->test, refused, 1);
	KUNIT_EXPECT_LE(b->hca->test, refused, 2);
	is_pending(b, s);
}

static void post_recv(struct bench *b, struct ib_qp *qp)
{
	u32 at = TARGET + b->posted * SLOT;

	memset(b->hca->buffer + at, 0, SLOT);
	test_post_recv(b->hca, qp, ++b->posted, at, SLOT);
}

static void do_recvs(struct bench *b, const struct step *s)
{
	u32 i;

	for (i = 0; i < s->n; i++)
		post_recv(b, b->qp);
}

#define RECVS(num)	STEP(do_recvs, num)	/* of SLOT bytes each */
#define SEG(op, at_psn, bytes)	STEP(do_append, 0, (op), .psn = (at_psn), \
				     .payload_bytes = (bytes))
#define SPOIL(at, bits)	STEP(do_spoil, bits, .va = (at))
#define MANY(num)	STEP(do_append_many, num, ACKNOWLEDGE)
#define MESSAGES(num)	STEP(do_append_many, num, SEND_ONLY, .payload_bytes = 64)
#define BYTE		STEP(do_append_byte, 0)
#define SIZE(bytes)	STEP(do_size, bytes)	/* segment size, as a process may set it */
#define NONE_PARSED	COUNT(RX_DROPPED_NO_QP, 0), COUNT(RX_DROPPED_BAD_LENGTH, 1), \
			COUNT(RX_DROPPED_TRUNCATED, 0)
#define REPARTITION	STEP(do_repartition, 0)
#define ARRIVE_AS(type)	STEP(do_arrive, type)
#define ARRIVE		ARRIVE_AS(SKB_GSO_UDP_L4)
#define GOT(bytes)	RECEIVED(bytes, 0, 0)
#define GOT_UD(bytes)	RECEIVED(40 + (bytes), IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE, 0)
#define READ_AT(slot, bytes)	CLEAR(TARGET + (slot) * SLOT, SLOT), \
				WR(IB_WR_RDMA_READ, bytes, .va = TARGET + (slot) * SLOT)

/* As if lost on the wire: later packets are out of sequence, and retransmitted */
#define FAULT_IN_THE_MIDDLE(name, at, counts) {						\
	"fault in the middle loses that packet: " name, .step = {			\
		RECVS(4), SEG(SEND_ONLY, 0, 64), SEG(SEND_ONLY, 1, 64), SPOIL(at, 0xff), \
		SEG(SEND_ONLY, 2, 64), SEG(SEND_ONLY, 3, 64), ARRIVE, GOT(64), PENDING,	\
		COUNT(counts, 1), COUNT(OUT_OF_SEQUENCE, 2), SEG(SEND_ONLY, 1, 64),	\
		SEG(SEND_ONLY, 2, 64), SEG(SEND_ONLY, 3, 64), ARRIVE, GOT(64), GOT(64),	\
		GOT(64), PENDING, PAYLOAD(TARGET + 3 * SLOT, 64) } }
#define FAULT_OF_A_DATAGRAM(name, at, counts) {						\
	"datagrams behind a fault arrive: " name, .type = IB_QPT_UD, .step = {		\
		RECVS(3), SEG(UD_SEND_ONLY, 0, 64), SEG(UD_SEND_ONLY, 1, 64),		\
		SPOIL(at, 0xff), SEG(UD_SEND_ONLY, 2, 64), SEG(UD_SEND_ONLY, 3, 64),	\
		ARRIVE, GOT_UD(64), GOT_UD(64), GOT_UD(64), PENDING,			\
		PAYLOAD(TARGET + SLOT + 40, 64), COUNT(counts, 1) } }
#define FAULT(...)	FAULT_IN_THE_MIDDLE(__VA_ARGS__), FAULT_OF_A_DATAGRAM(__VA_ARGS__)

/* A later block is not affected */
#define WRONG_SIZE(name, bytes, num) {							\
	"segment size is refused: " name, .step = {					\
		RECVS(2), MESSAGES(num), SIZE(bytes), ARRIVE, STEP(is_refused, 0),	\
		MESSAGES(2), ARRIVE, GOT(64), GOT(64), PENDING } }

static const struct course courses[] = {
	{ "each message of a block completes", .step = {
		RECVS(4), SEG(SEND_ONLY, 0, 64), SEG(SEND_ONLY, 1, 64), SEG(SEND_ONLY, 2, 64),
		SEG(SEND_ONLY, 3, 3), ARRIVE, GOT(64), GOT(64), GOT(64), GOT(3), PENDING,
		PAYLOAD(TARGET, 64), PAYLOAD(TARGET + 2 * SLOT, 64), PAYLOAD(TARGET + 3 * SLOT, 3),
		COUNT(RX_PACKETS, 4), COUNT(RX_BYTES, 4 * (48 + 12 + 4) + 3 * 64 + 4) } },
	{ "message of many packets arrives in one block", .step = {
		RECVS(1), SEG(SEND_FIRST, 0, MTU), SEG(SEND_MIDDLE, 1, MTU),
		SEG(SEND_MIDDLE, 2, MTU), SEG(SEND_LAST, 3, 9), ARRIVE, GOT(3 * MTU + 9),
		PENDING, PAYLOAD(TARGET, MTU), PAYLOAD(TARGET + 2 * MTU, MTU),
		PAYLOAD(TARGET + 3 * MTU, 9) } },
	/* Its payload is copied before the damage is detected; the right one replaces it */
	{ "damaged middle packet is replaced", .step = {
		RECVS(1), SEG(SEND_FIRST, 0, MTU), SEG(SEND_MIDDLE, 1, MTU),
		SEG(SEND_MIDDLE, 2, MTU), SPOIL(100, 0x10), SEG(SEND_MIDDLE, 3, MTU),
		SEG(SEND_LAST, 4, 9), ARRIVE, PENDING, COUNT(RX_ICRC_ENCAPSULATED, 1),
		COUNT(OUT_OF_SEQUENCE, 2), COUNT(RX_PACKETS, 4), SEG(SEND_MIDDLE, 2, MTU),
		SEG(SEND_MIDDLE, 3, MTU), SEG(SEND_LAST, 4, 9), ARRIVE, GOT(4 * MTU + 9), PENDING,
		PAYLOAD(TARGET, MTU), PAYLOAD(TARGET + MTU, MTU), PAYLOAD(TARGET + 2 * MTU, MTU),
		PAYLOAD(TARGET + 3 * MTU, MTU), PAYLOAD(TARGET + 4 * MTU, 9) } },
	/* Programs may poll the last byte */
	{ "damaged last packet changes nothing", .step = {
		RECVS(1), SEG(SEND_FIRST, 0, MTU), SEG(SEND_LAST, 1, 64), SPOIL(30, 0x10), ARRIVE,
		PENDING, ZERO(TARGET + MTU, 64) } },
	{ "middle packet of another partition is refused", .step = {
		RECVS(1), SEG(SEND_FIRST, 0, MTU), SEG(SEND_MIDDLE, 1, MTU), REPARTITION,
		SEG(SEND_LAST, 2, 9), ARRIVE, PENDING, COUNT(RX_DROPPED_BAD_PKEY, 1),
		COUNT(RX_PACKETS, 2) } },
	FAULT("payload", 20, RX_ICRC_ENCAPSULATED),
	FAULT("PSN", 11, RX_ICRC_ENCAPSULATED),
	FAULT("P_Key", 3, RX_ICRC_ENCAPSULATED),
	FAULT("opcode", 0, RX_DROPPED_BAD_OPCODE),
	FAULT("QP number", 5, RX_DROPPED_NO_QP),
	{ "several READ responses arrive in one block", .step = {
		READ_AT(0, 32), READ_AT(1, 32), READ_AT(2, 32), SEG(READ_ONLY, 0, 32),
		SEG(READ_ONLY, 1, 32), SEG(READ_ONLY, 2, 32), ARRIVE, DONE(32, SUCCESS),
		DONE(32, SUCCESS), DONE(32, SUCCESS), PENDING, PAYLOAD(TARGET, 32),
		PAYLOAD(TARGET + SLOT, 32), PAYLOAD(TARGET + 2 * SLOT, 32) } },
	/* The request in between goes to the other half of the QP */
	{ "READ response and request share a block", .step = {
		RECVS(1), READ_AT(1, 2 * MTU + 8), SEG(READ_FIRST, 0, MTU), ARRIVE,
		SEG(READ_MIDDLE, 1, MTU), SEG(SEND_ONLY, 0, MTU), SEG(READ_LAST, 2, 8), ARRIVE,
		GOT(MTU), DONE(2 * MTU + 8, SUCCESS), PENDING, PAYLOAD(TARGET + SLOT + MTU, MTU),
		PAYLOAD(TARGET + SLOT + 2 * MTU, 8) } },
	{ "damaged middle response is replaced", .step = {
		READ_AT(0, 3 * MTU + 8), SEG(READ_FIRST, 0, MTU), ARRIVE,
		SEG(READ_MIDDLE, 1, MTU), SEG(READ_MIDDLE, 2, MTU), SPOIL(100, 0x10),
		SEG(READ_LAST, 3, 8), ARRIVE, PENDING, COUNT(RX_ICRC_ENCAPSULATED, 1),
		COUNT(IMPLIED_NAK_SEQ_ERR, 1), SEG(READ_MIDDLE, 2, MTU), SEG(READ_LAST, 3, 8),
		ARRIVE, DONE(3 * MTU + 8, SUCCESS), PENDING, PAYLOAD(TARGET + MTU, MTU),
		PAYLOAD(TARGET + 2 * MTU, MTU), PAYLOAD(TARGET + 3 * MTU, 8) } },
	/* GRO merges up to 64; of a larger block none is parsed */
	{ "most segments", .step = {
		MANY(64), ARRIVE, COUNT(RX_DROPPED_NO_QP, 64), COUNT(RX_DROPPED_BAD_LENGTH, 0),
		COUNT(RX_DROPPED_TRUNCATED, 0) } },
	{ "one segment more", .step = { MANY(65), ARRIVE, NONE_PARSED } },
	{ "one more that is short", .step = { MANY(64), BYTE, ARRIVE, NONE_PARSED } },
	{ "segments of one byte", .step = { MANY(60), SIZE(1), ARRIVE, NONE_PARSED } },
	{ "segments of four bytes", .step = { MANY(60), SIZE(4), ARRIVE, NONE_PARSED } },
	/* Values that a guest may write into its packet's header, not checked so far */
	WRONG_SIZE("1", 1, 2),
	WRONG_SIZE("less than BTH and ICRC", 15, 2),
	WRONG_SIZE("odd", 81, 2),
	WRONG_SIZE("more than 128 segments", 16, 201),
	WRONG_SIZE("larger than the packet", 4000, 2),
	WRONG_SIZE("as large as it can be", 65535, 2),
	{ "other segmentation offload is refused", .step = {
		RECVS(2), SEG(SEND_ONLY, 0, 64), SEG(SEND_ONLY, 1, 64), ARRIVE_AS(SKB_GSO_TCPV6),
		PENDING, COUNT(RX_DROPPED_BAD_LENGTH, 1) } },
};
KUNIT_ARRAY_PARAM_DESC(course, courses, desc);

static void packets_of_a_block_are_processed(struct kunit *test)
{
	block = NULL;
	test_course(test, &spec, 0);
}

static struct bench *setup(struct kunit *test, enum ib_qp_type type)
{
	block = NULL;
	return test_bench(test, type, &spec, IB_QPS_RTS);
}

static void arrive(struct bench *b)
{
	do_arrive(b, &(struct step)ARRIVE);
}

static void packets_of_other_qps_may_be_in_between(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_qp *qp[] = { b->qp, test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTS) };
	int i;

	for (i = 0; i < 4; i++)
		post_recv(b, qp[i % 2]);
	for (i = 0; i < 4; i++)
		append_to(b, qp[i % 2], SEND_ONLY, i / 2, 64);
	arrive(b);
	test_expect_completions(b->hca, 1, 4);
}

/* --- groups ---------------------------------------------------------------------- */

#define GROUP_QPS	64
#define GROUP_PACKETS	RHCA_BLOCK_PACKETS
#define MOST_COPIES	(256 * 8)	/* of the packets of a block */

static union ib_gid group = { .raw = { 0xff, 0x15, [13] = 1, 2, 5 } };
static struct ib_qp whole_group = { .qp_num = 0xffffff };

/*
 * Whoever has many QPs chooses how long a block of a peer takes. No receives are posted: packets
 * delivered count as out of buffer
 */
static void copies_of_a_block_to_a_group_are_bounded(struct kunit *test)
{
	u32 delivered = MOST_COPIES / GROUP_QPS, i;
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
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_OUT_OF_BUFFER), delivered * GROUP_QPS);
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

TEST_SUITE(rhca_block,
	   KUNIT_CASE(packets_leave_singly_after_a_loss),
	   KUNIT_CASE(path_that_loses_blocks_gets_few),
	   KUNIT_CASE(rare_losses_are_forgotten),
	   KUNIT_CASE_PARAM(blocks_that_arrive_shorten_the_backoff, proof_gen_params),
	   KUNIT_CASE_PARAM(segments_of_a_block_are_valid_packets, framing_gen_params),
	   KUNIT_CASE_PARAM(shorter_last_packet_ends_a_block, framing_gen_params),
	   KUNIT_CASE_PARAM(lone_packet_is_no_block, framing_gen_params),
	   KUNIT_CASE_PARAM(only_consecutive_packets_fit, framing_gen_params),
	   KUNIT_CASE_PARAM(block_is_not_larger_than_an_ip_packet, framing_gen_params),
	   KUNIT_CASE_PARAM(packets_of_a_block_are_processed, course_gen_params),
	   KUNIT_CASE(packets_of_other_qps_may_be_in_between),
	   KUNIT_CASE(copies_of_a_block_to_a_group_are_bounded),
	   KUNIT_CASE_PARAM(block_to_a_group_is_short, framing_gen_params));
