// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: for each request, the answer, the completions, and the state of the QP afterwards.
 * IBTA vol. 1, 9.7.4 and 9.7.5.
 */
#include <linux/prandom.h>
#include <linux/workqueue.h>

#include "lib/course.h"
#include "sw/verbs/memory/mr.h"
#include "sw/verbs/qp/qp.h"
#include "sw/qp/flush.h"
#include "sw/qp/turn_sched.h"
#include "sw/rx/recv_completion.h"
#include "sw/rx/responder.h"
#include "wire/psn.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xffffff	/* wraps: the second request has PSN 0 */
#define REGION_BYTES	4096

static const struct test_qp_spec open_qp = {
	.access = ALL_RIGHTS, .rq_psn = FIRST_PSN, .responder_resources = 16,
	.initiator_depth = 16, .retries = 7,
};

static struct bench *setup(struct kunit *test)
{
	return test_bench_mr(test, &open_qp, REGION_BYTES);
}

/* --- requests and their results --------------------------------------------------- */

/* Post a receive of @n bytes */
static void do_post_of(struct bench *b, const struct step *s)
{
	memset(b->hca->buffer + BUFFER_OFFSET, 0, s->n);
	test_post_recv(b->hca, b->qp, ++b->posted, BUFFER_OFFSET, s->n);
}

/* Post one with a wrong key */
static void do_post_bad(struct bench *b, const struct step *s)
{
	struct ib_sge sge = test_sge(b->hca, BUFFER_OFFSET, BUFFER_BYTES);
	struct ib_recv_wr wr = { .wr_id = ++b->posted, .sg_list = &sge, .num_sge = 1 };

	sge.lkey ^= 1;
	KUNIT_EXPECT_EQ(b->hca->test, 0, ib_post_recv(b->qp, &wr, NULL));
}

/* Delay answers, as if the local queue were full, until resumed */
static void do_pause(struct bench *b, const struct step *s)
{
	struct rhca_responder *recv = &b->sw->recv;
	bool held = s->n;

	local_bh_disable();
	spin_lock(&recv->lock);
	atomic_set(&recv->turn.word, held ? rhca_turn_pause_for(0, RHCA_PAUSE_LOCAL_FULL).word : 0);
	spin_unlock(&recv->lock);
	if (!held)
		rhca_turn_start(&recv->turn, RHCA_KICK_RESUME, RHCA_KICK_QUEUE);
	local_bh_enable();
}

/* Sets the first eight bytes of the buffer */
static ACT(do_set_word, *(u64 *)b->hca->buffer = s->r.swap_add)
static ACT(is_word, KUNIT_EXPECT_EQ(b->hca->test, *(u64 *)b->hca->buffer, s->r.swap_add))

static void do_rights(struct bench *b, const struct step *s)
{
	struct ib_qp_attr attr = { .qp_access_flags = s->n };

	KUNIT_EXPECT_EQ(b->hca->test, 0, ib_modify_qp(b->qp, &attr, IB_QP_ACCESS_FLAGS));
}

/* The region's protection domain; only compared */
static ACT(do_other_pd, to_rhca_mr(b->hca->mr)->mem.pd = (void *)b)

/* The GRH precedes a datagram's payload */
static void is_grh(struct bench *b, const struct step *s)
{
	KUNIT_EXPECT_EQ(b->hca->test, b->hca->buffer[BUFFER_OFFSET] >> 4, 6);
	KUNIT_EXPECT_MEMEQ(b->hca->test, b->hca->buffer + BUFFER_OFFSET + 24, b->hca->gid.raw, 16);
}

/* 11.6.3.1: the event of a rejected request that ends the QP; indexed by syndrome */
static const unsigned long events[] = {
	[NAK_INVALID]	= BIT(IB_EVENT_QP_REQ_ERR),
	[NAK_ACCESS]	= BIT(IB_EVENT_QP_ACCESS_ERR),
	[NAK_OPERATION]	= BIT(IB_EVENT_QP_FATAL),
};

/* The next answer is this NAK, with all its effects; @immediate: status of a failed receive */
static void is_refused(struct bench *b, const struct step *s)
{
	bool alive = s->n == NAK_PSN || s->n == RNR;
	struct kunit *test = b->hca->test;
	struct ib_wc wc = {};

	is_nak(b, s);
	if (test->status == KUNIT_FAILURE)
		return;
	is_msn(b, &(struct step) {});
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), alive ? IB_QPS_RTS : IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, b->hca->events, events[s->n]);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RESP_INVALID_REQUESTS), s->n == NAK_INVALID);
	if (alive) {
		is_quiet(b, s);
		return;
	}
	if (s->r.immediate != IB_WC_SUCCESS)
		test_expect_wc(b->hca, 1, s->r.immediate);
	while (test_poll(b->hca, &wc))
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_WR_FLUSH_ERR);
}

#define POST_OF(bytes)		STEP(do_post_of, bytes)
#define POST_BAD		STEP(do_post_bad, 0)
#define PAUSE			STEP(do_pause, true)
#define RESUME			STEP(do_pause, false)
#define SET_WORD(value)		STEP(do_set_word, 0, .swap_add = (value))
#define WORD(value)		STEP(is_word, 0, .swap_add = (value))
#define RIGHTS(access)		STEP(do_rights, access)
#define OTHER_PD		STEP(do_other_pd, 0)
#define DATAGRAM(qkey, bytes)	ASK(UD_SEND_ONLY, .immediate = (qkey), .payload_bytes = (bytes), \
				    .no_ack = true)
#define UD_FLAGS		(IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE)
#define GRH			STEP(is_grh, 0)
#define REFUSED(at_psn, code, wc)	STEP(is_refused, code, .psn = (at_psn), .immediate = (wc))

#define PART(op, at_psn, bytes)	ASK(op, .psn = (at_psn), .payload_bytes = (bytes))
#define WRITE_OF(op, bytes, all)	ASK(op, .payload_bytes = (bytes), .length = (all))
/* First packets of longer messages; of a WRITE of @bytes */
#define SEND_BEGINS		ASK(SEND_FIRST, .payload_bytes = MTU, .no_ack = true)
#define WRITE_BEGINS(bytes)	ASK(WRITE_FIRST, .payload_bytes = MTU, .length = (bytes), \
				    .no_ack = true)
#define REFUSE(name, ...)	{ name, .step = { __VA_ARGS__ } }
#define ALL_BUT(right)		(ALL_RIGHTS & ~IB_ACCESS_REMOTE_##right)
#define INVALID(at_psn)		REFUSED(at_psn, NAK_INVALID, 0)
/* Also fails the receive of the current message */
#define ENDS_INVALID		REFUSED(1, NAK_INVALID, IB_WC_REM_INV_REQ_ERR)
#define DENIED			REFUSED(0, NAK_ACCESS, 0)

