// SPDX-License-Identifier: GPL-2.0
/* The kernel memory of a QP besides its rings, and that it gets what it requested. */
#include <linux/slab.h>

#include "lib/hca.h"
#include "sw/qp/qp.h"
#include "sw/tx/congestion.h"

#define DEPTH		16
#define MOST_BYTES	(6 * 1024)
#define MANY_AHS	4096

static const struct test_qp_spec spec = {
	.access = IB_ACCESS_REMOTE_READ, .responder_resources = DEPTH,
	.initiator_depth = DEPTH, .retries = 7,
};

static struct ib_qp *create_qp(struct test_hca *hca, u32 depth)
{
	const struct ib_qp_cap cap = {
		.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1,
	};
	struct ib_qp *qp = test_qp_of(hca, IB_QPT_RC, &cap);

	KUNIT_EXPECT_EQ(hca->test, ibqp_to_verbs(qp)->sq.max_wr, depth);
	return qp;
}

/* As allocated: sizes are powers of two and a few in between */
static size_t bytes_of(struct rhca_sw_qp *qp)
{
	return ksize(qp) + ksize(qp->base.sq.slots) + ksize(qp->base.handle) +
	       ksize(qp->recv.resources) + ksize(qp->recv.wqe) +
	       ksize(qp->send.recovery) + ksize(qp->congestion) +
	       ksize(rcu_access_pointer(qp->base.path));
}

static void idle_rc_qp_of_depth_16_takes_6_kib(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = create_qp(hca, DEPTH);

	if (IS_ENABLED(CONFIG_LOCKDEP))
		kunit_skip(test, "lockdep's part of each lock counts, too");
	test_qp_bring_up(hca, qp, &spec, IB_QPS_RTS);
	KUNIT_EXPECT_LE(test, bytes_of(to_sw_qp(ibqp_to_verbs(qp))), MOST_BYTES);
}

static void send_queue_holds_max_send_wr(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = create_qp(hca, DEPTH);
	struct ib_rdma_wr wr = { .wr = { .opcode = IB_WR_RDMA_WRITE } };
	int i;

	test_qp_bring_up(hca, qp, &spec, IB_QPS_RTS);
	for (i = 0; i < DEPTH; i++)
		KUNIT_EXPECT_EQ(test, ib_post_send(qp, &wr.wr, NULL), 0);
	KUNIT_EXPECT_EQ(test, ib_post_send(qp, &wr.wr, NULL), -ENOMEM);
	KUNIT_EXPECT_EQ(test, test_num_sent(hca), DEPTH);
}

/* A ring has room for more */
static void longest_queues_may_be_requested_again(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	const u32 most = hca->ibdev->attrs.max_qp_wr;
	struct ib_qp_init_attr init = {
		.send_cq = hca->cq, .recv_cq = hca->cq, .qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = most, .max_recv_wr = most },
	};
	struct ib_qp *qp = ib_create_qp(hca->pd, &init);

	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	ib_destroy_qp(qp);
	KUNIT_EXPECT_EQ(test, init.cap.max_send_wr, most);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_wr, most);
}

static const struct room_case {
	const char *desc;
	u8 asked;
	u32 room;
} room_cases[] = {
	{ "none", 0, 0 }, { "1", 1, 2 }, { "3", 3, 8 }, { "16", 16, 32 },
	{ "as many as there may be", 128, 256 },
};
KUNIT_ARRAY_PARAM_DESC(room, room_cases, desc);

static void responder_resources_are_as_many_as_asked_for(struct kunit *test)
{
	const struct room_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = create_qp(hca, DEPTH);
	struct rhca_sw_qp *sw_qp = to_sw_qp(ibqp_to_verbs(qp));
	struct test_qp_spec asked = spec;

	asked.responder_resources = c->asked;
	KUNIT_EXPECT_EQ(test, sw_qp->recv.num_resources, 0);
	test_qp_bring_up(hca, qp, &asked, IB_QPS_RTR);
	KUNIT_EXPECT_EQ(test, sw_qp->recv.num_resources, c->room);
}

