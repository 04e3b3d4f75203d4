// SPDX-License-Identifier: GPL-2.0
/* States of QPs that change without modify_qp: by hardware, or at the device's removal. */
#include "core/qp/qp.h"
#include "lib/hca.h"
#include "lib/recording_backend.h"

#define MAX_CALLS	16

static const struct test_qp_spec plain = { .retries = 7 };

static int qp_init(struct kunit *test)
{
	recording_clear();
	return 0;
}

/* A backend that is not informed of state changes by its hardware */
static const struct rhca_backend_ops *without_state(void)
{
	static struct rhca_backend_ops backend;

	backend = recording_backend;
	backend.qp_state = NULL;
	return &backend;
}

static int leave(struct test_hca *hca, struct ib_qp *qp, enum ib_qp_state from, enum ib_qp_state to)
{
	struct ib_qp_attr *attr = test_alloc(hca->test, sizeof(*attr));

	attr->cur_qp_state = from;
	attr->qp_state = to;
	return ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_CUR_STATE);
}

static void expect_last_move(struct test_hca *hca, const struct ib_qp *qp,
			     enum ib_qp_state from, enum ib_qp_state to)
{
	struct recorded *got = test_alloc(hca->test, MAX_CALLS * sizeof(*got));
	u32 num = recording_of(0, qp, got, MAX_CALLS);

	KUNIT_ASSERT_GT(hca->test, num, 0);
	KUNIT_EXPECT_EQ(hca->test, got[num - 1].call, RECORDED_QP_MODIFY);
	KUNIT_EXPECT_EQ(hca->test, got[num - 1].from, from);
	KUNIT_EXPECT_EQ(hca->test, got[num - 1].state, to);
}

/* As ib_mad does after a failed MAD, or a user after the event of a drained send queue */
static void user_names_the_state_that_hardware_set(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, without_state(), 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UD, &plain, IB_QPS_RTS);

	KUNIT_EXPECT_EQ(test, 0, leave(hca, qp, IB_QPS_SQE, IB_QPS_RTS));
	expect_last_move(hca, qp, IB_QPS_SQE, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, 0, leave(hca, qp, IB_QPS_SQD, IB_QPS_RTS));
	expect_last_move(hca, qp, IB_QPS_SQD, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, test_qp_state(qp), IB_QPS_RTS);
}

/* A QP without a port or an address must not be mistaken for one with them */
static void current_state_given_by_the_user_is_checked(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, without_state(), 1);
	struct ib_qp *qp = test_qp(hca, IB_QPT_UD);

	KUNIT_EXPECT_EQ(test, -EINVAL, leave(hca, qp, IB_QPS_SQE, IB_QPS_RTS));
	test_qp_bring_up(hca, qp, &plain, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, -EINVAL, leave(hca, qp, IB_QPS_SQE, IB_QPS_RTS));
	KUNIT_EXPECT_EQ(test, -EINVAL, leave(hca, qp, IB_QPS_SQD, IB_QPS_RTS));
	KUNIT_EXPECT_EQ(test, -EINVAL, leave(hca, qp, IB_QPS_RTR, IB_QPS_RTS));
	KUNIT_EXPECT_EQ(test, test_qp_state(qp), IB_QPS_INIT);
}

/* The pass over all QPs of a device that is unregistered has seen it in RESET */
static void qp_of_a_removed_device_is_flushed_late(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct rhca_dev *dev = to_rhca_dev(hca->ibdev);
	struct ib_qp *qp = test_qp(hca, IB_QPT_UD);
	struct ib_qp *kernels = test_qp(hca, IB_QPT_UD);

	to_rhca_qp(qp)->is_user = true;
	set_bit(RHCA_DEV_UNPLUGGED, &dev->flags);
	test_qp_bring_up(hca, qp, &plain, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, test_qp_state(qp), IB_QPS_ERR);
	expect_last_move(hca, qp, IB_QPS_INIT, IB_QPS_ERR);
	/* Kernel users drain their own */
	test_qp_bring_up(hca, kernels, &plain, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, test_qp_state(kernels), IB_QPS_RTS);
	clear_bit(RHCA_DEV_UNPLUGGED, &dev->flags);
	to_rhca_qp(qp)->is_user = false;
}

/* A process may use it before other clients have seen it */
static void device_that_has_moved_is_usable_at_once(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp(hca, IB_QPT_UD);

	to_rhca_qp(qp)->is_user = true;
	set_bit(RHCA_DEV_UNPLUGGED, &to_rhca_dev(hca->ibdev)->flags);
	KUNIT_EXPECT_EQ(test, 0, hca->ibdev->ops.enable_driver(hca->ibdev));
	test_qp_bring_up(hca, qp, &plain, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, test_qp_state(qp), IB_QPS_INIT);
	to_rhca_qp(qp)->is_user = false;
}

/* Packets on its path have P_Keys of its port: the two change only together */
static void port_of_a_connection_is_that_of_its_path(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 2);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &plain, IB_QPS_RTS);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));

	KUNIT_ASSERT_EQ(test, 0, test_qp_move(qp, IB_QPS_SQD));
	attr->qp_state = IB_QPS_SQD;
	attr->port_num = 2;
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_PORT));
	KUNIT_EXPECT_EQ(test, to_rhca_qp(qp)->port->num, 1);
	attr->port_num = 1;
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(qp, attr, IB_QP_STATE | IB_QP_PORT));
}

/* A query returns all attributes of an address handle */
static void query_ah_returns_the_attributes(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct rdma_ah_attr given = {}, got;
	struct ib_ah *ah;

	test_address(hca, &given);
	rdma_ah_set_sl(&given, 3);
	rdma_ah_set_static_rate(&given, IB_RATE_25_GBPS);
	given.grh.traffic_class = 0x41;
	given.grh.flow_label = 0x54321;
	ah = rdma_create_ah(hca->pd, &given, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah);
	KUNIT_EXPECT_EQ(test, 0, rdma_query_ah(ah, &got));
	KUNIT_EXPECT_MEMEQ(test, &got, &given, sizeof(got));
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

TEST_SUITE_WITH(rhca_core_qp, qp_init, NULL,
		KUNIT_CASE(user_names_the_state_that_hardware_set),
		KUNIT_CASE(current_state_given_by_the_user_is_checked),
		KUNIT_CASE(qp_of_a_removed_device_is_flushed_late),
		KUNIT_CASE(device_that_has_moved_is_usable_at_once),
		KUNIT_CASE(port_of_a_connection_is_that_of_its_path),
		KUNIT_CASE(query_ah_returns_the_attributes));