/* Table 44: requests; the last one is rejected */
static const struct course refusals[] = {
	/* PSN sequence error */
	REFUSE("a gap", POST(1), ASK(SEND_ONLY, .psn = 1), REFUSED(0, NAK_PSN, 0)),
	REFUSE("the farthest gap",
	       POST(1), ASK(SEND_ONLY, .psn = 0x7fffff), REFUSED(0, NAK_PSN, 0)),

	/* receiver not ready */
	REFUSE("SEND without a receive", ASK(SEND_ONLY), REFUSED(0, RNR, 0)),
	REFUSE("SEND first without a receive", PART(SEND_FIRST, 0, MTU), REFUSED(0, RNR, 0)),
	REFUSE("WRITE_IMM without a receive", ASK(WRITE_ONLY_IMM), REFUSED(0, RNR, 0)),

	/* invalid request: order of packets */
	REFUSE("middle without a first", POST(1), PART(SEND_MIDDLE, 0, MTU), INVALID(0)),
	REFUSE("last without a first", POST(1), PART(SEND_LAST, 0, 8), INVALID(0)),
	REFUSE("only inside a message",
	       POST(2), SEND_BEGINS, ASK(SEND_ONLY, .psn = 1), ENDS_INVALID),
	REFUSE("READ inside a message",
	       POST(2), SEND_BEGINS, ASK(READ_REQUEST, .psn = 1, .length = 8), ENDS_INVALID),
	REFUSE("WRITE goes on as SEND",
	       POST(1), WRITE_BEGINS(2 * MTU), PART(SEND_LAST, 1, MTU), INVALID(1)),
	REFUSE("SEND goes on as WRITE",
	       POST(1), SEND_BEGINS, PART(WRITE_LAST, 1, MTU), ENDS_INVALID),

	/* invalid request: undefined opcode */
	REFUSE("reserved opcode", POST(1), PART(UNDEFINED, 0, 8), INVALID(0)),
	REFUSE("reserved opcode inside a message",
	       POST(1), SEND_BEGINS, ASK(UNDEFINED, .psn = 1), ENDS_INVALID),

	/* invalid request: lengths */
	REFUSE("first shorter than the MTU", POST(1), PART(SEND_FIRST, 0, MTU - 4), INVALID(0)),
	REFUSE("first longer than the MTU", POST(1), PART(SEND_FIRST, 0, MTU + 4), INVALID(0)),
	REFUSE("only longer than the MTU", POST(1), PART(SEND_ONLY, 0, MTU + 1), INVALID(0)),
	REFUSE("last of nothing", POST(1), SEND_BEGINS, ASK(SEND_LAST, .psn = 1), ENDS_INVALID),
	{ "SEND longer than its buffer", .region = IB_ACCESS_LOCAL_WRITE, .step = {
		POST_OF(MTU - 1), PART(SEND_ONLY, 0, MTU),
		REFUSED(0, NAK_INVALID, IB_WC_LOC_LEN_ERR) } },
	REFUSE("WRITE only with less than it says", WRITE_OF(WRITE_ONLY, 8, 12), INVALID(0)),
	REFUSE("WRITE only with more than it says", WRITE_OF(WRITE_ONLY, 12, 8), INVALID(0)),
	REFUSE("WRITE last with more than is left",
	       WRITE_BEGINS(MTU + 8), PART(WRITE_LAST, 1, 12), INVALID(1)),
	REFUSE("WRITE middle though it is done",
	       WRITE_BEGINS(MTU + 8), PART(WRITE_MIDDLE, 1, MTU), INVALID(1)),
	REFUSE("WRITE middle that ends it",
	       WRITE_BEGINS(2 * MTU), PART(WRITE_MIDDLE, 1, MTU), INVALID(1)),
	REFUSE("WRITE longer than a message", WRITE_OF(WRITE_FIRST, MTU, 0x80000001), INVALID(0)),
	REFUSE("READ longer than a message", ASK_READ(0, 0, 0x80000001), INVALID(0)),
	REFUSE("atomic that is not aligned", ASK(FETCH_ADD, .va = 4), INVALID(0)),
	REFUSE("ATOMIC WRITE that is not aligned",
	       ASK(ATOMIC_WRITE, .va = 4, .payload_bytes = 8, .length = 8), INVALID(0)),
	REFUSE("ATOMIC WRITE with less than it says",
	       ASK(ATOMIC_WRITE, .payload_bytes = 4, .length = 8), INVALID(0)),
	REFUSE("ATOMIC WRITE with more than it says",
	       ASK(ATOMIC_WRITE, .payload_bytes = 8, .length = 4), INVALID(0)),

	/* invalid request: not allowed by the QP */
	{ "WRITE that the QP forbids", .access = ALL_BUT(WRITE), .step = {
		ASK_WRITE(0, 0, 8), INVALID(0) } },
	{ "ATOMIC WRITE that the QP forbids", .access = ALL_BUT(WRITE), .step = {
		ASK(ATOMIC_WRITE, .payload_bytes = 8, .length = 8), INVALID(0) } },
	{ "READ that the QP forbids", .access = ALL_BUT(READ), .step = {
		ASK_READ(0, 0, 8), INVALID(0) } },
	{ "atomic that the QP forbids", .access = ALL_BUT(ATOMIC), .step = {
		ASK(FETCH_ADD), INVALID(0) } },
	REFUSE("WRITE that the QP forbids meanwhile",
	       CLEAR(MTU, MTU), WRITE_BEGINS(3 * MTU), RIGHTS(IB_ACCESS_REMOTE_READ),
	       PART(WRITE_MIDDLE, 1, MTU), INVALID(1), ZERO(MTU, MTU)),
	{ "READ without responder resources", .resources = NONE, .step = {
		ASK_READ(0, 0, 8), INVALID(0) } },
	{ "atomic without responder resources", .resources = NONE, .step = {
		ASK(CMP_SWAP), INVALID(0) } },

	/* remote access error */
	REFUSE("WRITE with an unknown key",
	       ASK(WRITE_ONLY, .payload_bytes = 8, .length = 8, .rkey_xor = 0x100000), DENIED),
	REFUSE("WRITE with a stale key",
	       ASK(WRITE_ONLY, .payload_bytes = 8, .length = 8, .rkey_xor = 1), DENIED),
	REFUSE("WRITE before the region", ASK_WRITE(0, -1, 8), DENIED),
	REFUSE("WRITE over its end", ASK_WRITE(0, REGION_BYTES - 7, 8), DENIED),
	REFUSE("WRITE first that would go over its end",
	       WRITE_OF(WRITE_FIRST, MTU, REGION_BYTES + 1), DENIED),
	{ "WRITE to memory that may be read", .region = ALL_BUT(WRITE), .step = {
		ASK_WRITE(0, 0, 8), DENIED } },
	{ "READ of memory that may be written", .region = ALL_BUT(READ), .step = {
		ASK_READ(0, 0, 8), DENIED } },
	REFUSE("READ over the end", ASK_READ(0, 1, REGION_BYTES), DENIED),
	REFUSE("READ with an unknown key",
	       ASK(READ_REQUEST, .length = 8, .rkey_xor = 0x100000), DENIED),
	{ "atomic on memory that may be written", .region = ALL_BUT(ATOMIC), .step = {
		ASK(FETCH_ADD), DENIED } },
	REFUSE("atomic behind the end", ASK(CMP_SWAP, .va = REGION_BYTES), DENIED),
	REFUSE("READ of another domain", OTHER_PD, ASK_READ(0, 0, 8), DENIED),
	REFUSE("WRITE to another domain", OTHER_PD, ASK_WRITE(0, 0, 8), DENIED),
	REFUSE("atomic on another domain", OTHER_PD, ASK(FETCH_ADD), DENIED),
	REFUSE("invalidation in another domain", POST(1), OTHER_PD, ASK(SEND_ONLY_INV),
	       REFUSED(0, NAK_ACCESS, IB_WC_REM_ACCESS_ERR)),
	REFUSE("invalidation of an unknown key",
	       POST(1), ASK(SEND_ONLY_INV, .rkey_xor = 0x100000),
	       REFUSED(0, NAK_ACCESS, IB_WC_REM_ACCESS_ERR)),

	/* remote operational error */
	REFUSE("receive with a wrong key",
	       POST_BAD, PART(SEND_ONLY, 0, 8), REFUSED(0, NAK_OPERATION, IB_WC_LOC_PROT_ERR)),
};
TEST_COURSES(request_is_refused_as_table_44_says, refusals, &open_qp, REGION_BYTES)

