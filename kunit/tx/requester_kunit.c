// SPDX-License-Identifier: GPL-2.0
/* The requester: which packets a send request becomes, and what answers do. */
#include <kunit/test.h>
#include <linux/rtnetlink.h>
#include <linux/unaligned.h>
#include <linux/workqueue.h>

#include "sw/verbs/qp/qp.h"
#include "core/device.h"
#include "lib/hca.h"
#include "sw/backend.h"
#include "sw/tx/post_delay.h"
#include "sw/tx/window.h"
#include "sw/qp/qp.h"
#include "sw/tx/requester.h"
#include "sw/tx/segment.h"
#include "sw/tx/send_sched.h"
#include "sw/qp/after.h"
#include "sw/qp/turn_sched.h"
#include "sw/verbs/section.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xfffffe	/* the third packet is behind the wrap */
#define REMOTE_ADDR	0x1000000000ULL
#define REMOTE_KEY	0x4711
#define IMM		0x12345678

#define NAK_PSN		0x60	/* syndrome of table 43 */

static const struct test_qp_spec spec = {
	.sq_psn = FIRST_PSN, .initiator_depth = 16, .retries = 3,
};

struct bench {
	struct test_hca *hca;
	struct ib_qp *qp;
	struct rhca_sw_qp *sw;		/* the same */
	struct rhca_requester *send;	/* the half that is tested */
	struct test_sent *sent;		/* the packet that was looked at last */
};

static struct bench *setup_of(struct kunit *test, enum ib_qp_type type,
			      const struct test_qp_spec *spec)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->sent = test_alloc(test, sizeof(*b->sent));
	b->qp = test_qp(b->hca, type);
	b->sw = to_sw_qp(ibqp_to_verbs(b->qp));
	b->send = &b->sw->send;
	test_qp_bring_up(b->hca, b->qp, spec, IB_QPS_RTS);
	return b;
}

static struct bench *setup(struct kunit *test, enum ib_qp_type type)
{
	return setup_of(test, type, &spec);
}

/* The next packet, which must be there */
static void look_at_next(struct bench *b)
{
	KUNIT_ASSERT_TRUE(b->hca->test, test_sent(b->hca, b->sent));
}

/* And it is the one with that PSN behind FIRST_PSN */
static void expect_nth(struct bench *b, u32 nth)
{
	look_at_next(b);
	KUNIT_EXPECT_EQ(b->hca->test, b->sent->psn, (FIRST_PSN + nth) & 0xffffff);
}

static void expect_sent(struct bench *b, u8 opcode, u32 nth)
{
	expect_nth(b, nth);
	KUNIT_EXPECT_EQ(b->hca->test, b->sent->opcode, opcode);
}

static void forget_sent(struct bench *b)
{
	while (test_sent(b->hca, b->sent))
		;
}

static u64 be64_at(const struct bench *b, u32 offset)
{
	return get_unaligned_be64(b->sent->extended + offset);
}

static u32 be32_at(const struct bench *b, u32 offset)
{
	return get_unaligned_be32(b->sent->extended + offset);
}

/* A request for the first @bytes of the buffer */
static void fill_wr(struct bench *b, struct ib_rdma_wr *wr, struct ib_sge *sge,
		    enum ib_wr_opcode opcode, u32 bytes)
{
	*sge = (struct ib_sge) {
		.addr = (uintptr_t)b->hca->buffer, .length = bytes,
		.lkey = b->hca->pd->local_dma_lkey,
	};
	*wr = (struct ib_rdma_wr) {
		.wr = {
			.wr_id = bytes, .opcode = opcode, .sg_list = sge,
			.num_sge = bytes ? 1 : 0,
			.send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(IMM),
		},
		.remote_addr = REMOTE_ADDR, .rkey = REMOTE_KEY,
	};
	if (opcode == IB_WR_SEND_WITH_INV)
		wr->wr.ex.invalidate_rkey = REMOTE_KEY;
}

static void post(struct bench *b, enum ib_wr_opcode opcode, u32 bytes)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	fill_wr(b, &wr, &sge, opcode, bytes);
	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_send(b->qp, &wr.wr, NULL));
}

/* --- segmentation --------------------------------------------------------------- */

#define MAX_SEGMENTS	4
#define END		0xff

struct segment_case {
	const char *desc;
	enum ib_qp_type type;
	enum ib_wr_opcode opcode;
	u32 bytes;
	u8 opcodes[MAX_SEGMENTS];
};

#define ONE(a)		{ a, END }
#define TWO(a, b)	{ a, b, END }
#define THREE(a, b, c)	{ a, b, c, END }

#define SIZES(name, type, wr, t, only, first, middle, last)		     \
	{ name " of nothing", type, wr, 0, ONE((t) | (only)) },		     \
	{ name " of a byte", type, wr, 1, ONE((t) | (only)) },		     \
	{ name " of MTU - 1", type, wr, MTU - 1, ONE((t) | (only)) },	     \
	{ name " of MTU", type, wr, MTU, ONE((t) | (only)) },		     \
	{ name " of MTU + 1", type, wr, MTU + 1,			     \
	  TWO((t) | (first), (t) | (last)) },				     \
	{ name " of 2 MTU", type, wr, 2 * MTU,				     \
	  TWO((t) | (first), (t) | (last)) },				     \
	{ name " of 3 MTU", type, wr, 3 * MTU,				     \
	  THREE((t) | (first), (t) | (middle), (t) | (last)) }

static const struct segment_case segment_cases[] = {
	SIZES("RC SEND", IB_QPT_RC, IB_WR_SEND, 0,
	      SEND_ONLY, SEND_FIRST, SEND_MIDDLE, SEND_LAST),
	SIZES("RC SEND_IMM", IB_QPT_RC, IB_WR_SEND_WITH_IMM, 0,
	      SEND_ONLY_IMM, SEND_FIRST, SEND_MIDDLE, SEND_LAST_IMM),
	SIZES("RC SEND_INV", IB_QPT_RC, IB_WR_SEND_WITH_INV, 0,
	      SEND_ONLY_INV, SEND_FIRST, SEND_MIDDLE, SEND_LAST_INV),
	SIZES("RC WRITE", IB_QPT_RC, IB_WR_RDMA_WRITE, 0,
	      WRITE_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST),
	SIZES("RC WRITE_IMM", IB_QPT_RC, IB_WR_RDMA_WRITE_WITH_IMM, 0,
	      WRITE_ONLY_IMM, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST_IMM),
	SIZES("UC SEND", IB_QPT_UC, IB_WR_SEND, UC,
	      SEND_ONLY, SEND_FIRST, SEND_MIDDLE, SEND_LAST),
	SIZES("UC SEND_IMM", IB_QPT_UC, IB_WR_SEND_WITH_IMM, UC,
	      SEND_ONLY_IMM, SEND_FIRST, SEND_MIDDLE, SEND_LAST_IMM),
	SIZES("UC WRITE", IB_QPT_UC, IB_WR_RDMA_WRITE, UC,
	      WRITE_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST),
	SIZES("UC WRITE_IMM", IB_QPT_UC, IB_WR_RDMA_WRITE_WITH_IMM, UC,
	      WRITE_ONLY_IMM, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST_IMM),
};
KUNIT_ARRAY_PARAM_DESC(segment, segment_cases, desc);

