// SPDX-License-Identifier: GPL-2.0
/* Unpinned pages of a process: which can be faulted in, and which cannot. */
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/unaligned.h>
#include <rhca/compat.h>

#include "lib/hca.h"
#include "sw/qp/qp.h"
#include "sw/tx/send_sched.h"
#include "sw/tx/window.h"
#include "sw/verbs/device.h"

#define NUM_PAGES	3

/* Memory of the test as a process, and an on-demand region over it */
struct bench {
	struct test_hca *hca;
	struct ib_mr *mr;
	unsigned long at;	/* first address, also of the region */
};

static struct ib_mr *register_region(struct bench *b)
{
	return b->hca->ibdev->ops.reg_user_mr(b->hca->pd, b->at, NUM_PAGES * PAGE_SIZE, b->at,
					      IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
					      IB_ACCESS_ON_DEMAND,
					      rhca_no_dmah NULL);
}

static struct bench *setup(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	if (!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		kunit_skip(test, "no on-demand paging");
	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->at = kunit_vm_mmap(test, NULL, 0, NUM_PAGES * PAGE_SIZE,
			      PROT_READ | PROT_WRITE,
			      MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, b->at, 0);
	b->mr = register_region(b);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, b->mr);
	return b;
}

static void finish(struct bench *b)
{
	KUNIT_EXPECT_EQ(b->hca->test, 0, b->hca->ibdev->ops.dereg_mr(b->mr, NULL));
}

/* The result for a user that needs pages: 0 if the first one is present */
static int ask(struct bench *b, unsigned int page, unsigned int pages)
{
	u64 addr = b->at + page * PAGE_SIZE, bytes = pages * PAGE_SIZE;
	unsigned int offset, left;
	struct rhca_mem *mem;
	int ret = -ENOENT;

	local_bh_disable();
	mem = rhca_mem_get(to_verbs_dev(b->hca->ibdev), b->mr->lkey);
	if (mem)
		ret = rhca_mem_page(mem, addr, &offset, &left) ? 0 :
			rhca_mem_fault(mem, addr, bytes, bytes);
	rhca_mem_put(mem);
	local_bh_enable();
	return ret;
}

static void page_is_faulted_in_on_use(struct kunit *test)
{
	struct bench *b = setup(test);

	KUNIT_EXPECT_EQ(test, ask(b, 1, 1), -EINPROGRESS);
	KUNIT_EXPECT_TRUE(test, test_becomes(!ask(b, 1, 1)));
	finish(b);
}

/* Only a user that also needs the bad page fails */
static void good_page_is_resolved_beside_a_bad_one(struct kunit *test)
{
	struct bench *b = setup(test);

	KUNIT_ASSERT_EQ(test, 0, vm_munmap(b->at + PAGE_SIZE, PAGE_SIZE));
	KUNIT_EXPECT_TRUE(test, test_becomes(ask(b, 0, NUM_PAGES) == -EFAULT));
	KUNIT_EXPECT_TRUE(test, test_becomes(ask(b, 0, 2) == -EFAULT));
	KUNIT_EXPECT_EQ(test, ask(b, 0, 1), -EINPROGRESS);
	KUNIT_EXPECT_TRUE(test, test_becomes(!ask(b, 0, 1)));
	KUNIT_EXPECT_TRUE(test, test_becomes(ask(b, 1, 1) == -EFAULT));
	finish(b);
}

#define LONGEST_PAUSE_MS	DIV_ROUND_UP(RHCA_PAGE_FAULT_MAX_NS, NSEC_PER_MSEC)

/* Otherwise the page would be requested again and again */
static void bad_page_is_reported_after_the_longest_pause(struct kunit *test)
{
	struct bench *b = setup(test);
	int ret, tries = 10;
	ktime_t begin;
	s64 took;

	KUNIT_ASSERT_EQ(test, 0, vm_munmap(b->at, PAGE_SIZE));
	do {	/* try again if the machine was too busy */
		KUNIT_EXPECT_TRUE(test, test_becomes(ask(b, 0, 1) == -EINPROGRESS));
		begin = ktime_get();
		msleep(LONGEST_PAUSE_MS);
		ret = ask(b, 0, 1);
		took = ktime_ms_delta(ktime_get(), begin);
	} while (took > LONGEST_PAUSE_MS + 40 && tries--);
	KUNIT_EXPECT_EQ(test, ret, -EFAULT);
	finish(b);
}

static const struct test_qp_spec plain = { .retries = 7 };

