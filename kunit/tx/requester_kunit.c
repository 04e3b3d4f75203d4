// SPDX-License-Identifier: GPL-2.0
/* The requester: the packets of a send request, and the effect of answers. */
#include <linux/unaligned.h>

#include "sw/verbs/qp/qp.h"
#include "lib/course.h"
#include "sw/packet/transmit.h"
#include "sw/tx/window.h"
#include "sw/tx/segment.h"
#include "sw/tx/send_sched.h"
#include "sw/qp/turn_sched.h"
#include "sw/verbs/section.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	0xfffffe	/* wraps: the third packet has PSN 0 */

static const struct test_qp_spec spec = {
	.sq_psn = FIRST_PSN, .initiator_depth = 16, .retries = 3,
};

static struct bench *setup(struct kunit *test, enum ib_qp_type type)
{
	return test_bench(test, type, &spec, IB_QPS_RTS);
}

/* The next packet, which must exist */
static void look_at_next(struct bench *b)
{
	KUNIT_ASSERT_TRUE(b->hca->test, test_sent(b->hca, b->sent));
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
	test_fill_wr(b, &(struct request) { opcode, .length = bytes }, wr, sge);
}

static void post(struct bench *b, enum ib_wr_opcode opcode, u32 bytes)
{
	test_post(b, &(struct request) { opcode, .length = bytes }, bytes);
}

/* --- segmentation --------------------------------------------------------------- */

#define MAX_SEGMENTS	4
#define END		0xff

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

static const struct segment_case {
	const char *desc;
	enum ib_qp_type type;
	enum ib_wr_opcode opcode;
	u32 bytes;
	u8 opcodes[MAX_SEGMENTS];
} segment_cases[] = {
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

static void message_is_segmented_at_the_mtu(struct kunit *test)
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
		KUNIT_EXPECT_EQ(test, b->sent->ack_req, last && c->type == IB_QPT_RC);
		KUNIT_EXPECT_FALSE(test, b->sent->solicited);
		expect_payload(b, offset);
		offset += bytes;
	}
	KUNIT_EXPECT_EQ(test, offset, c->bytes);
	KUNIT_EXPECT_FALSE(test, test_sent(b->hca, b->sent));
}

/* Many short entries that do not end at packet boundaries */
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

static void window_bounds_what_is_in_flight(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	u32 i, asked = 0;

	post(b, IB_WR_RDMA_WRITE, 200 * MTU);
	/* One pass sends part of it, a tasklet the rest */
	test_becomes(test_num_sent(b->hca) >= RHCA_CWND_INITIAL);
	msleep(20);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), RHCA_CWND_INITIAL);
	for (i = 0; test_sent(b->hca, b->sent); i++) {
		KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + i) & 0xffffff);
		expect_payload(b, i * MTU);
		asked += b->sent->ack_req;
	}
	/* An ACK for the first half arrives before the window is used up */
	KUNIT_EXPECT_EQ(test, asked, 2);
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
	struct ib_ah *ah = test_ah(b->hca, b->hca->pd, 1);

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
	test_expect_wc(b->hca, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, -EMSGSIZE, post_datagram(b, ah, 4097, 0x55));
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	/* 10.2.5: the high bit selects the QP's own key */
	KUNIT_EXPECT_EQ(test, 0, post_datagram(b, ah, 1, 0x80000000));
	look_at_next(b);
	KUNIT_EXPECT_EQ(test, be32_at(b, 0), TEST_QKEY);
	rdma_destroy_ah(ah, 0);
}

static void answer(struct bench *b, u32 psn, u8 syndrome, u32 msn)
{
	test_answer(b->hca, b->qp, ACKNOWLEDGE, psn, syndrome << 24 | msn, 0);
}

/* --- sequences -------------------------------------------------------------------- */

static ACT(is_data, expect_payload(b, s->n))
/* As if it had sent this many more packets */
static ACT(do_skip, b->send->next_psn = (b->send->next_psn + s->n) & 0xffffff)
static ACT(is_next, KUNIT_EXPECT_EQ(b->hca->test, b->send->next_psn, FIRST_PSN + s->n))
static ACT(is_paused, KUNIT_EXPECT_EQ(b->hca->test, b->send->pause, s->n))

static void is_over(struct bench *b, const struct step *s)
{
	KUNIT_EXPECT_EQ(b->hca->test, READ_ONCE(b->send->turn.not_before) <= ktime_get_ns(), s->n);
}

static void is_silent(struct bench *b, const struct step *s)
{
	KUNIT_EXPECT_GE(b->hca->test, test_count(b->hca, RHCA_ROCE_ADP_RETRANS), 1);
	KUNIT_EXPECT_EQ(b->hca->test, test_count(b->hca, RHCA_LOCAL_ACK_TIMEOUT_ERR), 0);
	KUNIT_EXPECT_EQ(b->hca->test, READ_ONCE(b->send->retries_left), spec.retries);
}

static bool timer_expires_after(const struct bench *b, u32 seconds)
{
	return time_after(b->send->ack_timer.expires, jiffies + seconds * HZ);
}

static ACT(is_header, KUNIT_EXPECT_EQ(b->hca->test, be32_at(b, s->r.va), s->n))
static ACT(is_address, KUNIT_EXPECT_EQ(b->hca->test, be64_at(b, 0), REMOTE_ADDR + s->n))
static ACT(is_operand, KUNIT_EXPECT_EQ(b->hca->test, be64_at(b, s->r.va), s->r.swap_add))
static ACT(do_open_window, b->send->cwnd.packets = RHCA_SEND_WINDOW)
static ACT(is_solicited, KUNIT_EXPECT_EQ(b->hca->test, b->sent->solicited, s->n))
static ACT(do_rtt, b->send->rtt.smoothed = s->n)
static ACT(is_rtt, KUNIT_EXPECT_EQ(b->hca->test, READ_ONCE(b->send->rtt.smoothed), s->n))
static ACT(is_window, KUNIT_EXPECT_EQ(b->hca->test, READ_ONCE(b->send->cwnd.packets), s->n))
static ACT(is_oldest, KUNIT_EXPECT_EQ(b->hca->test, READ_ONCE(b->send->oldest_unacked_psn),
				      FIRST_PSN + s->n))