static void expect_payload(struct bench *b, u32 offset)
{
	KUNIT_EXPECT_MEMEQ(b->hca->test, b->sent->payload, b->hca->buffer + offset,
			   b->sent->payload_bytes);
}

static void message_is_cut_at_the_mtu(struct kunit *test)
{
	const struct segment_case *c = test->param_value;
	struct bench *b = setup(test, c->type);
	u32 i, offset = 0, bytes;
	bool last;

	post(b, c->opcode, c->bytes);
	for (i = 0; c->opcodes[i] != END; i++) {
		bytes = min(c->bytes - offset, MTU);
		last = c->opcodes[i + 1] == END;
		look_at_next(b);
		KUNIT_EXPECT_EQ(test, b->sent->opcode, c->opcodes[i]);
		KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, bytes);
		KUNIT_EXPECT_EQ(test, b->sent->pad, -bytes & 3);
		KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + i) & 0xffffff);
		KUNIT_EXPECT_EQ(test, b->sent->dest_qpn, TEST_PEER_QPN);
		KUNIT_EXPECT_EQ(test, b->sent->ack_req,
				last && c->type == IB_QPT_RC);
		KUNIT_EXPECT_FALSE(test, b->sent->solicited);
		expect_payload(b, offset);
		offset += bytes;
	}
	KUNIT_EXPECT_EQ(test, offset, c->bytes);
	KUNIT_EXPECT_FALSE(test, test_sent(b->hca, b->sent));
}

/* RETH, immediate and invalidate: where they are is in kunit/wire/opcode_kunit.c */
static void extended_headers_carry_the_request(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post(b, IB_WR_RDMA_WRITE_WITH_IMM, MTU + 5);
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, be64_at(b, 0), REMOTE_ADDR);
	KUNIT_EXPECT_EQ(test, be32_at(b, 8), REMOTE_KEY);
	KUNIT_EXPECT_EQ(test, be32_at(b, 12), MTU + 5);
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, be32_at(b, 0), IMM);

	post(b, IB_WR_SEND_WITH_INV, 3);
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, be32_at(b, 0), REMOTE_KEY);
}

static void solicited_is_said_by_the_last_packet(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	fill_wr(b, &wr, &sge, IB_WR_SEND, 2 * MTU);
	wr.wr.send_flags |= IB_SEND_SOLICITED;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(b->qp, &wr.wr, NULL));
	look_at_next(b);
	KUNIT_EXPECT_FALSE(test, b->sent->solicited);
	look_at_next(b);
	KUNIT_EXPECT_TRUE(test, b->sent->solicited);
	/* A WRITE without immediate takes no receive request */
	wr.wr.opcode = IB_WR_RDMA_WRITE;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(b->qp, &wr.wr, NULL));
	look_at_next(b);
	look_at_next(b);
	KUNIT_EXPECT_FALSE(test, b->sent->solicited);
}

/* Many short entries, not on borders of packets */
static void entries_of_a_list_are_joined(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	static const u32 bytes[4] = { 1, 255, 0, 301 };
	struct ib_sge sge[4];
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 4,
	};
	u32 i, offset = 0;

	for (i = 0; i < 4; i++) {
		sge[i] = (struct ib_sge) {
			.addr = (uintptr_t)b->hca->buffer + offset,
			.length = bytes[i], .lkey = b->hca->pd->local_dma_lkey,
		};
		offset += bytes[i];
	}
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(b->qp, &wr, NULL));
	for (i = 0; i < 3; i++) {
		look_at_next(b);
		KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, i < 2 ? MTU : 45);
		expect_payload(b, i * MTU);
	}
}

struct read_case {
	const char *desc;
	u32 bytes;
	u32 requests;
};

/* A request asks for 32 packets at most, RHCA_READ_CHUNK */
static const struct read_case read_cases[] = {
	{ "nothing",			0,		1 },
	{ "a byte",			1,		1 },
	{ "MTU",			MTU,		1 },
	{ "MTU + 1",			MTU + 1,	1 },
	{ "32 packets",			32 * MTU,	1 },
	{ "32 packets and a byte",	32 * MTU + 1,	2 },
	{ "64 packets",			64 * MTU,	2 },
	{ "100 packets less a byte",	100 * MTU - 1,	4 },
};
KUNIT_ARRAY_PARAM_DESC(read, read_cases, desc);

static void read_is_asked_for_in_chunks(struct kunit *test)
{
	const struct read_case *c = test->param_value;
	struct bench *b = setup(test, IB_QPT_RC);
	u32 i, offset = 0, bytes;

	b->send->cwnd.packets = RHCA_SEND_WINDOW;
	post(b, IB_WR_RDMA_READ, c->bytes);
	for (i = 0; i < c->requests; i++) {
		bytes = min(c->bytes - offset, 32U * MTU);
		look_at_next(b);
		KUNIT_EXPECT_EQ(test, b->sent->opcode, READ_REQUEST);
		KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, 0);
		KUNIT_EXPECT_EQ(test, b->sent->psn,
				(FIRST_PSN + 32 * i) & 0xffffff);
		KUNIT_EXPECT_EQ(test, be64_at(b, 0), REMOTE_ADDR + offset);
		KUNIT_EXPECT_EQ(test, be32_at(b, 8), REMOTE_KEY);
		KUNIT_EXPECT_EQ(test, be32_at(b, 12), bytes);
		offset += bytes;
	}
	KUNIT_EXPECT_EQ(test, offset, c->bytes);
	KUNIT_EXPECT_FALSE(test, test_sent(b->hca, b->sent));
	/* The next request begins behind the responses */
	post(b, IB_WR_SEND, 0);
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, b->sent->psn,
			(FIRST_PSN + max(DIV_ROUND_UP(c->bytes, MTU), 1)) &
			0xffffff);
}

static void reads_in_flight_are_limited(struct kunit *test)
{
	static const struct test_qp_spec two = { .initiator_depth = 2 };
	struct bench *b = setup_of(test, IB_QPT_RC, &two);
	int i;

	for (i = 0; i < 5; i++)
		post(b, IB_WR_RDMA_READ, 8);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 2);
}

