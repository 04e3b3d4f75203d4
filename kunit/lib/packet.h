/* SPDX-License-Identifier: GPL-2.0 */
/* Packets for tests: built linearly, then copied into an skb of any shape. */
#ifndef RHCA_KUNIT_LIB_PACKET_H
#define RHCA_KUNIT_LIB_PACKET_H

#include <linux/skbuff.h>

#include "lib/opcodes.h"
#include "lib/suite.h"
#include "wire/encap.h"
#include "wire/headers.h"

#define TEST_PACKET_BYTES	(128 + 8192 + 8)	/* the longest */
#define TEST_FIRST_ID		0x1234

/* Description of a packet */
struct test_packet {
	struct rhca_flow flow;		/* network header fields */
	struct rhca_bth_fields bth;	/* BTH fields; the padding is computed */
	const void *extended;		/* extended headers, in order */
	unsigned int extended_bytes;	/* how many */
	unsigned int payload_bytes;	/* of test_payload() */
	u16 id;				/* IPv4 identification, from TEST_FIRST_ID on */
};

/* Layout of an skb's data */
enum test_shape {
	TEST_LINEAR,
	TEST_PAGES,		/* page fragments after the head */
	TEST_FRAG_LIST,		/* a second skb after the head */
};

/* For KUNIT_ARRAY_PARAM() */
static inline void test_framing_desc(const enum rhca_encap *encap, char *desc)
{
	static const char *const names[] = { "v1", "v2 IPv4", "v2 IPv6" };

	strscpy(desc, names[*encap], KUNIT_PARAM_DESC_SIZE);
}

u8 test_payload(unsigned int i);
void test_flow(struct rhca_flow *flow, enum rhca_encap encap);
unsigned int test_build(u8 *to, const struct test_packet *p);
void test_seal(u8 *packet, unsigned int bytes, enum rhca_encap encap);
struct sk_buff *test_skb(struct kunit *test, const u8 *bytes, unsigned int len,
			 enum test_shape shape, unsigned int head_bytes);
u8 *test_block_add(struct kunit *test, struct sk_buff **block, const struct test_packet *p);
void test_block_end(struct sk_buff *block, enum rhca_encap encap, unsigned int gso_type,
		    struct net_device *ndev);
void *test_alloc(struct kunit *test, size_t bytes);
void test_at_end(struct kunit *test, void (*call)(void *data), void *data);

#endif