static const struct course courses[] = {
	{ "gap is reported once", .step = {
		POST(5), ASK(SEND_ONLY, .psn = 1), ASK(SEND_ONLY, .psn = 2),
		ASK(SEND_ONLY, .psn = 3), ASK(SEND_ONLY, .psn = 4), SENT(1), NAK(0, NAK_PSN),
		/* The gap is filled; the next one is different */
		ASK(SEND_ONLY), ACK(4, 5), ASK(SEND_ONLY, .psn = 6), NAK(5, NAK_PSN) } },
	{ "refused WRITE changes no memory", .step = {
		CLEAR(0, 2 * REGION_BYTES), ASK_WRITE(0, REGION_BYTES - 4, 8),
		ZERO(0, 2 * REGION_BYTES), NAK(0, NAK_ACCESS) } },
	{ "SEND is written to the receive buffer", .step = {
		POST(1), CLEAR(0, TEST_BUFFER_BYTES),
		ASK(SEND_ONLY_IMM, .payload_bytes = 77, .immediate = 0x01020304),
		NAK(0, 0),	/* an ACK; no credit is left */
		RECEIVED(77, IB_WC_WITH_IMM, 0x01020304), PAYLOAD(BUFFER_OFFSET, 77),
		ZERO(BUFFER_OFFSET + 77, 1) } },
	{ "SEND of many packets completes once", .step = {
		POST(1), ASK(SEND_FIRST, .payload_bytes = MTU, .no_ack = true),
		ASK(SEND_MIDDLE, .psn = 1, .payload_bytes = MTU, .no_ack = true), QUIET,
		ASK(SEND_LAST, .psn = 2, .payload_bytes = 5), ACK(2, 1),
		RECEIVED(2 * MTU + 5, 0, 0), PAYLOAD(BUFFER_OFFSET, MTU),
		PAYLOAD(BUFFER_OFFSET + MTU, MTU), PAYLOAD(BUFFER_OFFSET + 2 * MTU, 5), QUIET } },
	{ "WRITE is written to its address", .step = {
		CLEAR(0, REGION_BYTES), ASK(WRITE_FIRST, .va = 100, .no_ack = true,
					    .payload_bytes = MTU, .length = MTU + 9),
		ASK(WRITE_LAST, .psn = 1, .payload_bytes = 9), ACK(1, 1), PAYLOAD(100, MTU),
		PAYLOAD(100 + MTU, 9), ZERO(99, 1), ZERO(100 + MTU + 9, 1), QUIET } },
	{ "WRITE to the last byte is allowed", .step = {
		ASK_WRITE(0, REGION_BYTES - 8, 8), ACK(0, 1), PAYLOAD(REGION_BYTES - 8, 8) } },
	/* 9.7.4.1.4: with no data, address and key are not checked */
	{ "request without data needs no key", .region = NONE, .step = {
		ASK(WRITE_ONLY, .va = -1, .rkey_xor = 0xbad), ACK(0, 1),
		ASK(READ_REQUEST, .psn = 1, .va = -1, .rkey_xor = 0xbad),
		RESPONSE(READ_ONLY, 1, 0, 0), MSN(2) } },
	{ "READ is answered in packets of the MTU", .step = {
		ASK_READ(0, 10, 2 * MTU + 1), RESPONSE(READ_FIRST, 0, 10, MTU),
		RESPONSE(READ_MIDDLE, 1, 10 + MTU, MTU), RESPONSE(READ_LAST, 2, 10 + 2 * MTU, 1),
		ASK_READ(3, 0, MTU), RESPONSE(READ_ONLY, 3, 0, MTU), QUIET } },
	{ "atomics return the value before", .step = {
		SET_WORD(U64_MAX), ASK(FETCH_ADD, .swap_add = 3), ATOMIC(0, U64_MAX), WORD(2),
		ASK(CMP_SWAP, .psn = 1, .compare = 1, .swap_add = 9), ATOMIC(1, 2), WORD(2),
		ASK(CMP_SWAP, .psn = 2, .compare = 2, .swap_add = 9), ATOMIC(2, 2), WORD(9) } },
	/* Nor is the buffer of an earlier SEND written to */
	{ "WRITE does not continue as a SEND", .step = {
		POST(1), ASK(SEND_ONLY), ACK(0, 1), RECEIVED(0, 0, 0),
		ASK(WRITE_FIRST, .psn = 1, .payload_bytes = MTU, .length = 2 * MTU,
		    .no_ack = true), PART(SEND_LAST, 2, 8), NAK(2, NAK_INVALID), STATE(ERR) } },
	{ "SEND with Invalidate invalidates the key", .step = {
		POST(1), ASK(SEND_ONLY_INV), ACK(0, 1), RECEIVED(0, IB_WC_WITH_INVALIDATE, 0),
		ASK_WRITE(1, 0, 8), NAK(1, NAK_ACCESS) } },
	/* The peer retransmits what cannot be held meanwhile */
	{ "invalidation completes without users of the key", .step = {
		POST(1), GO_BACK, USE, ASK(SEND_ONLY_INV), UNUSABLE, ASK(WRITE_ONLY, .psn = 1),
		WAIT(20), QUIET, LET_GO, COMES(1), RECEIVED(0, IB_WC_WITH_INVALIDATE, 0),
		NAK(1, NAK_PSN), ASK(WRITE_ONLY, .psn = 1), ACK(1, 2) } },
	/* 9.7.5.1.2: one ACK for both */
	{ "ACK is sent if AckReq is set", .step = {
		ASK(WRITE_ONLY, .no_ack = true), QUIET, ASK(WRITE_ONLY, .psn = 1), ACK(1, 2) } },

	/* Duplicates */
	{ "duplicate SEND is acknowledged, not executed", .step = {
		POST(2), ASK(SEND_ONLY, .payload_bytes = 4), ACK(0, 1), RECEIVED(4, 0, 0),
		ASK(SEND_ONLY, .payload_bytes = 4), ACK(0, 1), QUIET } },
	{ "duplicate WRITE is not executed", .step = {
		ASK_WRITE(0, 0, 8), ACK(0, 1), CLEAR(0, 8), ASK_WRITE(0, 0, 8), ACK(0, 1),
		WORD(0) } },
	{ "duplicate atomic is answered from its resource", .step = {
		SET_WORD(5), ASK(FETCH_ADD, .swap_add = 1), ATOMIC(0, 5),
		ASK(FETCH_ADD, .swap_add = 1), ATOMIC(0, 5), WORD(6), ASK(CMP_SWAP), QUIET } },
	{ "duplicate READ may request the rest", .step = {
		ASK_READ(0, 0, 3 * MTU), SENT(3), FORGET, ASK_READ(0, 0, 3 * MTU),
		RESPONSE(READ_FIRST, 0, 0, MTU), RESPONSE(READ_MIDDLE, 1, MTU, MTU),
		RESPONSE(READ_LAST, 2, 2 * MTU, MTU), ASK_READ(1, MTU, 2 * MTU),
		RESPONSE(READ_FIRST, 1, MTU, MTU), RESPONSE(READ_LAST, 2, 2 * MTU, MTU), QUIET } },
	/* Also up to the end of the last packet */
	{ "duplicate READ may request a part, then the rest", .step = {
		ASK_READ(0, 0, 3 * MTU), FORGET, ASK_READ(0, 0, MTU + 4),
		RESPONSE(READ_FIRST, 0, 0, MTU), RESPONSE(READ_LAST, 1, MTU, 4), QUIET,
		ASK_READ(1, MTU, 2 * MTU), RESPONSE(READ_FIRST, 1, MTU, MTU),
		RESPONSE(READ_LAST, 2, 2 * MTU, MTU), QUIET } },
	{ "duplicate READ is answered with its own key", .step = {
		ASK_READ(0, 0, MTU), RESPONSE(READ_ONLY, 0, 0, MTU),
		ASK(READ_REQUEST, .length = MTU, .rkey_xor = 0x100000), NAK(0, NAK_ACCESS),
		STATE(RTS) } },
	/* 9.7.4.1.3: it must lie inside the original one, at the same place */
	{ "duplicate READ of another range is dropped", .step = {
		ASK_READ(0, 0, 2 * MTU), FORGET, ASK_READ(0, 0, 3 * MTU), SENT(0),
		ASK_READ(0, 8, MTU), SENT(0), ASK_READ(1, 0, MTU), SENT(0),
		ASK_READ(1, MTU, 2 * MTU), SENT(0), ASK_READ(-1, 0, MTU), SENT(0),
		STATE(RTS) } },

	{ "duplicate READ does not wait for a gap", .step = {
		ASK_READ(0, 0, MTU), RESPONSE(READ_ONLY, 0, 0, MTU), ASK(WRITE_ONLY, .psn = 2),
		NAK(1, NAK_PSN), ASK_READ(0, 0, MTU), RESPONSE(READ_ONLY, 0, 0, MTU) } },
	/* Only a peer that is wrong about PSNs sends it */
	{ "request with the PSN of a response is not held", .step = {
		ASK(WRITE_ONLY, .psn = 2), NAK(0, NAK_PSN), ASK_READ(0, 0, 3 * MTU), SENT(3),
		FORGET, ASK(WRITE_ONLY, .psn = 3), ACK(3, 2), QUIET } },

	/* Delayed answers */
	{ "fatal NAK is sent after earlier answers", .step = {
		PAUSE, ASK_READ(0, 0, 2 * MTU), ASK(WRITE_ONLY, .psn = 2, .length = 8,
						.payload_bytes = 8, .rkey_xor = 0xbad00),
		/* Neither later packets nor a duplicate change the answer */
		ASK(WRITE_ONLY, .psn = 3), ASK(WRITE_ONLY, .psn = 2),
		ASK(FETCH_ADD, .psn = 2, .va = 4), QUIET, STATE(RTS),
		RESUME, RESPONSE(READ_FIRST, 0, 0, MTU), RESPONSE(READ_LAST, 1, MTU, MTU),
		NAK(2, NAK_ACCESS), STATE(ERR) } },
	{ "duplicate does not replace a pending NAK", .step = {
		GO_BACK, ASK(WRITE_ONLY), ACK(0, 1), PAUSE, ASK(WRITE_ONLY, .psn = 2),
		ASK(WRITE_ONLY), RESUME, NAK(1, NAK_PSN), QUIET } },
	/* The NAK would cost the requester a retry, and there is no gap any more */
	{ "pending NAK is withdrawn if the gap is filled", .step = {
		PAUSE, ASK(WRITE_ONLY), ASK(WRITE_ONLY, .psn = 2),
		ASK(WRITE_ONLY, .psn = 1, .no_ack = true),
		ASK(WRITE_ONLY, .psn = 2, .no_ack = true), RESUME,
		/* The ACK that the second packet had requested, for all of them */
		ACK(2, 3), QUIET, ASK(WRITE_ONLY, .psn = 4), NAK(3, NAK_PSN) } },
	{ "pending RNR NAK is withdrawn if a receive is posted", .step = {
		PAUSE, ASK(SEND_ONLY), POST(1), ASK(SEND_ONLY, .no_ack = true),
		RECEIVED(0, 0, 0), RESUME, ACK(-1, 1), QUIET } },
	{ "gap after an RNR NAK is reported", .step = {
		ASK(SEND_ONLY), NAK(0, RNR), POST(1), ASK(SEND_ONLY), ACK(0, 1),
		ASK(WRITE_ONLY, .psn = 2), NAK(1, NAK_PSN) } },
	/* One of three receives is left after the second message, as the ACK says */
	{ "ACK advertises no receive twice", .step = {
		POST(3), PAUSE, ASK(SEND_ONLY), ASK(SEND_ONLY, .psn = 1, .no_ack = true), RESUME,
		NAK(0, 1), MSN(2) } },
	{ "response replaces an older ACK", .step = {
		PAUSE, ASK(WRITE_ONLY), ASK_READ(1, 0, 2 * MTU), RESUME,
		RESPONSE(READ_FIRST, 1, 0, MTU), RESPONSE(READ_LAST, 2, MTU, MTU), QUIET,
		/* A newer ACK is sent after the responses */
		PAUSE, ASK_READ(3, 0, 2 * MTU), ASK(WRITE_ONLY, .psn = 5), RESUME,
		RESPONSE(READ_FIRST, 3, 0, MTU), RESPONSE(READ_LAST, 4, MTU, MTU), ACK(5, 4) } },
	{ "replayed response does not count as a request", .resources = 1, .step = {
		ASK_READ(0, 0, MTU), RESPONSE(READ_ONLY, 0, 0, MTU), PAUSE, ASK_READ(0, 0, MTU),
		ASK_READ(1, 0, MTU), QUIET, RESUME, RESPONSE(READ_ONLY, 0, 0, MTU),
		RESPONSE(READ_ONLY, 1, 0, MTU), STATE(RTS) } },
	/* As an adapter that was told 3 asks for; not more */
	{ "as many READs as the limit's logarithm permits", .resources = 3, .step = {
		PAUSE, ASK_READ(0, 0, MTU), ASK_READ(1, 0, MTU), ASK_READ(2, 0, MTU),
		ASK_READ(3, 0, MTU), QUIET, RESUME, RESPONSE(READ_ONLY, 0, 0, MTU),
		RESPONSE(READ_ONLY, 1, 0, MTU), RESPONSE(READ_ONLY, 2, 0, MTU),
		RESPONSE(READ_ONLY, 3, 0, MTU), STATE(RTS), PAUSE, ASK_READ(4, 0, MTU),
		ASK_READ(5, 0, MTU), ASK_READ(6, 0, MTU), ASK_READ(7, 0, MTU),
		ASK_READ(8, 0, MTU), RESUME, RESPONSE(READ_ONLY, 4, 0, MTU),
		RESPONSE(READ_ONLY, 5, 0, MTU), RESPONSE(READ_ONLY, 6, 0, MTU),
		RESPONSE(READ_ONLY, 7, 0, MTU), NAK(8, NAK_INVALID), STATE(ERR) } },
	/* Then the new one has to wait, and is repeated by the peer */
	{ "replayed responses use up responder resources", .resources = 1, .step = {
		ASK_READ(0, 0, MTU), ASK_READ(1, 0, MTU), FORGET, PAUSE, ASK_READ(0, 0, MTU),
		ASK_READ(1, 0, MTU), ASK_READ(2, 0, MTU), COUNT(RX_DROPPED_NO_RESOURCE, 1),
		RESUME, RESPONSE(READ_ONLY, 0, 0, MTU), RESPONSE(READ_ONLY, 1, 0, MTU), QUIET,
		ASK_READ(2, 0, MTU), RESPONSE(READ_ONLY, 2, 0, MTU), STATE(RTS) } },
	/* Even a peer that has lost nothing may request this; the first answer is sent in full */
	{ "request for the rest of a READ does not shorten a pending response", .step = {
		PAUSE, ASK_READ(0, 0, 3 * MTU), ASK_READ(2, 2 * MTU, MTU), RESUME,
		RESPONSE(READ_FIRST, 0, 0, MTU), RESPONSE(READ_MIDDLE, 1, MTU, MTU),
		RESPONSE(READ_LAST, 2, 2 * MTU, MTU), QUIET,
		/* After that, the rest may be requested */
		ASK_READ(2, 2 * MTU, MTU), RESPONSE(READ_ONLY, 2, 2 * MTU, MTU), QUIET } },
	/* The peer has had the first answer, and has since revoked the right to the memory */
	{ "replayed response with an invalid key does not fail the QP", .step = {
		POST(1), ASK_READ(0, 0, MTU), RESPONSE(READ_ONLY, 0, 0, MTU), PAUSE,
		ASK_READ(0, 0, MTU), ASK(SEND_ONLY_INV, .psn = 1), RESUME, NAK(0, NAK_ACCESS),
		ACK(1, 2), STATE(RTS) } },

	{ "RESET clears answered READs", .step = {
		ASK_READ(0, 0, MTU), FORGET, MOVE(RESET), BRING_UP, ASK(WRITE_ONLY), ACK(0, 1),
		ASK_READ(0, 0, MTU), QUIET } },
	{ "RESET clears a fault not reported yet", .step = {
		PAUSE, ASK_READ(0, 0, MTU), ASK(WRITE_ONLY, .psn = 1, .length = 8,
						.payload_bytes = 8, .rkey_xor = 0xbad00),
		MOVE(RESET), BRING_UP, RESUME, QUIET, ASK(WRITE_ONLY), ACK(0, 1) } },
	{ "RESET clears the message and its receive request", .step = {
		POST(1), ASK(WRITE_ONLY), ACK(0, 1), PART(SEND_FIRST, 1, MTU), ACK(1, 1),
		MOVE(RESET), BRING_UP, POST(1), ASK(SEND_ONLY, .payload_bytes = 9), ACK(0, 1),
		DONE(2, SUCCESS), STATE(RTS) } },

	/* Without acknowledgements */
	{ "UC drops a message with a gap", .type = IB_QPT_UC, .region = NONE, .step = {
		POST(1), ASK(UC | SEND_FIRST, .payload_bytes = MTU),
		ASK(UC | SEND_LAST, .psn = 2, .payload_bytes = 8), QUIET,
		ASK(UC | SEND_ONLY, .psn = 3, .payload_bytes = 9), SENT(0), RECEIVED(9, 0, 0),
		STATE(RTS) } },
	/* 9.8.2.2.2 */
	{ "UC drops an unfinished message if another begins", .type = IB_QPT_UC, .region = NONE,
	  .step = {
		POST(1), ASK(UC | SEND_FIRST, .payload_bytes = MTU),
		ASK(UC | SEND_ONLY, .psn = 1, .payload_bytes = 9), RECEIVED(9, 0, 0),
		ASK(UC | SEND_LAST, .psn = 2, .payload_bytes = 8), QUIET,
		COUNT(RX_DROPPED_BAD_SEQUENCE, 1), STATE(RTS) } },
	{ "UC drops a bad request", .type = IB_QPT_UC, .access = IB_ACCESS_LOCAL_WRITE, .step = {
		CLEAR(0, 8), ASK(UC | WRITE_ONLY, .length = 8, .payload_bytes = 8),
		ASK(UC | SEND_ONLY, .psn = 1), QUIET, WORD(0), STATE(RTS),
		COUNT(OUT_OF_SEQUENCE, 0) } },
	/* The receiver's own fault: only its user is informed */
	{ "UC fails on a receive with a wrong key", .type = IB_QPT_UC, .region = NONE, .step = {
		POST_BAD, ASK(UC | SEND_ONLY, .payload_bytes = 8), DONE(1, LOC_PROT_ERR),
		SENT(0), STATE(ERR), ASK(UC | SEND_ONLY, .psn = 1), COUNT(RX_PACKETS, 1) } },
	{ "UD fails on a receive with a wrong key", .type = IB_QPT_UD, .region = NONE, .step = {
		POST_BAD, DATAGRAM(TEST_QKEY, 8), DONE(1, LOC_PROT_ERR), SENT(0),
		STATE(ERR) } },

	/* It reads the memory's current contents */
	{ "duplicate READ needs remote read access", .step = {
		ASK_READ(0, 0, MTU), RESPONSE(READ_ONLY, 0, 0, MTU), ASK_READ(0, 0, MTU),
		RESPONSE(READ_ONLY, 0, 0, MTU), RIGHTS(IB_ACCESS_REMOTE_WRITE), ASK_READ(0, 0, MTU),
		SENT(0), STATE(RTS) } },

	/* Datagrams: they cannot stop the queue, as anyone may send them */
	{ "datagram is delivered with its GRH", .type = IB_QPT_UD, .region = NONE, .step = {
		POST(1), DATAGRAM(TEST_QKEY, 21), RECEIVED(40 + 21, UD_FLAGS, 0), GRH,
		PAYLOAD(BUFFER_OFFSET + 40, 21), SENT(0) } },
	{ "datagram that does not fit is dropped", .type = IB_QPT_UD, .region = NONE, .step = {
		POST_OF(40 + 10), DATAGRAM(TEST_QKEY, 11), QUIET,
		COUNT(RESP_LOCAL_LENGTH_ERROR, 1), STATE(RTS), DATAGRAM(TEST_QKEY, 10),
		RECEIVED(40 + 10, UD_FLAGS, 0) } },
	{ "datagram with another Q_Key is counted and dropped", .type = IB_QPT_UD,
	  .region = NONE, .step = {
		POST(1), DATAGRAM(TEST_QKEY ^ 1, 8), QUIET, COUNT(RX_DROPPED_BAD_QKEY, 1),
		STATE(RTS) } },
};
TEST_COURSES(responder_follows_the_protocol, courses, &open_qp, REGION_BYTES)