static ACT(is_retry_left,
	   KUNIT_EXPECT_EQ(b->hca->test, READ_ONCE(b->send->retries_left) == spec.retries, s->n))
static ACT(is_reading, KUNIT_EXPECT_EQ(b->hca->test, b->send->reads_in_flight, s->n))
static ACT(is_timer_late, KUNIT_EXPECT_TRUE(b->hca->test, timer_expires_after(b, s->n)))
static ACT(is_timer_soon, KUNIT_EXPECT_FALSE(b->hca->test, timer_expires_after(b, s->n)))
static ACT(is_heard, KUNIT_EXPECT_EQ(b->hca->test, READ_ONCE(b->send->recovery->probes), 0))
static ACT(do_timeout, WRITE_ONCE(b->sw->base.attr.timeout, s->n))
static ACT(do_hurry, b->send->deadline = jiffies + HZ)
static ACT(is_patient, KUNIT_EXPECT_TRUE(b->hca->test, time_after(b->send->deadline,
								  jiffies + 2 * HZ)))
static ACT(do_prove, b->send->backoff.proven = true)
static ACT(do_pace, test_port(b->hca)->cc.rp_max_rate = s->n)

/* The rate allows no packet for @n seconds */
static void do_hold_up(struct bench *b, const struct step *s)
{
	spin_lock_bh(&b->send->lock);
	rhca_pause_send(b->sw, RHCA_PAUSE_PACE, s->n * (u64)NSEC_PER_SEC);
	spin_unlock_bh(&b->send->lock);
}

/* The ACK timer fires now */
static void do_fire(struct bench *b, const struct step *s)
{
	unsigned long now = jiffies;

	spin_lock_bh(&b->send->lock);
	b->send->deadline = now - 1;
	mod_timer(&b->send->ack_timer, now);
	spin_unlock_bh(&b->send->lock);
	/* Until it has fired, and is perhaps pending anew */
	while (timer_pending(&b->send->ack_timer) && READ_ONCE(b->send->ack_timer.expires) == now)
		usleep_range(1000, 2000);
	timer_delete_sync(&b->send->ack_timer);
}

/* It was probed in vain, and the next timeout would fail the request */
static void do_exhaust(struct bench *b, const struct step *s)
{
	spin_lock_bh(&b->send->lock);
	b->send->deadline = jiffies + HZ;
	b->send->retries_left = 0;
	b->send->recovering = true;
	b->send->recovery->probes = 2;
	spin_unlock_bh(&b->send->lock);
}

/* The wait for a probe has been doubled many times; or round trips took that long */
static void do_outage(struct bench *b, const struct step *s)
{
	spin_lock_bh(&b->send->lock);
	b->send->recovering = true;
	b->send->recovery->doublings = s->n ? 0 : 10;
	b->send->rtt.smoothed = s->n * (u64)NSEC_PER_MSEC;
	rhca_wheel_start(&b->send->probe_timer, ktime_get_ns(), 3600ULL * NSEC_PER_SEC);
	spin_unlock_bh(&b->send->lock);
}

static void is_early(struct bench *b, const struct step *s)
{
	KUNIT_EXPECT_EQ(b->hca->test, b->send->recovery->doublings, 0);
	KUNIT_EXPECT_LT(b->hca->test, b->send->probe_timer.at, ktime_get_ns() + NSEC_PER_SEC);
}

static ACT(is_doubtful, KUNIT_EXPECT_FALSE(b->hca->test, READ_ONCE(b->send->backoff.proven)))

static void is_done_soon(struct bench *b, const struct step *s)
{
	struct ib_wc wc = {};

	KUNIT_EXPECT_TRUE(b->hca->test, test_poll_in_time(b->hca, &wc));
	KUNIT_EXPECT_EQ(b->hca->test, (u32)wc.status, s->n);
}

/* Move to SQD, from RTS or SQD; @n: further attributes to change */
static void do_drain(struct bench *b, const struct step *s)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD, .timeout = s->r.length,
				   .en_sqd_async_notify = 1 };

	KUNIT_EXPECT_EQ(b->hca->test, 0, ib_modify_qp(b->qp, &attr, IB_QP_STATE | s->n));
}

static ACT(do_fail, KUNIT_EXPECT_TRUE(b->hca->test, rhca_qp_fail(&b->sw->base, s->n)))

/* Since the last check */
static void is_drained_raised(struct bench *b, const struct step *s)
{
	KUNIT_EXPECT_EQ(b->hca->test, (u32)test_and_clear_bit(IB_EVENT_SQ_DRAINED,
							      &b->hca->events), s->n);
}

static void is_draining(struct bench *b, const struct step *s)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_EXPECT_EQ(b->hca->test, 0, ib_query_qp(b->qp, &attr, IB_QP_STATE |
						     IB_QP_EN_SQD_ASYNC_NOTIFY, &init));
	KUNIT_EXPECT_EQ(b->hca->test, (u32)attr.sq_draining, s->n);
	KUNIT_EXPECT_EQ(b->hca->test, attr.en_sqd_async_notify, 0);
}

/* As if a process had written an invalid request */
static void do_spoil(struct bench *b, const struct step *s)
{
	struct rhca_sq *sq = &b->sw->base.sq;

	spin_lock_bh(&b->send->lock);
	rhca_sq_wqe(sq, sq->head)->status = IB_WC_LOC_QP_OP_ERR;
	spin_unlock_bh(&b->send->lock);
}

static ACT(do_close, test_netdev_set_up(b->hca->ndev[0], false))

/* Pretend that all but the last @n responses have arrived for the oldest request, a READ */
static void do_respond_most(struct bench *b, const struct step *s)
{
	const struct rhca_sq *sq = &b->sw->base.sq;

	spin_lock_bh(&b->send->lock);
	b->send->oldest_unacked_psn = (rhca_sq_wqe(sq, sq->head)->last_psn + 1 - s->n) & 0xffffff;
	b->send->newest_psn = b->send->oldest_unacked_psn;
	rhca_requester_rewind(b->sw, b->send->oldest_unacked_psn);
	spin_unlock_bh(&b->send->lock);
}

