// SPDX-License-Identifier: GPL-2.0
#include <linux/unaligned.h>

#include "lib/course.h"
#include "sw/qp/clock.h"
#include "sw/tx/send_sched.h"
#include "sw/tx/window.h"
#include "sw/verbs/device.h"
#include "sw/verbs/memory/mem.h"
#include "sw/verbs/port.h"

/* A QP in @state on a device of its own */
struct bench *test_bench(struct kunit *test, enum ib_qp_type type,
			 const struct test_qp_spec *spec, enum ib_qp_state state)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->hca->gid_index += spec->v2;	/* the v2 GID follows the v1 GID of the same address */
	b->sent = test_alloc(test, sizeof(*b->sent));
	b->spec = *spec;
	b->qp = test_qp_in(b->hca, type, spec, state);
	b->sw = to_sw_qp(ibqp_to_verbs(b->qp));
	b->send = &b->sw->send;
	/* The third request and completion have the index 0 */
	b->sw->base.sq.head = -2;
	b->sw->base.sq.tail = -2;
	b->sw->base.sq.freed = -2;
	b->send->next = -2;
	b->send->posted_end = -2;
	to_rhca_cq(b->hca->cq)->producer = -2;
	to_rhca_cq(b->hca->cq)->consumer = -2;
	return b;
}

/* An RC QP in RTS, and a region over the first bytes of the buffer with the QP's access rights */
struct bench *test_bench_mr(struct kunit *test, const struct test_qp_spec *spec, u32 bytes)
{
	struct bench *b = test_bench(test, IB_QPT_RC, spec, IB_QPS_RTS);

	test_mr(b->hca, b->qp, bytes, spec->access | IB_ACCESS_LOCAL_WRITE);
	return b;
}

/*
 * Run the table row that is the test's parameter. @usual describes the QP where the row does not;
 * its access flags are also the region's. @region_bytes: 0 for no region.
 */
void test_course(struct kunit *test, const struct test_qp_spec *usual, u32 region_bytes)
{
	const struct course *c = test->param_value;
	struct test_qp_spec spec = *(c->spec ?: usual);
	struct bench *b;

	spec.access = c->access ?: spec.access;
	if (c->resources)
		spec.responder_resources = max(c->resources, 0);
	b = test_bench(test, c->type ?: IB_QPT_RC, &spec, IB_QPS_RTS);
	if (region_bytes && c->region != NONE)
		test_mr(b->hca, b->qp, region_bytes, c->region ?: (c->spec ?: usual)->access);
	test_steps(test, c, s, s->act(b, s));
	if (b->bh_off)
		local_bh_enable();
	do_let_go(b, NULL);	/* the region could not be freed while in use */
}

static void stop_clock(void *unused)
{
	WRITE_ONCE(rhca_test_now, 0);
}

/* Stop the clock of the data path at @now, in ns */
void test_set_clock(struct kunit *test, u64 now)
{
	test_at_end(test, stop_clock, NULL);
	WRITE_ONCE(rhca_test_now, now);
}

/* --- requests of the peer ------------------------------------------------------------ */

static unsigned int put_reth(u8 *to, struct bench *b, const struct request *r)
{
	put_unaligned_be64((uintptr_t)b->hca->buffer + r->va, to);
	put_unaligned_be32((b->hca->mr ? b->hca->mr->rkey : 0) ^ r->rkey_xor, to + 8);
	put_unaligned_be32(r->length, to + 12);
	return 16;
}

static unsigned int put_headers(u8 *to, struct bench *b, const struct request *r)
{
	unsigned int bytes = 0;

	switch (r->opcode & ~UC) {
	case WRITE_FIRST:
	case WRITE_ONLY:
	case READ_REQUEST:
	case ATOMIC_WRITE:
		return put_reth(to, b, r);
	case WRITE_ONLY_IMM:
		bytes = put_reth(to, b, r);
		break;
	case CMP_SWAP:
	case FETCH_ADD:
		put_reth(to, b, r);
		put_unaligned_be64(r->swap_add, to + 12);
		put_unaligned_be64(r->compare, to + 20);
		return 28;
	case SEND_LAST_IMM:
	case SEND_ONLY_IMM:
		break;
	case SEND_ONLY_INV:
		put_unaligned_be32(b->hca->mr->rkey ^ r->rkey_xor, to);
		return 4;
	case FLUSH:
		put_unaligned_be32(r->immediate, to);
		return 4 + put_reth(to + 4, b, r);
	case UD_SEND_ONLY & ~UC:
		put_unaligned_be32(r->immediate, to);
		put_unaligned_be32(TEST_PEER_QPN, to + 4);
		return 8;
	default:
		return 0;
	}
	put_unaligned_be32(r->immediate, to + bytes);
	return bytes + 4;
}