static void table_of_nak_actions_is_complete(struct kunit *test)
{
	int status;

	KUNIT_EXPECT_FALSE(test, rhca_nak_actions[RHCA_PASS].answers);
	KUNIT_EXPECT_FALSE(test, rhca_nak_actions[RHCA_DROP].answers);
	KUNIT_EXPECT_FALSE(test, rhca_nak_actions[RHCA_DUPLICATE].answers);
	for (status = RHCA_NO_BUFFER; status < RHCA_NUM_REQUEST_STATUSES; status++)
		KUNIT_EXPECT_TRUE_MSG(test, rhca_nak_actions[status].answers, "status %d", status);
}

/* --- flush --------------------------------------------------------------------------- */

#define MANY_RECEIVES	400

/* A QP in ERR whose receives are not flushed: the change was not reported */
static struct bench *setup_failed(struct kunit *test, u32 entries)
{
	struct bench *b = test_alloc(test, sizeof(*b));
	struct ib_cq_init_attr cq = { .cqe = entries };
	struct ib_qp_cap cap = { .max_send_wr = 1, .max_recv_wr = MANY_RECEIVES,
				 .max_send_sge = 1, .max_recv_sge = 1 };
	u32 i;

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	KUNIT_ASSERT_EQ(test, 0, ib_destroy_cq_user(b->hca->cq, NULL));
	b->hca->cq = ib_create_cq(b->hca->ibdev, NULL, NULL, NULL, &cq);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->hca->cq));
	b->qp = test_qp_of(b->hca, IB_QPT_RC, &cap);
	b->sw = to_sw_qp(ibqp_to_verbs(b->qp));
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_RTS);
	for (i = 0; i < MANY_RECEIVES; i++)
		test_post_recv(b->hca, b->qp, i, BUFFER_OFFSET, BUFFER_BYTES);
	KUNIT_ASSERT_TRUE(test, rhca_qp_fail(&b->sw->base, IB_QPS_ERR));
	return b;
}

