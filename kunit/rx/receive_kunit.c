// SPDX-License-Identifier: GPL-2.0
/* The parser on packets that are truncated, inconsistent, or fragmented. */
#include <linux/prandom.h>

#include "lib/packet.h"
#include "sw/rx/receive.h"

static const enum rhca_encap framings[] = { RHCA_V1, RHCA_V2_IPV4, RHCA_V2_IPV6 };
KUNIT_ARRAY_PARAM(framing, framings, test_framing_desc);

/* Numbers, so that a wrong table cannot confirm itself */
static const u8 network_bytes[] = { 40, 28, 48 };

#define BTH_BYTES	12
#define ICRC_BYTES	4
#define ACK		0x11

/* One packet and the parser's result */
struct bench {
	struct kunit *test;	/* the test */
	enum rhca_encap encap;	/* its framing */
	unsigned int network;	/* bytes of its network headers */
	u8 *packet;		/* the bytes */
	unsigned int bytes;	/* how many */
	struct rhca_rx *rx;	/* the parser's result */
};

static void make(struct bench *b, u8 opcode, unsigned int extended_bytes,
		 unsigned int payload_bytes)
{
	static const u8 zero[64];
	struct test_packet p = {
		.bth = { .opcode = opcode, .psn = 0xabcdef, .dest_qpn = 0x17 },
		.extended = zero,
		.extended_bytes = extended_bytes,
		.payload_bytes = payload_bytes,
	};

	test_flow(&p.flow, b->encap);
	b->bytes = test_build(b->packet, &p);
}

static struct bench *setup(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->test = test;
	b->encap = *(const enum rhca_encap *)test->param_value;
	b->network = network_bytes[b->encap];
	b->packet = test_alloc(test, TEST_PACKET_BYTES);
	b->rx = test_alloc(test, sizeof(*b->rx));
	return b;
}

/* Set the length in the network headers so that the packet ends after @bytes */
static void say_length(struct bench *b, unsigned int bytes)
{
	struct rhca_flow flow;

	test_flow(&flow, b->encap);
	rhca_network_fill(b->packet, &flow, bytes - b->network, 0);
}

/* Bytes after @bytes remain in memory, valid but not part of the packet */
static enum rhca_parse parse_cut(struct bench *b, unsigned int bytes)
{
	struct sk_buff *skb = test_skb(b->test, b->packet, b->bytes, TEST_LINEAR, 0);
	enum rhca_parse parse;

	skb_trim(skb, bytes);
	parse = rhca_rx_parse(b->rx, skb, b->encap);
	kfree_skb(skb);
	return parse;
}

static void truncated_packet_is_refused(struct kunit *test)
{
	struct bench *b = setup(test);
	unsigned int len;

	make(b, WRITE_ONLY, 16, 10);
	KUNIT_ASSERT_EQ(test, parse_cut(b, b->bytes), RHCA_PARSE_OK);
	for (len = 0; len < b->bytes; len++)
		KUNIT_EXPECT_EQ_MSG(test, parse_cut(b, len),
				    len < b->network + BTH_BYTES + ICRC_BYTES ?
				    RHCA_PARSE_TRUNCATED :
				    RHCA_PARSE_BAD_LENGTH, "%u bytes", len);
}

/* The parser's expected result for a packet with consistent lengths */
static enum rhca_parse wanted_for(struct bench *b, unsigned int len,
				  unsigned int extended, bool payload)
{
	unsigned int ib_bytes = len - b->network;
	unsigned int headers = BTH_BYTES + extended + ICRC_BYTES;

	if (len < b->network + BTH_BYTES + ICRC_BYTES || ib_bytes < headers)
		return RHCA_PARSE_TRUNCATED;
	if (ib_bytes % 4 || (!payload && ib_bytes > headers))
		return RHCA_PARSE_BAD_LENGTH;
	return RHCA_PARSE_OK;
}

static const struct opcode_row {
	u8 opcode;
	u8 extended;
	bool payload;
} some_opcodes[] = {
	{ 0x00, 0, true }, { 0x04, 0, true }, { 0x05, 4, true },
	{ 0x0a, 16, true }, { 0x0b, 20, true }, { 0x0c, 16, false },
	{ 0x0d, 4, true }, { 0x0e, 0, true }, { 0x11, 4, false },
	{ 0x12, 12, false }, { 0x13, 28, false }, { 0x14, 28, false },
	{ 0x15, 0, true }, { 0x16, 4, true }, { 0x64, 8, true }, { 0x65, 12, true },
	{ 0x81, 16, false },
};

