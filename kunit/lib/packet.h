/* SPDX-License-Identifier: GPL-2.0 */
/* Packets for tests: built flat, then laid into an skb of any shape. */
#ifndef RHCA_KUNIT_LIB_PACKET_H
#define RHCA_KUNIT_LIB_PACKET_H

#include <kunit/test.h>
#include <linux/skbuff.h>

#include "lib/opcodes.h"
#include "lib/suite.h"
#include "wire/encap.h"
#include "wire/headers.h"

#define TEST_PACKET_BYTES	(128 + 4096 + 8)	/* the longest */

/**
 * struct test_packet - What a packet should be
 * @flow: network header fields
 * @bth: BTH fields; the padding is computed
 * @extended: extended headers, in order
 * @extended_bytes: how many
 * @payload_bytes: of test_payload()
 */
struct test_packet {
	struct rhca_flow flow;
	struct rhca_bth_fields bth;
	const void *extended;
	unsigned int extended_bytes;
	unsigned int payload_bytes;
};

/* How the bytes of an skb lie */
enum test_shape {
	TEST_LINEAR,
	TEST_PAGES,		/* from some byte on in page fragments */
	TEST_FRAG_LIST,		/* from some byte on in a second skb */
};

u8 test_payload(unsigned int i);
void test_flow(struct rhca_flow *flow, enum rhca_encap encap);
unsigned int test_build(u8 *to, const struct test_packet *p);
void test_seal(u8 *packet, unsigned int bytes, enum rhca_encap encap);
struct sk_buff *test_skb(struct kunit *test, const u8 *bytes, unsigned int len,
			 enum test_shape shape, unsigned int head_bytes);
void *test_alloc(struct kunit *test, size_t bytes);

#endif
