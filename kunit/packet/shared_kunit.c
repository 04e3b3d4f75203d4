// SPDX-License-Identifier: GPL-2.0
/*
 * Shared blocks: single packets of several QPs are sent in one skb. Which packets are, which source
 * port later ones have, what happens if the local queue rejects the block, and to QPs that change
 * before it is sent.
 */
#include <linux/udp.h>

#include "lib/elsewhere.h"
#include "lib/hca.h"
#include "sw/qp/qp.h"
#include "sw/qp/shared.h"
#include "sw/rx/receive.h"
#include "sw/tx/post_delay.h"

#define QPS		6
#define SUBJECT		2		/* the QP to which something happens */
#define FIRST_DEST	0x1000		/* each QP has its own peer */
#define ALL		GENMASK(QPS - 1, 0)
#define GAP_NS		(2 * NSEC_PER_SEC)	/* so that no burst is slower than it */
#define PATIENCE_MS	5000

static const struct test_qp_spec plain = { .initiator_depth = 1, .retries = 7 };

/*
 * @primer uses v1, which has no blocks: whether its request is sent at once or waits, requests
 * posted to the other QPs after it wait for softirqs.
 */
struct bench {
	struct kunit *test;
	struct test_hca *hca;
	struct ib_qp *primer;
	struct ib_qp *qp[QPS];
	u32 guest;		/* a QP whose own source port is not that of the block */
	u16 block_port;		/* source port of the block checked last */
	u16 port;		/* of the single packet checked last */
	bool in_burst;		/* bottom halves are off */
};

/* A packet that was sent */
struct seen {
	u32 qp;		/* index of the QP that sent it */
	u32 nth;	/* how many before it that QP has sent, from its first PSN */
	u8 opcode;	/* of the BTH */
	u32 psn;	/* of the BTH */
	u8 syndrome;	/* of an acknowledgement */
	u16 sport;	/* UDP source port */
};

/* Far apart; those of the last QP wrap */
static u32 first_psn(u32 index)
{
	return 0xffffff - (QPS - 1 - index) * 0x1000;
}

static struct ib_qp *connect(struct bench *b, u32 index)
{
	struct test_qp_spec spec = {
		.access = IB_ACCESS_REMOTE_READ, .sq_psn = first_psn(index), .initiator_depth = 1,
		.responder_resources = 1, .retries = 7, .dest_qpn = FIRST_DEST + index,
	};

	return test_qp_in(b->hca, IB_QPT_RC, &spec, IB_QPS_RTS);
}

static struct bench *setup(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));
	u32 i;

	b->test = test;
	b->hca = test_hca_create(test, &rhca_sw_backend, 2);
	b->primer = test_qp_in(b->hca, IB_QPT_RC, &plain, IB_QPS_RTS);
	test_hca_speak_v2(b->hca);
	for (i = 0; i < QPS; i++)
		b->qp[i] = connect(b, i);
	rhca_doorbell_gap_ns = GAP_NS;
	return b;
}

static struct rhca_sw_qp *sw_qp(struct bench *b, u32 index)
{
	return to_sw_qp(ibqp_to_verbs(b->qp[index]));
}

/* --- what is sent ---------------------------------------------------------------- */

static void post_to(struct bench *b, struct ib_qp *qp, u64 id, u32 bytes)
{
	struct ib_sge sge = test_sge(b->hca, 0, bytes);
	struct ib_send_wr wr = {
		.wr_id = id, .opcode = IB_WR_SEND, .sg_list = &sge,
		.num_sge = 1,
	};

	KUNIT_ASSERT_EQ(b->test, 0, ib_post_send(qp, &wr, NULL));
}

static void post(struct bench *b, u32 index, u32 bytes)
{
	post_to(b, b->qp[index], index, bytes);
}

/* Requests posted until end_burst() wait for it */
static void begin_burst(struct bench *b)
{
	local_bh_disable();
	post_to(b, b->primer, QPS, 4);
}

static void end_burst(void)
{
	local_bh_enable();
}

static void post_each(struct bench *b)
{
	u32 i;

	for (i = 0; i < QPS; i++)
		post(b, i, 64);
}

/* Post one request to each QP */
static void burst(struct bench *b)
{
	begin_burst(b);
	post_each(b);
	end_burst();
}

static void post_alone(struct bench *b, u32 index)
{
	begin_burst(b);
	post(b, index, 64);
	end_burst();
}

