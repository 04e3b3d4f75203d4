// SPDX-License-Identifier: GPL-2.0
/*
 * Turns of the responder: what a peer asks for does not keep the softirq that takes it
 * busy for long.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/unaligned.h>

#include "lib/hca.h"
#include "sw/backend.h"
#include "sw/qp/turn_sched.h"
#include "sw/verbs/section.h"

#define FIRST_PSN	0xfffff0
#define RESPONSES	(TEST_BUFFER_BYTES / TEST_MTU_BYTES)
#define MANY_QPS	32

static const struct test_qp_spec spec = {
	.access = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	.rq_psn = FIRST_PSN, .responder_resources = 4, .retries = 3,
};

/* A READ of the whole buffer, or a WRITE of nothing */
static void ask(struct test_hca *hca, struct ib_qp *qp, u8 opcode, u32 psn, u32 length)
{
	u8 reth[16];
	struct test_packet p = {
		.bth = {
			.opcode = opcode, .psn = (FIRST_PSN + psn) & 0xffffff,
			.dest_qpn = qp->qp_num, .ack_req = true,
		},
		.extended = reth, .extended_bytes = sizeof(reth),
	};

	put_unaligned_be64((uintptr_t)hca->buffer, reth);
	put_unaligned_be32(hca->mr->rkey, reth + 8);
	put_unaligned_be32(length, reth + 12);
	test_receive(hca, &p);
}

static void read_all(struct test_hca *hca, struct ib_qp *qp)
{
	ask(hca, qp, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, TEST_BUFFER_BYTES);
}

static void write_nothing(struct test_hca *hca, struct ib_qp *qp, u32 n)
{
	ask(hca, qp, IB_OPCODE_RC_RDMA_WRITE_ONLY, RESPONSES + n, 0);
}

static struct test_hca *setup(struct kunit *test, struct ib_qp **qp)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);

	*qp = test_qp_in(hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	test_mr(hca, *qp, TEST_BUFFER_BYTES, spec.access | IB_ACCESS_LOCAL_WRITE);
	return hca;
}

static void expect_all(struct test_hca *hca, u32 num)
{
	test_becomes(test_num_sent(hca) >= num);
	KUNIT_EXPECT_EQ(hca->test, test_num_sent(hca), num);
}

/* Each packet that follows used to cost another 64 responses */
static void packets_behind_a_read_cost_no_responses(struct kunit *test)
{
	struct test_hca *hca;
	struct ib_qp *qp;
	u32 i;

	hca = setup(test, &qp);
	local_bh_disable();
	read_all(hca, qp);
	KUNIT_EXPECT_EQ(test, test_num_sent(hca), RHCA_SECTION_PACKETS);
	for (i = 0; i < 4; i++)
		write_nothing(hca, qp, i);
	KUNIT_EXPECT_EQ(test, test_num_sent(hca), RHCA_SECTION_PACKETS);
	local_bh_enable();
	expect_all(hca, RESPONSES + 1);
}

/* Nor do many QPs: what they send at once is counted together */
static void many_qps_share_what_is_sent_at_once(struct kunit *test)
{
	struct ib_qp *qps[MANY_QPS];
	struct test_hca *hca;
	unsigned long began;
	u32 i, ticks, sent, most;

	hca = setup(test, &qps[0]);
	for (i = 1; i < MANY_QPS; i++)
		qps[i] = test_qp_in(hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	local_bh_disable();
	began = jiffies;
	for (i = 0; i < MANY_QPS; i++)
		read_all(hca, qps[i]);
	ticks = jiffies - began + 1;
	sent = test_num_sent(hca);
	local_bh_enable();
	expect_all(hca, MANY_QPS * RESPONSES);
	most = ticks * (RHCA_TICK_PACKETS + RHCA_SECTION_PACKETS);
	if (most >= MANY_QPS * RHCA_SECTION_PACKETS)
		kunit_skip(test, "it took %u ticks, in which all may be sent", ticks);
	KUNIT_EXPECT_LE(test, sent, most);
}

static struct kunit_case respond_turn_tests[] = {
	KUNIT_CASE(packets_behind_a_read_cost_no_responses),
	KUNIT_CASE(many_qps_share_what_is_sent_at_once),
	{}
};

TEST_SUITE("rhca_respond_turn", respond_turn_tests);
