// SPDX-License-Identifier: GPL-2.0
/* Partitions: which keys match, what the file accepts, and the effect on QPs. */
#include <kunit/static_stub.h>
#include <linux/completion.h>
#include <rdma/ib_mad.h>

#include "core/port/port_pkeys.h"
#include "core/qp/qp.h"
#include "core/rules/pkey.h"
#include "lib/course.h"
#include "sw/packet/parse.h"

#define FIRST_PSN	7

/* --- membership ----------------------------------------------------------------- */

static const struct match_case {
	const char *desc;
	u16 a;
	u16 b;
	bool match;
} match_cases[] = {
	{ "full and full",		0x8001, 0x8001, true },
	{ "full and limited",		0x8001, 0x0001, true },
	{ "limited and limited",	0x0001, 0x0001, false },
	{ "default, full and full",	0xffff, 0xffff, true },
	{ "default, full and limited",	0xffff, 0x7fff, true },
	{ "default, both limited",	0x7fff, 0x7fff, false },
	{ "two partitions, full",	0x8001, 0x8002, false },
	{ "two partitions, mixed",	0x8001, 0x0002, false },
	{ "one bit apart",		0xffff, 0xbfff, false },
	{ "no partition, full",		0x8000, 0x8000, false },
	{ "no partition, mixed",	0x8000, 0x0000, false },
	{ "no key at all",		0x0000, 0x0000, false },
};
KUNIT_ARRAY_PARAM_DESC(match, match_cases, desc);

static void one_of_two_members_must_be_full(struct kunit *test)
{
	const struct match_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_pkeys_match(c->a, c->b), c->match);
	KUNIT_EXPECT_EQ(test, rhca_pkeys_match(c->b, c->a), c->match);
}

/* --- the text ------------------------------------------------------------------- */

/* The table initially has 0 0xffff and 1 0x8001 */
static const struct edit_case {
	const char *desc;
	const char *text;
	int ret;
	u16 num;
	u16 first[3];
	u16 last;
} edit_cases[] = {
	{ "nothing",		"",			0, 2, { 0xffff, 0x8001 } },
	{ "blank lines",	"\n\t",		0, 2, { 0xffff, 0x8001 } },
	{ "one entry",		"2 0x1234\n",		0, 3, { 0xffff, 0x8001, 0x1234 } },
	{ "without a newline",	"2 0x1234",		0, 3, { 0xffff, 0x8001, 0x1234 } },
	{ "with blanks",	" 2\t 0X00ab \t\n",	0, 3, { 0xffff, 0x8001, 0x00ab } },
	{ "the last index",	"127 0x8003",		0, 128, { 0xffff, 0x8001 }, 0x8003 },
	{ "index 0 replaced",	"0 0x8002",		0, 2, { 0x8002, 0x8001 } },
	{ "cleared with 0",	"1 0",			0, 1, { 0xffff } },
	{ "cleared with 0x0",	"1 0x0000",		0, 1, { 0xffff } },
	{ "index 0 cleared",	"0 0",			0, 2, { 0, 0x8001 } },
	{ "all cleared",	"0 0\n1 0\n",		0, 0, { 0 } },
	{ "two swapped",	"0 0x8001\n1 0xffff",	0, 2, { 0x8001, 0xffff } },
	{ "the last line counts", "0 0x8003\n0 0x8004",	0, 2, { 0x8004, 0x8001 } },
	{ "limited beside full", "2 0x0001",		0, 3, { 0xffff, 0x8001, 0x0001 } },
	{ "between commas",	"0 0x8002,1 0, 2 0x3,\n", 0, 3, { 0x8002, 0, 3 } },
	{ "a key twice",	"2 0x8001",		-EEXIST },
	{ "a key twice in one write", "5 0x9\n6 0x9",	-EEXIST },
	{ "no partition",	"2 0x8000",		-EINVAL },
	{ "index too large",	"128 0x8002",		-EINVAL },
	{ "negative index",	"-1 0x8002",		-EINVAL },
	{ "key too large",	"2 0x10000",		-EINVAL },
	{ "negative key",	"2 -0x1",		-EINVAL },
	{ "decimal key",	"2 8001",		-EINVAL },
	{ "hexadecimal without 0x", "2 beef",		-EINVAL },
	{ "no key",		"2",			-EINVAL },
	{ "no key but a blank",	"2 ",			-EINVAL },
	{ "a word",		"default",		-EINVAL },
	{ "trailing characters",	"2 0x8002 3",		-EINVAL },
	{ "a bad second line",	"2 0x8002\n3 0x8000\n",	-EINVAL },
	{ "a very long line",	"2                                   0x8002", -EINVAL },
};
KUNIT_ARRAY_PARAM_DESC(edit, edit_cases, desc);

