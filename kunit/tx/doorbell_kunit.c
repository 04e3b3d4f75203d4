// SPDX-License-Identifier: GPL-2.0
/* Doorbells: requests after a pause are sent at once, those that follow closely, together. */
#include <linux/ktime.h>
#include <linux/sched.h>

#include "lib/course.h"
#include "sw/tx/post_delay.h"

/* The longest gap possible, and one that a test can wait for */
#define GAP_NS		U32_MAX
#define SHORT_GAP_MS	100

/* The maximum number of gaps for a user that has posted to many QPs */
#define MOST_GAPS	32

static const struct test_qp_spec spec = { .initiator_depth = 1, .retries = 7 };

/* All posts on one processor since then are in a burst */
static ktime_t begun;

/* Each case has its own thread, so this ends with the case */
static void stay_on_this_processor(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id())));
}

static struct bench *setup(struct kunit *test)
{
	stay_on_this_processor(test);
	return test_bench(test, IB_QPT_RC, &spec, IB_QPS_RTS);
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

/* Post after a pause: the gap is so short that no earlier post counts */
static void post_first(struct bench *b)
{
	rhca_doorbell_gap_ns = 1;
	udelay(5);
	begun = ktime_get();
	post(b, 1);
	rhca_doorbell_gap_ns = GAP_NS;
}

static bool has_begun_within(u64 ns)
{
	return ktime_before(ktime_get(), ktime_add_ns(begun, ns));
}

/* The rest waits, unless the machine has stalled for a gap */
static void expect_sent_so_far(struct bench *b, u32 num)
{
	u32 sent = test_num_sent(b->hca);

	if (has_begun_within(GAP_NS))
		KUNIT_EXPECT_EQ(b->hca->test, sent, num);
}

/* By the softirq that local_bh_enable() runs; on a stalled machine by ksoftirqd */
static void expect_sent_soon(struct bench *b, u32 num)
{
	test_becomes(test_num_sent(b->hca) == num);
	KUNIT_EXPECT_EQ(b->hca->test, test_num_sent(b->hca), num);
}

/*
 * Post a request after more than a gap. It must be sent at once or, if not @at_once, wait; unless
 * the machine has stalled for MOST_GAPS gaps.
 */
static void expect_after_a_gap(struct bench *b, bool at_once)
{
	u32 before = test_num_sent(b->hca);

	rhca_doorbell_gap_ns = SHORT_GAP_MS * NSEC_PER_MSEC;
	msleep(SHORT_GAP_MS + 10);
	local_bh_disable();
	post(b, 1);
	if (at_once || has_begun_within(MOST_GAPS * SHORT_GAP_MS * (u64)NSEC_PER_MSEC))
		KUNIT_EXPECT_EQ(b->hca->test, test_num_sent(b->hca), before + at_once);
	local_bh_enable();
	expect_sent_soon(b, before + 1);
}

/* A message arrives, and its completion is polled with room for @room */
static void give(struct bench *b, u32 psn, int room)
{
	struct ib_wc wc[2];

	test_post_recv(b->hca, b->qp, 1, 0, 64);
	test_ask(b, &(struct request) { SEND_ONLY, psn, .no_ack = true, .payload_bytes = 4 });
	KUNIT_ASSERT_EQ(b->hca->test, ib_poll_cq(b->hca->cq, room, wc), 1);
}

/* How many packets the first and the second poll of an empty queue send */
static void poll_twice(struct bench *b, struct ib_cq *cq, u32 *first, u32 *second)
{
	u32 before = test_num_sent(b->hca);
	int polled;
	struct ib_wc wc;

	preempt_disable();	/* otherwise ksoftirqd may run first */
	post(b, 1);
	polled = ib_poll_cq(cq, 1, &wc);
	*first = test_num_sent(b->hca) - before;
	polled += ib_poll_cq(cq, 1, &wc);
	*second = test_num_sent(b->hca) - before;
	preempt_enable();
	KUNIT_EXPECT_EQ(b->hca->test, polled, 0);
}

/* A user that polls several queues in turn waits only when all are empty */
static void poll_of_an_empty_queue_may_come_after_a_full_one(struct kunit *test)
{
	struct ib_cq_init_attr attr = { .cqe = 4 };
	u32 tries, first = 1, second;
	struct ib_cq *other;
	struct bench *b = setup(test);

	other = ib_create_cq(b->hca->ibdev, NULL, NULL, NULL, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	post_first(b);
	/* A softirq may run in between by chance, so try again */
	for (tries = 0; tries < 20 && first; tries++) {
		give(b, tries, 1);
		poll_twice(b, other, &first, &second);
		KUNIT_EXPECT_EQ(test, second, 1);
	}
	KUNIT_EXPECT_EQ(test, first, 0);
	ib_destroy_cq(other);
}

#define MAX_WAITING_QPS	128

/* Posts to one QP after the other, as by a user with many peers */
static void qps_wait_for_one_softirq_together(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_qp **others = &b->hca->qps[1];
	u32 i;

	for (i = 0; i < MAX_WAITING_QPS; i++)
		test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	local_bh_disable();
	post_first(b);
	for (i = 0; i < MAX_WAITING_QPS; i++)
		post_to(b, others[i], 1);
	expect_sent_so_far(b, 1);
	post(b, 1);		/* the list is full: this doorbell takes effect at once */
	expect_sent_so_far(b, 2);
	post_to(b, others[0], 1);
	expect_sent_so_far(b, 2);
	local_bh_enable();
	expect_sent_soon(b, 3 + MAX_WAITING_QPS);

	/* For a user that has posted to many the wait is longer than a gap, but only once */
	expect_after_a_gap(b, false);
	expect_after_a_gap(b, true);
}

static ACT(do_first, post_first(b))
static ACT(do_more, post(b, s->n))
static ACT(is_sent_so_far, expect_sent_so_far(b, s->n))
static ACT(is_after_a_gap, expect_after_a_gap(b, true))
static ACT(do_give_all, give(b, 0, 2))
static ACT(do_gap, rhca_doorbell_gap_ns = s->n)
static ACT(do_open_window, b->send->cwnd.packets = RHCA_SEND_WINDOW)
static ACT(do_remove, test_hca_remove(b->hca))

#define FIRST		STEP(do_first, 0)
#define MORE(num)	STEP(do_more, num)
#define SO_FAR(num)	STEP(is_sent_so_far, num)
#define AFTER_A_GAP	STEP(is_after_a_gap, 0)
#define GIVE_ALL	STEP(do_give_all, 0)	/* a completion, with room for more: none is left */
#define GAP(ns)		STEP(do_gap, ns)
#define OPEN_WINDOW	STEP(do_open_window, 0)
#define REMOVE		STEP(do_remove, 0)

static const struct course courses[] = {
	/* The second request resets the number of QPs that were last served on this CPU */
	{ "request after a pause is sent at once", .step = {
		BH_OFF, FIRST, SENT(1), MORE(1), BH_ON, AFTER_A_GAP, AFTER_A_GAP } },
	{ "later requests wait for a softirq", .step = {
		BH_OFF, FIRST, MORE(3), SO_FAR(1), BH_ON, SENT(4) } },
	{ "poll of an empty CQ sends them", .step = { FIRST, MORE(3), PENDING, SENT(4) } },
	/* A user that has polled all completions is not in a burst, however soon it posts */
	{ "request after the last completion is sent at once", .step = {
		FIRST, GIVE_ALL, BH_OFF, MORE(1), SENT(2), MORE(1), SO_FAR(2), BH_ON, SENT(3) } },
	{ "full block of them does not wait", .step = {
		OPEN_WINDOW, BH_OFF, FIRST, MORE(31), SO_FAR(1), MORE(1), SENT(33), BH_ON } },
	{ "none waits if doorbell_gap_ns is 0", .step = {
		GAP(0), BH_OFF, MORE(4), SENT(4), BH_ON } },
	{ "request in a burst to a QP in ERR is flushed at once", .step = {
		FIRST, MOVE(ERR), DONE(0, WR_FLUSH_ERR), BH_OFF, MORE(1),
		DONE(0, WR_FLUSH_ERR), BH_ON } },
	/* Destroying a QP drops its waiting requests */
	{ "QP that waits can be destroyed", .step = { BH_OFF, FIRST, MORE(3), BH_ON, REMOVE } },
};
KUNIT_ARRAY_PARAM_DESC(course, courses, desc);

static void requests_are_sent_in_time(struct kunit *test)
{
	stay_on_this_processor(test);
	test_course(test, &spec, 0);
}

TEST_SUITE(rhca_doorbell,
	   KUNIT_CASE_PARAM(requests_are_sent_in_time, course_gen_params),
	   KUNIT_CASE(poll_of_an_empty_queue_may_come_after_a_full_one),
	   KUNIT_CASE(qps_wait_for_one_softirq_together));
