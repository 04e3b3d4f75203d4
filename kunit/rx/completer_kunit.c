// SPDX-License-Identifier: GPL-2.0
/*
 * The completer: data of responses, and a confused or hostile peer. For ACKs and NAKs see
 * kunit/tx/requester_kunit.c.
 */
#include <linux/prandom.h>
#include <linux/unaligned.h>

#include "lib/course.h"
#include "sw/qp/hold.h"
#include "sw/tx/missing.h"
#include "sw/tx/window.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xfffffe
#define TARGET		16384		/* where READs and atomics put data */
#define TARGET_BYTES	(TEST_BUFFER_BYTES - TARGET)

static const struct test_qp_spec spec = {
	.sq_psn = FIRST_PSN, .initiator_depth = 16, .retries = 7,
};

/* So many READs may be in flight */
static const struct test_qp_spec one_read = {
	.sq_psn = FIRST_PSN, .initiator_depth = 1, .retries = 7,
};
static const struct test_qp_spec two_reads = {
	.sq_psn = FIRST_PSN, .initiator_depth = 2, .retries = 7,
};

/* --- steps ------------------------------------------------------------------------ */

static ACT(is_target, KUNIT_EXPECT_EQ(b->hca->test, *(u64 *)(b->hca->buffer + TARGET), s->n))
/* A READ request starts this many bytes after the first */
static ACT(is_from,
	   KUNIT_EXPECT_EQ(b->hca->test, get_unaligned_be64(b->sent->extended), REMOTE_ADDR + s->n))
/* The RTT of a path without queueing, and no packet is being timed. There was a loss before */
static void do_path(struct bench *b, const struct step *s)
{
	b->send->rtt = (struct rhca_rtt) { .least = s->n, .smoothed = s->n };
	b->send->cwnd.threshold = RHCA_SEND_WINDOW / 2;
}

static ACT(do_holds, b->send->recovery->rule.peer = RHCA_PEER_HOLDS)

/* After recent losses a READ is sent as requests of 8 packets */
static void do_lossy(struct bench *b, const struct step *s)
{
	b->send->recovering = true;
	b->send->recovery->lossy = true;
	b->send->recovery->loss_psn = FIRST_PSN;
}

/* On a path of 1 s the first packet is timed, and it was repeated by a probe this long ago */
static void do_probe(struct bench *b, const struct step *s)
{
	const u64 now = 1000ULL * NSEC_PER_SEC;

	test_set_clock(b->hca->test, now);
	b->send->rtt = (struct rhca_rtt) {
		.least = NSEC_PER_SEC, .smoothed = NSEC_PER_SEC,
		.sent_at = now - 5ULL * NSEC_PER_SEC, .psn = FIRST_PSN,
	};
	b->send->recovering = true;
	b->send->recovery->rule.mode = RHCA_RECOVER_ONE;
	b->send->recovery->rule.probed = true;
	b->send->recovery->doublings = 1;
	b->send->recovery->rule.repeat_at = now - s->n;
}

/* If not, the next probe waits longer, in case it is the path that now takes so long */
static void is_timed(struct bench *b, const struct step *s)
{
	KUNIT_EXPECT_EQ(b->hca->test, b->send->rtt.smoothed > NSEC_PER_SEC, s->n);
	KUNIT_EXPECT_EQ(b->hca->test, !b->send->recovery->doublings, s->n);
}

static void do_late(struct bench *b, const struct step *s)
{
	b->send->recovery->reorder.wait_ns = s->n;
	b->send->recovery->reorder.late_psn = FIRST_PSN;
}

static ACT(is_late, KUNIT_EXPECT_EQ(b->hca->test, (u32)!!b->send->recovery->reorder.wait_ns, s->n))
static ACT(do_too_far, rhca_missing_refused(b->send, FIRST_PSN + s->n))

#define CLEAN			CLEAR(TARGET, TARGET_BYTES)
#define READ_TO(bytes)		WR(IB_WR_RDMA_READ, bytes, .va = TARGET)
#define FETCH			WR(IB_WR_ATOMIC_FETCH_AND_ADD, 8, .va = TARGET)
#define TARGET_IS(value)	STEP(is_target, value)
#define FROM(bytes)		STEP(is_from, bytes)
#define PATH(ns)		STEP(do_path, ns)
#define HOLDS			STEP(do_holds, 0)	/* the peer holds early packets */
#define LOSSY			STEP(do_lossy, 0)
#define PROBED(ns)		STEP(do_probe, ns)
#define TIMED(yes)		STEP(is_timed, yes)	/* the path was */
#define LATE(ns)		STEP(do_late, ns)	/* responses are late by this many ns */
#define IS_LATE(yes)		STEP(is_late, yes)	/* whether they are known to be */
#define TOO_FAR(at_psn)		STEP(do_too_far, at_psn)
#define MISSING(at_psn)		ANSWER(at_psn, NAK_PSN, 1)
#define COMPLETES(id)		DONE(id, SUCCESS), PENDING, STATE(RTS)

