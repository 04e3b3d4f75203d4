// SPDX-License-Identifier: GPL-2.0
/*
 * The core over a backend that only records: what is asked, in which order,
 * and what others see meanwhile. That this works at all shows that the core
 * does not know who moves the bytes.
 */
#include <kunit/test.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_cache.h>

#include "core/device.h"
#include "core/qp.h"
#include "hca.h"
#include "recording_backend.h"

#define MAX_CALLS	32

static const struct test_qp_spec plain = { .retries = 7 };

static int device_init(struct kunit *test)
{
	recording_clear();
	return 0;
}

struct wanted_call {
	enum recorded_call call;
	enum ib_qp_state state;
	enum ib_qp_state visible;
};

static void expect_calls(struct kunit *test, const struct ib_qp *qp,
			 const struct wanted_call *wanted, u32 num)
{
	struct recorded *got = test_alloc(test, MAX_CALLS * sizeof(*got));
	u32 i, num_got = recording_of_qp(qp, got, MAX_CALLS);

	KUNIT_ASSERT_EQ(test, num_got, num);
	for (i = 0; i < num; i++) {
		KUNIT_EXPECT_EQ_MSG(test, got[i].call, wanted[i].call,
				    "call %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got[i].state, wanted[i].state,
				    "call %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got[i].visible, wanted[i].visible,
				    "call %u", i);
	}
}

static int move(struct test_hca *hca, struct ib_qp *qp, enum ib_qp_state next)
{
	struct ib_qp_attr *attr = test_alloc(hca->test, sizeof(*attr));
	int ret;

	attr->qp_state = next;
	ret = ib_modify_qp(qp, attr, IB_QP_STATE);
	kunit_kfree(hca->test, attr);
	return ret;
}

/* What the verbs do first, the backend hears first; states become visible last */
static const struct wanted_call life_of_a_qp[] = {
	{ RECORDED_QP_CREATE,	IB_QPS_RESET,	IB_QPS_RESET },
	{ RECORDED_QP_MODIFY,	IB_QPS_INIT,	IB_QPS_RESET },
	{ RECORDED_QP_ENTERED,	IB_QPS_INIT,	IB_QPS_INIT },
	{ RECORDED_QP_MODIFY,	IB_QPS_RTR,	IB_QPS_INIT },
	{ RECORDED_QP_ENTERED,	IB_QPS_RTR,	IB_QPS_RTR },
	{ RECORDED_QP_MODIFY,	IB_QPS_RTS,	IB_QPS_RTR },
	{ RECORDED_QP_ENTERED,	IB_QPS_RTS,	IB_QPS_RTS },
	{ RECORDED_KICK_SEND,	IB_QPS_RESET,	IB_QPS_RTS },
	{ RECORDED_QP_MODIFY,	IB_QPS_SQD,	IB_QPS_RTS },
	{ RECORDED_QP_ENTERED,	IB_QPS_SQD,	IB_QPS_SQD },
	{ RECORDED_QP_MODIFY,	IB_QPS_RTS,	IB_QPS_SQD },
	{ RECORDED_QP_ENTERED,	IB_QPS_RTS,	IB_QPS_RTS },
	{ RECORDED_QP_MODIFY,	IB_QPS_ERR,	IB_QPS_RTS },
	{ RECORDED_QP_ENTERED,	IB_QPS_ERR,	IB_QPS_ERR },
	{ RECORDED_KICK_RECV,	IB_QPS_RESET,	IB_QPS_ERR },
	{ RECORDED_QP_MODIFY,	IB_QPS_RESET,	IB_QPS_RESET },
	{ RECORDED_QP_ENTERED,	IB_QPS_RESET,	IB_QPS_RESET },
	{ RECORDED_QP_DESTROY,	IB_QPS_RESET,	IB_QPS_RESET },
};

static void post_send(struct test_hca *hca, struct ib_qp *qp)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	KUNIT_EXPECT_EQ(hca->test, 0, ib_post_send(qp, &wr, NULL));
}

