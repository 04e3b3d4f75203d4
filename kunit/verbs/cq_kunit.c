// SPDX-License-Identifier: GPL-2.0
/*
 * A completion queue of the kernel that overruns, and its QPs. For those of processes see
 * scripts/tests/errors/cq-overrun.py.
 */
#include "lib/hca.h"
#include "sw/verbs/queue/cq.h"

#define CQ_ENTRIES	4

struct seen {
	atomic_t cq_err;
	atomic_t fatal;
};

/* A small CQ, a QP that fills it, and another one that uses it */
struct bench {
	struct test_hca *hca;	/* the device */
	struct ib_cq *cq;	/* holds CQ_ENTRIES */
	struct ib_qp *busy;	/* completes its receives to @cq */
	struct ib_qp *idle;	/* has it as send CQ, and completes nothing */
	struct seen of_busy;	/* events of @busy, and of @cq */
	struct seen of_idle;	/* events of @idle */
};

static const struct test_qp_spec spec = {
	.access = IB_ACCESS_LOCAL_WRITE, .responder_resources = 1,
	.initiator_depth = 1,
};

static void note(struct ib_event *event, void *context)
{
	struct seen *seen = context;

	if (event->event == IB_EVENT_CQ_ERR)
		atomic_inc(&seen->cq_err);
	if (event->event == IB_EVENT_QP_FATAL)
		atomic_inc(&seen->fatal);
}

static struct ib_qp *create_qp(struct bench *b, struct ib_cq *send_cq,
			       struct ib_cq *recv_cq, struct seen *seen)
{
	struct ib_qp_init_attr init = {
		.event_handler = note, .qp_context = seen,
		.send_cq = send_cq, .recv_cq = recv_cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 2 * CQ_ENTRIES,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(b->hca->pd, &init);

	KUNIT_ASSERT_FALSE(b->hca->test, IS_ERR(qp));
	b->hca->qps[b->hca->num_qps++] = qp;
	return qp;
}

static void destroy_cq(void *cq)
{
	ib_destroy_cq(cq);
}

static struct bench *setup(struct kunit *test)
{
	struct ib_cq_init_attr attr = { .cqe = CQ_ENTRIES };
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->cq = ib_create_cq(b->hca->ibdev, NULL, note, &b->of_busy, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->cq));
	test_at_end(test, destroy_cq, b->cq);
	test_at_end(test, test_qps_destroy, b->hca);
	KUNIT_ASSERT_EQ(test, b->cq->cqe, CQ_ENTRIES);
	b->busy = create_qp(b, b->hca->cq, b->cq, &b->of_busy);
	b->idle = create_qp(b, b->cq, b->hca->cq, &b->of_idle);
	return b;
}

/* Messages @from to @to - 1 arrive, with a receive posted for each */
static void complete_receives(struct bench *b, u32 from, u32 to)
{
	struct test_packet p = { .bth = { .opcode = SEND_ONLY, .pkey = 0xffff,
					  .dest_qpn = b->busy->qp_num } };
	u32 i;

	for (i = from; i < to; i++) {
		test_post_recv(b->hca, b->busy, i, 0, 64);
		p.bth.psn = i;
		test_receive(b->hca, &p);
	}
}

static bool fails(struct ib_qp *qp)
{
	return test_becomes(test_qp_state(qp) == IB_QPS_ERR);
}

static bool was_raised(const atomic_t *events)
{
	return test_becomes(atomic_read(events));
}

