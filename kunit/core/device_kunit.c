// SPDX-License-Identifier: GPL-2.0
/*
 * The core over a backend that only records: which operations it calls, in which order, and what
 * others see meanwhile. That it works this way shows that the core depends on no data path.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>

#include "core/device.h"
#include "core/port/gid_watch.h"
#include "core/port/port_pkeys.h"
#include "core/qp/port_qos.h"
#include "core/qp/qp.h"
#include "core/registry.h"
#include "core/rules/netdev.h"
#include "lib/elsewhere.h"
#include "lib/hca.h"
#include "lib/recording_backend.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_apply.h"

#define MAX_CALLS	32
#define STEP_MS		10

static const struct test_qp_spec plain = { .retries = 7 };

static struct recorded got[MAX_CALLS];	/* calls to check */

static int device_init(struct kunit *test)
{
	recording_clear();
	return 0;
}

struct wanted_call {
	enum recorded_call call;
	enum ib_qp_state from;
	enum ib_qp_state state;
};

static void expect_calls(struct kunit *test, const struct ib_qp *qp,
			 const struct wanted_call *wanted, u32 num)
{
	u32 i, num_got = recording_of(0, qp, got, MAX_CALLS);

	KUNIT_ASSERT_EQ(test, num_got, num);
	for (i = 0; i < num; i++) {
		KUNIT_EXPECT_EQ_MSG(test, got[i].call, wanted[i].call, "call %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got[i].from, wanted[i].from, "call %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got[i].state, wanted[i].state, "call %u", i);
	}
}

static const struct wanted_call life_of_a_qp[] = {
	{ RECORDED_QP_CREATE },
	{ RECORDED_QP_MODIFY,	IB_QPS_RESET,	IB_QPS_INIT },
	{ RECORDED_QP_MODIFY,	IB_QPS_INIT,	IB_QPS_RTR },
	{ RECORDED_QP_MODIFY,	IB_QPS_RTR,	IB_QPS_RTS },
	{ RECORDED_QP_MODIFY,	IB_QPS_RTS,	IB_QPS_SQD },
	{ RECORDED_QP_MODIFY,	IB_QPS_SQD,	IB_QPS_RTS },
	{ RECORDED_QP_MODIFY,	IB_QPS_RTS,	IB_QPS_ERR },
	{ RECORDED_QP_MODIFY,	IB_QPS_ERR,	IB_QPS_RESET },
	{ RECORDED_QP_DESTROY },
};

static void backend_is_called_for_a_qp_in_order(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &plain, IB_QPS_RTS);

	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_SQD), 0);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_RTS), 0);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_ERR), 0);
	KUNIT_EXPECT_EQ(test, test_qp_move(qp, IB_QPS_RESET), 0);
	ib_destroy_qp(qp);
	hca->num_qps--;
	expect_calls(test, qp, life_of_a_qp, ARRAY_SIZE(life_of_a_qp));
}

static void backend_gets_the_attributes_that_were_named(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &plain, IB_QPS_RTR);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	const struct rhca_flow *flow = &got[2].address.flow;
	int mask;

	KUNIT_ASSERT_EQ(test, recording_of(0, qp, got, MAX_CALLS), 3);
	test_qp_attr(hca, qp, &plain, IB_QPS_INIT, attr, &mask);
	KUNIT_EXPECT_EQ(test, got[1].mask, mask);
	test_qp_attr(hca, qp, &plain, IB_QPS_RTR, attr, &mask);
	KUNIT_EXPECT_EQ(test, got[2].mask, mask);
	KUNIT_EXPECT_EQ(test, got[1].port_num, 1);
	KUNIT_EXPECT_EQ(test, (u32)got[2].address.sgid_index, hca->gid_index);
	KUNIT_EXPECT_EQ(test, flow->udp_sport,
			rdma_get_udp_sport(flow->flow_label, qp->qp_num, TEST_PEER_QPN));
}

#define CHANGE(name, change)	static void name(struct ib_qp_attr *attr) { change; }

CHANGE(bad_pkey, attr->pkey_index = 1)
CHANGE(bad_mtu_0, attr->path_mtu = 0)
CHANGE(bad_mtu_6, attr->path_mtu = 6)
CHANGE(bad_resources, attr->max_dest_rd_atomic = 129)
CHANGE(bad_rnr_timer, attr->min_rnr_timer = 32)
CHANGE(bad_depth, attr->max_rd_atomic = 129)
CHANGE(bad_timeout, attr->timeout = 32)
CHANGE(bad_retry, attr->retry_cnt = 8)
CHANGE(bad_rnr_retry, attr->rnr_retry = 8)

