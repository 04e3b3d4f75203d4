// SPDX-License-Identifier: GPL-2.0
/* A peer with another path MTU: which packets show it, and that it is counted. */
#include <kunit/test.h>
#include <linux/unaligned.h>

#include "core/device.h"
#include "core/qp/qp.h"
#include "lib/hca.h"
#include "sw/backend.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	5

static const struct test_qp_spec spec = {
	.rq_psn = FIRST_PSN, .sq_psn = FIRST_PSN, .initiator_depth = 4,
	.retries = 3,
};

static u64 count(struct test_hca *hca)
{
	return test_count(hca, RHCA_PATH_MTU_MISMATCH);
}

static bool told(struct ib_qp *qp)
{
	return to_rhca_qp(qp)->mtu_told;
}

static void receive(struct test_hca *hca, struct ib_qp *qp, u8 opcode, u32 psn,
		    u32 bytes)
{
	static const u8 aeth[4] = { 0x1f };
	struct test_packet p = {
		.bth = { .opcode = opcode, .psn = FIRST_PSN + psn,
			 .dest_qpn = qp->qp_num },
		.payload_bytes = bytes,
	};

	if (opcode >= READ_FIRST && opcode <= READ_ONLY &&
	    opcode != READ_MIDDLE) {
		p.extended = aeth;
		p.extended_bytes = sizeof(aeth);
	}
	test_receive(hca, &p);
}

/* A packet of a size */
struct size_case {
	const char *desc;	/* which */
	u8 opcode;		/* of the packet, that comes at the begin of a message */
	u32 bytes;		/* payload */
	bool shows;		/* it shows that the peer has another path MTU */
};

static const struct size_case request_cases[] = {
	{ "first of our MTU",		SEND_FIRST,	 256,	false },
	{ "first of 512",		SEND_FIRST,	 512,	true },
	{ "first of 4096",		SEND_FIRST,	 4096,	true },
	{ "first of no MTU, short",	SEND_FIRST,	 128,	false },
	{ "first of no MTU, long",	SEND_FIRST,	 300,	true },
	{ "only, short",		SEND_ONLY,	 128,	false },
	{ "only of our MTU",		SEND_ONLY,	 256,	false },
	{ "only, longer than our MTU",	SEND_ONLY,	 257,	true },
	{ "UC first of 1024",		UC | SEND_FIRST, 1024,	true },
	{ "UC only of 300",		UC | SEND_ONLY,	 300,	true },
	{ "UC only of 200",		UC | SEND_ONLY,	 200,	false },
};
KUNIT_ARRAY_PARAM_DESC(request, request_cases, desc);

static void request_shows_the_path_mtu(struct kunit *test)
{
	const struct size_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, c->opcode & UC ? IB_QPT_UC : IB_QPT_RC, &spec,
				      IB_QPS_RTS);

	test_post_recv(hca, qp, 1, 0, 8192);
	receive(hca, qp, c->opcode, 0, c->bytes);
	KUNIT_EXPECT_EQ(test, count(hca), c->shows);
	KUNIT_EXPECT_EQ(test, told(qp), c->shows);
}

static void middle_packet_shows_it_too(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UC, &spec, IB_QPS_RTS);
	int round;

	test_post_recv(hca, qp, 1, 0, 8192);
	for (round = 0; round < 3; round++) {
		receive(hca, qp, UC | SEND_FIRST, 2 * round, MTU);
		receive(hca, qp, UC | SEND_MIDDLE, 2 * round + 1, 1024);
	}
	KUNIT_EXPECT_EQ(test, count(hca), 3);
}

static const struct size_case response_cases[] = {
	{ "first of our MTU",		READ_FIRST,	256,	false },
	{ "first of 512",		READ_FIRST,	512,	true },
	{ "only, longer than our MTU",	READ_ONLY,	600,	true },
	{ "first that is too short",	READ_FIRST,	100,	false },
};
KUNIT_ARRAY_PARAM_DESC(response, response_cases, desc);

static void read_response_shows_the_path_mtu(struct kunit *test)
{
	const struct size_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	struct ib_sge sge = test_sge(hca, 0, 600);
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = &sge,
			.num_sge = 1 },
	};

	KUNIT_ASSERT_EQ(test, 0, ib_post_send(qp, &wr.wr, NULL));
	receive(hca, qp, c->opcode, 0, c->bytes);
	KUNIT_EXPECT_EQ(test, count(hca), c->shows);
}

/* rdma_cm asks for the path MTU of who began, which may not fit here */
static void wish_for_more_than_the_port_has_is_refused(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &spec, IB_QPS_INIT);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	int mask;

	WRITE_ONCE(hca->ndev[0]->mtu, 1500);
	test_qp_attr(hca, qp, &spec, IB_QPS_RTR, attr, &mask);
	attr->path_mtu = IB_MTU_4096;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, mask), -EINVAL);
	KUNIT_EXPECT_EQ(test, count(hca), 1);
	KUNIT_EXPECT_TRUE(test, told(qp));
	KUNIT_EXPECT_EQ(test, 0, test_qp_move(qp, IB_QPS_RESET));
	KUNIT_EXPECT_FALSE(test, told(qp));
}

static struct kunit_case path_mtu_cases[] = {
	KUNIT_CASE_PARAM(request_shows_the_path_mtu, request_gen_params),
	KUNIT_CASE(middle_packet_shows_it_too),
	KUNIT_CASE_PARAM(read_response_shows_the_path_mtu, response_gen_params),
	KUNIT_CASE(wish_for_more_than_the_port_has_is_refused),
	{}
};

TEST_SUITE("rhca_path_mtu", path_mtu_cases);
