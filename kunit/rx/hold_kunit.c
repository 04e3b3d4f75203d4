// SPDX-License-Identifier: GPL-2.0
/*
 * What comes before something that is missing is held, and has its turn when that has
 * come: as if all had come in order.
 */
#include <kunit/test.h>
#include <linux/unaligned.h>

#include "core/device.h"
#include "lib/hca.h"
#include "sw/backend.h"
#include "sw/qp/clock.h"
#include "sw/qp/hold.h"
#include "sw/qp/qp.h"
#include "sw/tx/window.h"
#include "sw/verbs/memory/mem.h"
#include "sw/verbs/port.h"
#include "sw/verbs/qp/qp.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xfffffe	/* the third request is behind the wrap */
#define REGION_BYTES	(32 * 1024)
#define BUFFER_OFFSET	(48 * 1024)	/* receive buffers, outside the region */
#define BUFFER_BYTES	600

/* Syndromes of table 43 */
#define ACK		0x1f	/* whatever the credits */
#define NAK_PSN		0x60
#define NAK_ACCESS	0x62
#define RNR		(0x20 | TEST_RNR_TIMER)

#define ALL_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

static const struct test_qp_spec open_qp = {
	.access = ALL_RIGHTS, .rq_psn = FIRST_PSN, .responder_resources = 4,
	.initiator_depth = 4, .retries = 7,
};

/* A QP with a region that the peer may use */
struct bench {
	struct test_hca *hca;	/* the device */
	struct ib_qp *qp;	/* the QP */
	struct rhca_sw_qp *sw;	/* the same */
	struct test_sent *sent;	/* room for an answer */
};

static struct bench *setup(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->qp = test_qp(b->hca, IB_QPT_RC);
	b->sw = to_sw_qp(ibqp_to_verbs(b->qp));
	b->sent = test_alloc(test, sizeof(*b->sent));
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_RTS);
	test_mr(b->hca, b->qp, REGION_BYTES, ALL_RIGHTS);
	return b;
}

/* A request: its place behind FIRST_PSN, what it is, what it goes to */
struct request {
	int psn;
	u8 opcode;
	u32 bytes;		/* of a WRITE of one packet, or of a READ */
	u32 total;		/* of a WRITE of several, in its first */
	bool silent;
	u32 rkey_xor;
};

static unsigned int put_headers(u8 *to, struct bench *b, const struct request *r)
{
	u32 key = b->hca->mr->rkey ^ r->rkey_xor;

	switch (r->opcode) {
	case SEND_ONLY_IMM:
		put_unaligned_be32(r->psn, to);
		return 4;
	case SEND_ONLY_INV:
		put_unaligned_be32(key, to);
		return 4;
	case WRITE_FIRST:
	case WRITE_ONLY:
	case READ_REQUEST:
	case FETCH_ADD:
		put_unaligned_be64((uintptr_t)b->hca->buffer, to);
		put_unaligned_be32(key, to + 8);
		put_unaligned_be32(r->total ?: r->bytes, to + 12);
		break;
	default:
		return 0;
	}
	if (r->opcode != FETCH_ADD)
		return 16;
	put_unaligned_be64(1, to + 12);
	put_unaligned_be64(0, to + 20);
	return 28;
}

static void ask(struct bench *b, const struct request *r)
{
	u8 headers[32];
	struct test_packet p = {
		.bth = {
			.opcode = r->opcode,
			.psn = (FIRST_PSN + r->psn) & 0xffffff,
			.dest_qpn = b->qp->qp_num,
			.ack_req = !r->silent,
		},
		.extended = headers,
		.extended_bytes = put_headers(headers, b, r),
		.payload_bytes = r->opcode == READ_REQUEST ? 0 : r->bytes,
	};

	test_receive(b->hca, &p);
}

static void expect_answer(struct bench *b, int psn, u8 syndrome)
{
	struct kunit *test = b->hca->test;
	u8 said;

	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + psn) & 0xffffff);
	said = b->sent->extended[0];
	KUNIT_EXPECT_EQ(test, said >> 5 ? said : ACK, syndrome);
}

static u32 num_held(const struct bench *b)
{
	return rhca_hold_num(b->sw->recv.hold);
}

static struct rhca_port *port_of(const struct bench *b)
{
	return &to_rhca_dev(b->hca->ibdev)->ports[0];
}

static long port_total(const struct bench *b)
{
	return atomic_long_read(&to_verbs_port(port_of(b))->held_truesize);
}