/* An attribute out of range, in an otherwise valid modify */
static const struct limit_case {
	const char *desc;				/* which */
	enum ib_qp_state next;				/* state of the transition that sets it */
	void (*change)(struct ib_qp_attr *attr);	/* sets the wrong value */
} limit_cases[] = {
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
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &plain, c->next - 1);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	u32 calls;
	int mask;

	calls = recording_of(0, qp, got, MAX_CALLS);
	test_qp_attr(hca, qp, &plain, c->next, attr, &mask);
	c->change(attr);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, mask), -EINVAL);
	KUNIT_EXPECT_EQ(test, recording_of(0, qp, got, MAX_CALLS), calls);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(qp), c->next - 1);
	KUNIT_EXPECT_EQ(test, test_qp_to(hca, qp, &plain, c->next), 0);
}

static const struct {
	const char *desc;
	enum ib_qp_type type;
} qp_types[] = { { "RC", IB_QPT_RC }, { "UC", IB_QPT_UC }, { "UD", IB_QPT_UD } };
KUNIT_ARRAY_PARAM_DESC(qp_type, qp_types, desc);

/* From RESET to any state */
static void put_in(struct test_hca *hca, struct ib_qp *qp, enum ib_qp_state state)
{
	test_qp_bring_up(hca, qp, &plain, min_t(int, state, IB_QPS_RTS));
	if (state == IB_QPS_SQD || state == IB_QPS_ERR)
		KUNIT_ASSERT_EQ(hca->test, 0, test_qp_move(qp, state));
	else if (state == IB_QPS_SQE)
		recording_set_state(qp, IB_QPS_SQE);
	KUNIT_ASSERT_EQ(hca->test, (int)test_qp_state(qp), (int)state);
}

static void try_transition(struct test_hca *hca, struct ib_qp *qp, enum ib_qp_state from,
			   enum ib_qp_state next, int round)
{
	struct ib_qp_attr *attr = test_alloc(hca->test, sizeof(*attr));
	int needed, mask;
	bool ok;

	put_in(hca, qp, from);
	test_qp_attr(hca, qp, &plain, next, attr, &needed);
	/* The state only, then the required attributes, then one bit too many */
	mask = round == 0 ? IB_QP_STATE : round == 1 ? needed : needed | IB_QP_RATE_LIMIT;
	ok = ib_modify_qp_is_ok(from, next, qp->qp_type, mask) &&
	     !(mask & IB_QP_RATE_LIMIT);
	KUNIT_EXPECT_EQ_MSG(hca->test, !ib_modify_qp(qp, attr, mask), ok,
			    "from %d to %d, mask %#x", from, next, mask);
	KUNIT_EXPECT_EQ_MSG(hca->test, (int)test_qp_state(qp), (int)(ok ? next : from),
			    "from %d to %d, mask %#x", from, next, mask);
	KUNIT_ASSERT_EQ(hca->test, 0, test_qp_move(qp, IB_QPS_RESET));
	kunit_kfree(hca->test, attr);
}

static void transitions_are_those_of_ib_core(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	const typeof(qp_types[0]) *c = test->param_value;
	struct ib_qp *qp = test_qp(hca, c->type);
	enum ib_qp_state from, next;
	int round;

	for (from = IB_QPS_RESET; from <= IB_QPS_ERR; from++)
		for (next = IB_QPS_RESET; next <= IB_QPS_ERR; next++)
			for (round = 0; round < 3; round++)
				try_transition(hca, qp, from, next, round);
}

/* The data path may move a QP to ERR during a modify */
static void modify_from_a_past_state_is_refused(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &plain, IB_QPS_RTS);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));

	attr->qp_state = IB_QPS_SQD;
	attr->cur_qp_state = IB_QPS_RTS;
	recording_set_state(qp, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_CUR_STATE));
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(qp), IB_QPS_ERR);
}

