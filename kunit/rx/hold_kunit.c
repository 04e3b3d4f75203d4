// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that arrive out of order are held, and executed once the missing one has arrived: as if
 * all had arrived in order.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>

#include "lib/course.h"
#include "sw/packet/parse.h"
#include "sw/qp/hold.h"
#include "sw/tx/window.h"
#include "sw/verbs/port.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xfffffe	/* wraps: the third request has PSN 0 */
#define REGION_BYTES	(32 * 1024)

static const struct test_qp_spec open_qp = {
	.access = ALL_RIGHTS, .rq_psn = FIRST_PSN, .responder_resources = 4,
	.initiator_depth = 4, .retries = 7,
};

static struct bench *setup(struct kunit *test)
{
	return test_bench_mr(test, &open_qp, REGION_BYTES);
}

static u32 num_held(const struct bench *b)
{
	return rhca_hold_num(b->sw->recv.hold);
}

static atomic_long_t *port_total(const struct bench *b)
{
	return &to_verbs_port(test_port(b->hca))->held_truesize;
}

static void expect_nothing_held(struct bench *b)
{
	KUNIT_EXPECT_EQ(b->hca->test, num_held(b), 0);
	KUNIT_EXPECT_EQ(b->hca->test, atomic_long_read(port_total(b)), 0);
}

/* --- steps ------------------------------------------------------------------------ */

static void is_held(struct bench *b, const struct step *s)
{
	KUNIT_EXPECT_EQ(b->hca->test, num_held(b), s->n);
	if (s->n)
		KUNIT_EXPECT_GT(b->hca->test, atomic_long_read(port_total(b)), 0);
}

static ACT(is_none_held, expect_nothing_held(b))

/* Packets of this path are known to overtake each other by up to this many ns */
static void do_overtake(struct bench *b, const struct step *s)
{
	b->sw->recv.reorder.wait_ns = s->n;
	b->sw->recv.reorder.late_psn = FIRST_PSN;
}

/* The timer is still pending when the QP is destroyed */
static ACT(is_waiting,
	   KUNIT_EXPECT_TRUE(b->hca->test, rhca_wheel_is_queued(&b->sw->send.recovery->wait_timer)))

/* The aging timer fires at this time */
static void do_age(struct bench *b, const struct step *s)
{
	test_set_clock(b->hca->test, s->r.swap_add);
	rhca_holds_age();
}

static ACT(is_freed, KUNIT_EXPECT_PTR_EQ(b->hca->test, b->sw->recv.hold, NULL))

static void do_destroy(struct bench *b, const struct step *s)
{
	b->hca->num_qps--;
	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_destroy_qp(b->qp));
	KUNIT_EXPECT_EQ(b->hca->test, atomic_long_read(port_total(b)), 0);
}

static ACT(do_jumbo, b->sw->base.mtu_bytes = 4096)

#define ASK_SEND(at_psn)	ASK(SEND_ONLY, .psn = (at_psn), .payload_bytes = 8)
#define SILENT(op, at_psn, bytes)	ASK(op, .psn = (at_psn), .length = (bytes), \
					    .payload_bytes = (bytes), .no_ack = true)
#define HELD(num)		STEP(is_held, num)
#define NONE_HELD		STEP(is_none_held, 0)
#define OVERTAKES(ns)		STEP(do_overtake, ns)
#define WAITING			STEP(is_waiting, 0)
#define AGE(ns)			STEP(do_age, 0, .swap_add = (ns))
#define FREED			STEP(is_freed, 0)
#define DESTROY			STEP(do_destroy, 0)
#define JUMBO			STEP(do_jumbo, 0)	/* a path MTU of 4096 bytes */

#define BEGIN			(1000ULL * NSEC_PER_SEC)
#define END			(BEGIN + (u64)RHCA_HOLD_SECONDS * NSEC_PER_SEC)

/* The second request arrives first. Arguments: name, request, expected effects */
#define HAS_ITS_TURN(name, ask, ...) {							\
	name " has its turn", .step = {							\
		POST(2), ask, HELD(1), PENDING, NAK(0, NAK_PSN), SILENT(SEND_ONLY, 0, 50), \
		NONE_HELD, RECEIVED(50, 0, 0), __VA_ARGS__, PENDING,			\
		COUNT(RX_HELD, 1), COUNT(RX_HELD_DROPPED, 0) } }