/* Pauses of the last connection do not apply to the next one */
static void connection_begins_with_a_short_pause(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *ibqp = test_qp_in(hca, IB_QPT_RC, &plain, IB_QPS_RTS);
	struct rhca_sw_qp *qp = to_sw_qp(ibqp_to_verbs(ibqp));

	qp->send.fault_ns = RHCA_PAGE_FAULT_MAX_NS;
	qp->recv.fault_ns = RHCA_PAGE_FAULT_MAX_NS;
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(ibqp, IB_QPS_RESET));
	KUNIT_EXPECT_EQ(test, rhca_fault_pause(&qp->send.fault_ns), RHCA_PAGE_FAULT_NS);
	KUNIT_EXPECT_EQ(test, rhca_fault_pause(&qp->recv.fault_ns), RHCA_PAGE_FAULT_NS);
}

/*
 * A WRITE of three packets is sent, then its pages are gone: they are faulted in again on request.
 * No timeout retransmits it
 */
static struct ib_qp *send_and_lose_pages(struct bench *b, struct test_sent *sent)
{
	struct ib_qp *qp = test_qp_in(b->hca, IB_QPT_RC, &plain, IB_QPS_RTS);
	struct ib_sge sge = { b->at, 3 * TEST_MTU_BYTES, b->mr->lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 },
	};

	WRITE_ONCE(ibqp_to_verbs(qp)->attr.timeout, 0);
	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_send(qp, &wr.wr, NULL));
	KUNIT_ASSERT_TRUE(b->hca->test, test_becomes(test_num_sent(b->hca) == 3));
	while (test_sent(b->hca, sent))
		;
	KUNIT_ASSERT_EQ(b->hca->test, b->at,
			vm_mmap(NULL, b->at, NUM_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
				MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0));
	return qp;
}

/* A lost packet is retransmitted when its page is present, without another probe of the peer */
static void lost_packet_waits_for_its_page_alone(struct kunit *test)
{
	struct test_sent *sent = test_alloc(test, sizeof(*sent));
	struct bench *b = setup(test);
	struct ib_qp *qp = send_and_lose_pages(b, sent);

	test_answer(b->hca, qp, ACKNOWLEDGE, plain.sq_psn + 1, 0x60 << 24, 0);
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(b->hca)));
	if (test_sent(b->hca, sent))
		KUNIT_EXPECT_EQ(test, sent->psn, plain.sq_psn + 1);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(qp, IB_QPS_RESET));
	finish(b);
}

/* If no new packet can follow, the newest is sent again with AckReq: that is no new loss */
static void lost_packet_is_sent_whatever_follows_it(struct kunit *test)
{
	struct test_sent *sent = test_alloc(test, sizeof(*sent));
	struct bench *b = setup(test);
	struct ib_qp *qp = send_and_lose_pages(b, sent);
	struct rhca_requester *send = &to_sw_qp(ibqp_to_verbs(qp))->send;
	struct ib_sge good = test_sge(b->hca, 0, 1), bad = { .length = 1, .lkey = ~0 };
	struct ib_send_wr last = { .opcode = IB_WR_SEND, .sg_list = &bad, .num_sge = 1 };
	struct ib_send_wr next = {
		.opcode = IB_WR_SEND, .sg_list = &good, .num_sge = 1, .next = &last,
	};
	bool again = false;

	/* The peer holds packets, so new ones follow; both are found when the pause ends */
	local_bh_disable();
	spin_lock(&send->lock);
	send->recovery->rule.peer = RHCA_PEER_HOLDS;
	rhca_pause_send(to_sw_qp(ibqp_to_verbs(qp)), RHCA_PAUSE_PACE, 100 * NSEC_PER_MSEC);
	spin_unlock(&send->lock);
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(qp, &next, NULL));
	test_answer(b->hca, qp, ACKNOWLEDGE, plain.sq_psn + 1, 0x60 << 24, 0);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(b->hca) >= 2));
	while (!again && test_sent(b->hca, sent))
		again = sent->psn == plain.sq_psn + 1;
	KUNIT_EXPECT_TRUE(test, again);
	KUNIT_ASSERT_EQ(test, 0, test_qp_move(qp, IB_QPS_RESET));
	finish(b);
}

static const struct test_qp_spec one_retry = { .retries = 1 };

/* A SEND, and one after it whose page does not come until mmap_lock is released */
static struct ib_qp *send_before_missing_page(struct bench *b, bool probes, u8 timeout)
{
	struct ib_qp *qp = test_qp_in(b->hca, IB_QPT_RC, &one_retry, IB_QPS_RTS);
	struct ib_sge here = test_sge(b->hca, 0, 1), missing = { b->at, 1, b->mr->lkey };
	struct ib_send_wr last = { .opcode = IB_WR_SEND, .sg_list = &missing, .num_sge = 1 };
	struct ib_send_wr first = {
		.opcode = IB_WR_SEND, .sg_list = &here, .num_sge = 1, .next = &last,
	};