static void backend_hears_of_a_qp_in_order(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp(hca, IB_QPT_RC);

	/* A receive that is posted before ERR is nobody's business */
	test_qp_bring_up(hca, qp, &plain, IB_QPS_RTS);
	test_post_recv(hca, qp, 1, 0, 16);
	post_send(hca, qp);
	KUNIT_EXPECT_EQ(test, move(hca, qp, IB_QPS_SQD), 0);
	KUNIT_EXPECT_EQ(test, move(hca, qp, IB_QPS_RTS), 0);
	KUNIT_EXPECT_EQ(test, move(hca, qp, IB_QPS_ERR), 0);
	test_post_recv(hca, qp, 2, 0, 16);
	KUNIT_EXPECT_EQ(test, move(hca, qp, IB_QPS_RESET), 0);
	ib_destroy_qp(qp);
	hca->num_qps--;
	expect_calls(test, qp, life_of_a_qp, ARRAY_SIZE(life_of_a_qp));
}

static void backend_gets_the_attributes_that_were_named(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp(hca, IB_QPT_RC);
	struct recorded *got = test_alloc(test, MAX_CALLS * sizeof(*got));
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	int mask;

	test_qp_bring_up(hca, qp, &plain, IB_QPS_RTR);
	KUNIT_ASSERT_EQ(test, recording_of_qp(qp, got, MAX_CALLS), 5);
	test_qp_attr(hca, qp, &plain, IB_QPS_INIT, attr, &mask);
	KUNIT_EXPECT_EQ(test, got[1].mask, mask);
	test_qp_attr(hca, qp, &plain, IB_QPS_RTR, attr, &mask);
	KUNIT_EXPECT_EQ(test, got[3].mask, mask);
}

static void backend_does_not_hear_of_what_is_refused(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp(hca, IB_QPT_RC);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };

	KUNIT_EXPECT_EQ(test, move(hca, qp, IB_QPS_RTS), -EINVAL);
	KUNIT_EXPECT_EQ(test, move(hca, qp, IB_QPS_INIT), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_post_send(qp, &wr, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(qp), IB_QPS_RESET);
	expect_calls(test, qp, life_of_a_qp, 1);
}

/**
 * struct limit_case - An attribute out of range, in a modify that is else right
 * @desc: which
 * @next: state that it is set on the way to
 * @change: makes it wrong
 */
struct limit_case {
	const char *desc;
	enum ib_qp_state next;
	void (*change)(struct ib_qp_attr *attr);
};

static void bad_pkey(struct ib_qp_attr *attr)
{
	attr->pkey_index = 1;
}

static void bad_mtu_0(struct ib_qp_attr *attr)
{
	attr->path_mtu = 0;
}

static void bad_mtu_6(struct ib_qp_attr *attr)
{
	attr->path_mtu = 6;
}

static void bad_resources(struct ib_qp_attr *attr)
{
	attr->max_dest_rd_atomic = 129;
}

static void bad_rnr_timer(struct ib_qp_attr *attr)
{
	attr->min_rnr_timer = 32;
}

static void bad_depth(struct ib_qp_attr *attr)
{
	attr->max_rd_atomic = 129;
}

static void bad_timeout(struct ib_qp_attr *attr)
{
	attr->timeout = 32;
}

static void bad_retry(struct ib_qp_attr *attr)
{
	attr->retry_cnt = 8;
}

static void bad_rnr_retry(struct ib_qp_attr *attr)
{
	attr->rnr_retry = 8;
}

static const struct limit_case limit_cases[] = {
	{ "P_Key index",		IB_QPS_INIT,	bad_pkey },
	{ "path MTU 0",			IB_QPS_RTR,	bad_mtu_0 },
	{ "path MTU of 8192",		IB_QPS_RTR,	bad_mtu_6 },
	{ "responder resources",	IB_QPS_RTR,	bad_resources },
	{ "RNR timer code",		IB_QPS_RTR,	bad_rnr_timer },
	{ "initiator depth",		IB_QPS_RTS,	bad_depth },
	{ "timeout code",		IB_QPS_RTS,	bad_timeout },
	{ "retry count",		IB_QPS_RTS,	bad_retry },
	{ "RNR retry count",		IB_QPS_RTS,	bad_rnr_retry },
};
KUNIT_ARRAY_PARAM_DESC(limit, limit_cases, desc);