static void overrun_fails_every_qp_of_the_cq(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_qp *other = test_qp(b->hca, IB_QPT_RC);

	test_qp_bring_up(b->hca, b->busy, &spec, IB_QPS_RTS);
	test_qp_bring_up(b->hca, b->idle, &spec, IB_QPS_RTS);
	test_qp_bring_up(b->hca, other, &spec, IB_QPS_RTS);
	complete_receives(b, 0, CQ_ENTRIES);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->of_busy.cq_err), 0);
	KUNIT_EXPECT_EQ(test, test_qp_state(b->busy), IB_QPS_RTS);

	complete_receives(b, CQ_ENTRIES, CQ_ENTRIES + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->of_busy.cq_err), 1);
	KUNIT_EXPECT_TRUE(test, fails(b->busy));
	KUNIT_EXPECT_TRUE(test, fails(b->idle));
	/* Both QPs moved to ERR, one after the other, and report it once */
	KUNIT_EXPECT_TRUE(test, was_raised(&b->of_busy.fatal));
	KUNIT_EXPECT_TRUE(test, was_raised(&b->of_idle.fatal));
	msleep(50);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->of_busy.fatal), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->of_idle.fatal), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->of_busy.cq_err), 1);
	KUNIT_EXPECT_EQ(test, test_qp_state(other), IB_QPS_RTS);
}

static void cq_in_error_takes_no_completion(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_wc wc[2 * CQ_ENTRIES];
	int i, n;

	test_qp_bring_up(b->hca, b->busy, &spec, IB_QPS_RTS);
	complete_receives(b, 0, CQ_ENTRIES + 1);
	n = ib_poll_cq(b->cq, ARRAY_SIZE(wc), wc);
	KUNIT_EXPECT_EQ(test, n, CQ_ENTRIES);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ(test, wc[i].status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, i);
	}
	KUNIT_EXPECT_TRUE(test, fails(b->busy));
	KUNIT_EXPECT_EQ(test, ib_poll_cq(b->cq, ARRAY_SIZE(wc), wc), 0);
	/* Except for the request that ib_drain_rq() waits for */
	test_post_recv(b->hca, b->busy, 77, 0, 64);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(b->cq, ARRAY_SIZE(wc), wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 77);
}

static void qp_of_a_cq_in_error_stays_in_reset(struct kunit *test)
{
	struct bench *b = setup(test);

	test_qp_bring_up(b->hca, b->busy, &spec, IB_QPS_RTS);
	complete_receives(b, 0, CQ_ENTRIES + 1);
	KUNIT_EXPECT_TRUE(test, fails(b->busy));
	KUNIT_EXPECT_EQ(test, test_qp_to(b->hca, b->idle, &spec, IB_QPS_INIT), -EINVAL);
	KUNIT_EXPECT_EQ(test, test_qp_state(b->idle), IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, test_qp_move(b->busy, IB_QPS_RESET), 0);
	KUNIT_EXPECT_EQ(test, test_qp_state(b->busy), IB_QPS_RESET);
	/* ib_core's pool keeps the CQ for the next QPs */
	test_qps_destroy(b->hca);
	b->busy = create_qp(b, b->cq, b->cq, &b->of_busy);
	KUNIT_EXPECT_EQ(test, test_qp_to(b->hca, b->busy, &spec, IB_QPS_INIT), 0);
}

/* Completions left in the queue would point to a freed QP */
static void completions_of_a_destroyed_qp_are_removed(struct kunit *test)
{
	struct bench *b = setup(test), other = *b;
	struct ib_wc wc[CQ_ENTRIES];

	other.busy = create_qp(b, b->hca->cq, b->cq, &b->of_idle);
	test_qp_bring_up(b->hca, b->busy, &spec, IB_QPS_RTS);
	test_qp_bring_up(b->hca, other.busy, &spec, IB_QPS_RTS);
	complete_receives(b, 0, 1);
	complete_receives(&other, 0, 1);
	complete_receives(b, 1, 2);
	complete_receives(&other, 1, 2);

	KUNIT_ASSERT_PTR_EQ(test, b->hca->qps[0], b->busy);
	b->hca->qps[0] = b->hca->qps[--b->hca->num_qps];
	KUNIT_ASSERT_EQ(test, ib_destroy_qp(b->busy), 0);
	complete_receives(&other, 2, CQ_ENTRIES);
	KUNIT_EXPECT_FALSE(test, rhca_cq_is_overrun(to_rhca_cq(b->cq)));
	KUNIT_ASSERT_EQ(test, ib_poll_cq(b->cq, CQ_ENTRIES, wc), CQ_ENTRIES);
	KUNIT_EXPECT_PTR_EQ(test, wc[0].qp, other.busy);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 0);
	KUNIT_EXPECT_PTR_EQ(test, wc[1].qp, other.busy);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 1);
}

