// SPDX-License-Identifier: GPL-2.0
/* The pool of packet memory: which page is next, and what happens if there is no other. */
#include <kunit/static_stub.h>
#include <linux/bottom_half.h>

#include "lib/packet.h"
#include "sw/packet/pool.h"

/* Packets that occupy whole pages of this CPU's pool */
struct bench {
	struct kunit *test;				/* the test */
	struct rhca_piece piece[RHCA_POOL_PAGES];	/* the memory of each */
};

static bool memory_is_short;
static unsigned int pages_refused;

/* In place of rhca_pool_new_page() */
static struct page *page_or_none(void)
{
	if (!memory_is_short)
		return alloc_pages(GFP_ATOMIC | __GFP_COMP, get_order(RHCA_POOL_PAGE_BYTES));
	pages_refused++;
	return NULL;
}

/* Packets built earlier may still use pages of the pool; it takes new ones then */
static void take_page(struct rhca_piece *piece)
{
	void *room = rhca_pool_room(RHCA_POOL_PAGE_BYTES);

	*piece = (struct rhca_piece){};
	if (room)
		rhca_pool_take(RHCA_POOL_PAGE_BYTES, piece);
}

/* Frees the packet's memory */
static void give_back(struct rhca_piece *piece)
{
	if (piece->page)
		put_page(piece->page);
	*piece = (struct rhca_piece){};
}

/* The pool of this CPU belongs to the test until teardown */
static struct bench *setup(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));
	unsigned int i;

	b->test = test;
	memory_is_short = false;
	pages_refused = 0;
	kunit_activate_static_stub(test, rhca_pool_new_page, page_or_none);
	local_bh_disable();
	for (i = 0; i < RHCA_POOL_PAGES; i++) {
		take_page(&b->piece[i]);
		KUNIT_EXPECT_NOT_NULL(test, b->piece[i].page);
	}
	return b;
}

static void teardown(struct bench *b)
{
	unsigned int i;

	for (i = 0; i < RHCA_POOL_PAGES; i++)
		give_back(&b->piece[i]);
	local_bh_enable();
}

/* The next packet must be built at the start of this page */
static void expect_next(struct bench *b, struct page *page)
{
	void *room = rhca_pool_room(1);

	KUNIT_EXPECT_PTR_EQ(b->test, room, page_address(page));
	if (room)
		rhca_pool_give_up();
}

static void page_without_users_is_used_again(struct kunit *test)
{
	struct bench *b = setup(test);
	struct page *page = b->piece[RHCA_POOL_PAGES / 2].page;

	give_back(&b->piece[RHCA_POOL_PAGES / 2]);
	expect_next(b, page);
	teardown(b);
}

/* If all pages have users, the pool leaves one to them and takes a new one */
static void pool_replaces_a_page_in_use(struct kunit *test)
{
	struct bench *b = setup(test);
	struct rhca_piece more;
	unsigned int i;

	take_page(&more);
	KUNIT_EXPECT_NOT_NULL(test, more.page);
	for (i = 0; i < RHCA_POOL_PAGES; i++)
		KUNIT_EXPECT_PTR_NE(test, more.page, b->piece[i].page);
	give_back(&more);
	teardown(b);
}

/* With no contiguous memory to be had, only these pages can be used again */
static void pages_stay_without_memory_for_another(struct kunit *test)
{
	struct bench *b = setup(test);
	unsigned int i;

	memory_is_short = true;
	for (i = 0; i < RHCA_POOL_PAGES; i++)
		KUNIT_EXPECT_NULL(test, rhca_pool_room(1));
	KUNIT_EXPECT_EQ(test, pages_refused, RHCA_POOL_PAGES);
	for (i = 0; i < RHCA_POOL_PAGES; i++) {
		struct page *page = b->piece[i].page;

		give_back(&b->piece[i]);
		expect_next(b, page);
		take_page(&b->piece[i]);
	}
	KUNIT_EXPECT_EQ(test, pages_refused, RHCA_POOL_PAGES);
	teardown(b);
}

TEST_SUITE(rhca_pool,
	   KUNIT_CASE(page_without_users_is_used_again),
	   KUNIT_CASE(pool_replaces_a_page_in_use),
	   KUNIT_CASE(pages_stay_without_memory_for_another));
