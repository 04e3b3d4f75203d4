// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that arrive together: how the sender counted their IPv4 identifications, the QPs of the
 * next packets, and lists of single packets.
 */
#include <kunit/static_stub.h>
#include <linux/percpu.h>

#include "lib/course.h"
#include "sw/rx/receive.h"
#include "sw/rx/rx_batch.h"
#include "sw/verbs/counters.h"
#include "sw/verbs/qp/qp.h"

#define BYTES		64
#define FIRST_PSN	0xfffffe		/* wraps */
#define FIRST_ID	0xfffe			/* wraps as well */
#define MAX_PACKETS	5
#define NO_OPCODE	0xfb

/* --- identifications ----------------------------------------------------------- */

/* A block as it arrives */
static const struct id_case {
	const char *desc;	/* what merged it */
	unsigned int num;	/* packets */
	u8 psns[MAX_PACKETS];	/* PSN of each, relative to the first */
	u8 ids[MAX_PACKETS];	/* identification of each, relative to the first */
	unsigned int intact;	/* BIT() of each packet that the receiver must accept */
} id_cases[] = {
	{ "segmentation offload", 4, { 0, 1, 2, 3 }, { 0, 1, 2, 3 }, 0xf },
	{ "GRO of packets without identification", 4, { 0, 1, 2, 3 }, { 0, 0, 0, 0 }, 0xf },
	{ "GRO over a lost packet", 4, { 0, 1, 3, 4 }, { 0, 1, 3, 4 }, 0xf },
	{ "GRO over a lost packet, segmented anew", 4, { 0, 1, 3, 4 }, { 0, 1, 2, 3 }, 0xf },
	{ "GRO of two blocks of READ requests", 5, { 0, 16, 32, 48, 64 },
	  { 0, 1, 2, 48, 49 }, 0x1f },
	{ "a rule that changes", 5, { 0, 1, 2, 3, 4 }, { 0, 1, 2, 0, 0 }, 0x1f },
	{ "GRO over lost packets of several QPs", 5, { 0, 40, 7, 90, 8 },
	  { 0, 1, 3, 8, 9 }, 0x1f },
	{ "more packets lost than are searched for", 4, { 0, 40, 12, 90 }, { 0, 1, 7, 3 }, 0xb },
	{ "no rule", 4, { 0, 1, 2, 3 }, { 0, 9, 11, 3 }, 0x9 },
};
KUNIT_ARRAY_PARAM_DESC(id, id_cases, desc);

static void add_packet(struct kunit *test, struct sk_buff **block, u8 psn, u8 id)
{
	struct test_packet p = {
		.bth = { .opcode = SEND_ONLY, .dest_qpn = 0x17,
			 .psn = (FIRST_PSN + psn) & 0xffffff },
		.payload_bytes = BYTES, .id = FIRST_ID - TEST_FIRST_ID + id,
	};

	test_flow(&p.flow, RHCA_V2_IPV4);
	test_block_add(test, block, &p);
}

static void finish_block(struct kunit *test, struct sk_buff *skb, u32 netdev)
{
	test_block_end(skb, RHCA_V2_IPV4, SKB_GSO_UDP_L4, test_netdev(test, netdev));
}

static void ip_identifications_are_predicted(struct kunit *test)
{
	const struct id_case *c = test->param_value;
	struct rhca_rx_batch *walk = test_alloc(test, sizeof(*walk));
	struct rhca_counters __percpu *counters;
	struct sk_buff *skb = NULL;
	unsigned int i;

	counters = alloc_percpu(struct rhca_counters);
	KUNIT_ASSERT_NOT_NULL(test, counters);
	for (i = 0; i < c->num; i++)
		add_packet(test, &skb, c->psns[i], c->ids[i]);
	finish_block(test, skb, 0);
	KUNIT_EXPECT_TRUE(test, rhca_rx_batch_begin_block(walk, skb, RHCA_V2_IPV4));
	for (i = 0; rhca_rx_batch_next(walk); i++) {
		KUNIT_EXPECT_EQ(test, walk->rx.psn, (FIRST_PSN + c->psns[i]) & 0xffffff);
		KUNIT_EXPECT_EQ_MSG(test, rhca_rx_batch_intact(walk, counters),
				    !!(c->intact & BIT(i)), "packet %u", i);
	}
	KUNIT_EXPECT_EQ(test, i, c->num);
	KUNIT_EXPECT_EQ(test, rhca_counter_sum(counters,
					       RHCA_RX_ICRC_ENCAPSULATED),
			c->num - hweight32(c->intact));
	free_percpu(counters);
	kfree_skb(skb);
}

