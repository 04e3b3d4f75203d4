// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues: their limits, and the domain of requests' memory. */
#include "lib/hca.h"

#define MAX_WR	4
#define BYTES	64

static const struct test_qp_spec spec = { .access = IB_ACCESS_LOCAL_WRITE };

/* An SRQ in its own domain, and a QP of another domain that uses it */
struct bench {
	struct test_hca *hca;	/* the device, whose domain is the QP's */
	struct ib_pd *pd;	/* domain of the SRQ */
	struct ib_qp *qp;	/* RC, in RTR */
};

static void dealloc_pd(void *pd)
{
	ib_dealloc_pd(pd);
}

/* They are freed before the device's own objects, and before the domain */
static void destroy_queues(void *data)
{
	struct test_hca *hca = data;

	test_qps_destroy(hca);
	ib_destroy_srq(hca->srq);
	hca->srq = NULL;
}

static struct bench *setup(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->pd = ib_alloc_pd(b->hca->ibdev, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->pd));
	test_at_end(test, dealloc_pd, b->pd);
	test_srq(b->hca, b->pd, MAX_WR, 0);
	test_at_end(test, destroy_queues, b->hca);
	b->qp = test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTR);
	return b;
}

/* Post a request of one entry, and receive a message for it in @packets */
static void receive(struct bench *b, u32 lkey, u32 packets)
{
	static const u8 opcodes[] = { SEND_FIRST, SEND_MIDDLE, SEND_LAST };
	struct ib_sge sge = test_sge(b->hca, 0, packets * TEST_MTU_BYTES);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct test_packet p = { .bth = { .pkey = 0xffff, .dest_qpn = b->qp->qp_num } };
	u32 i;

	sge.lkey = lkey;
	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_srq_recv(b->hca->srq, &wr, NULL));
	for (i = 0; i < packets; i++) {
		p.bth.opcode = packets == 1 ? SEND_ONLY : opcodes[i];
		p.bth.psn = i;
		p.payload_bytes = TEST_MTU_BYTES;
		test_receive(b->hca, &p);
	}
}

/* IBTA vol. 1, 10.2.3: requests on an SRQ use memory of the SRQ's domain */
static void domain_of_the_queue_counts(struct kunit *test)
{
	struct bench *b = setup(test);

	receive(b, b->pd->local_dma_lkey, 3);
	test_expect_wc(b->hca, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, test_qp_state(b->qp), IB_QPS_RTR);
}

static void domain_of_the_qp_does_not_count(struct kunit *test)
{
	struct bench *b = setup(test);

	receive(b, b->hca->pd->local_dma_lkey, 1);
	test_expect_wc(b->hca, 0, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, test_qp_state(b->qp), IB_QPS_ERR);
	KUNIT_EXPECT_TRUE(test, test_bit(IB_EVENT_QP_LAST_WQE_REACHED, &b->hca->events));
}

/* modify_srq sets it. Programs may leave it uninitialised, ibv_create_srq(3) */
static void limit_is_ignored_at_creation(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_srq *srq = test_srq(hca, hca->pd, MAX_WR, U32_MAX);
	struct ib_srq_attr attr;

	KUNIT_ASSERT_EQ(test, ib_query_srq(srq, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 0);
}

/* It has room for more than may be requested, but does not say so */
static void longest_queue_may_have_a_limit(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_srq *srq = test_srq(hca, hca->pd, hca->ibdev->attrs.max_srq_wr, 0);
	struct ib_srq_attr attr = { .srq_limit = 1 };
	struct ib_recv_wr wr = {};

	KUNIT_ASSERT_EQ(test, ib_post_srq_recv(srq, &wr, NULL), 0);
	KUNIT_EXPECT_EQ(test, ib_modify_srq(srq, &attr, IB_SRQ_LIMIT), 0);
	KUNIT_ASSERT_EQ(test, ib_query_srq(srq, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 1);
	KUNIT_EXPECT_EQ(test, attr.max_wr, hca->ibdev->attrs.max_srq_wr);
}

static void count_limit(struct ib_event *event, void *context)
{
	int *events = context;

	*events += event->event == IB_EVENT_SRQ_LIMIT_REACHED;
}

/* No message takes a request from an empty queue, and so none would raise the event later */
static void limit_above_the_queue_length_is_reported_at_once(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_srq *srq = test_srq(hca, hca->pd, MAX_WR, 0);
	struct ib_srq_attr attr = { .srq_limit = 1 };
	struct ib_recv_wr wr = {};
	int events = 0;

	srq->event_handler = count_limit;
	srq->srq_context = &events;
	KUNIT_ASSERT_EQ(test, ib_modify_srq(srq, &attr, IB_SRQ_LIMIT), 0);
	KUNIT_EXPECT_EQ(test, events, 1);
	KUNIT_ASSERT_EQ(test, ib_query_srq(srq, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 0);
	KUNIT_ASSERT_EQ(test, ib_post_srq_recv(srq, &wr, NULL), 0);
	attr.srq_limit = 1;
	KUNIT_ASSERT_EQ(test, ib_modify_srq(srq, &attr, IB_SRQ_LIMIT), 0);
	KUNIT_EXPECT_EQ(test, events, 1);
}

TEST_SUITE(rhca_srq,
	   KUNIT_CASE(domain_of_the_queue_counts),
	   KUNIT_CASE(domain_of_the_qp_does_not_count),
	   KUNIT_CASE(limit_is_ignored_at_creation),
	   KUNIT_CASE(longest_queue_may_have_a_limit),
	   KUNIT_CASE(limit_above_the_queue_length_is_reported_at_once));
