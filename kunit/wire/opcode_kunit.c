// SPDX-License-Identifier: GPL-2.0
/*
 * The opcode table, checked against IBTA vol. 1, 9.2.1 (table 38) and 9.3: every offset and size
 * here is from the specification.
 */
#include "lib/suite.h"
#include "wire/opcode.h"

#define ABSENT	0

#define REQUEST		.request = true, .payload = true
#define BARE_REQUEST	.request = true
#define IMMDT_AT(n)	.offset = { [RHCA_HDR_IMMDT] = (n) }
#define IETH_AT(n)	.offset = { [RHCA_HDR_IETH] = (n) }
#define RETH_AT(n)	.offset = { [RHCA_HDR_RETH] = (n) }
#define AETH_AT(n)	.offset = { [RHCA_HDR_AETH] = (n) }
#define ATOMIC_AT(n)	.offset = { [RHCA_HDR_ATOMIC_ETH] = (n) }
#define DETH_AT(n)	.offset = { [RHCA_HDR_DETH] = (n) }

/* One row of table 38 */
static const struct opcode_case {
	const char *desc;		/* its name */
	u8 opcode;			/* value in the BTH */
	u8 total;			/* bytes of BTH and extended headers */
	u8 offset[RHCA_NUM_HDRS];	/* of each extended header from the start of the BTH */
	bool payload;			/* the packet may carry payload */
	bool request;			/* it goes from requester to responder */
} opcode_cases[] = {
	{ "RC SEND First",		0x00, 12, REQUEST },
	{ "RC SEND Middle",		0x01, 12, REQUEST },
	{ "RC SEND Last",		0x02, 12, REQUEST },
	{ "RC SEND Last with Imm",	0x03, 16, IMMDT_AT(12), REQUEST },
	{ "RC SEND Only",		0x04, 12, REQUEST },
	{ "RC SEND Only with Imm",	0x05, 16, IMMDT_AT(12), REQUEST },
	{ "RC WRITE First",		0x06, 28, RETH_AT(12), REQUEST },
	{ "RC WRITE Middle",		0x07, 12, REQUEST },
	{ "RC WRITE Last",		0x08, 12, REQUEST },
	{ "RC WRITE Last with Imm",	0x09, 16, IMMDT_AT(12), REQUEST },
	{ "RC WRITE Only",		0x0a, 28, RETH_AT(12), REQUEST },
	{ "RC WRITE Only with Imm",	0x0b, 32,
	  .offset = { [RHCA_HDR_RETH] = 12, [RHCA_HDR_IMMDT] = 28 }, REQUEST },
	{ "RC READ Request",		0x0c, 28, RETH_AT(12), BARE_REQUEST },
	{ "RC READ Response First",	0x0d, 16, AETH_AT(12), .payload = true },
	{ "RC READ Response Middle",	0x0e, 12, .payload = true },
	{ "RC READ Response Last",	0x0f, 16, AETH_AT(12), .payload = true },
	{ "RC READ Response Only",	0x10, 16, AETH_AT(12), .payload = true },
	{ "RC Acknowledge",		0x11, 16, AETH_AT(12) },
	{ "RC ATOMIC Acknowledge",	0x12, 24,
	  .offset = { [RHCA_HDR_AETH] = 12, [RHCA_HDR_ATOMIC_ACK_ETH] = 16 } },
	{ "RC CmpSwap",			0x13, 40, ATOMIC_AT(12), BARE_REQUEST },
	{ "RC FetchAdd",		0x14, 40, ATOMIC_AT(12), BARE_REQUEST },
	{ "RC SEND Last with Inv",	0x16, 16, IETH_AT(12), REQUEST },
	{ "RC SEND Only with Inv",	0x17, 16, IETH_AT(12), REQUEST },
	{ "RC FLUSH",			0x1c, 32,
	  .offset = { [RHCA_HDR_FETH] = 12, [RHCA_HDR_RETH] = 16 },
	  BARE_REQUEST },
	{ "RC ATOMIC WRITE",		0x1d, 28, RETH_AT(12), REQUEST },

	{ "UC SEND First",		0x20, 12, REQUEST },
	{ "UC SEND Middle",		0x21, 12, REQUEST },
	{ "UC SEND Last",		0x22, 12, REQUEST },
	{ "UC SEND Last with Imm",	0x23, 16, IMMDT_AT(12), REQUEST },
	{ "UC SEND Only",		0x24, 12, REQUEST },
	{ "UC SEND Only with Imm",	0x25, 16, IMMDT_AT(12), REQUEST },
	{ "UC WRITE First",		0x26, 28, RETH_AT(12), REQUEST },
	{ "UC WRITE Middle",		0x27, 12, REQUEST },
	{ "UC WRITE Last",		0x28, 12, REQUEST },
	{ "UC WRITE Last with Imm",	0x29, 16, IMMDT_AT(12), REQUEST },
	{ "UC WRITE Only",		0x2a, 28, RETH_AT(12), REQUEST },
	{ "UC WRITE Only with Imm",	0x2b, 32,
	  .offset = { [RHCA_HDR_RETH] = 12, [RHCA_HDR_IMMDT] = 28 }, REQUEST },

	{ "UD SEND Only",		0x64, 20, DETH_AT(12), REQUEST },
	{ "UD SEND Only with Imm",	0x65, 24,
	  .offset = { [RHCA_HDR_DETH] = 12, [RHCA_HDR_IMMDT] = 20 }, REQUEST },

	{ "CNP", 0x81, 28, .offset = { [RHCA_HDR_CNP_PAD] = 12 } },
};
KUNIT_ARRAY_PARAM_DESC(opcode, opcode_cases, desc);

