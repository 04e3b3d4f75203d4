// SPDX-License-Identifier: GPL-2.0
/*
 * Memory behind keys: the table of keys, users of the memory, and its location. IBTA vol. 1, 10.6.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/vmalloc.h>
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/memory/mem.h"
#include "sw/verbs/memory/odp.h"

/* One counter for memory that work requests and packets invalidate: they cannot check all CPUs */
static int alloc_users(struct rhca_mem *mem)
{
	if (mem->kind != RHCA_MEM_USER && mem->kind != RHCA_MEM_DMA)
		return 0;
	mem->cpu_users = alloc_percpu_gfp(atomic_t, GFP_KERNEL_ACCOUNT);
	return mem->cpu_users ? 0 : -ENOMEM;
}

/*
 * Give memory a key, not valid yet. The entry is reserved first and filled once @mem is complete,
 * so lookups never see it half-initialised. @mem: zeroed except for the description of the memory;
 * the caller frees it on error. Returns 0 or -ENOMEM.
 */
int rhca_mem_publish(struct rhca_mem *mem, struct rhca_verbs_dev *dev,
		     struct ib_pd *pd, enum rhca_mem_kind kind)
{
	u32 index;
	int ret;

	spin_lock_init(&mem->binding_lock);
	mem->dev = dev;
	mem->pd = pd;
	mem->kind = kind;
	ret = alloc_users(mem);
	if (ret)
		return ret;
	ret = xa_alloc_cyclic_bh(&dev->keys, &index, NULL,
				 XA_LIMIT(1, RHCA_MAX_MR + RHCA_MAX_MW),
				 &dev->next_key, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		free_percpu(mem->cpu_users);
		return -ENOMEM;
	}
	mem->key = index << 8 | get_random_u8();
	xa_store_bh(&dev->keys, index, mem, GFP_KERNEL);
	return 0;
}

/* Allow users. @mem: fully initialised. */
void rhca_mem_set_valid(struct rhca_mem *mem)
{
	/* Order what the key means before the state that allows users */
	smp_store_release(&mem->state, RHCA_MEM_VALID);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_set_valid);

/*
 * Is memory unused after its state was changed to admit no new users? If so, all accesses have
 * completed. Any context.
 */
bool rhca_mem_is_idle(const struct rhca_mem *mem)
{
	int cpu, users = 0;

	smp_mb();	/* the state before the count; pairs with enter() */
	if (!mem->cpu_users)
		return !atomic_read_acquire(&mem->users);
	for_each_possible_cpu(cpu)
		users += atomic_read_acquire(per_cpu_ptr(mem->cpu_users, cpu));
	return !users;
}

/*
 * Wait until it is unused. Users run with bottom halves off, an RCU read side, so they are done
 * after a grace period. Busy memory is rare here, so the wait may be long.
 */
void rhca_mem_wait_idle(const struct rhca_mem *mem)
{
	might_sleep();
	while (!rhca_mem_is_idle(mem))
		synchronize_rcu();
}

/* First and last of the doubling pauses for users of a page to finish */
#define FIRST_PAUSE_US	10
#define LAST_PAUSE_US	640

VISIBLE_IF_KUNIT void rhca_mem_pause(unsigned int us)
{
	KUNIT_STATIC_STUB_REDIRECT(rhca_mem_pause, us);
	usleep_range(us, 2 * us);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_pause);

/* Interrupts all CPUs */
VISIBLE_IF_KUNIT void rhca_mem_expedite(void)
{
	KUNIT_STATIC_STUB_REDIRECT(rhca_mem_expedite);
	synchronize_rcu_expedited();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_expedite);

static bool is_used_on(const struct rhca_mem *mem, int cpu)
{
	if (!mem->cpu_users)
		return atomic_read_acquire(&mem->users);
	return atomic_read_acquire(per_cpu_ptr(mem->cpu_users, cpu));
}

/* Wait until the CPU has no users; false if the pauses were used up */
static bool wait_unused(const struct rhca_mem *mem, int cpu,
			unsigned int *pause_us)
{
	while (is_used_on(mem, cpu)) {
		if (*pause_us > LAST_PAUSE_US)
			return false;
		rhca_mem_pause(*pause_us);
		*pause_us *= 2;
	}
	return true;
}