/* Check that any receiver accepts the packet; frees it */
static void look_at(struct bench *b, struct sk_buff *skb, enum rhca_encap encap, struct seen *seen)
{
	struct rhca_rx *rx = test_alloc(b->test, sizeof(*rx));
	u32 index;

	skb_mark_not_on_list(skb);
	skb_pull(skb, skb_network_offset(skb));
	seen->sport = ntohs(udp_hdr(skb)->source);
	KUNIT_ASSERT_EQ(b->test, RHCA_PARSE_OK, rhca_rx_parse(rx, skb, encap));
	index = rhca_bth_dest_qpn(rx->bth) - FIRST_DEST;
	KUNIT_EXPECT_TRUE_MSG(b->test, rhca_rx_icrc_ok(rx), "ICRC of QP %u's", index);
	seen->qp = index;
	seen->nth = (rx->psn - first_psn(index)) & 0xffffff;
	seen->opcode = rx->opcode;
	seen->psn = rx->psn;
	seen->syndrome = *(const u8 *)(rx->bth + 1);
	kfree_skb(skb);
	kunit_kfree(b->test, rx);
}

static u32 look_at_all(struct bench *b, struct sk_buff *skb,
		       enum rhca_encap encap, struct seen *seen)
{
	struct sk_buff *one, *next;
	u32 num = 0;

	skb_list_walk_safe(test_segments(b->test, skb), one, next) {
		KUNIT_ASSERT_LT(b->test, num, QPS);
		look_at(b, one, encap, &seen[num++]);
	}
	return num;
}

/* Take the oldest skb; returns the number of packets in it, 0 if there is none */
static u32 take(struct bench *b, struct seen *seen)
{
	struct sk_buff *skb = test_sent_v2(b->hca);

	return skb ? look_at_all(b, skb, RHCA_V2_IPV6, seen) : 0;
}

/* The next skb has the @nth packet of each of these QPs, and nothing else */
static void expect_block(struct bench *b, unsigned long qps, u32 nth)
{
	unsigned long found = 0;
	struct seen seen[QPS];
	u32 num = take(b, seen), i;

	KUNIT_EXPECT_EQ(b->test, num, hweight_long(qps));
	b->block_port = num ? seen[0].sport : 0;
	for (i = 0; i < num; i++) {
		found |= BIT(seen[i].qp);
		KUNIT_EXPECT_EQ_MSG(b->test, seen[i].nth, nth, "QP %u", seen[i].qp);
		KUNIT_EXPECT_EQ(b->test, seen[i].sport, seen[0].sport);
	}
	KUNIT_EXPECT_EQ(b->test, found, qps);
}

/* The next skb is one packet, the @nth of that QP */
static void expect_single(struct bench *b, u32 index, u32 nth)
{
	struct seen seen[QPS] = {};

	KUNIT_EXPECT_EQ(b->test, 1, take(b, seen));
	KUNIT_EXPECT_EQ(b->test, seen[0].qp, index);
	KUNIT_EXPECT_EQ(b->test, seen[0].nth, nth);
	b->port = seen[0].sport;
}

static void expect_no_more(struct bench *b)
{
	struct seen seen[QPS];

	KUNIT_EXPECT_EQ(b->test, 0, take(b, seen));
}

static u16 own_port(struct bench *b, u32 index)
{
	u16 port;

	rcu_read_lock();
	port = rcu_dereference(sw_qp(b, index)->base.path)->address.flow.udp_sport;
	rcu_read_unlock();
	return port;
}

/* Address a packet from the peer to a QP */
static void address(struct bench *b, struct test_packet *p, u32 index)
{
	p->flow.encap = RHCA_V2_IPV6;
	test_from_peer(b->hca, p);
	p->bth.dest_qpn = b->qp[index]->qp_num;
}

static struct sk_buff *packet_to(struct bench *b, struct test_packet *p, u32 index)
{
	address(b, p, index);
	return test_packet_on(b->hca, p, b->hca->ndev[0]);
}

/* An ACK for all packets of the QP up to the @nth */
static struct sk_buff *acknowledgement(struct bench *b, u32 index, u32 nth)
{
	const u8 aeth[4] = { 0x1f, 0, 0, nth + 1 };
	struct test_packet p = {
		.bth = { .opcode = ACKNOWLEDGE, .psn = (first_psn(index) + nth) & 0xffffff },
		.extended = aeth, .extended_bytes = sizeof(aeth),
	};