/* READs of two packets each: 0 and 1, 2 and 3 */
#define TWO_READS		READ_TO(2 * MTU), READ_TO(2 * MTU), FORGET
/* Long paths are those beyond 500 us; a test on a busy host ends before any timer of this one */
#define LONG_PATH		(100 * NSEC_PER_MSEC)
/* Four READs of four packets each, on a path with this RTT */
#define READS_ON(path_ns)	READ_TO(4 * MTU), READ_TO(4 * MTU), READ_TO(4 * MTU), \
				READ_TO(4 * MTU), FORGET, PATH(path_ns)
/* 2, 5 and 8 to 10 are lost */
#define LOSE_SOME		RESPOND(READ_FIRST, 0, MTU), RESPOND(READ_MIDDLE, 1, MTU), \
				RESPOND(READ_LAST, 3, MTU), RESPOND(READ_FIRST, 4, MTU), \
				RESPOND(READ_MIDDLE, 6, MTU), RESPOND(READ_LAST, 7, MTU), \
				RESPOND(READ_LAST, 11, MTU)

#define DOES_NOT_FIT(name, request, bytes, response, payload) {				\
	name, .step = {									\
		CLEAN, WR(request, bytes, .va = TARGET), RESPOND(response, 0, payload),	\
		DONE(bytes, BAD_RESP_ERR), PENDING, STATE(ERR), ZERO(TARGET, TARGET_BYTES) } }

