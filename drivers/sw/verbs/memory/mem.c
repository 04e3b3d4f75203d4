// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that keys name: the table of keys, who uses the memory of one, and where it
 * lies. IBTA vol. 1, 10.6.
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

/* What work requests and packets take away has one counter: those cannot look at all CPUs */
static int alloc_users(struct rhca_mem *mem)
{
	if (mem->kind != RHCA_MEM_USER && mem->kind != RHCA_MEM_DMA)
		return 0;
	mem->cpu_users = alloc_percpu_gfp(atomic_t, GFP_KERNEL_ACCOUNT);
	return mem->cpu_users ? 0 : -ENOMEM;
}

/*
 * Give memory a key, which is not valid yet. The entry is reserved first and filled when @mem is
 * complete, so lookups never see a half-made one. @mem: zeroed but for what describes the memory;
 * freed by the caller on error. Returns 0 or -ENOMEM.
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

/* Let users in. @mem: memory that is complete. */
void rhca_mem_set_valid(struct rhca_mem *mem)
{
	/* What the key means before the state that lets users in */
	smp_store_release(&mem->state, RHCA_MEM_VALID);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_set_valid);

/*
 * Has everybody stopped using memory whose state has been changed, so that no more can come? Then
 * all their accesses have happened. Any context.
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
 * Wait until it is. Users run with bottom halves off, which is an RCU read side: after a grace
 * period they have gone. Busy memory is rare here, so it may take that long.
 */
void rhca_mem_wait_idle(const struct rhca_mem *mem)
{
	might_sleep();
	while (!rhca_mem_is_idle(mem))
		synchronize_rcu();
}

/* For so long together, in microseconds, users of a page may take to leave by themselves */
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

/* Has the CPU been seen without users before the pauses are used up? */
static bool comes_to_rest(const struct rhca_mem *mem, int cpu,
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
 * Wait for users who may have seen a page that has just been taken out; the key goes on working.
 * A user stays on its CPU, so those of before have gone when each CPU has been seen without users
 * once. That takes microseconds. Only where a CPU is in use whenever one looks, all are
 * interrupted: what makes pages go, and who uses them, may be one process without privileges.
 * May sleep.
 */
void rhca_mem_wait_past_users(const struct rhca_mem *mem)
{
	unsigned int pause_us = FIRST_PAUSE_US;
	int cpu;

	smp_mb();	/* what was taken out before the counts; pairs with enter() */
	for_each_possible_cpu(cpu) {
		if (!comes_to_rest(mem, cpu, &pause_us)) {
			rhca_mem_expedite();
			return;
		}
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_wait_past_users);

/*
 * Take the key of memory in state RHCA_MEM_GONE away and wait for packets that use it. What @mem
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
	/* All accesses before the count */
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

/* A window has no memory of its own: its user uses the region as well */
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
 * The memory that a local or remote key names, in use: nothing of what the key means changes
 * until rhca_mem_put(), with bottom halves off until then. NULL when the key does not work now.
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

/* Nobody has begun to take the key away */
static bool is_valid(const struct rhca_mem *mem)
{
	return READ_ONCE(mem->state) == RHCA_MEM_VALID &&
	       (!mem->region || READ_ONCE(mem->region->state) == RHCA_MEM_VALID);
}

/**
 * rhca_mem_hold - Find the memory that a key names, and go on using it
 * @held: memory in use from the last call, perhaps of another device, or NULL; set to
 *	what is returned
 * @dev: the device
 * @key: local or remote key, from a work request or a packet
 *
 * Packets that are handled together mostly name one key: it is looked up, and its users are
 * counted, once for all of them. Who takes the key away waits for rhca_mem_release() as for
 * rhca_mem_put(), but nothing begins to use the memory once he has begun.
 *
 * Context: bottom halves off until rhca_mem_release().
 * Return: memory in use, or NULL when the key is not one that works now.
 */
struct rhca_mem *rhca_mem_hold(struct rhca_mem **held,
			       struct rhca_verbs_dev *dev, u32 key)
{
	struct rhca_mem *mem = *held;

	/* What the key means does not change as long as it is in use */
	if (mem && mem->key == key && mem->dev == dev && is_valid(mem))
		return mem;
	rhca_mem_put(mem);
	*held = rhca_mem_get(dev, key);
	return *held;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_hold);

/**
 * rhca_mem_allows - May this range be used in this way?
 * @mem: the memory
 * @addr: first address
 * @length: bytes
 * @access: all of IB_ACCESS_* that are needed; 0 for a local read
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

/* The page behind an address of the kernel, not referenced; NULL where no memory is */
struct page *rhca_kernel_page(u64 addr)
{
	const void *kaddr = (const void *)(uintptr_t)addr;

	return is_vmalloc_addr(kaddr) || virt_addr_valid(kaddr) ? page_of(kaddr) : NULL;
}

/* Of memory that was there when its pieces were mapped */
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

/* rhca_mem_page() of what is no process's */
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
 * rhca_mem_page - The page behind an address
 * @mem: the memory, or a window to it; rhca_mem_allows() has said yes
 * @addr: the address
 * @offset: set to the offset in the page
 * @bytes: set to the bytes that lie together from there, in the page
 *
 * Return: the page, not referenced: @mem keeps it; NULL for an address that is no kernel memory,
 * which only a kernel user can give, and for a page that is not there: see rhca_mem_fault().
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
 * rhca_mem_fault - What to do where rhca_mem_page() found none
 * @mem: the memory, or a window to it
 * @addr: the address
 * @bytes: that are needed from there
 * @ahead: that are going to be needed from there; not less than @bytes
 *
 * Context: bottom halves off.
 * Return: -EINPROGRESS when it is being brought in: try again soon; -EFAULT when
 * there is no such memory.
 */
int rhca_mem_fault(const struct rhca_mem *mem, u64 addr, u64 bytes, u64 ahead)
{
	if (mem->region)
		mem = mem->region;
	return mem->odp ? rhca_odp_fault(mem->odp, addr, bytes, ahead) : -EFAULT;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_fault);