static void expect_nothing_held(struct bench *b)
{
	KUNIT_EXPECT_EQ(b->hca->test, num_held(b), 0);
	KUNIT_EXPECT_EQ(b->hca->test, port_total(b), 0);
}

static void post_receives(struct bench *b, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		test_post_recv(b->hca, b->qp, i, BUFFER_OFFSET + i * BUFFER_BYTES,
			       BUFFER_BYTES);
}

/* --- one of each ---------------------------------------------------------------- */

struct kind_case {
	const char *desc;
	struct request request;
	u8 answer;
};

static const struct kind_case kind_cases[] = {
	{ "SEND",	{ 1, SEND_ONLY, 100 },		ACKNOWLEDGE },
	{ "SEND_IMM",	{ 1, SEND_ONLY_IMM, 100 },	ACKNOWLEDGE },
	{ "WRITE",	{ 1, WRITE_ONLY, 100 },		ACKNOWLEDGE },
	{ "WRITE of nothing", { 1, WRITE_ONLY, 0 },	ACKNOWLEDGE },
	{ "READ",	{ 1, READ_REQUEST, 100 },	READ_ONLY },
	{ "FETCH_ADD",	{ 1, FETCH_ADD },		ATOMIC_ACK },
};
KUNIT_ARRAY_PARAM_DESC(kind, kind_cases, desc);

static void request_has_its_turn(struct kunit *test)
{
	const struct kind_case *c = test->param_value;
	bool sends = c->answer == ACKNOWLEDGE && c->request.opcode != WRITE_ONLY;
	struct bench *b = setup(test);
	struct ib_wc wc;

	post_receives(b, 2);
	ask(b, &c->request);
	KUNIT_EXPECT_EQ(test, num_held(b), 1);
	KUNIT_EXPECT_GT(test, port_total(b), 0);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	expect_answer(b, 0, NAK_PSN);
	ask(b, &(struct request) { 0, SEND_ONLY, 50, .silent = true });
	expect_nothing_held(b);
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_EQ(test, b->sent->opcode, c->answer);
	KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + 1) & 0xffffff);
	KUNIT_ASSERT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 0);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 50);
	KUNIT_EXPECT_EQ(test, test_poll(b->hca, &wc), sends);
	if (sends) {
		KUNIT_EXPECT_EQ(test, wc.wr_id, 1);
		KUNIT_EXPECT_EQ(test, wc.byte_len, 100);
		KUNIT_EXPECT_MEMEQ(test, b->hca->buffer + BUFFER_OFFSET +
				   BUFFER_BYTES, b->hca->buffer, 1);
	}
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_HELD), 1);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_HELD_DROPPED), 0);
}

/* --- what may only be late --------------------------------------------------------- */

static void overtake(struct bench *b, u32 wait_ns)
{
	b->sw->recv.reorder.wait_ns = wait_ns;
	b->sw->recv.reorder.late_psn = FIRST_PSN;
	ask(b, &(struct request) { 1, WRITE_ONLY, 100, .silent = true });
	KUNIT_EXPECT_EQ(b->hca->test, num_held(b), 1);
}

/* The timer still waits when the QP goes */
static void what_is_late_is_not_asked_for(struct kunit *test)
{
	struct bench *b = setup(test);

	overtake(b, 4 * NSEC_PER_SEC);
	ask(b, &(struct request) { 0, WRITE_ONLY, 50, .silent = true });
	expect_nothing_held(b);
	KUNIT_EXPECT_FALSE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_TRUE(test, rhca_wheel_is_queued(&b->sw->send.recovery->wait_timer));
}

static void what_does_not_come_is_asked_for(struct kunit *test)
{
	struct bench *b = setup(test);

	overtake(b, NSEC_PER_MSEC);
	test_becomes(test_num_sent(b->hca));
	expect_answer(b, 0, NAK_PSN);
	ask(b, &(struct request) { 0, WRITE_ONLY, 50 });
	expect_answer(b, 1, ACK);
}