#define DATA(at)	STEP(is_data, at)	/* in the packet checked last */
#define SKIP(packets)	STEP(do_skip, packets)
#define NEXT(at_psn)	STEP(is_next, at_psn)	/* is the next to be sent */
#define PAUSED(why)	STEP(is_paused, why)
#define OVER(yes)	STEP(is_over, yes)	/* the pause is over: its timer fires */
#define SILENT		STEP(is_silent, 0)	/* probes to a silent peer have used no retry */
#define HEARD		STEP(is_heard, 0)
#define TIMEOUT(code)	STEP(do_timeout, code)
#define HURRY		STEP(do_hurry, 0)	/* the timeout is soon */
#define PATIENT		STEP(is_patient, 0)
#define FIRE		STEP(do_fire, 0)
#define EXHAUST		STEP(do_exhaust, 0)
#define OUTAGE		STEP(do_outage, 0)
#define SLOW(ms)	STEP(do_outage, ms)
#define EARLY		STEP(is_early, 0)	/* is the next probe */
#define PROVE		STEP(do_prove, 0)	/* blocks arrive */
#define DOUBTFUL	STEP(is_doubtful, 0)	/* whether they still do */
#define PACE(mbits)	STEP(do_pace, mbits)
#define HOLD_UP(seconds)	STEP(do_hold_up, seconds)
#define SOON(with)	STEP(is_done_soon, IB_WC_##with)
#define DRAIN		STEP(do_drain, IB_QP_EN_SQD_ASYNC_NOTIFY)
#define CHANGE_TIMEOUT(code)	STEP(do_drain, IB_QP_TIMEOUT, .length = (code))
#define RAISED(yes)	STEP(is_drained_raised, yes)	/* the event SQ_DRAINED */
#define DRAINING(yes)	STEP(is_draining, yes)
#define SPOIL		STEP(do_spoil, 0)	/* corrupt the oldest request */
#define FAIL(to)	STEP(do_fail, IB_QPS_##to)	/* as the data path does */
#define CLOSE		STEP(do_close, 0)	/* set the netdev down */
#define ALL_BUT(responses)	STEP(do_respond_most, responses)
/* In the packet checked last, after its BTH: the remote address, and other words */
#define ADDRESS(offset)	STEP(is_address, offset)
#define HEADER(at, value)	STEP(is_header, value, .va = (at))
#define OPERAND(at, value)	STEP(is_operand, 0, .va = (at), .swap_add = (value))
#define OPEN_WINDOW	STEP(do_open_window, 0)
#define SOLICITED(yes)	STEP(is_solicited, yes)
#define RTT(ns)		STEP(do_rtt, ns)
#define SAME_RTT(ns)	STEP(is_rtt, ns)
#define WINDOW(packets)	STEP(is_window, packets)
#define OLDEST(at_psn)	STEP(is_oldest, at_psn)	/* is not acknowledged */
#define RETRIES_LEFT(all)	STEP(is_retry_left, all)
#define READING(num)	STEP(is_reading, num)	/* READs without their responses */
#define TIMER_AFTER(seconds)	STEP(is_timer_late, seconds)
#define TIMER_BEFORE(seconds)	STEP(is_timer_soon, seconds)

/* A WRITE of five packets, the second of which is lost, and a SEND that may have to wait */
#define LOSE_ONE	WRITES(5 * MTU), FORGET, ANSWER(1, NAK_PSN, 0), LEFT(WRITE_MIDDLE, 1), \
			ASKS(true), DATA(MTU), SENDS(0), SENT(0)

/* The first succeeds, the second gets the NAK, the third is flushed */
#define FAILS(name, code, with)	{ name " fails its request and the QP", .step = {		\
		SENDS(1), SENDS(2), SENDS(3), ANSWER(1, code, 1), DONE(1, SUCCESS),	\
		DONE(2, with), DONE(3, WR_FLUSH_ERR), STATE(ERR) } }

/* A READ request covers up to 32 packets, RHCA_READ_CHUNK; @next: PSN after the READ */
#define READ_OF(name, bytes, next, ...)	{ "READ of " name, .step = {				\
		OPEN_WINDOW, READS(bytes), __VA_ARGS__, SENT(0), SENDS(0),		\
		LEFT(SEND_ONLY, next) } }
#define CHUNK(nth, bytes)	LEFT(READ_REQUEST, 32 * (nth)), ADDRESS(32 * MTU * (nth)),	\
				HEADER(8, REMOTE_KEY), HEADER(12, bytes)

/* Only the wait of the first retransmission is excused: after the second the peer may be dead */
#define LOSE_FOR_RATE(at_psn)	PACE(64), TIMEOUT(20), SENDS(1), FORGET, HOLD_UP(3600), ADP,	\
		ANSWER(at_psn, NAK_PSN, at_psn), FIRE, RETRIES_LEFT(true), HURRY, HOLD_UP(0),	\
		COMES(1), PATIENT, HOLD_UP(3600), WAIT(100), FIRE, RETRIES_LEFT(false)

static const struct test_qp_spec no_retries = { .sq_psn = FIRST_PSN };
static const struct test_qp_spec one_each = {
	.sq_psn = FIRST_PSN, .initiator_depth = 1, .retries = 1,
};