/* A request of the peer; its PSN is relative to the first that the QP expects */
struct sk_buff *test_request(struct bench *b, const struct request *r)
{
	u8 headers[32];
	struct test_packet p = {
		.bth = {
			.opcode = r->opcode, .psn = (b->spec.rq_psn + r->psn) & 0xffffff,
			.dest_qpn = b->qp->qp_num, .ack_req = !r->no_ack, .pkey = r->pkey,
		},
		.extended = headers,
		.extended_bytes = put_headers(headers, b, r),
		.payload_bytes = r->payload_bytes,
	};

	return test_packet_on(b->hca, &p, b->hca->ndev[0]);
}

/* The peer's request arrives */
void test_ask(struct bench *b, const struct request *r)
{
	test_arrive(test_request(b, r), RHCA_V1);
}

void do_post(struct bench *b, const struct step *s)
{
	u32 i, at;

	for (i = 0; i < s->n; i++) {
		at = BUFFER_OFFSET + b->posted * BUFFER_BYTES;
		memset(b->hca->buffer + at, 0, BUFFER_BYTES);
		test_post_recv(b->hca, b->qp, ++b->posted, at, BUFFER_BYTES);
	}
}

ACT(do_ask, test_ask(b, &s->r))

static bool look_at_answer(struct bench *b, const struct step *s, u8 opcode)
{
	struct kunit *test = b->hca->test;

	if (!test_sent(b->hca, b->sent)) {
		KUNIT_FAIL(test, "no answer");
		return false;
	}
	KUNIT_EXPECT_EQ(test, b->sent->opcode, opcode);
	KUNIT_EXPECT_EQ(test, b->sent->psn, (b->spec.rq_psn + s->r.psn) & 0xffffff);
	KUNIT_EXPECT_EQ(test, b->sent->dest_qpn, TEST_PEER_QPN);
	KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, s->r.payload_bytes);
	return true;
}

void is_ack(struct bench *b, const struct step *s)
{
	if (!look_at_answer(b, s, ACKNOWLEDGE))
		return;
	KUNIT_EXPECT_EQ(b->hca->test, b->sent->extended[0] >> 5, 0);
	if (s->n != ANY)
		is_msn(b, s);
}

void is_nak(struct bench *b, const struct step *s)
{
	if (look_at_answer(b, s, ACKNOWLEDGE))
		KUNIT_EXPECT_EQ(b->hca->test, b->sent->extended[0], s->n);
}

/* The payload must equal the buffer's contents at @va */
void is_response(struct bench *b, const struct step *s)
{
	if (!look_at_answer(b, s, s->r.opcode))
		return;
	KUNIT_EXPECT_MEMEQ(b->hca->test, b->sent->payload, b->hca->buffer + s->r.va,
			   s->r.payload_bytes);
	if (s->r.opcode != READ_MIDDLE)
		KUNIT_EXPECT_EQ(b->hca->test, b->sent->extended[0] >> 5, 0);
}

void is_atomic(struct bench *b, const struct step *s)
{
	if (!look_at_answer(b, s, ATOMIC_ACK))
		return;
	KUNIT_EXPECT_EQ(b->hca->test, b->sent->extended[0] >> 5, 0);
	KUNIT_EXPECT_EQ(b->hca->test, get_unaligned_be64(b->sent->extended + 4), s->r.swap_add);
}

ACT(is_msn, KUNIT_EXPECT_EQ(b->hca->test, get_unaligned_be32(b->sent->extended) & 0xffffff, s->n))