static int try_create(struct test_hca *hca, struct ib_qp *qp)
{
	struct ib_qp_init_attr init = {
		.send_cq = hca->cq, .recv_cq = hca->cq, .qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct ib_qp *other = ib_create_qp(hca->pd, &init);

	if (!IS_ERR(other))
		ib_destroy_qp(other);
	return PTR_ERR_OR_ZERO(other);
}

static bool is_listed(const struct ib_qp *ibqp)
{
	struct rhca_dev *dev = to_rhca_dev(ibqp->device);
	const struct rhca_qp *qp;
	bool found = false;

	mutex_lock(&dev->qps_lock);
	list_for_each_entry(qp, &dev->qps, entry)
		found |= &qp->ibqp == ibqp;
	mutex_unlock(&dev->qps_lock);
	return found;
}

/* A QP that remains is still in the device's list, and can be destroyed later */
static int try_destroy(struct test_hca *hca, struct ib_qp *qp)
{
	int ret = ib_destroy_qp(qp);

	if (ret)
		KUNIT_EXPECT_TRUE(hca->test, is_listed(qp));
	else
		hca->num_qps--;
	return ret;
}

static int try_rtr(struct test_hca *hca, struct ib_qp *qp)
{
	int ret = test_qp_to(hca, qp, &plain, IB_QPS_RTR);

	KUNIT_EXPECT_EQ(hca->test, (int)test_qp_state(qp), (int)(ret ? IB_QPS_INIT : IB_QPS_RTR));
	KUNIT_EXPECT_EQ(hca->test, to_rhca_qp(qp)->has_address, !ret);
	return ret;
}

static int try_ah(struct test_hca *hca, struct ib_qp *qp)
{
	struct rdma_ah_attr attr = {};
	struct ib_ah *ah;

	test_address(hca, &attr);
	ah = rdma_create_ah(hca->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	if (!IS_ERR(ah))
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	return PTR_ERR_OR_ZERO(ah);
}

static int try_mcast(struct test_hca *hca, struct ib_qp *qp)
{
	union ib_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };
	struct ib_qp *ud = test_qp(hca, IB_QPT_UD);
	int ret = ib_attach_mcast(ud, &group, 0);

	KUNIT_EXPECT_EQ(hca->test, to_rhca_dev(hca->ibdev)->num_mcast_groups, !ret);
	KUNIT_EXPECT_EQ(hca->test, to_rhca_dev(hca->ibdev)->num_mcast_attachments, !ret);
	if (!ret)
		KUNIT_EXPECT_EQ(hca->test, ib_detach_mcast(ud, &group, 0), 0);
	return ret;
}

static int try_pkeys(struct test_hca *hca, struct ib_qp *qp)
{
	u16 pkey = 0;
	int ret = rhca_pkeys_store(test_port(hca), "1 0x8001\n");

	KUNIT_EXPECT_EQ(hca->test, ib_query_pkey(hca->ibdev, 1, 1, &pkey), 0);
	KUNIT_EXPECT_EQ(hca->test, pkey, ret ? 0 : 0x8001);
	return ret;
}

static int try_stats(struct test_hca *hca, struct ib_qp *qp)
{
	struct ib_device *ibdev = hca->ibdev;
	struct rdma_hw_stats *stats = ibdev->ops.alloc_hw_port_stats(ibdev, 1);
	int ret;

	KUNIT_ASSERT_NOT_NULL(hca->test, stats);
	ret = ibdev->ops.get_hw_stats(ibdev, stats, 1, 0);
	rdma_free_hw_stats_struct(stats);
	return min(ret, 0);
}

static int try_optional(struct test_hca *hca, struct ib_qp *qp)
{
	u32 last = to_rhca_dev(hca->ibdev)->num_counters - 1;

	return hca->ibdev->ops.modify_hw_stat(hca->ibdev, 1, last, true);
}

/* An operation for which the backend returns an error */
static const struct refusal_case {
	const char *desc;					/* which */
	enum recorded_call call;				/* the operation */
	int (*try)(struct test_hca *hca, struct ib_qp *qp);	/* calls it */
} refusal_cases[] = {
	{ "create QP",		RECORDED_QP_CREATE,		try_create },
	{ "modify QP",		RECORDED_QP_MODIFY,		try_rtr },
	{ "destroy QP",		RECORDED_QP_DESTROY,		try_destroy },
	{ "create AH",		RECORDED_AH_CREATE,		try_ah },
	{ "attach QP",		RECORDED_MCAST_ATTACH,		try_mcast },
	{ "P_Key table",	RECORDED_PKEYS_CHECK,		try_pkeys },
	{ "read counters",	RECORDED_COUNTERS_READ,		try_stats },
	{ "optional counter",	RECORDED_COUNTERS_ENABLE,	try_optional },
};
KUNIT_ARRAY_PARAM_DESC(refusal, refusal_cases, desc);

/* The caller gets the backend's error, nothing is changed, and a retry works */
static void refusal_of_the_backend_reaches_the_caller(struct kunit *test)
{
	const struct refusal_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &plain, IB_QPS_INIT);

	recording_fail(c->call, -ENOSPC);
	KUNIT_EXPECT_EQ(test, c->try(hca, qp), -ENOSPC);
	recording_fail(c->call, 0);
	KUNIT_EXPECT_EQ(test, c->try(hca, qp), 0);
}