static void file_takes_lines(struct kunit *test)
{
	const struct edit_case *c = test->param_value;
	struct rhca_pkey_table *table = test_alloc(test, sizeof(*table));

	table->num = 2;
	table->key[0] = 0xffff;
	table->key[1] = 0x8001;
	KUNIT_ASSERT_EQ(test, rhca_pkey_table_edit(table, c->text), c->ret);
	if (c->ret)
		return;
	KUNIT_EXPECT_EQ(test, table->num, c->num);
	KUNIT_EXPECT_MEMEQ(test, table->key, c->first, sizeof(c->first));
	KUNIT_EXPECT_EQ(test, table->key[RHCA_NUM_PKEYS - 1], c->last);
}

/* --- a port --------------------------------------------------------------------- */

static void write_table(struct test_hca *hca, const char *text)
{
	KUNIT_ASSERT_EQ(hca->test, 0, rhca_pkeys_store(test_port(hca), text));
}

static u16 entry(struct test_hca *hca, u16 index)
{
	u16 pkey = 0xdead;

	KUNIT_EXPECT_EQ(hca->test, 0, ib_query_pkey(hca->ibdev, 1, index, &pkey));
	return pkey;
}

static void port_begins_in_the_default_partition(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_port_attr attr;
	u16 i, pkey;

	KUNIT_EXPECT_EQ(test, entry(hca, 0), 0xffff);
	for (i = 1; i < RHCA_NUM_PKEYS; i++)
		KUNIT_EXPECT_EQ(test, entry(hca, i), 0);
	KUNIT_EXPECT_NE(test, 0, ib_query_pkey(hca->ibdev, 1, i, &pkey));
	KUNIT_EXPECT_EQ(test, 0, ib_query_port(hca->ibdev, 1, &attr));
	KUNIT_EXPECT_EQ(test, attr.pkey_tbl_len, RHCA_NUM_PKEYS);
}

static void write_takes_all_lines_or_none(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);

	write_table(hca, "0 0x8001\n3 0x0002\n");
	KUNIT_EXPECT_EQ(test, entry(hca, 0), 0x8001);
	KUNIT_EXPECT_EQ(test, entry(hca, 3), 0x0002);
	KUNIT_EXPECT_EQ(test, -EINVAL, rhca_pkeys_store(test_port(hca), "0 0x8005\n3 0x8000\n"));
	KUNIT_EXPECT_EQ(test, -EEXIST, rhca_pkeys_store(test_port(hca), "0 0x8005\n1 0x0002\n"));
	KUNIT_EXPECT_EQ(test, entry(hca, 0), 0x8001);
	KUNIT_EXPECT_EQ(test, entry(hca, 1), 0);
	KUNIT_EXPECT_EQ(test, entry(hca, 3), 0x0002);
}

static int find(struct test_hca *hca, u16 pkey)
{
	int index;

	rcu_read_lock();
	index = rhca_pkey_find(&test_port(hca)->pkeys, pkey);
	rcu_read_unlock();
	return index;
}

static void full_membership_answers_before_limited(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);

	write_table(hca, "0 0\n1 0x0001\n2 0x8001\n4 0x0002");
	KUNIT_EXPECT_EQ(test, find(hca, 0x8001), 2);
	KUNIT_EXPECT_EQ(test, find(hca, 0x0001), 2);
	KUNIT_EXPECT_EQ(test, find(hca, 0x8002), 4);
	KUNIT_EXPECT_EQ(test, find(hca, 0x0002), -ENOENT);
	KUNIT_EXPECT_EQ(test, find(hca, 0xffff), -ENOENT);
	KUNIT_EXPECT_EQ(test, find(hca, 0x0000), -ENOENT);
}

/* --- QPs ------------------------------------------------------------------------ */

static const struct test_qp_spec spec = {
	.access = IB_ACCESS_REMOTE_READ, .rq_psn = FIRST_PSN, .sq_psn = FIRST_PSN,
	.responder_resources = 4, .initiator_depth = 4, .retries = 3,
};

static ACT(do_table, write_table(b->hca, s->text))
static ACT(do_index, b->spec.pkey_index = s->n)
static ACT(is_key, KUNIT_EXPECT_EQ(b->hca->test, b->sent->pkey, s->n))

