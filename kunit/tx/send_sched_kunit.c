// SPDX-License-Identifier: GPL-2.0
/*
 * The send scheduler: no kick is lost and no turn has two owners, from any context. For a full
 * queue see kunit/tx/requester_kunit.c.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/random.h>

#include "lib/course.h"
#include "sw/packet/transmit.h"
#include "sw/qp/turn_sched.h"

static const struct test_qp_spec spec = { .sq_psn = 1, .retries = 3 };

static void post_write(struct bench *b, u32 bytes)
{
	test_post(b, &(struct request) { IB_WR_RDMA_WRITE, .length = bytes }, bytes);
}

/* A timer that fires early re-arms itself, possibly for a pause that has ended */
static void older_pause_does_not_extend_a_post_delay(struct kunit *test)
{
	struct bench *b = test_bench(test, IB_QPT_UC, &spec, IB_QPS_RTS);
	struct rhca_turn *turn = &b->send->turn;

	KUNIT_ASSERT_TRUE(test, test_becomes(rhca_turn_word(turn) == RHCA_TURN_IDLE));
	WRITE_ONCE(turn->not_before, ktime_get_ns() + 3600ULL * NSEC_PER_SEC);
	hrtimer_start(&turn->timer, ns_to_ktime(turn->not_before), HRTIMER_MODE_ABS_PINNED_SOFT);
	KUNIT_EXPECT_FALSE(test, rhca_turn_start(turn, RHCA_KICK_POST, RHCA_KICK_DELAY));
	KUNIT_EXPECT_LT(test, ktime_to_ns(hrtimer_get_expires(&turn->timer)),
			(s64)turn->not_before);
}

/* The test's netdev keeps all packets: none is ever transmitted */
static void memory_in_local_queues_is_bounded(struct kunit *test)
{
	struct bench *b = test_bench(test, IB_QPT_UC, &spec, IB_QPS_RTS);
	struct sock *owner = b->sw->base.owner->sk;
	u32 posts = RHCA_TX_MEMORY_MAX / TEST_BUFFER_BYTES, before;
	u32 i;

	for (i = 0; i < posts; i++)
		post_write(b, TEST_BUFFER_BYTES);
	test_becomes(rhca_tx_memory_full(&b->sw->base));
	msleep(20);		/* several pauses of 500 us */
	KUNIT_EXPECT_LT(test, sk_wmem_alloc_get(owner),
			RHCA_TX_MEMORY_MAX + 64 * SKB_TRUESIZE(TEST_PACKET_BYTES));
	before = test_num_sent(b->hca);
	KUNIT_EXPECT_LT(test, before, posts * TEST_BUFFER_BYTES / TEST_MTU_BYTES);
	for (i = 0; i < before; i++)
		KUNIT_ASSERT_TRUE(test, test_sent(b->hca, b->sent));
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(b->hca)));
}

/* --- concurrent kicks ------------------------------------------------------------ */

#define KICKERS		4
#define KICKS		250000	/* a million together */

/* A QP's requester whose turns send nothing: one of them must see each post. */
static struct stress {
	struct rhca_turn *turn;
	atomic_t posted;
	u32 seen;
	u32 turns;
	atomic_t owners;
	bool two_owners;
	atomic_t kickers;
} stress;

static enum rhca_turn_end random_end(struct rhca_sw_qp *qp)
{
	switch (get_random_u32_below(16)) {
	case 0:
		return RHCA_END_MORE;
	case 1:
		qp->send.turn.not_before = ktime_get_ns() + 10 * NSEC_PER_USEC;
		return RHCA_END_PAUSE;
	default:
		return RHCA_END_EMPTY;
	}
}

static void stress_run(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
	spin_lock(&qp->send.lock);
	if (atomic_inc_return(&stress.owners) != 1)
		stress.two_owners = true;
	rhca_turn_see_kicks(&qp->send.turn);
	stress.seen = atomic_read(&stress.posted);
	stress.turns++;
	atomic_dec(&stress.owners);
	rhca_turn_finish(&qp->send.turn, random_end(qp), RHCA_PAUSE_MEM_BUSY);
	spin_unlock(&qp->send.lock);
}

static void stress_after(struct rhca_sw_qp *qp, struct rhca_batch *batch)
{
}

static const struct rhca_turn_ops stress_ops = {
	.run = stress_run, .after = stress_after, .timer = RHCA_KICK_RUN,
};

static int kick_often(void *data)
{
	struct rhca_batch batch = {};
	u32 i;

	for (i = 0; i < KICKS; i++) {
		atomic_inc(&stress.posted);
		local_bh_disable();
		if (rhca_turn_start(stress.turn, RHCA_KICK_POST,
				    get_random_u32_below(RHCA_NUM_KICK_HOWS)))
			stress_run(stress.turn->qp, &batch);
		local_bh_enable();
		if (i % 64 == 0)
			cond_resched();
	}
	atomic_dec(&stress.kickers);
	return 0;
}

static bool is_at_rest(void)
{
	return !atomic_read(&stress.kickers) && !rhca_turn_word(stress.turn);
}

static void no_kick_is_lost(struct kunit *test)
{
	struct bench *b = test_bench(test, IB_QPT_RC, &spec, IB_QPS_RTS);
	struct rhca_turn *turn = &b->send->turn;
	const struct rhca_turn_ops *ops = turn->ops;
	struct task_struct *kicker;
	int i;

	memset(&stress, 0, sizeof(stress));
	stress.turn = turn;
	turn->ops = &stress_ops;
	for (i = 0; i < KICKERS; i++) {
		atomic_inc(&stress.kickers);
		kicker = kthread_run(kick_often, NULL, "rhca_kick");
		if (IS_ERR(kicker))
			atomic_dec(&stress.kickers);
	}
	KUNIT_EXPECT_TRUE(test, test_becomes(is_at_rest()));
	KUNIT_EXPECT_EQ(test, stress.seen, (u32)atomic_read(&stress.posted));
	KUNIT_EXPECT_GT(test, stress.seen, 0);
	KUNIT_EXPECT_FALSE(test, stress.two_owners);
	kunit_info(test, "%u kicks, %u turns", stress.seen, stress.turns);
	turn->ops = ops;
}

TEST_SUITE(rhca_send_sched,
	   KUNIT_CASE(no_kick_is_lost),
	   KUNIT_CASE(memory_in_local_queues_is_bounded),
	   KUNIT_CASE(older_pause_does_not_extend_a_post_delay));