#define WRONG_PACKETS	64
#define MOST_CRCS	(WRONG_PACKETS + 2 * 6)	/* the first two are looked at closely */

static unsigned int crcs;

static bool wrong_icrc(const struct rhca_rx *rx)
{
	crcs++;
	return false;
}

/* An address and a QP number suffice to send such packets */
static void wrong_icrcs_cost_little_more_than_right_ones(struct kunit *test)
{
	struct rhca_rx_batch *walk = test_alloc(test, sizeof(*walk));
	struct rhca_counters __percpu *counters;
	struct sk_buff *skb = NULL;
	unsigned int i;

	counters = alloc_percpu(struct rhca_counters);
	KUNIT_ASSERT_NOT_NULL(test, counters);
	for (i = 0; i < WRONG_PACKETS; i++)
		add_packet(test, &skb, i, i);
	finish_block(test, skb, 0);
	crcs = 0;
	kunit_activate_static_stub(test, rhca_rx_icrc_ok, wrong_icrc);
	KUNIT_EXPECT_TRUE(test, rhca_rx_batch_begin_block(walk, skb, RHCA_V2_IPV4));
	for (i = 0; rhca_rx_batch_next(walk); i++)
		KUNIT_EXPECT_FALSE(test, rhca_rx_batch_intact(walk, counters));
	kunit_deactivate_static_stub(test, rhca_rx_icrc_ok);
	KUNIT_EXPECT_EQ(test, i, WRONG_PACKETS);
	KUNIT_EXPECT_LE(test, crcs, MOST_CRCS);
	KUNIT_EXPECT_EQ(test, rhca_counter_sum(counters, RHCA_RX_ICRC_ENCAPSULATED), WRONG_PACKETS);
	free_percpu(counters);
	kfree_skb(skb);
}

/* --- QPs of the next packets ----------------------------------------------------- */

#define QPS	3
#define NOBODY	QPS		/* a QP number that does not exist */
#define FAULT	(QPS + 1)	/* to the first QP, but cannot be parsed */
#define END	(QPS + 2)	/* of this and all later packets */

/* A block to several QPs */
static const struct ahead_case {
	const char *desc;	/* its peculiarity */
	u8 to[8];		/* index of the QP of each packet */
	bool known;		/* each but the first is looked up before its turn */
} ahead_cases[] = {
	{ "each to another QP", { 0, 1, 2, 0, 1, 2, 0, 1 }, true },
	{ "two QPs alternate", { 0, 1, 0, 1, 0, 1, 0, 1 } },
	{ "several to one QP", { 0, 0, 0, 1, 1, 0, 0, 2 } },
	{ "some to no QP", { NOBODY, 0, NOBODY, 1, NOBODY, NOBODY, 2, 0 } },
	{ "one malformed packet", { 0, FAULT, 1, 2, 0, 1, 2, 0 } },
	{ "several malformed packets", { 1, 2, FAULT, FAULT, FAULT, 0, 2, 1 } },
	{ "one packet", { 2, END, END, END, END, END, END, END } },
	{ "two packets", { 2, 1, END, END, END, END, END, END } },
};
KUNIT_ARRAY_PARAM_DESC(ahead, ahead_cases, desc);