/* As many QPs as query_device reports; one more only after one has left */
static void full_group_takes_no_more(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	union ib_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };
	u32 room = hca->ibdev->attrs.max_mcast_qp_attach;
	struct ib_qp **qp = test_alloc(test, (room + 1) * sizeof(struct ib_qp *));
	u32 i;

	for (i = 0; i <= room; i++) {
		qp[i] = test_qp(hca, IB_QPT_UD);
		KUNIT_EXPECT_EQ(test, ib_attach_mcast(qp[i], &group, 0), i < room ? 0 : -ENOMEM);
	}
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_MCAST_ATTACH), room);
	KUNIT_EXPECT_EQ(test, ib_detach_mcast(qp[0], &group, 0), 0);
	KUNIT_EXPECT_EQ(test, ib_attach_mcast(qp[room], &group, 0), 0);
	for (i = 1; i <= room; i++)
		KUNIT_EXPECT_EQ(test, ib_detach_mcast(qp[i], &group, 0), 0);
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_MCAST_DETACH), room + 1);
	KUNIT_EXPECT_EQ(test, to_rhca_dev(hca->ibdev)->num_mcast_attachments, 0);
}

static const struct undo_case {
	const char *desc;
	enum recorded_call fails;
} undo_cases[] = {
	{ "device",		RECORDED_DEV_INIT },
	{ "counters",		RECORDED_COUNTERS_OPEN },
};
KUNIT_ARRAY_PARAM_DESC(undo, undo_cases, desc);

static void device_that_does_not_come_up_leaves_nothing(struct kunit *test)
{
	const struct undo_case *c = test->param_value;
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, test_netdev(test, 1));
	bool came_up = c->fails != RECORDED_DEV_INIT;

	recording_fail(c->fails, -ENOSPC);
	KUNIT_EXPECT_EQ(test, rhca_dev_create(&spec), -ENOSPC);
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_DEV_INIT), 1);
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_DEV_EXIT), came_up);
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_PORT_OPEN), 0);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(spec.netdevs[0]));
}

/* Rules for the traffic class apply to connected QPs if the backend supports it */
static void connected_qp_is_readdressed(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct rhca_port *port = test_port(hca);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &plain, IB_QPS_RTS);

	to_rhca_qp(qp)->address.flow.encap = RHCA_V2_IPV6;	/* v1 has no class */
	KUNIT_EXPECT_EQ(test, rhca_tclass_store(port, "tclass=104"), 0);
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_QP_READDRESS), 1);
	KUNIT_EXPECT_EQ(test, to_rhca_qp(qp)->address.flow.tclass, 104);
	KUNIT_EXPECT_EQ(test, rhca_tclass_store(port, "tclass=104"), 0);
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_QP_READDRESS), 1);
	recording_fail(RECORDED_QP_READDRESS, -EIO);
	KUNIT_EXPECT_EQ(test, rhca_tclass_store(port, "tclass=-1"), 0);
	KUNIT_EXPECT_EQ(test, to_rhca_qp(qp)->address.flow.tclass, 104);
}

/* The file says whether the rules apply to existing connections */
static void file_says_if_rules_are_for_new_connections_only(struct kunit *test)
{
	static const char notice[] = "# new connections only\n";
	static struct rhca_backend_ops connect_only;
	char *page = test_alloc(test, PAGE_SIZE);
	struct test_hca *hca;

	hca = test_hca_create(test, &recording_backend, 1);
	rhca_tclass_show(test_port(hca), page);
	KUNIT_EXPECT_STREQ(test, page, "Global tclass=-1\n");
	test_hca_remove(hca);

	connect_only = recording_backend;
	connect_only.qp_readdress = NULL;
	hca = test_hca_create(test, &connect_only, 1);
	rhca_tclass_show(test_port(hca), page);
	KUNIT_EXPECT_NOT_NULL(test, strstr(page, notice));
	KUNIT_EXPECT_EQ(test, rhca_tclass_store(test_port(hca), "tclass=104"), 0);
}

static void expect_port_calls(struct kunit *test, const char *wanted)
{
	unsigned long calls = BIT(RECORDED_PORT_OPEN) | BIT(RECORDED_PORT_CLOSE);
	u32 i, num = recording_of(calls, NULL, got, MAX_CALLS);
	char said[64] = "";
	int len = 0;

	for (i = 0; i < num; i++)
		len += scnprintf(said + len, sizeof(said) - len, "%s %u, ",
				 got[i].call == RECORDED_PORT_OPEN ? "open" : "close",
				 got[i].port_num);
	KUNIT_EXPECT_STREQ(test, said, wanted);
}

static void ports_are_open_while_the_device_lives(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);

	expect_port_calls(test, "open 1, open 2, ");
	KUNIT_EXPECT_EQ(test, hca->ibdev->phys_port_cnt, 2);
	test_hca_remove(hca);
	expect_port_calls(test, "open 1, open 2, close 2, close 1, ");
}

static void port_that_does_not_open_undoes_the_device(struct kunit *test)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, test_netdev(test, 1),
						test_netdev(test, 2));
	u32 i;

	recording_fail_port(2, -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, rhca_dev_create(&spec), -EADDRINUSE);
	expect_port_calls(test, "open 1, open 2, close 1, ");
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_FALSE(test, rhca_netdev_served(spec.netdevs[i]));
		KUNIT_EXPECT_NULL(test, rhca_dev_find(spec.netdevs[i]));
	}
}