	return packet_to(b, &p, index);
}

static void acknowledge(struct bench *b, u32 index, u32 nth)
{
	test_arrive(acknowledgement(b, index, nth), RHCA_V2_IPV6);
}

/* What happens to a QP while its packet is in a block being sent */
struct meanwhile {
	struct bench *b;	/* the bench */
	struct sk_buff *ack;	/* acknowledgement that arrives, or NULL */
	bool posts;		/* another request is posted */
	bool sqd;		/* the QP is moved to SQD */
	int ret;		/* result of posting */
};

static void happen(void *data)
{
	struct ib_send_wr wr = { .wr_id = QPS + 1, .opcode = IB_WR_SEND };
	struct meanwhile *m = data;
	struct rhca_verbs_qp *qp = &sw_qp(m->b, SUBJECT)->base;

	if (m->sqd) {
		qp->attr.en_sqd_async_notify = true;
		WRITE_ONCE(qp->state, IB_QPS_SQD);
	}
	if (m->ack)
		test_arrive(m->ack, RHCA_V2_IPV6);
	if (m->posts) {
		rhca_doorbell_gap_ns = 0;	/* may leave at once */
		m->ret = ib_post_send(m->b->qp[SUBJECT], &wr, NULL);
		rhca_doorbell_gap_ns = GAP_NS;
	}
}

/* --- sequences --------------------------------------------------------------------- */

#define MAX_STEPS	14
#define GUEST		QPS

struct step {
	void (*act)(struct bench *b, const struct step *s);
	u32 qp;			/* index, or GUEST */
	u32 n;			/* which packet of it; bytes, status, or meanwhile: what happens */
	unsigned long qps;	/* of a block */
};

static u32 index_of(const struct bench *b, const struct step *s)
{
	return s->qp == GUEST ? b->guest : s->qp;
}

static void find_guest(struct bench *b, const struct step *s)
{
	for (b->guest = 0; b->guest < QPS; b->guest++)
		if (own_port(b, b->guest) != b->block_port)
			return;
	KUNIT_FAIL_AND_ABORT(b->test, "all QPs have source port %u", b->block_port);
}

/* The next skb has two packets of the QP, with its own source port */
static void is_pair(struct bench *b, const struct step *s)
{
	struct seen seen[QPS];
	u32 i;

	KUNIT_ASSERT_EQ(b->test, 2, take(b, seen));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(b->test, seen[i].qp, s->qp);
		KUNIT_EXPECT_EQ(b->test, seen[i].nth, i);
		KUNIT_EXPECT_EQ(b->test, seen[i].sport, own_port(b, s->qp));
	}
}

enum { POSTS = 1, ACKED = 2, DRAINS = 4 };

static void burst_meanwhile(struct bench *b, const struct step *s)
{
	struct meanwhile m = { .b = b, .posts = s->n & POSTS, .sqd = s->n & DRAINS };

	if (s->n & ACKED)
		m.ack = acknowledgement(b, SUBJECT, 0);
	test_while_sending(b->hca, happen, &m);
	burst(b);
	KUNIT_EXPECT_EQ(b->test, 0, m.ret);
}

#define ACT(name, ...)	static void name(struct bench *b, const struct step *s) { __VA_ARGS__; }

ACT(do_burst, burst(b))
ACT(do_begin, b->in_burst = true; begin_burst(b))
ACT(do_end, end_burst(); b->in_burst = false)
ACT(do_each, post_each(b))
ACT(do_post, post(b, s->qp, s->n))
ACT(do_alone, post_alone(b, index_of(b, s)))
ACT(do_ack, acknowledge(b, index_of(b, s), s->n))
ACT(do_lose, rhca_block_lost(&sw_qp(b, SUBJECT)->send.backoff))
ACT(do_fail, KUNIT_EXPECT_TRUE(b->test, rhca_qp_fail(&sw_qp(b, SUBJECT)->base, IB_QPS_ERR)))
ACT(do_sqd, WRITE_ONCE(sw_qp(b, SUBJECT)->base.state, IB_QPS_SQD))
ACT(do_rts, KUNIT_EXPECT_EQ(b->test, 0, test_qp_move(b->qp[SUBJECT], IB_QPS_RTS)))
ACT(is_block, expect_block(b, s->qps, s->n))
ACT(is_single, expect_single(b, index_of(b, s), s->n))
ACT(is_of_block, KUNIT_EXPECT_EQ(b->test, b->port, b->block_port))
ACT(is_own, KUNIT_EXPECT_EQ(b->test, b->port, own_port(b, index_of(b, s))))
ACT(is_last, expect_no_more(b))
ACT(is_done, test_expect_wc(b->hca, s->qp, s->n))
ACT(is_none_done, test_expect_completions(b->hca, 0, 0))
ACT(is_sent, KUNIT_EXPECT_EQ(b->test, test_count(b->hca, RHCA_TX_PACKETS), s->n))
ACT(is_drained, KUNIT_EXPECT_TRUE(b->test, test_bit(IB_EVENT_SQ_DRAINED, &b->hca->events)))