static const struct course courses[] = {
	HAS_ITS_TURN("SEND", ASK(SEND_ONLY, .psn = 1, .payload_bytes = 100), ACK(1, 2),
		     RECEIVED(100, 0, 0), PAYLOAD(BUFFER_OFFSET + BUFFER_BYTES, 100)),
	HAS_ITS_TURN("SEND_IMM", ASK(SEND_ONLY_IMM, .psn = 1, .payload_bytes = 100,
				     .immediate = 7), ACK(1, 2),
		     RECEIVED(100, IB_WC_WITH_IMM, 7), PAYLOAD(BUFFER_OFFSET + BUFFER_BYTES, 100)),
	HAS_ITS_TURN("WRITE", ASK_WRITE(1, 0, 100), ACK(1, 2)),
	HAS_ITS_TURN("WRITE of nothing", ASK_WRITE(1, 0, 0), ACK(1, 2)),
	HAS_ITS_TURN("READ", ASK_READ(1, 0, 100), RESPONSE(READ_ONLY, 1, 0, 100)),
	HAS_ITS_TURN("FETCH_ADD", ASK(FETCH_ADD, .psn = 1, .swap_add = 1),
		     RESPONSE(ATOMIC_ACK, 1, 0, 0)),

	/* A packet that may merely be late */
	{ "late packet is not requested", .step = {
		OVERTAKES(4 * NSEC_PER_SEC), SILENT(WRITE_ONLY, 1, 100), HELD(1),
		SILENT(WRITE_ONLY, 0, 50), NONE_HELD, SENT(0), WAITING } },
	{ "lost packet is requested after the delay", .step = {
		OVERTAKES(NSEC_PER_MSEC), SILENT(WRITE_ONLY, 1, 100), HELD(1), COMES(1),
		NAK(0, NAK_PSN), ASK_WRITE(0, 0, 50), ACK(1, ANY) } },
	{ "PSNs of responses are no gap", .step = {
		ASK_READ(1, 0, 4 * MTU), ASK_WRITE(5, 0, 8), HELD(2), NAK(0, NAK_PSN),
		ASK_WRITE(0, 0, 8), NONE_HELD, RESPONSE(READ_FIRST, 1, 0, MTU),
		RESPONSE(READ_MIDDLE, 2, MTU, MTU), RESPONSE(READ_MIDDLE, 3, 2 * MTU, MTU),
		RESPONSE(READ_LAST, 4, 3 * MTU, MTU), ACK(5, ANY), SENT(0) } },
	/* GRO keeps different owners apart: an ACK would overtake responses */
	{ "acknowledgements after responses keep the socket owner", .step = {
		ASK_WRITE(0, 0, 50), ACK(0, 1), OWNED(false), ASK_READ(1, 0, 100),
		RESPONSE(READ_ONLY, 1, 0, 100), NOTE_OWNER, ASK_WRITE(2, 0, 50), ACK(2, 3),
		OWNED(true) } },

	/* Limits */
	{ "a whole window is held", .step = {
		ASK_WRITE(RHCA_HOLD_PACKETS - 1, 0, 8), HELD(1),
		ASK_WRITE(RHCA_HOLD_PACKETS, 0, 8), HELD(1), COUNT(RX_HELD_DROPPED, 1) } },
	{ "a jumbo packet is held", .step = {
		JUMBO, CLEAR(0, 4096), ASK_WRITE(1, 0, 4096), HELD(1), NAK(0, NAK_PSN),
		ASK_WRITE(0, 4096, 8), ACK(1, 2), PAYLOAD(0, 4096) } },
	{ "packet longer than any MTU is not held", .step = {
		ASK_WRITE(1, 0, SZ_4K + 4), HELD(0), COUNT(RX_HELD_DROPPED, 1) } },
	{ "packet is held once", .step = {
		ASK_WRITE(1, 0, 8), ASK_WRITE(1, 0, 8), HELD(1), COUNT(DUPLICATE_REQUEST, 1) } },
	{ "port has a limit", .step = {
		OTHERS(RHCA_HOLD_PORT_BYTES), ASK_WRITE(1, 0, 8), HELD(0), OTHERS(-1),
		ASK_WRITE(1, 0, 8), HELD(1), OTHERS(1 - (s64)RHCA_HOLD_PORT_BYTES) } },
	{ "nothing is held if selective_repeat is 0", .step = {
		GO_BACK, ASK_WRITE(1, 0, 8), ASK_WRITE(2, 0, 8), NONE_HELD, NAK(0, NAK_PSN),
		ASK_WRITE(0, 0, 8), ACK(0, 1), SENT(0) } },

	/* Events while packets are held */
	{ "RNR NAK frees held packets", .step = {
		POST(1), ASK_SEND(1), ASK_SEND(2), ASK_SEND(3), NAK(0, NAK_PSN), ASK_SEND(0),
		NAK(1, RNR), NONE_HELD, COUNT(RX_HELD_DROPPED, 2),
		/* Packets on the wire are not requested: the peer retransmits all */
		ASK_SEND(4), NONE_HELD, SENT(0), POST(4), ASK_SEND(1), ACK(1, ANY), ASK_SEND(2),
		ACK(2, ANY), ASK_SEND(3), ACK(3, ANY), ASK_SEND(4), ACK(4, ANY) } },
	{ "error in a held packet fails the QP", .step = {
		ASK(WRITE_ONLY, .psn = 1, .length = 8, .payload_bytes = 8, .rkey_xor = 0x100),
		ASK_WRITE(2, 0, 8), NAK(0, NAK_PSN), STATE(RTS), ASK_WRITE(0, 0, 8),
		NAK(1, NAK_ACCESS), STATE(ERR), NONE_HELD } },
	{ "ERR frees held packets", .step = {
		ASK_WRITE(1, 0, 8), HELD(1), MOVE(ERR), NONE_HELD, MOVE(RESET), BRING_UP,
		ASK_WRITE(1, 0, 8), HELD(1), MOVE(RESET), NONE_HELD, BRING_UP,
		ASK_WRITE(1, 0, 8), HELD(1), DESTROY } },
	{ "message is held while a key is invalidated", .step = {
		POST(3), USE, ASK(SEND_ONLY_INV), ASK_SEND(1), ASK_SEND(2), HELD(2), PENDING,
		LET_GO, COMES(1), RECEIVED(0, IB_WC_WITH_INVALIDATE, 0), RECEIVED(8, 0, 0),
		RECEIVED(8, 0, 0), PENDING, ACK(2, 3), NONE_HELD } },
	{ "gap after an invalidation that filled one is reported", .step = {
		POST(1), USE, SILENT(WRITE_ONLY, 1, 0), NAK(0, NAK_PSN), ASK(SEND_ONLY_INV),
		LET_GO, COMES(1), RECEIVED(0, IB_WC_WITH_INVALIDATE, 0), ACK(1, 2),
		SILENT(WRITE_ONLY, 3, 0), NAK(2, NAK_PSN) } },
	/* Then it counts as lost */
	{ "held packets age out", .step = {
		AGE(BEGIN), ASK_WRITE(1, 0, 8), AGE(END - 1), HELD(1), AGE(END), NONE_HELD,
		FREED, NAK(0, NAK_PSN), ASK_WRITE(0, 0, 8), ACK(0, 1), ASK_WRITE(1, 0, 8),
		ACK(1, 2) } },
};
TEST_COURSES(hold_follows_the_protocol, courses, &open_qp, REGION_BYTES)

