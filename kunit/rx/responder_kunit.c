// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: each request that comes in, what is answered, what completes
 * and in which state the QP is afterwards. IBTA vol. 1, 9.7.4 and 9.7.5.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/prandom.h>
#include <linux/unaligned.h>
#include <linux/workqueue.h>

#include "core/counters.h"
#include "core/device.h"
#include "sw/verbs/qp/qp.h"
#include "lib/hca.h"
#include "sw/backend.h"
#include "sw/qp/qp.h"
#include "sw/qp/flush.h"
#include "sw/qp/after.h"
#include "sw/qp/turn_sched.h"
#include "sw/rx/recv_completion.h"
#include "sw/rx/responder.h"
#include "wire/psn.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xffffff	/* the second request is behind the wrap */
#define REGION_BYTES	4096
#define BUFFER_OFFSET	8192		/* receive buffers, outside the region */
#define BUFFER_BYTES	600

/* Opcodes of table 38 */
#define SEND_FIRST	0x00
#define SEND_MIDDLE	0x01
#define SEND_LAST	0x02
#define SEND_LAST_IMM	0x03
#define SEND_ONLY	0x04
#define SEND_ONLY_IMM	0x05
#define WRITE_FIRST	0x06
#define WRITE_MIDDLE	0x07
#define WRITE_LAST	0x08
#define WRITE_ONLY	0x0a
#define WRITE_ONLY_IMM	0x0b
#define READ_REQUEST	0x0c
#define READ_FIRST	0x0d
#define READ_MIDDLE	0x0e
#define READ_LAST	0x0f
#define READ_ONLY	0x10
#define ACKNOWLEDGE	0x11
#define ATOMIC_ACK	0x12
#define CMP_SWAP	0x13
#define FETCH_ADD	0x14
#define UNDEFINED	0x15	/* reserved */
#define SEND_ONLY_INV	0x17
#define UC		0x20

/* Syndromes of table 43 */
#define NAK_PSN		0x60
#define NAK_INVALID	0x61
#define NAK_ACCESS	0x62
#define NAK_OPERATION	0x63
#define RNR		(0x20 | TEST_RNR_TIMER)
#define SILENCE		0xff

#define ALL_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

static const struct test_qp_spec open_qp = {
	.access = ALL_RIGHTS, .rq_psn = FIRST_PSN, .responder_resources = 16,
	.initiator_depth = 16, .retries = 7,
};

/**
 * struct bench - A QP with a region that the peer may use
 * @hca: the device
 * @qp: the QP
 * @sent: room for an answer
 * @va: the region's first address
 */
struct bench {
	struct test_hca *hca;
	struct ib_qp *qp;
	struct test_sent *sent;
	u64 va;
};

static void setup(struct bench *b, struct kunit *test, enum ib_qp_type type,
		  const struct test_qp_spec *spec, int region_access)
{
	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->qp = test_qp(b->hca, type);
	b->sent = test_alloc(test, sizeof(*b->sent));
	b->va = (uintptr_t)b->hca->buffer;
	test_qp_bring_up(b->hca, b->qp, spec, IB_QPS_RTS);
	if (region_access)
		test_mr(b->hca, b->qp, REGION_BYTES, region_access);
}

/* Extended headers as bytes; what an opcode does not have is left out */
struct request {
	u8 opcode;
	int psn;		/* after FIRST_PSN */
	bool no_ack;
	u32 payload_bytes;
	s64 va;			/* from the begin of the region */
	u32 length;
	u32 rkey_xor;		/* makes the key another one */
	u64 swap_add;
	u64 compare;
	u32 immediate;
};

static unsigned int put_reth(u8 *to, struct bench *b, const struct request *r)
{
	put_unaligned_be64(b->va + r->va, to);
	put_unaligned_be32((b->hca->mr ? b->hca->mr->rkey : 0) ^ r->rkey_xor,
			   to + 8);
	put_unaligned_be32(r->length, to + 12);
	return 16;
}

static unsigned int put_atomic(u8 *to, struct bench *b, const struct request *r)
{
	put_reth(to, b, r);
	put_unaligned_be64(r->swap_add, to + 12);
	put_unaligned_be64(r->compare, to + 20);
	return 28;
}

static unsigned int put_headers(u8 *to, struct bench *b,
				const struct request *r)
{
	unsigned int bytes = 0;

	switch (r->opcode & 0x1f) {
	case WRITE_FIRST:
	case WRITE_ONLY:
	case READ_REQUEST:
		return put_reth(to, b, r);
	case WRITE_ONLY_IMM:
		bytes = put_reth(to, b, r);
		break;
	case CMP_SWAP:
	case FETCH_ADD:
		return put_atomic(to, b, r);
	case SEND_LAST_IMM:
	case SEND_ONLY_IMM:
		break;
	case SEND_ONLY_INV:
		put_unaligned_be32(b->hca->mr->rkey ^ r->rkey_xor, to);
		return 4;
	default:
		return 0;
	}
	put_unaligned_be32(r->immediate, to + bytes);
	return bytes + 4;
}

static void ask(struct bench *b, const struct request *r)
{
	u8 headers[64];
	struct test_packet p = {
		.bth = {
			.opcode = r->opcode,
			.psn = (FIRST_PSN + r->psn) & 0xffffff,
			.dest_qpn = b->qp->qp_num,
			.ack_req = !r->no_ack,
		},
		.extended = headers,
		.extended_bytes = put_headers(headers, b, r),
		.payload_bytes = r->payload_bytes,
	};

	test_receive(b->hca, &p);
}

static u8 sent_syndrome(const struct bench *b)
{
	return b->sent->extended[0];
}

static u32 sent_msn(const struct bench *b)
{
	return get_unaligned_be32(b->sent->extended) & 0xffffff;
}

static void expect_ack(struct kunit *test, struct bench *b, int psn, u32 msn)
{
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + psn) & 0xffffff);
	KUNIT_EXPECT_EQ(test, b->sent->dest_qpn, TEST_PEER_QPN);
	KUNIT_EXPECT_EQ(test, sent_syndrome(b) >> 5, 0);
	KUNIT_EXPECT_EQ(test, sent_msn(b), msn);
}

static void expect_silence(struct kunit *test, struct bench *b)
{
	struct ib_wc wc;

	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
}

/* --- rejected requests ----------------------------------------------------------- */

/**
 * struct rejection_case - Requests of which the last is refused
 * @desc: why
 * @requests: up to three; one with opcode 0 and PSN 0 behind the first ends them
 * @num: how many
 * @access: qp_access_flags, ALL_RIGHTS when 0
 * @region: rights of the region, ALL_RIGHTS when 0
 * @no_resources: max_dest_rd_atomic is 0
 * @receives: receive requests that are posted
 * @bad_lkey: their key is wrong
 * @syndrome: of the NAK, or SILENCE
 * @wc: status of the receive request that was taken; IB_WC_SUCCESS for none
 * @alive: the QP stays in RTS
 */
struct rejection_case {
	const char *desc;
	struct request requests[3];
	int num;
	int access;
	int region;
	bool no_resources;
	int receives;
	bool bad_lkey;
	u8 syndrome;
	enum ib_wc_status wc;
	bool alive;
};

#define REQUEST1(...)	.requests = { __VA_ARGS__ }, .num = 1
#define REQUEST2(...)	.requests = { __VA_ARGS__ }, .num = 2

#define WRITE_OF(op, at, n)	{ .opcode = (op), .va = (at), .length = (n), \
				  .payload_bytes = (n) }
#define READ_OF(at, n)		{ .opcode = READ_REQUEST, .va = (at), \
				  .length = (n) }

