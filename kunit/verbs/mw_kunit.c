// SPDX-License-Identifier: GPL-2.0
/*
 * Fences: a verb that revokes access to memory returns, and a work request that does so completes,
 * only when no packet uses the memory any more. The test plays a packet that uses it for any time.
 */
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <rdma/ib_umem.h>

#include "sw/verbs/qp/qp.h"
#include "lib/course.h"
#include "lib/elsewhere.h"
#include "sw/verbs/memory/mr.h"
#include "sw/verbs/memory/mw.h"

#define REGION_BYTES	8192
#define RIGHTS		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_MW_BIND)

static const struct test_qp_spec open_qp = {
	.access = RIGHTS, .responder_resources = 16, .initiator_depth = 16,
	.retries = 7,
};

/* A QP and a region that windows may be bound to */
static struct bench *setup(struct kunit *test)
{
	return test_bench_mr(test, &open_qp, REGION_BYTES);
}

/* --- the packet ------------------------------------------------------------------ */

static struct rhca_mem *use(struct bench *b, u32 rkey, int access)
{
	struct rhca_remote remote = {
		.dev	= to_verbs_dev(b->hca->ibdev),
		.pd	= b->hca->pd,
		.qp_num	= b->qp->qp_num,
		.rkey	= rkey,
		.va	= (uintptr_t)b->hca->buffer,
		.length	= 64,
		.access	= access,
	};
	struct rhca_mem *mem, *held = NULL;

	local_bh_disable();
	mem = rhca_mem_hold_remote(&held, &remote);
	if (!mem)
		rhca_mem_release(&held);
	local_bh_enable();
	return mem;
}

static struct rhca_mem *write_by(struct bench *b, u32 rkey)
{
	return use(b, rkey, IB_ACCESS_REMOTE_WRITE);
}

static void stop(struct rhca_mem *mem)
{
	local_bh_disable();
	rhca_mem_put(mem);
	local_bh_enable();
}

static bool usable(struct bench *b, u32 rkey, int access)
{
	struct rhca_mem *mem = use(b, rkey, access);

	stop(mem);
	return mem;
}

/* --- packets processed together -------------------------------------------------- */

/* Memory in use, and a key requested next */
static const struct hold_case {
	const char *desc;
	bool other_key;		/* the next key is different */
	bool other_device;	/* the same key of another device; some keys exist on several */
	bool invalid;	/* it is being invalidated: continued use could block the waiter for ever */
	bool goes_on;		/* the use continues, and is not counted twice */
} hold_cases[] = {
	{ "same key", .goes_on = true },
	{ "another key", .other_key = true },
	{ "key of another device", .other_device = true },
	{ "key that is invalidated", .invalid = true },
};
KUNIT_ARRAY_PARAM_DESC(hold, hold_cases, desc);

/* As in a batch, with softirqs off in between */
static void held_memory_is_used_again_for_its_key(struct kunit *test)
{
	const struct hold_case *c = test->param_value;
	struct rhca_verbs_dev *other = test_alloc(test, sizeof(*other));
	struct bench *b = setup(test);
	struct rhca_verbs_dev *dev = to_verbs_dev(b->hca->ibdev);
	struct rhca_mem *mem, *held = NULL;
	u32 key = b->hca->mr->rkey;

	xa_init(&other->keys);
	local_bh_disable();
	mem = rhca_mem_hold(&held, dev, key);
	KUNIT_EXPECT_NOT_NULL(test, mem);
	if (mem) {
		WRITE_ONCE(mem->state, c->invalid ? RHCA_MEM_INVALID : mem->state);
		KUNIT_EXPECT_PTR_EQ(test, c->goes_on ? mem : NULL,
				    rhca_mem_hold(&held, c->other_device ? other : dev,
						  key ^ c->other_key));
		KUNIT_EXPECT_EQ(test, c->goes_on, atomic_read(&mem->users));
		rhca_mem_set_valid(mem);
		rhca_mem_release(&held);
		KUNIT_EXPECT_NULL(test, held);
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&mem->users));
	}
	local_bh_enable();
}