static struct sk_buff *block_to(struct kunit *test, const struct ahead_case *c, const u32 *numbers)
{
	struct test_packet p = { .payload_bytes = BYTES };
	struct sk_buff *skb = NULL;
	unsigned int i;

	test_flow(&p.flow, RHCA_V2_IPV4);
	for (i = 0; i < ARRAY_SIZE(c->to) && c->to[i] != END; i++) {
		p.bth = (struct rhca_bth_fields) {
			.opcode = c->to[i] == FAULT ? NO_OPCODE : SEND_ONLY,
			.dest_qpn = numbers[c->to[i]], .psn = i,
		};
		test_block_add(test, &skb, &p);
	}
	finish_block(test, skb, 7);
	return skb;
}

static void make_qps(struct test_hca *hca, u32 *numbers)
{
	u32 i;

	for (i = 0; i < QPS; i++)
		numbers[i] = test_qp(hca, IB_QPT_RC)->qp_num;
	numbers[NOBODY] = 0xabcdef;
	numbers[FAULT] = numbers[0];
}

/* Only the next two packets may be looked up in advance, and only with the right result */
static void expect_known(struct kunit *test, struct rhca_rx_batch *walk,
			 const struct ahead_case *c, const u32 *numbers)
{
	unsigned int at = walk->place + RHCA_WALK_AHEAD;
	const struct rhca_qp_ahead *ahead = &walk->ahead[at % RHCA_WALK_AHEAD];
	bool inside = at < ARRAY_SIZE(c->to) && c->to[at] != END;

	KUNIT_EXPECT_EQ_MSG(test, ahead->number,
			    inside ? numbers[c->to[at]] : 0,
			    "at packet %u", walk->place);
	if (!inside || ahead->number == numbers[NOBODY])
		KUNIT_EXPECT_NULL(test, ahead->handle);
	else if (ahead->handle)
		KUNIT_EXPECT_EQ(test, ahead->handle->qp->number, ahead->number);
}

/* Whatever was looked up in advance, a packet goes to the QP it names */
static void packet_is_for_the_qp_that_it_names(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct rhca_rx_batch *walk = test_alloc(test, sizeof(*walk));
	const struct ahead_case *c = test->param_value;
	unsigned int i, packets = 0, taken = 0;
	struct rhca_qp_handle *handle, *ahead;
	u32 numbers[QPS + 2];
	struct sk_buff *skb;

	make_qps(hca, numbers);
	skb = block_to(test, c, numbers);
	rcu_read_lock();
	KUNIT_EXPECT_TRUE(test, rhca_rx_batch_begin_block(walk, skb, RHCA_V2_IPV4));
	for (; rhca_rx_batch_next(walk); packets++) {
		ahead = walk->ahead[walk->place % RHCA_WALK_AHEAD].handle;
		handle = rhca_rx_batch_find_handle(walk);
		if (c->known && walk->place >= RHCA_WALK_AHEAD)
			KUNIT_EXPECT_PTR_EQ_MSG(test, ahead, handle, "packet %u", walk->place);
		KUNIT_EXPECT_PTR_EQ_MSG(test, handle,
					rhca_qp_find_handle(numbers[c->to[walk->place]]),
					"packet %u", walk->place);
		rhca_rx_batch_look_ahead(walk);
		expect_known(test, walk, c, numbers);
	}
	rcu_read_unlock();
	for (i = 0; i < ARRAY_SIZE(c->to); i++)
		taken += c->to[i] < FAULT;
	KUNIT_EXPECT_EQ(test, packets, taken);
	kfree_skb(skb);
}

/* --- lists ---------------------------------------------------------------------- */

static const struct test_qp_spec spec = {
	.access = IB_ACCESS_REMOTE_WRITE, .rq_psn = FIRST_PSN, .retries = 7,
};

/* The next list to arrive */
static struct list_head list;

static struct bench *setup(struct kunit *test, enum ib_qp_type type)
{
	INIT_LIST_HEAD(&list);
	return test_bench(test, type, &spec, IB_QPS_RTS);
}