static struct rhca_batch flush_once(struct bench *b)
{
	struct rhca_batch batch = {};

	spin_lock_bh(&b->sw->recv.lock);
	rhca_responder_flush(b->sw, &batch);
	spin_unlock_bh(&b->sw->recv.lock);
	return batch;
}

static void flush_is_done_in_portions(struct kunit *test)
{
	struct rhca_batch batch;
	struct bench *b = setup_failed(test, 2 * MANY_RECEIVES);

	batch = flush_once(b);
	KUNIT_EXPECT_EQ(test, batch.flushed, RHCA_FLUSH_BUDGET);
	KUNIT_EXPECT_TRUE(test, batch.flush_more);
	batch = flush_once(b);
	KUNIT_EXPECT_EQ(test, batch.flushed, MANY_RECEIVES - RHCA_FLUSH_BUDGET);
	KUNIT_EXPECT_FALSE(test, batch.flush_more);
}

static void nothing_is_flushed_to_a_queue_that_lost_completions(struct kunit *test)
{
	struct bench *b = setup_failed(test, 64);

	b->sw->base.is_user = true;
	flush_once(b);
	KUNIT_EXPECT_EQ(test, flush_once(b).flushed, 0);
	b->sw->base.is_user = false;
}

/* Another QP whose late flush takes any length of time */
struct obstacle {
	struct work_struct work;	/* the flush */
	struct completion begun;	/* it has started */
	struct completion end;		/* it may end */
};

