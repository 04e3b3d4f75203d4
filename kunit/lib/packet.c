// SPDX-License-Identifier: GPL-2.0
#include "packet.h"
#include "wire/crc32.h"
#include "wire/icrc.h"

/* Byte @i of every test's payload, here and in make-icrc-vectors.py */
u8 test_payload(unsigned int i)
{
	return i * 31 + 7;
}

/* Zeroed, freed when the test ends; asserts success */
void *test_alloc(struct kunit *test, size_t bytes)
{
	void *p = kunit_kzalloc(test, bytes, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	return p;
}

/* Call it when the test ends, or earlier by kunit_release_action() */
void test_at_end(struct kunit *test, void (*call)(void *data), void *data)
{
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, call, data));
}

/* A flow with a different value in every field */
void test_flow(struct rhca_flow *flow, enum rhca_encap encap)
{
	static const u8 ipv4[2][16] = {
		{ [10] = 0xff, 0xff, 10, 9, 8, 7 },
		{ [10] = 0xff, 0xff, 172, 16, 2, 1 },
	};
	static const u8 ipv6[2][16] = {
		{ 0xfd, 0x09, [7] = 0x11, [15] = 0x01 },
		{ 0xfd, 0x09, [8] = 0x22, [15] = 0x02 },
	};
	const u8 (*gids)[16] = encap == RHCA_V2_IPV4 ? ipv4 : ipv6;

	*flow = (struct rhca_flow) {
		.encap		= encap,
		.tclass		= 0xa8,
		.hop_limit	= 33,
		.flow_label	= encap == RHCA_V2_IPV4 ? 0 : 0x54321,
		.udp_sport	= encap == RHCA_V1 ? 0 : 0xd00d,
	};
	memcpy(flow->sgid.raw, gids[0], 16);
	memcpy(flow->dgid.raw, gids[1], 16);
}

/* Write the ICRC into the last four bytes */
void test_seal(u8 *packet, unsigned int bytes, enum rhca_encap encap)
{
	unsigned int bth_end = rhca_network_bytes(encap) +
			       sizeof(struct rhca_bth);
	unsigned int end = bytes - RHCA_ICRC_BYTES;
	__le32 icrc;
	u32 crc;

	crc = rhca_icrc_headers(false, encap, packet);
	crc = rhca_crc32(false, crc, packet + bth_end, end - bth_end);
	icrc = rhca_icrc_final(crc);
	memcpy(packet + end, &icrc, sizeof(icrc));
}

/* Write a whole packet, from network header to ICRC; returns its length */
unsigned int test_build(u8 *to, const struct test_packet *p)
{
	unsigned int network = rhca_network_bytes(p->flow.encap);
	unsigned int pad = -p->payload_bytes & 3;
	unsigned int ib_bytes = sizeof(struct rhca_bth) + p->extended_bytes +
				p->payload_bytes + pad + RHCA_ICRC_BYTES;
	struct rhca_bth_fields bth = p->bth;
	u8 *at = to + network;
	unsigned int i;

	bth.pad = pad;
	if (!bth.pkey)
		bth.pkey = 0xffff;
	rhca_network_fill(to, &p->flow, ib_bytes, TEST_FIRST_ID + p->id);
	rhca_bth_fill((struct rhca_bth *)at, &bth);
	at += sizeof(struct rhca_bth);
	memcpy(at, p->extended, p->extended_bytes);
	at += p->extended_bytes;
	for (i = 0; i < p->payload_bytes; i++)
		*at++ = test_payload(i);
	memset(at, 0, pad);
	test_seal(to, network + ib_bytes, p->flow.encap);
	return network + ib_bytes;
}

/* Pieces of uneven size, so that boundaries fall everywhere */
#define PIECE_BYTES	613

static void add_frags(struct kunit *test, struct sk_buff *skb, const u8 *bytes, unsigned int len)
{
	struct page *page;
	unsigned int here;

	while (len) {
		page = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, page);
		here = min(len, PIECE_BYTES);
		memcpy(page_address(page) + 5, bytes, here);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 5, here, PAGE_SIZE);
		bytes += here;
		len -= here;
	}
}

static void add_list(struct sk_buff *skb, struct sk_buff *member)
{
	skb_shinfo(skb)->frag_list = member;
	skb->len += member->len;
	skb->data_len += member->len;
	skb->truesize += member->truesize;
}

/* The caller frees it. Of other shapes than TEST_LINEAR, only @head_bytes are linear */
struct sk_buff *test_skb(struct kunit *test, const u8 *bytes, unsigned int len,
			 enum test_shape shape, unsigned int head_bytes)
{
	unsigned int head = shape == TEST_LINEAR ? len : min(head_bytes, len);
	struct sk_buff *skb = alloc_skb(head + 64, GFP_ATOMIC);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, 32);
	skb_reset_network_header(skb);
	skb_put_data(skb, bytes, head);
	if (head == len)
		return skb;
	if (shape == TEST_PAGES)
		add_frags(test, skb, bytes + head, len - head);
	else
		add_list(skb, test_skb(test, bytes + head, len - head, TEST_LINEAR, 0));
	return skb;
}

/* Add a packet to a block, which is NULL before the first one; returns its BTH */
u8 *test_block_add(struct kunit *test, struct sk_buff **block, const struct test_packet *p)
{
	unsigned int bytes, network = rhca_network_bytes(p->flow.encap);
	u8 *bth, *packet = test_alloc(test, TEST_PACKET_BYTES);

	bytes = test_build(packet, p) - network;
	if (!*block) {
		*block = alloc_skb(65536, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, *block);
		skb_put_data(*block, packet, network);
		skb_shinfo(*block)->gso_size = bytes;
	}
	bth = skb_put_data(*block, packet + network, bytes);
	kunit_kfree(test, packet);
	return bth;
}

/* The block is complete: prepare it as a netdev hands it over */
void test_block_end(struct sk_buff *block, enum rhca_encap encap, unsigned int gso_type,
		    struct net_device *ndev)
{
	skb_reset_network_header(block);
	rhca_network_resize(encap, block->data, block->len - rhca_network_bytes(encap));
	skb_shinfo(block)->gso_type = gso_type;
	skb_shinfo(block)->gso_segs = 2;
	block->dev = ndev;
}
