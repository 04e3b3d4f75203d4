// SPDX-License-Identifier: GPL-2.0
/* Receive queues, and the requests that a process writes into them. */
#include <linux/kthread.h>
#include <rdma/rdma_user_rxe.h>

#include "sw/verbs/device.h"
#include "sw/verbs/qp/rq.h"
#include "lib/hostile.h"
#include "lib/packet.h"

KUNIT_ARRAY_PARAM(hostile, hostile_values, hostile_desc);

#define RQ_WR	7
#define RQ_SGE	2

struct rq_bench {
	struct rhca_rq rq;
	struct rhca_recv_wqe *wqe;	/* with room for RQ_SGE entries */
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

	rhca_ring_free(&b->rq.ring);
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

	spin_lock_bh(&b->rq.take_lock);
	ret = rhca_rq_take(&b->rq, b->wqe);
	rhca_ring_give_back(&b->rq.ring);
	spin_unlock_bh(&b->rq.take_lock);
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
		KUNIT_EXPECT_EQ(test, rhca_ring_count(&b->rq.ring), RQ_WR - 1 - id);
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
	0x7fffffff, 0x80000000, 0xffffffff, };
KUNIT_ARRAY_PARAM(sge_count, sge_counts, hostile_desc);

static void receive_with_an_invalid_sge_count_is_empty(struct kunit *test)
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
	/* It is consumed: the next request is not affected */
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

static void wrong_producer_index_yields_at_most_the_ring(struct kunit *test)
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

/* Returns the result of rhca_rq_resize(); frees the old ring, or the unused one */
static int rq_resize(struct rq_bench *b, u32 max_wr)
{
	u32 bytes = sizeof(struct rxe_recv_wqe) +
		    RQ_SGE * sizeof(struct rxe_sge);
	struct rhca_ring ring;
	int ret = rhca_ring_alloc(&ring, max_wr, bytes, NULL, NULL);

	if (ret)
		return ret;
	ret = rhca_rq_resize(&b->rq, &ring);
	rhca_ring_free(&ring);
	return ret;
}

static void expect_taken(struct kunit *test, u64 from, u64 to)
{
	struct rq_bench *b = test->priv;
	u64 id;

	for (id = from; id < to; id++) {
		KUNIT_EXPECT_EQ(test, rq_take(b), 0);
		KUNIT_EXPECT_EQ(test, b->wqe->wr_id, id);
		KUNIT_EXPECT_EQ(test, b->wqe->length, 30);
	}
	KUNIT_EXPECT_EQ(test, rq_take(b), -ENOENT);
}

static void resized_queue_keeps_its_order(struct kunit *test)
{
	struct rq_bench *b = test->priv;
	u64 id;

	/* Across the end of the ring */
	for (id = 0; id < 5; id++)
		KUNIT_ASSERT_EQ(test, rq_post(b, id, 2), 0);
	expect_taken(test, 0, 5);
	for (; id < 12; id++)
		KUNIT_ASSERT_EQ(test, rq_post(b, id, 2), 0);
	KUNIT_EXPECT_EQ(test, rq_resize(b, 100), 0);
	KUNIT_EXPECT_EQ(test, b->rq.max_wr, 127);
	for (; id < 100; id++)
		KUNIT_ASSERT_EQ(test, rq_post(b, id, 2), 0);
	KUNIT_EXPECT_EQ(test, rq_resize(b, 60), -EINVAL);
	KUNIT_EXPECT_EQ(test, rq_resize(b, 200), 0);
	expect_taken(test, 5, 100);
	KUNIT_EXPECT_EQ(test, rq_resize(b, 1), 0);
	KUNIT_EXPECT_EQ(test, rq_post(b, 100, 2), 0);
	KUNIT_EXPECT_EQ(test, rq_post(b, 101, 2), -ENOMEM);
	expect_taken(test, 100, 101);
}

#define STREAM	20000

static int post_stream(void *data)
{
	u64 id = 0;

	while (id < STREAM && !kthread_should_stop()) {
		if (rq_post(data, id, 2))
			usleep_range(20, 50);
		else
			id++;
	}
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static int resize_until_stopped(void *data)
{
	struct rq_bench *b = data;
	u32 i = 0;

	while (!kthread_should_stop()) {
		rq_resize(b, i++ % 2 ? 60 : 500);
		usleep_range(50, 100);
	}
	return 0;
}

static void resize_runs_beside_posts_and_takes(struct kunit *test)
{
	unsigned long end = jiffies + 60 * HZ;
	struct rq_bench *b = test->priv;
	struct task_struct *poster, *resizer;
	u64 next = 0;
	int wrong = 0;

	poster = kthread_run(post_stream, b, "rq_post");
	KUNIT_ASSERT_FALSE(test, IS_ERR(poster));
	resizer = kthread_run(resize_until_stopped, b, "rq_resize");
	while (next < STREAM && time_before(jiffies, end)) {
		if (rq_take(b)) {
			cond_resched();
			continue;
		}
		wrong += b->wqe->wr_id != next || b->wqe->length != 30;
		next++;
	}
	if (!IS_ERR(resizer))
		kthread_stop(resizer);
	kthread_stop(poster);
	KUNIT_EXPECT_FALSE(test, IS_ERR(resizer));
	KUNIT_EXPECT_EQ(test, next, STREAM);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

TEST_SUITE_WITH(rhca_rq, rq_init, rq_exit,
		KUNIT_CASE(receives_are_taken_in_order),
		KUNIT_CASE(receive_queue_refuses_what_does_not_fit),
		KUNIT_CASE_PARAM(receive_with_an_invalid_sge_count_is_empty, sge_count_gen_params),
		KUNIT_CASE(receive_length_does_not_overflow),
		KUNIT_CASE_PARAM(wrong_producer_index_yields_at_most_the_ring, hostile_gen_params),
		KUNIT_CASE(resized_queue_keeps_its_order),
		KUNIT_CASE(resize_runs_beside_posts_and_takes));