static void write_one(struct bench *b, int psn, u32 bytes, bool no_ack)
{
	test_ask(b, &(struct request) { WRITE_ONLY, psn, no_ack, bytes, .length = bytes });
}

/* --- messages with holes ---------------------------------------------------------- */

#define PACKETS		24

static const struct holes_case {
	const char *desc;
	u32 lost;		/* a bit for each packet */
} holes_cases[] = {
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
	test_ask(b, &(struct request) {
		!i ? WRITE_FIRST : i == PACKETS - 1 ? WRITE_LAST : WRITE_MIDDLE,
		i, i != PACKETS - 1, MTU, .length = PACKETS * MTU });
}

/* The peer retransmits the requested packets only */
static void naks_name_missing_packets_one_by_one(struct kunit *test)
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
		is_nak(b, &(struct step)NAK(i, NAK_PSN));
		KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
		write_packet(b, i);
	}
	is_ack(b, &(struct step)ACK(PACKETS - 1, 1));
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	for (i = 0; i < PACKETS; i++)
		test_expect_payload(b->hca, i * MTU, MTU);
	expect_nothing_held(b);
}

static void go_back_n_over_held_packets_does_no_harm(struct kunit *test)
{
	struct bench *b = setup(test);
	int i;

	for (i = 0; i < PACKETS; i++)
		if (i != 2 && i != 5)
			write_packet(b, i);
	is_nak(b, &(struct step)NAK(2, NAK_PSN));
	KUNIT_EXPECT_EQ(test, num_held(b), PACKETS - 4);
	for (i = 2; i < PACKETS; i++)
		write_packet(b, i);
	expect_nothing_held(b);
	KUNIT_EXPECT_EQ(test, b->sw->recv.expected_psn, (FIRST_PSN + PACKETS) & 0xffffff);
}