/* --- verbs that wait ------------------------------------------------------------- */

/* The verb must sleep, and return only after @mem is released */
static void expect_wait(struct bench *b, int (*verb)(struct kunit *test, void *object),
			void *object, struct rhca_mem *mem, enum rhca_mem_state *state)
{
	struct kunit *test = b->hca->test;
	struct elsewhere *e = test_elsewhere(test, verb, object);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	test_begin(e);
	test_becomes(completion_done(&e->done) ||
		     (READ_ONCE(*state) != RHCA_MEM_VALID && test_sleeps(e)));
	if (test_waits(e)) {
		KUNIT_EXPECT_NE(test, READ_ONCE(*state), RHCA_MEM_VALID);
		KUNIT_EXPECT_TRUE(test, test_sleeps(e));
		stop(mem);
	}
	test_end(e);
}

static int dereg_mr(struct kunit *test, void *mr)
{
	return ((struct ib_mr *)mr)->device->ops.dereg_mr(mr, NULL);
}

static int dereg_tracked_mr(struct kunit *test, void *mr)
{
	return ib_dereg_mr(mr);
}

static int dealloc_mw(struct kunit *test, void *mw)
{
	return ((struct ib_mw *)mw)->device->ops.dealloc_mw(mw);
}

static int rereg(struct ib_mr *mr, int flags, int access, struct ib_pd *pd)
{
	return PTR_ERR_OR_ZERO(mr->device->ops.rereg_user_mr(mr, flags, 0, 0, 0, access, pd, NULL));
}

static int take_rights(struct kunit *test, void *mr)
{
	return rereg(mr, IB_MR_REREG_ACCESS, IB_ACCESS_REMOTE_READ, NULL);
}

static int destroy_qp(struct kunit *test, void *qp)
{
	return ib_destroy_qp(qp);
}

/* --- windows --------------------------------------------------------------------- */

static struct rhca_mw *window(struct kunit *test, struct bench *b, enum ib_mw_type type)
{
	struct rhca_mw *mw = test_alloc(test, sizeof(*mw));

	mw->ibmw.device = b->hca->ibdev;
	mw->ibmw.pd = b->hca->pd;
	mw->ibmw.type = type;
	KUNIT_ASSERT_EQ(test, 0, b->hca->ibdev->ops.alloc_mw(&mw->ibmw, NULL));
	return mw;
}

static int bind_as(struct bench *b, struct rhca_mw *mw, u32 key_xor, u32 bytes, int access)
{
	struct rhca_bind bind = {
		.window_key	= mw->mem->key,
		.new_key	= mw->mem->key ^ key_xor,
		.region_key	= b->hca->mr->lkey,
		.addr		= (uintptr_t)b->hca->buffer,
		.length		= bytes,
		.access		= access,
	};
	int ret;

	local_bh_disable();
	ret = rhca_mw_bind(to_verbs_dev(b->hca->ibdev), b->hca->pd, b->qp->qp_num, &bind);
	local_bh_enable();
	return ret;
}

static int bind(struct bench *b, struct rhca_mw *mw, u32 bytes, int access)
{
	return bind_as(b, mw, 1, bytes, access);
}

static struct rhca_mw *bound_window(struct kunit *test, struct bench *b, enum ib_mw_type type)
{
	struct rhca_mw *mw = window(test, b, type);

	KUNIT_ASSERT_EQ(test, 0, bind(b, mw, REGION_BYTES, IB_ACCESS_REMOTE_WRITE));
	return mw;
}

static void deallocation_of_a_window_waits(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_mw *mw = bound_window(test, b, IB_MW_TYPE_1);

	expect_wait(b, dealloc_mw, &mw->ibmw, write_by(b, mw->mem->key), &mw->mem->state);
}