static void atomic_carries_its_operands(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_sge sge = test_sge(b->hca, 0, 8);
	struct ib_atomic_wr wr = {
		.wr = { .opcode = IB_WR_ATOMIC_CMP_AND_SWP, .sg_list = &sge,
			.num_sge = 1 },
		.remote_addr = REMOTE_ADDR, .rkey = REMOTE_KEY,
		.compare_add = 0x1111222233334444, .swap = 0x5555666677778888,
	};

	KUNIT_ASSERT_EQ(test, 0, ib_post_send(b->qp, &wr.wr, NULL));
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, b->sent->opcode, CMP_SWAP);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
	KUNIT_EXPECT_EQ(test, be64_at(b, 0), REMOTE_ADDR);
	KUNIT_EXPECT_EQ(test, be32_at(b, 8), REMOTE_KEY);
	KUNIT_EXPECT_EQ(test, be64_at(b, 12), wr.swap);
	KUNIT_EXPECT_EQ(test, be64_at(b, 20), wr.compare_add);

	wr.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(b->qp, &wr.wr, NULL));
	expect_sent(b, FETCH_ADD, 1);
	KUNIT_EXPECT_EQ(test, be64_at(b, 12), wr.compare_add);
}

/* After round trips, not after the 4 s of the timeout, and it takes no retry */
static void unanswered_packet_is_repeated_early(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	to_rhca_dev(b->hca->ibdev)->ports[0].cc.adp_retrans = true;
	b->sw->base.attr.timeout = 20;
	b->send->rtt.smoothed = 20 * NSEC_PER_USEC;
	post(b, IB_WR_RDMA_WRITE, MTU);
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(b->hca) >= 6));
	KUNIT_EXPECT_EQ(test, READ_ONCE(b->send->retries_left), spec.retries);
	KUNIT_EXPECT_EQ(test, READ_ONCE(b->send->cwnd.packets), RHCA_CWND_LEAST);
	KUNIT_EXPECT_EQ(test, READ_ONCE(b->send->oldest_unacked_psn), FIRST_PSN);
}

static void timeout_of_the_verbs_takes_a_retry(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	b->sw->base.attr.timeout = 1;
	post(b, IB_WR_RDMA_WRITE, MTU);
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(b->hca) >= 2));
	KUNIT_EXPECT_LT(test, READ_ONCE(b->send->retries_left), spec.retries);
}

static void window_bounds_what_is_in_flight(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	u32 i, asked = 0;

	post(b, IB_WR_RDMA_WRITE, 200 * MTU);
	/* One pass sends so many, a tasklet the rest */
	test_becomes(test_num_sent(b->hca) >= RHCA_CWND_INITIAL);
	msleep(20);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), RHCA_CWND_INITIAL);
	for (i = 0; test_sent(b->hca, b->sent); i++) {
		KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + i) & 0xffffff);
		expect_payload(b, i * MTU);
		asked += b->sent->ack_req;
	}
	/* Half of it is known to have arrived before all of it is used up */
	KUNIT_EXPECT_EQ(test, asked, 2);
}

#define LONG_BYTES	(40U << 10)

static void requester_of_another_state_is_silent(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_SQD));
	post(b, IB_WR_SEND, 8);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RTS));
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_ERR));
	post(b, IB_WR_SEND, 9);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);
	test_expect_wc(b->hca, 8, IB_WC_WR_FLUSH_ERR);
	test_expect_wc(b->hca, 9, IB_WC_WR_FLUSH_ERR);
}

static void unreliable_requests_complete_when_sent(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_UC);
	struct ib_wc wc;

	post(b, IB_WR_RDMA_WRITE, 3 * MTU);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 3);
	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RDMA_WRITE);
}

/* 8 GiB of packets later: the PSN that is called old has moved along */
static void unreliable_requests_are_whole_after_half_the_psns(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_UC);

	post(b, IB_WR_SEND, 1);
	look_at_next(b);
	b->send->next_psn = (b->send->next_psn + 0x7fffff) & 0xffffff;
	post(b, IB_WR_SEND, 1);
	look_at_next(b);
	post(b, IB_WR_SEND, 2 * MTU);
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, b->sent->opcode, UC | SEND_FIRST);
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, b->sent->opcode, UC | SEND_LAST);
}

static struct ib_ah *create_ah(struct bench *b)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	union ib_gid peer;
	struct ib_ah *ah;

	test_peer_gid(&peer);
	rdma_ah_set_port_num(&attr, 1);
	rdma_ah_set_grh(&attr, &peer, 0, b->hca->gid_index, 64, 0);
	memset(attr.roce.dmac, 2, sizeof(attr.roce.dmac));
	ah = rdma_create_ah(b->hca->pd, &attr, 0);
	KUNIT_ASSERT_FALSE(b->hca->test, IS_ERR(ah));
	return ah;
}

static int post_datagram(struct bench *b, struct ib_ah *ah, u32 bytes, u32 qkey)
{
	struct ib_sge sge = test_sge(b->hca, 0, bytes);
	struct ib_ud_wr wr = {
		.wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 },
		.ah = ah, .remote_qpn = 0x123456, .remote_qkey = qkey,
	};

	return ib_post_send(b->qp, &wr.wr, NULL);
}

/* The path MTU of datagrams is the port's, here 4096 */
static void datagram_is_one_packet(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_UD);
	struct ib_ah *ah = create_ah(b);
	struct ib_wc wc;

	KUNIT_EXPECT_EQ(test, 0, post_datagram(b, ah, 4096, 0x55));
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, b->sent->opcode, UD_SEND_ONLY);
	KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, 4096);
	KUNIT_EXPECT_EQ(test, b->sent->dest_qpn, 0x123456);
	KUNIT_EXPECT_EQ(test, b->sent->psn, FIRST_PSN);
	KUNIT_EXPECT_FALSE(test, b->sent->ack_req);
	KUNIT_EXPECT_EQ(test, be32_at(b, 0), 0x55);
	KUNIT_EXPECT_EQ(test, be32_at(b, 4), b->qp->qp_num);
	expect_payload(b, 0);
	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);

	KUNIT_EXPECT_EQ(test, -EMSGSIZE, post_datagram(b, ah, 4097, 0x55));
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	/* 10.2.5: the high bit asks for the QP's own key */
	KUNIT_EXPECT_EQ(test, 0, post_datagram(b, ah, 1, 0x80000000));
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, be32_at(b, 0), TEST_QKEY);
	rdma_destroy_ah(ah, 0);
}

/* --- answers --------------------------------------------------------------------- */

static void answer(struct bench *b, u32 psn, u8 syndrome, u32 msn)
{
	test_answer(b->hca, b->qp, ACKNOWLEDGE, psn, syndrome << 24 | msn, 0);
}

/* Who takes acknowledgements has none of the poster's copying to do */
static void long_request_is_left_to_the_processor_that_posts(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct rhca_turn *turn = &b->send->turn;

	post(b, IB_WR_RDMA_WRITE, MTU);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);

	/* Another processor is going to look at the queue */
	local_bh_disable();
	atomic_set(&turn->word, RHCA_TURN_RUNNING);
	post(b, IB_WR_RDMA_WRITE, LONG_BYTES);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(&turn->word),
			RHCA_TURN_RUNNING | RHCA_TURN_KICK(RHCA_KICK_POST));

	/* And so does the tasklet of another one */
	turn->cpu = -1;
	atomic_set(&turn->word, RHCA_TURN_QUEUED | RHCA_TURN_LISTED);
	answer(b, FIRST_PSN, 0x1f, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);

	/* This processor may as well begin */
	turn->cpu = raw_smp_processor_id();
	answer(b, FIRST_PSN, 0x1f, 1);
	KUNIT_EXPECT_GT(test, test_num_sent(b->hca), 1);
	atomic_andnot(RHCA_TURN_LISTED, &turn->word);
	local_bh_enable();
}

