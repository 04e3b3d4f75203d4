// SPDX-License-Identifier: GPL-2.0
/* The ICRC, checked against packets whose ICRC scapy computed. */
#include <linux/ip.h>
#include <linux/unaligned.h>

#include "lib/packet.h"
#include "sw/rx/receive.h"
#include "wire/crc32.h"
#include "wire/icrc.h"

struct icrc_vector {
	const char *desc;
	enum rhca_encap encap;
	unsigned int header_bytes;
	unsigned int payload_bytes;
	unsigned int pad_bytes;
	u32 icrc;
	u32 headers[RHCA_MAX_HEADER_BYTES / 4];
};

#include "icrc_vectors.h"

KUNIT_ARRAY_PARAM_DESC(vector, icrc_vectors, desc);

/* Writes the whole packet, with the ICRC after it */
static unsigned int lay_out(u8 *to, const struct icrc_vector *v)
{
	__le32 icrc = cpu_to_le32(v->icrc);
	unsigned int at = v->header_bytes;
	unsigned int i;

	for (i = 0; i < at; i += 4)
		put_unaligned_be32(v->headers[i / 4], to + i);
	for (i = 0; i < v->payload_bytes; i++)
		to[at++] = test_payload(i);
	memset(to + at, 0, v->pad_bytes);
	at += v->pad_bytes;
	memcpy(to + at, &icrc, sizeof(icrc));
	return at + sizeof(icrc);
}

static u32 icrc_of(const u8 *packet, unsigned int bytes, enum rhca_encap encap)
{
	unsigned int bth_end = rhca_network_bytes(encap) + 12;
	u32 crc = rhca_icrc_headers(false, encap, packet);

	crc = rhca_crc32(false, crc, packet + bth_end, bytes - 4 - bth_end);
	return le32_to_cpu(rhca_icrc_final(crc));
}

static bool received_ok(struct kunit *test, const u8 *packet,
			unsigned int bytes, enum rhca_encap encap,
			enum test_shape shape, unsigned int head_bytes)
{
	struct sk_buff *skb = test_skb(test, packet, bytes, shape, head_bytes);
	struct rhca_rx *rx = test_alloc(test, sizeof(*rx));
	enum rhca_parse parse = rhca_rx_parse(rx, skb, encap);
	bool ok = parse == RHCA_PARSE_OK && rhca_rx_icrc_ok(rx);

	kfree_skb(skb);
	return ok;
}

static void packet_is_received_from_any_skb_layout(struct kunit *test)
{
	const struct icrc_vector *v = test->param_value;
	u8 *packet = test_alloc(test, TEST_PACKET_BYTES);
	unsigned int bytes = lay_out(packet, v), head;

	KUNIT_EXPECT_TRUE(test, received_ok(test, packet, bytes, v->encap, TEST_LINEAR, 0));
	for (head = 1; head < bytes; head += head < 128 ? 1 : 509) {
		KUNIT_EXPECT_TRUE_MSG(test, received_ok(test, packet, bytes, v->encap, TEST_PAGES,
							head), "%u bytes before the pages", head);
		KUNIT_EXPECT_TRUE_MSG(test, received_ok(test, packet, bytes, v->encap,
							TEST_FRAG_LIST, head),
				      "%u bytes before the list", head);
	}
	packet[bytes - 1] ^= 1;
	KUNIT_EXPECT_FALSE(test, received_ok(test, packet, bytes, v->encap, TEST_LINEAR, 0));
}

static u32 icrc_by_flow(const struct rhca_icrc_flow *flow, bool vectors,
			const u8 *packet, unsigned int bytes, u16 ip_id,
			enum rhca_encap encap)
{
	unsigned int network = rhca_network_bytes(encap);
	u32 crc = rhca_icrc_flow_crc(flow, ip_id);

	crc = rhca_icrc_transport(vectors, crc, packet + network, bytes - 4 - network);
	return le32_to_cpu(rhca_icrc_final(crc));
}