static void attribute_out_of_range_changes_nothing(struct kunit *test)
{
	const struct limit_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp(hca, IB_QPT_RC);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	u32 calls;
	struct recorded *got = test_alloc(test, MAX_CALLS * sizeof(*got));
	int mask;

	test_qp_bring_up(hca, qp, &plain, c->next - 1);
	calls = recording_of_qp(qp, got, MAX_CALLS);
	test_qp_attr(hca, qp, &plain, c->next, attr, &mask);
	c->change(attr);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, mask), -EINVAL);
	KUNIT_EXPECT_EQ(test, recording_of_qp(qp, got, MAX_CALLS), calls);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(qp), c->next - 1);
	test_qp_attr(hca, qp, &plain, c->next, attr, &mask);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, mask), 0);
}

static void qp_type_desc(const enum ib_qp_type *type, char *desc)
{
	strscpy(desc, *type == IB_QPT_RC ? "RC" : *type == IB_QPT_UC ? "UC" :
		"UD", KUNIT_PARAM_DESC_SIZE);
}

static const enum ib_qp_type qp_types[] = { IB_QPT_RC, IB_QPT_UC, IB_QPT_UD };
KUNIT_ARRAY_PARAM(qp_type, qp_types, qp_type_desc);

/* From RESET to any state */
static void put_in(struct test_hca *hca, struct ib_qp *qp,
		   enum ib_qp_state state)
{
	struct rhca_qp *rqp = container_of(qp, struct rhca_qp, ibqp);

	test_qp_bring_up(hca, qp, &plain, min_t(int, state, IB_QPS_RTS));
	if (state == IB_QPS_SQD || state == IB_QPS_ERR)
		KUNIT_ASSERT_EQ(hca->test, 0, move(hca, qp, state));
	else if (state == IB_QPS_SQE)
		KUNIT_ASSERT_TRUE(hca->test, rhca_qp_fail(rqp, IB_QPS_SQE));
	KUNIT_ASSERT_EQ(hca->test, (int)test_qp_state(qp), (int)state);
}

/* Masks to try: the state alone, what the way up needs, and one bit too many */
static int mask_of_round(int round, int needed)
{
	switch (round) {
	case 0:
		return IB_QP_STATE;
	case 1:
		return needed;
	default:
		return needed | IB_QP_RATE_LIMIT;
	}
}

static void try_transition(struct test_hca *hca, struct ib_qp *qp,
			   enum ib_qp_state from, enum ib_qp_state next,
			   int round)
{
	struct ib_qp_attr *attr = test_alloc(hca->test, sizeof(*attr));
	int mask;
	bool ok;

	put_in(hca, qp, from);
	test_qp_attr(hca, qp, &plain, next, attr, &mask);
	mask = mask_of_round(round, mask);
	ok = ib_modify_qp_is_ok(from, next, qp->qp_type, mask) &&
	     !(mask & IB_QP_RATE_LIMIT);
	KUNIT_EXPECT_EQ_MSG(hca->test, !ib_modify_qp(qp, attr, mask), ok,
			    "from %d to %d, mask %#x", from, next, mask);
	KUNIT_EXPECT_EQ_MSG(hca->test, (int)test_qp_state(qp),
			    (int)(ok ? next : from),
			    "from %d to %d, mask %#x", from, next, mask);
	KUNIT_ASSERT_EQ(hca->test, 0, move(hca, qp, IB_QPS_RESET));
	kunit_kfree(hca->test, attr);
}

static void transitions_are_those_of_ib_core(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	enum ib_qp_type type = *(const enum ib_qp_type *)test->param_value;
	struct ib_qp *qp = test_qp(hca, type);
	enum ib_qp_state from, next;
	int round;

	for (from = IB_QPS_RESET; from <= IB_QPS_ERR; from++)
		for (next = IB_QPS_RESET; next <= IB_QPS_ERR; next++)
			for (round = 0; round < 3; round++)
				try_transition(hca, qp, from, next, round);
}

