// SPDX-License-Identifier: GPL-2.0
/* A peer with another path MTU: which packets show it, and that it is counted. */
#include "core/qp/qp.h"
#include "lib/course.h"

#define MTU		TEST_MTU_BYTES
#define FIRST_PSN	5

static const struct test_qp_spec spec = {
	.rq_psn = FIRST_PSN, .sq_psn = FIRST_PSN, .initiator_depth = 4,
	.retries = 3,
};

static ACT(do_recv, test_post_recv(b->hca, b->qp, 1, 0, 8192))

/* Checks how many packets have revealed that the peer has another path MTU */
static void is_shown(struct bench *b, const struct step *s)
{
	is_count(b, &(struct step)COUNT(PATH_MTU_MISMATCH, s->n));
	KUNIT_EXPECT_EQ(b->hca->test, to_rhca_qp(b->qp)->mtu_reported, s->n > 0);
}

#define RECV			STEP(do_recv, 0)
#define SHOWN(times)		STEP(is_shown, times)
#define PACKET(op, bytes)	ASK(op, .payload_bytes = (bytes))
#define OF_UC(name, ...)	{ name, .type = IB_QPT_UC, .step = { RECV, __VA_ARGS__ } }
#define REQUEST(name, ...)	{ name, .step = { RECV, __VA_ARGS__ } }
#define RESPONDS(name, ...)	{ "READ response: " name, .step = { READS(600), __VA_ARGS__ } }
/* The second packet of a UC message is longer, as are all */
#define MESSAGE(psn_of_first)	ASK(UC | SEND_FIRST, (psn_of_first), .payload_bytes = MTU), \
				ASK(UC | SEND_MIDDLE, (psn_of_first) + 1, .payload_bytes = 1024)

static const struct course courses[] = {
	REQUEST("first of our MTU", PACKET(SEND_FIRST, 256), SHOWN(0)),
	REQUEST("first of 512", PACKET(SEND_FIRST, 512), SHOWN(1)),
	REQUEST("first of 4096", PACKET(SEND_FIRST, 4096), SHOWN(1)),
	REQUEST("first of no MTU, short", PACKET(SEND_FIRST, 128), SHOWN(0)),
	REQUEST("first of no MTU, long", PACKET(SEND_FIRST, 300), SHOWN(1)),
	REQUEST("only, short", PACKET(SEND_ONLY, 128), SHOWN(0)),
	REQUEST("only of our MTU", PACKET(SEND_ONLY, 256), SHOWN(0)),
	REQUEST("only, longer than our MTU", PACKET(SEND_ONLY, 257), SHOWN(1)),
	OF_UC("UC first of 1024", PACKET(UC | SEND_FIRST, 1024), SHOWN(1)),
	OF_UC("UC only of 300", PACKET(UC | SEND_ONLY, 300), SHOWN(1)),
	OF_UC("UC only of 200", PACKET(UC | SEND_ONLY, 200), SHOWN(0)),
	OF_UC("middle packets show it, too", MESSAGE(0), MESSAGE(2), MESSAGE(4), SHOWN(3)),
	RESPONDS("first of our MTU", RESPOND(READ_FIRST, 0, 256), SHOWN(0)),
	RESPONDS("first of 512", RESPOND(READ_FIRST, 0, 512), SHOWN(1)),
	RESPONDS("only, longer than our MTU", RESPOND(READ_ONLY, 0, 600), SHOWN(1)),
	RESPONDS("first that is too short", RESPOND(READ_FIRST, 0, 100), SHOWN(0)),
};
TEST_COURSES(packet_shows_the_path_mtu, courses, &spec, 0)

/* rdma_cm uses the path MTU of the active side, which may not fit here */
static void path_mtu_above_the_port_mtu_is_refused(struct kunit *test)
{
	struct bench *b = test_bench(test, IB_QPT_RC, &spec, IB_QPS_INIT);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	int mask;

	WRITE_ONCE(b->hca->ndev[0]->mtu, 1500);
	test_qp_attr(b->hca, b->qp, &spec, IB_QPS_RTR, attr, &mask);
	attr->path_mtu = IB_MTU_4096;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(b->qp, attr, mask), -EINVAL);
	is_shown(b, &(struct step)SHOWN(1));
	KUNIT_EXPECT_EQ(test, 0, test_qp_move(b->qp, IB_QPS_RESET));
	KUNIT_EXPECT_FALSE(test, to_rhca_qp(b->qp)->mtu_reported);
}

static void path_mtu_above_that_of_the_new_port_is_refused(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &spec, IB_QPS_INIT);
	struct ib_qp_attr *attr = test_alloc(test, sizeof(*attr));
	int mask;

	test_qp_attr(hca, qp, &spec, IB_QPS_RTR, attr, &mask);
	attr->path_mtu = IB_MTU_4096;
	KUNIT_ASSERT_EQ(test, ib_modify_qp(qp, attr, mask), 0);
	KUNIT_ASSERT_EQ(test, test_qp_to(hca, qp, &spec, IB_QPS_RTS), 0);
	KUNIT_ASSERT_EQ(test, test_qp_move(qp, IB_QPS_SQD), 0);
	attr->qp_state = IB_QPS_SQD;
	attr->port_num = 2;
	rdma_ah_set_port_num(&attr->ah_attr, 2);
	mask = IB_QP_STATE | IB_QP_PORT | IB_QP_AV;
	WRITE_ONCE(hca->ndev[1]->mtu, 1500);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, mask), -EINVAL);
	WRITE_ONCE(hca->ndev[1]->mtu, 4500);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, attr, mask), 0);
}

TEST_SUITE(rhca_path_mtu,
	   KUNIT_CASE_PARAM(packet_shows_the_path_mtu, courses_gen_params),
	   KUNIT_CASE(path_mtu_above_the_port_mtu_is_refused),
	   KUNIT_CASE(path_mtu_above_that_of_the_new_port_is_refused));