static void acknowledgement_completes_what_it_covers(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_wc wc;
	u32 bytes;

	for (bytes = 1; bytes <= 4; bytes++)
		post(b, IB_WR_SEND, bytes);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	/* Three at once, over the wrap */
	answer(b, FIRST_PSN + 2, 0x1f, 3);
	for (bytes = 1; bytes <= 3; bytes++)
		test_expect_wc(b->hca, bytes, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	/* An old one changes nothing, one for what was never sent neither */
	answer(b, FIRST_PSN, 0x1f, 1);
	answer(b, FIRST_PSN + 9, 0x1f, 9);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_RTS);
	answer(b, FIRST_PSN + 3, 0x1f, 4);
	KUNIT_EXPECT_TRUE(test, test_poll(b->hca, &wc));
}

/* --- no packet is sent twice where nothing is lost --------------------------------- */

struct mixed_wr {
	enum ib_wr_opcode opcode;
	u32 bytes;
	int flags;
};

#define MAX_MIXED	3

/* @sent packets leave, of which the last one asks for its acknowledgement */
struct mix_case {
	const char *desc;
	bool without_credit;
	u32 num;
	struct mixed_wr wrs[MAX_MIXED];
	u32 sent;
};

static const struct mix_case mix_cases[] = {
	{ "nothing that waits", false, 2, { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_SEND, 2 } }, 2 },
	{ "local invalidation", false, 2, { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_LOCAL_INV } }, 1 },
	{ "registration and nothing more", false, 2,
	  { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_REG_MR } }, 1 },
	{ "registration and local invalidation", false, 3,
	  { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_REG_MR }, { IB_WR_LOCAL_INV } }, 1 },
	{ "registration and a packet", false, 3,
	  { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_REG_MR }, { IB_WR_SEND, 1 } }, 2 },
	{ "READ beyond the depth", false, 3,
	  { { IB_WR_RDMA_READ, 8 }, { IB_WR_RDMA_WRITE, 1 },
	    { IB_WR_RDMA_READ, 8 } }, 2 },
	{ "fence behind a READ", false, 3,
	  { { IB_WR_RDMA_READ, 8 }, { IB_WR_RDMA_WRITE, 1 },
	    { IB_WR_RDMA_WRITE, 1, IB_SEND_FENCE } }, 2 },
	{ "SEND without credit", true, 2, { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_SEND, 1 } }, 1 },
	{ "SEND of two packets without credit", true, 1, { { IB_WR_SEND, 2 * MTU } }, 1 },
};
KUNIT_ARRAY_PARAM_DESC(mix, mix_cases, desc);

/* In one list: request by request each would be the last, and ask */
static void post_mixed(struct bench *b, const struct mix_case *c)
{
	struct ib_rdma_wr *wrs = test_alloc(b->hca->test, MAX_MIXED * sizeof(*wrs));
	struct ib_sge sge[MAX_MIXED];
	struct ib_reg_wr reg = { .mr = b->hca->mr, .key = b->hca->mr->rkey };
	struct ib_send_wr *wr, **last, *first;
	u32 i;

	for (i = 0, last = &first; i < c->num; i++, last = &wr->next) {
		fill_wr(b, &wrs[i], &sge[i], c->wrs[i].opcode, c->wrs[i].bytes);
		wr = &wrs[i].wr;
		if (wr->opcode == IB_WR_LOCAL_INV)
			wr->ex.invalidate_rkey = b->hca->mr->rkey;
		if (wr->opcode == IB_WR_REG_MR) {
			reg.wr = *wr;
			wr = &reg.wr;
		}
		wr->send_flags |= c->wrs[i].flags;
		*last = wr;
	}
	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_send(b->qp, first, NULL));
}

static void packet_that_is_waited_for_asks_at_once(struct kunit *test)
{
	static const struct test_qp_spec one = {
		.sq_psn = FIRST_PSN, .initiator_depth = 1, .retries = 3,
	};
	const struct mix_case *c = test->param_value;
	struct bench *b = setup_of(test, IB_QPT_RC, &one);
	u32 i;

	b->hca->mr = ib_alloc_mr(b->hca->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->hca->mr));
	post(b, IB_WR_SEND, 1);
	look_at_next(b);
	answer(b, FIRST_PSN, c->without_credit ? 0x00 : 0x1f, 1);

	post_mixed(b, c);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), c->sent);
	for (i = 1; test_sent(b->hca, b->sent); i++)
		KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + i) & 0xffffff);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
}

/* Sending stopped behind a request that is sent again: its rate allowed one packet */
static void registration_behind_a_repeated_request_completes(struct kunit *test)
{
	static const struct mix_case both = {
		.num = 2, .wrs = { { IB_WR_SEND, 1 }, { IB_WR_REG_MR } },
	};
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_wc wc;
	u32 done = 0;

	b->hca->mr = ib_alloc_mr(b->hca->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->hca->mr));
	post_mixed(b, &both);
	local_bh_disable();
	spin_lock(&b->send->lock);
	rhca_requester_rewind(b->sw, FIRST_PSN);
	b->send->next++;
	b->send->next_psn++;
	rhca_pause_send(b->sw, RHCA_PAUSE_PACE, 10 * NSEC_PER_MSEC);
	spin_unlock(&b->send->lock);
	local_bh_enable();
	answer(b, FIRST_PSN, 0x1f, 1);
	msleep(50);
	while (test_poll(b->hca, &wc))
		done++;
	KUNIT_EXPECT_EQ(test, done, 2);
}

#define MANY		1000

static struct ib_qp *qp_for_many(struct bench *b)
{
	struct ib_qp_init_attr init = {
		.send_cq = b->hca->cq, .recv_cq = b->hca->cq,
		.cap = { .max_send_wr = MANY + 1, .max_send_sge = 1 },
		.qp_type = IB_QPT_RC,
	};

	return ib_create_qp(b->hca->pd, &init);
}

/* A SEND and behind it registrations, in one list */
static void post_many(struct bench *b, struct ib_reg_wr *regs)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;
	u32 i;

	fill_wr(b, &wr, &sge, IB_WR_SEND, 1);
	wr.wr.next = &regs[0].wr;
	for (i = 0; i < MANY; i++) {
		regs[i].wr.opcode = IB_WR_REG_MR;
		regs[i].mr = ib_alloc_mr(b->hca->pd, IB_MR_TYPE_MEM_REG, 1);
		KUNIT_ASSERT_FALSE(b->hca->test, IS_ERR(regs[i].mr));
		regs[i].key = regs[i].mr->rkey;
		regs[i].wr.next = i + 1 < MANY ? &regs[i + 1].wr : NULL;
	}
	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_send(b->qp, &wr.wr, NULL));
}

