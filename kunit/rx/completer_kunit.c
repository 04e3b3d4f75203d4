// SPDX-License-Identifier: GPL-2.0
/*
 * The completer: data that comes back, and answers of a peer that is confused
 * or hostile. What acknowledgements and NAKs do is in kunit/tx/requester_kunit.c.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/unaligned.h>

#include "core/counters.h"
#include "core/device.h"
#include "sw/verbs/qp/qp.h"
#include "lib/hca.h"
#include "sw/backend.h"
#include "sw/qp/qp.h"
#include "sw/qp/hold.h"
#include "sw/tx/missing.h"
#include "sw/tx/send_sched.h"
#include "sw/tx/window.h"
#include "sw/verbs/port.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xfffffe
#define REMOTE_ADDR	0x1000000000ULL
#define TARGET		16384		/* where READs and atomics put data */

static const struct test_qp_spec spec = {
	.sq_psn = FIRST_PSN, .initiator_depth = 16, .retries = 7,
};

struct bench {
	struct test_hca *hca;
	struct ib_qp *qp;
	struct test_sent *sent;
};

static struct bench *setup(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->qp = test_qp(b->hca, IB_QPT_RC);
	b->sent = test_alloc(test, sizeof(*b->sent));
	test_qp_bring_up(b->hca, b->qp, &spec, IB_QPS_RTS);
	memset(b->hca->buffer + TARGET, 0, TEST_BUFFER_BYTES - TARGET);
	return b;
}

static int post_wr(struct bench *b, enum ib_wr_opcode opcode, u64 id, u32 bytes,
		   u32 lkey)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)b->hca->buffer + TARGET, .length = bytes,
		.lkey = lkey,
	};
	union {
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
	} u = {};
	struct ib_send_wr *wr = &u.rdma.wr;

	if (opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
		u.atomic.remote_addr = REMOTE_ADDR;
	else
		u.rdma.remote_addr = REMOTE_ADDR;
	wr->wr_id = id;
	wr->opcode = opcode;
	wr->send_flags = IB_SEND_SIGNALED;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	return ib_post_send(b->qp, wr, NULL);
}

static void post(struct bench *b, enum ib_wr_opcode opcode, u32 bytes)
{
	KUNIT_ASSERT_EQ(b->hca->test, 0,
			post_wr(b, opcode, bytes, bytes,
				b->hca->pd->local_dma_lkey));
}

static void forget_sent(struct bench *b)
{
	while (test_sent(b->hca, b->sent))
		;
}

/* AETH of an ACK without credits */
static void respond(struct bench *b, u8 opcode, int psn, u32 payload_bytes)
{
	test_answer(b->hca, b->qp, opcode, FIRST_PSN + psn, 0x1f << 24 | 1, payload_bytes);
}

static void expect_status(struct kunit *test, struct bench *b,
			  enum ib_wc_status status)
{
	struct ib_wc wc;

	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, (int)wc.status, (int)status);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp),
			status == IB_WC_SUCCESS ? IB_QPS_RTS : IB_QPS_ERR);
}