/* A QP in RESET cannot move to INIT with that index */
static void is_no_index(struct bench *b, const struct step *s)
{
	b->spec.pkey_index = s->n;
	KUNIT_EXPECT_EQ(b->hca->test, -EINVAL, test_qp_to(b->hca, b->qp, &b->spec, IB_QPS_INIT));
}

static void is_bad(struct bench *b, const struct step *s)
{
	struct ib_port_attr attr;

	is_count(b, s);
	KUNIT_EXPECT_EQ(b->hca->test, 0, ib_query_port(b->hca->ibdev, 1, &attr));
	KUNIT_EXPECT_EQ(b->hca->test, attr.bad_pkey_cntr, s->n);
}

#define TABLE(words)		{ .act = do_table, .text = (words) }
#define INDEX(at)		STEP(do_index, at)	/* of QPs brought up from here on */
#define NO_INDEX(at)		STEP(is_no_index, at)
#define BY(op, at_psn, key)	ASK(op, .psn = (at_psn), .pkey = (key))
#define KEY(value)		STEP(is_key, value)	/* of the checked packet */
#define BAD(num)		STEP(is_bad, num, .length = RHCA_RX_DROPPED_BAD_PKEY)
/* The response to a READ of 0 bytes */
#define ANSWERED(at_psn, key)	RESPONSE(READ_ONLY, at_psn, 0, 0), KEY(key)

#define FOREIGN(name, table, ours, theirs) {						\
	"foreign P_Key is counted and not answered: " name, .step = {			\
		TABLE(table), BY(READ_REQUEST, 0, theirs), SENT(0), BAD(1), STATE(RTS),	\
		BY(READ_REQUEST, 0, (ours) | RHCA_PKEY_FULL), ANSWERED(0, ours) } }

static const struct course courses[] = {
	{ "QP needs an entry that is valid", .step = {
		TABLE("0 0\n5 0x8001"), MOVE(RESET), NO_INDEX(0), NO_INDEX(4),
		NO_INDEX(RHCA_NUM_PKEYS), STATE(RESET), INDEX(5), BRING_UP, STATE(RTS) } },
	{ "every packet carries the current P_Key", .step = {
		TABLE("7 0x8001"), MOVE(RESET), INDEX(7), BRING_UP, POST(1),
		BY(SEND_ONLY, 0, 0x8001), ACK(0, 1), KEY(0x8001), BY(READ_REQUEST, 1, 0x0001),
		ANSWERED(1, 0x8001), SENDS(0), LEFT(SEND_ONLY, 0), KEY(0x8001),
		TABLE("7 0x0002"), BY(READ_REQUEST, 2, 0x8002), ANSWERED(2, 0x0002), SENDS(0),
		LEFT(SEND_ONLY, 1), KEY(0x0002) } },
	FOREIGN("another tenant", "0 0x8001", 0x8001, 0x8002),
	FOREIGN("the default partition", "0 0x8001", 0x8001, 0xffff),
	FOREIGN("a limited member to one", "0 0x1", 0x0001, 0x0001),
	FOREIGN("without a partition", "0 0x8001", 0x8001, 0x8000),
	{ "QP with a cleared entry sends nothing", .step = {
		TABLE("0 0"), SENDS(0), COUNT(TX_DROPPED_BAD_PKEY, 1),
		BY(READ_REQUEST, 0, 0xffff), BAD(1), QUIET, TABLE("0 0x8001"),
		BY(READ_REQUEST, 0, 0x8001), ANSWERED(0, 0x8001) } },
	/* As if lost on the wire: UC cannot tell */
	{ "UC completes requests dropped for a cleared entry", .type = IB_QPT_UC, .step = {
		TABLE("0 0"), SENDS(0), COUNT(TX_DROPPED_BAD_PKEY, 1), SENT(0), DONE(0, SUCCESS),
		PENDING } },
};
TEST_COURSES(qp_sends_with_the_pkey_of_its_entry, courses, &spec, 0)

/* Otherwise it would silently stop sending */
static void port_that_a_qp_moves_to_needs_its_entry(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 2 };
	struct test_qp_spec fifth = spec;
	struct ib_qp *qp;

	write_table(hca, "5 0x8001");
	fifth.pkey_index = 5;
	qp = test_qp_in(hca, IB_QPT_RC, &fifth, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT));
	KUNIT_EXPECT_EQ(test, to_rhca_qp(qp)->port->num, 1);
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT |
							 IB_QP_PKEY_INDEX));
	KUNIT_EXPECT_EQ(test, to_rhca_qp(qp)->port->num, 2);
	attr.port_num = 1;
	KUNIT_EXPECT_EQ(test, 0, ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT));
}