#define BURST			{ do_burst }
#define MEANWHILE(what)		{ burst_meanwhile, .n = (what) }
#define BEGIN			{ do_begin }
#define END			{ do_end }
#define EACH			{ do_each }
#define POST(index, bytes)	{ do_post, index, bytes }
#define ALONE(index)		{ do_alone, index }
#define UPTO(index, nth)	{ do_ack, index, nth }	/* acknowledge */
#define BLOCK(of, nth)		{ is_block, .n = (nth), .qps = (of) }
#define SINGLE(index, nth)	{ is_single, index, nth }, { is_own, index }
#define FOLLOWS(index, nth)	{ is_single, index, nth }, { is_of_block }
#define LAST			{ is_last }
#define DONE(id, with)		{ is_done, id, IB_WC_##with }
#define NONE_DONE		{ is_none_done }

static const struct {
	const char *desc;
	struct step step[MAX_STEPS];
} requests[] = {
	{ "of several QPs", { BURST, BLOCK(ALL, 0), LAST, { is_sent, .n = QPS + 1 }, NONE_DONE } },
	{ "one QP is in error", {
		BEGIN, EACH, { do_fail }, END, BLOCK(ALL & ~BIT(SUBJECT), 0), LAST,
		DONE(SUBJECT, WR_FLUSH_ERR), NONE_DONE } },
	/* No request is started in SQD; back in RTS it is, and has not been lost */
	{ "one QP is in SQD", {
		BEGIN, EACH, { do_sqd }, END, BLOCK(ALL & ~BIT(SUBJECT), 0), LAST, NONE_DONE,
		{ do_rts }, SINGLE(SUBJECT, 0) } },
	/* It sends single packets for a while: the block may have been lost */
	{ "one QP has lost packets", {
		{ do_lose }, BURST, SINGLE(SUBJECT, 0), BLOCK(ALL & ~BIT(SUBJECT), 0), LAST,
		NONE_DONE } },
	/* A longer one needs its own block; a shorter one ends a block */
	{ "packets of other sizes share no block", {
		BEGIN, POST(0, 64), POST(1, 64), POST(2, 68), POST(3, 68), POST(4, 8), POST(5, 8),
		END, BLOCK(GENMASK(1, 0), 0), BLOCK(GENMASK(4, 2), 0), { is_single, 5, 0 },
		LAST } },
	/* They leave as a block of their own, with the QP's source port */
	{ "two packets of one QP share no block", {
		BEGIN, EACH, POST(3, 64), END, { is_pair, 3 }, BLOCK(ALL & ~BIT(3), 0), LAST } },
	/* Otherwise switches that hash the source port could reorder packets */
	{ "source port stays until all is acknowledged", {
		BURST, BLOCK(ALL, 0), { find_guest }, ALONE(GUEST), FOLLOWS(GUEST, 1),
		UPTO(GUEST, 0), ALONE(GUEST), FOLLOWS(GUEST, 2), UPTO(GUEST, 2), ALONE(GUEST),
		SINGLE(GUEST, 3) } },
	/* The block's source port differs, so its packet could overtake those in flight */
	{ "QP with a packet in flight shares no block", {
		BURST, BLOCK(ALL, 0), UPTO(4, 0), UPTO(5, 0), BURST, { is_single, 0, 1 },
		{ is_single, 1, 1 }, { is_single, 2, 1 }, { is_single, 3, 1 },
		BLOCK(BIT(4) | BIT(5), 1), LAST } },

	/* It must not overtake the request in the block */
	{ "request waits until the block of the previous one is sent", {
		MEANWHILE(POSTS), BLOCK(ALL, 0), FOLLOWS(SUBJECT, 1), LAST } },
	/* Nothing is left to overtake then */
	{ "completion may precede the end of the block", {
		MEANWHILE(POSTS | ACKED), DONE(SUBJECT, SUCCESS), BLOCK(ALL, 0),
		SINGLE(SUBJECT, 1), LAST, UPTO(SUBJECT, 1), DONE(QPS + 1, SUCCESS) } },
	/* No other event would check again */
	{ "SQD is drained when the block is sent", {
		MEANWHILE(DRAINS | ACKED), BLOCK(ALL, 0), LAST, { is_drained } } },
};
KUNIT_ARRAY_PARAM_DESC(request, requests, desc);