static const struct rejection_case rejection_cases[] = {
	/* PSN sequence error */
	{ "a gap", REQUEST1({ SEND_ONLY, .psn = 1 }), .receives = 1,
	  .syndrome = NAK_PSN, .alive = true },
	{ "the farthest gap", REQUEST1({ SEND_ONLY, .psn = 0x7fffff }),
	  .receives = 1, .syndrome = NAK_PSN, .alive = true },

	/* receiver not ready */
	{ "SEND without a receive", REQUEST1({ SEND_ONLY }), .syndrome = RNR, .alive = true },
	{ "SEND first without a receive",
	  REQUEST1({ SEND_FIRST, .payload_bytes = MTU }), .syndrome = RNR,
	  .alive = true },
	{ "WRITE_IMM without a receive", REQUEST1({ WRITE_ONLY_IMM }),
	  .syndrome = RNR, .alive = true },

	/* invalid request: order of packets */
	{ "middle without a first",
	  REQUEST1({ SEND_MIDDLE, .payload_bytes = MTU }), .receives = 1,
	  .syndrome = NAK_INVALID },
	{ "last without a first",
	  REQUEST1({ SEND_LAST, .payload_bytes = 8 }), .receives = 1,
	  .syndrome = NAK_INVALID },
	{ "only inside a message",
	  REQUEST2({ SEND_FIRST, .payload_bytes = MTU },
		   { SEND_ONLY, .psn = 1 }), .receives = 2,
	  .syndrome = NAK_INVALID, .wc = IB_WC_REM_INV_REQ_ERR },
	{ "READ inside a message",
	  REQUEST2({ SEND_FIRST, .payload_bytes = MTU },
		   { READ_REQUEST, .psn = 1, .length = 8 }), .receives = 2,
	  .syndrome = NAK_INVALID, .wc = IB_WC_REM_INV_REQ_ERR },
	{ "WRITE goes on as SEND",
	  REQUEST2({ WRITE_FIRST, .payload_bytes = MTU, .length = 2 * MTU },
		   { SEND_LAST, .psn = 1, .payload_bytes = MTU }),
	  .receives = 1, .syndrome = NAK_INVALID },
	{ "SEND goes on as WRITE",
	  REQUEST2({ SEND_FIRST, .payload_bytes = MTU },
		   { WRITE_LAST, .psn = 1, .payload_bytes = MTU }),
	  .receives = 1, .syndrome = NAK_INVALID,
	  .wc = IB_WC_REM_INV_REQ_ERR },

	/* invalid request: an opcode that means nothing */
	{ "reserved opcode", REQUEST1({ UNDEFINED, .payload_bytes = 8 }),
	  .receives = 1, .syndrome = NAK_INVALID },
	{ "reserved opcode inside a message",
	  REQUEST2({ SEND_FIRST, .payload_bytes = MTU },
		   { UNDEFINED, .psn = 1 }), .receives = 1,
	  .syndrome = NAK_INVALID, .wc = IB_WC_REM_INV_REQ_ERR },

	/* invalid request: lengths */
	{ "first shorter than the MTU",
	  REQUEST1({ SEND_FIRST, .payload_bytes = MTU - 4 }), .receives = 1,
	  .syndrome = NAK_INVALID },
	{ "first longer than the MTU",
	  REQUEST1({ SEND_FIRST, .payload_bytes = MTU + 4 }), .receives = 1,
	  .syndrome = NAK_INVALID },
	{ "only longer than the MTU",
	  REQUEST1({ SEND_ONLY, .payload_bytes = MTU + 1 }), .receives = 1,
	  .syndrome = NAK_INVALID },
	{ "last of nothing",
	  REQUEST2({ SEND_FIRST, .payload_bytes = MTU },
		   { SEND_LAST, .psn = 1 }), .receives = 1,
	  .syndrome = NAK_INVALID, .wc = IB_WC_REM_INV_REQ_ERR },
	{ "SEND longer than its buffer",
	  REQUEST1({ SEND_ONLY, .payload_bytes = MTU }), .receives = 1,
	  .region = IB_ACCESS_LOCAL_WRITE, .syndrome = NAK_INVALID,
	  .wc = IB_WC_LOC_LEN_ERR },
	{ "WRITE only with less than it says",
	  REQUEST1({ WRITE_ONLY, .payload_bytes = 8, .length = 12 }),
	  .syndrome = NAK_INVALID },
	{ "WRITE only with more than it says",
	  REQUEST1({ WRITE_ONLY, .payload_bytes = 12, .length = 8 }),
	  .syndrome = NAK_INVALID },
	{ "WRITE last with more than is left",
	  REQUEST2({ WRITE_FIRST, .payload_bytes = MTU, .length = MTU + 8 },
		   { WRITE_LAST, .psn = 1, .payload_bytes = 12 }),
	  .syndrome = NAK_INVALID },
	{ "WRITE middle though it is done",
	  REQUEST2({ WRITE_FIRST, .payload_bytes = MTU, .length = MTU + 8 },
		   { WRITE_MIDDLE, .psn = 1, .payload_bytes = MTU }),
	  .syndrome = NAK_INVALID },
	{ "WRITE longer than a message",
	  REQUEST1({ WRITE_FIRST, .payload_bytes = MTU,
		   .length = 0x80000001 }), .syndrome = NAK_INVALID },
	{ "READ longer than a message", REQUEST1(READ_OF(0, 0x80000001)),
	  .syndrome = NAK_INVALID },
	{ "atomic that is not aligned",
	  REQUEST1({ FETCH_ADD, .va = 4 }), .syndrome = NAK_INVALID },

	/* invalid request: what the QP does not allow */
	{ "WRITE that the QP forbids", REQUEST1(WRITE_OF(WRITE_ONLY, 0, 8)),
	  .access = ALL_RIGHTS & ~IB_ACCESS_REMOTE_WRITE,
	  .syndrome = NAK_INVALID },
	{ "READ that the QP forbids", REQUEST1(READ_OF(0, 8)),
	  .access = ALL_RIGHTS & ~IB_ACCESS_REMOTE_READ,
	  .syndrome = NAK_INVALID },
	{ "atomic that the QP forbids", REQUEST1({ FETCH_ADD }),
	  .access = ALL_RIGHTS & ~IB_ACCESS_REMOTE_ATOMIC,
	  .syndrome = NAK_INVALID },
	{ "READ without responder resources", REQUEST1(READ_OF(0, 8)),
	  .no_resources = true, .syndrome = NAK_INVALID },
	{ "atomic without responder resources", REQUEST1({ CMP_SWAP }),
	  .no_resources = true, .syndrome = NAK_INVALID },

	/* remote access error */
	{ "WRITE with an unknown key",
	  REQUEST1({ WRITE_ONLY, .payload_bytes = 8, .length = 8,
		   .rkey_xor = 0x100000 }), .syndrome = NAK_ACCESS },
	{ "WRITE with a stale key",
	  REQUEST1({ WRITE_ONLY, .payload_bytes = 8, .length = 8,
		   .rkey_xor = 1 }), .syndrome = NAK_ACCESS },
	{ "WRITE before the region", REQUEST1(WRITE_OF(WRITE_ONLY, -1, 8)),
	  .syndrome = NAK_ACCESS },
	{ "WRITE over its end",
	  REQUEST1(WRITE_OF(WRITE_ONLY, REGION_BYTES - 7, 8)),
	  .syndrome = NAK_ACCESS },
	{ "WRITE first that would go over its end",
	  REQUEST1({ WRITE_FIRST, .payload_bytes = MTU,
		   .length = REGION_BYTES + 1 }), .syndrome = NAK_ACCESS },
	{ "WRITE to memory that may be read",
	  REQUEST1(WRITE_OF(WRITE_ONLY, 0, 8)),
	  .region = ALL_RIGHTS & ~IB_ACCESS_REMOTE_WRITE,
	  .syndrome = NAK_ACCESS },
	{ "READ of memory that may be written", REQUEST1(READ_OF(0, 8)),
	  .region = ALL_RIGHTS & ~IB_ACCESS_REMOTE_READ,
	  .syndrome = NAK_ACCESS },
	{ "READ over the end", REQUEST1(READ_OF(1, REGION_BYTES)), .syndrome = NAK_ACCESS },
	{ "READ with an unknown key",
	  REQUEST1({ READ_REQUEST, .length = 8, .rkey_xor = 0x100000 }),
	  .syndrome = NAK_ACCESS },
	{ "atomic on memory that may be written", REQUEST1({ FETCH_ADD }),
	  .region = ALL_RIGHTS & ~IB_ACCESS_REMOTE_ATOMIC,
	  .syndrome = NAK_ACCESS },
	{ "atomic behind the end",
	  REQUEST1({ CMP_SWAP, .va = REGION_BYTES }), .syndrome = NAK_ACCESS },
	{ "invalidation of an unknown key",
	  REQUEST1({ SEND_ONLY_INV, .rkey_xor = 0x100000 }), .receives = 1,
	  .syndrome = NAK_ACCESS, .wc = IB_WC_REM_ACCESS_ERR },

	/* remote operational error */
	{ "receive with a wrong key",
	  REQUEST1({ SEND_ONLY, .payload_bytes = 8 }), .receives = 1,
	  .bad_lkey = true, .syndrome = NAK_OPERATION,
	  .wc = IB_WC_LOC_PROT_ERR },
};
KUNIT_ARRAY_PARAM_DESC(rejection, rejection_cases, desc);