void is_received(struct bench *b, const struct step *s)
{
	struct kunit *test = b->hca->test;
	struct ib_wc wc = {};

	KUNIT_EXPECT_TRUE(test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, ++b->received);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc.byte_len, s->r.payload_bytes);
	KUNIT_EXPECT_EQ(test, wc.src_qp, TEST_PEER_QPN);
	KUNIT_EXPECT_EQ(test, (u32)wc.wc_flags, s->n);
	if (s->n & IB_WC_WITH_IMM)
		KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), s->r.immediate);
	if (s->n & IB_WC_WITH_INVALIDATE)
		KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, b->hca->mr->rkey);
}

/* --- the peer answers --------------------------------------------------------------- */

void test_fill_wr(struct bench *b, const struct request *r, struct ib_rdma_wr *wr,
		  struct ib_sge *sge)
{
	*sge = test_sge(b->hca, r->va, r->length);
	sge->lkey ^= r->rkey_xor;
	*wr = (struct ib_rdma_wr) {
		.wr = {
			.wr_id = r->length, .opcode = r->opcode, .sg_list = sge,
			.num_sge = r->length ? 1 : 0, .send_flags = IB_SEND_SIGNALED | r->flags,
			.ex.imm_data = cpu_to_be32(IMM),
		},
		.remote_addr = REMOTE_ADDR, .rkey = REMOTE_KEY,
	};
	if (r->opcode == IB_WR_SEND_WITH_INV)
		wr->wr.ex.invalidate_rkey = REMOTE_KEY;
}

/* Post a work request with this ID */
void test_post(struct bench *b, const struct request *r, u64 id)
{
	union {
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
	} u;
	struct ib_sge sge;

	test_fill_wr(b, r, &u.rdma, &sge);
	if (r->opcode == IB_WR_ATOMIC_FETCH_AND_ADD || r->opcode == IB_WR_ATOMIC_CMP_AND_SWP)
		u.atomic = (struct ib_atomic_wr) {
			.wr = u.rdma.wr, .remote_addr = REMOTE_ADDR, .rkey = REMOTE_KEY,
			.compare_add = r->compare, .swap = r->swap_add,
		};
	u.rdma.wr.wr_id = id;
	KUNIT_EXPECT_EQ(b->hca->test, 0, ib_post_send(b->qp, &u.rdma.wr, NULL));
}

ACT(do_request, test_post(b, &s->r, s->r.length))

void do_answer(struct bench *b, const struct step *s)
{
	test_answer(b->hca, b->qp, ACKNOWLEDGE, b->spec.sq_psn + s->r.psn,
		    s->n << 24 | s->r.length, 0);
}

void do_respond(struct bench *b, const struct step *s)
{
	test_answer(b->hca, b->qp, s->r.opcode, b->spec.sq_psn + s->r.psn,
		    s->n ?: NO_CREDITS << 24 | 1, s->r.payload_bytes);
}

void is_left(struct bench *b, const struct step *s)
{
	struct kunit *test = b->hca->test;

	if (!test_sent(b->hca, b->sent)) {
		KUNIT_FAIL(test, "no packet");
		return;
	}
	KUNIT_EXPECT_EQ(test, b->sent->psn, (b->spec.sq_psn + s->r.psn) & 0xffffff);
	if (s->r.opcode != ANY_OPCODE)
		KUNIT_EXPECT_EQ(test, b->sent->opcode, s->r.opcode);
	if (s->r.opcode == READ_REQUEST)
		KUNIT_EXPECT_EQ(test, b->sent->payload_bytes, 0);
	if (s->r.length)	/* of a READ: the length in its RETH */
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(b->sent->extended + 12), s->r.length);
}

ACT(is_asking, KUNIT_EXPECT_EQ(b->hca->test, (u32)b->sent->ack_req, s->n))

void is_done(struct bench *b, const struct step *s)
{
	struct ib_wc wc = {};

	KUNIT_EXPECT_TRUE(b->hca->test, test_poll(b->hca, &wc));
	KUNIT_EXPECT_EQ(b->hca->test, wc.wr_id, s->r.length);
	KUNIT_EXPECT_EQ(b->hca->test, (u32)wc.status, s->n);
	if (s->r.opcode)
		KUNIT_EXPECT_EQ(b->hca->test, (u32)wc.opcode, s->r.opcode);
}