static void obstruct(struct work_struct *work)
{
	struct obstacle *o = container_of(work, struct obstacle, work);

	complete(&o->begun);
	wait_for_completion(&o->end);
}

static const struct failed_case {
	const char *desc;
	bool is_user;
} failed_cases[] = { { "of a process", true }, { "of a kernel user", false } };
KUNIT_ARRAY_PARAM_DESC(failed, failed_cases, desc);

/* Without waiting for late flushes of processes, whoever its user is */
static void failed_qp_flushes_all_its_receives(struct kunit *test)
{
	const struct failed_case *c = test->param_value;
	struct rhca_batch batch = { .flush_send = true, .flush_recv = true };
	struct bench *b = setup_failed(test, c->is_user ? 512 : 64);
	struct rhca_ring *unposted = &b->sw->base.sq.ring;
	struct obstacle o;
	struct ib_wc wc;
	int i;

	if (c->is_user)
		KUNIT_ASSERT_EQ(test, 0, rhca_ring_alloc(unposted, 1, 64, NULL, NULL));
	INIT_WORK_ONSTACK(&o.work, obstruct);
	init_completion(&o.begun);
	init_completion(&o.end);
	queue_work(rhca_flush_again_wq, &o.work);
	wait_for_completion(&o.begun);
	b->sw->base.is_user = c->is_user;
	rhca_batch_end(b->sw, &batch);
	for (i = 0; i < MANY_RECEIVES && test_poll_in_time(b->hca, &wc); i++) {
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_WR_FLUSH_ERR);
	}
	KUNIT_EXPECT_EQ(test, i, MANY_RECEIVES);
	complete(&o.end);
	flush_work(&o.work);
	destroy_work_on_stack(&o.work);
	if (!c->is_user) {
		local_irq_disable();
		test_post_recv(b->hca, b->qp, i, BUFFER_OFFSET, BUFFER_BYTES);
		local_irq_enable();
		KUNIT_EXPECT_TRUE(test, test_poll_in_time(b->hca, &wc));
		return;
	}
	flush_delayed_work(&b->sw->flush_again);
	KUNIT_EXPECT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
	b->sw->base.is_user = false;
	rhca_ring_free(unposted);
}

