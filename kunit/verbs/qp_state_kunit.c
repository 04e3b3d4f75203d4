// SPDX-License-Identifier: GPL-2.0
/*
 * What QP states allow, IBTA vol. 1, 10.3.1. Transitions through the verbs are
 * in kunit/core/device_kunit.c.
 */
#include <net/dst_metadata.h>

#include "sw/verbs/qp/qp.h"
#include "lib/hca.h"
#include "sw/verbs/device.h"
#include "sw/verbs/qp/path.h"
#include "sw/verbs/qp/qp_state.h"
#include "sw/verbs/transport.h"

static const struct state_case {
	const char *desc;
	enum ib_qp_state state;
	u8 can;
} state_cases[] = {
	{ "RESET", IB_QPS_RESET, 0 },
	{ "INIT", IB_QPS_INIT, RHCA_QP_POST_RECV },
	{ "RTR", IB_QPS_RTR, RHCA_QP_POST_RECV | RHCA_QP_RECEIVE },
	{ "RTS", IB_QPS_RTS, RHCA_QP_POST_RECV | RHCA_QP_POST_SEND | RHCA_QP_RECEIVE |
			     RHCA_QP_TRANSMIT | RHCA_QP_COMPLETE },
	{ "SQD", IB_QPS_SQD, RHCA_QP_POST_RECV | RHCA_QP_POST_SEND | RHCA_QP_RECEIVE |
			     RHCA_QP_COMPLETE },
	{ "SQE", IB_QPS_SQE, RHCA_QP_POST_RECV | RHCA_QP_POST_SEND | RHCA_QP_RECEIVE |
			     RHCA_QP_FLUSH_SEND },
	{ "ERR", IB_QPS_ERR, RHCA_QP_POST_RECV | RHCA_QP_POST_SEND | RHCA_QP_FLUSH_SEND |
			     RHCA_QP_FLUSH_RECV },
};
KUNIT_ARRAY_PARAM_DESC(state, state_cases, desc);

static void state_allows_what_ibta_says(struct kunit *test)
{
	const struct state_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_qp_state_abilities[c->state], c->can);
}

static struct rhca_verbs_qp *qp_in(struct kunit *test, enum ib_qp_state state)
{
	struct rhca_verbs_qp *qp = test_alloc(test, sizeof(*qp));

	qp->state = state;
	return qp;
}

static void all_abilities_asked_for_are_needed(struct kunit *test)
{
	struct rhca_verbs_qp *qp = qp_in(test, IB_QPS_RTR);

	KUNIT_EXPECT_TRUE(test, rhca_qp_can(qp, RHCA_QP_RECEIVE));
	KUNIT_EXPECT_TRUE(test, rhca_qp_can(qp, RHCA_QP_RECEIVE | RHCA_QP_POST_RECV));
	KUNIT_EXPECT_FALSE(test, rhca_qp_can(qp, RHCA_QP_RECEIVE | RHCA_QP_TRANSMIT));
}

static const struct fail_case {
	const char *desc;
	enum ib_qp_state from;
	enum ib_qp_state to;
	bool moved;
} fail_cases[] = {
	{ "RESET stays RESET",		IB_QPS_RESET, IB_QPS_ERR, false },
	{ "INIT to ERR",		IB_QPS_INIT, IB_QPS_ERR, true },
	{ "RTR to ERR",			IB_QPS_RTR, IB_QPS_ERR, true },
	{ "RTS to ERR",			IB_QPS_RTS, IB_QPS_ERR, true },
	{ "SQD to ERR",			IB_QPS_SQD, IB_QPS_ERR, true },
	{ "SQE to ERR",			IB_QPS_SQE, IB_QPS_ERR, true },
	{ "ERR once",			IB_QPS_ERR, IB_QPS_ERR, false },
	{ "RTS to SQE",			IB_QPS_RTS, IB_QPS_SQE, true },
	{ "SQE once",			IB_QPS_SQE, IB_QPS_SQE, false },
	{ "ERR does not become SQE",	IB_QPS_ERR, IB_QPS_SQE, false },
	{ "RESET does not become SQE",	IB_QPS_RESET, IB_QPS_SQE, false },
};
KUNIT_ARRAY_PARAM_DESC(fail, fail_cases, desc);

