// SPDX-License-Identifier: GPL-2.0
/* Congestion of a QP: how long it keeps the rate set by a CNP. */
#include <linux/timekeeping.h>

#include "lib/hca.h"
#include "sw/tx/congestion.h"

static const struct test_qp_spec spec = { .initiator_depth = 1, .retries = 7 };

/* Set the time of its last CNP, by the monotonic clock */
static void congest(struct rhca_sw_qp *qp, u64 cnp_at)
{
	rhca_rate_begin(&qp->congestion->rate, &qp->base.port->cc, RHCA_RATE_MAX / 2, cnp_at);
	qp->congestion->cnp_at = cnp_at;
	WRITE_ONCE(qp->send.has_rate, true);
}

/* Age of a CNP as seen by the sender, and its effect */
static const struct age_case {
	const char *desc;	/* its name */
	s64 age_ns;		/* of the CNP */
	bool limited;		/* the rate is kept */
} age_cases[] = {
	{ "just now", 0, true },
	{ "more than a second ago", 2LL * NSEC_PER_SEC, false },
	/* Another CPU has received it since this one read the clock */
	{ "a moment later", -(s64)NSEC_PER_SEC, true },
};
KUNIT_ARRAY_PARAM_DESC(age, age_cases, desc);

static void rate_holds_for_a_second(struct kunit *test)
{
	const struct age_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct rhca_sw_qp *sw_qp = to_sw_qp(ibqp_to_verbs(qp));

	congest(sw_qp, ktime_get_ns() - c->age_ns);
	KUNIT_ASSERT_EQ(test, ib_post_send(qp, &wr, NULL), 0);
	KUNIT_EXPECT_EQ(test, test_num_sent(hca), 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sw_qp->send.has_rate), c->limited);
}

/* np_cnp_prio, or with np_cnp_prio_mode that of data */
static void cnp_has_the_priority_that_was_chosen(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	struct rhca_sw_qp *sw_qp = to_sw_qp(ibqp_to_verbs(qp));
	struct test_sent *sent = test_alloc(test, sizeof(*sent));
	u32 mode;

	for (mode = 0; mode <= 1; mode++) {
		test_port(hca)->cc.np_cnp_prio_mode = mode;
		sw_qp->congestion->cnp_due = 0;
		local_bh_disable();
		rcu_read_lock();
		rhca_congestion_marked(sw_qp);
		rcu_read_unlock();
		local_bh_enable();
		KUNIT_ASSERT_TRUE(test, test_sent(hca, sent));
		KUNIT_EXPECT_EQ(test, sent->priority, mode ? 0 : 6);
	}
}

TEST_SUITE(rhca_congestion,
	   KUNIT_CASE(cnp_has_the_priority_that_was_chosen),
	   KUNIT_CASE_PARAM(rate_holds_for_a_second, age_gen_params));