static void lone_packets_leave_in_one_skb(struct kunit *test)
{
	const typeof(requests[0]) *c = test->param_value;
	struct bench *b = setup(test);

	test_steps(test, c, s, s->act(b, s));
	if (b->in_burst)
		end_burst();
}

/* --- while the block is sent -------------------------------------------------------- */

static bool arrives(struct bench *b, struct seen *seen)
{
	return test_becomes(take(b, seen));
}

/* Each QP sends its own, singly: the queue may have no room for a block */
static void packets_of_a_refused_block_are_retransmitted(struct kunit *test)
{
	unsigned long missing = ALL;
	struct seen seen[QPS];
	struct bench *b = setup(test);

	begin_burst(b);
	post_each(b);
	test_set_queue(b->hca, NET_XMIT_DROP);
	end_burst();
	expect_no_more(b);
	test_set_queue(b->hca, NET_XMIT_SUCCESS);
	while (missing && arrives(b, seen)) {
		KUNIT_EXPECT_EQ(test, 0, seen[0].nth);
		missing &= ~BIT(seen[0].qp);
	}
	KUNIT_EXPECT_EQ_MSG(test, 0, missing, "QPs whose packet is lost");
	KUNIT_EXPECT_GE(test, test_count(b->hca, RHCA_TX_DROPPED), QPS);
}

/* A verb called by another thread while the block is sent */
static int destroy(struct kunit *test, void *qp)
{
	return ib_destroy_qp(qp);
}

static bool is_done_within(struct elsewhere *verb, int ms)
{
	while (!completion_done(&verb->done) && ms--)
		mdelay(1);
	return completion_done(&verb->done);
}

#define NEW_PSN	0x424242

/* Bring the QP up again, with another PSN */
static int bring_up_again(struct kunit *test, void *bench)
{
	struct test_qp_spec spec = { .sq_psn = NEW_PSN, .retries = 7,
				     .responder_resources = 1, .initiator_depth = 1,
				     .dest_qpn = FIRST_DEST + SUBJECT };
	struct bench *b = bench;
	int ret = 0, state;

	for (state = IB_QPS_RESET; state <= IB_QPS_RTS && !ret; state++)
		ret = test_qp_to(b->hca, b->qp[SUBJECT], &spec, state);
	return ret;
}

static void begin_to_destroy(void *data)
{
	struct elsewhere *verb = test_begin(data);

	KUNIT_EXPECT_FALSE(verb->test, is_done_within(verb, 50));
}

static void destruction_waits_for_the_block(struct kunit *test)
{
	struct bench *b = setup(test);
	struct elsewhere *verb = test_elsewhere(test, destroy, b->qp[SUBJECT]);
	u32 i;

	test_while_sending(b->hca, begin_to_destroy, verb);
	burst(b);
	test_end(verb);
	for (i = 0; i < b->hca->num_qps; i++)
		if (b->hca->qps[i] == b->qp[SUBJECT])
			b->hca->qps[i] = b->hca->qps[--b->hca->num_qps];
	expect_block(b, ALL, 0);
	expect_no_more(b);
}

static void reset_and_post(void *data)
{
	struct elsewhere *verb = test_begin(data);
	struct meanwhile m = { .b = verb->arg, .posts = true };

	KUNIT_EXPECT_TRUE(verb->test, is_done_within(verb, PATIENCE_MS));
	happen(&m);
	KUNIT_EXPECT_EQ(verb->test, 0, m.ret);
}