/* A READ request, which names so many bytes */
static void expect_request(struct bench *b, u32 psn, u32 bytes)
{
	KUNIT_ASSERT_TRUE(b->hca->test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(b->hca->test, b->sent->opcode, READ_REQUEST);
	KUNIT_EXPECT_EQ(b->hca->test, b->sent->psn, (FIRST_PSN + psn) & 0xffffff);
	KUNIT_EXPECT_EQ(b->hca->test, get_unaligned_be32(b->sent->extended + 12), bytes);
}

static void expect_nothing(struct bench *b)
{
	KUNIT_EXPECT_FALSE(b->hca->test, test_sent(b->hca, b->sent));
}

static void read_completes_with_its_last_response(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_wc wc;

	post(b, IB_WR_RDMA_READ, 2 * MTU + 1);
	respond(b, READ_FIRST, 0, MTU);
	respond(b, READ_MIDDLE, 1, MTU);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	respond(b, READ_LAST, 2, 1);
	expect_status(test, b, IB_WC_SUCCESS);
	test_expect_payload(b->hca, TARGET, MTU);
	test_expect_payload(b->hca, TARGET + MTU, MTU);
	test_expect_payload(b->hca, TARGET + 2 * MTU, 1);
	KUNIT_EXPECT_EQ(test, b->hca->buffer[TARGET + 2 * MTU + 1], 0);
}

static void atomic_stores_the_value_before(struct kunit *test)
{
	struct bench *b = setup(test);

	post(b, IB_WR_ATOMIC_FETCH_AND_ADD, 8);
	respond(b, ATOMIC_ACK, 0, 0);
	expect_status(test, b, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *(u64 *)(b->hca->buffer + TARGET), 0x12345678);
}

static void read_response_acknowledges_what_was_before(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_wc wc;

	post(b, IB_WR_RDMA_WRITE, 3);
	post(b, IB_WR_RDMA_READ, 8);
	respond(b, READ_ONLY, 1, 8);
	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RDMA_WRITE);
	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RDMA_READ);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
}

struct wrong_case {
	const char *desc;
	enum ib_wr_opcode request;
	u32 bytes;
	u8 opcode;
	u32 payload_bytes;
};

static const struct wrong_case wrong_cases[] = {
	{ "shorter than asked for", IB_WR_RDMA_READ, 8, READ_ONLY, 7 },
	{ "longer than asked for", IB_WR_RDMA_READ, 8, READ_ONLY, 9 },
	{ "nothing", IB_WR_RDMA_READ, 8, READ_ONLY, 0 },
	{ "far longer", IB_WR_RDMA_READ, 8, READ_ONLY, 4096 },
	{ "first that is short", IB_WR_RDMA_READ, 2 * MTU, READ_FIRST, MTU - 4 },
	{ "first that is long", IB_WR_RDMA_READ, 2 * MTU, READ_FIRST, 2 * MTU },
	{ "atomic response to a READ", IB_WR_RDMA_READ, 8, ATOMIC_ACK, 0 },
	{ "READ response to an atomic", IB_WR_ATOMIC_FETCH_AND_ADD, 8, READ_ONLY, 8 },
	{ "READ response to a WRITE", IB_WR_RDMA_WRITE, 8, READ_ONLY, 8 },
	{ "atomic response to a SEND", IB_WR_SEND, 8, ATOMIC_ACK, 0 },
};
KUNIT_ARRAY_PARAM_DESC(wrong, wrong_cases, desc);

static void response_that_does_not_fit_fails_the_request(struct kunit *test)
{
	const struct wrong_case *c = test->param_value;
	struct bench *b = setup(test);

	post(b, c->request, c->bytes);
	respond(b, c->opcode, 0, c->payload_bytes);
	expect_status(test, b, IB_WC_BAD_RESP_ERR);
	KUNIT_EXPECT_PTR_EQ(test, NULL,
			    memchr_inv(b->hca->buffer + TARGET, 0,
				       TEST_BUFFER_BYTES - TARGET));
}

static void data_for_memory_of_no_key_fails_the_request(struct kunit *test)
{
	struct bench *b = setup(test);

	KUNIT_ASSERT_EQ(test, 0, post_wr(b, IB_WR_RDMA_READ, 1, 8, 0x4711));
	respond(b, READ_ONLY, 0, 8);
	expect_status(test, b, IB_WC_LOC_PROT_ERR);
}

static void lost_response_is_asked_for_again(struct kunit *test)
{
	struct bench *b = setup(test);

	post(b, IB_WR_RDMA_READ, 4 * MTU);
	forget_sent(b);
	respond(b, READ_FIRST, 0, MTU);
	respond(b, READ_MIDDLE, 2, MTU);
	respond(b, READ_LAST, 3, MTU);
	/* Once, from the one that is missing */
	expect_request(b, 1, 3 * MTU);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(b->sent->extended), REMOTE_ADDR + MTU);
	expect_nothing(b);
	respond(b, READ_FIRST, 1, MTU);
	respond(b, READ_MIDDLE, 2, MTU);
	respond(b, READ_LAST, 3, MTU);
	expect_status(test, b, IB_WC_SUCCESS);
	test_expect_payload(b->hca, TARGET + 3 * MTU, MTU);
}