/* With a window of two packets nothing else recovers the missing one */
static void duplicate_with_ack_req_is_answered_while_a_gap_is_open(struct kunit *test)
{
	struct bench *b = setup(test);
	int i;

	for (i = 0; i < 6; i++)
		if (i != 4)
			write_one(b, i, 8, true);
	is_nak(b, &(struct step)NAK(4, NAK_PSN));
	for (i = 0; i < 20; i++) {
		write_one(b, 0, 8, false);
		KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
		write_one(b, 1, 8, false);
		KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	}
	/* It acknowledges packets received in order, not held ones */
	KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + 3) & 0xffffff);
}

/* Packets of 4096 bytes; their length is only checked when they are executed */
static void half_of_the_port_is_for_all(struct kunit *test)
{
	const u32 most = RHCA_HOLD_BYTES_SCARCE / 4096;
	struct bench *b = setup(test);
	atomic_long_t *total = port_total(b);
	u32 i;

	atomic_long_set(total, RHCA_HOLD_PORT_BYTES / 2 + 1);
	for (i = 1; i <= most + 1; i++)
		write_one(b, i, 4096, false);
	KUNIT_EXPECT_EQ(test, num_held(b), most);
	atomic_long_sub(RHCA_HOLD_PORT_BYTES / 2 + 1, total);
	for (; i < RHCA_HOLD_PACKETS; i++)
		write_one(b, i, 4096, false);
	KUNIT_EXPECT_EQ(test, b->sw->recv.hold->bytes, (RHCA_HOLD_PACKETS - 2) * 4096);
	/* Whatever the size of pages */
	KUNIT_EXPECT_LT(test, atomic_long_read(total), 3 * b->sw->recv.hold->bytes);
}

/* What the sender changes the opcode to after the check */
static const struct opcode_case {
	const char *desc;
	u8 opcode;
} opcode_cases[] = {
	{ "reserved", 0x1f },
	{ "of no transport", 0xff },
	{ "with more headers", WRITE_ONLY },
};
KUNIT_ARRAY_PARAM_DESC(opcode, opcode_cases, desc);

static u8 other_opcode;

static bool write_to_header(const struct rhca_rx *rx)
{
	((struct rhca_bth *)rx->bth)->opcode = other_opcode;
	return true;
}

/* A sender on this host may splice pages that it keeps writing to */
static void held_packet_is_as_it_was_checked(struct kunit *test)
{
	const struct opcode_case *c = test->param_value;
	struct bench *b = setup(test);
	struct test_packet p = {
		.bth = { .opcode = SEND_ONLY, .pkey = 0xffff, .dest_qpn = b->qp->qp_num,
			 .psn = rhca_psn_add(FIRST_PSN, 1) },
		.payload_bytes = 8,
	};

	test_post_recv(b->hca, b->qp, 1, 0, 64);
	test_post_recv(b->hca, b->qp, 2, 64, 64);
	other_opcode = c->opcode;
	kunit_activate_static_stub(test, rhca_rx_icrc_ok, write_to_header);
	test_receive(b->hca, &p);
	kunit_deactivate_static_stub(test, rhca_rx_icrc_ok);
	KUNIT_EXPECT_EQ(test, num_held(b), 1);
	p.bth.psn = FIRST_PSN;
	test_receive(b->hca, &p);
	expect_nothing_held(b);
	test_expect_completions(b->hca, 1, 2);
}

TEST_SUITE(rhca_hold,
	   KUNIT_CASE_PARAM(hold_follows_the_protocol, courses_gen_params),
	   KUNIT_CASE_PARAM(naks_name_missing_packets_one_by_one, holes_gen_params),
	   KUNIT_CASE(go_back_n_over_held_packets_does_no_harm),
	   KUNIT_CASE(duplicate_with_ack_req_is_answered_while_a_gap_is_open),
	   KUNIT_CASE(half_of_the_port_is_for_all),
	   KUNIT_CASE_PARAM(held_packet_is_as_it_was_checked, opcode_gen_params));