void do_note_owner(struct bench *b, const struct step *s)
{
	b->owner = b->sent->owner;
	KUNIT_EXPECT_PTR_NE(b->hca->test, b->owner, NULL);
}

ACT(is_owned, KUNIT_EXPECT_PTR_EQ(b->hca->test, b->sent->owner, s->n ? b->owner : NULL))

/* --- either ------------------------------------------------------------------------- */

ACT(do_move, KUNIT_EXPECT_EQ(b->hca->test, 0, test_qp_move(b->qp, s->n)))
ACT(do_bring_up, test_qp_bring_up(b->hca, b->qp, &b->spec, IB_QPS_RTS))
ACT(do_go_back, test_port(b->hca)->cc.selective_repeat = false)
ACT(do_adp, test_port(b->hca)->cc.adp_retrans = true)
ACT(do_others, atomic_long_add(s->r.va, &to_verbs_port(test_port(b->hca))->held_truesize))

/* As if the local queue rejected the packet at this PSN: it is sent again after a second */
void do_local_full(struct bench *b, const struct step *s)
{
	local_bh_disable();
	spin_lock(&b->send->lock);
	rhca_requester_rewind(b->sw, (b->spec.sq_psn + s->r.psn) & 0xffffff);
	rhca_pause_send(b->sw, RHCA_PAUSE_LOCAL_FULL, NSEC_PER_SEC);
	spin_unlock(&b->send->lock);
	local_bh_enable();
}

ACT(do_queue, test_set_queue(b->hca, s->n))
ACT(do_clear, memset(b->hca->buffer + s->r.va, 0, s->r.length))
ACT(do_wait, msleep(s->n))

static struct rhca_mem *use_region(struct bench *b)
{
	struct rhca_mem *mem;

	local_bh_disable();
	mem = rhca_mem_get(to_verbs_dev(b->hca->ibdev), b->hca->mr->rkey);
	local_bh_enable();
	return mem;
}

void do_use(struct bench *b, const struct step *s)
{
	b->used = use_region(b);
	KUNIT_EXPECT_NOT_NULL(b->hca->test, b->used);
}

ACT(is_unusable, KUNIT_EXPECT_NULL(b->hca->test, use_region(b)))

void do_let_go(struct bench *b, const struct step *s)
{
	local_bh_disable();
	rhca_mem_put(b->used);
	b->used = NULL;
	local_bh_enable();
}

void do_bh(struct bench *b, const struct step *s)
{
	b->bh_off = s->n;
	if (b->bh_off)
		local_bh_disable();
	else
		local_bh_enable();
}

ACT(do_damage, b->hca->damages = true)

void do_forget(struct bench *b, const struct step *s)
{
	while (test_sent(b->hca, b->sent))
		;
}

ACT(is_sent, KUNIT_EXPECT_EQ(b->hca->test, test_num_sent(b->hca), s->n))
ACT(is_coming, KUNIT_EXPECT_TRUE(b->hca->test, test_becomes(test_num_sent(b->hca) >= s->n)))

void is_pending(struct bench *b, const struct step *s)
{
	struct ib_wc wc;

	KUNIT_EXPECT_FALSE(b->hca->test, test_poll(b->hca, &wc));
}

void is_quiet(struct bench *b, const struct step *s)
{
	KUNIT_EXPECT_EQ(b->hca->test, test_num_sent(b->hca), 0);
	is_pending(b, s);
}

ACT(is_payload, test_expect_payload(b->hca, s->r.va, s->r.length))
ACT(is_zero, KUNIT_EXPECT_NULL(b->hca->test, memchr_inv(b->hca->buffer + s->r.va, 0, s->r.length)))
ACT(is_state, KUNIT_EXPECT_EQ(b->hca->test, (u32)test_qp_state(b->qp), s->n))
ACT(is_count, KUNIT_EXPECT_EQ(b->hca->test, test_count(b->hca, s->r.length), s->n))