/* 9.7.5.2.4, implied NAK: the peer went on, so the response is lost */
static void acknowledgement_past_a_read_repeats_it(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_wc wc;

	post(b, IB_WR_RDMA_READ, 8);
	post(b, IB_WR_SEND, 9);
	forget_sent(b);
	respond(b, ACKNOWLEDGE, 1, 0);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	expect_request(b, 0, 8);
	/* The acknowledgement is not forgotten */
	respond(b, READ_ONLY, 0, 8);
	test_expect_wc(b->hca, 8, IB_WC_SUCCESS);
	expect_status(test, b, IB_WC_SUCCESS);
	expect_nothing(b);
}

/* Of three READs the first response is lost: what came behind it is not asked for again */
static void responses_behind_a_missing_one_are_held(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_wc wc;
	int i;

	for (i = 0; i < 3; i++)
		post(b, IB_WR_RDMA_READ, 2 * MTU);
	forget_sent(b);
	respond(b, READ_LAST, 1, MTU);
	respond(b, READ_FIRST, 2, MTU);
	respond(b, READ_LAST, 3, MTU);
	respond(b, READ_FIRST, 4, MTU);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	expect_request(b, 0, 2 * MTU);
	expect_nothing(b);
	respond(b, READ_FIRST, 0, MTU);
	test_expect_wc(b->hca, 2 * MTU, IB_WC_SUCCESS);
	expect_status(test, b, IB_WC_SUCCESS);
	respond(b, READ_LAST, 5, MTU);
	expect_status(test, b, IB_WC_SUCCESS);
	expect_nothing(b);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_HELD), 4);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_HELD_DROPPED), 0);
}

static u32 num_completed(struct bench *b)
{
	struct ib_wc wc;
	u32 num = 0;

	for (; test_poll(b->hca, &wc); num++)
		KUNIT_EXPECT_EQ(b->hca->test, (int)wc.status, (int)IB_WC_SUCCESS);
	return num;
}

/* --- what is missing behind the oldest, on a long path ------------------------------ */

#define LONG_READS	4	/* of four packets each */
/* Beyond 500 us it is a long one; no timer of such ends while a test runs on a busy host */
#define LONG_PATH_NS	(100 * NSEC_PER_MSEC)

static struct rhca_recovery *recovery_of(const struct bench *b)
{
	return to_sw_qp(ibqp_to_verbs(b->qp))->send.recovery;
}

/* No queue is full, and none of what has been sent is timed */
static void set_path(struct bench *b, u32 path_ns)
{
	struct rhca_rtt *rtt = &to_sw_qp(ibqp_to_verbs(b->qp))->send.rtt;

	*rtt = (struct rhca_rtt) { .least = path_ns, .smoothed = path_ns };
}

static struct bench *setup_long(struct kunit *test, u32 path_ns)
{
	struct bench *b = setup(test);
	int i;

	for (i = 0; i < LONG_READS; i++)
		post(b, IB_WR_RDMA_READ, 4 * MTU);
	forget_sent(b);
	set_path(b, path_ns);
	return b;
}

/* 2, 5 and 8 to 10 are lost */
static void lose_some(struct bench *b)
{
	respond(b, READ_FIRST, 0, MTU);
	respond(b, READ_MIDDLE, 1, MTU);
	respond(b, READ_LAST, 3, MTU);
	respond(b, READ_FIRST, 4, MTU);
	respond(b, READ_MIDDLE, 6, MTU);
	respond(b, READ_LAST, 7, MTU);
	respond(b, READ_LAST, 11, MTU);
}