/* Who takes the acknowledgement of the first completes all of them, bottom halves off */
static void requests_without_a_packet_do_not_pile_up(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_reg_wr *regs = test_alloc(test, MANY * sizeof(*regs));
	struct rhca_sq *sq;
	u32 i;

	b->qp = qp_for_many(b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->qp));
	b->hca->qps[b->hca->num_qps++] = b->qp;
	b->sw = to_sw_qp(ibqp_to_verbs(b->qp));
	b->send = &b->sw->send;
	sq = &b->sw->base.sq;
	test_qp_bring_up(b->hca, b->qp, &spec, IB_QPS_RTS);
	post_many(b, regs);
	msleep(100);
	KUNIT_EXPECT_LE(test, READ_ONCE(b->send->next), 4 * RHCA_SEND_WINDOW);
	look_at_next(b);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	answer(b, FIRST_PSN, 0x1f, 1);
	KUNIT_EXPECT_TRUE(test, test_becomes(READ_ONCE(sq->head) == MANY + 1));
	for (i = 0; i < MANY; i++)
		ib_dereg_mr(regs[i].mr);
}

/* What stands before it is never acknowledged: it is done when it has been sent */
static void uc_invalidates_behind_what_is_sent_with_it(struct kunit *test)
{
	static const struct mix_case both = {
		.num = 2, .wrs = { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_LOCAL_INV } },
	};
	struct bench *b = setup(test, IB_QPT_UC);
	struct ib_wc wc;
	u32 done = 0;

	b->hca->mr = ib_alloc_mr(b->hca->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->hca->mr));
	post_mixed(b, &both);
	while (test_poll(b->hca, &wc))
		done++;
	KUNIT_EXPECT_EQ(test, 2, done);
}

/* An acknowledgement that another processor takes */
struct remote_answer {
	struct work_struct work;
	struct bench *b;
};

static void answer_remotely(struct work_struct *work)
{
	answer(container_of(work, struct remote_answer, work)->b, FIRST_PSN, 0x1f, 1);
}

/* The limit is for code that is wrong: what is right takes microseconds */
static bool head_moves(struct rhca_sq *sq, u32 from)
{
	ktime_t limit = ktime_add_ms(ktime_get(), 30 * MSEC_PER_SEC);

	while (READ_ONCE(sq->head) == from && ktime_before(ktime_get(), limit))
		cpu_relax();
	return READ_ONCE(sq->head) != from;
}

static struct rhca_send_wqe *newest_slot(struct bench *b)
{
	const struct rhca_sq *sq = &ibqp_to_verbs(b->qp)->sq;

	return rhca_sq_wqe(sq, sq->tail - 1);
}

/* Its slots are in the caches; but one that is in use is nobody else's */
static void empty_queue_begins_with_the_same_slot(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct rhca_send_wqe *first, *second;

	post(b, IB_WR_RDMA_WRITE, 1);
	first = newest_slot(b);
	post(b, IB_WR_RDMA_WRITE, 2);
	second = newest_slot(b);
	KUNIT_EXPECT_PTR_NE(test, first, second);
	answer(b, FIRST_PSN, 0x1f, 1);
	post(b, IB_WR_RDMA_WRITE, 3);
	KUNIT_EXPECT_PTR_NE(test, first, newest_slot(b));
	KUNIT_EXPECT_PTR_NE(test, second, newest_slot(b));
	answer(b, FIRST_PSN + 2, 0x1f, 3);
	post(b, IB_WR_RDMA_WRITE, 4);
	KUNIT_EXPECT_PTR_EQ(test, first, newest_slot(b));
	KUNIT_EXPECT_EQ(test, first->length, 4);
}

/*
 * With the CQ's lock held here nothing completes, yet the slot must become free:
 * whoever polls the completion may post at once.
 */
static void slot_is_free_before_its_completion_shows(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct remote_answer remote = { .b = b };
	struct rhca_cq *cq = to_rhca_cq(b->hca->cq);
	struct rhca_sq *sq;
	struct ib_wc wc;
	bool freed;
	u32 head;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one processor");
	sq = &ibqp_to_verbs(b->qp)->sq;
	head = sq->head;
	post(b, IB_WR_SEND, 1);
	INIT_WORK_ONSTACK(&remote.work, answer_remotely);
	spin_lock_bh(&cq->lock);
	schedule_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()),
			 &remote.work);
	freed = head_moves(sq, head);
	spin_unlock_bh(&cq->lock);
	flush_work(&remote.work);
	destroy_work_on_stack(&remote.work);
	KUNIT_EXPECT_TRUE(test, freed);
	KUNIT_EXPECT_TRUE(test, test_poll(b->hca, &wc));
}

/* A response of one packet to a READ for the buffer */
static void respond(struct bench *b, u8 opcode, u32 psn)
{
	test_answer(b->hca, b->qp, opcode, psn, 0x1f << 24 | 1, MTU);
}

/* The WRITE is planned and never b->sent, so it is not it that waits for an answer */
static void bad_request_does_not_repeat_the_read_before_it(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_rdma_wr read, write;
	struct ib_sge sge[2];
	struct ib_wc wc;

	fill_wr(b, &read, &sge[0], IB_WR_RDMA_READ, 3 * MTU);
	fill_wr(b, &write, &sge[1], IB_WR_RDMA_WRITE, 1);
	sge[1].lkey = ~sge[1].lkey;
	read.wr.next = &write.wr;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(b->qp, &read.wr, NULL));
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, b->sent->opcode, READ_REQUEST);
	KUNIT_EXPECT_FALSE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->send->reads_in_flight, 1);
	respond(b, READ_FIRST, FIRST_PSN);
	respond(b, READ_MIDDLE, FIRST_PSN + 1);
	respond(b, READ_LAST, FIRST_PSN + 2);
	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RDMA_READ);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, b->send->reads_in_flight, 0);
}

static void sequence_error_repeats_from_there(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	u32 i;

	to_rhca_dev(b->hca->ibdev)->ports[0].cc.selective_repeat = false;
	post(b, IB_WR_RDMA_WRITE, 5 * MTU);
	forget_sent(b);
	answer(b, FIRST_PSN + 2, 0x60, 0);
	for (i = 2; i < 5; i++) {
		expect_sent(b, i < 4 ? WRITE_MIDDLE : WRITE_LAST, i);
		expect_payload(b, i * MTU);
	}
	KUNIT_EXPECT_FALSE(test, test_sent(b->hca, b->sent));
}

/* A WRITE of five packets, of which the second is lost, and a SEND that may wait */
static struct bench *lose_one(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post(b, IB_WR_RDMA_WRITE, 5 * MTU);
	forget_sent(b);
	answer(b, FIRST_PSN + 1, NAK_PSN, 0);
	expect_sent(b, WRITE_MIDDLE, 1);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
	expect_payload(b, MTU);
	post(b, IB_WR_SEND, 0);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	return b;
}