static void error_moves_a_qp_once(struct kunit *test)
{
	const struct fail_case *c = test->param_value;
	struct rhca_verbs_qp *qp = qp_in(test, c->from);

	KUNIT_EXPECT_EQ(test, rhca_qp_fail(qp, c->to), c->moved);
	KUNIT_EXPECT_EQ(test, qp->state, (int)(c->moved ? c->to : c->from));
	KUNIT_EXPECT_FALSE(test, rhca_qp_fail(qp, c->to));
}

static void count_last_wqe(struct ib_event *event, void *context)
{
	int *events = context;

	*events += event->event == IB_EVENT_QP_LAST_WQE_REACHED;
}

/* Users may free the QP on this event, so it must not be raised again */
static void last_wqe_event_is_raised_once(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	int events = 0;
	struct ib_qp_init_attr init = {
		.event_handler = count_last_wqe, .qp_context = &events,
		.send_cq = hca->cq, .recv_cq = hca->cq,
		.srq = test_srq(hca, hca->pd, 4, 0),
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IB_QPT_RC,
	};
	const struct test_qp_spec spec = {};
	struct ib_qp *qp;

	qp = ib_create_qp(hca->pd, &init);
	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	test_qp_bring_up(hca, qp, &spec, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_ERR), 0);
	KUNIT_EXPECT_EQ(test, events, 1);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_ERR), 0);
	KUNIT_EXPECT_EQ(test, events, 1);
	ib_destroy_qp(qp);
}

/* An error of the data path occurs after the change is stored, before it is visible */
static struct rhca_transport_ops failing_transport;
static const struct rhca_transport_ops *real_transport;

static void modify_and_fail(struct rhca_verbs_qp *qp,
			    const struct ib_qp_attr *attr, int mask,
			    enum ib_qp_state next)
{
	real_transport->qp_modify(qp, attr, mask, next);
	rhca_qp_fail(qp, IB_QPS_SQE);
}

static int modify_while_failing(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask)
{
	struct rhca_verbs_dev *dev = ibqp_to_verbs(ibqp)->dev;
	int ret;

	real_transport = dev->transport;
	failing_transport = *real_transport;
	failing_transport.qp_modify = modify_and_fail;
	dev->transport = &failing_transport;
	ret = ib_modify_qp(ibqp, attr, mask);
	dev->transport = real_transport;
	return ret;
}

static void refused_change_has_no_effect(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	const struct test_qp_spec spec = { .access = IB_ACCESS_REMOTE_WRITE };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UC, &spec, IB_QPS_RTS);
	struct rhca_verbs_qp *verbs = ibqp_to_verbs(qp);
	struct rhca_path *path = rcu_access_pointer(verbs->path);

	KUNIT_ASSERT_EQ(test, ib_modify_qp(qp, &attr, IB_QP_STATE), 0);
	test_address(hca, &attr.ah_attr);
	KUNIT_EXPECT_EQ(test, -EINVAL, modify_while_failing(qp, &attr, IB_QP_STATE | IB_QP_AV |
							    IB_QP_ACCESS_FLAGS));
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(qp), IB_QPS_SQE);
	KUNIT_EXPECT_EQ(test, verbs->attr.qp_access_flags, IB_ACCESS_REMOTE_WRITE);
	KUNIT_EXPECT_PTR_EQ(test, path, rcu_access_pointer(verbs->path));
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_RTS), 0);
	KUNIT_EXPECT_EQ(test, verbs->attr.qp_access_flags, IB_ACCESS_REMOTE_WRITE);
}