/* A GRO keeps packets of different owners apart: an ACK would overtake responses */
static void answers_behind_responses_have_their_owner(struct kunit *test)
{
	struct bench *b = setup(test);
	const struct sock *owner;

	ask(b, &(struct request) { 0, WRITE_ONLY, 50 });
	expect_answer(b, 0, ACK);
	KUNIT_EXPECT_PTR_EQ(test, b->sent->owner, NULL);
	ask(b, &(struct request) { 1, READ_REQUEST, 100 });
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	owner = b->sent->owner;
	KUNIT_EXPECT_PTR_NE(test, owner, NULL);
	ask(b, &(struct request) { 2, WRITE_ONLY, 50 });
	expect_answer(b, 2, ACK);
	KUNIT_EXPECT_PTR_EQ(test, b->sent->owner, owner);
}

/* --- messages with holes ---------------------------------------------------------- */

#define PACKETS		24

struct holes_case {
	const char *desc;
	u32 lost;		/* a bit for each packet */
};

static const struct holes_case holes_cases[] = {
	{ "the first",		BIT(0) },
	{ "one in the middle",	BIT(11) },
	{ "two apart",		BIT(3) | BIT(9) },
	{ "two in a row",	BIT(7) | BIT(8) },
	{ "the last but one",	BIT(22) },
	{ "20 of 24",		0x7ffffe & ~(BIT(5) | BIT(14)) },
};
KUNIT_ARRAY_PARAM_DESC(holes, holes_cases, desc);

static void write_packet(struct bench *b, int i)
{
	ask(b, &(struct request) {
		i, !i ? WRITE_FIRST : i == PACKETS - 1 ? WRITE_LAST : WRITE_MIDDLE,
		MTU, PACKETS * MTU, .silent = i != PACKETS - 1 });
}

/* The peer repeats what it is asked for, and nothing else */
static void missing_packets_are_asked_for_one_by_one(struct kunit *test)
{
	const struct holes_case *c = test->param_value;
	struct bench *b = setup(test);
	int i;

	memset(b->hca->buffer, 0, REGION_BYTES);
	for (i = 0; i < PACKETS; i++)
		if (!(c->lost & BIT(i)))
			write_packet(b, i);
	for (i = 0; i < PACKETS; i++) {
		if (!(c->lost & BIT(i)))
			continue;
		expect_answer(b, i, NAK_PSN);
		KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
		write_packet(b, i);
	}
	expect_answer(b, PACKETS - 1, ACK);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	for (i = 0; i < PACKETS * MTU; i++)
		if (b->hca->buffer[i] != test_payload(i % MTU))
			break;
	KUNIT_EXPECT_EQ_MSG(test, i, PACKETS * MTU, "first wrong byte");
	expect_nothing_held(b);
}

static void pass_over_what_is_held_is_no_harm(struct kunit *test)
{
	struct bench *b = setup(test);
	int i;

	for (i = 0; i < PACKETS; i++)
		if (i != 2 && i != 5)
			write_packet(b, i);
	expect_answer(b, 2, NAK_PSN);
	KUNIT_EXPECT_EQ(test, num_held(b), PACKETS - 4);
	for (i = 2; i < PACKETS; i++)
		write_packet(b, i);
	expect_nothing_held(b);
	KUNIT_EXPECT_EQ(test, b->sw->recv.expected_psn,
			(FIRST_PSN + PACKETS) & 0xffffff);
}

/* With a window of two packets nothing else would bring what is missing */
static void duplicate_that_asks_is_answered_while_a_gap_is_open(struct kunit *test)
{
	struct bench *b = setup(test);
	int i;

	for (i = 0; i < 6; i++)
		if (i != 4)
			ask(b, &(struct request) { i, WRITE_ONLY, 8, .silent = true });
	expect_answer(b, 4, NAK_PSN);
	for (i = 0; i < 20; i++) {
		ask(b, &(struct request) { 0, WRITE_ONLY, 8 });
		KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
		ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
		KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	}
	/* It says what has come, not what is held */
	KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + 3) & 0xffffff);
}

static void responses_leave_no_gap_of_psns(struct kunit *test)
{
	struct bench *b = setup(test);

	ask(b, &(struct request) { 1, READ_REQUEST, 4 * MTU });
	ask(b, &(struct request) { 5, WRITE_ONLY, 8 });
	KUNIT_EXPECT_EQ(test, num_held(b), 2);
	expect_answer(b, 0, NAK_PSN);
	ask(b, &(struct request) { 0, WRITE_ONLY, 8 });
	expect_nothing_held(b);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 5);
	while (test_sent(b->hca, b->sent))
		;
	KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + 5) & 0xffffff);
	KUNIT_EXPECT_EQ(test, b->sent->opcode, ACKNOWLEDGE);
}