static void expect_new_request(struct bench *b)
{
	struct seen seen[QPS] = {};

	do {
		KUNIT_ASSERT_TRUE(b->test, arrives(b, seen));
	} while (seen[0].qp != SUBJECT);
	KUNIT_EXPECT_EQ(b->test, seen[0].psn, NEW_PSN);
	KUNIT_EXPECT_EQ(b->test, seen[0].sport, own_port(b, SUBJECT));
}

static const struct {
	const char *desc;
	bool refused;
} refusals[] = { { "sent", false }, { "refused", true } };
KUNIT_ARRAY_PARAM_DESC(refusal, refusals, desc);

/* Its old packet does not affect the new connection */
static void qp_is_reset_while_the_block_is_sent(struct kunit *test)
{
	const typeof(refusals[0]) *c = test->param_value;
	struct bench *b = setup(test);
	struct elsewhere *verb = test_elsewhere(test, bring_up_again, b);

	test_while_sending(b->hca, reset_and_post, verb);
	if (c->refused)
		test_set_queue(b->hca, NET_XMIT_DROP);
	burst(b);
	test_set_queue(b->hca, NET_XMIT_SUCCESS);
	test_end(verb);
	if (!c->refused)
		expect_block(b, ALL, 0);
	expect_new_request(b);
}

/* --- acknowledgements ---------------------------------------------------------------- */

/* A READ of 0 bytes; the response has none */
static void read_nothing(struct bench *b, u32 index)
{
	static const u8 reth[16];
	struct test_packet p = {
		.bth = { .opcode = READ_REQUEST, .ack_req = true },
		.extended = reth, .extended_bytes = sizeof(reth),
	};

	test_arrive(packet_to(b, &p, index), RHCA_V2_IPV6);
}

/* A SEND to each QP arrives in one block; @psn: of each */
static void send_to_each(struct bench *b, const u32 *psn)
{
	struct test_packet p = {
		.bth = { .opcode = SEND_ONLY, .ack_req = true }, .payload_bytes = 64,
	};
	struct sk_buff *skb = NULL;
	u32 i;

	for (i = 0; i < QPS; i++) {
		test_post_recv(b->hca, b->qp[i], i, 0, 64);
		p.bth.psn = psn[i];
		address(b, &p, i);
		test_block_add(b->test, &skb, &p);
	}
	test_block_end(skb, RHCA_V2_IPV6, SKB_GSO_UDP_L4 | SKB_GSO_UDP_TUNNEL, b->hca->ndev[0]);
	test_arrive(skb, RHCA_V2_IPV6);
}

/* The next skb acknowledges the first request of each of these QPs */
static void expect_acks(struct bench *b, unsigned long qps)
{
	unsigned long found = 0;
	struct seen seen[QPS];
	u32 num = take(b, seen), i;

	KUNIT_EXPECT_EQ(b->test, num, hweight_long(qps));
	for (i = 0; i < num; i++) {
		found |= BIT(seen[i].qp);
		KUNIT_EXPECT_EQ(b->test, seen[i].opcode, ACKNOWLEDGE);
		KUNIT_EXPECT_EQ(b->test, seen[i].psn, 0);
		KUNIT_EXPECT_EQ(b->test, seen[i].syndrome & 0x60, 0);
		KUNIT_EXPECT_EQ(b->test, seen[i].sport, seen[0].sport);
	}
	KUNIT_EXPECT_EQ(b->test, found, qps);
}

/* The next skb is one packet, with its own QP's source port */
static void expect_answer(struct bench *b, u32 index, u8 opcode, u8 syndrome)
{
	struct seen seen[QPS] = {};

	KUNIT_EXPECT_EQ(b->test, 1, take(b, seen));
	KUNIT_EXPECT_EQ(b->test, seen[0].qp, index);
	KUNIT_EXPECT_EQ(b->test, seen[0].opcode, opcode);
	KUNIT_EXPECT_EQ(b->test, seen[0].syndrome & 0x60, syndrome);
	KUNIT_EXPECT_EQ(b->test, seen[0].sport, own_port(b, index));
}

