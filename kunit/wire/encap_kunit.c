// SPDX-License-Identifier: GPL-2.0
/* Network headers as bytes, and back. */
#include <net/ip.h>

#include "lib/packet.h"

#define IB_BYTES	0x0204
#define IP_ID		0x1357

#define GRH_ADDRESSES							\
	0xfd, 0x09, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 0x01,	\
	0xfd, 0x09, 0, 0, 0, 0, 0, 0, 0x22, 0, 0, 0, 0, 0, 0, 0x02

/* test_flow() for 0x204 bytes from BTH to ICRC */
static const struct encap_case {
	const char *desc;
	enum rhca_encap encap;
	unsigned int bytes;
	u8 header[RHCA_MAX_NETWORK_BYTES];
} encap_cases[] = {
	{ "v1", RHCA_V1, 40, { 0x6a, 0x85, 0x43, 0x21, 0x02, 0x04, 0x1b, 33, GRH_ADDRESSES } },
	{ "v2 over IPv4", RHCA_V2_IPV4, 28,
	  { 0x45, 0xa8, 0x02, 0x20, 0x13, 0x57, 0x40, 0x00, 33, 17, 0x83, 0xad,
	    10, 9, 8, 7, 172, 16, 2, 1,
	    0xd0, 0x0d, 0x12, 0xb7, 0x02, 0x0c, 0, 0 } },
	{ "v2 over IPv6", RHCA_V2_IPV6, 48,
	  { 0x6a, 0x85, 0x43, 0x21, 0x02, 0x0c, 17, 33, GRH_ADDRESSES,
	    0xd0, 0x0d, 0x12, 0xb7, 0x02, 0x0c, 0, 0 } },
};
KUNIT_ARRAY_PARAM_DESC(encap, encap_cases, desc);

static void network_header_is_written_as_the_annexes_say(struct kunit *test)
{
	const struct encap_case *c = test->param_value;
	u8 header[RHCA_MAX_NETWORK_BYTES + 1];
	struct rhca_flow flow;

	test_flow(&flow, c->encap);
	memset(header, 0xaa, sizeof(header));
	rhca_network_fill(header, &flow, IB_BYTES, IP_ID);
	KUNIT_EXPECT_EQ(test, rhca_network_bytes(c->encap), c->bytes);
	KUNIT_EXPECT_MEMEQ(test, header, c->header, c->bytes);
	KUNIT_EXPECT_EQ(test, header[c->bytes], 0xaa);
}

static void network_header_of_the_right_length_is_read_back(struct kunit *test)
{
	const struct encap_case *c = test->param_value;
	struct rhca_flow flow, read;
	int by;

	for (by = -5; by <= 5; by++)
		KUNIT_EXPECT_EQ_MSG(test, rhca_network_valid(c->encap, c->header, IB_BYTES + by),
				    !by, "%d bytes more", by);
	test_flow(&flow, c->encap);
	memset(&read, 0xaa, sizeof(read));
	rhca_network_parse(c->encap, c->header, &read);
	KUNIT_EXPECT_EQ(test, read.encap, flow.encap);
	KUNIT_EXPECT_MEMEQ(test, read.sgid.raw, flow.sgid.raw, 16);
	KUNIT_EXPECT_MEMEQ(test, read.dgid.raw, flow.dgid.raw, 16);
	KUNIT_EXPECT_EQ(test, read.tclass, flow.tclass);
	KUNIT_EXPECT_EQ(test, read.hop_limit, flow.hop_limit);
	KUNIT_EXPECT_EQ(test, read.flow_label, flow.flow_label);
	KUNIT_EXPECT_EQ(test, read.udp_sport, flow.udp_sport);
}

static void ipv4_checksum_is_right(struct kunit *test)
{
	struct rhca_flow flow;
	u8 header[28];
	u32 id;

	test_flow(&flow, RHCA_V2_IPV4);
	for (id = 0; id < 0x10000; id += 0x101) {
		rhca_network_fill(header, &flow, IB_BYTES, id);
		KUNIT_EXPECT_EQ(test, (__force u16)ip_fast_csum(header, 5), 0);
	}
}