static const struct course courses[] = {
	/* For the offsets of RETH, immediate and IETH see kunit/wire/opcode_kunit.c */
	{ "extended headers carry the request", .step = {
		WR(IB_WR_RDMA_WRITE_WITH_IMM, MTU + 5), LEFT(WRITE_FIRST, 0), ADDRESS(0),
		HEADER(8, REMOTE_KEY), HEADER(12, MTU + 5), LEFT(WRITE_LAST_IMM, 1),
		HEADER(0, IMM), WR(IB_WR_SEND_WITH_INV, 3), LEFT(SEND_ONLY_INV, 2),
		HEADER(0, REMOTE_KEY) } },
	READ_OF("nothing", 0, 1, CHUNK(0, 0)),
	READ_OF("a byte", 1, 1, CHUNK(0, 1)),
	READ_OF("MTU", MTU, 1, CHUNK(0, MTU)),
	READ_OF("MTU + 1", MTU + 1, 2, CHUNK(0, MTU + 1)),
	READ_OF("32 packets", 32 * MTU, 32, CHUNK(0, 32 * MTU)),
	READ_OF("32 packets and a byte", 32 * MTU + 1, 33, CHUNK(0, 32 * MTU), CHUNK(1, 1)),
	READ_OF("64 packets", 64 * MTU, 64, CHUNK(0, 32 * MTU), CHUNK(1, 32 * MTU)),
	READ_OF("100 packets less a byte", 100 * MTU - 1, 100, CHUNK(0, 32 * MTU),
		CHUNK(1, 32 * MTU), CHUNK(2, 32 * MTU), CHUNK(3, 4 * MTU - 1)),
	{ "atomic carries its operands", .step = {
		WR(IB_WR_ATOMIC_CMP_AND_SWP, 8, .compare = 0x1111222233334444,
		   .swap_add = 0x5555666677778888), LEFT(CMP_SWAP, 0), ASKS(true), ADDRESS(0),
		HEADER(8, REMOTE_KEY), OPERAND(12, 0x5555666677778888),
		OPERAND(20, 0x1111222233334444),
		WR(IB_WR_ATOMIC_FETCH_AND_ADD, 8, .compare = 7), LEFT(FETCH_ADD, 1),
		OPERAND(12, 7) } },
	/* A WRITE without immediate consumes no receive request */
	{ "last packet has the solicited bit", .step = {
		WR(IB_WR_SEND, 2 * MTU, .flags = IB_SEND_SOLICITED), LEFT(SEND_FIRST, 0),
		SOLICITED(false), LEFT(SEND_LAST, 1), SOLICITED(true),
		WR(IB_WR_RDMA_WRITE, 2 * MTU, .flags = IB_SEND_SOLICITED), LEFT(WRITE_FIRST, 2),
		LEFT(WRITE_LAST, 3), SOLICITED(false) } },
	{ "requester sends nothing in other states", .step = {
		MOVE(SQD), SENDS(8), SENT(0), PENDING, MOVE(RTS), SENT(1), MOVE(ERR), SENDS(9),
		SENT(1), DONE(8, WR_FLUSH_ERR), DONE(9, WR_FLUSH_ERR) } },
	/* Half of all PSNs. The later request has arrived, but not the READ's last responses */
	{ "longest READ completes with its last response", .step = {
		OPEN_WINDOW, READS(1U << 31), FORGET, ALL_BUT(32), SENDS(1),
		ASKED(0x800000 - 32, 32 * MTU), LEFT(SEND_ONLY, 0x800000),
		ANSWER(0x800000, NO_CREDITS, 2), PENDING, ASKED(0x800000 - 32, 32 * MTU) } },
	{ "UC and UD requests complete when sent", .type = IB_QPT_UC, .step = {
		WRITES(3 * MTU), SENT(3), DONE_AS(3 * MTU, RDMA_WRITE) } },
	/* A flush runs in portions; new requests may be posted before the last one */
	{ "requests pending in SQE are flushed, not sent", .type = IB_QPT_UC, .step = {
		MOVE(SQD), SENDS(0), SENDS(1), FAIL(SQE), MOVE(RTS), SENT(0),
		DONE(0, WR_FLUSH_ERR), DONE(1, WR_FLUSH_ERR), SENDS(2), SENT(1),
		DONE(2, SUCCESS) } },
	{ "invalid request fails after those before it", .type = IB_QPT_UC, .step = {
		MOVE(SQD), WRITES(1), WR(IB_WR_SEND, 8, .rkey_xor = 0x4711), MOVE(RTS),
		DONE(1, SUCCESS), DONE(8, LOC_PROT_ERR), STATE(SQE) } },
	/* It is planned but never sent, so no response to it is outstanding */
	{ "invalid request does not retransmit the READ before it", .step = {
		MOVE(SQD), READS(3 * MTU), WR(IB_WR_RDMA_WRITE, 1, .rkey_xor = 0x4711), MOVE(RTS),
		LEFT(READ_REQUEST, 0), SENT(0), READING(1), RESPOND(READ_FIRST, 0, MTU),
		RESPOND(READ_MIDDLE, 1, MTU), RESPOND(READ_LAST, 2, MTU),
		DONE_AS(3 * MTU, RDMA_READ), DONE(1, LOC_PROT_ERR), READING(0) } },
	/* 8 GiB of packets later: the boundary for old PSNs has moved along */
	{ "unreliable messages are intact across half the PSN space", .type = IB_QPT_UC, .step = {
		SENDS(1), FORGET, SKIP(0x7fffff), SENDS(1), FORGET, SENDS(2 * MTU),
		LEFT(UC | SEND_FIRST, 0x800001), LEFT(UC | SEND_LAST, 0x800002) } },
	/* Three at once, across the wrap; an old ACK, or one for an unsent packet, has no effect */
	{ "acknowledgement completes what it covers", .step = {
		SENDS(1), SENDS(2), SENDS(3), SENDS(4), PENDING, ANSWER(2, NO_CREDITS, 3),
		DONE(1, SUCCESS), DONE(2, SUCCESS), DONE(3, SUCCESS), PENDING,
		ANSWER(0, NO_CREDITS, 1), ANSWER(9, NO_CREDITS, 9), PENDING, STATE(RTS),
		ANSWER(3, NO_CREDITS, 4), DONE(4, SUCCESS) } },

	/* Losses */
	{ "PSN sequence NAK retransmits from its PSN", .step = {
		GO_BACK, WRITES(5 * MTU), FORGET, ANSWER(2, NAK_PSN, 0), LEFT(WRITE_MIDDLE, 2),
		DATA(2 * MTU), LEFT(WRITE_MIDDLE, 3), DATA(3 * MTU), LEFT(WRITE_LAST, 4),
		DATA(4 * MTU), SENT(0) } },
	{ "packets after a retransmitted message set AckReq as before", .step = {
		GO_BACK, WRITES(5 * MTU), FORGET, ANSWER(2, NAK_PSN, 0), FORGET,
		ANSWER(4, NO_CREDITS, 1), WRITES(3 * MTU), LEFT(WRITE_FIRST, 5), ASKS(false) } },
	{ "peer that holds packets gets only the missing ones", .step = {
		LOSE_ONE, ANSWER(4, NO_CREDITS, 1), LEFT(SEND_ONLY, 5), SENT(0),
		COUNT(TX_RETRANSMITTED_PACKETS, 1) } },
	/* GRO keeps different owners apart: new packets would overtake the repeated one */
	{ "new packets after a retransmission keep its socket owner", .step = {
		LOSE_ONE, NOTE_OWNER, ANSWER(2, NO_CREDITS, 0), LEFT(SEND_ONLY, 5), OWNED(true),
		ANSWER(5, NO_CREDITS, 2), SENDS(0), LEFT(SEND_ONLY, 6), OWNED(false) } },
	{ "new packets after a pause keep the socket owner", .step = {
		SENDS(1), SENDS(2), FORGET, ANSWER(0, 0x21 /* 10 us */, 0), COMES(2),
		LEFT(ANY_OPCODE, 0), NOTE_OWNER, SENDS(3), LEFT(ANY_OPCODE, 1),
		LEFT(SEND_ONLY, 2), OWNED(true), ANSWER(2, NO_CREDITS, 3), SENDS(4),
		LEFT(SEND_ONLY, 3), OWNED(false) } },
	/* Its behaviour is known by then */
	{ "peer that drops packets gets all of them", .step = {
		LOSE_ONE, ANSWER(1, NO_CREDITS, 0), LEFT(ANY_OPCODE, 2), LEFT(ANY_OPCODE, 3),
		LEFT(ANY_OPCODE, 4), LEFT(ANY_OPCODE, 5), SENT(0), ANSWER(5, NO_CREDITS, 2),
		WRITES(3 * MTU), FORGET, ANSWER(6, NAK_PSN, 2), SENT(3) } },
	/* All is retransmitted, then new packets follow; an ACK of one packet proves nothing */
	{ "RNR NAK ends the retransmission of one packet", .step = {
		LOSE_ONE, ANSWER(1, 0x21 /* 10 us */, 0), COMES(5), LEFT(ANY_OPCODE, 1),
		LEFT(ANY_OPCODE, 2), LEFT(ANY_OPCODE, 3), LEFT(ANY_OPCODE, 4),
		LEFT(ANY_OPCODE, 5), ASKS(true), ANSWER(1, NO_CREDITS, 0), SENT(0) } },
	/* rdma_rxe sends both for a burst. It is not learnt from either whether it holds packets */
	{ "PSN sequence NAK after an RNR NAK is no loss", .step = {
		SENDS(1), SENDS(2), SENDS(3), FORGET, ANSWER(0, 0x20 /* 655 ms */, 0),
		ANSWER(0, NAK_PSN, 0), RETRIES_LEFT(true), SENDS(4), COMES(4),
		LEFT(ANY_OPCODE, 0), LEFT(ANY_OPCODE, 1), LEFT(ANY_OPCODE, 2),
		LEFT(SEND_ONLY, 3), ASKS(true), SENT(0) } },
	/* It is sent, alone, as soon as the queue has room, and its answer is no round trip */
	{ "missing packet is retransmitted after a full local queue", .step = {
		WRITES(5 * MTU), FORGET, RTT(1), QUEUE(DROP), ANSWER(1, NAK_PSN, 0),
		QUEUE(SUCCESS), COMES(1), LEFT(ANY_OPCODE, 1), SENT(0), WAIT(1),
		ANSWER(4, NO_CREDITS, 1), SAME_RTT(1) } },
	/* It may have waited for the rate */
	{ "answer to a paced retransmission is no round trip", .step = {
		PACE(100000), WRITES(5 * MTU), COMES(5), RTT(1), ANSWER(1, NAK_PSN, 0), WAIT(1),
		ANSWER(4, NO_CREDITS, 1), SAME_RTT(1) } },
	/* It was in slow start then; later the round trip tells whether a queue was full */
	{ "first loss halves the window, and so does a full queue", .step = {
		WRITES(5 * MTU), RTT(20 * NSEC_PER_USEC), ANSWER(0, NAK_PSN, 0),
		WINDOW(RHCA_CWND_INITIAL / 2), ANSWER(4, NO_CREDITS, 1),
		WRITES(5 * MTU), RTT(20 * NSEC_PER_USEC), ANSWER(5, NAK_PSN, 0),
		WINDOW(RHCA_CWND_INITIAL / 2), ANSWER(9, NO_CREDITS, 1),
		WRITES(5 * MTU), RTT(NSEC_PER_SEC), ANSWER(10, NAK_PSN, 0),
		WINDOW(RHCA_CWND_INITIAL / 4) } },
	/* After some round trips, not after the 4 s of the timeout, and without using a retry */
	{ "unanswered packet is probed before the ACK timeout", .step = {
		ADP, TIMEOUT(20), RTT(20 * NSEC_PER_USEC), PROVE, WRITES(MTU), COMES(6),
		RETRIES_LEFT(true), WINDOW(RHCA_CWND_MIN), OLDEST(0), DOUBTFUL } },
	{ "ACK timeout uses up a retry", .step = {
		TIMEOUT(1), PROVE, WRITES(MTU), COMES(2), RETRIES_LEFT(false), DOUBTFUL } },
	{ "progress restores all retries", .step = {
		TIMEOUT(20), SENDS(1), FIRE, RETRIES_LEFT(false), ANSWER(0, NO_CREDITS, 1),
		RETRIES_LEFT(true) } },
	{ "progress restarts the ACK timeout", .step = {
		TIMEOUT(20), SENDS(1), SENDS(2), HURRY, ANSWER(0, NO_CREDITS, 1), PATIENT } },
	/* 800 bytes at once */
	{ "last packet before a pause of the rate sets AckReq", .step = {
		PACE(64), WRITES(10 * MTU), LEFT(WRITE_FIRST, 0), ASKS(false),
		LEFT(WRITE_MIDDLE, 1), ASKS(false), LEFT(WRITE_MIDDLE, 2), ASKS(true) } },
	/* And the next probe is due after that */
	{ "probe is sent when the rate allows it", .step = {
		ADP, SENDS(1), FORGET, HOLD_UP(3600), SENDS(1), WAIT(100),
		COUNT(ROCE_ADP_RETRANS, 1), SENT(0), HOLD_UP(0), COMES(1),
		LEFT(SEND_ONLY, 0) } },
	{ "retransmission that waits for the rate uses up no retry: holds", .step = {
		SENDS(1), SENDS(1), ANSWER(0, NAK_PSN, 0), ANSWER(1, NO_CREDITS, 2),
		LOSE_FOR_RATE(2) } },
	{ "retransmission that waits for the rate uses up no retry: drops", .step = {
		GO_BACK, LOSE_FOR_RATE(0) } },
	/* It has asked for 655 ms */
	{ "no probe during an RNR pause", .step = {
		ADP, SENDS(1), ANSWER(0, 0x20, 0), WAIT(50), COUNT(ROCE_ADP_RETRANS, 0) } },
	/* It was armed before modify_qp set the timeout to 0 (infinite) */
	{ "timeout 0 retransmits nothing", .step = {
		SENDS(1), SENT(1), FIRE, SENT(1), RETRIES_LEFT(true) } },
	/* The peer is alive and has asked for a delay, which only uses an RNR retry, 9.7.5.2.8 */
	{ "RNR pause is no ACK timeout", .step = {
		TIMEOUT(20), SENDS(1), FORGET, EXHAUST, ANSWER(0, 0x21, 0), COMES(1),
		LEFT(ANY_OPCODE, 0), PATIENT, RETRIES_LEFT(true), HEARD } },
	{ "probes are early again after an outage: a packet sent once is answered", .step = {
		SENDS(1), ADP, OUTAGE, ANSWER(0, NO_CREDITS, 1), EARLY } },
	{ "probes are early again after an outage: a retransmission is answered", .step = {
		SENDS(1), ANSWER(0, NAK_PSN, 0), ADP, OUTAGE, ANSWER(0, NO_CREDITS, 1), EARLY } },
	{ "probes are early again after an outage: it ends with the connection", .step = {
		SENDS(1), ADP, OUTAGE, MOVE(RESET), EARLY } },
	{ "probes are early again after long round trips of another connection", .step = {
		SENDS(1), ADP, SLOW(100), MOVE(RESET), EARLY } },
	/* The timer may have been armed for hours ahead */
	{ "shorter ACK timeout applies at once", .step = {
		MOVE(SQD), CHANGE_TIMEOUT(31), MOVE(RTS), SENDS(1), TIMER_AFTER(3600), MOVE(SQD),
		CHANGE_TIMEOUT(14), TIMER_BEFORE(10) } },
	/* Probes go out long before the ACK timeout */
	{ "oldest packet is retransmitted if nothing arrives", .step = {
		ADP, WRITES(3 * MTU), FORGET, ANSWER(0, NO_CREDITS, 0), COMES(1),
		LEFT(ANY_OPCODE, 1), ASKS(true), SILENT, ANSWER(2, NO_CREDITS, 1), HEARD } },

	/* The peer sends a NAK, and the local queue rejects the retransmission */
	{ "SQ is not drained during a retransmission", .step = {
		SENDS(1), DRAIN, QUEUE(DROP), ANSWER(0, NAK_PSN, 0), RAISED(false),
		QUEUE(SUCCESS), COMES(2), RAISED(false), ANSWER(0, NO_CREDITS, 1), RAISED(true) } },
	/* Changing an attribute of a QP in SQD does not raise the event again */
	{ "SQ_DRAINED is raised once", .step = {
		DRAIN, RAISED(true), CHANGE_TIMEOUT(14), RAISED(false), MOVE(RTS), DRAIN,
		RAISED(true) } },
	/* The request for the event applied to the earlier drain */
	{ "SQ_DRAINED is raised only if requested", .step = {
		DRAIN, RAISED(true), MOVE(RTS), MOVE(SQD), RAISED(false), DRAINING(false) } },
	/* For users who have not requested the event, 11.2.5.3 */
	{ "query_qp returns sq_draining", .step = {
		SENDS(1), DRAINING(false), MOVE(SQD), DRAINING(true), ANSWER(0, NO_CREDITS, 1),
		DRAINING(false), MOVE(RTS), DRAINING(false) } },
	/* Errors are reported in order; in SQD the requests wait */
	{ "invalid request waits in SQD", .step = {
		MOVE(SQD), SENDS(1), SPOIL, SENDS(2), STATE(SQD), DRAINING(false), MOVE(RTS),
		DONE(1, LOC_QP_OP_ERR), STATE(ERR) } },

	/* The local queue. NET_XMIT_CN: a packet was dropped, but not necessarily this one */
	{ "NET_XMIT_CN counts as sent", .step = {
		QUEUE(CN), WRITES(3 * MTU), PAUSED(RHCA_NO_PAUSE), LEFT(ANY_OPCODE, 0),
		LEFT(ANY_OPCODE, 1), LEFT(ANY_OPCODE, 2), COUNT(TX_DROPPED, 0),
		COUNT(TX_PACKETS, 3) } },
	/* UC does not retransmit, so nothing else would resume it */
	{ "full local queue does not stop UC for ever", .type = IB_QPT_UC, .step = {
		QUEUE(DROP), WRITES((RHCA_SECTION_PACKETS + 36) * MTU), SOON(SUCCESS) } },
	/* Rejected packets are lost; the rest of the message is sent later */
	{ "UC waits for a full queue", .type = IB_QPT_UC, .step = {
		QUEUE(DROP), BH_OFF, WRITES(TEST_BUFFER_BYTES),
		COUNT(TX_DROPPED, RHCA_TX_LIST_PACKETS), QUEUE(SUCCESS), BH_ON, SOON(SUCCESS),
		SENT(TEST_BUFFER_BYTES / MTU - RHCA_TX_LIST_PACKETS) } },
	{ "posts do not end a LOCAL_FULL pause", .type = IB_QPT_UC, .step = {
		QUEUE(DROP), BH_OFF, WRITES(1), WRITES(1), WRITES(1), WRITES(1),
		COUNT(TX_DROPPED, 1), QUEUE(SUCCESS), BH_ON, SOON(SUCCESS), SOON(SUCCESS),
		SOON(SUCCESS), SOON(SUCCESS), SENT(3) } },
	/* As with a veth pair whose other end has a smaller MTU. Timeout 1.05 ms, 3 retries */
	{ "request fails if the local queue never takes a packet", .step = {
		TIMEOUT(8), QUEUE(DROP), SENDS(1), SOON(RETRY_EXC_ERR),
		COUNT(LOCAL_ACK_TIMEOUT_ERR, 4), STATE(ERR) } },
	/* Packets discarded by a netdev that is down are not counted as sent */
	{ "nothing is sent on a netdev that is down", .type = IB_QPT_UC, .step = {
		CLOSE, SENDS(1), SENT(0), COUNT(TX_PACKETS, 0),
		COUNT(TX_DROPPED_NO_NETDEV, 1) } },

	FAILS("invalid request", NAK_INVALID, REM_INV_REQ_ERR),
	FAILS("access error", NAK_ACCESS, REM_ACCESS_ERR),
	FAILS("operational error", NAK_OPERATION, REM_OP_ERR),
	{ "request fails after its RNR retries", .spec = &no_retries, .step = {
		SENDS(1), ANSWER(0, 0x21, 0), DONE(1, RNR_RETRY_EXC_ERR), STATE(ERR) } },
	/* RNR timer 655.36 ms: longer than a stall of the machine */
	{ "progress restores the RNR retries", .spec = &one_each, .step = {
		SENDS(1), SENDS(2), FORGET, ANSWER(0, 0x21, 0), COMES(2),
		ANSWER(0, NO_CREDITS, 1), DONE(1, SUCCESS), ANSWER(1, 0x21, 1), STATE(RTS) } },
	{ "request is retransmitted after an RNR pause", .step = {
		SENDS(1), FORGET, ANSWER(0, 0x20, 0), SENT(0), COMES(1), LEFT(ANY_OPCODE, 0),
		STATE(RTS) } },
	/* It arrived twice, the second time with a receive posted: later requests proceed */
	{ "RNR pause ends if the receiver has become ready", .step = {
		SENDS(1), SENDS(2), FORGET, ANSWER(0, 0x20, 0), SENT(0),
		PAUSED(RHCA_PAUSE_RNR), ANSWER(0, NO_CREDITS, 1), DONE(1, SUCCESS), OVER(true),
		COMES(1), LEFT(ANY_OPCODE, 1) } },
	/* Both packets arrived twice; the second gets an RNR NAK now, and its timer counts */
	{ "RNR pause ends if another RNR pause begins", .step = {
		SENDS(1), SENDS(2), FORGET, ANSWER(0, 0x20, 0), ANSWER(1, 0x20, 1),
		DONE(1, SUCCESS), NEXT(1), PAUSED(RHCA_PAUSE_RNR), OVER(false), SENT(0) } },
	/* The local queue was full at the third packet, the RNR NAK is for the first */
	{ "RNR NAK counts while the local queue is full", .step = {
		SENDS(1), SENDS(1), SENDS(1), LOCAL_FULL(2), ANSWER(0, 0x20, 0), NEXT(0),
		PAUSED(RHCA_PAUSE_RNR) } },
	/* Two receives left after two messages */
	{ "READ response carries credits", .step = {
		SENDS(1), ANSWER(0, 0x00, 1), READS(8),
		STEP(do_respond, 0x02 << 24 | 2, READ_ONLY, .psn = 1, .payload_bytes = 8),
		FORGET, SENDS(1), SENDS(1), SENDS(1), SENT(2) } },
	/* 9.7.7.2 */
	{ "message without a credit continues after its first packet", .step = {
		SENDS(1), ANSWER(0, 0x00, 1), FORGET, SENDS(3 * MTU), LEFT(SEND_FIRST, 1),
		SENT(0), ANSWER(1, 0x00, 1), LEFT(SEND_MIDDLE, 2), LEFT(SEND_LAST, 3), SENT(0) } },
	{ "RESET clears credits, READs and a partly sent message", .spec = &one_each, .step = {
		SENDS(1), ANSWER(0, 0x00, 1), READS(8), WRITES(200 * MTU), FORGET, MOVE(RESET),
		BRING_UP, READS(8), SENDS(1), SENDS(1), LEFT(READ_REQUEST, 0),
		LEFT(SEND_ONLY, 1), LEFT(SEND_ONLY, 2), SENT(0) } },
};
TEST_COURSES(requester_follows_the_protocol, courses, &spec, 0)

