// SPDX-License-Identifier: GPL-2.0
/* Which ranges a key permits, which page an address is in, and how users are waited for. */
#include <kunit/static_stub.h>
#include <linux/mm.h>
#include <linux/percpu.h>

#include "lib/hca.h"
#include "sw/verbs/memory/mr.h"

#define TOP	U64_MAX

static const struct range_case {
	const char *desc;
	u64 iova;
	u64 mem_length;
	u64 addr;
	u64 length;
	bool allowed;
} range_cases[] = {
	{ "all of it",			0x1000, 0x100, 0x1000, 0x100, true },
	{ "first byte",			0x1000, 0x100, 0x1000, 1, true },
	{ "last byte",			0x1000, 0x100, 0x10ff, 1, true },
	{ "byte before",		0x1000, 0x100, 0x0fff, 1, false },
	{ "byte after",		0x1000, 0x100, 0x1100, 1, false },
	{ "one too many",		0x1000, 0x100, 0x1000, 0x101, false },
	{ "one too many at the end",	0x1000, 0x100, 0x10ff, 2, false },
	{ "begins before",		0x1000, 0x100, 0x0fff, 0x101, false },
	{ "empty range at the begin",	0x1000, 0x100, 0x1000, 0, true },
	{ "empty range at the end",		0x1000, 0x100, 0x1100, 0, true },
	{ "empty range after the end",	0x1000, 0x100, 0x1101, 0, false },
	{ "end wraps to inside",	0x1000, 0x100, 0x1080, TOP - 0x40, false },
	{ "end wraps to the begin",	0x1000, 0x100, 0x1080, TOP - 0x107f, false },
	{ "longest length",		0x1000, 0x100, 0x1000, TOP, false },
	{ "last address",		0x1000, 0x100, TOP, 1, false },
	{ "last address and beyond",	0x1000, 0x100, TOP, 2, false },
	{ "address 0",			0x1000, 0x100, 0, 0x2000, false },
	{ "region at 0",		0, 0x100, 0, 0x100, true },
	{ "region at 0, wrapped",	0, 0x100, TOP, 2, false },
	{ "region at the top",		TOP - 0xff, 0x100, TOP - 0xff, 0x100, true },
	{ "last byte of all",		TOP - 0xff, 0x100, TOP, 1, true },
	{ "after the last byte",	TOP - 0xff, 0x100, TOP, 2, false },
	{ "wraps round the top",	TOP - 0xff, 0x100, 0, 1, false },
	{ "empty region, empty range",	0x1000, 0, 0x1000, 0, true },
	{ "empty region, a byte",	0x1000, 0, 0x1000, 1, false },
};
KUNIT_ARRAY_PARAM_DESC(range, range_cases, desc);

static void range_must_lie_inside_the_region(struct kunit *test)
{
	const struct range_case *c = test->param_value;
	struct rhca_mem *mem = test_alloc(test, sizeof(*mem));
	static const enum rhca_mem_kind kinds[] = {
		RHCA_MEM_USER, RHCA_MEM_FAST_REG, RHCA_MEM_WINDOW_1,
		RHCA_MEM_WINDOW_2, };
	int i;

	mem->iova = c->iova;
	mem->length = c->mem_length;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		mem->kind = kinds[i];
		KUNIT_EXPECT_EQ_MSG(test,
				    rhca_mem_allows(mem, c->addr, c->length, 0),
				    c->allowed, "kind %d", kinds[i]);
	}
}

#define CAN_LOCAL	IB_ACCESS_LOCAL_WRITE
#define CAN_WRITE	IB_ACCESS_REMOTE_WRITE
#define CAN_READ	IB_ACCESS_REMOTE_READ
#define CAN_ATOMIC	IB_ACCESS_REMOTE_ATOMIC