static const struct {
	const char *desc;
	bool reads;		/* SUBJECT has received a READ request before */
	u32 psn;		/* of the SEND to SUBJECT; 0 for others */
	bool alone;		/* SUBJECT's answer is not in a block */
	u8 syndrome;
} answers[] = {
	{ "acknowledgements", .psn = 0 },
	/* The peer would consider overtaken responses lost */
	{ "acknowledgement after a response", .reads = true, .psn = 1, .alone = true },
	/* Otherwise too much would be retransmitted, or an earlier ACK would be late */
	{ "NAK", .psn = 3, .alone = true, .syndrome = 0x60 },
};
KUNIT_ARRAY_PARAM_DESC(answer, answers, desc);

static void answers_of_several_qps_leave_in_one_skb(struct kunit *test)
{
	const typeof(answers[0]) *c = test->param_value;
	const u32 psn[QPS] = { [SUBJECT] = c->psn };
	struct bench *b = setup(test);

	if (c->reads) {
		read_nothing(b, SUBJECT);
		expect_answer(b, SUBJECT, READ_ONLY, 0);
	}
	send_to_each(b, psn);
	if (c->alone)
		expect_answer(b, SUBJECT, ACKNOWLEDGE, c->syndrome);
	expect_acks(b, c->alone ? ALL & ~BIT(SUBJECT) : ALL);
	expect_no_more(b);
}

/* --- which packets share ------------------------------------------------------------- */

#define CHANGE(name, change)							\
	static void name(struct rhca_address *address, struct rhca_bth_fields *fields)	\
	{									\
		change;								\
	}

CHANGE(same, (void)address)
/* The source port does not count: the QP uses the block's instead */
CHANGE(other_sport, address->flow.udp_sport ^= 0x100)
CHANGE(other_port, address->port++)
CHANGE(other_netdev, address->ifindex++)
CHANGE(other_vlan, address->vlan_id = 7)
CHANGE(other_sl, address->sl ^= 3)
CHANGE(other_mac, address->dmac[5] ^= 1)
CHANGE(other_dgid, address->flow.dgid.raw[15] ^= 1)
CHANGE(other_sgid, address->flow.sgid.raw[15] ^= 1)
CHANGE(other_tclass, address->flow.tclass ^= 0x20)
CHANGE(other_hop_limit, address->flow.hop_limit--)
CHANGE(other_label, address->flow.flow_label ^= 0x12)
CHANGE(other_framing, address->flow.encap = RHCA_V2_IPV4)
CHANGE(other_pkey, fields->pkey = 0x8001)
/* ACKs are not ECN-capable */
CHANGE(other_ecn, fields->opcode = ACKNOWLEDGE)

static const struct other_case {
	const char *desc;
	void (*change)(struct rhca_address *address, struct rhca_bth_fields *fields);
	bool shares;
} others[] = {
	{ "same headers", same, true },
	{ "another source port of the QP", other_sport, true },
	{ "another port", other_port },
	{ "another netdev", other_netdev },
	{ "another VLAN", other_vlan },
	{ "another service level", other_sl },
	{ "another MAC", other_mac },
	{ "another destination GID", other_dgid },
	{ "another source GID", other_sgid },
	{ "another traffic class", other_tclass },
	{ "another hop limit", other_hop_limit },
	{ "another flow label", other_label },
	{ "another framing", other_framing },
	{ "another partition", other_pkey },
	{ "another ECN class", other_ecn },
};
KUNIT_ARRAY_PARAM_DESC(other, others, desc);

/* Add a QP's first packet, always of the same size; returns false if it was sent another way */
static bool share_segment(struct bench *b, struct rhca_shared_block *shared, u32 index,
			  struct rhca_path *path, const struct rhca_bth_fields *fields)
{
	u32 bytes = 80 - rhca_transport_bytes(fields->opcode);
	struct rhca_packet packet;

	if (!rhca_shared_begin_packet(shared, &packet, &sw_qp(b, index)->base,
				      path, fields, bytes))
		return false;
	rhca_packet_protect(&packet);
	rhca_packet_copy(&packet, b->hca->buffer, bytes);
	rhca_packet_seal(&packet);
	KUNIT_EXPECT_TRUE(b->test, rhca_shared_add(shared, &packet, NULL));
	return true;
}

static struct rhca_path *path_like(struct bench *b, u32 index,
				   void (*change)(struct rhca_address *address,
						  struct rhca_bth_fields *fields),
				   struct rhca_bth_fields *fields)
{
	struct rhca_address address;
	struct rhca_path *path;