static void netdev_is_served_once(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, hca->ndev[1]);

	spec.name = TEST_NAME "_too";
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(hca->ndev[0]));
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(hca->ndev[1]));
	KUNIT_EXPECT_EQ(test, rhca_dev_create(&spec), -EEXIST);
	spec.netdevs[0] = test_netdev(test, 3);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(spec.netdevs[0]));
	spec.name = TEST_NAME;
	KUNIT_EXPECT_NE_MSG(test, rhca_dev_create(&spec), 0, "name taken");
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(spec.netdevs[0]));
}

/* Another namespace than the netdev's: any pointer will do, as it is only compared */
static void netdev_that_moved_before_is_not_served(struct kunit *test)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, test_netdev(test, 1));

	spec.net = (const void *)test;
	KUNIT_EXPECT_EQ(test, rhca_dev_create(&spec), -ENODEV);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(spec.netdevs[0]));
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_DEV_INIT), 0);
	spec.net = dev_net(spec.netdevs[0]);
	KUNIT_EXPECT_EQ(test, rhca_dev_create(&spec), 0);
	test_device_remove(spec.netdevs[0]);
}

/* A device that was renamed to a pattern of ib_core, and is created again */
static void name_is_no_pattern(struct kunit *test)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, test_netdev(test, 1));
	struct rhca_dev *dev;

	spec.name = "pattern%d";
	KUNIT_ASSERT_EQ(test, 0, rhca_dev_create(&spec));
	dev = test_device_get(test, spec.netdevs[0]);
	KUNIT_EXPECT_TRUE(test, strstarts(dev_name(&dev->ibdev.dev), "roce"));
	ib_unregister_device_and_put(&dev->ibdev);
}

static enum ib_port_state port_state(struct test_hca *hca, u32 num)
{
	struct ib_port_attr attr;

	KUNIT_ASSERT_EQ(hca->test, 0, ib_query_port(hca->ibdev, num, &attr));
	return attr.state;
}

static void ports_have_a_state_each(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);

	KUNIT_EXPECT_EQ(test, port_state(hca, 1), IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, port_state(hca, 2), IB_PORT_ACTIVE);
	test_netdev_set_up(hca->ndev[1], false);
	KUNIT_EXPECT_EQ(test, port_state(hca, 1), IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, port_state(hca, 2), IB_PORT_DOWN);
	test_netdev_set_up(hca->ndev[1], true);
	test_netdev_set_up(hca->ndev[0], false);
	KUNIT_EXPECT_EQ(test, port_state(hca, 1), IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, port_state(hca, 2), IB_PORT_ACTIVE);
}

static u32 up_mbits;	/* of each netdev that is up */

static int show_speed(struct net_device *ndev, struct ethtool_link_ksettings *link)
{
	link->base.speed = netif_running(ndev) ? up_mbits : SPEED_UNKNOWN;
	return 0;
}

static const struct ethtool_ops with_speed = { .get_link_ksettings = show_speed };

static void expect_rate(struct kunit *test, struct rhca_dev *dev, u16 speed, u8 width)
{
	struct ib_port_attr attr;

	KUNIT_ASSERT_EQ(test, 0, ib_query_port(&dev->ibdev, 1, &attr));
	KUNIT_EXPECT_EQ_MSG(test, attr.active_speed, speed, "%u Mb/s", up_mbits);
	KUNIT_EXPECT_EQ_MSG(test, attr.active_width, width, "%u Mb/s", up_mbits);
}

/* A port of two netdevs has the sum of those that are up */
static void rate_is_the_netdevs(struct kunit *test)
{
	static const struct { u32 mbits; u16 speed; u8 width; } one[] = {
		{ SPEED_UNKNOWN, IB_SPEED_SDR, IB_WIDTH_1X },
		{ 1000,   IB_SPEED_SDR,	  IB_WIDTH_1X }, { 5000,   IB_SPEED_DDR, IB_WIDTH_1X },
		{ 10000,  IB_SPEED_FDR10, IB_WIDTH_1X }, { 20000,  IB_SPEED_FDR10, IB_WIDTH_2X },
		{ 25000,  IB_SPEED_EDR, IB_WIDTH_1X },
		{ 40000,  IB_SPEED_FDR10, IB_WIDTH_4X }, { 50000,  IB_SPEED_EDR, IB_WIDTH_2X },
		{ 100000, IB_SPEED_EDR,	  IB_WIDTH_4X }, { 200000, IB_SPEED_HDR, IB_WIDTH_4X },
		{ 400000, IB_SPEED_NDR,	  IB_WIDTH_4X }, { 800000, IB_SPEED_NDR, IB_WIDTH_8X },
	};
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, test_netdev(test, 1));
	struct rhca_dev *dev;
	size_t i;

	spec.second = test_netdev(test, 2);
	spec.netdevs[0]->ethtool_ops = &with_speed;
	spec.second->ethtool_ops = &with_speed;
	KUNIT_ASSERT_EQ(test, 0, rhca_dev_create(&spec));
	dev = test_device_get(test, spec.netdevs[0]);
	up_mbits = 25000;
	expect_rate(test, dev, IB_SPEED_EDR, IB_WIDTH_2X);
	test_netdev_set_up(spec.netdevs[0], false);
	for (i = 0; i < ARRAY_SIZE(one); i++) {
		up_mbits = one[i].mbits;
		expect_rate(test, dev, one[i].speed, one[i].width);
	}
	ib_device_put(&dev->ibdev);
	test_device_remove(spec.netdevs[0]);
}