static const struct access_case {
	const char *desc;
	int has;
	int needs;
	bool allowed;
} access_cases[] = {
	{ "local read is always allowed",  0, 0, true },
	{ "local write needs its right",   0, CAN_LOCAL, false },
	{ "local write",		   CAN_LOCAL, CAN_LOCAL, true },
	{ "remote write is not local",	   CAN_LOCAL, CAN_WRITE, false },
	{ "remote read is not write",	   CAN_READ, CAN_WRITE, false },
	{ "remote write is not read",	   CAN_WRITE, CAN_READ, false },
	{ "remote write is not atomic",	   CAN_WRITE | CAN_READ, CAN_ATOMIC, false },
	{ "atomic",			   CAN_ATOMIC, CAN_ATOMIC, true },
	{ "one of two is not enough",	   CAN_WRITE, CAN_WRITE | CAN_READ, false },
	{ "two of two",			   CAN_WRITE | CAN_READ, CAN_WRITE | CAN_READ, true },
};
KUNIT_ARRAY_PARAM_DESC(access, access_cases, desc);

static void every_right_that_is_needed_must_be_there(struct kunit *test)
{
	const struct access_case *c = test->param_value;
	struct rhca_mem *mem = test_alloc(test, sizeof(*mem));

	mem->access = c->has;
	mem->length = 1;
	mem->kind = RHCA_MEM_USER;
	KUNIT_EXPECT_EQ(test, rhca_mem_allows(mem, 0, 1, c->needs), c->allowed);
	mem->kind = RHCA_MEM_DMA;
	KUNIT_EXPECT_EQ(test, rhca_mem_allows(mem, 0, 1, c->needs), c->allowed);
}

#define NUM_PAGES	3
#define IOVA		0x7000000123ULL		/* starts inside a page */

static struct rhca_mem *region_of_pages(struct kunit *test)
{
	struct rhca_mem *mem = test_alloc(test, sizeof(*mem));
	struct page *first = virt_to_page(test_alloc(test, PAGE_SIZE));
	int i;

	mem->pages = test_alloc(test, NUM_PAGES * sizeof(*mem->pages));
	/* Never dereferenced: only compared */
	for (i = 0; i < NUM_PAGES; i++)
		mem->pages[i] = first + 100 * i;
	mem->kind = RHCA_MEM_USER;
	mem->num_pages = NUM_PAGES;
	mem->iova = IOVA;
	mem->first_offset = IOVA & ~PAGE_MASK;
	mem->length = NUM_PAGES * PAGE_SIZE - mem->first_offset;
	return mem;
}

#define NOWHERE		(-1)

static const struct page_case {
	const char *desc;
	u64 at;			/* relative to IOVA */
	int page;		/* of the region */
	unsigned int offset;	/* within the page */
	unsigned int bytes;	/* up to the end of the page */
	bool window;		/* the address is in a window that starts at the second page */
} page_cases[] = {
	{ "first byte", 0, 0, 0x123, PAGE_SIZE - 0x123 },
	{ "second page", PAGE_SIZE - 0x123, 1, 0, PAGE_SIZE },
	{ "last byte", NUM_PAGES * PAGE_SIZE - 0x124, 2, PAGE_SIZE - 1, 1 },
	{ "after the end", NUM_PAGES * PAGE_SIZE - 0x123, NOWHERE },
	{ "before the begin", -0x124ULL, NOWHERE },
	{ "far after the end", U64_MAX - IOVA, NOWHERE },
	{ "window", PAGE_SIZE, 1, 0x123, PAGE_SIZE - 0x123, .window = true },
};
KUNIT_ARRAY_PARAM_DESC(page, page_cases, desc);

static void address_leads_to_its_page(struct kunit *test)
{
	const struct page_case *c = test->param_value;
	struct rhca_mem *region = region_of_pages(test);
	struct rhca_mem *window = test_alloc(test, sizeof(*window));
	unsigned int offset, bytes;
	struct page *page;

	window->kind = RHCA_MEM_WINDOW_2;
	window->region = region;
	window->iova = IOVA + PAGE_SIZE;
	window->length = PAGE_SIZE;
	page = rhca_mem_page(c->window ? window : region, IOVA + c->at, &offset, &bytes);
	if (c->page == NOWHERE) {
		KUNIT_EXPECT_NULL(test, page);
		return;
	}
	KUNIT_EXPECT_PTR_EQ(test, page, region->pages[c->page]);
	KUNIT_EXPECT_EQ(test, offset, c->offset);
	KUNIT_EXPECT_EQ(test, bytes, c->bytes);
}