static const struct course courses[] = {
	{ "READ completes with its last response", .step = {
		CLEAN, READ_TO(2 * MTU + 1), RESPOND(READ_FIRST, 0, MTU),
		RESPOND(READ_MIDDLE, 1, MTU), PENDING, RESPOND(READ_LAST, 2, 1),
		COMPLETES(2 * MTU + 1), PAYLOAD(TARGET, MTU), PAYLOAD(TARGET + MTU, MTU),
		PAYLOAD(TARGET + 2 * MTU, 1), ZERO(TARGET + 2 * MTU + 1, 1) } },
	{ "damaged response is overwritten by the correct one", .step = {
		CLEAN, READ_TO(2 * MTU + 1), FORGET, DAMAGE, RESPOND(READ_FIRST, 0, MTU),
		RESPOND(READ_FIRST, 0, MTU), DAMAGE, RESPOND(READ_MIDDLE, 1, MTU),
		RESPOND(READ_MIDDLE, 1, MTU), DAMAGE, RESPOND(READ_LAST, 2, 1), PENDING,
		RESPOND(READ_LAST, 2, 1), COMPLETES(2 * MTU + 1), PAYLOAD(TARGET, MTU),
		PAYLOAD(TARGET + MTU, MTU), PAYLOAD(TARGET + 2 * MTU, 1),
		ZERO(TARGET + 2 * MTU + 1, 1), COUNT(RX_ICRC_ENCAPSULATED, 3), SENT(0) } },
	{ "damaged single response is overwritten by the correct one", .step = {
		CLEAN, READ_TO(9), FORGET, DAMAGE, RESPOND(READ_ONLY, 0, 9), PENDING,
		RESPOND(READ_ONLY, 0, 9), COMPLETES(9), PAYLOAD(TARGET, 9), ZERO(TARGET + 9, 1),
		COUNT(RX_ICRC_ENCAPSULATED, 1), SENT(0) } },
	{ "atomic returns the value before", .step = {
		FETCH, RESPOND(ATOMIC_ACK, 0, 0), COMPLETES(8), TARGET_IS(0x12345678) } },
	{ "answer to a probe gives no round-trip time", .step = {
		WRITES(3), PROBED(1100 * NSEC_PER_MSEC), ANSWER(0, NO_CREDITS, 1),
		DONE_AS(3, RDMA_WRITE), TIMED(false) } },
	{ "answer that did not need the probe gives one", .step = {
		WRITES(3), PROBED(900 * NSEC_PER_MSEC), ANSWER(0, NO_CREDITS, 1),
		DONE_AS(3, RDMA_WRITE), TIMED(true) } },
	{ "READ response acknowledges earlier requests", .step = {
		WRITES(3), READ_TO(8), RESPOND(READ_ONLY, 1, 8), DONE_AS(3, RDMA_WRITE),
		DONE_AS(8, RDMA_READ) } },

	DOES_NOT_FIT("shorter than asked for", IB_WR_RDMA_READ, 8, READ_ONLY, 7),
	DOES_NOT_FIT("longer than asked for", IB_WR_RDMA_READ, 8, READ_ONLY, 9),
	DOES_NOT_FIT("nothing", IB_WR_RDMA_READ, 8, READ_ONLY, 0),
	DOES_NOT_FIT("far longer", IB_WR_RDMA_READ, 8, READ_ONLY, 4096),
	DOES_NOT_FIT("first that is short", IB_WR_RDMA_READ, 2 * MTU, READ_FIRST, MTU - 4),
	DOES_NOT_FIT("first that is long", IB_WR_RDMA_READ, 2 * MTU, READ_FIRST, 2 * MTU),
	DOES_NOT_FIT("atomic response to a READ", IB_WR_RDMA_READ, 8, ATOMIC_ACK, 0),
	DOES_NOT_FIT("READ response to an atomic", IB_WR_ATOMIC_FETCH_AND_ADD, 8, READ_ONLY, 8),
	DOES_NOT_FIT("READ response to a WRITE", IB_WR_RDMA_WRITE, 8, READ_ONLY, 8),
	DOES_NOT_FIT("atomic response to a SEND", IB_WR_SEND, 8, ATOMIC_ACK, 0),
	{ "invalid local key fails the READ", .step = {
		WR(IB_WR_RDMA_READ, 8, .va = TARGET, .rkey_xor = 0x4711),
		RESPOND(READ_ONLY, 0, 8), DONE(8, LOC_PROT_ERR), PENDING, STATE(ERR) } },

	/* Once, from the missing one on */
	{ "missing response is requested again", .step = {
		CLEAN, READ_TO(4 * MTU), FORGET, RESPOND(READ_FIRST, 0, MTU),
		RESPOND(READ_MIDDLE, 2, MTU), RESPOND(READ_LAST, 3, MTU), ASKED(1, 3 * MTU),
		FROM(MTU), SENT(0), RESPOND(READ_FIRST, 1, MTU), RESPOND(READ_MIDDLE, 2, MTU),
		RESPOND(READ_LAST, 3, MTU), COMPLETES(4 * MTU), PAYLOAD(TARGET + 3 * MTU, MTU),
		/* In parts: the next losses cost less */
		READ_TO(9 * MTU), ASKED(4, 8 * MTU) } },
	{ "missing response is requested once, with later ones", .spec = &one_read, .step = {
		GO_BACK, READ_TO(4 * MTU), FORGET, RESPOND(READ_FIRST, 0, MTU),
		RESPOND(READ_MIDDLE, 2, MTU), RESPOND(READ_LAST, 3, MTU), ASKED(1, 3 * MTU),
		SENT(0), COUNT(IMPLIED_NAK_SEQ_ERR, 1) } },
	{ "retransmitted READ keeps its place in max_rd_atomic", .spec = &two_reads, .step = {
		READ_TO(8), READ_TO(9), READ_TO(10), ASKED(0, 8), ASKED(1, 9), SENT(0),
		RESPOND(READ_ONLY, 1, 9), ASKED(0, 8), SENT(0), RESPOND(READ_ONLY, 0, 8),
		DONE(8, SUCCESS), COMPLETES(9), ASKED(2, 10) } },
	/* 9.7.5.2.4, implied NAK: the peer went on, so the response is lost */
	{ "ACK beyond a READ retransmits it, and counts later", .step = {
		READ_TO(8), SENDS(9), FORGET, ANSWER(1, NO_CREDITS, 1), PENDING, ASKED(0, 8),
		RESPOND(READ_ONLY, 0, 8), DONE(8, SUCCESS), COMPLETES(9), SENT(0) } },
	/* The first response of three READs is lost: later ones are not requested again */
	{ "responses after a missing one are held", .step = {
		READ_TO(2 * MTU), TWO_READS, RESPOND(READ_LAST, 1, MTU),
		RESPOND(READ_FIRST, 2, MTU), RESPOND(READ_LAST, 3, MTU),
		RESPOND(READ_FIRST, 4, MTU), PENDING, ASKED(0, 2 * MTU), SENT(0),
		RESPOND(READ_FIRST, 0, MTU), DONE(2 * MTU, SUCCESS), COMPLETES(2 * MTU),
		RESPOND(READ_LAST, 5, MTU), COMPLETES(2 * MTU), SENT(0), COUNT(RX_HELD, 4),
		COUNT(RX_HELD_DROPPED, 0) } },

	/*
	 * On a long path all missing responses are requested: from the start of their request, as
	 * those held of it may still be dropped. What is missing after them is requested later.
	 */
	{ "all missing responses are requested on a long path", .step = {
		READS_ON(LONG_PATH), LOSE_SOME, ASKED(2, 2 * MTU), ASKED(4, 4 * MTU),
		ASKED(8, 4 * MTU), SENT(0), RESPOND(READ_FIRST, 2, MTU),
		RESPOND(READ_MIDDLE, 5, MTU), RESPOND(READ_FIRST, 8, MTU),
		RESPOND(READ_MIDDLE, 9, MTU), RESPOND(READ_MIDDLE, 10, MTU), SENT(0),
		COUNT(IMPLIED_NAK_SEQ_ERR, 3), RESPOND(READ_LAST, 15, MTU), ASKED(12, 4 * MTU),
		SENT(0) } },
	{ "missing responses are requested one by one on a short path", .step = {
		READS_ON(10 * NSEC_PER_USEC), LOSE_SOME, ASKED(2, 2 * MTU), SENT(0),
		RESPOND(READ_FIRST, 2, MTU), ASKED(5, 3 * MTU), SENT(0) } },
	{ "later missing responses are not requested if some were late", .step = {
		READS_ON(LONG_PATH), LATE(1), LOSE_SOME, ASKED(2, 2 * MTU), SENT(0) } },
	/* Answers arrive in the order of requests, so the one to the oldest was lost again */
	{ "response to a later request shows that the request was lost", .step = {
		READS_ON(LONG_PATH), LOSE_SOME, FORGET, RESPOND(READ_FIRST, 4, MTU),
		ASKED(2, 2 * MTU), RESPOND(READ_MIDDLE, 5, MTU), RESPOND(READ_MIDDLE, 6, MTU),
		SENT(0), RESPOND(READ_FIRST, 2, MTU), SENT(0) } },
	/* Once, even if the peer repeats the NAK, and only if the peer holds later packets */
	{ "request that a NAK names is retransmitted before the responses arrive", .step = {
		READS_ON(LONG_PATH), HOLDS, RESPOND(READ_MIDDLE, 1, MTU), ASKED(0, 4 * MTU),
		RESPOND(READ_MIDDLE, 2, MTU), RESPOND(READ_LAST, 3, MTU),
		RESPOND(READ_FIRST, 4, MTU), RESPOND(READ_MIDDLE, 5, MTU),
		RESPOND(READ_MIDDLE, 6, MTU), RESPOND(READ_LAST, 7, MTU), MISSING(8),
		ASKED(8, 4 * MTU), MISSING(8), SENT(0), RESPOND(READ_FIRST, 0, MTU),
		DONE(4 * MTU, SUCCESS), COMPLETES(4 * MTU), SENT(0) } },
	/* A responder's expected PSN only grows: a NAK of an older one is ignored */
	{ "request is retransmitted once for all NAKs", .step = {
		READS_ON(LONG_PATH), HOLDS, RESPOND(READ_MIDDLE, 1, MTU), ASKED(0, 4 * MTU),
		MISSING(8), ASKED(8, 4 * MTU), MISSING(4), MISSING(8), SENT(0), MISSING(12),
		ASKED(12, 4 * MTU), SENT(0) } },
	/* 0, and 1, which was held, make room */
	{ "response that could not be held is requested after the next one", .step = {
		READS_ON(LONG_PATH), RESPOND(READ_MIDDLE, 1, MTU), RESPOND(READ_LAST, 7, MTU),
		FORGET, OTHERS(RHCA_HOLD_PORT_BYTES), RESPOND(READ_FIRST, 4, MTU), SENT(0),
		OTHERS(-(s64)RHCA_HOLD_PORT_BYTES), RESPOND(READ_FIRST, 0, MTU),
		ASKED(4, 4 * MTU), SENT(0) } },
	{ "nothing is requested that cannot be held", .step = {
		READS_ON(LONG_PATH), RESPOND(READ_MIDDLE, 1, MTU), ASKED(0, 4 * MTU),
		OTHERS(RHCA_HOLD_PORT_BYTES), RESPOND(READ_LAST, 7, MTU), SENT(0),
		OTHERS(-(s64)RHCA_HOLD_PORT_BYTES), RESPOND(READ_FIRST, 0, MTU), FORGET,
		RESPOND(READ_LAST, 7, MTU), ASKED(4, 4 * MTU), SENT(0) } },
	{ "WRITEs in between are skipped", .step = {
		READS_ON(LONG_PATH), WRITES(2 * MTU), FETCH, READ_TO(2 * MTU), FORGET,
		PATH(NSEC_PER_MSEC), RESPOND(READ_LAST, 15, MTU), FORGET,
		RESPOND(READ_LAST, 20, MTU), LEFT(FETCH_ADD, 18), ASKED(19, 2 * MTU), SENT(0) } },
	/* Responses within 128 packets can still be held */
	{ "response too far ahead does not end recovery", .step = {
		READS_ON(LONG_PATH), RESPOND(READ_MIDDLE, 1, MTU), RESPOND(READ_LAST, 7, MTU),
		FORGET, TOO_FAR(130), RESPOND(READ_LAST, 11, MTU), ASKED(8, 4 * MTU), SENT(0) } },
	{ "one request of a split READ is retransmitted alone", .step = {
		LOSSY, READ_TO(20 * MTU), FORGET, PATH(NSEC_PER_MSEC),
		RESPOND(READ_MIDDLE, 1, MTU), ASKED(0, 8 * MTU), RESPOND(READ_MIDDLE, 17, MTU),
		ASKED(8, 8 * MTU), ASKED(16, 4 * MTU), SENT(0) } },
	{ "request waits for responses if the peer may drop packets", .step = {
		READS_ON(LONG_PATH), RESPOND(READ_LAST, 3, MTU), ASKED(0, 4 * MTU), MISSING(8),
		SENT(0) } },

	/* Packets that may merely be late */
	{ "response received twice was late", .step = {
		TWO_READS, RESPOND(READ_LAST, 1, MTU), ASKED(0, 2 * MTU),
		RESPOND(READ_FIRST, 0, MTU), IS_LATE(false), RESPOND(READ_FIRST, 0, MTU),
		IS_LATE(true) } },
	/* As in the next READ while each gap is requested */
	{ "response received twice after another retransmission was late", .step = {
		TWO_READS, RESPOND(READ_LAST, 1, MTU), ASKED(0, 2 * MTU),
		RESPOND(READ_FIRST, 0, MTU), RESPOND(READ_LAST, 3, MTU), ASKED(2, 2 * MTU),
		RESPOND(READ_FIRST, 2, MTU), IS_LATE(false), RESPOND(READ_FIRST, 2, MTU),
		IS_LATE(true) } },
	/* The peer answers to the end of the READ, and separately repeats one response */
	{ "response requested twice does not show lateness", .step = {
		READS_ON(LONG_PATH), LOSE_SOME, ASKED(2, 2 * MTU), ASKED(4, 4 * MTU),
		ASKED(8, 4 * MTU), RESPOND(READ_FIRST, 2, MTU), RESPOND(READ_MIDDLE, 6, MTU),
		ASKED(5, 3 * MTU), RESPOND(READ_FIRST, 5, MTU), RESPOND(READ_FIRST, 5, MTU),
		IS_LATE(false) } },
	{ "late response is not requested", .step = {
		TWO_READS, ADP, LATE(4 * NSEC_PER_SEC), RESPOND(READ_LAST, 1, MTU),
		RESPOND(READ_LAST, 3, MTU), RESPOND(READ_FIRST, 0, MTU),
		RESPOND(READ_FIRST, 2, MTU), SENT(0), DONE(2 * MTU, SUCCESS),
		COMPLETES(2 * MTU) } },
	{ "late response is requested if others cannot be held", .step = {
		TWO_READS, ADP, LATE(4 * NSEC_PER_SEC), OTHERS(RHCA_HOLD_PORT_BYTES),
		RESPOND(READ_LAST, 1, MTU), ASKED(0, 2 * MTU), SENT(0),
		OTHERS(-(s64)RHCA_HOLD_PORT_BYTES) } },
	/* The peer has not been silent, so no probe is sent first */
	{ "lost response is requested after the wait", .step = {
		TWO_READS, ADP, LATE(100 * NSEC_PER_MSEC), RESPOND(READ_LAST, 1, MTU), SENT(0),
		COMES(1), ASKED(0, 2 * MTU), COUNT(IMPLIED_NAK_SEQ_ERR, 1) } },
	/* Later responses would be held, so nothing after it is repeated */
	{ "oldest READ alone is retransmitted if nothing arrives", .step = {
		ADP, TWO_READS, COMES(3), ASKED(0, 2 * MTU), ASKED(0, 2 * MTU),
		ASKED(0, 2 * MTU) } },
	/* Its last PSN is 2^23 after that of the WRITE */
	{ "first response of the longest READ behind a WRITE is not skipped", .step = {
		WRITES(3), READ_TO(1U << 31), FORGET, RESPOND(READ_MIDDLE, 2, MTU),
		DONE_AS(3, RDMA_WRITE), PENDING, ASKED(1, 32 * MTU),
		COUNT(IMPLIED_NAK_SEQ_ERR, 1) } },
	/* The local queue has rejected the repeated request, then the original response arrives */
	{ "response is accepted before its request is retransmitted", .step = {
		READ_TO(2 * MTU), LOCAL_FULL(0), RESPOND(READ_FIRST, 0, MTU),
		RESPOND(READ_LAST, 1, MTU), COMPLETES(2 * MTU) } },
	{ "response to no request is dropped", .step = {
		READ_TO(8), RESPOND(READ_ONLY, -1, 8), RESPOND(READ_ONLY, 1, 8),
		RESPOND(READ_ONLY, 2, 8), RESPOND(READ_ONLY, 100, 8),
		RESPOND(READ_ONLY, 0x7fffff, 8), RESPOND(READ_ONLY, 0x800000, 8),
		COUNT(RX_DROPPED_OUT_OF_WINDOW, 6), PENDING, RESPOND(READ_ONLY, 0, 8),
		COMPLETES(8), CLEAR(TARGET, 8), RESPOND(READ_ONLY, 0, 8),
		COUNT(RX_DROPPED_OUT_OF_WINDOW, 7), ZERO(TARGET, 8) } },
};
TEST_COURSES(completer_follows_the_protocol, courses, &spec, 0)

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

	test_post(b, &(struct request) { opcode, .va = TARGET, .length = bytes }, id);
}