/* The case about a buffer that is too short gets a short one */
static void post_receives(struct bench *b, const struct rejection_case *c)
{
	u32 bytes = c->wc == IB_WC_LOC_LEN_ERR ? MTU - 1 : BUFFER_BYTES;
	struct ib_sge sge = {
		.addr = b->va + BUFFER_OFFSET, .length = bytes,
		.lkey = b->hca->pd->local_dma_lkey ^ (c->bad_lkey ? 1 : 0),
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	int i;

	for (i = 0; i < c->receives; i++) {
		wr.wr_id = 100 + i;
		KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_recv(b->qp, &wr,
							      NULL));
	}
}

struct event_case {
	const char *desc;
	u8 syndrome;
	enum ib_event_type event;
};

/* 11.6.3.1: which event a rejected request raises, if it ends the QP */
static const struct event_case event_cases[] = {
	{ "invalid request",	NAK_INVALID,	IB_EVENT_QP_REQ_ERR },
	{ "access error",	NAK_ACCESS,	IB_EVENT_QP_ACCESS_ERR },
	{ "operational error",	NAK_OPERATION,	IB_EVENT_QP_FATAL },
};

static void expect_event(struct kunit *test, struct bench *b, u8 syndrome)
{
	unsigned long events = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(event_cases); i++)
		if (event_cases[i].syndrome == syndrome)
			events = BIT(event_cases[i].event);
	KUNIT_EXPECT_EQ(test, b->hca->events, events);
}

static u64 invalid_requests(struct bench *b)
{
	return test_count(b->hca, RHCA_RESP_INVALID_REQUESTS);
}

static void expect_refused(struct kunit *test, struct bench *b,
			   const struct rejection_case *c)
{
	struct ib_wc wc;

	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, sent_syndrome(b), c->syndrome);
	KUNIT_EXPECT_EQ(test, b->sent->psn,
			(FIRST_PSN + c->num - 1) & 0xffffff);
	KUNIT_EXPECT_EQ(test, sent_msn(b), 0);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp),
			c->alive ? IB_QPS_RTS : IB_QPS_ERR);
	expect_event(test, b, c->syndrome);
	KUNIT_EXPECT_EQ(test, invalid_requests(b), c->syndrome == NAK_INVALID);
	if (c->alive) {
		expect_silence(test, b);
		return;
	}
	if (c->wc != IB_WC_SUCCESS) {
		KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
		KUNIT_EXPECT_EQ(test, wc.wr_id, 100);
		KUNIT_EXPECT_EQ(test, (int)wc.status, (int)c->wc);
	}
	while (test_poll(b->hca, &wc))
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_WR_FLUSH_ERR);
}

static void request_is_refused_as_table_44_says(struct kunit *test)
{
	const struct rejection_case *c = test->param_value;
	struct test_qp_spec spec = open_qp;
	struct bench b;
	int i;

	if (c->access)
		spec.access = c->access;
	if (c->no_resources)
		spec.responder_resources = 0;
	setup(&b, test, IB_QPT_RC, &spec, c->region ?: ALL_RIGHTS);
	post_receives(&b, c);
	for (i = 0; i < c->num; i++) {
		struct request r = c->requests[i];

		r.no_ack = i < c->num - 1;
		ask(&b, &r);
	}
	expect_refused(test, &b, c);
}

static void refused_write_leaves_memory_alone(struct kunit *test)
{
	struct request r = WRITE_OF(WRITE_ONLY, REGION_BYTES - 4, 8);
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	memset(b.hca->buffer, 0, 2 * REGION_BYTES);
	ask(&b, &r);
	KUNIT_EXPECT_PTR_EQ(test, NULL, memchr_inv(b.hca->buffer, 0,
						   2 * REGION_BYTES));
}

static void gap_is_reported_once(struct kunit *test)
{
	struct bench b;
	int psn;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	for (psn = 0; psn <= 4; psn++)
		test_post_recv(b.hca, b.qp, psn, BUFFER_OFFSET, BUFFER_BYTES);
	for (psn = 1; psn <= 4; psn++)
		ask(&b, &(struct request) { SEND_ONLY, .psn = psn });
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 1);
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), NAK_PSN);
	/* Filled; the next one is another gap */
	ask(&b, &(struct request) { SEND_ONLY });
	expect_ack(test, &b, 4, 5);
	ask(&b, &(struct request) { SEND_ONLY, .psn = 6 });
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), NAK_PSN);
	KUNIT_EXPECT_EQ(test, b.sent->psn, (FIRST_PSN + 5) & 0xffffff);
}

static void table_of_nak_actions_is_complete(struct kunit *test)
{
	int status;

	KUNIT_EXPECT_FALSE(test, rhca_nak_actions[RHCA_PASS].answers);
	KUNIT_EXPECT_FALSE(test, rhca_nak_actions[RHCA_DROP].answers);
	KUNIT_EXPECT_FALSE(test, rhca_nak_actions[RHCA_DUPLICATE].answers);
	for (status = RHCA_NO_BUFFER; status < RHCA_NUM_REQUEST_STATUSES; status++)
		KUNIT_EXPECT_TRUE_MSG(test, rhca_nak_actions[status].answers,
				      "status %d", status);
}

/* --- what is carried out ----------------------------------------------------------- */

static void expect_memory(struct kunit *test, struct bench *b, u32 offset,
			  u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		if (b->hca->buffer[offset + i] != test_payload(i))
			break;
	KUNIT_EXPECT_EQ_MSG(test, i, bytes, "first wrong byte");
}

static void send_is_put_in_the_buffer(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	test_post_recv(b.hca, b.qp, 7, BUFFER_OFFSET, BUFFER_BYTES);
	memset(b.hca->buffer, 0, 2 * BUFFER_OFFSET);
	ask(&b, &(struct request) { SEND_ONLY_IMM, .payload_bytes = 77,
	    .immediate = 0x01020304 });
	expect_ack(test, &b, 0, 1);
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), 0);	/* no credit left */
	KUNIT_ASSERT_TRUE(test, test_poll(b.hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 7);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 77);
	KUNIT_EXPECT_EQ(test, wc.src_qp, TEST_PEER_QPN);
	KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 0x01020304);
	expect_memory(test, &b, BUFFER_OFFSET, 77);
	KUNIT_EXPECT_EQ(test, b.hca->buffer[BUFFER_OFFSET + 77], 0);
}