static void opcode_has_the_headers_and_the_direction_that_ibta_says(struct kunit *test)
{
	const struct opcode_case *c = test->param_value;
	u16 flags = rhca_opcodes[c->opcode].flags;
	int hdr;

	KUNIT_ASSERT_TRUE(test, rhca_opcode_known(c->opcode));
	KUNIT_EXPECT_EQ(test, rhca_transport_bytes(c->opcode), c->total);
	KUNIT_EXPECT_LE(test, c->total, RHCA_MAX_HDR_BYTES);	/* or they are not copied */
	for (hdr = 0; hdr < RHCA_NUM_HDRS; hdr++) {
		KUNIT_EXPECT_EQ_MSG(test, rhca_opcode_has(c->opcode, hdr),
				    c->offset[hdr] != ABSENT, "header %d", hdr);
		if (c->offset[hdr] != ABSENT)
			KUNIT_EXPECT_EQ_MSG(test, rhca_header_offset(c->opcode, hdr),
					    c->offset[hdr], "header %d", hdr);
	}
	KUNIT_EXPECT_EQ(test, !!(flags & RHCA_OP_PAYLOAD), c->payload);
	KUNIT_EXPECT_EQ(test, !!(flags & RHCA_OP_REQUEST), c->request);
	KUNIT_EXPECT_EQ(test, !!(flags & RHCA_OP_RESPONSE), !c->request && c->opcode != 0x81);
}

/* SENDs and WRITEs of RC and UC encode their position in the same low bits */
static void opcode_position_is_one_of_four(struct kunit *test)
{
	const struct opcode_case *c = test->param_value;
	u16 flags = rhca_opcodes[c->opcode].flags;
	u16 position = flags & (RHCA_OP_STARTS | RHCA_OP_MIDDLE | RHCA_OP_ENDS);
	u16 wanted = 0;

	if (strstr(c->desc, "First"))
		wanted = RHCA_OP_FIRST;
	else if (strstr(c->desc, "Middle"))
		wanted = RHCA_OP_MIDDLE;
	else if (strstr(c->desc, "Last"))
		wanted = RHCA_OP_LAST;
	else if (c->request || strstr(c->desc, "Only"))
		wanted = RHCA_OP_ONLY;
	KUNIT_EXPECT_EQ(test, position, wanted);
}

static bool in_table(u8 opcode)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(opcode_cases); i++)
		if (opcode_cases[i].opcode == opcode)
			return true;
	return false;
}

static void opcode_outside_the_table_is_unknown(struct kunit *test)
{
	int opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		if (in_table(opcode))
			continue;
		KUNIT_EXPECT_FALSE_MSG(test, rhca_opcode_known(opcode), "opcode %#x", opcode);
		KUNIT_EXPECT_EQ_MSG(test, rhca_transport_bytes(opcode), 12, "opcode %#x", opcode);
	}
}

TEST_SUITE(rhca_opcode,
	   KUNIT_CASE_PARAM(opcode_has_the_headers_and_the_direction_that_ibta_says,
			    opcode_gen_params),
	   KUNIT_CASE_PARAM(opcode_position_is_one_of_four, opcode_gen_params),
	   KUNIT_CASE(opcode_outside_the_table_is_unknown));