static const struct {
	const char *desc;
	u32 bytes;
	int access;
} rebinds[] = {
	{ "to nothing" },
	{ "with other rights", 64, IB_ACCESS_REMOTE_READ },
};
KUNIT_ARRAY_PARAM_DESC(rebind, rebinds, desc);

static void rebinding_waits(struct kunit *test)
{
	const typeof(rebinds[0]) *c = test->param_value;
	struct bench *b = setup(test);
	struct rhca_mw *mw = bound_window(test, b, IB_MW_TYPE_1);
	u32 old_key = mw->mem->key;
	struct rhca_mem *mem = write_by(b, old_key);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, bind(b, mw, c->bytes, c->access));
	KUNIT_EXPECT_NULL(test, write_by(b, old_key));
	KUNIT_EXPECT_EQ(test, mem->length, REGION_BYTES);
	stop(mem);
	KUNIT_EXPECT_EQ(test, 0, bind(b, mw, c->bytes, c->access));
	KUNIT_EXPECT_NULL(test, write_by(b, old_key));
	KUNIT_EXPECT_NULL(test, write_by(b, mw->mem->key));
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(test, &mw->ibmw));
	KUNIT_EXPECT_EQ(test, 0, to_rhca_mr(b->hca->mr)->mem.num_windows);
}

/* What a bind request or its region differs in from a permitted one */
static const struct bad_bind {
	const char *desc;
	u32 key_xor, longer;
	int access, lacks;	/* further rights of the window, and missing ones of the region */
	bool dma;		/* it is a DMA region */
	bool foreign;		/* it is in another domain */
} bad_binds[] = {
	{ "unchanged key", .key_xor = 1 },
	{ "another index", .key_xor = 0x100 },
	{ "over the end", .longer = 1 },
	{ "right that windows do not have", .access = IB_ACCESS_MW_BIND },
	{ "read-only region, C10-75", .lacks = IB_ACCESS_LOCAL_WRITE },
	{ "region that forbids it", .lacks = IB_ACCESS_MW_BIND },
	{ "DMA region", .dma = true },
	{ "region of another domain", .foreign = true },
};
KUNIT_ARRAY_PARAM_DESC(bad_bind, bad_binds, desc);

static void bad_bind_is_refused(struct kunit *test)
{
	const struct bad_bind *c = test->param_value;
	struct bench *b = setup(test);
	struct rhca_mw *mw = window(test, b, IB_MW_TYPE_1);
	struct rhca_mem *region = &to_rhca_mr(b->hca->mr)->mem;

	region->kind = c->dma ? RHCA_MEM_DMA : region->kind;
	region->access &= ~c->lacks;
	region->pd = c->foreign ? (void *)b : region->pd;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			bind_as(b, mw, 1 ^ c->key_xor, REGION_BYTES + c->longer,
				IB_ACCESS_REMOTE_WRITE | c->access));
	KUNIT_EXPECT_EQ(test, 0, region->num_windows);
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(test, &mw->ibmw));
}

/* A key that the peer may not invalidate, of a region of this kind or a window */
static const struct kept_key {
	const char *desc;
	enum rhca_mem_kind kind;
	int rights;
	u32 key_xor, qp_xor;
	bool foreign;
} kept_keys[] = {
	{ "region of a process", RHCA_MEM_USER, RIGHTS },
	{ "fast region without remote rights", RHCA_MEM_FAST_REG, IB_ACCESS_LOCAL_WRITE },
	{ "type 1 window", RHCA_MEM_WINDOW_1 },
	{ "old low byte", RHCA_MEM_WINDOW_2, .key_xor = 1 },
	{ "another QP's window", RHCA_MEM_WINDOW_2, .qp_xor = 1 },
	{ "another domain's window", RHCA_MEM_WINDOW_2, .foreign = true },
};
KUNIT_ARRAY_PARAM_DESC(kept_key, kept_keys, desc);