/* Requests in each queue of a QP, which has room for one more; receives have wr_ids from here on */
#define NUM_FLUSHED	7

/* All its completions go to a CQ of CQ_ENTRIES. @cqe: of all requests, or NULL: they have wr_ids */
static struct ib_qp *create_full_qp(struct bench *b, struct ib_cq *cq, struct ib_cqe *cqe)
{
	struct ib_qp *qp = create_qp(b, cq, cq, &b->of_busy);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	u64 i;

	test_qp_bring_up(b->hca, qp, &spec, IB_QPS_RTS);
	for (i = 0; i < NUM_FLUSHED; i++) {
		wr.wr_id = cqe ? (uintptr_t)cqe : i;
		KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_send(qp, &wr, NULL));
		test_post_recv(b->hca, qp, cqe ? wr.wr_id : NUM_FLUSHED + i, 0, 64);
	}
	return qp;
}

/* ib_core's CQs are shared by users that do not count the requests that only errors complete */
static void flush_waits_for_room(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_qp *qps[] = { create_full_qp(b, b->cq, NULL), create_full_qp(b, b->cq, NULL) };
	u32 next[2][2] = {}, *id;
	struct ib_wc wc[CQ_ENTRIES];
	int i, n, left;

	KUNIT_ASSERT_EQ(test, 0, test_qp_move(qps[0], IB_QPS_ERR));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(qps[1], IB_QPS_ERR));
	for (left = 4 * NUM_FLUSHED; left > 0; left -= n) {
		KUNIT_ASSERT_TRUE(test, test_becomes((n = ib_poll_cq(b->cq, CQ_ENTRIES, wc))));
		KUNIT_EXPECT_LE(test, n, CQ_ENTRIES / 2);
		for (i = 0; i < n; i++) {
			KUNIT_EXPECT_EQ(test, wc[i].status, IB_WC_WR_FLUSH_ERR);
			id = &next[wc[i].qp == qps[1]][wc[i].wr_id >= NUM_FLUSHED];
			KUNIT_EXPECT_EQ(test, wc[i].wr_id % NUM_FLUSHED, (*id)++);
		}
	}
	KUNIT_EXPECT_EQ(test, ib_poll_cq(b->cq, CQ_ENTRIES, wc), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->of_busy.cq_err), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->of_busy.fatal), 0);
}

/* The second one is destroyed in the middle of its flush */
static void flush_that_waits_ends_with_reset(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_qp *qps[] = { create_full_qp(b, b->cq, NULL), create_full_qp(b, b->cq, NULL) };
	struct ib_wc wc[CQ_ENTRIES];

	KUNIT_ASSERT_EQ(test, 0, test_qp_move(qps[0], IB_QPS_ERR));
	KUNIT_ASSERT_TRUE(test, test_becomes(ib_poll_cq(b->cq, 1, wc)));
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(qps[0], IB_QPS_RESET));
	test_qp_bring_up(b->hca, qps[0], &spec, IB_QPS_RTS);
	test_post_recv(b->hca, qps[0], 0, 0, 64);
	msleep(50);
	KUNIT_EXPECT_EQ(test, ib_poll_cq(b->cq, CQ_ENTRIES, wc), 0);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(qps[1], IB_QPS_ERR));
	KUNIT_EXPECT_TRUE(test, test_becomes(ib_poll_cq(b->cq, CQ_ENTRIES, wc)));
	KUNIT_EXPECT_PTR_EQ(test, wc[0].qp, qps[1]);
	KUNIT_EXPECT_FALSE(test, rhca_cq_is_overrun(to_rhca_cq(b->cq)));
}