static void kernel_region_takes_virtual_addresses(struct kunit *test)
{
	struct rhca_mem *mem = test_alloc(test, sizeof(*mem));
	u8 *buffer = test_alloc(test, 64);
	unsigned int offset, bytes;

	mem->kind = RHCA_MEM_DMA;
	KUNIT_EXPECT_PTR_EQ(test, rhca_mem_page(mem, (uintptr_t)buffer, &offset,
						&bytes), virt_to_page(buffer));
	KUNIT_EXPECT_EQ(test, offset, offset_in_page(buffer));
}

/* --- waiting for users ------------------------------------------------------------- */

static struct rhca_mem *used;
static unsigned int paused_us, num_pauses, num_expedited;
static void (*meanwhile)(void);

static void note_expedited(void)
{
	num_expedited++;
}

static void note_pause(unsigned int us)
{
	paused_us += us;
	num_pauses++;
	meanwhile();
}

static atomic_t *users_on(int cpu)
{
	return per_cpu_ptr(used->cpu_users, cpu);
}

/* The user of the first CPU leaves */
static void first_leaves(void)
{
	atomic_set(users_on(cpumask_first(cpu_possible_mask)), 0);
}

/* One of two CPUs is in use at any time */
static void they_take_turns(void)
{
	int first = cpumask_first(cpu_possible_mask);
	int second = cpumask_next(first, cpu_possible_mask);
	int other = atomic_read(users_on(first)) ? second : first;

	atomic_set(users_on(first), 0);
	atomic_set(users_on(second), 0);
	atomic_set(users_on(other), 1);
}

static void nobody_leaves(void)
{
}

static const struct {
	const char *desc;
	void (*then)(void);
	unsigned int pauses;	/* expected number; 0: any */
	unsigned int expedited;
} waits[] = {
	{ "brief use interrupts no CPU", first_leaves, .pauses = 1 },
	{ "new users are not waited for", they_take_turns },
	{ "grace period for a user that stays", nobody_leaves, .expedited = 1 },
};
KUNIT_ARRAY_PARAM_DESC(wait, waits, desc);

static void users_are_waited_for(struct kunit *test)
{
	const typeof(waits[0]) *c = test->param_value;

	if (c->then == they_take_turns && num_possible_cpus() < 2)
		kunit_skip(test, "one CPU");
	meanwhile = c->then;
	used = test_alloc(test, sizeof(*used));
	used->kind = RHCA_MEM_USER;
	used->cpu_users = alloc_percpu(atomic_t);
	KUNIT_ASSERT_NOT_NULL(test, used->cpu_users);
	atomic_set(users_on(cpumask_first(cpu_possible_mask)), 1);
	paused_us = 0;
	num_pauses = 0;
	num_expedited = 0;
	kunit_activate_static_stub(test, rhca_mem_expedite, note_expedited);
	kunit_activate_static_stub(test, rhca_mem_pause, note_pause);
	rhca_mem_wait_past_users(used);
	free_percpu(used->cpu_users);
	KUNIT_EXPECT_GT(test, num_pauses, 0);
	KUNIT_EXPECT_EQ(test, num_pauses, c->pauses ?: num_pauses);
	KUNIT_EXPECT_EQ(test, num_expedited, c->expedited);
	KUNIT_EXPECT_LT(test, paused_us, 2000);
}

/* --- limits ------------------------------------------------------------------------- */

static void page_list_of_the_longest_region_can_be_had(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_udata udata = {};
	struct ib_device_attr attr = {};

	KUNIT_ASSERT_EQ(test, 0, hca->ibdev->ops.query_device(hca->ibdev, &attr, &udata));
	/* Allocated in one piece; one page more if it starts inside a page */
	KUNIT_EXPECT_LE(test,
			((attr.max_mr_size >> PAGE_SHIFT) + 1) *
			sizeof(struct page *), (u64)INT_MAX);
}

TEST_SUITE(rhca_mr,
	   KUNIT_CASE_PARAM(range_must_lie_inside_the_region, range_gen_params),
	   KUNIT_CASE_PARAM(every_right_that_is_needed_must_be_there, access_gen_params),
	   KUNIT_CASE_PARAM(address_leads_to_its_page, page_gen_params),
	   KUNIT_CASE(kernel_region_takes_virtual_addresses),
	   KUNIT_CASE_PARAM(users_are_waited_for, wait_gen_params),
	   KUNIT_CASE(page_list_of_the_longest_region_can_be_had));