/* Their number may change in SQD; earlier answers are kept, 9.7.5.1 */
static void resources_keep_their_content_when_they_grow(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	struct ib_qp *qp = create_qp(hca, DEPTH);
	struct rhca_responder *recv = &to_sw_qp(ibqp_to_verbs(qp))->recv;
	struct test_qp_spec asked = spec;
	u32 i;

	asked.responder_resources = 2;
	test_qp_bring_up(hca, qp, &asked, IB_QPS_RTS);
	recv->newest_resource = 7;
	recv->sending_resource = 7;
	for (i = 3; i < 7; i++)
		recv->resources[i & 3].first_psn = i;
	KUNIT_ASSERT_EQ(test, test_qp_move(qp, IB_QPS_SQD), 0);
	attr->qp_state = IB_QPS_SQD;
	attr->max_dest_rd_atomic = 16;
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_MAX_DEST_RD_ATOMIC));
	KUNIT_ASSERT_EQ(test, recv->num_resources, 32);
	for (i = 3; i < 7; i++)
		KUNIT_EXPECT_EQ(test, recv->resources[i & 31].first_psn, i);
	attr->max_dest_rd_atomic = 1;
	KUNIT_ASSERT_EQ(test, 0, ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_MAX_DEST_RD_ATOMIC));
	KUNIT_EXPECT_EQ(test, recv->num_resources, 32);
}

static const struct rhca_qp *watched;
static const struct rhca_congestion *left;

static int destroy_and_look(struct rhca_qp *core, struct ib_udata *udata)
{
	int ret = rhca_sw_backend.qp_destroy(core, udata);

	if (core == watched)
		left = READ_ONCE(to_sw_qp(to_verbs_qp(core))->congestion);
	return ret;
}

/* Some kernels show a QP, with its rate, until ib_core has freed it */
static void rate_of_a_destroyed_qp_is_not_read(struct kunit *test)
{
	struct rhca_backend_ops *backend = test_alloc(test, sizeof(*backend));
	struct test_hca *hca;
	struct rhca_sw_qp *qp;

	*backend = rhca_sw_backend;
	backend->qp_destroy = destroy_and_look;
	hca = test_hca_create(test, backend, 1);
	qp = to_sw_qp(ibqp_to_verbs(create_qp(hca, DEPTH)));
	watched = &qp->base.core;
	left = qp->congestion;
	test_hca_remove(hca);
	KUNIT_EXPECT_NULL(test, left);
}

/* The CM creates one for each of its messages; the kernel replenishes per-CPU memory later */
static void address_handles_may_be_created_at_once(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_ah **ah = test_alloc(test, MANY_AHS * sizeof(*ah));
	struct rdma_ah_attr attr = {};
	u32 i, num = 0;

	test_address(hca, &attr);
	preempt_disable();
	for (i = 0; i < MANY_AHS; i++) {
		ah[num] = rdma_create_ah(hca->pd, &attr, 0);
		num += !IS_ERR(ah[num]);
	}
	preempt_enable();
	KUNIT_EXPECT_EQ(test, num, MANY_AHS);
	while (num--)
		rdma_destroy_ah(ah[num], 0);
}

TEST_SUITE(rhca_qp_memory,
	   KUNIT_CASE(idle_rc_qp_of_depth_16_takes_6_kib),
	   KUNIT_CASE(send_queue_holds_max_send_wr),
	   KUNIT_CASE(longest_queues_may_be_requested_again),
	   KUNIT_CASE_PARAM(responder_resources_are_as_many_as_asked_for, room_gen_params),
	   KUNIT_CASE(resources_keep_their_content_when_they_grow),
	   KUNIT_CASE(rate_of_a_destroyed_qp_is_not_read),
	   KUNIT_CASE(address_handles_may_be_created_at_once));