static const struct lie_case {
	const char *desc;
	enum rhca_encap encap;
	u8 offset;
	u8 value;
} lie_cases[] = {
	{ "GRH: version 4",		RHCA_V1,	0, 0x4a },
	{ "GRH: version 0",		RHCA_V1,	0, 0x0a },
	{ "GRH: next header UDP",	RHCA_V1,	6, 17 },
	{ "GRH: length, high byte",	RHCA_V1,	4, 0x03 },
	{ "GRH: length, low byte",	RHCA_V1,	5, 0x05 },
	{ "GRH: length too short",	RHCA_V1,	5, 0x03 },
	{ "IPv4: version 6",		RHCA_V2_IPV4,	0, 0x65 },
	{ "IPv4: options",		RHCA_V2_IPV4,	0, 0x46 },
	{ "IPv4: header too short",	RHCA_V2_IPV4,	0, 0x44 },
	{ "IPv4: length, high byte",	RHCA_V2_IPV4,	2, 0x03 },
	{ "IPv4: length, low byte",	RHCA_V2_IPV4,	3, 0x21 },
	{ "IPv4: length too short",	RHCA_V2_IPV4,	3, 0x1f },
	{ "IPv4: more fragments",	RHCA_V2_IPV4,	6, 0x20 },
	{ "IPv4: fragment offset",	RHCA_V2_IPV4,	7, 0x01 },
	{ "IPv4: UDP length high",	RHCA_V2_IPV4,	24, 0x03 },
	{ "IPv4: UDP length low",	RHCA_V2_IPV4,	25, 0x0d },
	{ "IPv4: UDP length too short",	RHCA_V2_IPV4,	25, 0x0b },
	{ "IPv6: version 4",		RHCA_V2_IPV6,	0, 0x4a },
	{ "IPv6: extension header",	RHCA_V2_IPV6,	6, 0 },
	{ "IPv6: fragment header",	RHCA_V2_IPV6,	6, 44 },
	{ "IPv6: next header TCP",	RHCA_V2_IPV6,	6, 6 },
	{ "IPv6: length, high byte",	RHCA_V2_IPV6,	4, 0x03 },
	{ "IPv6: length, low byte",	RHCA_V2_IPV6,	5, 0x0d },
	{ "IPv6: length too short",	RHCA_V2_IPV6,	5, 0x0b },
	{ "IPv6: UDP length high",	RHCA_V2_IPV6,	44, 0x03 },
	{ "IPv6: UDP length low",	RHCA_V2_IPV6,	45, 0x0d },
	{ "IPv6: UDP length too short",	RHCA_V2_IPV6,	45, 0x0b },
};
KUNIT_ARRAY_PARAM_DESC(lie, lie_cases, desc);

static void inconsistent_network_header_is_refused(struct kunit *test)
{
	const struct lie_case *c = test->param_value;
	u8 header[RHCA_MAX_NETWORK_BYTES];
	struct rhca_flow flow;

	test_flow(&flow, c->encap);
	rhca_network_fill(header, &flow, IB_BYTES, IP_ID);
	KUNIT_ASSERT_NE(test, header[c->offset], c->value);
	KUNIT_ASSERT_TRUE(test, rhca_network_valid(c->encap, header, IB_BYTES));
	header[c->offset] = c->value;
	KUNIT_EXPECT_FALSE(test, rhca_network_valid(c->encap, header, IB_BYTES));
}

static const struct gid_case {
	const char *desc;
	enum ib_gid_type type;
	u8 gid[16];
	enum rhca_encap encap;
} gid_cases[] = {
	{ "v1 with an IPv6 address", IB_GID_TYPE_ROCE, { 0xfe, 0x80, [15] = 1 }, RHCA_V1 },
	{ "v1 with an IPv4 address", IB_GID_TYPE_ROCE,
	  { [10] = 0xff, 0xff, 10, 0, 0, 1 }, RHCA_V1 },
	{ "v2 with an IPv6 address", IB_GID_TYPE_ROCE_UDP_ENCAP,
	  { 0xfe, 0x80, [15] = 1 }, RHCA_V2_IPV6 },
	{ "v2 with an IPv4 address", IB_GID_TYPE_ROCE_UDP_ENCAP,
	  { [10] = 0xff, 0xff, 10, 0, 0, 1 }, RHCA_V2_IPV4 },
	{ "v2 with a compatible, not mapped address",
	  IB_GID_TYPE_ROCE_UDP_ENCAP, { [12] = 10, 0, 0, 1 }, RHCA_V2_IPV6 },
};
KUNIT_ARRAY_PARAM_DESC(gid, gid_cases, desc);

static void gid_chooses_the_framing(struct kunit *test)
{
	const struct gid_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_encap_of(c->type, (const union ib_gid *)c->gid), c->encap);
}

TEST_SUITE(rhca_encap,
	   KUNIT_CASE_PARAM(network_header_is_written_as_the_annexes_say, encap_gen_params),
	   KUNIT_CASE_PARAM(network_header_of_the_right_length_is_read_back, encap_gen_params),
	   KUNIT_CASE(ipv4_checksum_is_right),
	   KUNIT_CASE_PARAM(inconsistent_network_header_is_refused, lie_gen_params),
	   KUNIT_CASE_PARAM(gid_chooses_the_framing, gid_gen_params));