/* Mostly without NAKs, which would end the round */
static void respond_at_random(struct bench *b, struct rnd_state *rnd)
{
	u32 pick = prandom_u32_state(rnd);
	u8 opcode = READ_FIRST + pick % 6;
	u32 syndrome = pick >> 25 & 7 ? NO_CREDITS : pick >> 3 & 0x7f;
	u32 bytes = opcode > READ_ONLY ? 0 : pick >> 24 & 1 ? MTU : prandom_u32_state(rnd) % MTU;

	test_answer(b->hca, b->qp, opcode, FIRST_PSN + (pick >> 16 & 31) - 2,
		    syndrome << 24 | (pick >> 10 & 15), bytes);
}

/* Whatever the peer answers, each request completes once, in order */
static void random_responses_complete_each_request_once(struct kunit *test)
{
	struct bench *b = test_bench(test, IB_QPT_RC, &spec, IB_QPS_RTS);
	struct rnd_state rnd;
	struct ib_wc wc;
	int round, i, num_ok = 0;

	prandom_seed_state(&rnd, 0x8915);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < REQUESTS; i++)
			post_at_random(b, &rnd, i);
		for (i = 0; i < RESPONSES; i++)
			respond_at_random(b, &rnd);
		KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_ERR));
		for (i = 0; test_poll(b->hca, &wc); i++) {
			KUNIT_EXPECT_EQ(test, wc.wr_id, i);
			num_ok += wc.status == IB_WC_SUCCESS;
		}
		KUNIT_EXPECT_EQ_MSG(test, i, REQUESTS, "round %d", round);
		do_forget(b, NULL);
		KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
		test_qp_bring_up(b->hca, b->qp, &spec, IB_QPS_RTS);
	}
	KUNIT_EXPECT_GT(test, num_ok, ROUNDS / 10);
}

TEST_SUITE(rhca_completer,
	   KUNIT_CASE_PARAM(completer_follows_the_protocol, courses_gen_params),
	   KUNIT_CASE(random_responses_complete_each_request_once));