/* The initial ICRC comes from the headers of another packet */
static void icrc_continues_from_a_previous_packet(struct kunit *test)
{
	const struct icrc_vector *v = test->param_value;
	u8 *packet = test_alloc(test, TEST_PACKET_BYTES);
	unsigned int bytes = lay_out(packet, v), i;
	struct iphdr *ip = (struct iphdr *)packet;
	struct rhca_icrc_flow flow;
	bool vectors;
	u16 ip_id = 0;
	u32 icrc;

	if (v->encap == RHCA_V2_IPV4)
		ip_id = be16_to_cpu(ip->id);
	for (i = 0; i < 0x10000; i += 251) {
		if (v->encap == RHCA_V2_IPV4)
			ip->id = cpu_to_be16(i);
		local_bh_disable();
		vectors = i % 2 && rhca_crc32_begin(RHCA_CRC32_MAX);
		rhca_icrc_flow_begin(vectors, v->encap, packet, &flow);
		icrc = icrc_by_flow(&flow, vectors, packet, bytes, ip_id, v->encap);
		rhca_crc32_end(vectors);
		local_bh_enable();
		KUNIT_EXPECT_EQ_MSG(test, icrc, v->icrc, "from %u", i);
	}
}

/* A byte with bits that may change on the path */
struct masked_byte {
	unsigned int offset;	/* from the network header */
	u8 bits;		/* those bits */
};

#define MAX_MASKED	8

/* A16.3 and A17.3.3; in the BTH FECN, BECN and the reserved bits beside them */
static const struct masked_byte masked[RHCA_NUM_ENCAPS][MAX_MASKED] = {
	[RHCA_V1] = {
		{ 0, 0x0f }, { 1, 0xff }, { 2, 0xff }, { 3, 0xff },
		{ 7, 0xff }, { 44, 0xff },
	},
	[RHCA_V2_IPV4] = {
		{ 1, 0xff }, { 8, 0xff }, { 10, 0xff }, { 11, 0xff },
		{ 26, 0xff }, { 27, 0xff }, { 32, 0xff },
	},
	[RHCA_V2_IPV6] = {
		{ 0, 0x0f }, { 1, 0xff }, { 2, 0xff }, { 3, 0xff },
		{ 7, 0xff }, { 46, 0xff }, { 47, 0xff }, { 52, 0xff },
	},
};

static u8 masked_bits(enum rhca_encap encap, unsigned int offset)
{
	int i;

	for (i = 0; i < MAX_MASKED; i++)
		if (masked[encap][i].bits && masked[encap][i].offset == offset)
			return masked[encap][i].bits;
	return 0;
}

/* The ICRC changes with each bit but those masked */
static void icrc_covers_every_invariant_bit(struct kunit *test)
{
	const struct icrc_vector *v = test->param_value;
	u8 *packet = test_alloc(test, TEST_PACKET_BYTES);
	unsigned int bytes = lay_out(packet, v);
	unsigned int i, bit;
	bool same;

	for (i = 0; i < min(bytes - 4, 256U); i++) {
		for (bit = 0; bit < 8; bit++) {
			packet[i] ^= BIT(bit);
			same = icrc_of(packet, bytes, v->encap) == v->icrc;
			packet[i] ^= BIT(bit);
			KUNIT_EXPECT_EQ_MSG(test, same, !!(masked_bits(v->encap, i) & BIT(bit)),
					    "byte %u bit %u", i, bit);
		}
	}
}

TEST_SUITE(rhca_icrc,
	   KUNIT_CASE_PARAM(packet_is_received_from_any_skb_layout, vector_gen_params),
	   KUNIT_CASE_PARAM(icrc_continues_from_a_previous_packet, vector_gen_params),
	   KUNIT_CASE_PARAM(icrc_covers_every_invariant_bit, vector_gen_params));