static void peer_invalidates_only_what_it_may(struct kunit *test)
{
	const struct kept_key *c = test->param_value;
	struct bench *b = setup(test);
	struct rhca_mw *mw = bound_window(test, b, c->kind == RHCA_MEM_WINDOW_2 ? IB_MW_TYPE_2 :
										IB_MW_TYPE_1);
	struct rhca_mem *region = &to_rhca_mr(b->hca->mr)->mem, *mem = c->rights ? region : mw->mem;
	struct ib_pd *pd = c->foreign ? (void *)b : b->hca->pd;

	if (c->rights) {
		region->kind = c->kind;
		region->access = c->rights;
	}
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rhca_key_invalidate(to_verbs_dev(b->hca->ibdev), pd, mem->key ^ c->key_xor,
					    b->qp->qp_num ^ c->qp_xor, true));
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, mem->state, RHCA_MEM_VALID);
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(test, &mw->ibmw));
}

/* As storage does: one region that is always busy, and many windows */
static void window_does_not_wait_for_users_of_its_region(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_mw *mw = bound_window(test, b, IB_MW_TYPE_2);
	struct rhca_mw *mw2 = bound_window(test, b, IB_MW_TYPE_2);
	struct rhca_mem *busy = write_by(b, b->hca->mr->rkey);
	struct rhca_mem *other = write_by(b, mw2->mem->key);
	int ret;

	KUNIT_EXPECT_NOT_NULL(test, busy);
	KUNIT_EXPECT_NOT_NULL(test, other);
	local_bh_disable();
	ret = rhca_key_invalidate(to_verbs_dev(b->hca->ibdev), b->hca->pd,
				  mw->mem->key, b->qp->qp_num, true);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, 0, ret);
	/* C10-70.2.1 */
	KUNIT_EXPECT_EQ(test, -EINVAL, bind(b, mw2, 64, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, -EINVAL, bind(b, mw, 0, 0));
	stop(other);
	stop(busy);
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(test, &mw->ibmw));
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(test, &mw2->ibmw));
}

/* --- regions --------------------------------------------------------------------- */

static struct ib_mr *dma_mr(struct bench *b)
{
	struct ib_mr *mr = b->hca->ibdev->ops.get_dma_mr(b->hca->pd, RIGHTS);

	KUNIT_ASSERT_FALSE(b->hca->test, IS_ERR(mr));
	mr->device = b->hca->ibdev;
	mr->pd = b->hca->pd;
	return mr;
}

static void deregistration_waits(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_mr *mr = dma_mr(b);

	expect_wait(b, dereg_mr, mr, write_by(b, mr->rkey), &to_rhca_mr(mr)->mem.state);
}

/* The window is gone, and with it the refusal to deregister its region */
static void deregistration_waits_for_users_of_a_window(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_mw *mw = bound_window(test, b, IB_MW_TYPE_1);
	struct ib_mr *mr = b->hca->mr;
	struct rhca_mem *mem;

	KUNIT_EXPECT_EQ(test, -EINVAL, dereg_mr(test, mr));
	mem = write_by(b, mw->mem->key);
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, bind(b, mw, 0, 0));
	b->hca->mr = NULL;
	expect_wait(b, dereg_tracked_mr, mr, mem, &to_rhca_mr(mr)->mem.state);
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(test, &mw->ibmw));
}