	test_port(b->hca)->cc.adp_retrans = probes;
	WRITE_ONCE(ibqp_to_verbs(qp)->attr.timeout, timeout);
	mmap_write_lock(current->mm);
	KUNIT_EXPECT_EQ(b->hca->test, 0, ib_post_send(qp, &first, NULL));
	return qp;
}

static void loss_before_a_missing_page_is_recovered(struct kunit *test)
{
	struct test_sent *sent = test_alloc(test, sizeof(*sent));
	struct bench *b = setup(test);
	struct ib_qp *qp = send_before_missing_page(b, true, 0);

	/* Sent, with AckReq as nothing follows, and by a probe */
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(b->hca) >= 3));
	KUNIT_EXPECT_GE(test, test_count(b->hca, RHCA_ROCE_ADP_RETRANS), 1);
	while (test_sent(b->hca, sent))
		KUNIT_EXPECT_EQ(test, sent->psn, one_retry.sq_psn);
	mmap_write_unlock(current->mm);
	KUNIT_EXPECT_EQ(test, 0, test_qp_move(qp, IB_QPS_RESET));
	finish(b);
}

static void dead_peer_is_noticed_while_a_page_is_missing(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_wc wc = {};

	send_before_missing_page(b, false, 1);
	KUNIT_EXPECT_TRUE(test, test_poll_in_time(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_RETRY_EXC_ERR);
	mmap_write_unlock(current->mm);
	finish(b);
}

static const struct test_qp_spec read_by_peer = {
	.access = IB_ACCESS_REMOTE_READ, .responder_resources = 1,
};

/* As to a WRITE: the peer must not take the time for a dead peer */
static void read_of_a_missing_page_gets_an_rnr_nak(struct kunit *test)
{
	struct test_sent *sent = test_alloc(test, sizeof(*sent));
	struct bench *b = setup(test);
	struct ib_qp *qp = test_qp_in(b->hca, IB_QPT_RC, &read_by_peer, IB_QPS_RTS);
	u8 reth[16];
	struct test_packet p = {
		.bth = { .opcode = READ_REQUEST, .dest_qpn = qp->qp_num, .pkey = 0xffff },
		.extended = reth, .extended_bytes = sizeof(reth),
	};

	put_unaligned_be64(b->at, reth);
	put_unaligned_be32(b->mr->rkey, reth + 8);
	put_unaligned_be32(8, reth + 12);
	test_receive(b->hca, &p);
	KUNIT_ASSERT_TRUE(test, test_sent(b->hca, sent));
	KUNIT_EXPECT_EQ(test, sent->opcode, ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, sent->extended[0], 0x2e);	/* 1.28 ms */
	KUNIT_EXPECT_TRUE(test, test_becomes(!ask(b, 0, 1)));
	test_receive(b->hca, &p);
	KUNIT_EXPECT_TRUE(test, test_sent(b->hca, sent));
	KUNIT_EXPECT_EQ(test, sent->opcode, READ_ONLY);
	KUNIT_EXPECT_EQ(test, sent->payload_bytes, 8);
	finish(b);
}

/* A kernel user does not keep it loaded, and a fault may outlive the region */
static void module_that_is_being_unloaded_takes_no_region(struct kunit *test)
{
	struct bench *b = setup(test);
	struct module *owner = b->hca->ibdev->ops.owner;
	struct ib_mr *mr;

	KUNIT_ASSERT_EQ(test, (int)owner->state, MODULE_STATE_LIVE);
	owner->state = MODULE_STATE_GOING;
	mr = register_region(b);
	owner->state = MODULE_STATE_LIVE;
	KUNIT_EXPECT_PTR_EQ(test, mr, (struct ib_mr *)ERR_PTR(-ENOMEM));
	if (!IS_ERR(mr))
		b->hca->ibdev->ops.dereg_mr(mr, NULL);
	finish(b);
}

TEST_SUITE(rhca_odp,
	   KUNIT_CASE(page_is_faulted_in_on_use),
	   KUNIT_CASE(good_page_is_resolved_beside_a_bad_one),
	   KUNIT_CASE(bad_page_is_reported_after_the_longest_pause),
	   KUNIT_CASE(connection_begins_with_a_short_pause),
	   KUNIT_CASE(lost_packet_waits_for_its_page_alone),
	   KUNIT_CASE(lost_packet_is_sent_whatever_follows_it),
	   KUNIT_CASE(loss_before_a_missing_page_is_recovered),
	   KUNIT_CASE(dead_peer_is_noticed_while_a_page_is_missing),
	   KUNIT_CASE(read_of_a_missing_page_gets_an_rnr_nak),
	   KUNIT_CASE(module_that_is_being_unloaded_takes_no_region));
