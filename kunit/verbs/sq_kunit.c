// SPDX-License-Identifier: GPL-2.0
/* Send queues of processes: a request is copied out before it is checked. */
#include <rdma/rdma_user_rxe.h>

#include "sw/verbs/qp/qp.h"
#include "sw/verbs/qp/sq.h"
#include "lib/hostile.h"
#include "lib/packet.h"

KUNIT_ARRAY_PARAM(hostile, hostile_values, hostile_desc);

#define SQ_WR		7
#define SQ_SGE		4
#define SQ_INLINE	64

struct sq_bench {
	struct rhca_verbs_qp qp;
	struct rhca_verbs_dev *dev;
	struct rxe_send_wqe *slot;
};

static int sq_init(struct kunit *test)
{
	struct sq_bench *b = test_alloc(test, sizeof(*b));
	struct ib_qp_cap cap = {
		.max_send_wr = SQ_WR, .max_send_sge = SQ_SGE,
		.max_inline_data = SQ_INLINE,
	};
	struct rhca_sq *sq = &b->qp.sq;
	u32 bytes = sizeof(struct rxe_send_wqe) + SQ_INLINE;
	int ret;

	test->priv = b;
	b->dev = test_alloc(test, sizeof(*b->dev));
	xa_init_flags(&b->dev->paths, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	b->qp.dev = b->dev;
	b->qp.is_user = true;
	b->qp.type = IB_QPT_RC;
	ret = rhca_sq_init(sq, &cap, NULL, NULL);
	if (ret)
		return ret;
	ret = rhca_ring_alloc(&sq->ring, sq->max_wr, bytes, NULL, NULL);
	if (!ret)
		b->slot = rhca_ring_slot(&sq->ring, 0);
	return ret;
}

static void sq_exit(struct kunit *test)
{
	struct sq_bench *b = test->priv;

	rhca_sq_exit(&b->qp.sq);
}

#define BAD	IB_WC_LOC_QP_OP_ERR

#define ON(qp, wr)		IB_QPT_##qp, IB_WR_##wr
#define LIST(entries, each)	.num_sge = (entries), .sge_bytes = (each)
#define INLINE(bytes)		.flags = IB_SEND_INLINE, .inline_bytes = (bytes)
#define UNFLAGGED(bytes)	.inline_bytes = (bytes)
#define IS(what)		.status = (what)

/* A work request as a process writes it */
static const struct fetch_case {
	const char *desc;		/* of the request */
	enum ib_qp_type type;		/* of the QP */
	u32 opcode;			/* enum ib_wr_opcode */
	u32 flags;			/* enum ib_send_flags */
	u32 num_sge;			/* as the request claims */
	u32 sge_bytes;			/* of each entry */
	u32 inline_bytes;		/* as the request claims */
	enum ib_wc_status status;	/* status of its completion */
	u32 length;			/* bytes of a valid message */
} fetch_cases[] = {
	{ "SEND of two entries", ON(RC, SEND), LIST(2, 100), .length = 200 },
	{ "SEND of all entries", ON(RC, SEND), LIST(SQ_SGE, 1), .length = SQ_SGE },
	{ "one entry too many", ON(RC, SEND), LIST(SQ_SGE + 1, 1), IS(BAD) },
	{ "largest number of entries", ON(RC, SEND), LIST(U32_MAX, 1), IS(BAD) },
	{ "entries that overflow a size", ON(RC, SEND), LIST(0x10000000, 1), IS(BAD) },
	{ "inline SEND", ON(RC, SEND), INLINE(SQ_INLINE), .num_sge = U32_MAX, .length = SQ_INLINE },
	{ "one inline byte too many", ON(RC, SEND), INLINE(SQ_INLINE + 1), IS(BAD) },
	{ "inline READ", ON(RC, RDMA_READ), INLINE(8), IS(BAD) },
	{ "inline atomic", ON(RC, ATOMIC_FETCH_AND_ADD), INLINE(8), IS(BAD) },
	{ "most inline bytes", ON(RC, SEND), INLINE(U32_MAX), IS(BAD) },
	{ "inline SEND of ibv_wr_*", ON(RC, SEND), UNFLAGGED(SQ_INLINE), .length = SQ_INLINE },
	{ "too many bytes of ibv_wr_*", ON(RC, SEND), UNFLAGGED(SQ_INLINE + 1), IS(BAD) },
	{ "inline READ of ibv_wr_*", ON(RC, RDMA_READ), UNFLAGGED(8), IS(BAD) },
	{ "ATOMIC WRITE", IB_QPT_RC, RHCA_WR_ATOMIC_WRITE, UNFLAGGED(8), .length = 8 },
	{ "ATOMIC WRITE of a list", IB_QPT_RC, RHCA_WR_ATOMIC_WRITE, LIST(1, 8), .length = 8 },
	{ "empty ATOMIC WRITE", IB_QPT_RC, RHCA_WR_ATOMIC_WRITE, IS(BAD) },
	{ "longest message", ON(RC, RDMA_WRITE), LIST(2, 0x40000000), .length = 0x80000000 },
	{ "longer than a message", ON(RC, RDMA_WRITE), LIST(3, 0x40000000), IS(IB_WC_LOC_LEN_ERR) },
	{ "length that overflows 32 bits", ON(RC, SEND),
	  LIST(2, 0x80000001), IS(IB_WC_LOC_LEN_ERR) },
	{ "opcode after the table", IB_QPT_RC, 16, IS(BAD) },
	{ "opcode far after it", IB_QPT_RC, U32_MAX, IS(BAD) },
	{ "opcode in a hole of the table", ON(RC, LSO), IS(BAD) },
	{ "fast registration is the kernel's", ON(RC, REG_MR), IS(BAD) },
	{ "READ with invalidate is iWARP's", ON(RC, RDMA_READ_WITH_INV), LIST(1, 8), IS(BAD) },
	{ "READ on UC", ON(UC, RDMA_READ), LIST(1, 8), IS(BAD) },
	{ "atomic on UC", ON(UC, ATOMIC_FETCH_AND_ADD), LIST(1, 8), IS(BAD) },
	{ "WRITE on UC", ON(UC, RDMA_WRITE), LIST(1, 8), .length = 8 },
	{ "atomic of 8 bytes", ON(RC, ATOMIC_CMP_AND_SWP), LIST(1, 8), .length = 8 },
	{ "atomic of 4 bytes", ON(RC, ATOMIC_CMP_AND_SWP), LIST(1, 4), IS(BAD) },
	{ "atomic of 16 bytes", ON(RC, ATOMIC_FETCH_AND_ADD), LIST(2, 8), IS(BAD) },
	{ "local operations take no list", ON(RC, LOCAL_INV), .num_sge = U32_MAX, .length = 0 },
	{ "WRITE as a datagram", ON(UD, RDMA_WRITE), IS(BAD) },
	{ "datagram to no address handle", ON(UD, SEND), IS(BAD) },
};
KUNIT_ARRAY_PARAM_DESC(fetch, fetch_cases, desc);

static void write_request(struct sq_bench *b, const struct fetch_case *c)
{
	u32 i;

	b->qp.type = c->type;
	b->slot->wr.wr_id = 0x1234;
	b->slot->wr.opcode = c->opcode;
	b->slot->wr.send_flags = c->flags;
	b->slot->dma.num_sge = c->num_sge;
	b->slot->dma.length = c->inline_bytes;
	for (i = 0; i < min_t(u32, c->num_sge, SQ_SGE); i++)
		b->slot->dma.sge[i].length = c->sge_bytes;
	b->qp.sq.ring.shared->producer_index = 1;
}

static void request_of_a_process_is_checked(struct kunit *test)
{
	const struct fetch_case *c = test->param_value;
	struct sq_bench *b = test->priv;
	struct rhca_send_wqe *wqe = rhca_sq_wqe(&b->qp.sq, 0);
	struct rhca_port *port = test_alloc(test, sizeof(*port));

	b->qp.port = port;
	write_request(b, c);
	KUNIT_ASSERT_TRUE(test, rhca_sq_fetch(&b->qp));
	KUNIT_EXPECT_EQ(test, wqe->wr_id, 0x1234);
	KUNIT_EXPECT_EQ(test, (int)wqe->status, (int)c->status);
	KUNIT_EXPECT_LE(test, wqe->num_sge, SQ_SGE);
	if (c->status == IB_WC_SUCCESS)
		KUNIT_EXPECT_EQ(test, wqe->length, c->length);
	KUNIT_EXPECT_FALSE(test, rhca_sq_fetch(&b->qp));
	rhca_sq_complete(&b->qp, 1);
	KUNIT_EXPECT_EQ(test, b->qp.sq.ring.shared->consumer_index, 1);
}

/* The layout of wr.flush in librxe, which the headers of older kernels lack */
struct flush_slot {
	__aligned_u64 remote_addr;
	__u32 length;
	__u32 rkey;
	__u8 type;
	__u8 level;
};

static const struct flush_case {
	const char *desc;
	u8 type;
	u8 level;
	enum ib_wc_status status;
} flush_cases[] = {
	{ "range to global visibility", 1, 0 },
	{ "region to persistence", 2, 1 },
	{ "both", 3, 0 },
	{ "no placement type", 0, 0, BAD },
	{ "unknown placement type", 4, 0, BAD },
	{ "unknown selectivity", 1, 2, BAD },
};
KUNIT_ARRAY_PARAM_DESC(flush, flush_cases, desc);

static void flush_checks_type_and_range(struct kunit *test)
{
	const struct flush_case *c = test->param_value;
	struct sq_bench *b = test->priv;
	struct rhca_send_wqe *wqe = rhca_sq_wqe(&b->qp.sq, 0);
	const struct fetch_case request = {
		.type = IB_QPT_RC, .opcode = RHCA_WR_FLUSH,
		.num_sge = U32_MAX,
	};
	struct flush_slot slot = {
		.remote_addr = 0x1122334455667788, .length = U32_MAX,
		.rkey = 0x99aabbcc, .type = c->type, .level = c->level,
	};

	write_request(b, &request);
	memcpy(&b->slot->wr.wr, &slot, sizeof(slot));
	KUNIT_ASSERT_TRUE(test, rhca_sq_fetch(&b->qp));
	KUNIT_ASSERT_EQ(test, (int)wqe->status, (int)c->status);
	KUNIT_EXPECT_EQ(test, wqe->num_sge, 0);
	KUNIT_EXPECT_EQ(test, wqe->length, 0);
	KUNIT_EXPECT_EQ(test, wqe->remote_addr, slot.remote_addr);
	KUNIT_EXPECT_EQ(test, wqe->rkey, slot.rkey);
	KUNIT_EXPECT_EQ(test, wqe->flush_bytes, slot.length);
	KUNIT_EXPECT_EQ(test, wqe->placement, c->type);
	KUNIT_EXPECT_EQ(test, wqe->selectivity, c->level);
}

static void request_is_a_copy(struct kunit *test)
{
	struct sq_bench *b = test->priv;
	struct rhca_send_wqe *wqe = rhca_sq_wqe(&b->qp.sq, 0);

	write_request(b, &fetch_cases[0]);
	KUNIT_ASSERT_TRUE(test, rhca_sq_fetch(&b->qp));
	memset(b->slot, 0xff, sizeof(*b->slot) + SQ_INLINE);
	KUNIT_EXPECT_EQ(test, wqe->opcode, IB_WR_SEND);
	KUNIT_EXPECT_EQ(test, wqe->num_sge, 2);
	KUNIT_EXPECT_EQ(test, wqe->sge[1].length, 100);
}

static void unknown_flags_are_dropped(struct kunit *test)
{
	struct sq_bench *b = test->priv;

	write_request(b, &fetch_cases[0]);
	b->slot->wr.send_flags = ~(u32)IB_SEND_INLINE;
	KUNIT_ASSERT_TRUE(test, rhca_sq_fetch(&b->qp));
	KUNIT_EXPECT_EQ(test, rhca_sq_wqe(&b->qp.sq, 0)->send_flags,
			IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED);
}

static void invalid_producer_index_yields_no_requests(struct kunit *test)
{
	u32 value = *(const u32 *)test->param_value;
	struct sq_bench *b = test->priv;
	u32 left = value & b->qp.sq.ring.mask;
	u32 fetched;

	b->qp.sq.ring.shared->producer_index = value;
	do {
		for (fetched = 0; rhca_sq_fetch(&b->qp); fetched++)
			KUNIT_ASSERT_LT(test, fetched, left);
		KUNIT_EXPECT_EQ(test, fetched, min(left, b->qp.sq.max_wr));
		while (b->qp.sq.head != b->qp.sq.tail)
			rhca_sq_complete(&b->qp, 1);
		left -= fetched;
	} while (fetched);
	KUNIT_EXPECT_EQ(test, left, 0);
}

TEST_SUITE_WITH(rhca_sq, sq_init, sq_exit,
		KUNIT_CASE_PARAM(request_of_a_process_is_checked, fetch_gen_params),
		KUNIT_CASE_PARAM(flush_checks_type_and_range, flush_gen_params),
		KUNIT_CASE(request_is_a_copy),
		KUNIT_CASE(unknown_flags_are_dropped),
		KUNIT_CASE_PARAM(invalid_producer_index_yields_no_requests, hostile_gen_params));