/* The data path may move a QP to ERR while a modify is under way to it */
static void modify_from_a_state_that_has_gone_is_refused(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp(hca, IB_QPT_RC);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));

	test_qp_bring_up(hca, qp, &plain, IB_QPS_RTS);
	attr->qp_state = IB_QPS_SQD;
	attr->cur_qp_state = IB_QPS_RTS;
	rhca_qp_fail(container_of(qp, struct rhca_qp, ibqp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, IB_QP_STATE |
						      IB_QP_CUR_STATE),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(qp), IB_QPS_ERR);
}

static void refusal_of_the_backend_reaches_the_caller(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp_init_attr init = {
		.send_cq = hca->cq, .recv_cq = hca->cq, .qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};

	recording_fail_qp_create(-ENOSPC);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(ib_create_qp(hca->pd, &init)),
			-ENOSPC);
	recording_fail_qp_create(0);
	test_qp(hca, IB_QPT_RC);
}

static void expect_port_calls(struct kunit *test,
			      const struct recorded *wanted, u32 num)
{
	struct recorded *got = test_alloc(test, MAX_CALLS * sizeof(*got));
	u32 i;

	KUNIT_ASSERT_EQ(test, recording_of_ports(got, MAX_CALLS), num);
	for (i = 0; i < num; i++) {
		KUNIT_EXPECT_EQ_MSG(test, got[i].call, wanted[i].call,
				    "call %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got[i].port_num, wanted[i].port_num,
				    "call %u", i);
	}
}

static void ports_are_open_while_the_device_lives(struct kunit *test)
{
	static const struct recorded wanted[] = {
		{ .call = RECORDED_PORT_OPEN,	.port_num = 1 },
		{ .call = RECORDED_PORT_OPEN,	.port_num = 2 },
		{ .call = RECORDED_PORT_CLOSE,	.port_num = 2 },
		{ .call = RECORDED_PORT_CLOSE,	.port_num = 1 },
	};
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);

	expect_port_calls(test, wanted, 2);
	KUNIT_EXPECT_EQ(test, hca->ibdev->phys_port_cnt, 2);
	test_hca_remove(hca);
	expect_port_calls(test, wanted, 4);
}

static void port_that_does_not_open_undoes_the_device(struct kunit *test)
{
	static const struct recorded wanted[] = {
		{ .call = RECORDED_PORT_OPEN,	.port_num = 1 },
		{ .call = RECORDED_PORT_OPEN,	.port_num = 2 },
		{ .call = RECORDED_PORT_CLOSE,	.port_num = 1 },
	};
	struct rhca_dev_spec spec = {
		.name = TEST_NAME, .backend = &recording_backend,
		.num_ports = 2,
	};
	u32 i;

	for (i = 0; i < 2; i++)
		spec.netdevs[i] = test_netdev(test, i + 1);
	recording_fail_port(2, -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, rhca_dev_create(&spec), -EADDRINUSE);
	expect_port_calls(test, wanted, ARRAY_SIZE(wanted));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_FALSE(test, rhca_netdev_served(spec.netdevs[i]));
		KUNIT_EXPECT_NULL(test, rhca_dev_find(spec.netdevs[i]));
	}
}

static void netdev_is_served_once(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	struct rhca_dev_spec spec = {
		.name = TEST_NAME "_too", .backend = &recording_backend,
		.netdevs = { hca->ndev[1] }, .num_ports = 1,
	};

	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(hca->ndev[0]));
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(hca->ndev[1]));
	KUNIT_EXPECT_EQ(test, rhca_dev_create(&spec), -EEXIST);
	spec.netdevs[0] = test_netdev(test, 3);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(spec.netdevs[0]));
	spec.name = TEST_NAME;
	KUNIT_EXPECT_NE_MSG(test, rhca_dev_create(&spec), 0, "name taken");
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(spec.netdevs[0]));
}

static enum ib_port_state port_state(struct test_hca *hca, u32 num)
{
	struct ib_port_attr attr;

	KUNIT_ASSERT_EQ(hca->test, 0, ib_query_port(hca->ibdev, num, &attr));
	return attr.state;
}