static void every_length_of_every_opcode_is_checked(struct kunit *test)
{
	const struct opcode_row *row;
	enum rhca_parse parse, wanted;
	struct bench *b = setup(test);
	unsigned int len, i;

	for (i = 0; i < ARRAY_SIZE(some_opcodes); i++) {
		row = &some_opcodes[i];
		make(b, row->opcode, row->extended, 12);
		for (len = b->network; len <= b->bytes; len++) {
			say_length(b, len);
			parse = parse_cut(b, len);
			wanted = wanted_for(b, len, row->extended, row->payload);
			KUNIT_EXPECT_EQ_MSG(test, parse, wanted,
					    "opcode %#x, %u bytes", row->opcode,
					    len);
			if (parse != RHCA_PARSE_OK)
				continue;
			KUNIT_EXPECT_EQ(test, b->rx->payload_offset,
					b->network + BTH_BYTES + row->extended);
			KUNIT_EXPECT_EQ(test, b->rx->payload_bytes,
					len - b->rx->payload_offset - ICRC_BYTES);
		}
	}
}

/* An ACK takes neither payload nor padding */
static void pad_count_is_taken_off_the_payload(struct kunit *test)
{
	unsigned int payload, pad, ack;
	struct bench *b = setup(test);
	bool ok;

	for (ack = 0; ack < 2; ack++)
		for (payload = 0; payload <= 8; payload += 4)
			for (pad = 0; pad < 4; pad++) {
				make(b, ack ? ACK : WRITE_ONLY, ack ? 4 : 16, payload);
				b->packet[b->network + 1] |= pad << 4;
				ok = pad <= payload && !(ack && payload);
				KUNIT_EXPECT_EQ_MSG(test, parse_cut(b, b->bytes),
						    ok ? RHCA_PARSE_OK : RHCA_PARSE_BAD_LENGTH,
						    "ACK %u, %u of %u bytes", ack, pad, payload);
				if (ok)
					KUNIT_EXPECT_EQ(test, b->rx->payload_bytes, payload - pad);
			}
}

static void transport_version_other_than_0_is_refused(struct kunit *test)
{
	struct bench *b = setup(test);
	u8 version;

	for (version = 0; version < 16; version++) {
		make(b, WRITE_ONLY, 16, 8);
		b->packet[b->network + 1] |= version;
		KUNIT_EXPECT_EQ_MSG(test, parse_cut(b, b->bytes),
				    version ? RHCA_PARSE_BAD_OPCODE :
					      RHCA_PARSE_OK, "version %u",
				    version);
	}
}

/* 40 of 256 opcodes are supported; the 7 reserved ones of RC are left to the responder */
static void unknown_opcode_is_refused(struct kunit *test)
{
	unsigned int opcode, refused = 0;
	enum rhca_parse parse;
	struct bench *b = setup(test);

	for (opcode = 0; opcode < 256; opcode++) {
		make(b, opcode, 36, 0);
		parse = parse_cut(b, b->bytes);
		refused += parse == RHCA_PARSE_BAD_OPCODE;
		if (opcode == 0x15 || opcode == 0x1f)
			KUNIT_EXPECT_EQ_MSG(test, parse, RHCA_PARSE_OK, "opcode %#x", opcode);
		if (opcode == 0x2c || opcode == 0x3c || opcode == 0x30 || opcode == 0x40 ||
		    opcode == 0x60 || opcode == 0x80 || opcode == 0xff)
			KUNIT_EXPECT_EQ_MSG(test, parse, RHCA_PARSE_BAD_OPCODE,
					    "opcode %#x", opcode);
	}
	KUNIT_EXPECT_EQ(test, refused, 256 - 40 - 7);
}

/* Frames shorter than 60 bytes arrive with padding of the sender's NIC */
static void ethernet_padding_is_no_payload(struct kunit *test)
{
	struct bench *b = setup(test);
	unsigned int extra;

	for (extra = 1; extra < 8; extra++) {
		make(b, ACK, 4, 0);
		memset(b->packet + b->bytes, 0xaa, extra);
		b->bytes += extra;
		KUNIT_EXPECT_EQ_MSG(test, parse_cut(b, b->bytes),
				    b->encap == RHCA_V1 ? RHCA_PARSE_OK :
							 RHCA_PARSE_BAD_LENGTH,
				    "%u bytes more", extra);
	}
}

static void v1_payload_ends_where_the_grh_says(struct kunit *test)
{
	struct bench *b = setup(test);

	if (b->encap != RHCA_V1)
		kunit_skip(test, "only the GRH is shorter than its frame");
	make(b, WRITE_ONLY, 16, 8);
	b->packet[5] -= 4;
	KUNIT_EXPECT_EQ(test, parse_cut(b, b->bytes), RHCA_PARSE_OK);
	KUNIT_EXPECT_EQ(test, b->rx->payload_bytes, 4);
	b->packet[5] -= 8;
	KUNIT_EXPECT_EQ(test, parse_cut(b, b->bytes), RHCA_PARSE_TRUNCATED);
}

