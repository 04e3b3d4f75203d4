// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues, and the requests that a process writes into them.
 */
#include <kunit/test.h>
#include <rdma/rdma_user_rxe.h>

#include "sw/verbs/device.h"
#include "sw/verbs/rq.h"
#include "hostile.h"
#include "packet.h"

KUNIT_ARRAY_PARAM(hostile, hostile_values, hostile_desc);

#define RQ_WR	7
#define RQ_SGE	2

struct rq_bench {
	struct rhca_rq rq;
	struct rhca_recv_wqe *wqe;	/* with room for RQ_SGE entries */
	u32 left;
};

static int rq_init(struct kunit *test)
{
	struct rq_bench *b = test_alloc(test, sizeof(*b));

	test->priv = b;
	b->wqe = test_alloc(test, struct_size(b->wqe, sge, RQ_SGE));
	return rhca_rq_init(&b->rq, RQ_WR, RQ_SGE, NULL, NULL);
}

static void rq_exit(struct kunit *test)
{
	struct rq_bench *b = test->priv;

	rhca_rq_exit(&b->rq);
}

static int rq_post(struct rq_bench *b, u64 id, int num_sge)
{
	struct ib_sge sge[RQ_SGE + 1] = {
		{ .addr = id, .length = 10, .lkey = 1 },
		{ .addr = id + 1, .length = 20, .lkey = 2 },
	};
	struct ib_recv_wr wr = {
		.wr_id = id, .sg_list = sge, .num_sge = num_sge,
	};
	const struct ib_recv_wr *bad;

	return rhca_rq_post(&b->rq, &wr, &bad);
}

static int rq_take(struct rq_bench *b)
{
	int ret;

	local_bh_disable();
	ret = rhca_rq_take(&b->rq, b->wqe, &b->left);
	local_bh_enable();
	return ret;
}

static void receives_are_taken_in_order(struct kunit *test)
{
	struct rq_bench *b = test->priv;
	u64 id;

	for (id = 0; id < RQ_WR; id++)
		KUNIT_EXPECT_EQ(test, rq_post(b, id, 2), 0);
	for (id = 0; id < RQ_WR; id++) {
		KUNIT_EXPECT_EQ(test, rq_take(b), 0);
		KUNIT_EXPECT_EQ(test, b->wqe->wr_id, id);
		KUNIT_EXPECT_EQ(test, b->wqe->num_sge, 2);
		KUNIT_EXPECT_EQ(test, b->wqe->length, 30);
		KUNIT_EXPECT_EQ(test, b->wqe->sge[1].addr, id + 1);
		KUNIT_EXPECT_EQ(test, b->left, RQ_WR - 1 - id);
	}
	KUNIT_EXPECT_EQ(test, rq_take(b), -ENOENT);
}

static void receive_queue_refuses_what_does_not_fit(struct kunit *test)
{
	struct rq_bench *b = test->priv;
	int i;

	KUNIT_EXPECT_EQ(test, rq_post(b, 0, RQ_SGE + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rq_post(b, 0, -1), -EINVAL);
	for (i = 0; i < RQ_WR; i++)
		KUNIT_EXPECT_EQ(test, rq_post(b, i, 0), 0);
	KUNIT_EXPECT_EQ(test, rq_post(b, 0, 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rq_take(b), 0);
	KUNIT_EXPECT_EQ(test, rq_post(b, 0, 0), 0);
}

static const u32 sge_counts[] = {
	RQ_SGE + 1, RHCA_MAX_SGE, RHCA_MAX_SGE + 1, 0xffff, 0x10000000,
	0x7fffffff, 0x80000000, 0xffffffff,
};
KUNIT_ARRAY_PARAM(sge_count, sge_counts, hostile_desc);

static void receive_with_a_false_sge_count_is_empty(struct kunit *test)
{
	u32 count = *(const u32 *)test->param_value;
	struct rq_bench *b = test->priv;
	struct rxe_recv_wqe *slot = rhca_ring_slot(&b->rq.ring, 0);

	KUNIT_ASSERT_EQ(test, rq_post(b, 77, 2), 0);
	KUNIT_ASSERT_EQ(test, rq_post(b, 78, 1), 0);
	slot->dma.num_sge = count;
	memset(b->wqe->sge, 0xaa, RQ_SGE * sizeof(b->wqe->sge[0]));
	KUNIT_EXPECT_EQ(test, rq_take(b), -EINVAL);
	KUNIT_EXPECT_EQ(test, b->wqe->wr_id, 77);
	KUNIT_EXPECT_EQ(test, b->wqe->num_sge, 0);
	KUNIT_EXPECT_EQ(test, b->wqe->length, 0);
	KUNIT_EXPECT_EQ(test, *(u8 *)b->wqe->sge, 0xaa);
	/* It has been taken: the next one is not its neighbour's business */
	KUNIT_EXPECT_EQ(test, rq_take(b), 0);
	KUNIT_EXPECT_EQ(test, b->wqe->wr_id, 78);
}

static void receive_length_does_not_overflow(struct kunit *test)
{
	struct rq_bench *b = test->priv;
	struct rxe_recv_wqe *slot = rhca_ring_slot(&b->rq.ring, 0);

	KUNIT_ASSERT_EQ(test, rq_post(b, 1, 2), 0);
	slot->dma.sge[0].length = U32_MAX;
	slot->dma.sge[1].length = U32_MAX;
	KUNIT_EXPECT_EQ(test, rq_take(b), 0);
	KUNIT_EXPECT_EQ(test, b->wqe->length, 2ULL * U32_MAX);
}

static void false_producer_yields_no_more_than_the_ring(struct kunit *test)
{
	u32 value = *(const u32 *)test->param_value;
	struct rq_bench *b = test->priv;
	u32 taken = 0;

	b->rq.ring.shared->producer_index = value;
	b->rq.ring.shared->consumer_index = ~value;
	while (rq_take(b) != -ENOENT && taken < 100)
		taken++;
	KUNIT_EXPECT_EQ(test, taken, value & 7);
}

static struct kunit_case rq_tests[] = {
	KUNIT_CASE(receives_are_taken_in_order),
	KUNIT_CASE(receive_queue_refuses_what_does_not_fit),
	KUNIT_CASE_PARAM(receive_with_a_false_sge_count_is_empty,
			 sge_count_gen_params),
	KUNIT_CASE(receive_length_does_not_overflow),
	KUNIT_CASE_PARAM(false_producer_yields_no_more_than_the_ring,
			 hostile_gen_params),
	{}
};

static struct kunit_suite rq_suite = {
	.name = "rhca_rq",
	.init = rq_init,
	.exit = rq_exit,
	.test_cases = rq_tests,
};
kunit_test_suite(rq_suite);