static void send_of_many_packets_completes_once(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	test_post_recv(b.hca, b.qp, 7, BUFFER_OFFSET, 2 * MTU + 5);
	ask(&b, &(struct request) { SEND_FIRST, .payload_bytes = MTU,
	    .no_ack = true });
	ask(&b, &(struct request) { SEND_MIDDLE, .psn = 1, .no_ack = true,
	    .payload_bytes = MTU });
	expect_silence(test, &b);
	ask(&b, &(struct request) { SEND_LAST, .psn = 2, .payload_bytes = 5 });
	expect_ack(test, &b, 2, 1);
	KUNIT_ASSERT_TRUE(test, test_poll(b.hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.byte_len, 2 * MTU + 5);
	expect_memory(test, &b, BUFFER_OFFSET, MTU);
	expect_memory(test, &b, BUFFER_OFFSET + MTU, MTU);
	expect_memory(test, &b, BUFFER_OFFSET + 2 * MTU, 5);
	KUNIT_EXPECT_FALSE(test, test_poll(b.hca, &wc));
}

static void write_goes_to_its_address(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	memset(b.hca->buffer, 0, REGION_BYTES);
	ask(&b, &(struct request) { WRITE_FIRST, .va = 100, .no_ack = true,
	    .payload_bytes = MTU, .length = MTU + 9 });
	ask(&b, &(struct request) { WRITE_LAST, .psn = 1, .payload_bytes = 9 });
	expect_ack(test, &b, 1, 1);
	expect_memory(test, &b, 100, MTU);
	expect_memory(test, &b, 100 + MTU, 9);
	KUNIT_EXPECT_EQ(test, b.hca->buffer[99], 0);
	KUNIT_EXPECT_EQ(test, b.hca->buffer[100 + MTU + 9], 0);
	KUNIT_EXPECT_FALSE(test, test_poll(b.hca, &wc));
}

static void write_to_the_last_byte_is_allowed(struct kunit *test)
{
	struct request r = WRITE_OF(WRITE_ONLY, REGION_BYTES - 8, 8);
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	ask(&b, &r);
	expect_ack(test, &b, 0, 1);
	expect_memory(test, &b, REGION_BYTES - 8, 8);
}

/* 9.7.4.1.4: neither address nor key count when there is nothing to move */
static void nothing_needs_no_key(struct kunit *test)
{
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, 0);
	ask(&b, &(struct request) { WRITE_ONLY, .va = -1, .rkey_xor = 0xbad });
	expect_ack(test, &b, 0, 1);
	ask(&b, &(struct request) { READ_REQUEST, .psn = 1, .va = -1,
	    .rkey_xor = 0xbad });
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, b.sent->opcode, READ_ONLY);
	KUNIT_EXPECT_EQ(test, b.sent->payload_bytes, 0);
	KUNIT_EXPECT_EQ(test, sent_msn(&b), 2);
}

static void expect_read(struct kunit *test, struct bench *b, u8 opcode, int psn,
			u32 offset, u32 bytes)
{
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, opcode);
	KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + psn) & 0xffffff);
	KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, bytes);
	KUNIT_EXPECT_MEMEQ(test, b->sent->payload, b->hca->buffer + offset,
			   bytes);
}

static void read_is_answered_in_packets_of_the_mtu(struct kunit *test)
{
	struct request r = READ_OF(10, 2 * MTU + 1);
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	ask(&b, &r);
	expect_read(test, &b, READ_FIRST, 0, 10, MTU);
	expect_read(test, &b, READ_MIDDLE, 1, 10 + MTU, MTU);
	expect_read(test, &b, READ_LAST, 2, 10 + 2 * MTU, 1);
	r = (struct request) { READ_REQUEST, .psn = 3, .length = MTU };
	ask(&b, &r);
	expect_read(test, &b, READ_ONLY, 3, 0, MTU);
	expect_silence(test, &b);
}

static u64 word(struct bench *b)
{
	return *(u64 *)b->hca->buffer;
}

static void expect_atomic(struct kunit *test, struct bench *b, int psn,
			  u64 original)
{
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, ATOMIC_ACK);
	KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + psn) & 0xffffff);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(b->sent->extended + 4),
			original);
}

static void atomics_return_the_value_before(struct kunit *test)
{
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	*(u64 *)b.hca->buffer = U64_MAX;
	ask(&b, &(struct request) { FETCH_ADD, .swap_add = 3 });
	expect_atomic(test, &b, 0, U64_MAX);
	KUNIT_EXPECT_EQ(test, word(&b), 2);
	ask(&b, &(struct request) { CMP_SWAP, .psn = 1, .compare = 1,
	    .swap_add = 9 });
	expect_atomic(test, &b, 1, 2);
	KUNIT_EXPECT_EQ(test, word(&b), 2);
	ask(&b, &(struct request) { CMP_SWAP, .psn = 2, .compare = 2,
	    .swap_add = 9 });
	expect_atomic(test, &b, 2, 2);
	KUNIT_EXPECT_EQ(test, word(&b), 9);
}

static void invalidation_takes_the_key_away(struct kunit *test)
{
	struct request write = WRITE_OF(WRITE_ONLY, 0, 8);
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	ask(&b, &(struct request) { SEND_ONLY_INV });
	expect_ack(test, &b, 0, 1);
	KUNIT_ASSERT_TRUE(test, test_poll(b.hca, &wc));
	KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, b.hca->mr->rkey);
	write.psn = 1;
	ask(&b, &write);
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), NAK_ACCESS);
}

static struct rhca_mem *use_region(struct bench *b)
{
	struct rhca_mem *mem;

	local_bh_disable();
	mem = rhca_mem_get(to_verbs_dev(b->hca->ibdev), b->hca->mr->rkey);
	local_bh_enable();
	return mem;
}

static bool completion_comes(struct bench *b, struct ib_wc *wc)
{
	int tries = 10000;

	while (!test_poll(b->hca, wc) && tries--)
		usleep_range(1000, 2000);
	return tries >= 0;
}

/* Another QP's packet uses the region. What cannot be held meanwhile, the peer repeats */
static void invalidation_completes_when_users_have_gone(struct kunit *test)
{
	struct request write = WRITE_OF(WRITE_ONLY, 0, 8);
	struct rhca_mem *mem;
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	to_rhca_dev(b.hca->ibdev)->ports[0].cc.selective_repeat = false;
	mem = use_region(&b);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	ask(&b, &(struct request) { SEND_ONLY_INV });
	KUNIT_EXPECT_NULL(test, use_region(&b));
	write.psn = 1;
	write.length = 0;
	write.payload_bytes = 0;
	ask(&b, &write);
	msleep(20);
	expect_silence(test, &b);

	local_bh_disable();
	rhca_mem_put(mem);
	local_bh_enable();
	KUNIT_ASSERT_TRUE(test, completion_comes(&b, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 1);
	KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_INVALIDATE);
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), NAK_PSN);
	KUNIT_EXPECT_EQ(test, b.sent->psn, (FIRST_PSN + 1) & 0xffffff);
	ask(&b, &write);
	expect_ack(test, &b, 1, 2);
}

/* --- flush --------------------------------------------------------------------------- */

#define MANY_RECEIVES	400

