// SPDX-License-Identifier: GPL-2.0
/* RDMA FLUSH, IBTA vol. 1, annex A19, in the responder and in the requester. */
#include <linux/unaligned.h>

#include "lib/course.h"
#include "sw/verbs/memory/mr.h"
#include "sw/verbs/qp/qp.h"
#include "sw/verbs/qp/sq.h"
#include "sw/verbs/transport.h"

#define FIRST_PSN	0x123456
#define REGION_BYTES	4096
#define SEVERAL_PORTIONS	(SZ_1M + SZ_256K / 2)

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

static struct rhca_mem *mem_of(struct bench *b)
{
	return &container_of(b->hca->mr, struct rhca_mr, ibmr)->mem;
}

static ACT(do_forbid, mem_of(b)->access = WRITABLE)
static ACT(do_other_pd, mem_of(b)->pd = (void *)b)

#define ASK_FLUSH(feth, at, bytes, ...)	ASK(FLUSH, .immediate = (feth), .va = (at), \
					    .length = (bytes), __VA_ARGS__)
#define FORBID		STEP(do_forbid, 0)	/* forbid flushes of the region */
/* A READ response without data */
#define FLUSHED(at_psn)	RESPONSE(READ_ONLY, at_psn, 0, 0), STATE(RTS)
#define INVALID		NAK(0, NAK_INVALID), STATE(ERR)
#define DENIED		NAK(0, NAK_ACCESS), STATE(ERR)

static const struct course courses[] = {
	{ "a range", .step = { ASK_FLUSH(TO_GLOBAL, 100, 200), FLUSHED(0) } },
	{ "to persistence", .step = { ASK_FLUSH(TO_PERSISTENT, 0, REGION_BYTES), FLUSHED(0) } },
	{ "both placement types", .step = {
		ASK_FLUSH(TO_GLOBAL | TO_PERSISTENT, 1, 9), FLUSHED(0) } },
	{ "no bytes", .step = { ASK_FLUSH(TO_GLOBAL, 0, 0), FLUSHED(0) } },
	{ "whole region, addresses do not count", .step = {
		ASK_FLUSH(TO_GLOBAL | ALL_OF_IT, -4096, U32_MAX), FLUSHED(0) } },
	{ "whole region to persistence", .step = {
		ASK_FLUSH(TO_PERSISTENT | ALL_OF_IT, -4096, U32_MAX), FLUSHED(0) } },
	{ "reserved bits are ignored", .step = {
		ASK_FLUSH(TO_GLOBAL | 0xffffffc0, 0, 8), FLUSHED(0) } },

	{ "no placement type", .step = { ASK_FLUSH(0, 0, 8), INVALID } },
	{ "unknown placement type", .step = { ASK_FLUSH(0x4 | TO_GLOBAL, 0, 8), INVALID } },
	{ "unknown selectivity", .step = { ASK_FLUSH(TO_GLOBAL | 0x20, 0, 8), INVALID } },
	{ "visibility that the QP forbids", .access = WRITABLE | PERSISTENT, .step = {
		ASK_FLUSH(TO_GLOBAL, 0, 8), INVALID } },
	{ "persistence that the QP forbids", .access = WRITABLE | GLOBAL, .step = {
		ASK_FLUSH(TO_GLOBAL | TO_PERSISTENT, 0, 8), INVALID } },
	{ "no responder resource", .resources = NONE, .step = {
		ASK_FLUSH(TO_GLOBAL, 0, 8), INVALID } },

	{ "visibility that the region forbids", .region = WRITABLE | PERSISTENT, .step = {
		ASK_FLUSH(TO_GLOBAL, 0, 8), DENIED } },
	{ "persistence that the region forbids", .region = WRITABLE | GLOBAL, .step = {
		ASK_FLUSH(TO_GLOBAL | TO_PERSISTENT, 0, 8), DENIED } },
	{ "whole region that forbids it", .region = WRITABLE | GLOBAL, .step = {
		ASK_FLUSH(TO_PERSISTENT | ALL_OF_IT, 0, 0), DENIED } },
	{ "whole region of another domain", .step = {
		STEP(do_other_pd, 0), ASK_FLUSH(TO_GLOBAL | ALL_OF_IT, 0, 0), DENIED } },
	{ "over the end", .step = { ASK_FLUSH(TO_GLOBAL, 1, REGION_BYTES), DENIED } },
	{ "before the region", .step = { ASK_FLUSH(TO_GLOBAL, -1, 8), DENIED } },
	{ "unknown key", .step = { ASK_FLUSH(TO_GLOBAL, 0, 8, .rkey_xor = 0x100000), DENIED } },
	{ "unknown key of no bytes", .step = {
		ASK_FLUSH(TO_GLOBAL, 0, 0, .rkey_xor = 1), DENIED } },

	{ "duplicate is answered again", .step = {
		ASK_FLUSH(TO_GLOBAL, 0, 8), FLUSHED(0), ASK_FLUSH(TO_PERSISTENT, 8, 8, .psn = 1),
		FLUSHED(1), ASK_FLUSH(TO_GLOBAL, 0, 8), FLUSHED(0),
		ASK_FLUSH(TO_PERSISTENT, 8, 8, .psn = 1), FLUSHED(1), SENT(0) } },
	/* The peer may have invalidated the key on receipt of a later answer */
	{ "duplicate needs no key", .step = {
		ASK_FLUSH(TO_PERSISTENT, 0, 8), FLUSHED(0), FORBID,
		ASK_FLUSH(TO_PERSISTENT, 0, 8), FLUSHED(0) } },
};
TEST_COURSES(flush_is_carried_out_or_refused, courses, &open_qp, REGION_BYTES)