#define LONG_BYTES	(40U << 10)

/* The context that receives ACKs must not copy long payloads for the poster */
static void long_request_is_left_to_the_cpu_that_posts(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct rhca_turn *turn = &b->send->turn;

	post(b, IB_WR_RDMA_WRITE, MTU);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);

	/* Another processor owns the turn */
	local_bh_disable();
	atomic_set(&turn->word, RHCA_TURN_RUNNING);
	post(b, IB_WR_RDMA_WRITE, LONG_BYTES);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(&turn->word),
			RHCA_TURN_RUNNING | RHCA_TURN_KICK(RHCA_KICK_POST));

	/* It is queued in another CPU's tasklet */
	turn->cpu = -1;
	atomic_set(&turn->word, RHCA_TURN_QUEUED | RHCA_TURN_LISTED);
	answer(b, FIRST_PSN, 0x1f, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 1);

	/* It is queued in this CPU's tasklet: start at once */
	turn->cpu = raw_smp_processor_id();
	answer(b, FIRST_PSN, 0x1f, 1);
	KUNIT_EXPECT_GT(test, test_num_sent(b->hca), 1);
	atomic_andnot(RHCA_TURN_LISTED, &turn->word);
	local_bh_enable();
}

/* --- no packet is sent twice where nothing is lost --------------------------------- */