static void post_recvs(struct bench *b, struct ib_qp *qp, unsigned int num)
{
	while (num--)
		test_post_recv(b->hca, qp, b->posted++, 0, 2048);
}

/* Append a packet; @flip: corrupt its payload */
static void append(struct bench *b, const struct request *r, bool flip)
{
	struct sk_buff *skb = test_request(b, r);

	skb->data[skb->len - 8] ^= flip;
	list_add_tail(&skb->list, &list);
}

static void append_send(struct bench *b, struct ib_qp *qp, int psn, bool flip)
{
	bool ud = qp->qp_type == IB_QPT_UD;

	b->qp = qp;
	append(b, &(struct request) {
		ud ? UD_SEND_ONLY : SEND_ONLY, psn, ud, BYTES, .immediate = TEST_QKEY }, flip);
}

static void arrive(struct bench *b)
{
	local_bh_disable();
	rhca_receive_list(&list, RHCA_V1);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(b->hca->test, list_empty(&list));
}

static ACT(do_append, append_send(b, b->qp, s->r.psn, s->n))
static ACT(do_append_other, append(b, &s->r, false))

/* Append a SEND of another host */
static void do_append_foreign(struct bench *b, const struct step *s)
{
	struct sk_buff *skb;

	append_send(b, b->qp, s->r.psn, false);
	skb = list_last_entry(&list, struct sk_buff, list);
	skb->data[23] ^= 1;	/* the source, which ends there */
	test_seal(skb->data, skb->len, RHCA_V1);
}

/* Append bytes that are no packet */
static void do_append_noise(struct bench *b, const struct step *s)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(b->hca->test, skb);
	skb_put_zero(skb, 7);
	skb->dev = b->hca->ndev[0];
	list_add_tail(&skb->list, &list);
}

static ACT(do_arrive, arrive(b))

#define NEXT(at_psn)	STEP(do_append, false, .psn = (at_psn))
#define SPOILT(at_psn)	STEP(do_append, true, .psn = (at_psn))
#define OTHER(op, at_psn, bytes)	STEP(do_append_other, 0, (op), .psn = (at_psn), \
				     .payload_bytes = (bytes))
#define FOREIGN(at_psn)	STEP(do_append_foreign, 0, .psn = (at_psn))
#define NOISE		STEP(do_append_noise, 0)
#define ARRIVE		STEP(do_arrive, 0)
#define GOT		RECEIVED(BYTES, 0, 0)

static const struct course courses[] = {
	{ "packets of one QP get one ACK", .step = {
		POST(4), NEXT(0), NEXT(1), NEXT(2), NEXT(3), ARRIVE, GOT, GOT, GOT, GOT, PENDING,
		SENT(1), COUNT(RX_PACKETS, 4) } },
	{ "damaged packet counts as lost", .step = {
		POST(4), NEXT(0), SPOILT(1), NEXT(2), NEXT(3), ARRIVE,
		COUNT(RX_ICRC_ENCAPSULATED, 1), COUNT(OUT_OF_SEQUENCE, 2), NEXT(1), NEXT(2),
		NEXT(3), ARRIVE, GOT, GOT, GOT, GOT, PENDING } },
	{ "malformed packet is skipped", .step = {
		POST(2), NEXT(0), NOISE, NEXT(1), NOISE, ARRIVE, GOT, GOT, PENDING,
		COUNT(RX_DROPPED_TRUNCATED, 2) } },
	/* With bytes of the payload as AETH; the QP's own PSNs begin with 0 */
	{ "responses and CNPs in between are no requests", .step = {
		SENDS(4), POST(2), NEXT(0), OTHER(ACKNOWLEDGE, -FIRST_PSN, 4), NEXT(1),
		OTHER(CNP, 0, 16), ARRIVE, GOT, DONE(4, SUCCESS), GOT, COUNT(RP_CNP_IGNORED, 1) } },
	{ "packet of another host is dropped", .step = {
		POST(2), NEXT(0), FOREIGN(1), ARRIVE, GOT, PENDING,
		COUNT(RX_DROPPED_NOT_FOR_US, 1) } },
	{ "list without packets is harmless", .step = { ARRIVE, PENDING } },
};
KUNIT_ARRAY_PARAM_DESC(course, courses, desc);