static void peer_that_holds_gets_what_is_missing(struct kunit *test)
{
	struct bench *b = lose_one(test);

	answer(b, FIRST_PSN + 4, 0x1f, 1);
	expect_sent(b, SEND_ONLY, 5);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_TX_RETRANSMITTED_PACKETS), 1);
}

/* A GRO keeps packets of different owners apart: new ones would overtake the repeated one */
static void new_packets_have_the_owner_of_a_repeated_one(struct kunit *test)
{
	const struct sock *owner;
	struct bench *b;

	b = lose_one(test);
	owner = b->sent->owner;
	KUNIT_EXPECT_PTR_NE(test, owner, NULL);
	answer(b, FIRST_PSN + 2, 0x1f, 0);
	expect_sent(b, SEND_ONLY, 5);
	KUNIT_EXPECT_PTR_EQ(test, b->sent->owner, owner);
	answer(b, FIRST_PSN + 5, 0x1f, 2);
	post(b, IB_WR_SEND, 0);
	expect_sent(b, SEND_ONLY, 6);
	KUNIT_EXPECT_PTR_EQ(test, b->sent->owner, NULL);
}

static void peer_that_drops_gets_everything(struct kunit *test)
{
	struct bench *b = lose_one(test);
	u32 i;

	answer(b, FIRST_PSN + 1, 0x1f, 0);
	for (i = 2; i <= 5; i++)
		expect_nth(b, i);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	answer(b, FIRST_PSN + 5, 0x1f, 2);
	/* It is known by now */
	post(b, IB_WR_RDMA_WRITE, 3 * MTU);
	forget_sent(b);
	answer(b, FIRST_PSN + 6, NAK_PSN, 2);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 3);
}

/* All is repeated then, and new packets follow; what is acknowledged alone says nothing */
static void receiver_not_ready_ends_the_wait_for_one_packet(struct kunit *test)
{
	struct bench *b = lose_one(test);
	u32 i;

	answer(b, FIRST_PSN + 1, 0x21, 0);	/* 10 us */
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(b->hca) >= 5));
	for (i = 1; i <= 5; i++)
		expect_nth(b, i);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
	answer(b, FIRST_PSN + 1, 0x1f, 0);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
}

/* It is sent as soon as the queue has room, and nothing but it */
static void missing_packet_is_not_forgotten_by_a_full_queue(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post(b, IB_WR_RDMA_WRITE, 5 * MTU);
	forget_sent(b);
	test_set_queue(b->hca, NET_XMIT_DROP);
	answer(b, FIRST_PSN + 1, NAK_PSN, 0);
	test_set_queue(b->hca, NET_XMIT_SUCCESS);
	test_becomes(test_num_sent(b->hca));
	expect_nth(b, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
}

/* Who hears nothing repeats the oldest packet, long before the ACK timeout */
static void silence_makes_the_oldest_packet_be_repeated(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	to_rhca_dev(b->hca->ibdev)->ports[0].cc.adp_retrans = true;
	post(b, IB_WR_RDMA_WRITE, 3 * MTU);
	forget_sent(b);
	answer(b, FIRST_PSN, 0x1f, 0);
	test_becomes(test_num_sent(b->hca));
	expect_nth(b, 1);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
	KUNIT_EXPECT_GE(test, test_count(b->hca, RHCA_ROCE_ADP_RETRANS), 1);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_LOCAL_ACK_TIMEOUT_ERR), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(b->send->retries_left), spec.retries);
	answer(b, FIRST_PSN + 2, 0x1f, 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(b->send->recovery->probes), 0);
}

/* The peer asks for its packet again, and the local queue does not take it */
static void queue_is_not_drained_while_a_request_is_repeated(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD,
				   .en_sqd_async_notify = 1 };

	post(b, IB_WR_SEND, 1);
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(b->qp, &attr, IB_QP_STATE |
					      IB_QP_EN_SQD_ASYNC_NOTIFY));
	test_set_queue(b->hca, NET_XMIT_DROP);
	answer(b, FIRST_PSN, NAK_PSN, 0);
	KUNIT_EXPECT_FALSE(test, test_bit(IB_EVENT_SQ_DRAINED, &b->hca->events));
	test_set_queue(b->hca, NET_XMIT_SUCCESS);
	test_becomes(test_num_sent(b->hca) >= 2);
	KUNIT_EXPECT_FALSE(test, test_bit(IB_EVENT_SQ_DRAINED, &b->hca->events));
	answer(b, FIRST_PSN, 0x1f, 1);
	KUNIT_EXPECT_TRUE(test, test_bit(IB_EVENT_SQ_DRAINED, &b->hca->events));
}

/* Who changes an attribute of a QP in SQD has heard that it is drained */
static void drained_queue_is_told_of_once(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD, .timeout = 14,
				   .en_sqd_async_notify = 1 };

	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(b->qp, &attr, IB_QP_STATE |
					      IB_QP_EN_SQD_ASYNC_NOTIFY));
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IB_EVENT_SQ_DRAINED,
						   &b->hca->events));
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(b->qp, &attr, IB_QP_STATE |
					      IB_QP_TIMEOUT));
	KUNIT_EXPECT_FALSE(test, test_bit(IB_EVENT_SQ_DRAINED, &b->hca->events));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RTS));
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(b->qp, &attr, IB_QP_STATE |
					      IB_QP_EN_SQD_ASYNC_NOTIFY));
	KUNIT_EXPECT_TRUE(test, test_bit(IB_EVENT_SQ_DRAINED, &b->hca->events));
}

/* It was for an earlier time */
static void drained_queue_is_told_of_where_that_is_asked_for(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ib_qp_init_attr init;

	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(b->qp, &attr, IB_QP_STATE |
					      IB_QP_EN_SQD_ASYNC_NOTIFY));
	KUNIT_EXPECT_TRUE(test, test_and_clear_bit(IB_EVENT_SQ_DRAINED,
						   &b->hca->events));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RTS));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_SQD));
	KUNIT_EXPECT_FALSE(test, test_bit(IB_EVENT_SQ_DRAINED, &b->hca->events));
	KUNIT_ASSERT_EQ(test, 0, ib_query_qp(b->qp, &attr, IB_QP_EN_SQD_ASYNC_NOTIFY, &init));
	KUNIT_EXPECT_EQ(test, attr.en_sqd_async_notify, 0);
}

static bool is_draining(struct bench *b)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_query_qp(b->qp, &attr, IB_QP_STATE, &init));
	return attr.sq_draining;
}

/* Who has not asked for the event looks there, 11.2.5.3 */
static void query_tells_whether_the_queue_is_drained(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post(b, IB_WR_SEND, 1);
	KUNIT_EXPECT_FALSE(test, is_draining(b));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_SQD));
	KUNIT_EXPECT_TRUE(test, is_draining(b));
	answer(b, FIRST_PSN, 0x1f, 1);
	KUNIT_EXPECT_FALSE(test, is_draining(b));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RTS));
	KUNIT_EXPECT_FALSE(test, is_draining(b));
}