struct mixed_wr {
	enum ib_wr_opcode opcode;
	u32 bytes;
	int flags;
};

#define MAX_MIXED	3

/* @sent packets are sent; the last one requests an ACK */
static const struct mix_case {
	const char *desc;
	bool without_credit;
	u32 num;
	struct mixed_wr wrs[MAX_MIXED];
	u32 sent;
} mix_cases[] = {
	{ "nothing pending", false, 2, { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_SEND, 2 } }, 2 },
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

static void alloc_mr(struct bench *b)
{
	b->hca->mr = ib_alloc_mr(b->hca->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(b->hca->test, IS_ERR(b->hca->mr));
}

static u32 num_done(struct bench *b)
{
	struct ib_wc wc;
	u32 num = 0;

	while (test_poll(b->hca, &wc))
		num++;
	return num;
}

/* As one list: posted one by one, each would be the last and request an ACK */
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

static void last_packet_before_a_wait_sets_ack_req(struct kunit *test)
{
	static const struct test_qp_spec one = {
		.sq_psn = FIRST_PSN, .initiator_depth = 1, .retries = 3,
	};
	const struct mix_case *c = test->param_value;
	struct bench *b = test_bench(test, IB_QPT_RC, &one, IB_QPS_RTS);
	u32 i;

	alloc_mr(b);
	post(b, IB_WR_SEND, 1);
	look_at_next(b);
	answer(b, FIRST_PSN, c->without_credit ? 0x00 : 0x1f, 1);

	post_mixed(b, c);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), c->sent);
	for (i = 1; test_sent(b->hca, b->sent); i++)
		KUNIT_EXPECT_EQ(test, b->sent->psn, (FIRST_PSN + i) & 0xffffff);
	KUNIT_EXPECT_TRUE(test, b->sent->ack_req);
}