static void set_up(struct net_device *ndev, bool up)
{
	rtnl_lock();
	if (up)
		dev_open(ndev, NULL);
	else
		dev_close(ndev);
	rtnl_unlock();
}

static void ports_have_a_state_each(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);

	KUNIT_EXPECT_EQ(test, port_state(hca, 1), IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, port_state(hca, 2), IB_PORT_ACTIVE);
	set_up(hca->ndev[1], false);
	KUNIT_EXPECT_EQ(test, port_state(hca, 1), IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, port_state(hca, 2), IB_PORT_DOWN);
	set_up(hca->ndev[1], true);
	set_up(hca->ndev[0], false);
	KUNIT_EXPECT_EQ(test, port_state(hca, 1), IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, port_state(hca, 2), IB_PORT_ACTIVE);
}

static void ports_have_gids_and_qp1_each(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	struct rhca_dev *dev = to_rhca_dev(hca->ibdev);
	union ib_gid gid[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, rdma_query_gid(hca->ibdev, i + 1, 0,
							&gid[i]));
		/* The EUI-64 of the netdev's MAC */
		KUNIT_EXPECT_EQ(test, gid[i].raw[0], 0xfe);
		KUNIT_EXPECT_EQ(test, gid[i].raw[15], i + 1);
		KUNIT_EXPECT_NOT_NULL(test,
				      rcu_access_pointer(dev->ports[i].gsi));
	}
	KUNIT_EXPECT_PTR_NE(test, rcu_access_pointer(dev->ports[0].gsi),
			    rcu_access_pointer(dev->ports[1].gsi));
}

static void qp_belongs_to_the_port_that_it_names(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	struct ib_qp *qp = test_qp(hca, IB_QPT_RC);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	int mask;

	test_qp_attr(hca, qp, &plain, IB_QPS_INIT, attr, &mask);
	attr->port_num = 2;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, mask), 0);
	KUNIT_EXPECT_EQ(test, to_rhca_qp(qp)->port->num, 2);
	KUNIT_EXPECT_PTR_EQ(test, to_rhca_qp(qp)->port,
			    &to_rhca_dev(hca->ibdev)->ports[1]);
}

/* ib_core believes the port number of a kernel user: ask the driver itself */
static void port_that_does_not_exist_is_refused(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	struct ib_qp *qp = test_qp(hca, IB_QPT_RC);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	int mask, port;

	test_qp_attr(hca, qp, &plain, IB_QPS_INIT, attr, &mask);
	for (port = 0; port <= 3; port += 3) {
		attr->port_num = port;
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    hca->ibdev->ops.modify_qp(qp, attr, mask,
							      NULL),
				    "port %d", port);
	}
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(qp), IB_QPS_RESET);
}

static struct kunit_case device_tests[] = {
	KUNIT_CASE(backend_hears_of_a_qp_in_order),
	KUNIT_CASE(backend_gets_the_attributes_that_were_named),
	KUNIT_CASE(backend_does_not_hear_of_what_is_refused),
	KUNIT_CASE_PARAM(attribute_out_of_range_changes_nothing,
			 limit_gen_params),
	KUNIT_CASE_PARAM(transitions_are_those_of_ib_core, qp_type_gen_params),
	KUNIT_CASE(modify_from_a_state_that_has_gone_is_refused),
	KUNIT_CASE(refusal_of_the_backend_reaches_the_caller),
	KUNIT_CASE(ports_are_open_while_the_device_lives),
	KUNIT_CASE(port_that_does_not_open_undoes_the_device),
	KUNIT_CASE(netdev_is_served_once),
	KUNIT_CASE(ports_have_a_state_each),
	KUNIT_CASE(ports_have_gids_and_qp1_each),
	KUNIT_CASE(qp_belongs_to_the_port_that_it_names),
	KUNIT_CASE(port_that_does_not_exist_is_refused),
	{}
};

static struct kunit_suite device_suite = {
	.name = "rhca_device",
	.init = device_init,
	.test_cases = device_tests,
};
kunit_test_suite(device_suite);