static void expect_psns(struct ib_qp *qp, struct kunit *test, u32 sq_psn, u32 rq_psn)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, ib_query_qp(qp, &attr, IB_QP_SQ_PSN | IB_QP_RQ_PSN, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.sq_psn, sq_psn);
	KUNIT_EXPECT_EQ(test, attr.rq_psn, rq_psn);
}

/* Of the next packets, as adapters do: "rdma resource show qp" has them */
static void query_returns_the_current_psns(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	const struct test_qp_spec spec = { .sq_psn = 0xffffff, .rq_psn = 10 };
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UC, &spec, IB_QPS_RTS);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct test_packet p = {
		.bth = { .opcode = UC | SEND_ONLY, .pkey = 0xffff, .dest_qpn = qp->qp_num,
			 .psn = 10 },
	};

	expect_psns(qp, test, 0xffffff, 10);
	KUNIT_ASSERT_EQ(test, ib_post_send(qp, &wr, NULL), 0);
	expect_psns(qp, test, 0, 10);
	test_post_recv(hca, qp, 1, 0, 64);
	test_receive(hca, &p);
	expect_psns(qp, test, 0, 11);
	KUNIT_ASSERT_EQ(test, test_qp_move(qp, IB_QPS_RESET), 0);
	expect_psns(qp, test, 0, 0);
	test_qp_bring_up(hca, qp, &spec, IB_QPS_RTR);
	expect_psns(qp, test, 0, 10);
}

/* Routes may point into the namespace of the netdev, and the QP may stay for longer */
static void path_releases_its_routes_with_the_netdev(struct kunit *test)
{
	struct metadata_dst *route = metadata_dst_alloc(0, METADATA_IP_TUNNEL, GFP_KERNEL);
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UC, &(struct test_qp_spec) {}, IB_QPS_RTS);
	struct rhca_path *path = rcu_access_pointer(ibqp_to_verbs(qp)->path);

	KUNIT_ASSERT_NOT_NULL(test, route);
	/* As of a port with a second netdev */
	KUNIT_EXPECT_EQ(test, dst_cache_init(&path->second_route, GFP_KERNEL), 0);
	local_bh_disable();
	dst_cache_set_ip4(&path->route, &route->dst, 0);
	dst_cache_set_ip4(&path->second_route, &route->dst, 0);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, rcuref_read(&route->dst.__rcuref), 3);
	test_netdev_leave(hca->ndev[0]);
	KUNIT_EXPECT_EQ(test, rcuref_read(&route->dst.__rcuref), 1);
	dst_release(&route->dst);
}

/* A process numbers the paths of its address handles */
static void path_is_found_in_its_own_domain(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct rhca_verbs_dev *dev = to_verbs_dev(hca->ibdev);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UC, &(struct test_qp_spec) {}, IB_QPS_RTS);
	struct rhca_path *path = rcu_access_pointer(ibqp_to_verbs(qp)->path);

	KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store_bh(&dev->paths, 1, path, GFP_KERNEL)));
	KUNIT_EXPECT_NULL(test, rhca_path_get_number(dev, (void *)hca, 1));
	KUNIT_EXPECT_PTR_EQ(test, path, rhca_path_get_number(dev, hca->pd, 1));
	rhca_path_put(path);
	xa_erase_bh(&dev->paths, 1);
}

TEST_SUITE(rhca_qp_state,
	   KUNIT_CASE_PARAM(state_allows_what_ibta_says, state_gen_params),
	   KUNIT_CASE(all_abilities_asked_for_are_needed),
	   KUNIT_CASE_PARAM(error_moves_a_qp_once, fail_gen_params),
	   KUNIT_CASE(last_wqe_event_is_raised_once),
	   KUNIT_CASE(refused_change_has_no_effect),
	   KUNIT_CASE(query_returns_the_current_psns),
	   KUNIT_CASE(path_is_found_in_its_own_domain),
	   KUNIT_CASE(path_releases_its_routes_with_the_netdev));