/* --- limits ------------------------------------------------------------------------- */

static void as_many_are_held_as_a_window_has(struct kunit *test)
{
	struct bench *b = setup(test);

	ask(b, &(struct request) { RHCA_HOLD_PACKETS - 1, WRITE_ONLY, 8 });
	KUNIT_EXPECT_EQ(test, num_held(b), 1);
	ask(b, &(struct request) { RHCA_HOLD_PACKETS, WRITE_ONLY, 8 });
	KUNIT_EXPECT_EQ(test, num_held(b), 1);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_HELD_DROPPED), 1);
}

static void packet_is_held_once(struct kunit *test)
{
	struct bench *b = setup(test);

	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	KUNIT_EXPECT_EQ(test, num_held(b), 1);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_DUPLICATE_REQUEST), 1);
}

static void port_has_a_limit(struct kunit *test)
{
	atomic_long_t *total;
	struct bench *b = setup(test);

	total = &to_verbs_port(port_of(b))->held_truesize;
	atomic_long_set(total, RHCA_HOLD_PORT_BYTES);
	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	KUNIT_EXPECT_EQ(test, num_held(b), 0);
	atomic_long_set(total, RHCA_HOLD_PORT_BYTES - 1);
	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	KUNIT_EXPECT_EQ(test, num_held(b), 1);
	atomic_long_sub(RHCA_HOLD_PORT_BYTES - 1, total);
}

/* Packets of 4096 bytes: their length is looked at when it is their turn */
static void half_of_the_port_is_for_all(struct kunit *test)
{
	const u32 most = RHCA_HOLD_BYTES_SCARCE / 4096;
	atomic_long_t *total;
	struct bench *b = setup(test);
	u32 i;

	total = &to_verbs_port(port_of(b))->held_truesize;
	atomic_long_set(total, RHCA_HOLD_PORT_BYTES / 2 + 1);
	for (i = 1; i <= most + 1; i++)
		ask(b, &(struct request) { i, WRITE_ONLY, 4096 });
	KUNIT_EXPECT_EQ(test, num_held(b), most);
	atomic_long_sub(RHCA_HOLD_PORT_BYTES / 2 + 1, total);
	for (; i < RHCA_HOLD_PACKETS; i++)
		ask(b, &(struct request) { i, WRITE_ONLY, 4096 });
	KUNIT_EXPECT_EQ(test, b->sw->recv.hold->bytes,
			(RHCA_HOLD_PACKETS - 2) * 4096);
}

static void nothing_is_held_where_that_is_off(struct kunit *test)
{
	struct bench *b = setup(test);

	port_of(b)->cc.selective_repeat = false;
	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	ask(b, &(struct request) { 2, WRITE_ONLY, 8 });
	expect_nothing_held(b);
	expect_answer(b, 0, NAK_PSN);
	ask(b, &(struct request) { 0, WRITE_ONLY, 8 });
	expect_answer(b, 0, ACK);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
}

/* --- what happens meanwhile ----------------------------------------------------------- */

static void not_ready_frees_what_is_held(struct kunit *test)
{
	struct bench *b = setup(test);
	int i;

	post_receives(b, 1);
	for (i = 1; i <= 3; i++)
		ask(b, &(struct request) { i, SEND_ONLY, 8 });
	expect_answer(b, 0, NAK_PSN);
	ask(b, &(struct request) { 0, SEND_ONLY, 8 });
	expect_answer(b, 1, RNR);
	expect_nothing_held(b);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_HELD_DROPPED), 2);
	/* What is on the wire is not asked for: all of it comes again */
	ask(b, &(struct request) { 4, SEND_ONLY, 8 });
	expect_nothing_held(b);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	post_receives(b, 4);
	for (i = 1; i <= 4; i++) {
		ask(b, &(struct request) { i, SEND_ONLY, 8 });
		expect_answer(b, i, ACK);
	}
}

static void fault_of_what_is_held_ends_the_connection(struct kunit *test)
{
	struct bench *b = setup(test);

	ask(b, &(struct request) { 1, WRITE_ONLY, 8, .rkey_xor = 0x100 });
	ask(b, &(struct request) { 2, WRITE_ONLY, 8 });
	expect_answer(b, 0, NAK_PSN);
	KUNIT_EXPECT_EQ(test, test_qp_state(b->qp), IB_QPS_RTS);
	ask(b, &(struct request) { 0, WRITE_ONLY, 8 });
	expect_answer(b, 1, NAK_ACCESS);
	KUNIT_EXPECT_EQ(test, test_qp_state(b->qp), IB_QPS_ERR);
	expect_nothing_held(b);
}