/* From the beginning of a request: what is held of it may still have to go */
static void all_that_is_missing_is_asked_for(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);

	lose_some(b);
	expect_request(b, 2, 2 * MTU);
	expect_request(b, 4, 4 * MTU);
	expect_request(b, 8, 4 * MTU);
	expect_nothing(b);
	respond(b, READ_FIRST, 2, MTU);
	respond(b, READ_MIDDLE, 5, MTU);
	respond(b, READ_FIRST, 8, MTU);
	respond(b, READ_MIDDLE, 9, MTU);
	respond(b, READ_MIDDLE, 10, MTU);
	expect_nothing(b);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_IMPLIED_NAK_SEQ_ERR), 3);
	/* What is missing next has not been asked for */
	respond(b, READ_LAST, 15, MTU);
	expect_request(b, 12, 4 * MTU);
	expect_nothing(b);
}

static void one_after_the_other_is_asked_for_nearby(struct kunit *test)
{
	struct bench *b = setup_long(test, 10 * NSEC_PER_USEC);

	lose_some(b);
	expect_request(b, 2, 2 * MTU);
	expect_nothing(b);
	respond(b, READ_FIRST, 2, MTU);
	expect_request(b, 5, 3 * MTU);
	expect_nothing(b);
}

static void nothing_more_is_asked_for_where_responses_are_late(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);

	recovery_of(b)->reorder.wait_ns = 1;
	recovery_of(b)->reorder.late_psn = FIRST_PSN;
	lose_some(b);
	expect_request(b, 2, 2 * MTU);
	expect_nothing(b);
}

/* Answers come in the order of requests: that to the oldest has been lost again */
static void answer_to_a_later_request_says_lost_again(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);

	lose_some(b);
	forget_sent(b);
	respond(b, READ_FIRST, 4, MTU);
	expect_request(b, 2, 2 * MTU);
	respond(b, READ_MIDDLE, 5, MTU);
	respond(b, READ_MIDDLE, 6, MTU);
	expect_nothing(b);
	respond(b, READ_FIRST, 2, MTU);
	expect_nothing(b);
}

static void say_missing(struct bench *b, u32 psn)
{
	test_answer(b->hca, b->qp, ACKNOWLEDGE, FIRST_PSN + psn, 0x60 << 24 | 1, 0);
}

/* Once, whatever the peer says again, and only to one that holds what is behind it */
static void request_that_is_missing_need_not_wait_for_responses(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);

	recovery_of(b)->rule.way = RHCA_PEER_HOLDS;
	respond(b, READ_MIDDLE, 1, MTU);
	expect_request(b, 0, 4 * MTU);
	respond(b, READ_MIDDLE, 2, MTU);
	respond(b, READ_LAST, 3, MTU);
	respond(b, READ_FIRST, 4, MTU);
	respond(b, READ_MIDDLE, 5, MTU);
	respond(b, READ_MIDDLE, 6, MTU);
	respond(b, READ_LAST, 7, MTU);
	say_missing(b, 8);
	expect_request(b, 8, 4 * MTU);
	say_missing(b, 8);
	expect_nothing(b);
	respond(b, READ_FIRST, 0, MTU);
	KUNIT_EXPECT_EQ(test, num_completed(b), 2);
	expect_nothing(b);
}

/* What a responder expects only grows: whoever says otherwise has us send nothing */
static void request_is_sent_again_once_for_all_naks(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);

	recovery_of(b)->rule.way = RHCA_PEER_HOLDS;
	respond(b, READ_MIDDLE, 1, MTU);
	expect_request(b, 0, 4 * MTU);
	say_missing(b, 8);
	expect_request(b, 8, 4 * MTU);
	say_missing(b, 4);
	say_missing(b, 8);
	expect_nothing(b);
	say_missing(b, 12);
	expect_request(b, 12, 4 * MTU);
	expect_nothing(b);
}

static void nothing_is_asked_for_that_cannot_be_held(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);
	atomic_long_t *held = &to_verbs_port(&to_rhca_dev(b->hca->ibdev)->ports[0])->held_truesize;

	respond(b, READ_MIDDLE, 1, MTU);
	expect_request(b, 0, 4 * MTU);
	atomic_long_add(RHCA_HOLD_PORT_BYTES, held);
	respond(b, READ_LAST, 7, MTU);
	expect_nothing(b);
	atomic_long_sub(RHCA_HOLD_PORT_BYTES, held);
	respond(b, READ_FIRST, 0, MTU);	/* and 1, which makes room */
	forget_sent(b);
	respond(b, READ_LAST, 7, MTU);
	expect_request(b, 4, 4 * MTU);
	expect_nothing(b);
}