static void expect_sent(struct test_hca *hca, u8 opcode, u16 pkey)
{
	struct test_sent *sent = test_alloc(hca->test, sizeof(*sent));

	KUNIT_ASSERT_TRUE(hca->test, test_sent(hca, sent));
	KUNIT_EXPECT_EQ(hca->test, sent->opcode, opcode);
	KUNIT_EXPECT_EQ(hca->test, sent->pkey, pkey);
}

static struct rhca_verbs_qp *moving;

/* modify_qp has replaced the port, but not the path yet */
static bool half_move(const struct rhca_rx *rx)
{
	WRITE_ONCE(moving->port, &to_rhca_dev(moving->core.ibqp.device)->ports[1]);
	return true;
}

/* A request arrives, and the QP begins to move after it has been found */
static void ask_while_moving(struct test_hca *hca, u8 opcode, u32 psn)
{
	static const u8 reth[16];
	struct test_packet p = {
		.bth = { .opcode = opcode, .psn = psn, .dest_qpn = moving->number,
			 .ack_req = true, .pkey = 0x8001 },
		.extended = reth,
		.extended_bytes = opcode == READ_REQUEST ? sizeof(reth) : 0,
	};

	WRITE_ONCE(moving->port, test_port(hca));
	test_receive(hca, &p);
}

/* Packets of a QP that moves in SQD may leave by the old port until its path is replaced */
static void packet_has_the_pkey_of_the_port_it_leaves_by(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct test_qp_spec fifth = spec;
	struct ib_qp *qp;

	write_table(hca, "5 0x8001");
	KUNIT_ASSERT_EQ(test, 0, rhca_pkeys_store(test_port(hca) + 1, "5 0x8002"));
	fifth.pkey_index = 5;
	qp = test_qp_in(hca, IB_QPT_RC, &fifth, IB_QPS_RTS);
	moving = ibqp_to_verbs(qp);
	test_post_recv(hca, qp, 1, 0, 256);
	kunit_activate_static_stub(test, rhca_rx_icrc_ok, half_move);
	ask_while_moving(hca, SEND_ONLY, FIRST_PSN);
	expect_sent(hca, ACKNOWLEDGE, 0x8001);
	ask_while_moving(hca, READ_REQUEST, FIRST_PSN + 1);
	expect_sent(hca, READ_ONLY, 0x8001);
	KUNIT_EXPECT_EQ(test, 0, ib_post_send(qp, &wr, NULL));
	expect_sent(hca, SEND_ONLY, 0x8001);
	kunit_deactivate_static_stub(test, rhca_rx_icrc_ok);
	WRITE_ONCE(moving->port, test_port(hca));
}

/* --- QP1, which ib_core owns ------------------------------------------------------ */

struct agent_bench {
	struct test_hca *hca;
	struct ib_mad_agent *agent;
	struct ib_ah *ah;
	struct completion sent;
	struct completion received;
	int pkey_index;
};

static void mad_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	struct agent_bench *b = agent->context;

	ib_free_send_mad(wc->send_buf);
	complete(&b->sent);
}

static void mad_received(struct ib_mad_agent *agent,
			 struct ib_mad_send_buf *request,
			 struct ib_mad_recv_wc *wc)
{
	struct agent_bench *b = agent->context;

	b->pkey_index = wc->wc->pkey_index;
	ib_free_recv_mad(wc);
	complete(&b->received);
}

static void close_agent(void *data)
{
	struct agent_bench *b = data;

	if (b->ah)
		rdma_destroy_ah(b->ah, 0);
	ib_unregister_mad_agent(b->agent);
}

/* An agent of a class without other agents */
static struct agent_bench *open_agent(struct kunit *test)
{
	struct agent_bench *b = test_alloc(test, sizeof(*b));
	struct ib_mad_reg_req request = {
		.mgmt_class = IB_MGMT_CLASS_BM,
		.mgmt_class_version = 1,
	};

	init_completion(&b->sent);
	init_completion(&b->received);
	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	set_bit(IB_MGMT_METHOD_SEND, request.method_mask);
	b->agent = ib_register_mad_agent(b->hca->ibdev, 1, IB_QPT_GSI, &request,
					 0, mad_sent, mad_received, b, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->agent));
	test_at_end(test, close_agent, b);
	b->ah = test_ah(b->hca, b->agent->qp->pd, 1);
	return b;
}

static void fill_mad(struct ib_mad_hdr *hdr)
{
	*hdr = (struct ib_mad_hdr) {
		.base_version	= IB_MGMT_BASE_VERSION,
		.mgmt_class	= IB_MGMT_CLASS_BM,
		.class_version	= 1,
		.method		= IB_MGMT_METHOD_SEND,
	};
}