struct counted {
	struct ib_cqe cqe;
	atomic_t num;
};

static void count(struct ib_cq *cq, struct ib_wc *wc)
{
	atomic_inc(&container_of(wc->wr_cqe, struct counted, cqe)->num);
}

/* However ib_core polls the CQ */
static void drain_of_full_queues_ends(struct kunit *test)
{
	static const enum ib_poll_context contexts[] = {
		IB_POLL_DIRECT, IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE, };
	struct counted flushed = { .cqe.done = count };
	struct bench *b = setup(test);
	struct ib_cq *cq;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		atomic_set(&flushed.num, 0);
		cq = ib_alloc_cq(b->hca->ibdev, NULL, CQ_ENTRIES, 0, contexts[i]);
		KUNIT_ASSERT_FALSE(test, IS_ERR(cq));
		ib_drain_qp(create_full_qp(b, cq, &flushed.cqe));
		KUNIT_EXPECT_EQ(test, atomic_read(&flushed.num), 2 * NUM_FLUSHED);
		test_qps_destroy(b->hca);
		ib_free_cq(cq);
	}
}

static void completions_of_a_send_queue_are_removed(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_wc wc = { .qp = b->idle };

	test_qp_bring_up(b->hca, b->idle, &spec, IB_QPS_RTS);
	rhca_cq_post(to_rhca_cq(b->cq), &wc, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, test_qp_move(b->idle, IB_QPS_RESET));
	KUNIT_EXPECT_EQ(test, 0, ib_poll_cq(b->cq, 1, &wc));
}

/* 11.4.2.2: the CQ is armed twice; then something completes that is not solicited */
static const struct arming {
	const char *desc;
	enum ib_cq_notify_flags first;
	enum ib_wc_status status;
	bool event;
} armings[] = {
	{ "for the next", IB_CQ_NEXT_COMP, IB_WC_SUCCESS, true },
	{ "for solicited ones", IB_CQ_SOLICITED, IB_WC_SUCCESS, false },
	{ "for solicited ones, an error", IB_CQ_SOLICITED, IB_WC_GENERAL_ERR, true },
};
KUNIT_ARRAY_PARAM_DESC(arming, armings, desc);

static void cq_is_armed_by_the_stronger_condition(struct kunit *test)
{
	const struct arming *c = test->param_value;
	struct bench *b = setup(test);
	struct ib_wc wc = { .qp = b->idle, .status = c->status };

	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(b->cq, c->first | IB_CQ_REPORT_MISSED_EVENTS));
	KUNIT_EXPECT_EQ(test, 0, ib_req_notify_cq(b->cq, IB_CQ_SOLICITED));
	KUNIT_EXPECT_EQ(test, c->event, rhca_cq_post(to_rhca_cq(b->cq), &wc, 1, 0));
	KUNIT_EXPECT_EQ(test, 1, ib_req_notify_cq(b->cq, IB_CQ_SOLICITED |
							 IB_CQ_REPORT_MISSED_EVENTS));
}

/* A CQ of a process, which reads its ring without a lock. Free the ring */
static struct rhca_cq *process_cq(struct kunit *test)
{
	struct rhca_cq *cq = test_alloc(test, sizeof(*cq));

	spin_lock_init(&cq->lock);
	cq->user = true;
	cq->armed = IB_CQ_SOLICITED;
	KUNIT_ASSERT_EQ(test, 0, rhca_ring_alloc(&cq->ring, CQ_ENTRIES,
						 sizeof(struct ib_uverbs_wc), NULL, NULL));
	return cq;
}