/* A process has filled its rings for minutes since the failure */
static void used_up_credit_does_not_wrap(struct kunit *test)
{
	struct rhca_batch batch = { .flush_more = true, .flushed = RHCA_FLUSH_BUDGET };
	struct bench *b = setup(test);

	b->sw->base.is_user = true;
	atomic_set(&b->sw->flush_credit, INT_MIN);
	rhca_batch_end(b->sw, &batch);
	KUNIT_EXPECT_LE(test, atomic_read(&b->sw->flush_credit), 0);
	b->sw->base.is_user = false;
}

/* A poller may see the failure, then reset and reuse the QP, before the flush starts */
static void late_flush_spares_a_qp_that_was_reset(struct kunit *test)
{
	struct rhca_batch batch = { .flush_send = true, .flush_recv = true };
	struct bench *b = setup(test);
	struct ib_wc wc;

	KUNIT_ASSERT_TRUE(test, rhca_qp_fail(&b->sw->base, IB_QPS_ERR));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_INIT);
	test_post_recv(b->hca, b->qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	rhca_batch_end(b->sw, &batch);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
}

/* --- packets that never reach the QP ------------------------------------------------------ */

#define CHANGE(name, change)	static void name(struct test_packet *p) { change; }

CHANGE(same, (void)p)
CHANGE(other_source, p->flow.sgid.raw[15] ^= 1)
CHANGE(other_destination, p->flow.dgid.raw[15] ^= 1)
CHANGE(other_transport, p->bth.opcode = UC | SEND_ONLY)
CHANGE(other_qp, p->bth.dest_qpn = 0xfffff0)

/* A packet that is not for the QP, and its counter */
static const struct foreign_case {
	const char *desc;			/* why */
	void (*change)(struct test_packet *p);	/* makes it so */
	enum rhca_counter counter;		/* that counts it */
	enum ib_qp_state state;			/* of the QP, RTS if 0 */
} foreign_cases[] = {
	{ "another source",	other_source,	RHCA_RX_DROPPED_NOT_FOR_US },
	{ "another transport",	other_transport, RHCA_RX_DROPPED_BAD_OPCODE },
	{ "another QP",		other_qp,	RHCA_RX_DROPPED_NO_QP },
	{ "another destination", other_destination, RHCA_RX_DROPPED_NOT_FOR_US },
	{ "a QP that does not receive", same, RHCA_RX_DROPPED_QP_STATE, IB_QPS_INIT },
};
KUNIT_ARRAY_PARAM_DESC(foreign, foreign_cases, desc);

static void from_the_peer(struct bench *b, struct test_packet *p)
{
	*p = (struct test_packet) {
		.bth = { .opcode = SEND_ONLY, .psn = FIRST_PSN, .ack_req = true,
			 .dest_qpn = b->qp->qp_num },
	};
	test_from_peer(b->hca, p);
}

static void foreign_packet_is_counted_and_dropped(struct kunit *test)
{
	const struct foreign_case *c = test->param_value;
	struct bench *b = test_bench(test, IB_QPT_RC, &open_qp, c->state ?: IB_QPS_RTS);
	struct test_packet p;

	test_post_recv(b->hca, b->qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	from_the_peer(b, &p);
	c->change(&p);
	test_receive(b->hca, &p);
	is_quiet(b, NULL);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, c->counter), 1);
	from_the_peer(b, &p);
	test_receive(b->hca, &p);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), !c->state);
}

static void first_message_in_rtr_raises_comm_est(struct kunit *test)
{
	struct bench *b = test_bench(test, IB_QPT_RC, &open_qp, IB_QPS_RTR);

	do_post(b, &(struct step)POST(1));
	KUNIT_EXPECT_EQ(test, b->hca->events, 0);
	test_ask(b, &(struct request) { SEND_ONLY });
	KUNIT_EXPECT_EQ(test, b->hca->events, BIT(IB_EVENT_COMM_EST));
	is_ack(b, &(struct step)ACK(0, 1));

	/* Once, and of the next connection, too */
	b->hca->events = 0;
	test_ask(b, &(struct request) { WRITE_ONLY, .psn = 1 });
	KUNIT_EXPECT_EQ(test, b->hca->events, 0);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_RTR);
	test_ask(b, &(struct request) { WRITE_ONLY });
	KUNIT_EXPECT_EQ(test, b->hca->events, BIT(IB_EVENT_COMM_EST));
}

/* A datagram establishes nothing */
static void datagram_in_rtr_raises_no_event(struct kunit *test)
{
	struct bench *b = test_bench(test, IB_QPT_UD, &open_qp, IB_QPS_RTR);

	do_post(b, &(struct step)POST(1));
	do_ask(b, &(struct step)DATAGRAM(TEST_QKEY, 8));
	is_received(b, &(struct step)RECEIVED(40 + 8, UD_FLAGS, 0));
	KUNIT_EXPECT_EQ(test, b->hca->events, 0);
}

