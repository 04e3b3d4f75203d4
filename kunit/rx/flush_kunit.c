// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA FLUSH, IBTA vol. 1, annex A19: what a responder does about one, and what a
 * requester makes of a work request.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/unaligned.h>

#include "core/device.h"
#include "lib/hca.h"
#include "sw/backend.h"
#include "sw/qp/qp.h"
#include "sw/verbs/device.h"
#include "sw/verbs/memory/mr.h"
#include "sw/verbs/qp/qp.h"
#include "sw/verbs/qp/sq.h"
#include "sw/verbs/transport.h"

#define FIRST_PSN	0x123456
#define REGION_BYTES	4096
#define SEVERAL_PORTIONS	(SZ_1M + SZ_256K / 2)

#define FLUSH		0x1c
#define RNR		0x20
#define NAK_INVALID	0x61
#define NAK_ACCESS	0x62

#define GLOBAL		RHCA_ACCESS_FLUSH_GLOBAL
#define PERSISTENT	RHCA_ACCESS_FLUSH_PERSISTENT
#define BOTH		RHCA_ACCESS_FLUSH
#define WRITABLE	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)

/* FETH: placement in bits 0-3, selectivity in bits 4-5, the rest reserved */
#define TO_GLOBAL	0x01
#define TO_PERSISTENT	0x02
#define ALL_OF_IT	0x10

static const struct test_qp_spec open_qp = {
	.access = WRITABLE | BOTH, .rq_psn = FIRST_PSN, .sq_psn = FIRST_PSN,
	.responder_resources = 2, .initiator_depth = 2, .retries = 7,
};

/* A QP with a region */
struct bench {
	struct test_hca *hca;	/* the device */
	struct ib_qp *qp;	/* the QP */
	struct test_sent *sent;	/* room for an answer */
};

/* A FLUSH as it comes in */
struct flush {
	u32 feth;	/* FLUSH extended header */
	s64 va;		/* from the begin of the region */
	u32 length;	/* bytes */
	u32 rkey_xor;	/* makes the key another one */
	int psn;	/* after FIRST_PSN */
};

static struct bench *setup(struct kunit *test, const struct test_qp_spec *spec,
			   int region_access)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->qp = test_qp(b->hca, IB_QPT_RC);
	b->sent = test_alloc(test, sizeof(*b->sent));
	test_qp_bring_up(b->hca, b->qp, spec, IB_QPS_RTS);
	test_mr(b->hca, b->qp, REGION_BYTES, region_access);
	return b;
}

static void ask(struct bench *b, const struct flush *f)
{
	u8 headers[20];
	struct test_packet p = {
		.bth = {
			.opcode = FLUSH, .psn = FIRST_PSN + f->psn,
			.dest_qpn = b->qp->qp_num, .ack_req = true,
		},
		.extended = headers,
		.extended_bytes = sizeof(headers),
	};

	put_unaligned_be32(f->feth, headers);
	put_unaligned_be64((uintptr_t)b->hca->buffer + f->va, headers + 4);
	put_unaligned_be32(b->hca->mr->rkey ^ f->rkey_xor, headers + 12);
	put_unaligned_be32(f->length, headers + 16);
	test_receive(b->hca, &p);
}

/* One FLUSH and what is answered */
struct flush_case {
	const char *desc;	/* what it is */
	struct flush flush;	/* the request */
	int access;		/* qp_access_flags, all when 0 */
	int region;		/* rights of the region, all when 0 */
	u8 syndrome;		/* of the NAK; 0: it is carried out */
};

static const struct flush_case flush_cases[] = {
	{ "a range", { TO_GLOBAL, 100, 200 } },
	{ "to persistence", { TO_PERSISTENT, 0, REGION_BYTES } },
	{ "both placement types", { TO_GLOBAL | TO_PERSISTENT, 1, 9 } },
	{ "no bytes", { TO_GLOBAL } },
	{ "whole region, addresses do not count", { TO_GLOBAL | ALL_OF_IT, -4096, U32_MAX } },
	{ "whole region to persistence", { TO_PERSISTENT | ALL_OF_IT, -4096, U32_MAX } },
	{ "reserved bits are ignored", { TO_GLOBAL | 0xffffffc0, 0, 8 } },

	{ "no placement type", { 0, 0, 8 }, .syndrome = NAK_INVALID },
	{ "unknown placement type", { 0x4 | TO_GLOBAL, 0, 8 }, .syndrome = NAK_INVALID },
	{ "unknown selectivity", { TO_GLOBAL | 0x20, 0, 8 }, .syndrome = NAK_INVALID },
	{ "visibility that the QP forbids", { TO_GLOBAL, 0, 8 },
	  .access = WRITABLE | PERSISTENT, .syndrome = NAK_INVALID },
	{ "persistence that the QP forbids",
	  { TO_GLOBAL | TO_PERSISTENT, 0, 8 },
	  .access = WRITABLE | GLOBAL, .syndrome = NAK_INVALID },

	{ "visibility that the region forbids", { TO_GLOBAL, 0, 8 },
	  .region = WRITABLE | PERSISTENT, .syndrome = NAK_ACCESS },
	{ "persistence that the region forbids",
	  { TO_GLOBAL | TO_PERSISTENT, 0, 8 },
	  .region = WRITABLE | GLOBAL, .syndrome = NAK_ACCESS },
	{ "whole region that forbids it", { TO_PERSISTENT | ALL_OF_IT },
	  .region = WRITABLE | GLOBAL, .syndrome = NAK_ACCESS },
	{ "over the end", { TO_GLOBAL, 1, REGION_BYTES }, .syndrome = NAK_ACCESS },
	{ "before the region", { TO_GLOBAL, -1, 8 }, .syndrome = NAK_ACCESS },
	{ "unknown key", { TO_GLOBAL, 0, 8, .rkey_xor = 0x100000 }, .syndrome = NAK_ACCESS },
	{ "unknown key of no bytes", { TO_GLOBAL, .rkey_xor = 1 }, .syndrome = NAK_ACCESS },
};
KUNIT_ARRAY_PARAM_DESC(flush, flush_cases, desc);