static void packets_of_a_list_are_processed(struct kunit *test)
{
	INIT_LIST_HEAD(&list);
	test_course(test, &spec, 0);
}

static void qps_take_turns(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);
	struct ib_qp *one = b->qp, *other, *ud;
	int i;

	other = test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTS);
	ud = test_qp_in(b->hca, IB_QPT_UD, &spec, IB_QPS_RTS);
	for (i = 0; i < 3; i++) {
		post_recvs(b, one, 1);
		post_recvs(b, ud, 1);
		post_recvs(b, other, 1);
		append_send(b, one, i, false);
		append_send(b, ud, i, false);
		append_send(b, other, i, false);
	}
	arrive(b);
	test_expect_completions(b->hca, 0, 9);
	KUNIT_EXPECT_EQ(test, test_num_sent(b->hca), 6);
}

/*
 * Otherwise the invalidation would wait for the packets before it, and those after it would be
 * dropped. The SEND has no payload: the use of its memory would end that of the key's.
 */
static void key_is_not_in_use_when_the_same_list_invalidates_it(struct kunit *test)
{
	struct bench *b = setup(test, IB_QPT_RC);

	test_mr(b->hca, b->qp, 4096, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	post_recvs(b, b->qp, 2);
	append(b, &(struct request) { WRITE_ONLY, 0, false, BYTES, .length = BYTES }, false);
	append(b, &(struct request) { SEND_ONLY_INV, 1 }, false);
	append_send(b, b->qp, 2, false);
	arrive(b);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_RX_DROPPED_NO_RESOURCE), 0);
	test_expect_completions(b->hca, 0, 2);
}

/* Polls while a list is received */
static struct watch {
	struct test_hca *hca;	/* owns the CQ */
	u32 freed;		/* packets received and freed */
	u32 seen;		/* completions found */
	u32 behind; /* most packets received without a visible completion */
} watch;

static void poll_at_end_of_packet(struct sk_buff *skb)
{
	struct ib_wc wc;

	watch.freed++;
	while (test_poll(watch.hca, &wc))
		watch.seen++;
	watch.behind = max(watch.behind, watch.freed - watch.seen);
}

/* Otherwise the queue would be empty before its owner knows that it must post again */
static void completions_wait_for_no_more_than_a_quarter_of_the_queue(struct kunit *test)
{
	struct sk_buff *skb;
	struct bench *b = setup(test, IB_QPT_UD);
	u32 depth;
	int i;

	watch = (struct watch) { .hca = b->hca };
	depth = ibqp_to_verbs(b->qp)->rq.max_wr;
	post_recvs(b, b->qp, depth);
	for (i = 0; i < depth; i++)
		append_send(b, b->qp, i, false);
	list_for_each_entry(skb, &list, list)
		skb->destructor = poll_at_end_of_packet;
	arrive(b);
	KUNIT_EXPECT_EQ(test, watch.freed, depth);
	KUNIT_EXPECT_LT(test, watch.behind, depth / 4);
}

TEST_SUITE(rhca_rx_batch,
	   KUNIT_CASE_PARAM(ip_identifications_are_predicted, id_gen_params),
	   KUNIT_CASE(wrong_icrcs_cost_little_more_than_right_ones),
	   KUNIT_CASE_PARAM(packet_is_for_the_qp_that_it_names, ahead_gen_params),
	   KUNIT_CASE_PARAM(packets_of_a_list_are_processed, course_gen_params),
	   KUNIT_CASE(qps_take_turns),
	   KUNIT_CASE(key_is_not_in_use_when_the_same_list_invalidates_it),
	   KUNIT_CASE(completions_wait_for_no_more_than_a_quarter_of_the_queue));