/* Sending paused after a retransmitted request: the rate allowed only one packet */
static void registration_after_a_retransmitted_request_completes(struct kunit *test)
{
	static const struct mix_case both = {
		.num = 2, .wrs = { { IB_WR_SEND, 1 }, { IB_WR_REG_MR } },
	};
	struct bench *b = setup(test, IB_QPT_RC);
	u32 num = 0;

	alloc_mr(b);
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
	KUNIT_EXPECT_TRUE(test, test_becomes((num += num_done(b)) == 2));
}

#define MANY		1000

/* A list of a SEND and registrations after it */
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

/* The context that receives the SEND's ACK completes those processed, with bottom halves off */
static void requests_without_a_packet_do_not_pile_up(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_reg_wr *regs = test_alloc(test, MANY * sizeof(*regs));
	const struct ib_qp_cap cap = { .max_send_wr = MANY + 1, .max_send_sge = 1 };
	struct rhca_sq *sq;
	u32 i;

	b->qp = test_qp_of(b->hca, IB_QPT_RC, &cap);
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

/* No ACK will come for the request before it: that is complete once sent */
static void uc_invalidates_after_requests_sent_with_it(struct kunit *test)
{
	static const struct mix_case both = {
		.num = 2, .wrs = { { IB_WR_RDMA_WRITE, 1 }, { IB_WR_LOCAL_INV } },
	};
	struct bench *b = setup(test, IB_QPT_UC);

	alloc_mr(b);
	post_mixed(b, &both);
	KUNIT_EXPECT_EQ(test, num_done(b), 2);
}

static struct rhca_send_wqe *newest_slot(struct bench *b)
{
	const struct rhca_sq *sq = &ibqp_to_verbs(b->qp)->sq;

	return rhca_sq_wqe(sq, sq->tail - 1);
}

/* Its slots are in the caches; but a slot in use is not reused */
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

/* The poster may hold a lock that its event handler takes */
static void event_of_a_verb_is_raised_after_it(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	test_srq(b->hca, b->hca->pd, 1, 0);
	b->qp = test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	fill_wr(b, &wr, &sge, IB_WR_SEND, 8);
	sge.lkey = ~sge.lkey;
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(b->qp, &wr.wr, NULL));
	KUNIT_EXPECT_EQ(test, ibqp_to_verbs(b->qp)->state, IB_QPS_ERR);
	KUNIT_EXPECT_FALSE(test, test_bit(IB_EVENT_QP_LAST_WQE_REACHED, &b->hca->events));
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, test_bit(IB_EVENT_QP_LAST_WQE_REACHED, &b->hca->events));
}