static void message_is_held_while_a_key_goes(struct kunit *test)
{
	struct rhca_mem *mem;
	struct bench *b = setup(test);
	struct ib_wc wc;

	post_receives(b, 3);
	local_bh_disable();
	mem = rhca_mem_get(to_verbs_dev(b->hca->ibdev), b->hca->mr->rkey);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, mem);
	ask(b, &(struct request) { 0, SEND_ONLY_INV });
	ask(b, &(struct request) { 1, SEND_ONLY, 8 });
	ask(b, &(struct request) { 2, SEND_ONLY, 8 });
	KUNIT_EXPECT_EQ(test, num_held(b), 2);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	local_bh_disable();
	rhca_mem_put(mem);
	local_bh_enable();
	test_becomes(!num_held(b));
	test_expect_completions(b->hca, 0, 3);
	expect_answer(b, 2, ACK);
	expect_nothing_held(b);
}

static void end_frees_what_is_held(struct kunit *test)
{
	struct bench *b = setup(test);

	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	KUNIT_EXPECT_GT(test, port_total(b), 0);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_ERR));
	expect_nothing_held(b);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_RTS);
	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	KUNIT_EXPECT_GT(test, port_total(b), 0);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
	expect_nothing_held(b);
	test_qp_bring_up(b->hca, b->qp, &open_qp, IB_QPS_RTS);
	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	KUNIT_EXPECT_GT(test, port_total(b), 0);
	b->hca->num_qps--;
	KUNIT_ASSERT_EQ(test, 0, ib_destroy_qp(b->qp));
	KUNIT_EXPECT_EQ(test, port_total(b), 0);
}

static void time_at(u64 ns)
{
	WRITE_ONCE(rhca_test_now, ns);
}

static void stop_clock(void *unused)
{
	time_at(0);
}

static void nothing_is_held_for_long(struct kunit *test)
{
	const u64 begin = 1000 * NSEC_PER_SEC;
	struct bench *b = setup(test);

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, stop_clock, NULL));
	time_at(begin);
	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	time_at(begin + RHCA_HOLD_SECONDS * NSEC_PER_SEC - 1);
	rhca_holds_age();
	KUNIT_EXPECT_EQ(test, num_held(b), 1);
	time_at(begin + RHCA_HOLD_SECONDS * NSEC_PER_SEC);
	rhca_holds_age();
	expect_nothing_held(b);
	KUNIT_EXPECT_PTR_EQ(test, b->sw->recv.hold, NULL);
	/* It was as if lost */
	expect_answer(b, 0, NAK_PSN);
	ask(b, &(struct request) { 0, WRITE_ONLY, 8 });
	expect_answer(b, 0, ACK);
	ask(b, &(struct request) { 1, WRITE_ONLY, 8 });
	expect_answer(b, 1, ACK);
}

static struct kunit_case hold_cases[] = {
	KUNIT_CASE_PARAM(request_has_its_turn, kind_gen_params),
	KUNIT_CASE(answers_behind_responses_have_their_owner),
	KUNIT_CASE(what_is_late_is_not_asked_for),
	KUNIT_CASE(what_does_not_come_is_asked_for),
	KUNIT_CASE_PARAM(missing_packets_are_asked_for_one_by_one, holes_gen_params),
	KUNIT_CASE(pass_over_what_is_held_is_no_harm),
	KUNIT_CASE(duplicate_that_asks_is_answered_while_a_gap_is_open),
	KUNIT_CASE(responses_leave_no_gap_of_psns),
	KUNIT_CASE(as_many_are_held_as_a_window_has),
	KUNIT_CASE(packet_is_held_once),
	KUNIT_CASE(port_has_a_limit),
	KUNIT_CASE(half_of_the_port_is_for_all),
	KUNIT_CASE(nothing_is_held_where_that_is_off),
	KUNIT_CASE(not_ready_frees_what_is_held),
	KUNIT_CASE(fault_of_what_is_held_ends_the_connection),
	KUNIT_CASE(message_is_held_while_a_key_goes),
	KUNIT_CASE(end_frees_what_is_held),
	KUNIT_CASE(nothing_is_held_for_long),
	{}
};

TEST_SUITE("rhca_hold", hold_cases);
