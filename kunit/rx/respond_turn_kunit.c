// SPDX-License-Identifier: GPL-2.0
/* Turns of the responder: no request keeps the softirq that receives it busy for long. */
#include <linux/jiffies.h>

#include "lib/course.h"
#include "sw/qp/recv_half.h"
#include "sw/qp/turn_sched.h"
#include "sw/verbs/section.h"

#define FIRST_PSN	0xfffff0
#define RESPONSES	(TEST_BUFFER_BYTES / TEST_MTU_BYTES)
#define MANY_QPS	32

static const struct test_qp_spec spec = {
	.access = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	.rq_psn = FIRST_PSN, .responder_resources = 4, .retries = 3,
};

static void read_all(struct bench *b, struct ib_qp *qp)
{
	b->qp = qp;
	test_ask(b, &(struct request) { READ_REQUEST, .length = TEST_BUFFER_BYTES });
}

static struct bench *setup(struct kunit *test)
{
	return test_bench_mr(test, &spec, TEST_BUFFER_BYTES);
}

static void expect_all(struct test_hca *hca, u32 num)
{
	test_becomes(test_num_sent(hca) >= num);
	KUNIT_EXPECT_EQ(hca->test, test_num_sent(hca), num);
}

/* Packets that follow a READ must not each send another 64 of its responses */
static void packets_behind_a_read_cost_no_responses(struct kunit *test)
{
	struct bench *b = setup(test);
	u32 i;

	local_bh_disable();
	read_all(b, b->qp);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), RHCA_SECTION_PACKETS);
	for (i = 0; i < 4; i++)
		test_ask(b, &(struct request) { WRITE_ONLY, RESPONSES + i });
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), RHCA_SECTION_PACKETS);
	local_bh_enable();
	expect_all(b->hca, RESPONSES + 1);
}

/* Many QPs share this limit: packets that they send at once are counted together */
static void many_qps_share_what_is_sent_at_once(struct kunit *test)
{
	struct bench *b = setup(test);
	u32 i, ticks, sent, most;
	unsigned long began;

	for (i = 1; i < MANY_QPS; i++)
		test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	local_bh_disable();
	began = jiffies;
	for (i = 0; i < MANY_QPS; i++)
		read_all(b, b->hca->qps[i]);
	ticks = jiffies - began + 1;
	sent = test_num_sent(b->hca);
	local_bh_enable();
	expect_all(b->hca, MANY_QPS * RESPONSES);
	most = ticks * (RHCA_TICK_PACKETS + RHCA_SECTION_PACKETS);
	if (most >= MANY_QPS * RHCA_SECTION_PACKETS)
		kunit_skip(test, "it took %u ticks, in which all may be sent", ticks);
	KUNIT_EXPECT_LE(test, sent, most);
}

/* What it waited for was another connection's */
static void reset_ends_a_pause(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_turn *turn = &b->sw->recv.turn;

	spin_lock_bh(&b->sw->recv.lock);
	KUNIT_EXPECT_TRUE(test, rhca_turn_start(turn, RHCA_KICK_POST, RHCA_KICK_TAKE));
	rhca_pause_recv(b->sw, RHCA_PAUSE_PAGE_FAULT, 3600ULL * NSEC_PER_SEC);
	rhca_turn_finish(turn, RHCA_END_PAUSE, RHCA_PAUSE_PAGE_FAULT);
	spin_unlock_bh(&b->sw->recv.lock);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
	test_qp_bring_up(b->hca, b->qp, &spec, IB_QPS_RTS);
	test_ask(b, &(struct request) { WRITE_ONLY });
	expect_all(b->hca, 1);
}

TEST_SUITE(rhca_respond_turn,
	   KUNIT_CASE(packets_behind_a_read_cost_no_responses),
	   KUNIT_CASE(reset_ends_a_pause),
	   KUNIT_CASE(many_qps_share_what_is_sent_at_once));
