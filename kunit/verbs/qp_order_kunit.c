// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs of the software HCA over a transport that only records: which operations are called,
 * in which order, and which state others see meanwhile.
 */
#include "lib/hca.h"
#include "sw/verbs/qp/qp.h"
#include "sw/verbs/transport.h"

#define MAX_CALLS	48

enum transport_call {
	QP_CREATE, QP_DESTROY, QP_SETTLE, QP_PREPARE, QP_MODIFY, QP_ENTERED, KICK_SEND, KICK_RECV,
};

/* One call */
struct call {
	enum transport_call call;	/* which one */
	enum ib_qp_state state;		/* its state argument */
	enum ib_qp_state visible;	/* the QP's state as visible to others during the call */
};

static const struct test_qp_spec plain = { .retries = 7 };

static struct call calls[MAX_CALLS];
static u32 num_calls;
static int prepare_result;

static void record(enum transport_call call, const struct rhca_verbs_qp *qp, enum ib_qp_state state)
{
	if (num_calls < MAX_CALLS)
		calls[num_calls++] = (struct call) {
			call, state, READ_ONCE(qp->state), };
}

#define RECORDS(name, call)						\
	static void name(struct rhca_verbs_qp *qp)			\
	{								\
		record(call, qp, IB_QPS_RESET);				\
	}

RECORDS(qp_destroy, QP_DESTROY)
RECORDS(qp_settle, QP_SETTLE)
RECORDS(kick_send, KICK_SEND)
RECORDS(kick_recv, KICK_RECV)

static int qp_create(struct rhca_verbs_qp *qp)
{
	record(QP_CREATE, qp, IB_QPS_RESET);
	return 0;
}

static int qp_prepare(struct rhca_verbs_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	lockdep_assert_held(&qp->core.modify_lock);
	record(QP_PREPARE, qp, IB_QPS_RESET);
	return prepare_result;
}

static void qp_modify(struct rhca_verbs_qp *qp, const struct ib_qp_attr *attr, int mask,
		      enum ib_qp_state next)
{
	lockdep_assert_held(&qp->core.modify_lock);
	record(QP_MODIFY, qp, next);
}

static void qp_entered(struct rhca_verbs_qp *qp, enum ib_qp_state state)
{
	lockdep_assert_held(&qp->core.modify_lock);
	record(QP_ENTERED, qp, state);
}

static const struct rhca_transport_ops recording_transport = {
	.qp_create	= qp_create,
	.qp_destroy	= qp_destroy,
	.qp_settle	= qp_settle,
	.qp_prepare	= qp_prepare,
	.qp_modify	= qp_modify,
	.qp_entered	= qp_entered,
	.kick_send	= kick_send,
	.kick_recv	= kick_recv,
};

/* A device whose new QPs use the recording transport */
struct bench {
	struct test_hca *hca;	/* the device */
	const struct rhca_transport_ops *transport; /* its own one, to be restored for QP1 */
};

static struct rhca_verbs_dev *verbs_dev(const struct bench *b)
{
	return to_verbs_dev(b->hca->ibdev);
}

static void give_transport_back(void *data)
{
	struct bench *b = data;

	test_qps_destroy(b->hca);
	verbs_dev(b)->transport = b->transport;
}

static struct bench *make_bench(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->transport = verbs_dev(b)->transport;
	verbs_dev(b)->transport = &recording_transport;
	num_calls = 0;
	prepare_result = 0;
	test_at_end(test, give_transport_back, b);
	return b;
}

/*
 * The transport is called in the order of the verbs, with QP_MODIFY before the state is visible.
 * Running passes end before a state is read, and before RESET.
 */
