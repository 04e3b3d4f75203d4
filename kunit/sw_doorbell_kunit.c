// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: what is posted after a pause leaves at once, what follows it closely
 * leaves together.
 */
#include <kunit/test.h>
#include <linux/delay.h>

#include "hca.h"
#include "sw/backend.h"
#include "sw/transport/doorbell.h"

#define SEND_ONLY	0x04

#define GAP_NS	(200 * NSEC_PER_MSEC)	/* so that no test is slower than it */

static const struct test_qp_spec spec = { .initiator_depth = 1, .retries = 7 };

struct bench {
	struct test_hca *hca;
	struct ib_qp *qp;
};

static void setup(struct bench *b, struct kunit *test)
{
	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->qp = test_qp(b->hca, IB_QPT_RC);
	test_qp_bring_up(b->hca, b->qp, &spec, IB_QPS_RTS);
	rhca_doorbell_gap_ns = GAP_NS;
	msleep(GAP_NS / NSEC_PER_MSEC + 50);	/* after a pause */
}

static void post_to(struct bench *b, struct ib_qp *qp, unsigned int num)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	while (num--)
		KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_send(qp, &wr, NULL));
}

static void post(struct bench *b, unsigned int num)
{
	post_to(b, b->qp, num);
}

/* After a pause of more than a gap a request is posted: does it leave at once? */
static void expect_after_a_pause(struct bench *b, bool at_once)
{
	u32 before = test_num_sent(b->hca);

	msleep(GAP_NS / NSEC_PER_MSEC + 50);
	local_bh_disable();
	post(b, 1);
	KUNIT_EXPECT_EQ(b->hca->test, test_num_sent(b->hca), before + at_once);
	local_bh_enable();
	KUNIT_EXPECT_EQ(b->hca->test, test_num_sent(b->hca), before + 1);
}

static void request_after_a_pause_leaves_at_once(struct kunit *test)
{
	struct bench b;

	setup(&b, test);
	expect_after_a_pause(&b, true);
	expect_after_a_pause(&b, true);
}

static void requests_behind_it_wait_for_a_softirq(struct kunit *test)
{
	struct bench b;

	setup(&b, test);
	local_bh_disable();
	post(&b, 4);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 1);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 4);
}

static void poll_of_an_empty_queue_lets_them_leave(struct kunit *test)
{
	struct bench b;
	struct ib_wc wc;

	setup(&b, test);
	post(&b, 4);
	KUNIT_EXPECT_FALSE(test, test_poll(b.hca, &wc));
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 4);
}

/* Whoever has seen all that was done is not in a burst, how soon he may post */
static void request_after_the_last_completion_leaves_at_once(struct kunit *test)
{
	struct ib_wc wc[2];
	struct bench b;
	struct test_packet p = { .bth = { .opcode = SEND_ONLY },
				 .payload_bytes = 4 };

	setup(&b, test);
	post(&b, 1);
	p.bth.dest_qpn = b.qp->qp_num;
	test_post_recv(b.hca, b.qp, 1, 0, 64);
	test_receive(b.hca, &p);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(b.hca->cq, 2, wc), 1);
	local_bh_disable();
	post(&b, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 2);
	post(&b, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 2);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 3);
}

#define MAX_WAITING_QPS	128

/* One after the other, as by somebody who has many peers */
static void qps_wait_for_one_softirq_together(struct kunit *test)
{
	struct ib_qp **others;
	struct bench b;
	u32 i;

	setup(&b, test);
	others = test_alloc(test, MAX_WAITING_QPS * sizeof(*others));
	for (i = 0; i < MAX_WAITING_QPS; i++) {
		others[i] = test_qp(b.hca, IB_QPT_RC);
		test_qp_bring_up(b.hca, others[i], &spec, IB_QPS_RTS);
	}
	local_bh_disable();
	post(&b, 1);
	for (i = 0; i < MAX_WAITING_QPS; i++)
		post_to(&b, others[i], 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 1);
	post(&b, 1);		/* no more of them: this one is obeyed at once */
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 2);
	post_to(&b, others[0], 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 2);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 3 + MAX_WAITING_QPS);

	/* Who has posted to many is waited for longer than a gap, but only once */
	expect_after_a_pause(&b, false);
	expect_after_a_pause(&b, true);
}

static void full_block_of_them_does_not_wait(struct kunit *test)
{
	struct bench b;

	setup(&b, test);
	local_bh_disable();
	post(&b, 32);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 1);
	post(&b, 1);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 33);
	local_bh_enable();
}

static void none_waits_where_that_is_switched_off(struct kunit *test)
{
	struct bench b;

	setup(&b, test);
	rhca_doorbell_gap_ns = 0;
	local_bh_disable();
	post(&b, 4);
	KUNIT_EXPECT_EQ(test, test_num_sent(b.hca), 4);
	local_bh_enable();
}

/* And a QP that goes takes with it what waits */
static void qp_that_waits_can_be_destroyed(struct kunit *test)
{
	struct bench b;

	setup(&b, test);
	local_bh_disable();
	post(&b, 4);
	local_bh_enable();
	test_hca_remove(b.hca);
}

static struct kunit_case doorbell_tests[] = {
	KUNIT_CASE(request_after_a_pause_leaves_at_once),
	KUNIT_CASE(requests_behind_it_wait_for_a_softirq),
	KUNIT_CASE(poll_of_an_empty_queue_lets_them_leave),
	KUNIT_CASE(request_after_the_last_completion_leaves_at_once),
	KUNIT_CASE(qps_wait_for_one_softirq_together),
	KUNIT_CASE(full_block_of_them_does_not_wait),
	KUNIT_CASE(none_waits_where_that_is_switched_off),
	KUNIT_CASE(qp_that_waits_can_be_destroyed),
	{}
};

static struct kunit_suite doorbell_suite = {
	.name = "rhca_doorbell",
	.test_cases = doorbell_tests,
};
kunit_test_suite(doorbell_suite);