/* --- noise --------------------------------------------------------------------------------- */

#define ROUNDS		300
#define REQUESTS	24
#define EDGE		64	/* addresses are tried this far around an end */

static s64 address_at_random(struct rnd_state *rnd)
{
	u32 pick = prandom_u32_state(rnd);

	switch (pick & 31) {
	case 0:
		return (s64)(pick >> 5 & (EDGE - 1)) - EDGE / 2;
	case 1:
		return REGION_BYTES + (s64)(pick >> 5 & (EDGE - 1)) - EDGE / 2;
	case 2:
		return pick;
	default:
		return pick >> 5 & (REGION_BYTES / 2 - 1) & ~7;
	}
}

/* A plausible next request, but for its address */
static void plausible(const struct rhca_responder *recv, u32 pick, struct request *r)
{
	static const u8 starts[] = {
		SEND_FIRST, SEND_ONLY, SEND_ONLY_IMM, WRITE_FIRST, WRITE_ONLY,
		WRITE_ONLY_IMM, READ_REQUEST, CMP_SWAP, FETCH_ADD, };
	bool write = rhca_opcodes[recv->message_opcode].flags & RHCA_OP_WRITE;

	if (recv->in_message)
		r->opcode = (write ? WRITE_FIRST : SEND_FIRST) + 1 + (pick & 1);
	else
		r->opcode = starts[pick % ARRAY_SIZE(starts)];
	if (r->opcode == READ_REQUEST)
		r->length = pick >> 8 & (4 * MTU - 1);
	else if (r->opcode < READ_REQUEST)
		r->payload_bytes = 1 + (pick >> 8) % MTU;
	if (rhca_opcodes[r->opcode].flags & (RHCA_OP_FIRST | RHCA_OP_MIDDLE))
		r->payload_bytes = MTU;
	if (r->opcode == WRITE_LAST)
		r->payload_bytes = min_t(u32, recv->write_left, MTU);
	if (r->opcode == WRITE_FIRST)
		r->length = MTU + 1 + (pick >> 16 & 1023);
	else if (r->opcode != READ_REQUEST)
		r->length = r->payload_bytes;
}

/* Change one thing about it */
static void implausible(struct rnd_state *rnd, struct request *r)
{
	u32 pick = prandom_u32_state(rnd);

	switch (pick & 3) {
	case 0:
		r->opcode = pick >> 2 & 15;
		break;
	case 1:
		r->psn += (int)(pick >> 2 & 15) - 12;
		break;
	case 2:
		r->length = prandom_u32_state(rnd) >> (pick >> 2 & 31);
		break;
	default:
		r->payload_bytes = r->opcode < READ_REQUEST ? pick >> 2 & 511 : 0;
		break;
	}
}

static void ask_at_random(struct bench *b, struct rnd_state *rnd)
{
	u32 pick = prandom_u32_state(rnd);
	struct request r = {
		.psn = rhca_psn_diff(b->sw->recv.expected_psn, FIRST_PSN),
		.no_ack = pick & 1,
		.va = address_at_random(rnd),
		.swap_add = pick,
	};

	plausible(&b->sw->recv, prandom_u32_state(rnd), &r);
	if (!(pick >> 1 & 7))
		implausible(rnd, &r);
	test_ask(b, &r);
}

static void restart(struct bench *b)
{
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(b->hca->test, 0, test_qp_move(b->qp, IB_QPS_RESET));
	while (test_poll(b->hca, &wc))
		;
	do_forget(b, NULL);
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_RTS);
}

/* No byte around the region or the receive buffers may change */
static void expect_untouched(struct kunit *test, struct bench *b)
{
	const u8 *buffer = b->hca->buffer;
	u32 end = BUFFER_OFFSET + BUFFER_BYTES;

	KUNIT_EXPECT_PTR_EQ(test, NULL,
			    memchr_inv(buffer + REGION_BYTES, 0x5a,
				       BUFFER_OFFSET - REGION_BYTES));
	KUNIT_EXPECT_PTR_EQ(test, NULL, memchr_inv(buffer + end, 0x5a, TEST_BUFFER_BYTES - end));
}

static void random_packets_change_only_what_keys_allow(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rnd_state rnd;
	int round, i;

	prandom_seed_state(&rnd, 0x18515);
	memset(b->hca->buffer, 0x5a, TEST_BUFFER_BYTES);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 6; i++)
			test_post_recv(b->hca, b->qp, i, BUFFER_OFFSET, BUFFER_BYTES);
		for (i = 0; i < REQUESTS; i++)
			ask_at_random(b, &rnd);
		expect_untouched(test, b);
		restart(b);
	}
	/* Some requests passed the checks, and several kinds of checks failed */
	KUNIT_EXPECT_GT(test, test_count(b->hca, RHCA_RX_WRITE_REQUESTS), ROUNDS / 10);
	KUNIT_EXPECT_GT(test, test_count(b->hca, RHCA_RX_READ_REQUESTS), ROUNDS / 10);
	KUNIT_EXPECT_GT(test, test_count(b->hca, RHCA_RX_ATOMIC_REQUESTS), ROUNDS / 10);
	KUNIT_EXPECT_GT(test, test_count(b->hca, RHCA_RESP_REMOTE_ACCESS_ERRORS), ROUNDS / 10);
	KUNIT_EXPECT_GT(test, test_count(b->hca, RHCA_DUPLICATE_REQUEST), ROUNDS / 10);
}

TEST_SUITE(rhca_responder,
	   KUNIT_CASE_PARAM(request_is_refused_as_table_44_says, refusals_gen_params),
	   KUNIT_CASE_PARAM(responder_follows_the_protocol, courses_gen_params),
	   KUNIT_CASE(table_of_nak_actions_is_complete),
	   KUNIT_CASE(flush_is_done_in_portions),
	   KUNIT_CASE(nothing_is_flushed_to_a_queue_that_lost_completions),
	   KUNIT_CASE_PARAM(failed_qp_flushes_all_its_receives, failed_gen_params),
	   KUNIT_CASE(used_up_credit_does_not_wrap),
	   KUNIT_CASE(late_flush_spares_a_qp_that_was_reset),
	   KUNIT_CASE_PARAM(foreign_packet_is_counted_and_dropped, foreign_gen_params),
	   KUNIT_CASE(first_message_in_rtr_raises_comm_est),
	   KUNIT_CASE(datagram_in_rtr_raises_no_event),
	   KUNIT_CASE(random_packets_change_only_what_keys_allow));