static void ports_have_gids_each(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	union ib_gid gid[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, rdma_query_gid(hca->ibdev, i + 1, 0, &gid[i]));
		/* The EUI-64 of the netdev's MAC */
		KUNIT_EXPECT_EQ(test, gid[i].raw[0], 0xfe);
		KUNIT_EXPECT_EQ(test, gid[i].raw[15], i + 1);
	}
	KUNIT_EXPECT_GE(test, recording_num(RECORDED_GID_SET), 2);
}

/* ib_core believes the port number of a kernel user: ask the driver itself */
static void qp_belongs_to_the_port_that_it_names(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	struct ib_qp *qp = test_qp(hca, IB_QPT_RC);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	int mask, port;

	test_qp_attr(hca, qp, &plain, IB_QPS_INIT, attr, &mask);
	for (port = 3; port >= 0; port -= 3) {
		attr->port_num = port;
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, hca->ibdev->ops.modify_qp(qp, attr, mask, NULL),
				    "port %d", port);
	}
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(qp), IB_QPS_RESET);
	attr->port_num = 2;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, mask), 0);
	KUNIT_EXPECT_PTR_EQ(test, to_rhca_qp(qp)->port, &to_rhca_dev(hca->ibdev)->ports[1]);
	KUNIT_EXPECT_EQ(test, to_rhca_qp(qp)->port->num, 2);
}

/*
 * Uppers of a netdev may be in other namespaces, with other indices: packets of the host's IP stack
 * cannot use their GIDs. Any pointer will do for a namespace, as it is only compared.
 */
static void gid_of_another_namespace_is_for_adapters(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct rhca_dev *dev = to_rhca_dev(hca->ibdev);
	struct rhca_port *port = &dev->ports[0];
	const struct net *here = port->net;
	const struct ib_gid_attr *attr;

	attr = rdma_get_gid_attr(hca->ibdev, 1, hca->gid_index);
	KUNIT_ASSERT_FALSE(test, IS_ERR(attr));
	KUNIT_EXPECT_NE(test, rhca_gid_ifindex(&port->gids, hca->gid_index), 0);
	KUNIT_EXPECT_EQ(test, try_ah(hca, NULL), 0);
	port->net = (const void *)port;
	KUNIT_EXPECT_EQ(test, hca->ibdev->ops.add_gid(attr, NULL), 0);
	KUNIT_EXPECT_EQ(test, rhca_gid_ifindex(&port->gids, hca->gid_index), 0);
	KUNIT_EXPECT_EQ(test, try_ah(hca, NULL), -ENODEV);
	dev->caps.any_net = true;
	KUNIT_EXPECT_EQ(test, try_ah(hca, NULL), 0);
	dev->caps.any_net = false;
	port->net = here;
	KUNIT_EXPECT_EQ(test, hca->ibdev->ops.add_gid(attr, NULL), 0);
	KUNIT_EXPECT_NE(test, rhca_gid_ifindex(&port->gids, hca->gid_index), 0);
	rdma_put_gid_attr(attr);
}

static struct rhca_dev *make_on(struct kunit *test, struct net_device *ndev)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, ndev);

	KUNIT_ASSERT_EQ(test, rhca_dev_create(&spec), 0);
	return test_device_get(test, ndev);
}

/* As netkit in its L3 mode: two hosts must not have the same, see set_guid() */
static void netdev_without_an_address_gives_no_guid(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 1);
	const u8 none[ETH_ALEN] = {};
	struct rhca_dev *dev;
	__be64 guid;

	eth_hw_addr_set(ndev, none);
	addrconf_addr_eui48((u8 *)&guid, none);
	dev = make_on(test, ndev);
	KUNIT_EXPECT_NE(test, be64_to_cpu(dev->ibdev.node_guid), be64_to_cpu(guid));
	ib_device_put(&dev->ibdev);
	test_device_remove(ndev);
}