/* A QP in ERR whose receives have not been flushed: nobody was told of the state */
static void setup_failed(struct bench *b, struct kunit *test, u32 entries)
{
	struct ib_cq_init_attr cq = { .cqe = entries };
	struct ib_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = MANY_RECEIVES,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
	};
	u32 i;

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	KUNIT_ASSERT_EQ(test, 0, ib_destroy_cq_user(b->hca->cq, NULL));
	b->hca->cq = ib_create_cq(b->hca->ibdev, NULL, NULL, NULL, &cq);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->hca->cq));
	init.send_cq = b->hca->cq;
	init.recv_cq = b->hca->cq;
	b->qp = ib_create_qp(b->hca->pd, &init);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->qp));
	b->hca->qps[b->hca->num_qps++] = b->qp;
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_RTS);
	for (i = 0; i < MANY_RECEIVES; i++)
		test_post_recv(b->hca, b->qp, i, BUFFER_OFFSET, BUFFER_BYTES);
	KUNIT_ASSERT_TRUE(test, rhca_qp_fail(ibqp_to_verbs(b->qp), IB_QPS_ERR));
}

static struct rhca_batch flush_once(struct bench *b)
{
	struct rhca_sw_qp *qp = to_sw_qp(ibqp_to_verbs(b->qp));
	struct rhca_batch batch = {};

	spin_lock_bh(&qp->recv.lock);
	rhca_responder_flush(qp, &batch);
	spin_unlock_bh(&qp->recv.lock);
	return batch;
}

static void flush_goes_on_in_portions(struct kunit *test)
{
	struct rhca_batch batch;
	struct bench b;

	setup_failed(&b, test, 512);
	batch = flush_once(&b);
	KUNIT_EXPECT_EQ(test, batch.flushed, RHCA_FLUSH_BUDGET);
	KUNIT_EXPECT_TRUE(test, batch.flush_more);
	batch = flush_once(&b);
	KUNIT_EXPECT_EQ(test, batch.flushed, MANY_RECEIVES - RHCA_FLUSH_BUDGET);
	KUNIT_EXPECT_FALSE(test, batch.flush_more);
}

static void nothing_is_flushed_to_a_queue_that_lost_completions(struct kunit *test)
{
	struct bench b;

	setup_failed(&b, test, 64);
	to_rhca_qp(b.qp)->is_user = true;
	flush_once(&b);
	KUNIT_EXPECT_EQ(test, flush_once(&b).flushed, 0);
	to_rhca_qp(b.qp)->is_user = false;
}

static void failed_qp_gets_all_its_receives_back(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct bench b;
	struct ib_wc wc;
	int i;

	setup_failed(&b, test, 512);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(b.qp, &attr, IB_QP_STATE));
	for (i = 0; i < MANY_RECEIVES; i++) {
		KUNIT_ASSERT_TRUE(test, completion_comes(&b, &wc));
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_WR_FLUSH_ERR);
	}
}

/**
 * struct obstacle - Another QP whose late flush takes as long as it likes
 * @work: what it is
 * @begun: it runs
 * @end: it may end
 */
struct obstacle {
	struct work_struct work;
	struct completion begun;
	struct completion end;
};

static void obstruct(struct work_struct *work)
{
	struct obstacle *o = container_of(work, struct obstacle, work);

	complete(&o->begun);
	wait_for_completion(&o->end);
}

static void first_flush_waits_for_no_late_one(struct kunit *test)
{
	struct rhca_batch batch = { .flush_send = true, .flush_recv = true };
	struct rhca_ring *unposted;
	struct obstacle o;
	struct bench b;
	struct ib_wc wc;
	int flushed = 0;

	setup_failed(&b, test, 512);
	unposted = &ibqp_to_verbs(b.qp)->sq.ring;
	KUNIT_ASSERT_EQ(test, 0, rhca_ring_alloc(unposted, 1, 64, NULL, NULL));
	INIT_WORK_ONSTACK(&o.work, obstruct);
	init_completion(&o.begun);
	init_completion(&o.end);
	queue_work(rhca_flush_again_wq, &o.work);
	wait_for_completion(&o.begun);
	to_rhca_qp(b.qp)->is_user = true;
	rhca_batch_end(to_sw_qp(ibqp_to_verbs(b.qp)), &batch);
	while (flushed < MANY_RECEIVES && completion_comes(&b, &wc))
		flushed++;
	KUNIT_EXPECT_EQ(test, flushed, MANY_RECEIVES);
	complete(&o.end);
	flush_work(&o.work);
	destroy_work_on_stack(&o.work);
	flush_delayed_work(&to_sw_qp(ibqp_to_verbs(b.qp))->flush_again);
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(b.qp, &(struct ib_qp_attr) {
				.qp_state = IB_QPS_RESET }, IB_QP_STATE));
	to_rhca_qp(b.qp)->is_user = false;
	rhca_ring_free(unposted);
}

/* Who polls may see the failure, and make the QP anew, before the flush is begun */
static void late_flush_leaves_a_new_life_alone(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct rhca_batch batch = { .flush_send = true, .flush_recv = true };
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	KUNIT_ASSERT_TRUE(test, rhca_qp_fail(ibqp_to_verbs(b.qp), IB_QPS_ERR));
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(b.qp, &attr, IB_QP_STATE));
	test_qp_bring_up(b.hca, b.qp, &open_qp, IB_QPS_INIT);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	rhca_batch_end(to_sw_qp(ibqp_to_verbs(b.qp)), &batch);
	KUNIT_EXPECT_FALSE(test, test_poll(b.hca, &wc));
}

static void acknowledgement_comes_when_it_is_asked_for(struct kunit *test)
{
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	ask(&b, &(struct request) { WRITE_ONLY, .no_ack = true });
	expect_silence(test, &b);
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 1 });
	expect_ack(test, &b, 1, 2);	/* both, 9.7.5.1.2 */
}

/* --- duplicates ---------------------------------------------------------------------- */

static void duplicate_send_is_acknowledged_not_repeated(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	test_post_recv(b.hca, b.qp, 2, BUFFER_OFFSET, BUFFER_BYTES);
	ask(&b, &(struct request) { SEND_ONLY, .payload_bytes = 4 });
	expect_ack(test, &b, 0, 1);
	KUNIT_ASSERT_TRUE(test, test_poll(b.hca, &wc));
	ask(&b, &(struct request) { SEND_ONLY, .payload_bytes = 4 });
	expect_ack(test, &b, 0, 1);
	expect_silence(test, &b);
}

static void duplicate_write_does_not_write(struct kunit *test)
{
	struct request r = WRITE_OF(WRITE_ONLY, 0, 8);
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	ask(&b, &r);
	expect_ack(test, &b, 0, 1);
	memset(b.hca->buffer, 0, 8);
	ask(&b, &r);
	expect_ack(test, &b, 0, 1);
	KUNIT_EXPECT_EQ(test, word(&b), 0);
}

static void duplicate_atomic_is_answered_from_memory(struct kunit *test)
{
	struct request r = { FETCH_ADD, .swap_add = 1 };
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	*(u64 *)b.hca->buffer = 5;
	ask(&b, &r);
	expect_atomic(test, &b, 0, 5);
	ask(&b, &r);
	expect_atomic(test, &b, 0, 5);
	KUNIT_EXPECT_EQ(test, word(&b), 6);
}