static void writes_in_between_are_passed_over(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);

	post(b, IB_WR_RDMA_WRITE, 2 * MTU);
	post(b, IB_WR_ATOMIC_FETCH_AND_ADD, 8);
	post(b, IB_WR_RDMA_READ, 2 * MTU);	/* 19 and 20 */
	forget_sent(b);
	set_path(b, NSEC_PER_MSEC);
	respond(b, READ_LAST, 15, MTU);
	forget_sent(b);
	respond(b, READ_LAST, 20, MTU);
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, FETCH_ADD);
	expect_request(b, 19, 2 * MTU);
	expect_nothing(b);
}

/* Those within 128 packets can be held all the same */
static void what_is_too_far_ahead_does_not_end_it(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);

	respond(b, READ_MIDDLE, 1, MTU);
	respond(b, READ_LAST, 7, MTU);
	forget_sent(b);
	rhca_missing_refused(&to_sw_qp(ibqp_to_verbs(b->qp))->send, FIRST_PSN + 130);
	respond(b, READ_LAST, 11, MTU);
	expect_request(b, 8, 4 * MTU);
	expect_nothing(b);
}

/* Where losses are recent a READ goes out as requests of 8 packets */
static void request_of_several_is_asked_for_alone(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_requester *send = &to_sw_qp(ibqp_to_verbs(b->qp))->send;

	send->recovering = true;
	recovery_of(b)->lossy = true;
	recovery_of(b)->loss_psn = FIRST_PSN;
	post(b, IB_WR_RDMA_READ, 20 * MTU);
	forget_sent(b);
	set_path(b, NSEC_PER_MSEC);
	respond(b, READ_MIDDLE, 1, MTU);
	expect_request(b, 0, 8 * MTU);
	respond(b, READ_MIDDLE, 17, MTU);
	expect_request(b, 8, 8 * MTU);
	expect_request(b, 16, 4 * MTU);
	expect_nothing(b);
}

static void request_waits_for_responses_where_the_peer_may_drop(struct kunit *test)
{
	struct bench *b = setup_long(test, LONG_PATH_NS);

	respond(b, READ_LAST, 3, MTU);
	expect_request(b, 0, 4 * MTU);
	say_missing(b, 8);
	expect_nothing(b);
}

/* --- what may only be late --------------------------------------------------------- */

#define READS	2	/* of two packets each: 0 and 1, 2 and 3 */

static struct bench *setup_reads(struct kunit *test)
{
	struct bench *b = setup(test);
	int i;

	for (i = 0; i < READS; i++)
		post(b, IB_WR_RDMA_READ, 2 * MTU);
	forget_sent(b);
	return b;
}

static struct rhca_reorder *reorder_of(const struct bench *b)
{
	return &recovery_of(b)->reorder;
}

static void response_that_comes_twice_was_late(struct kunit *test)
{
	struct bench *b = setup_reads(test);

	respond(b, READ_LAST, 1, MTU);
	expect_request(b, 0, 2 * MTU);
	respond(b, READ_FIRST, 0, MTU);
	KUNIT_EXPECT_EQ(test, reorder_of(b)->wait_ns, 0);
	respond(b, READ_FIRST, 0, MTU);
	KUNIT_EXPECT_GT(test, reorder_of(b)->wait_ns, 0);
}

/* A peer may answer with all that follows, and again what is asked for by itself */
static void response_of_two_answers_says_nothing(struct kunit *test)
{
	struct bench *b = setup_reads(test);

	respond(b, READ_LAST, 1, MTU);
	expect_request(b, 0, 2 * MTU);
	respond(b, READ_FIRST, 0, MTU);
	respond(b, READ_LAST, 3, MTU);
	expect_request(b, 2, 2 * MTU);
	respond(b, READ_FIRST, 2, MTU);
	respond(b, READ_FIRST, 2, MTU);
	KUNIT_EXPECT_EQ(test, reorder_of(b)->wait_ns, 0);
}