static u64 guid_on(struct kunit *test, struct net_device *ndev)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, ndev);
	struct rhca_dev *dev;
	u64 guid;

	spec.name = NULL;
	KUNIT_ASSERT_EQ(test, 0, rhca_dev_create(&spec));
	dev = test_device_get(test, ndev);
	guid = be64_to_cpu(dev->ibdev.node_guid);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(dev->ibdev.attrs.sys_image_guid), guid);
	ib_device_put(&dev->ibdev);
	return guid;
}

/* Of one MAC: on another netdev, on one whose last device has a user, and alone again */
static void no_two_devices_have_one_guid(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 1), *other = test_netdev(test, 2);
	struct rhca_dev *held = make_on(test, ndev);
	u64 guid = be64_to_cpu(held->ibdev.node_guid);
	__be64 documented;

	addrconf_addr_eui48((u8 *)&documented, ndev->dev_addr);
	KUNIT_EXPECT_EQ(test, guid, be64_to_cpu(documented));
	eth_hw_addr_set(other, ndev->dev_addr);
	KUNIT_EXPECT_EQ(test, guid_on(test, other), guid - BIT_ULL(24));
	test_netdev_leave(ndev);
	KUNIT_EXPECT_EQ(test, guid_on(test, ndev), guid - 2 * BIT_ULL(24));
	ib_device_put(&held->ibdev);
	KUNIT_EXPECT_TRUE(test, test_becomes(recording_num(RECORDED_DEV_EXIT)));
	test_device_remove(other);
	KUNIT_EXPECT_EQ(test, guid_on(test, other), guid);
	test_device_remove(other);
	test_device_remove(ndev);
}

static bool has_default_gid(struct rhca_dev *dev)
{
	return rhca_gid_ifindex(&dev->ports[0].gids, 0);
}

/*
 * On a tunnel all GIDs are deleted and read again when an address is removed. The default GID's
 * place is not free before its last user is gone.
 */
static void default_gid_in_use_is_back_after_its_user(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 1);
	const struct ib_gid_attr *attr;
	struct rhca_dev *dev;

	ndev->type = ARPHRD_NONE;
	dev = make_on(test, ndev);
	KUNIT_EXPECT_TRUE(test, test_becomes(has_default_gid(dev)));
	attr = rdma_get_gid_attr(&dev->ibdev, 1, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(attr));
	rcu_read_lock();
	rhca_gid_watch_address(&dev->ports[0], true);
	rcu_read_unlock();
	KUNIT_EXPECT_TRUE(test, test_becomes(!has_default_gid(dev)));
	rdma_put_gid_attr(attr);
	KUNIT_EXPECT_TRUE(test, test_becomes(has_default_gid(dev)));
	ib_device_put(&dev->ibdev);
	test_device_remove(ndev);
	ndev->type = ARPHRD_ETHER;
}

/*
 * "ip link del" returns when the netdev is freed, after the port's sockets are closed. Packets do
 * not find the netdev any more, so the backend can release routes for good
 */
static void port_is_quiesced_before_its_netdev_is_free(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 1);
	struct rhca_dev *dev = make_on(test, ndev);
	struct recorded quiesce = {};

	rtnl_lock();
	rhca_dev_remove_netdev(ndev);
	KUNIT_EXPECT_EQ(test, 1, recording_of(BIT(RECORDED_PORT_QUIESCE), NULL, &quiesce, 1));
	KUNIT_EXPECT_FALSE(test, quiesce.has_netdev);
	KUNIT_EXPECT_NULL(test, rcu_access_pointer(dev->ports[0].ndev));
	/* No device is found on the netdev, and nothing is quiesced again */
	rhca_dev_remove_netdev(ndev);
	rtnl_unlock();
	ib_device_put(&dev->ibdev);
	KUNIT_EXPECT_TRUE(test, test_becomes(recording_num(RECORDED_DEV_EXIT)));
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_PORT_QUIESCE), 1);
}

/*
 * As if its netdev moved while the device moves, which ib_core leaves without references, and
 * another device is added meanwhile. The pointer to the namespace is only compared.
 */
static void move_with_netdev(struct kunit *test, struct rhca_dev *dev)
{
	unsigned int refs = refcount_read(&dev->ibdev.refcount);

	refcount_set(&dev->ibdev.refcount, 0);
	dev->ports[0].net = (const void *)dev;
	rhca_slot_kick(NULL);
	rhca_slot_flush();
	KUNIT_EXPECT_NOT_NULL(test, rcu_access_pointer(dev->ports[0].ndev));
	refcount_set(&dev->ibdev.refcount, refs);
	rhca_dev_plugged(dev);
	rhca_slot_kick(NULL);
}