/* What a process has written wrongly is told when its turn comes: in SQD others wait, too */
static void bad_request_waits_while_the_queue_is_drained(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct rhca_sq *sq = &b->sw->base.sq;

	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_SQD));
	post(b, IB_WR_SEND, 1);
	spin_lock_bh(&b->send->lock);
	rhca_sq_wqe(sq, sq->head)->status = IB_WC_LOC_QP_OP_ERR;
	spin_unlock_bh(&b->send->lock);
	post(b, IB_WR_SEND, 2);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_SQD);
	KUNIT_EXPECT_FALSE(test, is_draining(b));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RTS));
	test_expect_wc(b->hca, 1, IB_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_ERR);
}

/* NET_XMIT_CN: something was dropped, which need not have been the packet */
static void congested_queue_has_taken_the_packet(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	u32 i;

	test_set_queue(b->hca, NET_XMIT_CN);
	post(b, IB_WR_RDMA_WRITE, 3 * MTU);
	KUNIT_EXPECT_FALSE(test, b->send->pause);
	for (i = 0; i < 3; i++)
		expect_nth(b, i);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_TX_DROPPED), 0);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_TX_PACKETS), 3);
}

/* Nobody repeats what UC has lost, so nothing else would have it go on */
static void queue_that_takes_nothing_does_not_stop_uc(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_UC);
	struct ib_wc wc = {};

	test_set_queue(b->hca, NET_XMIT_DROP);
	post(b, IB_WR_RDMA_WRITE, (RHCA_SECTION_PACKETS + 36) * MTU);
	KUNIT_EXPECT_TRUE(test, test_poll_in_time(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
}

/* As a veth pair does when its other end has a smaller MTU */
static void queue_that_never_takes_a_packet_fails_its_request(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_wc wc = {};

	/* 4.096 us * 2^8, 1.05 ms; the QP has 3 retries */
	WRITE_ONCE(b->sw->base.attr.timeout, 8);
	test_set_queue(b->hca, NET_XMIT_DROP);
	post(b, IB_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, test_poll_in_time(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_LOCAL_ACK_TIMEOUT_ERR),
			spec.retries + 1);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_ERR);
}

/* A timer that was armed before modify_qp set the timeout to 0, "none" */
static void timeout_of_none_repeats_nothing(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post(b, IB_WR_SEND, 1);
	KUNIT_ASSERT_EQ(test, test_num_sent(b->hca), 1);
	spin_lock_bh(&b->send->lock);
	b->send->deadline = jiffies - 1;
	mod_timer(&b->send->ack_timer, jiffies);
	spin_unlock_bh(&b->send->lock);
	while (timer_pending(&b->send->ack_timer))
		usleep_range(1000, 2000);
	timer_delete_sync(&b->send->ack_timer);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);
	KUNIT_EXPECT_EQ(test, b->send->retries_left, spec.retries);
}

/* A timer may have been armed for hours */
static void shorter_timeout_holds_at_once(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD, .timeout = 31 };
	int mask = IB_QP_STATE | IB_QP_TIMEOUT;

	KUNIT_ASSERT_EQ(test, test_qp_move(b->qp, IB_QPS_SQD), 0);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(b->qp, &attr, mask), 0);
	KUNIT_ASSERT_EQ(test, test_qp_move(b->qp, IB_QPS_RTS), 0);
	post(b, IB_WR_SEND, 1);
	KUNIT_EXPECT_TRUE(test, time_after(b->send->ack_timer.expires,
					   jiffies + 3600 * HZ));
	KUNIT_ASSERT_EQ(test, test_qp_move(b->qp, IB_QPS_SQD), 0);
	attr.timeout = 14;
	KUNIT_ASSERT_EQ(test, ib_modify_qp(b->qp, &attr, mask), 0);
	KUNIT_EXPECT_TRUE(test, time_before(b->send->ack_timer.expires,
					    jiffies + 10 * HZ));
}

struct nak_case {
	const char *desc;
	u8 syndrome;
	enum ib_wc_status status;
};

static const struct nak_case nak_cases[] = {
	{ "invalid request",	0x61, IB_WC_REM_INV_REQ_ERR },
	{ "access error",	0x62, IB_WC_REM_ACCESS_ERR },
	{ "operational error",	0x63, IB_WC_REM_OP_ERR },
};
KUNIT_ARRAY_PARAM_DESC(nak, nak_cases, desc);

static void nak_fails_its_request_and_the_qp(struct kunit *test)
{
	const struct nak_case *c = test->param_value;
	struct bench *b = setup(test, IB_QPT_RC);
	u32 bytes;

	for (bytes = 1; bytes <= 3; bytes++)
		post(b, IB_WR_SEND, bytes);
	/* The first was good, the second is refused, the third goes with it */
	answer(b, FIRST_PSN + 1, c->syndrome, 1);
	test_expect_wc(b->hca, 1, IB_WC_SUCCESS);
	test_expect_wc(b->hca, 2, c->status);
	test_expect_wc(b->hca, 3, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_ERR);
}

/* Whoever posts may hold a lock that the handler of its events takes */
static void event_of_a_verb_is_raised_behind_it(struct kunit *test)
{
	struct ib_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_srq *srq = ib_create_srq(b->hca->pd, &init);
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	KUNIT_ASSERT_FALSE(test, IS_ERR(srq));
	b->hca->srq = srq;
	b->qp = test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	fill_wr(b, &wr, &sge, IB_WR_SEND, 8);
	sge.lkey = ~sge.lkey;
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(b->qp, &wr.wr, NULL));
	KUNIT_EXPECT_EQ(test, ibqp_to_verbs(b->qp)->state, IB_QPS_ERR);
	KUNIT_EXPECT_FALSE(test, test_bit(IB_EVENT_QP_LAST_WQE_REACHED,
					  &b->hca->events));
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, test_bit(IB_EVENT_QP_LAST_WQE_REACHED,
					 &b->hca->events));
}

static void receiver_that_is_never_ready_fails_the_request(struct kunit *test)
{
	static const struct test_qp_spec no_retries = { .sq_psn = FIRST_PSN };
	struct bench *b = setup_of(test, IB_QPT_RC, &no_retries);

	post(b, IB_WR_SEND, 1);
	answer(b, FIRST_PSN, 0x21, 0);
	test_expect_wc(b->hca, 1, IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_ERR);
}

static void receiver_not_ready_is_asked_again_later(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	post(b, IB_WR_SEND, 1);
	look_at_next(b);
	answer(b, FIRST_PSN, 0x20, 0);	/* 655.36 ms: longer than a stall */
	KUNIT_EXPECT_FALSE(test, test_sent(b->hca, b->sent));
	test_becomes(test_num_sent(b->hca));
	expect_nth(b, 0);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(b->qp), IB_QPS_RTS);
}