static void overtake(struct bench *b, u32 wait_ns)
{
	to_rhca_dev(b->hca->ibdev)->ports[0].cc.adp_retrans = true;
	reorder_of(b)->wait_ns = wait_ns;
	reorder_of(b)->late_psn = FIRST_PSN;
	respond(b, READ_LAST, 1, MTU);
}

static void response_that_is_late_is_not_asked_for(struct kunit *test)
{
	struct bench *b = setup_reads(test);

	overtake(b, 4 * NSEC_PER_SEC);
	respond(b, READ_LAST, 3, MTU);
	respond(b, READ_FIRST, 0, MTU);
	respond(b, READ_FIRST, 2, MTU);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	KUNIT_EXPECT_EQ(test, num_completed(b), 2);
}

/* Then nobody has been silent: it is no probe that comes first */
static void response_that_does_not_come_is_asked_for(struct kunit *test)
{
	struct bench *b = setup_reads(test);

	overtake(b, 100 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	test_becomes(test_num_sent(b->hca));
	expect_request(b, 0, 2 * MTU);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_IMPLIED_NAK_SEQ_ERR), 1);
}

static u64 dropped(struct bench *b)
{
	return test_count(b->hca, RHCA_RX_DROPPED_OUT_OF_WINDOW);
}

/* The local queue has refused the repetition, and then comes what was asked for at first */
static void response_is_taken_before_its_request_is_repeated(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_sw_qp *qp = to_sw_qp(ibqp_to_verbs(b->qp));

	post(b, IB_WR_RDMA_READ, 2 * MTU);
	local_bh_disable();
	spin_lock(&qp->send.lock);
	rhca_requester_rewind(qp, FIRST_PSN);
	rhca_pause_send(qp, RHCA_PAUSE_LOCAL_FULL, NSEC_PER_SEC);
	spin_unlock(&qp->send.lock);
	local_bh_enable();
	respond(b, READ_FIRST, 0, MTU);
	respond(b, READ_LAST, 1, MTU);
	expect_status(test, b, IB_WC_SUCCESS);
}

static void response_to_nothing_is_dropped(struct kunit *test)
{
	static const int psns[] = { -1, 1, 2, 100, 0x7fffff, 0x800000 };
	struct bench *b = setup(test);
	struct ib_wc wc;
	u64 before;
	size_t i;

	post(b, IB_WR_RDMA_READ, 8);
	before = dropped(b);
	for (i = 0; i < ARRAY_SIZE(psns); i++)
		respond(b, READ_ONLY, psns[i], 8);
	KUNIT_EXPECT_EQ(test, dropped(b), before + ARRAY_SIZE(psns));
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	respond(b, READ_ONLY, 0, 8);
	expect_status(test, b, IB_WC_SUCCESS);
	before = dropped(b);
	memset(b->hca->buffer + TARGET, 0, 8);
	respond(b, READ_ONLY, 0, 8);
	KUNIT_EXPECT_EQ(test, dropped(b), before + 1);
	KUNIT_EXPECT_EQ(test, *(u64 *)(b->hca->buffer + TARGET), 0);
}

#define ROUNDS		200
#define REQUESTS	8
#define RESPONSES	40

static void post_at_random(struct bench *b, struct rnd_state *rnd, u64 id)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_SEND, IB_WR_RDMA_WRITE, IB_WR_RDMA_READ,
		IB_WR_ATOMIC_FETCH_AND_ADD, };
	enum ib_wr_opcode opcode = opcodes[prandom_u32_state(rnd) & 3];
	u32 bytes = opcode == IB_WR_ATOMIC_FETCH_AND_ADD ? 8 :
		    prandom_u32_state(rnd) % (3 * MTU);

	KUNIT_ASSERT_EQ(b->hca->test, 0,
			post_wr(b, opcode, id, bytes,
				b->hca->pd->local_dma_lkey));
}

