// SPDX-License-Identifier: GPL-2.0
/* Transport headers as bytes, IBTA vol. 1, 9.2 and 9.3. */
#include "lib/suite.h"
#include "wire/headers.h"

static const struct bth_case {
	const char *desc;
	struct rhca_bth_fields fields;
	u8 bytes[12];
} bth_cases[] = {
	{ .desc = "nothing set", .bytes = { 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ .desc = "every bit of every field",
	  .fields = { .opcode = 0xff, .pad = 3, .solicited = true,
		      .ack_req = true, .pkey = 0xffff, .dest_qpn = 0xffffff,
		      .psn = 0xffffff },
	  .bytes = { 0xff, 0xf0, 0xff, 0xff, 0, 0xff, 0xff, 0xff,
		     0x80, 0xff, 0xff, 0xff } },
	{ .desc = "byte order",
	  .fields = { .opcode = 0x64, .pad = 1, .pkey = 0x1234,
		      .dest_qpn = 0x56789a, .psn = 0xbcdef0 },
	  .bytes = { 0x64, 0x50, 0x12, 0x34, 0, 0x56, 0x78, 0x9a,
		     0, 0xbc, 0xde, 0xf0 } },
	{ .desc = "solicited only", .fields = { .solicited = true }, .bytes = { 0, 0xc0 } },
};
KUNIT_ARRAY_PARAM_DESC(bth, bth_cases, desc);

static void bth_has_the_layout_of_ibta(struct kunit *test)
{
	const struct bth_case *c = test->param_value;
	const struct rhca_bth *bth = (const struct rhca_bth *)c->bytes;
	struct rhca_bth written;

	memset(&written, 0xaa, sizeof(written));
	rhca_bth_fill(&written, &c->fields);
	KUNIT_EXPECT_MEMEQ(test, &written, c->bytes, sizeof(written));

	KUNIT_EXPECT_EQ(test, bth->opcode, c->fields.opcode);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(bth->pkey), c->fields.pkey);
	KUNIT_EXPECT_EQ(test, rhca_bth_pad(bth), c->fields.pad);
	KUNIT_EXPECT_EQ(test, rhca_bth_solicited(bth), c->fields.solicited);
	KUNIT_EXPECT_EQ(test, rhca_bth_ack_req(bth), c->fields.ack_req);
	KUNIT_EXPECT_EQ(test, rhca_bth_dest_qpn(bth), c->fields.dest_qpn);
	KUNIT_EXPECT_EQ(test, rhca_bth_psn(bth), c->fields.psn);
	KUNIT_EXPECT_EQ(test, rhca_bth_version(bth), 0);
}

/* FECN, BECN, reserved bits and the transport version belong to no other field */
static void bth_accessors_ignore_reserved_bits(struct kunit *test)
{
	const u8 bytes[12] = { 0x04, 0x0f, 0, 0, 0xff, 0, 0, 1, 0x7f, 0, 0, 2 };
	const struct rhca_bth *bth = (const struct rhca_bth *)bytes;

	KUNIT_EXPECT_EQ(test, rhca_bth_dest_qpn(bth), 1);
	KUNIT_EXPECT_EQ(test, rhca_bth_psn(bth), 2);
	KUNIT_EXPECT_FALSE(test, rhca_bth_ack_req(bth));
	KUNIT_EXPECT_FALSE(test, rhca_bth_solicited(bth));
	KUNIT_EXPECT_EQ(test, rhca_bth_pad(bth), 0);
	KUNIT_EXPECT_EQ(test, rhca_bth_version(bth), 15);
}

static void aeth_has_the_layout_of_ibta(struct kunit *test)
{
	const u8 bytes[4] = { 0x61, 0x12, 0x34, 0x56 };
	struct rhca_aeth aeth;

	rhca_aeth_fill(&aeth, 0x61, 0x123456);
	KUNIT_EXPECT_MEMEQ(test, &aeth, bytes, sizeof(bytes));
	KUNIT_EXPECT_EQ(test, rhca_aeth_syndrome(&aeth), 0x61);
	KUNIT_EXPECT_EQ(test, rhca_aeth_msn(&aeth), 0x123456);
}

TEST_SUITE(rhca_headers,
	   KUNIT_CASE_PARAM(bth_has_the_layout_of_ibta, bth_gen_params),
	   KUNIT_CASE(bth_accessors_ignore_reserved_bits),
	   KUNIT_CASE(aeth_has_the_layout_of_ibta));