static struct bench *setup(struct kunit *test)
{
	return test_bench_mr(test, &open_qp, REGION_BYTES);
}

static void expect_done(struct bench *b, int psn)
{
	is_response(b, &(struct step)RESPONSE(READ_ONLY, psn, 0, 0));
	is_state(b, &(struct step)STATE(RTS));
}

static void ask_for_all(struct bench *b)
{
	test_ask(b, &(struct request) { FLUSH, .immediate = TO_PERSISTENT | ALL_OF_IT });
}

/* Map the region's memory into it again and again */
static void grow_region(struct bench *b, u64 bytes)
{
	struct rhca_mem *mem = mem_of(b);
	u32 i, num = bytes / PAGE_SIZE + 1;
	struct page **pages = test_alloc(b->hca->test, num * sizeof(*pages));

	for (i = 0; i < num; i++)
		pages[i] = mem->pages[0];
	mem->length = bytes;
	swap(mem->pages, pages);
	mem->num_pages = num;
}

static void write_atomically(struct bench *b, int psn)
{
	test_ask(b, &(struct request) {
		ATOMIC_WRITE, psn, .length = sizeof(u64), .payload_bytes = sizeof(u64) });
}

/* A commit record must not be visible before the data that it covers */
static void atomic_write_does_not_overtake_a_flush(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_mem *mem = mem_of(b);
	struct page **pages = mem->pages;
	u64 *word = (u64 *)b->hca->buffer;

	memset(word, 0xa5, sizeof(*word));
	grow_region(b, SEVERAL_PORTIONS);
	local_bh_disable();	/* so that no tasklet continues */
	ask_for_all(b);
	write_atomically(b, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	KUNIT_EXPECT_EQ(test, *word, 0xa5a5a5a5a5a5a5a5);
	local_bh_enable();
	test_becomes(test_num_sent(b->hca) >= 2);
	expect_done(b, 0);
	is_nak(b, &(struct step)NAK(1, RNR));
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_OUT_OF_SEQUENCE), 0);
	write_atomically(b, 1);
	expect_done(b, 1);
	KUNIT_EXPECT_NE(test, *word, 0xa5a5a5a5a5a5a5a5);
	/* Also for a range of the region, of which the first FLUSH has placed nothing */
	local_bh_disable();
	test_ask(b, &(struct request) {
		FLUSH, 2, .immediate = TO_PERSISTENT, .length = SEVERAL_PORTIONS });
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	local_bh_enable();
	test_becomes(test_num_sent(b->hca));
	expect_done(b, 2);
	mem->pages = pages;
	mem->num_pages = 1;
}

/* As from a process's ring: kernel users have no such work request */
static void post_flush(struct bench *b)
{
	struct rhca_verbs_qp *qp = &b->sw->base;
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

static void flush_request_has_type_and_range(struct kunit *test)
{
	const u8 *headers;
	struct bench *b = setup(test);

	post_flush(b);
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	headers = b->sent->extended;
	KUNIT_EXPECT_EQ(test, b->sent->opcode, FLUSH);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
	KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(headers), TO_GLOBAL | TO_PERSISTENT | ALL_OF_IT);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(headers + 4), 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(headers + 12), 0x99aabbcc);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(headers + 16), 0xddeeff00);
	is_pending(b, NULL);
	test_answer(b->hca, b->qp, READ_ONLY, FIRST_PSN, 0x1f << 24, 0);
	is_done(b, &(struct step)STEP(is_done, IB_WC_SUCCESS, RHCA_WC_FLUSH, .length = 7));
}

static void kernel_users_have_no_flush(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = RHCA_WR_FLUSH };
	struct bench *b = setup(test);

	KUNIT_EXPECT_EQ(test, -EINVAL, ib_post_send(b->qp, &wr, NULL));
}

TEST_SUITE(rhca_flush,
	   KUNIT_CASE_PARAM(flush_is_carried_out_or_refused, courses_gen_params),
	   KUNIT_CASE(atomic_write_does_not_overtake_a_flush),
	   KUNIT_CASE(flush_request_has_type_and_range),
	   KUNIT_CASE(kernel_users_have_no_flush));