/* A READ response without data */
static void expect_done(struct kunit *test, struct bench *b, int psn)
{
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, READ_ONLY);
	KUNIT_EXPECT_EQ(test, b->sent->psn, FIRST_PSN + psn);
	KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, 0);
	KUNIT_EXPECT_EQ(test, b->sent->extended[0] >> 5, 0);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_RTS);
}

static void flush_is_carried_out_or_refused(struct kunit *test)
{
	const struct flush_case *c = test->param_value;
	struct test_qp_spec spec = open_qp;
	struct bench *b;

	if (c->access)
		spec.access = c->access;
	b = setup(test, &spec, c->region ?: WRITABLE | BOTH);
	ask(b, &c->flush);
	if (!c->syndrome) {
		expect_done(test, b, 0);
		return;
	}
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, b->sent->extended[0], c->syndrome);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_ERR);
}

static void duplicate_flush_is_answered_again(struct kunit *test)
{
	struct bench *b = setup(test, &open_qp, WRITABLE | BOTH);

	ask(b, &(struct flush) { TO_GLOBAL, 0, 8 });
	expect_done(test, b, 0);
	ask(b, &(struct flush) { TO_PERSISTENT, 8, 8, .psn = 1 });
	expect_done(test, b, 1);
	ask(b, &(struct flush) { TO_GLOBAL, 0, 8 });
	expect_done(test, b, 0);
	ask(b, &(struct flush) { TO_PERSISTENT, 8, 8, .psn = 1 });
	expect_done(test, b, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
}

/* The peer has invalidated it, when it got a later answer */
static void duplicate_flush_needs_no_key(struct kunit *test)
{
	struct bench *b = setup(test, &open_qp, WRITABLE | BOTH);

	ask(b, &(struct flush) { TO_PERSISTENT, 0, 8 });
	expect_done(test, b, 0);
	container_of(b->hca->mr, struct rhca_mr, ibmr)->mem.access = WRITABLE;
	ask(b, &(struct flush) { TO_PERSISTENT, 0, 8 });
	expect_done(test, b, 0);
}

static void flush_needs_a_responder_resource(struct kunit *test)
{
	struct test_qp_spec spec = open_qp;
	struct bench *b;

	spec.responder_resources = 0;
	b = setup(test, &spec, WRITABLE | BOTH);
	ask(b, &(struct flush) { TO_GLOBAL, 0, 8 });
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->extended[0], NAK_INVALID);
}