	rcu_read_lock();
	address = rcu_dereference(sw_qp(b, index)->base.path)->address;
	rcu_read_unlock();
	change(&address, fields);
	path = rhca_path_create(&address, b->hca->pd, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(b->test, IS_ERR(path));
	return path;
}

static struct rhca_bth_fields fields_of(u32 index)
{
	return (struct rhca_bth_fields) {
		.opcode = SEND_ONLY, .pkey = 0xffff,
		.dest_qpn = FIRST_DEST + index, .psn = first_psn(index),
	};
}

static void packets_with_other_headers_share_no_block(struct kunit *test)
{
	const struct other_case *c = test->param_value;
	struct rhca_bth_fields fields[] = { fields_of(0), fields_of(1) };
	struct rhca_shared_block *shared;
	struct rhca_path *path, *other;
	struct seen seen[QPS];
	struct sk_buff *first;
	struct bench *b = setup(test);
	bool shares;

	shared = test_alloc(test, sizeof(*shared));
	path = path_like(b, 0, same, &fields[0]);
	other = path_like(b, 0, c->change, &fields[1]);
	local_bh_disable();
	rcu_read_lock();
	rhca_shared_begin(shared);
	KUNIT_EXPECT_TRUE(test, share_segment(b, shared, 0, path, &fields[0]));
	shares = share_segment(b, shared, 1, other, &fields[1]) &&
		 rhca_shared_packets(shared) == 2;
	KUNIT_EXPECT_EQ(test, shares, c->shares);
	/* Sent already if they do not share */
	first = test_sent_v2(b->hca);
	rhca_shared_send(shared);
	rcu_read_unlock();
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, !first, c->shares);
	if (first)
		KUNIT_EXPECT_EQ(test, 1, look_at_all(b, first, RHCA_V2_IPV6, seen));
	if (c->shares)
		expect_block(b, BIT(0) | BIT(1), 0);
	rhca_path_put(path);
	rhca_path_put(other);
}

/* Its P_Key's table entry has been cleared. Other QPs' packets are not affected */
static void packet_outside_partitions_is_in_no_block(struct kunit *test)
{
	struct rhca_shared_block *shared;
	struct rhca_bth_fields fields;
	struct rhca_packet packet;
	struct rhca_path *path;
	struct bench *b = setup(test);
	u32 i;

	shared = test_alloc(test, sizeof(*shared));
	fields = fields_of(0);
	path = path_like(b, 0, same, &fields);
	local_bh_disable();
	rcu_read_lock();
	rhca_shared_begin(shared);
	for (i = 0; i < QPS; i++) {
		fields = fields_of(i);
		if (i != SUBJECT) {
			KUNIT_EXPECT_TRUE(test, share_segment(b, shared, i, path, &fields));
			continue;
		}
		fields.pkey = 0x8000;	/* the key of no partition */
		KUNIT_EXPECT_TRUE(test, rhca_shared_begin_packet(shared, &packet,
								 &sw_qp(b, i)->base,
								 path, &fields, 0));
		rhca_packet_protect(&packet);
		rhca_packet_seal(&packet);
		KUNIT_EXPECT_FALSE(test, rhca_shared_add(shared, &packet, sw_qp(b, i)));
		KUNIT_EXPECT_PTR_EQ(test, shared->senders, NULL);
	}
	rhca_shared_send(shared);
	rcu_read_unlock();
	local_bh_enable();
	expect_block(b, GENMASK(SUBJECT - 1, 0), 0);
	expect_block(b, GENMASK(QPS - 1, SUBJECT + 1), 0);
	expect_no_more(b);
	KUNIT_EXPECT_EQ(test, test_count(b->hca, RHCA_TX_DROPPED_BAD_PKEY), 1);
	rhca_path_put(path);
}

TEST_SUITE(rhca_shared,
	   KUNIT_CASE_PARAM(lone_packets_leave_in_one_skb, request_gen_params),
	   KUNIT_CASE(packets_of_a_refused_block_are_retransmitted),
	   KUNIT_CASE(destruction_waits_for_the_block),
	   KUNIT_CASE_PARAM(qp_is_reset_while_the_block_is_sent, refusal_gen_params),
	   KUNIT_CASE_PARAM(answers_of_several_qps_leave_in_one_skb, answer_gen_params),
	   KUNIT_CASE(packet_outside_partitions_is_in_no_block),
	   KUNIT_CASE_PARAM(packets_with_other_headers_share_no_block, other_gen_params));
