// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that segments are built in: some compound pages on each CPU. What has
 * been taken keeps its page by a reference; a page is used again, from its beginning,
 * as soon as nobody else has one. So little memory is written to again and again and
 * stays in the CPU's caches, and the page allocator is asked only when packets
 * lie somewhere for long.
 */
#include <linux/irqflags.h>	/* local_lock.h leaves it to others on arm64 */
#include <linux/spinlock.h>	/* and this with PREEMPT_RT */
#include <linux/local_lock.h>
#include <linux/percpu.h>
#include <rhca/compat.h>

#include "sw/packet/pool.h"

#define POOL_ORDER	get_order(RHCA_POOL_PAGE_BYTES)

/* Pages of one CPU */
struct pool {
	/*
	 * Protects all of this, from rhca_pool_room() to rhca_pool_take(). With bottom halves off
	 * the CPU is ours, but for PREEMPT_RT, where another thread may run here meanwhile
	 */
	local_lock_t lock;
	struct page *pages[RHCA_POOL_PAGES];	/* the first ones used most */
	unsigned int current_page;	/* index of the page that memory is taken from */
	unsigned int used;		/* bytes of it that have been taken */
};

static DEFINE_PER_CPU(struct pool, pools);

/* Not static, since the tests have it fail */
struct page *rhca_pool_new_page(void)
{
	KUNIT_STATIC_STUB_REDIRECT(rhca_pool_new_page);
	return alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN |
			   __GFP_NORETRY | __GFP_NOMEMALLOC, POOL_ORDER);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pool_new_page);

/* Nobody else has it: what was taken of it has been freed */
static bool is_free(struct page *page)
{
	return page_ref_count(page) == 1;
}

/*
 * To a page with nobody else in it, one of the first if there are several. Without memory
 * for a new one all stay, since they will be free some time. The array has no holes.
 */
static bool turn(struct pool *pool)
{
	struct page *page;
	unsigned int i = 0;

	while (i < RHCA_POOL_PAGES && pool->pages[i] && !is_free(pool->pages[i]))
		i++;
	if (i == RHCA_POOL_PAGES || !pool->pages[i]) {
		page = rhca_pool_new_page();
		if (!page)
			return false;
		if (i == RHCA_POOL_PAGES) {
			i = (pool->current_page + 1) % RHCA_POOL_PAGES;
			put_page(pool->pages[i]);
		}
		pool->pages[i] = page;
	}
	pool->current_page = i;
	pool->used = 0;
	return true;
}

/*
 * Where contiguous bytes could be taken, a page of the pool at most. They follow those taken last,
 * if these left enough room in their page. rhca_pool_take() or rhca_pool_give_up() must follow
 * before more room is asked for, or anything is sent; bottom halves off until then. Returns NULL
 * without memory: then nothing must follow.
 */
void *rhca_pool_room(unsigned int bytes)
{
	struct pool *pool;
	struct page *page;

	local_lock_nested_bh(&pools.lock);
	pool = this_cpu_ptr(&pools);
	page = pool->pages[pool->current_page];
	if (page && is_free(page))
		pool->used = 0;
	if (!page || pool->used + bytes > RHCA_POOL_PAGE_BYTES) {
		if (!turn(pool)) {
			local_unlock_nested_bh(&pools.lock);
			return NULL;
		}
		page = pool->pages[pool->current_page];
	}
	return page_address(page) + pool->used;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pool_room);

/*
 * Take bytes from where rhca_pool_room() has pointed to. @piece: memory that they follow, to which
 * they are added; or empty, or other memory: then it is overwritten by them, with a reference to
 * their page.
 */
void rhca_pool_take(unsigned int bytes, struct rhca_piece *piece)
{
	struct pool *pool = this_cpu_ptr(&pools);
	struct page *page = pool->pages[pool->current_page];

	if (piece->page == page && piece->offset + piece->bytes == pool->used) {
		piece->bytes += bytes;
	} else {
		get_page(page);
		*piece = (struct rhca_piece){ page, pool->used, bytes };
	}
	pool->used += bytes;
	local_unlock_nested_bh(&pools.lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pool_take);

/* Take nothing of what rhca_pool_room() has pointed to */
void rhca_pool_give_up(void)
{
	local_unlock_nested_bh(&pools.lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pool_give_up);

/* Not by an initializer, see rhca_turn_lists_init(): where locks are checked they have names */
void rhca_pool_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		local_lock_init(&per_cpu_ptr(&pools, cpu)->lock);
}

/* Give the memory back: nothing is sent any more */
void rhca_pool_exit(void)
{
	struct pool *pool;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		pool = per_cpu_ptr(&pools, cpu);
		for (i = 0; i < RHCA_POOL_PAGES; i++)
			if (pool->pages[i])
				put_page(pool->pages[i]);
	}
}