static void new_rights_wait_for_users_by_the_old_ones(struct kunit *test)
{
	struct bench *b = setup(test);
	struct ib_mr *mr = dma_mr(b);
	struct ib_umem umem = {};

	to_rhca_mr(mr)->umem = &umem;
	expect_wait(b, take_rights, mr, write_by(b, mr->rkey), &to_rhca_mr(mr)->mem.state);
	KUNIT_EXPECT_FALSE(test, usable(b, mr->rkey, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_TRUE(test, usable(b, mr->rkey, IB_ACCESS_REMOTE_READ));
	/* Not to write to pages that were pinned for reading */
	KUNIT_EXPECT_EQ(test, -EACCES, rereg(mr, IB_MR_REREG_ACCESS, RIGHTS, NULL));
	KUNIT_EXPECT_FALSE(test, usable(b, mr->rkey, IB_ACCESS_REMOTE_WRITE));
	umem.writable = true;
	KUNIT_EXPECT_EQ(test, 0, rereg(mr, IB_MR_REREG_ACCESS, RIGHTS, NULL));
	KUNIT_EXPECT_TRUE(test, usable(b, mr->rkey, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, 0, rereg(mr, IB_MR_REREG_PD, 0, (void *)b));
	KUNIT_EXPECT_FALSE(test, usable(b, mr->rkey, IB_ACCESS_REMOTE_WRITE));
	to_rhca_mr(mr)->umem = NULL;
	KUNIT_EXPECT_EQ(test, 0, dereg_mr(test, mr));
}

static void rights_stay_while_windows_have_them(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_mr *mr = to_rhca_mr(b->hca->mr);
	struct ib_umem umem = {};
	struct rhca_mw *mw;

	mr->umem = &umem;
	mw = bound_window(test, b, IB_MW_TYPE_1);
	KUNIT_EXPECT_EQ(test, -EINVAL, take_rights(test, &mr->ibmr));
	KUNIT_EXPECT_TRUE(test, usable(b, mr->mem.key, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, 0, dealloc_mw(test, &mw->ibmw));
	KUNIT_EXPECT_EQ(test, 0, take_rights(test, &mr->ibmr));
	KUNIT_EXPECT_NULL(test, write_by(b, mr->mem.key));
	mr->umem = NULL;
}

/* --- work requests and QPs ------------------------------------------------------- */

static void map(struct bench *b, struct scatterlist *sg, int num, unsigned int bytes)
{
	KUNIT_EXPECT_EQ(b->hca->test, num,
			ib_dma_map_sg(b->hca->ibdev, sg, num, DMA_BIDIRECTIONAL));
	KUNIT_EXPECT_EQ(b->hca->test, num, ib_map_mr_sg(b->hca->mr, sg, num, NULL, bytes));
}

static void map_page(struct bench *b, void *page)
{
	struct scatterlist sg;

	sg_init_one(&sg, page, PAGE_SIZE);
	map(b, &sg, 1, PAGE_SIZE);
}

/* Contiguous bytes from @distance on; 0 if they are not at @at */
static unsigned int found_at(struct bench *b, u64 distance, const u8 *at)
{
	unsigned int offset, bytes = 0;
	struct rhca_mem *mem;
	struct page *page;

	local_bh_disable();
	mem = rhca_mem_get(to_verbs_dev(b->hca->ibdev), b->hca->mr->rkey);
	page = mem ? rhca_mem_page(mem, mem->iova + distance, &offset, &bytes) : NULL;
	if (page != virt_to_page(at) || offset != offset_in_page(at))
		bytes = 0;
	rhca_mem_put(mem);
	local_bh_enable();
	return bytes;
}

/* Let the key refer to the memory mapped since */
static void register_again(struct bench *b)
{
	struct ib_reg_wr reg = {
		.wr = { .opcode = IB_WR_REG_MR },
		.mr = b->hca->mr, .key = b->hca->mr->rkey, .access = RIGHTS,
	};
	struct ib_send_wr invalidate = {
		.opcode = IB_WR_LOCAL_INV, .next = &reg.wr,
		.ex.invalidate_rkey = b->hca->mr->rkey,
	};

	KUNIT_ASSERT_EQ(b->hca->test, 0, ib_post_send(b->qp, &invalidate, NULL));
}

/* iSER and SRP map first, then post invalidation and registration in one list */
static void pages_stay_until_the_key_is_registered_again(struct kunit *test)
{
	struct bench *b = setup(test);
	u8 *first = b->hca->buffer, *second = first + 4 * PAGE_SIZE, *third = second + PAGE_SIZE;

	KUNIT_EXPECT_TRUE(test, found_at(b, 0, first));
	map_page(b, second);
	KUNIT_EXPECT_TRUE(test, found_at(b, 0, first));

	register_again(b);
	KUNIT_EXPECT_TRUE(test, found_at(b, 0, second));
	/* Without another map, it is the same memory */
	register_again(b);
	KUNIT_EXPECT_TRUE(test, found_at(b, 0, second));
	map_page(b, third);
	KUNIT_EXPECT_TRUE(test, found_at(b, 0, second));
	register_again(b);
	KUNIT_EXPECT_TRUE(test, found_at(b, 0, third));
}

/*
 * The user's page size: 4 KiB for NVMe and iSER, even if the kernel's pages are larger, and 128 KiB
 * for RTRS.
 */
static const struct piece_case {
	const char *desc;
	unsigned int bytes;
} piece_cases[] = {
	{ "a part of a page", PAGE_SIZE / 4 },
	{ "a page", PAGE_SIZE },
	{ "several pages", 4 * PAGE_SIZE },
};
KUNIT_ARRAY_PARAM_DESC(piece, piece_cases, desc);

/* Pieces of the buffer, mapped out of order */
static const unsigned int piece_order[] = { 2, 0, 3 };

static void map_pieces(struct bench *b, unsigned int bytes)
{
	const int num = ARRAY_SIZE(piece_order);
	struct scatterlist sg[ARRAY_SIZE(piece_order)];
	int i;

	sg_init_table(sg, num);
	for (i = 0; i < num; i++)
		sg_set_buf(&sg[i], b->hca->buffer + piece_order[i] * bytes, bytes);
	map(b, sg, num, bytes);
}

static void pages_of_a_region_are_those_of_the_kernel(struct kunit *test)
{
	const struct piece_case *c = test->param_value;
	struct bench *b = setup(test);
	unsigned int distance = 0, in_piece, found;
	const u8 *at;

	map_pieces(b, c->bytes);
	register_again(b);
	while (distance < ARRAY_SIZE(piece_order) * c->bytes) {
		in_piece = distance % c->bytes;
		at = b->hca->buffer + piece_order[distance / c->bytes] * c->bytes + in_piece;
		found = found_at(b, distance, at);
		KUNIT_ASSERT_GT(test, found, 0);
		KUNIT_ASSERT_LE(test, found, c->bytes - in_piece);
		/* Once, look up an address inside a page */
		distance += found > 5 && !(distance % PAGE_SIZE) ? 5 : found;
	}
}

/* SMC registers a buffer of 4 MiB at once */
static void longest_registration_has_all_its_pages(struct kunit *test)
{
	struct bench *b = setup(test);
	u32 i, num = b->hca->ibdev->attrs.max_fast_reg_page_list_len;
	struct scatterlist *sg;
	struct sg_table table;

	KUNIT_ASSERT_GE(test, (u64)num * PAGE_SIZE, SZ_4M);
	ib_dereg_mr(b->hca->mr);
	b->hca->mr = ib_alloc_mr(b->hca->pd, IB_MR_TYPE_MEM_REG, num);
	if (IS_ERR(b->hca->mr))
		b->hca->mr = NULL;
	KUNIT_ASSERT_NOT_NULL(test, b->hca->mr);
	KUNIT_ASSERT_EQ(test, 0, sg_alloc_table(&table, num, GFP_KERNEL));
	/* Two pages in turn, so that none lies behind the one before */
	for_each_sgtable_sg(&table, sg, i)
		sg_set_buf(sg, b->hca->buffer + (i & 1 ? 0 : 2) * PAGE_SIZE, PAGE_SIZE);
	map(b, table.sgl, num, PAGE_SIZE);
	sg_free_table(&table);
	register_again(b);
	KUNIT_EXPECT_EQ(test, 1, found_at(b, (u64)num * PAGE_SIZE - 1,
					  b->hca->buffer + PAGE_SIZE - 1));
}

static void local_invalidation_completes_without_users(struct kunit *test)
{
	struct ib_send_wr wr = { .wr_id = 7, .opcode = IB_WR_LOCAL_INV };
	struct rhca_mem *mem;
	struct ib_wc wc;
	struct bench *b = setup(test);

	mem = write_by(b, b->hca->mr->rkey);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	wr.ex.invalidate_rkey = b->hca->mr->rkey;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(b->qp, &wr, NULL));
	KUNIT_EXPECT_NULL(test, write_by(b, b->hca->mr->rkey));
	msleep(20);
	KUNIT_EXPECT_FALSE(test, test_poll(b->hca, &wc));
	stop(mem);
	KUNIT_ASSERT_TRUE(test, test_poll_in_time(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 7);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
}

/* What is at the address of a region that was deregistered after its registration was posted */
static const struct gone_case {
	const char *desc;
	bool key_is_used;	/* by another region */
} gone_cases[] = {
	{ "key of no region" },
	{ "key of another region", .key_is_used = true },
};
KUNIT_ARRAY_PARAM_DESC(gone, gone_cases, desc);

/* SMC deregisters a region when a signal ends its wait for the registration */
static void registration_of_a_freed_region_touches_nothing(struct kunit *test)
{
	const struct gone_case *c = test->param_value;
	struct rhca_mr *gone = test_alloc(test, sizeof(*gone));
	struct bench *b = setup(test);
	struct ib_reg_wr reg = {
		.wr = { .opcode = IB_WR_REG_MR },
		.mr = &gone->ibmr, .access = RIGHTS,
		.key = c->key_is_used ? b->hca->mr->rkey : U32_MAX,
	};
	struct ib_wc wc;

	spin_lock_init(&gone->mem.binding_lock);
	gone->mem.kind = RHCA_MEM_FAST_REG;
	gone->mem.pd = b->hca->pd;
	gone->mem.key = reg.key;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(b->qp, &reg.wr, NULL));
	KUNIT_EXPECT_EQ(test, gone->mem.state, RHCA_MEM_INVALID);
	KUNIT_ASSERT_TRUE(test, test_poll_in_time(b->hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_MW_BIND_ERR);
}

static void destruction_of_a_qp_waits_for_its_packet(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_verbs_qp *qp;
	struct elsewhere *e;

	rcu_read_lock();
	qp = rhca_qp_get_handle(rhca_qp_find_handle(b->qp->qp_num));
	rcu_read_unlock();
	KUNIT_ASSERT_NOT_NULL(test, qp);
	b->hca->num_qps--;
	e = test_begin(test_elsewhere(test, destroy_qp, b->qp));
	if (test_waits(e))
		rhca_qp_put(qp);
	test_end(e);
}

TEST_SUITE(rhca_mw,
	   KUNIT_CASE_PARAM(held_memory_is_used_again_for_its_key, hold_gen_params),
	   KUNIT_CASE(deallocation_of_a_window_waits),
	   KUNIT_CASE_PARAM(rebinding_waits, rebind_gen_params),
	   KUNIT_CASE_PARAM(bad_bind_is_refused, bad_bind_gen_params),
	   KUNIT_CASE_PARAM(peer_invalidates_only_what_it_may, kept_key_gen_params),
	   KUNIT_CASE(window_does_not_wait_for_users_of_its_region),
	   KUNIT_CASE(deregistration_waits),
	   KUNIT_CASE(deregistration_waits_for_users_of_a_window),
	   KUNIT_CASE(new_rights_wait_for_users_by_the_old_ones),
	   KUNIT_CASE(rights_stay_while_windows_have_them),
	   KUNIT_CASE_PARAM(pages_of_a_region_are_those_of_the_kernel, piece_gen_params),
	   KUNIT_CASE(longest_registration_has_all_its_pages),
	   KUNIT_CASE(pages_stay_until_the_key_is_registered_again),
	   KUNIT_CASE(local_invalidation_completes_without_users),
	   KUNIT_CASE_PARAM(registration_of_a_freed_region_touches_nothing,
			    gone_gen_params),
	   KUNIT_CASE(destruction_of_a_qp_waits_for_its_packet));