static void duplicate_read_may_ask_for_the_rest(struct kunit *test)
{
	struct request r = READ_OF(0, 3 * MTU);
	struct bench b;
	int i;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	ask(&b, &r);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	ask(&b, &r);
	expect_read(test, &b, READ_FIRST, 0, 0, MTU);
	expect_read(test, &b, READ_MIDDLE, 1, MTU, MTU);
	expect_read(test, &b, READ_LAST, 2, 2 * MTU, MTU);
	r = (struct request) { READ_REQUEST, .psn = 1, .va = MTU,
			       .length = 2 * MTU };
	ask(&b, &r);
	expect_read(test, &b, READ_FIRST, 1, MTU, MTU);
	expect_read(test, &b, READ_LAST, 2, 2 * MTU, MTU);
	expect_silence(test, &b);
}

/* 9.7.4.1.3: it must lie inside the one before, at the same place */
static void duplicate_read_of_something_else_is_dropped(struct kunit *test)
{
	static const struct request others[] = {
		{ READ_REQUEST, .va = 0, .length = 3 * MTU },
		{ READ_REQUEST, .va = 8, .length = MTU },
		{ READ_REQUEST, .psn = 1, .va = 0, .length = MTU },
		{ READ_REQUEST, .psn = 1, .va = MTU, .length = 2 * MTU },
		{ READ_REQUEST, .psn = -1, .va = 0, .length = MTU },
	};
	struct request r = READ_OF(0, 2 * MTU);
	struct bench b;
	size_t i;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	ask(&b, &r);
	while (test_sent(b.hca, b.sent))
		;
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		ask(&b, &others[i]);
		KUNIT_EXPECT_EQ_MSG(test, test_num_sent(b.hca), 0,
				    "request %zu", i);
	}
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_RTS);
}

/* --- answers that wait, as they do while the local queue is full ---------------------- */

static void pause_answers(struct bench *b, bool held)
{
	struct rhca_responder *recv = &to_sw_qp(ibqp_to_verbs(b->qp))->recv;

	local_bh_disable();
	spin_lock(&recv->lock);
	atomic_set(&recv->turn.word, held ?
		   rhca_turn_pause_for(0, RHCA_PAUSE_LOCAL_FULL).word : 0);
	spin_unlock(&recv->lock);
	if (!held)
		rhca_turn_start(&recv->turn, RHCA_KICK_RESUME, RHCA_KICK_QUEUE);
	local_bh_enable();
}

static void fatal_nak_stands_behind_earlier_answers(struct kunit *test)
{
	struct request read = READ_OF(0, 2 * MTU);
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	pause_answers(&b, true);
	ask(&b, &read);
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 2, .length = 8,
	    .payload_bytes = 8, .rkey_xor = 0xbad00 });
	/* Neither what follows nor a repetition changes what is to be said */
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 3 });
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 2 });
	expect_silence(test, &b);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_RTS);
	pause_answers(&b, false);
	expect_read(test, &b, READ_FIRST, 0, 0, MTU);
	expect_read(test, &b, READ_LAST, 1, MTU, MTU);
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, b.sent->opcode, ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, b.sent->psn, (FIRST_PSN + 2) & 0xffffff);
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), NAK_ACCESS);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_ERR);
}

static void duplicate_does_not_take_the_place_of_a_nak(struct kunit *test)
{
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	ask(&b, &(struct request) { WRITE_ONLY });
	expect_ack(test, &b, 0, 1);
	pause_answers(&b, true);
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 2 });
	ask(&b, &(struct request) { WRITE_ONLY });
	pause_answers(&b, false);
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, b.sent->psn, (FIRST_PSN + 1) & 0xffffff);
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), NAK_PSN);
	expect_silence(test, &b);
}

/* What would be a NAK costs the requester a retry, and there is no gap any more */
static void nak_of_a_gap_that_is_filled_is_withdrawn(struct kunit *test)
{
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	pause_answers(&b, true);
	ask(&b, &(struct request) { WRITE_ONLY });
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 2 });
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 1, .no_ack = true });
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 2, .no_ack = true });
	pause_answers(&b, false);
	/* That all have come, which the second asked for before its turn */
	expect_ack(test, &b, 2, 3);
	expect_silence(test, &b);
	/* The next gap is a new one */
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 4 });
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, b.sent->psn, (FIRST_PSN + 3) & 0xffffff);
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), NAK_PSN);
}

static void rnr_nak_is_withdrawn_when_the_message_has_its_buffer(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	pause_answers(&b, true);
	ask(&b, &(struct request) { SEND_ONLY });
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	ask(&b, &(struct request) { SEND_ONLY, .no_ack = true });
	KUNIT_EXPECT_TRUE(test, test_poll(b.hca, &wc));
	pause_answers(&b, false);
	expect_ack(test, &b, -1, 1);
	expect_silence(test, &b);
}

static void response_makes_an_older_ack_superfluous(struct kunit *test)
{
	struct request read = READ_OF(0, 2 * MTU);
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	pause_answers(&b, true);
	ask(&b, &(struct request) { WRITE_ONLY });
	read.psn = 1;
	ask(&b, &read);
	pause_answers(&b, false);
	expect_read(test, &b, READ_FIRST, 1, 0, MTU);
	expect_read(test, &b, READ_LAST, 2, MTU, MTU);
	expect_silence(test, &b);
	/* A younger one goes out behind them */
	pause_answers(&b, true);
	read.psn = 3;
	ask(&b, &read);
	ask(&b, &(struct request) { WRITE_ONLY, .psn = 5 });
	pause_answers(&b, false);
	expect_read(test, &b, READ_FIRST, 3, 0, MTU);
	expect_read(test, &b, READ_LAST, 4, MTU, MTU);
	expect_ack(test, &b, 5, 4);
}

static void repeated_answer_is_no_request_of_the_peer(struct kunit *test)
{
	struct test_qp_spec one = open_qp;
	struct request read = READ_OF(0, MTU);
	struct bench b;

	one.responder_resources = 1;
	setup(&b, test, IB_QPT_RC, &one, ALL_RIGHTS);
	ask(&b, &read);
	expect_read(test, &b, READ_ONLY, 0, 0, MTU);
	pause_answers(&b, true);
	ask(&b, &read);
	read.psn = 1;
	ask(&b, &read);
	expect_silence(test, &b);
	pause_answers(&b, false);
	expect_read(test, &b, READ_ONLY, 0, 0, MTU);
	expect_read(test, &b, READ_ONLY, 1, 0, MTU);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_RTS);
}

/* A peer that has lost nothing asks so; all of the answer is still to come */
static void rest_of_a_read_does_not_shorten_an_answer_that_waits(struct kunit *test)
{
	struct request read = READ_OF(0, 3 * MTU);
	struct request rest = { READ_REQUEST, .psn = 2, .va = 2 * MTU,
				.length = MTU };
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	pause_answers(&b, true);
	ask(&b, &read);
	ask(&b, &rest);
	pause_answers(&b, false);
	expect_read(test, &b, READ_FIRST, 0, 0, MTU);
	expect_read(test, &b, READ_MIDDLE, 1, MTU, MTU);
	expect_read(test, &b, READ_LAST, 2, 2 * MTU, MTU);
	expect_silence(test, &b);
	/* When it has been sent, the rest may be asked for */
	ask(&b, &rest);
	expect_read(test, &b, READ_ONLY, 2, 2 * MTU, MTU);
	expect_silence(test, &b);
}

/* The peer had the first answer, and took its right to the memory away */
static void repeated_answer_without_its_key_ends_nothing(struct kunit *test)
{
	struct request read = READ_OF(0, MTU);
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	ask(&b, &read);
	expect_read(test, &b, READ_ONLY, 0, 0, MTU);
	pause_answers(&b, true);
	ask(&b, &read);
	ask(&b, &(struct request) { SEND_ONLY_INV, .psn = 1 });
	pause_answers(&b, false);
	KUNIT_ASSERT_TRUE(test, test_sent(b.hca, b.sent));
	KUNIT_EXPECT_EQ(test, b.sent->psn, FIRST_PSN);
	KUNIT_EXPECT_EQ(test, sent_syndrome(&b), NAK_ACCESS);
	expect_ack(test, &b, 1, 2);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_RTS);
}