/*
 * Wait for users that may have found a page before it was removed; the key stays valid. A user
 * stays on its CPU, so once each CPU has been seen without users, the earlier ones are done,
 * usually within microseconds. Only if a CPU is busy at every check, interrupt all CPUs: one
 * unprivileged process may both use pages and have them removed. May sleep.
 */
void rhca_mem_wait_past_users(const struct rhca_mem *mem)
{
	unsigned int pause_us = FIRST_PAUSE_US;
	int cpu;

	smp_mb();	/* the removed page before the counts; pairs with enter() */
	for_each_possible_cpu(cpu) {
		if (!wait_unused(mem, cpu, &pause_us)) {
			rhca_mem_expedite();
			return;
		}
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_wait_past_users);

/*
 * Remove the key of memory in state RHCA_MEM_GONE and wait for packets that use it. What @mem
 * points to may be freed afterwards, and @mem itself after a grace period. May sleep.
 */
void rhca_mem_withdraw(struct rhca_mem *mem)
{
	xa_erase_bh(&mem->dev->keys, RHCA_KEY_INDEX(mem->key));
	rhca_mem_wait_idle(mem);
}

static atomic_t *users_here(struct rhca_mem *mem)
{
	return mem->cpu_users ? this_cpu_ptr(mem->cpu_users) : &mem->users;
}

static void leave(struct rhca_mem *mem)
{
	/* Order all accesses before the count */
	(void)atomic_dec_return_release(users_here(mem));
}

static bool enter(struct rhca_mem *mem)
{
	/* Fully ordered: the count before the state */
	(void)atomic_inc_return(users_here(mem));
	if (READ_ONCE(mem->state) != RHCA_MEM_VALID) {
		leave(mem);
		return false;
	}
	smp_acquire__after_ctrl_dep();	/* the state before what the key means */
	return true;
}

/* A window has no memory of its own: its users use the region, too */
static bool hold(struct rhca_mem *mem)
{
	if (!enter(mem))
		return false;
	if (!mem->region || enter(mem->region))
		return true;
	leave(mem);
	return false;
}

/**
 * rhca_mem_put - Stop using memory
 * @mem: the memory, or NULL
 *
 * Context: as rhca_mem_get(), on the same CPU.
 */
void rhca_mem_put(struct rhca_mem *mem)
{
	if (!mem)
		return;
	if (mem->region)
		leave(mem->region);
	leave(mem);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_put);

/*
 * Get the memory of a local or remote key: nothing about the key changes until rhca_mem_put(), with
 * bottom halves off until then. NULL if the key is not valid now.
 */
struct rhca_mem *rhca_mem_get(struct rhca_verbs_dev *dev, u32 key)
{
	struct rhca_mem *mem;

	rcu_read_lock();
	mem = xa_load(&dev->keys, RHCA_KEY_INDEX(key));
	if (mem && !hold(mem))
		mem = NULL;
	rcu_read_unlock();
	if (mem && mem->key != key) {
		rhca_mem_put(mem);
		mem = NULL;
	}
	return mem;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_get);

/* Has no invalidation of the key started? */
static bool is_valid(const struct rhca_mem *mem)
{
	return READ_ONCE(mem->state) == RHCA_MEM_VALID &&
	       (!mem->region || READ_ONCE(mem->region->state) == RHCA_MEM_VALID);
}

/**
 * rhca_mem_hold - Find the memory of a key and keep a reference for further packets
 * @held: memory from the last call, perhaps of another device, or NULL; set to the result
 * @dev: the device
 * @key: local or remote key, from a work request or a packet
 *
 * Packets handled together mostly use the same key: it is looked up, and its users are counted,
 * once for all of them. Invalidation waits for rhca_mem_release() as for rhca_mem_put(), but once
 * it has started this no longer returns the memory.
 *
 * Context: bottom halves off until rhca_mem_release().
 * Return: memory in use, or NULL if the key is not valid now.
 */
struct rhca_mem *rhca_mem_hold(struct rhca_mem **held,
			       struct rhca_verbs_dev *dev, u32 key)
{
	struct rhca_mem *mem = *held;

	/* What the key means cannot change while it is in use */
	if (mem && mem->key == key && mem->dev == dev && is_valid(mem))
		return mem;
	rhca_mem_put(mem);
	*held = rhca_mem_get(dev, key);
	return *held;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_hold);

/**
 * rhca_mem_allows - Is this access to a range allowed?
 * @mem: the memory
 * @addr: first address
 * @length: bytes
 * @access: IB_ACCESS_* that are needed; 0 for a local read
 */
bool rhca_mem_allows(const struct rhca_mem *mem, u64 addr, u64 length,
		     int access)
{
	if (access & ~mem->access)
		return false;
	if (mem->kind == RHCA_MEM_DMA)
		return true;
	return addr >= mem->iova && length <= mem->length &&
	       addr - mem->iova <= mem->length - length;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_allows);

static struct page *page_of(const void *kaddr)
{
	return is_vmalloc_addr(kaddr) ? vmalloc_to_page(kaddr) : virt_to_page(kaddr);
}

/* The page of a kernel address, without a reference; NULL if there is no memory */
struct page *rhca_kernel_page(u64 addr)
{
	const void *kaddr = (const void *)(uintptr_t)addr;

	return is_vmalloc_addr(kaddr) || virt_addr_valid(kaddr) ? page_of(kaddr) : NULL;
}

/* Find a page of a fast registration, whose pieces were valid when they were mapped */
static struct page *find_in_pieces(const struct rhca_mem *mem, u64 addr,
				   unsigned int *offset, unsigned int *bytes)
{
	u64 distance = addr - mem->iova + mem->first_offset;
	u64 index = distance >> mem->piece_shift, piece = BIT_ULL(mem->piece_shift);
	unsigned long at;

	if (index >= mem->num_pages)
		return NULL;
	distance &= piece - 1;
	at = mem->pieces[index] + distance;
	*offset = offset_in_page(at);
	*bytes = min_t(u64, piece - distance, PAGE_SIZE - *offset);
	return page_of((const void *)at);
}

/* rhca_mem_page() for memory that is not a process's */
static struct page *find_kernel_page(const struct rhca_mem *mem, u64 addr,
				     unsigned int *offset, unsigned int *bytes)
{
	if (mem->kind == RHCA_MEM_FAST_REG)
		return find_in_pieces(mem, addr, offset, bytes);
	*offset = offset_in_page(addr);
	*bytes = PAGE_SIZE - *offset;
	return rhca_kernel_page(addr);
}

/**
 * rhca_mem_page - Find the page of an address
 * @mem: the memory, or a window to it; rhca_mem_allows() was true
 * @addr: the address
 * @offset: set to the offset in the page
 * @bytes: set to the bytes that lie together from there, in the page
 *
 * Return: the page, which @mem keeps, without a reference; NULL for an address that is no kernel
 * memory, which only a kernel user can give, and for a missing page: see rhca_mem_fault().
 */
struct page *rhca_mem_page(const struct rhca_mem *mem, u64 addr,
			   unsigned int *offset, unsigned int *bytes)
{
	u64 distance;

	if (mem->region)
		mem = mem->region;
	if (mem->kind != RHCA_MEM_USER)
		return find_kernel_page(mem, addr, offset, bytes);
	distance = addr - mem->iova + mem->first_offset;
	*offset = distance & ~PAGE_MASK;
	*bytes = PAGE_SIZE - *offset;
	if (distance >> PAGE_SHIFT >= mem->num_pages)
		return mem->odp ? rhca_odp_page(mem->odp, addr) : NULL;
	return READ_ONCE(mem->pages[distance >> PAGE_SHIFT]);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_page);

/**
 * rhca_mem_fault - Request a page that rhca_mem_page() did not find
 * @mem: the memory, or a window to it
 * @addr: the address
 * @bytes: needed from there on
 * @ahead: going to be needed from there on; at least @bytes
 *
 * Context: bottom halves off.
 * Return: -EINPROGRESS while it is being faulted in: retry soon; -EFAULT if there is no such
 * memory.
 */
int rhca_mem_fault(const struct rhca_mem *mem, u64 addr, u64 bytes, u64 ahead)
{
	if (mem->region)
		mem = mem->region;
	return mem->odp ? rhca_odp_fault(mem->odp, addr, bytes, ahead) : -EFAULT;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_fault);