/* The peer lives, and has asked for the time: RNR retries are what it costs, 9.7.5.2.8 */
static void time_that_a_receiver_asks_for_is_no_timeout(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	WRITE_ONCE(b->sw->base.attr.timeout, 20);	/* 4.3 s */
	post(b, IB_WR_SEND, 1);
	look_at_next(b);
	spin_lock_bh(&b->send->lock);
	b->send->deadline = jiffies + HZ;
	b->send->retries_left = 0;
	b->send->recovering = true;
	b->send->recovery->probes = 2;
	spin_unlock_bh(&b->send->lock);
	answer(b, FIRST_PSN, 0x21, 0);	/* 10 us */
	test_becomes(test_num_sent(b->hca));
	expect_nth(b, 0);
	spin_lock_bh(&b->send->lock);
	KUNIT_EXPECT_TRUE(test, time_after(b->send->deadline, jiffies + 2 * HZ));
	KUNIT_EXPECT_EQ(test, b->send->retries_left, spec.retries);
	KUNIT_EXPECT_EQ(test, b->send->recovery->probes, 0);
	spin_unlock_bh(&b->send->lock);
}

/* The local queue was full at the third packet, and the peer at the first */
static void receiver_not_ready_is_heard_while_the_queue_is_full(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	int i;

	for (i = 0; i < 3; i++)
		post(b, IB_WR_SEND, 1);
	local_bh_disable();
	spin_lock(&b->send->lock);
	rhca_requester_rewind(b->sw, (FIRST_PSN + 2) & 0xffffff);
	rhca_pause_send(b->sw, RHCA_PAUSE_LOCAL_FULL, NSEC_PER_SEC);
	spin_unlock(&b->send->lock);
	local_bh_enable();
	answer(b, FIRST_PSN, 0x20, 0);
	KUNIT_EXPECT_EQ(test, b->send->next_psn, FIRST_PSN);
	KUNIT_EXPECT_EQ(test, b->send->pause, RHCA_PAUSE_RNR);
}

static void response_to_a_read_brings_credits(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	int i;

	post(b, IB_WR_SEND, 1);
	answer(b, FIRST_PSN, 0x00, 1);
	post(b, IB_WR_RDMA_READ, 8);
	/* Two receives behind two messages */
	test_answer(b->hca, b->qp, READ_ONLY, FIRST_PSN + 1, 0x02 << 24 | 2, 8);
	forget_sent(b);
	for (i = 0; i < 3; i++)
		post(b, IB_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 2);
}

static void datagram_opcode_is_that_of_table_38(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, UD_SEND_ONLY,
			rhca_segment_opcode(IB_WR_SEND, IB_QPT_UD, true, true));
	KUNIT_EXPECT_EQ(test, UD_SEND_ONLY,
			rhca_segment_opcode(IB_WR_SEND, IB_QPT_GSI, true,
					    true));
	KUNIT_EXPECT_EQ(test, UD_SEND_ONLY + 1,
			rhca_segment_opcode(IB_WR_SEND_WITH_IMM, IB_QPT_UD,
					    true, true));
}

/* What a netdev that is down swallows is not counted as sent */
static void nothing_leaves_by_a_netdev_that_is_down(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_UC);

	rtnl_lock();
	dev_close(b->hca->ndev[0]);
	rtnl_unlock();
	post(b, IB_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_TX_PACKETS), 0);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_TX_DROPPED_NO_NETDEV), 1);
}

static struct kunit_case requester_tests[] = {
	KUNIT_CASE(datagram_opcode_is_that_of_table_38),
	KUNIT_CASE_PARAM(message_is_cut_at_the_mtu, segment_gen_params),
	KUNIT_CASE(extended_headers_carry_the_request),
	KUNIT_CASE(solicited_is_said_by_the_last_packet),
	KUNIT_CASE(entries_of_a_list_are_joined),
	KUNIT_CASE_PARAM(read_is_asked_for_in_chunks, read_gen_params),
	KUNIT_CASE(reads_in_flight_are_limited),
	KUNIT_CASE(response_to_a_read_brings_credits),
	KUNIT_CASE(atomic_carries_its_operands),
	KUNIT_CASE(unanswered_packet_is_repeated_early),
	KUNIT_CASE(timeout_of_the_verbs_takes_a_retry),
	KUNIT_CASE(window_bounds_what_is_in_flight),
	KUNIT_CASE(long_request_is_left_to_the_processor_that_posts),
	KUNIT_CASE(requester_of_another_state_is_silent),
	KUNIT_CASE(unreliable_requests_complete_when_sent),
	KUNIT_CASE(unreliable_requests_are_whole_after_half_the_psns),
	KUNIT_CASE(datagram_is_one_packet),
	KUNIT_CASE(acknowledgement_completes_what_it_covers),
	KUNIT_CASE_PARAM(packet_that_is_waited_for_asks_at_once, mix_gen_params),
	KUNIT_CASE(registration_behind_a_repeated_request_completes),
	KUNIT_CASE(requests_without_a_packet_do_not_pile_up),
	KUNIT_CASE(uc_invalidates_behind_what_is_sent_with_it),
	KUNIT_CASE(empty_queue_begins_with_the_same_slot),
	KUNIT_CASE(slot_is_free_before_its_completion_shows),
	KUNIT_CASE(bad_request_does_not_repeat_the_read_before_it),
	KUNIT_CASE(sequence_error_repeats_from_there),
	KUNIT_CASE(peer_that_holds_gets_what_is_missing),
	KUNIT_CASE(new_packets_have_the_owner_of_a_repeated_one),
	KUNIT_CASE(peer_that_drops_gets_everything),
	KUNIT_CASE(receiver_not_ready_ends_the_wait_for_one_packet),
	KUNIT_CASE(missing_packet_is_not_forgotten_by_a_full_queue),
	KUNIT_CASE(silence_makes_the_oldest_packet_be_repeated),
	KUNIT_CASE(queue_is_not_drained_while_a_request_is_repeated),
	KUNIT_CASE(drained_queue_is_told_of_once),
	KUNIT_CASE(drained_queue_is_told_of_where_that_is_asked_for),
	KUNIT_CASE(query_tells_whether_the_queue_is_drained),
	KUNIT_CASE(bad_request_waits_while_the_queue_is_drained),
	KUNIT_CASE(congested_queue_has_taken_the_packet),
	KUNIT_CASE(queue_that_takes_nothing_does_not_stop_uc),
	KUNIT_CASE(queue_that_never_takes_a_packet_fails_its_request),
	KUNIT_CASE(timeout_of_none_repeats_nothing),
	KUNIT_CASE(shorter_timeout_holds_at_once),
	KUNIT_CASE_PARAM(nak_fails_its_request_and_the_qp, nak_gen_params),
	KUNIT_CASE(event_of_a_verb_is_raised_behind_it),
	KUNIT_CASE(receiver_that_is_never_ready_fails_the_request),
	KUNIT_CASE(receiver_not_ready_is_asked_again_later),
	KUNIT_CASE(time_that_a_receiver_asks_for_is_no_timeout),
	KUNIT_CASE(receiver_not_ready_is_heard_while_the_queue_is_full),
	KUNIT_CASE(nothing_leaves_by_a_netdev_that_is_down),
	{}
};

TEST_SUITE("rhca_requester", requester_tests);