/* --- what never reaches the QP ----------------------------------------------------------- */

/**
 * struct foreign_case - A packet that is not for the QP, and its counter
 * @desc: why
 * @change: makes it so
 * @counter: that counts it
 */
struct foreign_case {
	const char *desc;
	void (*change)(struct test_packet *p);
	enum rhca_counter counter;
};

static void other_source(struct test_packet *p)
{
	p->flow.sgid.raw[15] ^= 1;
}

static void other_destination(struct test_packet *p)
{
	p->flow.dgid.raw[15] ^= 1;
}

static void other_pkey(struct test_packet *p)
{
	p->bth.pkey = 0x1234;
}

static void other_transport(struct test_packet *p)
{
	p->bth.opcode = UC | SEND_ONLY;
}

static void other_qp(struct test_packet *p)
{
	p->bth.dest_qpn = 0xfffff0;
}

static const struct foreign_case foreign_cases[] = {
	{ "another source",	other_source,	RHCA_RX_DROPPED_NOT_FOR_US },
	{ "another P_Key",	other_pkey,	RHCA_RX_DROPPED_BAD_PKEY },
	{ "another transport",	other_transport, RHCA_RX_DROPPED_BAD_OPCODE },
	{ "another QP",		other_qp,	RHCA_RX_DROPPED_NO_QP },
	{ "another destination", other_destination, RHCA_RX_DROPPED_NOT_FOR_US },
};
KUNIT_ARRAY_PARAM_DESC(foreign, foreign_cases, desc);

static u64 count(struct bench *b, enum rhca_counter which)
{
	return test_count(b->hca, which);
}

static void from_the_peer(struct bench *b, struct test_packet *p)
{
	*p = (struct test_packet) {
		.bth = { .opcode = SEND_ONLY, .psn = FIRST_PSN, .ack_req = true,
			 .dest_qpn = b->qp->qp_num },
		.flow = { .encap = RHCA_V1, .hop_limit = 64 },
	};
	test_peer_gid(&p->flow.sgid);
	p->flow.dgid = b->hca->gid;
}

static void foreign_packet_is_counted_and_dropped(struct kunit *test)
{
	const struct foreign_case *c = test->param_value;
	struct test_packet p;
	struct bench b;
	u64 before;

	setup(&b, test, IB_QPT_RC, &open_qp, 0);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	from_the_peer(&b, &p);
	c->change(&p);
	before = count(&b, c->counter);
	test_receive(b.hca, &p);
	expect_silence(test, &b);
	KUNIT_EXPECT_EQ(test, count(&b, c->counter), before + 1);
	from_the_peer(&b, &p);
	test_receive(b.hca, &p);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 1);
}

static void limited_member_of_the_partition_is_heard(struct kunit *test)
{
	struct test_packet p;
	struct bench b;

	setup(&b, test, IB_QPT_RC, &open_qp, 0);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	from_the_peer(&b, &p);
	p.bth.pkey = 0x7fff;
	test_receive(b.hca, &p);
	expect_ack(test, &b, 0, 1);
}

static void qp_that_does_not_receive_is_deaf(struct kunit *test)
{
	struct test_packet p;
	struct bench b;
	u64 before;

	b.hca = test_hca_create(test, &rhca_sw_backend, 1);
	b.qp = test_qp(b.hca, IB_QPT_RC);
	test_qp_bring_up(b.hca, b.qp, &open_qp, IB_QPS_INIT);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	from_the_peer(&b, &p);
	before = count(&b, RHCA_RX_DROPPED_QP_STATE);
	test_receive(b.hca, &p);
	expect_silence(test, &b);
	KUNIT_EXPECT_EQ(test, count(&b, RHCA_RX_DROPPED_QP_STATE), before + 1);
}

/* --- without acknowledgements ------------------------------------------------------------- */

static void uc_loses_the_message_with_a_gap(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_UC, &open_qp, 0);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	ask(&b, &(struct request) { UC | SEND_FIRST, .payload_bytes = MTU });
	ask(&b, &(struct request) { UC | SEND_LAST, .psn = 2,
	    .payload_bytes = 8 });
	expect_silence(test, &b);
	ask(&b, &(struct request) { UC | SEND_ONLY, .psn = 3,
	    .payload_bytes = 9 });
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 0);
	KUNIT_ASSERT_TRUE(test, test_poll(b.hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.byte_len, 9);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_RTS);
}

static void uc_refuses_in_silence(struct kunit *test)
{
	struct request write = WRITE_OF(UC | WRITE_ONLY, 0, 8);
	struct test_qp_spec spec = open_qp;
	struct bench b;

	spec.access = IB_ACCESS_LOCAL_WRITE;
	setup(&b, test, IB_QPT_UC, &spec, ALL_RIGHTS);
	memset(b.hca->buffer, 0, 8);
	ask(&b, &write);
	ask(&b, &(struct request) { UC | SEND_ONLY, .psn = 1 });
	expect_silence(test, &b);
	KUNIT_EXPECT_EQ(test, word(&b), 0);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_RTS);
}

static void datagram(struct bench *b, u32 qkey, u32 payload_bytes)
{
	__be32 deth[2] = { cpu_to_be32(qkey), cpu_to_be32(0x123456) };
	struct test_packet p = {
		.bth = { .opcode = 0x64, .psn = 99, .dest_qpn = b->qp->qp_num },
		.extended = deth, .extended_bytes = sizeof(deth),
		.payload_bytes = payload_bytes,
	};

	test_receive(b->hca, &p);
}

static void datagram_comes_with_its_grh(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;

	setup(&b, test, IB_QPT_UD, &open_qp, 0);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	datagram(&b, TEST_QKEY, 21);
	KUNIT_ASSERT_TRUE(test, test_poll(b.hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.byte_len, 40 + 21);
	KUNIT_EXPECT_EQ(test, wc.src_qp, 0x123456);
	KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_GRH);
	KUNIT_EXPECT_EQ(test, b.hca->buffer[BUFFER_OFFSET] >> 4, 6);
	KUNIT_EXPECT_MEMEQ(test, b.hca->buffer + BUFFER_OFFSET + 24,
			   b.hca->gid.raw, 16);
	expect_memory(test, &b, BUFFER_OFFSET + 40, 21);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 0);
}

/* Nobody but the peer may stop a queue */
static void datagram_that_does_not_fit_is_dropped(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;
	u64 before;

	setup(&b, test, IB_QPT_UD, &open_qp, 0);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, 40 + 10);
	before = count(&b, RHCA_RESP_LOCAL_LENGTH_ERROR);
	datagram(&b, TEST_QKEY, 11);
	expect_silence(test, &b);
	KUNIT_EXPECT_EQ(test, count(&b, RHCA_RESP_LOCAL_LENGTH_ERROR),
			before + 1);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_RTS);
	datagram(&b, TEST_QKEY, 10);
	KUNIT_ASSERT_TRUE(test, test_poll(b.hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 1);
}

static void first_message_in_rtr_tells_that_the_peer_is_there(struct kunit *test)
{
	struct test_packet p;
	struct bench b;

	b.hca = test_hca_create(test, &rhca_sw_backend, 1);
	b.qp = test_qp(b.hca, IB_QPT_RC);
	b.sent = test_alloc(test, sizeof(*b.sent));
	test_qp_bring_up(b.hca, b.qp, &open_qp, IB_QPS_RTR);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	from_the_peer(&b, &p);
	KUNIT_EXPECT_EQ(test, b.hca->events, 0);
	test_receive(b.hca, &p);
	KUNIT_EXPECT_EQ(test, b.hca->events, BIT(IB_EVENT_COMM_EST));
	expect_ack(test, &b, 0, 1);
}