static void respond_at_random(struct bench *b, struct rnd_state *rnd)
{
	u32 pick = prandom_u32_state(rnd);
	u8 opcode = READ_FIRST + pick % 6;
	bool has_payload = opcode <= READ_ONLY;
	u8 headers[12] = { pick >> 3 & 0x7f, 0, 0, pick >> 10 & 15 };
	struct test_packet p = {
		.bth = { .opcode = opcode, .dest_qpn = b->qp->qp_num,
			 .psn = (FIRST_PSN + (pick >> 16 & 31) - 2) & 0xffffff },
		.extended = headers,
		.extended_bytes = opcode == READ_MIDDLE ? 0 :
				  opcode == ATOMIC_ACK ? 12 : 4,
		.payload_bytes = !has_payload ? 0 : pick >> 24 & 1 ? MTU :
				 prandom_u32_state(rnd) % MTU,
	};

	/* Mostly no NAK that ends the round */
	if (pick >> 25 & 7)
		headers[0] = 0x1f;
	test_receive(b->hca, &p);
}

/* Whatever is answered: each request completes once, in order */
static void noise_completes_each_request_once(struct kunit *test)
{
	struct rnd_state rnd;
	struct bench *b = setup(test);
	struct ib_wc wc;
	int round, i;

	prandom_seed_state(&rnd, 0x8915);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < REQUESTS; i++)
			post_at_random(b, &rnd, i);
		for (i = 0; i < RESPONSES; i++)
			respond_at_random(b, &rnd);
		KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_ERR));
		for (i = 0; test_poll(b->hca, &wc); i++)
			KUNIT_EXPECT_EQ(test, wc.wr_id, i);
		KUNIT_EXPECT_EQ_MSG(test, i, REQUESTS, "round %d", round);
		forget_sent(b);
		KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
		test_qp_bring_up(b->hca, b->qp, &spec, IB_QPS_RTS);
	}
}

static struct kunit_case completer_tests[] = {
	KUNIT_CASE(read_completes_with_its_last_response),
	KUNIT_CASE(atomic_stores_the_value_before),
	KUNIT_CASE(read_response_acknowledges_what_was_before),
	KUNIT_CASE_PARAM(response_that_does_not_fit_fails_the_request, wrong_gen_params),
	KUNIT_CASE(data_for_memory_of_no_key_fails_the_request),
	KUNIT_CASE(lost_response_is_asked_for_again),
	KUNIT_CASE(acknowledgement_past_a_read_repeats_it),
	KUNIT_CASE(responses_behind_a_missing_one_are_held),
	KUNIT_CASE(all_that_is_missing_is_asked_for),
	KUNIT_CASE(one_after_the_other_is_asked_for_nearby),
	KUNIT_CASE(nothing_more_is_asked_for_where_responses_are_late),
	KUNIT_CASE(answer_to_a_later_request_says_lost_again),
	KUNIT_CASE(request_that_is_missing_need_not_wait_for_responses),
	KUNIT_CASE(request_is_sent_again_once_for_all_naks),
	KUNIT_CASE(nothing_is_asked_for_that_cannot_be_held),
	KUNIT_CASE(writes_in_between_are_passed_over),
	KUNIT_CASE(what_is_too_far_ahead_does_not_end_it),
	KUNIT_CASE(request_of_several_is_asked_for_alone),
	KUNIT_CASE(request_waits_for_responses_where_the_peer_may_drop),
	KUNIT_CASE(response_that_comes_twice_was_late),
	KUNIT_CASE(response_of_two_answers_says_nothing),
	KUNIT_CASE(response_that_is_late_is_not_asked_for),
	KUNIT_CASE(response_that_does_not_come_is_asked_for),
	KUNIT_CASE(response_is_taken_before_its_request_is_repeated),
	KUNIT_CASE(response_to_nothing_is_dropped),
	KUNIT_CASE(noise_completes_each_request_once),
	{}
};

TEST_SUITE("rhca_completer", completer_tests);