static void send_mad(struct agent_bench *b, u16 pkey_index)
{
	struct ib_mad_send_buf *mad;
	struct kunit *test = b->hca->test;

	mad = ib_create_send_mad(b->agent, 1, pkey_index, 0, IB_MGMT_MAD_HDR,
				 IB_MGMT_MAD_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mad));
	fill_mad(mad->mad);
	mad->ah = b->ah;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send_mad(mad, NULL));
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&b->sent, 60 * HZ));
}

static void mad_leaves_by_the_index_it_names(struct kunit *test)
{
	struct agent_bench *b = open_agent(test);

	write_table(b->hca, "9 0x8001\n127 0x0002");
	send_mad(b, 0);
	expect_sent(b->hca, UD_SEND_ONLY, 0xffff);
	send_mad(b, 9);
	expect_sent(b->hca, UD_SEND_ONLY, 0x8001);
	send_mad(b, 127);
	expect_sent(b->hca, UD_SEND_ONLY, 0x0002);
	send_mad(b, 8);		/* not in the table */
	send_mad(b, 128);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 0);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_TX_DROPPED_BAD_PKEY), 2);
}

static void receive_mad(struct agent_bench *b, u16 pkey)
{
	static const u8 deth[8] = { 0x80, 0x01, 0, 0, 0, 0, 0, 1 };
	u8 *extended = test_alloc(b->hca->test, 8 + IB_MGMT_MAD_SIZE);
	struct test_packet p = {
		.bth = { .opcode = UD_SEND_ONLY, .dest_qpn = 1, .pkey = pkey },
		.extended = extended,
		.extended_bytes = 8 + IB_MGMT_MAD_SIZE,
	};

	memcpy(extended, deth, sizeof(deth));
	fill_mad((struct ib_mad_hdr *)(extended + sizeof(deth)));
	test_receive(b->hca, &p);
}

static void expect_mad(struct agent_bench *b, u16 pkey, int index)
{
	reinit_completion(&b->received);
	b->pkey_index = -1;
	receive_mad(b, pkey);
	KUNIT_ASSERT_NE(b->hca->test, 0, wait_for_completion_timeout(&b->received, 60 * HZ));
	KUNIT_EXPECT_EQ(b->hca->test, b->pkey_index, index);
}

static void mad_has_the_index_of_its_pkey(struct kunit *test)
{
	struct agent_bench *b = open_agent(test);

	write_table(b->hca, "9 0x8001\n10 0x0002");
	expect_mad(b, 0x7fff, 0);
	expect_mad(b, 0x0001, 9);
	expect_mad(b, 0x8002, 10);
	receive_mad(b, 0x0002);		/* limited to limited */
	receive_mad(b, 0x8003);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_DROPPED_BAD_PKEY), 2);
	write_table(b->hca, "0 0");
	receive_mad(b, 0xffff);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_DROPPED_BAD_PKEY), 3);
	expect_mad(b, 0x8001, 9);
}

/* Work items of two queues may check the same port */
static void table_is_frozen_until_all_have_thawed_it(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct rhca_port *port = test_port(hca);

	rhca_pkeys_freeze(port->dev, true);
	rhca_pkeys_freeze(port->dev, true);
	rhca_pkeys_freeze(port->dev, false);
	KUNIT_EXPECT_EQ(test, rhca_pkeys_store(port, "1 0x8001"), -EBUSY);
	rhca_pkeys_freeze(port->dev, false);
	KUNIT_EXPECT_EQ(test, rhca_pkeys_store(port, "1 0x8001"), 0);
}

TEST_SUITE(rhca_pkey,
	   KUNIT_CASE_PARAM(one_of_two_members_must_be_full, match_gen_params),
	   KUNIT_CASE_PARAM(file_takes_lines, edit_gen_params),
	   KUNIT_CASE(port_begins_in_the_default_partition),
	   KUNIT_CASE(write_takes_all_lines_or_none),
	   KUNIT_CASE(full_membership_answers_before_limited),
	   KUNIT_CASE_PARAM(qp_sends_with_the_pkey_of_its_entry, courses_gen_params),
	   KUNIT_CASE(port_that_a_qp_moves_to_needs_its_entry),
	   KUNIT_CASE(packet_has_the_pkey_of_the_port_it_leaves_by),
	   KUNIT_CASE(mad_leaves_by_the_index_it_names),
	   KUNIT_CASE(mad_has_the_index_of_its_pkey),
	   KUNIT_CASE(table_is_frozen_until_all_have_thawed_it));