/* While a device moves between RDMA namespaces, a moving netdev does not find it */
static void netdev_that_moved_with_the_device_is_noticed(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 1);
	struct rhca_dev *dev = make_on(test, ndev);

	move_with_netdev(test, dev);
	/* Its users may hold it for long */
	KUNIT_EXPECT_TRUE(test, test_becomes(!rhca_netdev_served(ndev)));
	ib_device_put(&dev->ibdev);
	KUNIT_EXPECT_TRUE(test, test_becomes(recording_num(RECORDED_DEV_EXIT)));
	test_device_remove(ndev);
}

/* Create a LAG on @ndev that replaced a device on @member. Reference as of make_on() */
static struct rhca_dev *make_lag(struct kunit *test, struct net_device *ndev,
				 struct net_device *member)
{
	struct rhca_dev *dev = make_on(test, ndev);

	dev->replaced.num_devices = 1;
	dev->replaced.device[0].num_ports = 1;
	strscpy(dev->replaced.device[0].name, TEST_NAME "_member", IB_DEVICE_NAME_MAX);
	rhca_netdev_note(&dev->replaced.device[0].netdev[0], member);
	return dev;
}

/* It was not found when its netdev was removed, so its end was not announced */
static void moving_lag_restores_its_members(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 1);
	struct net_device *member = test_netdev(test, 2);
	struct rhca_dev *dev = make_lag(test, ndev, member);
	struct rhca_slot_ports ports = { .num = 1 };

	rhca_netdev_note(&ports.netdev[0], member);
	KUNIT_ASSERT_EQ(test, 0, rhca_slot_set_returns(member, &ports));
	move_with_netdev(test, dev);
	ib_device_put(&dev->ibdev);
	KUNIT_EXPECT_TRUE(test, test_becomes(test_device_of(member)));
	test_device_remove(member);
	test_device_remove(ndev);
}

static int remove_all(struct kunit *test, void *unused)
{
	rhca_dev_remove_all();
	return 0;
}

/* A moving device has no references: as ib_core sets the count */
static void unload_waits_for_a_moving_device(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 1);
	struct rhca_dev *dev = make_on(test, ndev);
	unsigned int references;
	struct elsewhere *e;

	ib_device_put(&dev->ibdev);
	references = refcount_read(&dev->ibdev.refcount);
	refcount_set(&dev->ibdev.refcount, 0);
	e = test_begin(test_elsewhere(test, remove_all, NULL));
	test_becomes(test_sleeps(e));
	KUNIT_EXPECT_EQ(test, recording_num(RECORDED_DEV_EXIT), 0);
	refcount_set(&dev->ibdev.refcount, references);
	rhca_dev_plugged(dev);
	KUNIT_EXPECT_TRUE(test, test_becomes(recording_num(RECORDED_DEV_EXIT)));
	test_device_remove(ndev);
	test_end(e);
}

TEST_SUITE_WITH(rhca_device, device_init, NULL,
		KUNIT_CASE(backend_is_called_for_a_qp_in_order),
		KUNIT_CASE(backend_gets_the_attributes_that_were_named),
		KUNIT_CASE_PARAM(attribute_out_of_range_changes_nothing, limit_gen_params),
		KUNIT_CASE_PARAM(transitions_are_those_of_ib_core, qp_type_gen_params),
		KUNIT_CASE(modify_from_a_past_state_is_refused),
		KUNIT_CASE_PARAM(refusal_of_the_backend_reaches_the_caller, refusal_gen_params),
		KUNIT_CASE(full_group_takes_no_more),
		KUNIT_CASE_PARAM(device_that_does_not_come_up_leaves_nothing, undo_gen_params),
		KUNIT_CASE(connected_qp_is_readdressed),
		KUNIT_CASE(file_says_if_rules_are_for_new_connections_only),
		KUNIT_CASE(ports_are_open_while_the_device_lives),
		KUNIT_CASE(port_that_does_not_open_undoes_the_device),
		KUNIT_CASE(netdev_is_served_once),
		KUNIT_CASE(ports_have_a_state_each),
		KUNIT_CASE(rate_is_the_netdevs),
		KUNIT_CASE(ports_have_gids_each),
		KUNIT_CASE(qp_belongs_to_the_port_that_it_names),
		KUNIT_CASE(gid_of_another_namespace_is_for_adapters),
		KUNIT_CASE(default_gid_in_use_is_back_after_its_user),
		KUNIT_CASE(netdev_that_moved_before_is_not_served),
		KUNIT_CASE(netdev_without_an_address_gives_no_guid),
		KUNIT_CASE(no_two_devices_have_one_guid),
		KUNIT_CASE(name_is_no_pattern),
		KUNIT_CASE(port_is_quiesced_before_its_netdev_is_free),
		KUNIT_CASE(netdev_that_moved_with_the_device_is_noticed),
		KUNIT_CASE(moving_lag_restores_its_members),
		KUNIT_CASE(unload_waits_for_a_moving_device));