static void datagram_with_another_qkey_is_counted_and_dropped(struct kunit *test)
{
	struct bench b;
	u64 before;

	setup(&b, test, IB_QPT_UD, &open_qp, 0);
	test_post_recv(b.hca, b.qp, 1, BUFFER_OFFSET, BUFFER_BYTES);
	before = count(&b, RHCA_RX_DROPPED_BAD_QKEY);
	datagram(&b, TEST_QKEY ^ 1, 8);
	expect_silence(test, &b);
	KUNIT_EXPECT_EQ(test, count(&b, RHCA_RX_DROPPED_BAD_QKEY), before + 1);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b.qp), IB_QPS_RTS);
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

/* A request that may come next, though not to this address */
static void plausible(const struct rhca_responder *recv, u32 pick,
		      struct request *r)
{
	static const u8 starts[] = {
		SEND_FIRST, SEND_ONLY, SEND_ONLY_IMM, WRITE_FIRST, WRITE_ONLY,
		WRITE_ONLY_IMM, READ_REQUEST, CMP_SWAP, FETCH_ADD,
	};
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

/* One thing about it is changed */
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
	struct rhca_sw_qp *qp = to_sw_qp(ibqp_to_verbs(b->qp));
	u32 pick = prandom_u32_state(rnd);
	struct request r = {
		.psn = rhca_psn_diff(qp->recv.expected_psn, FIRST_PSN),
		.no_ack = pick & 1,
		.va = address_at_random(rnd),
		.swap_add = pick,
	};

	plausible(&qp->recv, prandom_u32_state(rnd), &r);
	if (!(pick >> 1 & 7))
		implausible(rnd, &r);
	ask(b, &r);
}

static void restart(struct bench *b)
{
	struct ib_qp_attr *attr = test_alloc(b->hca->test, sizeof(*attr));
	struct ib_wc wc;

	attr->qp_state = IB_QPS_RESET;
	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_modify_qp(b->qp, attr,
						      IB_QP_STATE));
	while (test_poll(b->hca, &wc))
		;
	while (test_sent(b->hca, b->sent))
		;
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_RTS);
	kunit_kfree(b->hca->test, attr);
}

/* Neither around the region nor around the buffers does a byte change */
static void expect_untouched(struct kunit *test, struct bench *b)
{
	const u8 *buffer = b->hca->buffer;
	u32 end = BUFFER_OFFSET + BUFFER_BYTES;

	KUNIT_EXPECT_PTR_EQ(test, NULL,
			    memchr_inv(buffer + REGION_BYTES, 0x5a,
				       BUFFER_OFFSET - REGION_BYTES));
	KUNIT_EXPECT_PTR_EQ(test, NULL,
			    memchr_inv(buffer + end, 0x5a,
				       TEST_BUFFER_BYTES - end));
}

static void noise_changes_nothing_but_what_keys_allow(struct kunit *test)
{
	struct rnd_state rnd;
	struct bench b;
	int round, i;

	setup(&b, test, IB_QPT_RC, &open_qp, ALL_RIGHTS);
	prandom_seed_state(&rnd, 0x18515);
	memset(b.hca->buffer, 0x5a, TEST_BUFFER_BYTES);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 6; i++)
			test_post_recv(b.hca, b.qp, i, BUFFER_OFFSET,
				       BUFFER_BYTES);
		for (i = 0; i < REQUESTS; i++)
			ask_at_random(&b, &rnd);
		expect_untouched(test, &b);
		restart(&b);
	}
	/* It was not all noise, and not all fell at the first fence */
	KUNIT_EXPECT_GT(test, count(&b, RHCA_RX_WRITE_REQUESTS), ROUNDS / 10);
	KUNIT_EXPECT_GT(test, count(&b, RHCA_RX_READ_REQUESTS), ROUNDS / 10);
	KUNIT_EXPECT_GT(test, count(&b, RHCA_RX_ATOMIC_REQUESTS), ROUNDS / 10);
	KUNIT_EXPECT_GT(test, count(&b, RHCA_RESP_REMOTE_ACCESS_ERRORS),
			ROUNDS / 10);
	KUNIT_EXPECT_GT(test, count(&b, RHCA_DUPLICATE_REQUEST), ROUNDS / 10);
}

static struct kunit_case responder_tests[] = {
	KUNIT_CASE_PARAM(request_is_refused_as_table_44_says, rejection_gen_params),
	KUNIT_CASE(refused_write_leaves_memory_alone),
	KUNIT_CASE(gap_is_reported_once),
	KUNIT_CASE(table_of_nak_actions_is_complete),
	KUNIT_CASE(send_is_put_in_the_buffer),
	KUNIT_CASE(send_of_many_packets_completes_once),
	KUNIT_CASE(write_goes_to_its_address),
	KUNIT_CASE(write_to_the_last_byte_is_allowed),
	KUNIT_CASE(nothing_needs_no_key),
	KUNIT_CASE(read_is_answered_in_packets_of_the_mtu),
	KUNIT_CASE(atomics_return_the_value_before),
	KUNIT_CASE(invalidation_takes_the_key_away),
	KUNIT_CASE(invalidation_completes_when_users_have_gone),
	KUNIT_CASE(flush_goes_on_in_portions),
	KUNIT_CASE(nothing_is_flushed_to_a_queue_that_lost_completions),
	KUNIT_CASE(failed_qp_gets_all_its_receives_back),
	KUNIT_CASE(first_flush_waits_for_no_late_one),
	KUNIT_CASE(late_flush_leaves_a_new_life_alone),
	KUNIT_CASE(acknowledgement_comes_when_it_is_asked_for),
	KUNIT_CASE(duplicate_send_is_acknowledged_not_repeated),
	KUNIT_CASE(duplicate_write_does_not_write),
	KUNIT_CASE(duplicate_atomic_is_answered_from_memory),
	KUNIT_CASE(duplicate_read_may_ask_for_the_rest),
	KUNIT_CASE(duplicate_read_of_something_else_is_dropped),
	KUNIT_CASE(fatal_nak_stands_behind_earlier_answers),
	KUNIT_CASE(duplicate_does_not_take_the_place_of_a_nak),
	KUNIT_CASE(nak_of_a_gap_that_is_filled_is_withdrawn),
	KUNIT_CASE(rnr_nak_is_withdrawn_when_the_message_has_its_buffer),
	KUNIT_CASE(response_makes_an_older_ack_superfluous),
	KUNIT_CASE(repeated_answer_is_no_request_of_the_peer),
	KUNIT_CASE(rest_of_a_read_does_not_shorten_an_answer_that_waits),
	KUNIT_CASE(repeated_answer_without_its_key_ends_nothing),
	KUNIT_CASE_PARAM(foreign_packet_is_counted_and_dropped, foreign_gen_params),
	KUNIT_CASE(limited_member_of_the_partition_is_heard),
	KUNIT_CASE(qp_that_does_not_receive_is_deaf),
	KUNIT_CASE(uc_loses_the_message_with_a_gap),
	KUNIT_CASE(uc_refuses_in_silence),
	KUNIT_CASE(datagram_comes_with_its_grh),
	KUNIT_CASE(datagram_with_another_qkey_is_counted_and_dropped),
	KUNIT_CASE(datagram_that_does_not_fit_is_dropped),
	KUNIT_CASE(first_message_in_rtr_tells_that_the_peer_is_there),
	KUNIT_CASE(noise_changes_nothing_but_what_keys_allow),
	{}
};

TEST_SUITE("rhca_responder", responder_tests);