static void expect_parsed(struct bench *b, enum test_shape shape, unsigned int head)
{
	struct sk_buff *skb = test_skb(b->test, b->packet, b->bytes, shape, head);
	const struct rhca_rx *rx = b->rx;
	struct kunit *test = b->test;

	memset(b->rx, 0xaa, sizeof(*b->rx));
	KUNIT_ASSERT_EQ_MSG(test, rhca_rx_parse(b->rx, skb, b->encap), RHCA_PARSE_OK,
			    "%u linear bytes", head);
	KUNIT_EXPECT_EQ(test, rx->opcode, WRITE_ONLY);
	KUNIT_EXPECT_EQ(test, rx->psn, 0xabcdef);
	KUNIT_EXPECT_EQ(test, rx->payload_offset, b->network + 28);
	KUNIT_EXPECT_EQ(test, rx->payload_bytes, 1001);
	KUNIT_EXPECT_EQ(test, rx->flow.encap, b->encap);
	KUNIT_EXPECT_EQ(test, rx->flow.hop_limit, 33);
	/* The headers are contiguous wherever the packet is split */
	KUNIT_EXPECT_MEMEQ(test, rx->network, b->packet, b->network + 28);
	KUNIT_EXPECT_PTR_EQ(test, (const u8 *)rx->bth, rx->network + b->network);
	kfree_skb(skb);
}

static void nonlinear_packet_is_parsed_like_a_linear_one(struct kunit *test)
{
	struct bench *b = setup(test);
	unsigned int head;

	make(b, WRITE_ONLY, 16, 1001);
	expect_parsed(b, TEST_LINEAR, 0);
	for (head = 0; head < b->bytes; head += head < 120 ? 1 : 97) {
		expect_parsed(b, TEST_PAGES, head);
		expect_parsed(b, TEST_FRAG_LIST, head);
	}
}

#define FUZZ_ROUNDS	20000

/* For any packet: accepted data lies inside the packet */
static void random_bytes_are_parsed_inside_the_packet(struct kunit *test)
{
	struct rnd_state rnd;
	struct sk_buff *skb;
	struct bench *b = setup(test);
	unsigned int i, n, len;
	u32 pick;

	prandom_seed_state(&rnd, 0x4791);
	for (i = 0; i < FUZZ_ROUNDS; i++) {
		pick = prandom_u32_state(&rnd);
		make(b, pick, pick >> 8 & 31, pick >> 16 & 63);
		for (n = pick >> 30; n; n--)
			b->packet[prandom_u32_state(&rnd) % b->bytes] =
				prandom_u32_state(&rnd);
		len = pick & BIT(29) ? b->bytes :
		      prandom_u32_state(&rnd) % (b->bytes + 1);
		skb = test_skb(test, b->packet, len, pick >> 22 & 1 ?
			       TEST_PAGES : TEST_LINEAR, pick >> 23 & 63);
		if (rhca_rx_parse(b->rx, skb, b->encap) == RHCA_PARSE_OK) {
			n = b->rx->payload_offset + b->rx->payload_bytes +
			    rhca_bth_pad(b->rx->bth) + ICRC_BYTES;
			KUNIT_EXPECT_LE(test, n, len);
			rhca_rx_icrc_ok(b->rx);
		}
		kfree_skb(skb);
	}
}

/* A sender on this host may splice pages that it keeps writing to */
static void place_of_the_icrc_is_read_once(struct kunit *test)
{
	struct rhca_bth *bth;
	struct sk_buff *skb;
	struct bench *b = setup(test);

	make(b, WRITE_ONLY, 16, 8);
	bth = (struct rhca_bth *)(b->packet + b->network);
	bth->flags |= RHCA_BTH_PAD;	/* the ICRC is valid for pad count 3 */
	test_seal(b->packet, b->bytes, b->encap);
	skb = test_skb(test, b->packet, b->bytes, TEST_LINEAR, 0);
	bth = (struct rhca_bth *)(skb->data + b->network);
	bth->flags &= ~RHCA_BTH_PAD;
	KUNIT_ASSERT_EQ(test, rhca_rx_parse(b->rx, skb, b->encap), RHCA_PARSE_OK);
	bth->flags |= RHCA_BTH_PAD;
	KUNIT_EXPECT_TRUE(test, rhca_rx_icrc_ok(b->rx));
	kfree_skb(skb);
}

TEST_SUITE(rhca_receive,
	   KUNIT_CASE_PARAM(truncated_packet_is_refused, framing_gen_params),
	   KUNIT_CASE_PARAM(every_length_of_every_opcode_is_checked, framing_gen_params),
	   KUNIT_CASE_PARAM(pad_count_is_taken_off_the_payload, framing_gen_params),
	   KUNIT_CASE_PARAM(transport_version_other_than_0_is_refused, framing_gen_params),
	   KUNIT_CASE_PARAM(unknown_opcode_is_refused, framing_gen_params),
	   KUNIT_CASE_PARAM(ethernet_padding_is_no_payload, framing_gen_params),
	   KUNIT_CASE_PARAM(v1_payload_ends_where_the_grh_says, framing_gen_params),
	   KUNIT_CASE_PARAM(nonlinear_packet_is_parsed_like_a_linear_one, framing_gen_params),
	   KUNIT_CASE_PARAM(place_of_the_icrc_is_read_once, framing_gen_params),
	   KUNIT_CASE_PARAM(random_bytes_are_parsed_inside_the_packet, framing_gen_params));