static void list_of_completions_is_added_in_order(struct kunit *test)
{
	struct rhca_wc_list *list = test_alloc(test, sizeof(*list));
	struct rhca_cq *cq = process_cq(test);
	struct ib_qp *qp = test_alloc(test, sizeof(*qp));
	struct ib_uverbs_wc *wc;
	u32 i;

	for (list->num = 0; list->num < CQ_ENTRIES; list->num++)
		list->wc[list->num] = (struct ib_wc) { .wr_id = list->num,
						       .qp = qp };
	list->solicited = BIT(CQ_ENTRIES - 1);
	KUNIT_EXPECT_TRUE(test, rhca_cq_post(cq, list->wc, list->num, list->solicited));
	KUNIT_EXPECT_TRUE(test, test_bit(RHCA_CQ_COMPLETION, &cq->due));
	KUNIT_EXPECT_EQ(test, cq->ring.shared->producer_index, CQ_ENTRIES);
	for (i = 0; i < CQ_ENTRIES; i++) {
		wc = rhca_ring_slot(&cq->ring, i);
		KUNIT_EXPECT_EQ(test, wc->wr_id, i);
	}
	KUNIT_EXPECT_FALSE(test, rhca_cq_is_overrun(cq));
	rhca_cq_post(cq, list->wc, list->num, list->solicited);
	KUNIT_EXPECT_TRUE(test, rhca_cq_is_overrun(cq));
	KUNIT_EXPECT_EQ(test, cq->ring.shared->producer_index, cq->ring.mask);
	rhca_ring_free(&cq->ring);
}

/* IBV_WC_* of verbs.h; the kernel's flags have other values from 1 << 2 on */
#define PROCESS_GRH		BIT(0)
#define PROCESS_WITH_IMM	BIT(1)
#define PROCESS_WITH_INV	BIT(3)

static const struct flags_case {
	const char *desc;
	int kernel;
	u32 process;
} flags_cases[] = {
	{ "headers and immediate data", IB_WC_GRH | IB_WC_WITH_IMM,
	  PROCESS_GRH | PROCESS_WITH_IMM },
	{ "invalidated key, also as rdma_rxe reports it", IB_WC_WITH_INVALIDATE,
	  PROCESS_WITH_INV | IB_WC_WITH_INVALIDATE },
	{ "the kernel's only", IB_WC_WITH_VLAN | IB_WC_WITH_NETWORK_HDR_TYPE | IB_WC_WITH_SMAC, 0 },
};
KUNIT_ARRAY_PARAM_DESC(flags, flags_cases, desc);

static void process_gets_flags_of_its_own(struct kunit *test)
{
	const struct flags_case *c = test->param_value;
	struct rhca_cq *cq = process_cq(test);
	struct ib_wc wc = {
		.wc_flags = c->kernel, .ex.invalidate_rkey = 0x1234,
		.qp = test_alloc(test, sizeof(*wc.qp)),
	};
	struct ib_uverbs_wc *got = rhca_ring_slot(&cq->ring, 0);

	rhca_cq_post(cq, &wc, 1, 0);
	KUNIT_EXPECT_EQ(test, got->wc_flags, c->process);
	KUNIT_EXPECT_EQ(test, got->ex.invalidate_rkey, 0x1234);
	rhca_ring_free(&cq->ring);
}

TEST_SUITE(rhca_cq,
	   KUNIT_CASE(list_of_completions_is_added_in_order),
	   KUNIT_CASE_PARAM(process_gets_flags_of_its_own, flags_gen_params),
	   KUNIT_CASE(overrun_fails_every_qp_of_the_cq),
	   KUNIT_CASE(cq_in_error_takes_no_completion),
	   KUNIT_CASE(qp_of_a_cq_in_error_stays_in_reset),
	   KUNIT_CASE_PARAM(cq_is_armed_by_the_stronger_condition, arming_gen_params),
	   KUNIT_CASE(completions_of_a_send_queue_are_removed),
	   KUNIT_CASE(completions_of_a_destroyed_qp_are_removed),
	   KUNIT_CASE(flush_waits_for_room),
	   KUNIT_CASE(drain_of_full_queues_ends),
	   KUNIT_CASE(flush_that_waits_ends_with_reset));