/* SENDs without immediate are checked when sent, also on QP1 (kunit/core/pkey_kunit.c) */
static void datagram_opcode_is_that_of_table_38(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, UD_SEND_ONLY + 1,
			rhca_segment_opcode(IB_WR_SEND_WITH_IMM, IB_QPT_UD, true, true));
}

TEST_SUITE(rhca_requester,
	   KUNIT_CASE(datagram_opcode_is_that_of_table_38),
	   KUNIT_CASE_PARAM(message_is_segmented_at_the_mtu, segment_gen_params),
	   KUNIT_CASE(entries_of_a_list_are_joined),
	   KUNIT_CASE(window_bounds_what_is_in_flight),
	   KUNIT_CASE(long_request_is_left_to_the_cpu_that_posts),
	   KUNIT_CASE(datagram_is_one_packet),
	   KUNIT_CASE_PARAM(last_packet_before_a_wait_sets_ack_req, mix_gen_params),
	   KUNIT_CASE(registration_after_a_retransmitted_request_completes),
	   KUNIT_CASE(requests_without_a_packet_do_not_pile_up),
	   KUNIT_CASE(uc_invalidates_after_requests_sent_with_it),
	   KUNIT_CASE(empty_queue_begins_with_the_same_slot),
	   KUNIT_CASE(event_of_a_verb_is_raised_after_it),
	   KUNIT_CASE_PARAM(requester_follows_the_protocol, courses_gen_params));