#define SETTLES(in)	{ QP_SETTLE, IB_QPS_RESET, IB_QPS_##in }
#define MOVES(from, to)	SETTLES(from), { QP_PREPARE, IB_QPS_RESET, IB_QPS_##from },	\
			{ QP_MODIFY, IB_QPS_##to, IB_QPS_##from },			\
			{ QP_ENTERED, IB_QPS_##to, IB_QPS_##to }

static const struct call life_of_a_qp[] = {
	{ QP_CREATE,	IB_QPS_RESET,	IB_QPS_RESET },
	MOVES(RESET, INIT),
	MOVES(INIT, RTR),
	MOVES(RTR, RTS),
	{ KICK_SEND,	IB_QPS_RESET,	IB_QPS_RTS },
	MOVES(RTS, SQD),
	MOVES(SQD, RTS),
	MOVES(RTS, ERR),
	{ KICK_RECV,	IB_QPS_RESET,	IB_QPS_ERR },
	SETTLES(ERR),
	SETTLES(ERR),
	{ QP_MODIFY,	IB_QPS_RESET,	IB_QPS_RESET },
	{ QP_ENTERED,	IB_QPS_RESET,	IB_QPS_RESET },
	SETTLES(RESET),
	{ QP_DESTROY,	IB_QPS_RESET,	IB_QPS_RESET },
};

static void expect_calls(struct kunit *test, const struct call *wanted, u32 num)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, num_calls, num);
	for (i = 0; i < num; i++) {
		KUNIT_EXPECT_EQ_MSG(test, calls[i].call, wanted[i].call, "call %u", i);
		KUNIT_EXPECT_EQ_MSG(test, calls[i].state, wanted[i].state, "call %u", i);
		KUNIT_EXPECT_EQ_MSG(test, calls[i].visible, wanted[i].visible, "call %u", i);
	}
}

static void transport_is_called_for_a_qp_in_order(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct bench *b = make_bench(test);
	struct ib_qp *qp = test_qp(b->hca, IB_QPT_RC);

	KUNIT_EXPECT_EQ(test, ib_post_send(qp, &wr, NULL), -EINVAL);
	/* A receive that is posted before ERR is not reported to the transport */
	test_qp_bring_up(b->hca, qp, &plain, IB_QPS_RTS);
	test_post_recv(b->hca, qp, 1, 0, 16);
	KUNIT_EXPECT_EQ(test, ib_post_send(qp, &wr, NULL), 0);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_SQD), 0);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_RTS), 0);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_ERR), 0);
	test_post_recv(b->hca, qp, 2, 0, 16);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_RESET), 0);
	ib_destroy_qp(qp);
	b->hca->num_qps--;
	expect_calls(test, life_of_a_qp, ARRAY_SIZE(life_of_a_qp));
}

/* query_qp() needs state of the software's half that is not set up here */
static int state_of(struct ib_qp *qp)
{
	return READ_ONCE(ibqp_to_verbs(qp)->state);
}

/* The data path may move a QP to ERR during a modify */
static void modify_from_a_past_state_is_refused(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct ib_qp *qp = test_qp_in(b->hca, IB_QPT_RC, &plain, IB_QPS_RTS);
	struct rhca_qp_change change = {
		.attr = test_alloc(test, sizeof(*change.attr)),
		.mask = IB_QP_STATE, .from = IB_QPS_RTS, .next = IB_QPS_SQD,
	};

	KUNIT_ASSERT_TRUE(test, rhca_qp_fail(ibqp_to_verbs(qp), IB_QPS_ERR));
	mutex_lock(&to_rhca_qp(qp)->modify_lock);
	KUNIT_EXPECT_EQ(test, -EINVAL, rhca_verbs_qp_modify(to_rhca_qp(qp), &change, NULL));
	mutex_unlock(&to_rhca_qp(qp)->modify_lock);
	KUNIT_EXPECT_EQ(test, state_of(qp), IB_QPS_ERR);
}

static void modify_without_memory_changes_nothing(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct ib_qp *qp = test_qp_in(b->hca, IB_QPT_RC, &plain, IB_QPS_INIT);

	prepare_result = -ENOMEM;
	num_calls = 0;
	KUNIT_EXPECT_EQ(test, test_qp_to(b->hca, qp, &plain, IB_QPS_RTR), -ENOMEM);
	KUNIT_EXPECT_EQ(test, num_calls, 2);	/* settle, prepare */
	KUNIT_EXPECT_EQ(test, state_of(qp), IB_QPS_INIT);
	KUNIT_EXPECT_NULL(test, rcu_access_pointer(ibqp_to_verbs(qp)->path));
	prepare_result = 0;
	KUNIT_EXPECT_EQ(test, test_qp_to(b->hca, qp, &plain, IB_QPS_RTR), 0);
	KUNIT_EXPECT_EQ(test, state_of(qp), IB_QPS_RTR);
}

TEST_SUITE(rhca_sw_qp_order,
	   KUNIT_CASE(transport_is_called_for_a_qp_in_order),
	   KUNIT_CASE(modify_from_a_past_state_is_refused),
	   KUNIT_CASE(modify_without_memory_changes_nothing));