/* As if the same memory came again and again */
static void grow_region(struct bench *b, u64 bytes)
{
	struct rhca_mem *mem = &container_of(b->hca->mr, struct rhca_mr,
					     ibmr)->mem;
	u32 i, num = bytes / PAGE_SIZE + 1;
	struct page **pages = kunit_kcalloc(b->hca->test, num, sizeof(*pages),
					    GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(b->hca->test, pages);
	for (i = 0; i < num; i++)
		pages[i] = mem->pages[0];
	mem->length = bytes;
	swap(mem->pages, pages);
	mem->num_pages = num;
}


static void large_region_is_written_back_in_portions(struct kunit *test)
{
	struct page **pages;
	struct rhca_mem *mem;
	struct bench *b = setup(test, &open_qp, WRITABLE | BOTH);

	mem = &container_of(b->hca->mr, struct rhca_mr, ibmr)->mem;
	pages = mem->pages;
	grow_region(b, SEVERAL_PORTIONS);
	local_bh_disable();	/* and no tasklet goes on */
	ask(b, &(struct flush) { TO_PERSISTENT | ALL_OF_IT });
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	local_bh_enable();
	test_becomes(test_num_sent(b->hca));
	expect_done(test, b, 0);
	ask(b, &(struct flush) { TO_PERSISTENT, 0, SEVERAL_PORTIONS, .psn = 1 });
	expect_done(test, b, 1);
	mem->pages = pages;
	mem->num_pages = 1;
}

static void write_atomically(struct bench *b, int psn)
{
	u8 reth[16];
	struct test_packet p = {
		.bth = {
			.opcode = ATOMIC_WRITE, .psn = FIRST_PSN + psn,
			.dest_qpn = b->qp->qp_num, .ack_req = true,
		},
		.extended = reth, .extended_bytes = sizeof(reth),
		.payload_bytes = sizeof(u64),
	};

	put_unaligned_be64((uintptr_t)b->hca->buffer, reth);
	put_unaligned_be32(b->hca->mr->rkey, reth + 8);
	put_unaligned_be32(sizeof(u64), reth + 12);
	test_receive(b->hca, &p);
}

/* A commit record must not be there before what it vouches for */
static void atomic_write_does_not_overtake_a_flush(struct kunit *test)
{
	struct page **pages;
	struct rhca_mem *mem;
	struct bench *b = setup(test, &open_qp, WRITABLE | BOTH);
	u64 *word;

	mem = &container_of(b->hca->mr, struct rhca_mr, ibmr)->mem;
	pages = mem->pages;
	word = (u64 *)b->hca->buffer;
	memset(word, 0xa5, sizeof(*word));
	grow_region(b, SEVERAL_PORTIONS);
	local_bh_disable();	/* and no tasklet goes on */
	ask(b, &(struct flush) { TO_PERSISTENT | ALL_OF_IT });
	write_atomically(b, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	KUNIT_EXPECT_EQ(test, *word, 0xa5a5a5a5a5a5a5a5);
	local_bh_enable();
	test_becomes(test_num_sent(b->hca) >= 2);
	expect_done(test, b, 0);
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->extended[0], RNR | TEST_RNR_TIMER);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_OUT_OF_SEQUENCE), 0);
	KUNIT_EXPECT_EQ(test, b->sent->psn, FIRST_PSN + 1);
	write_atomically(b, 1);
	expect_done(test, b, 1);
	KUNIT_EXPECT_NE(test, *word, 0xa5a5a5a5a5a5a5a5);
	mem->pages = pages;
	mem->num_pages = 1;
}

/* As from the ring of a process: kernel users have no such work request */
static void post_flush(struct bench *b)
{
	struct rhca_verbs_qp *qp = ibqp_to_verbs(b->qp);
	struct rhca_send_wqe *wqe = rhca_sq_wqe(&qp->sq, qp->sq.tail);

	*wqe = (struct rhca_send_wqe) {
		.wr_id		= 7,
		.opcode		= RHCA_WR_FLUSH,
		.send_flags	= IB_SEND_SIGNALED,
		.remote_addr	= 0x1122334455667788,
		.rkey		= 0x99aabbcc,
		.flush_bytes	= 0xddeeff00,
		.placement	= RHCA_PLACE_ALL,
		.selectivity	= RHCA_SELECT_MR,
	};
	qp->sq.tail++;
	qp->dev->transport->kick_send(qp);
}

static void requester_says_what_shall_be_placed(struct kunit *test)
{
	struct ib_wc wc = {};
	const u8 *headers;
	struct bench *b = setup(test, &open_qp, WRITABLE);

	post_flush(b);
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	headers = b->sent->extended;
	KUNIT_EXPECT_EQ(test, b->sent->opcode, FLUSH);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
	KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(headers),
			TO_GLOBAL | TO_PERSISTENT | ALL_OF_IT);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(headers + 4),
			0x1122334455667788);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(headers + 12), 0x99aabbcc);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(headers + 16), 0xddeeff00);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));

	test_answer(b->hca, b->qp, READ_ONLY, FIRST_PSN, 0x1f << 24, 0);
	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 7);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)wc.opcode, RHCA_WC_FLUSH);
}

static void kernel_users_have_no_flush(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = RHCA_WR_FLUSH };
	struct bench *b = setup(test, &open_qp, WRITABLE);

	KUNIT_EXPECT_EQ(test, -EINVAL, ib_post_send(b->qp, &wr, NULL));
}

static struct kunit_case flush_tests[] = {
	KUNIT_CASE_PARAM(flush_is_carried_out_or_refused, flush_gen_params),
	KUNIT_CASE(duplicate_flush_is_answered_again),
	KUNIT_CASE(duplicate_flush_needs_no_key),
	KUNIT_CASE(atomic_write_does_not_overtake_a_flush),
	KUNIT_CASE(flush_needs_a_responder_resource),
	KUNIT_CASE(large_region_is_written_back_in_portions),
	KUNIT_CASE(requester_says_what_shall_be_placed),
	KUNIT_CASE(kernel_users_have_no_flush),
	{}
};

TEST_SUITE("rhca_flush", flush_tests);
