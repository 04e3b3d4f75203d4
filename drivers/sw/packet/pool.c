// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for segments: some compound pages per CPU. Segments hold references to their page, and a
 * page is reused from its start as soon as all are dropped. So a small amount of memory is reused
 * while it is in the CPU's caches, and the page allocator is called only if packets are queued for
 * long.
 */
#include <linux/irqflags.h>	/* missing from local_lock.h on arm64 */
#include <linux/spinlock.h>	/* and this one with PREEMPT_RT */
#include <linux/local_lock.h>
#include <linux/percpu.h>
#include <rhca/compat.h>

#include "sw/packet/pool.h"

#define POOL_ORDER	get_order(RHCA_POOL_PAGE_BYTES)

/* Pages of one CPU */
struct pool {
	/*
	 * Protects all of this from rhca_pool_room() to rhca_pool_take(). Disabled bottom halves
	 * would do, except with PREEMPT_RT, where another thread may run on this CPU
	 */
	local_lock_t lock;
	struct page *pages[RHCA_POOL_PAGES];	/* the first ones are used most */
	unsigned int current_page;	/* index of the page in use */
	unsigned int used;		/* bytes of it already taken */
};

static DEFINE_PER_CPU(struct pool, pools);

/* Not static: tests make it fail */
struct page *rhca_pool_new_page(void)
{
	KUNIT_STATIC_STUB_REDIRECT(rhca_pool_new_page);
	return alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN |
			   __GFP_NORETRY | __GFP_NOMEMALLOC, POOL_ORDER);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pool_new_page);

/* Has all memory taken from the page been freed? */
static bool is_free(struct page *page)
{
	return page_ref_count(page) == 1;
}

/*
 * Switch to an unused page, the first if there are several. If no new one can be allocated keep
 * all, since they will become free. The array has no holes.
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
 * Reserve contiguous bytes, at most a page of the pool. They follow the last ones taken if these
 * left enough room in their page. The caller calls rhca_pool_take() or rhca_pool_give_up() before
 * it asks for more or sends anything, with bottom halves off until then. Returns NULL without
 * memory: then neither is called.
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
 * Take bytes of what rhca_pool_room() returned. @piece: if they follow it they are added to it;
 * otherwise it is overwritten with them and a reference to their page.
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

/* Release what rhca_pool_room() returned */
void rhca_pool_give_up(void)
{
	local_unlock_nested_bh(&pools.lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pool_give_up);

/* No initializer, see rhca_turn_lists_init(): lockdep's lock names are pointers */
void rhca_pool_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		local_lock_init(&per_cpu_ptr(&pools, cpu)->lock);
}

/* Free the memory; nothing is sent any more */
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
