/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory behind keys: regions and windows. The data path looks up and checks a key for each packet,
 * and holds the memory only while it copies.
 */
#ifndef RHCA_SW_VERBS_MEMORY_MEM_H
#define RHCA_SW_VERBS_MEMORY_MEM_H

#include <linux/atomic.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

struct rhca_odp;
struct rhca_verbs_dev;

enum rhca_mem_kind {
	RHCA_MEM_DMA,		/* all kernel memory, addresses are virtual */
	RHCA_MEM_USER,		/* pages of a process, pinned or on demand */
	RHCA_MEM_FAST_REG,	/* kernel page list, keyed by work requests */
	RHCA_MEM_WINDOW_1,	/* type 1 memory window */
	RHCA_MEM_WINDOW_2,	/* type 2B: bound to one QP */
};

enum rhca_mem_state {
	RHCA_MEM_INVALID,	/* registered, but no key is valid */
	RHCA_MEM_VALID,
	RHCA_MEM_GONE,		/* being deregistered: will never be valid again */
};

/*
 * A region or window. Fields after @state only change while the memory is invalid and unused. The
 * struct is freed after a grace period.
 */
struct rhca_mem {
	/*
	 * Packets using it now. A lookup increments this and then checks @state; invalidation
	 * changes @state and then checks the count, so at least one of them sees the other.
	 */
	atomic_t users;
	/*
	 * The same per CPU, instead of @users: for regions that only verbs invalidate. Many QPs may
	 * share those, and a verb may check all CPUs.
	 */
	atomic_t __percpu *cpu_users;
	struct rcu_head rcu;		/* for the grace period */
	struct rhca_verbs_dev *dev;
	enum rhca_mem_kind kind;

	spinlock_t binding_lock;	/* protects what the key means: @state and the rest */
	u32 num_windows;		/* windows bound to this region, which keep it */
	enum rhca_mem_state state;	/* usable or not */
	struct ib_pd *pd;
	u32 key;		/* local and remote; the consumer chooses the low byte */
	int access;		/* IB_ACCESS_* */
	u64 iova;		/* first address */
	u64 length;		/* bytes */
	union {
		/*
		 * RHCA_MEM_USER. With on-demand paging missing pages are NULL, and an implicit
		 * region, the whole address space, has no list: see rhca_odp_page()
		 */
		struct page **pages;
		unsigned long *pieces;	/* RHCA_MEM_FAST_REG: their addresses in the kernel */
	};
	u32 num_pages;		/* entries of either; windows have none */
	u32 first_offset;	/* of @iova in the first one */
	u8 piece_shift;		/* log2 of the contiguous bytes in each of @pieces */
	struct rhca_odp *odp;	/* faults pages in; NULL without on-demand paging */
	struct rhca_mem *region;	/* of a window; for users only: stale when not valid */
	u32 qp_num;		/* of a type 2 window: the QP it is bound to */
};

/* Access rights of RDMA FLUSH as in uverbs; older kernels neither name nor accept them. */
#define RHCA_ACCESS_FLUSH_GLOBAL	BIT(8)
#define RHCA_ACCESS_FLUSH_PERSISTENT	BIT(9)
#define RHCA_ACCESS_FLUSH		(RHCA_ACCESS_FLUSH_GLOBAL | \
					 RHCA_ACCESS_FLUSH_PERSISTENT)

#define RHCA_KEY_INDEX(key)	((key) >> 8)

int rhca_mem_publish(struct rhca_mem *mem, struct rhca_verbs_dev *dev,
		     struct ib_pd *pd, enum rhca_mem_kind kind);
void rhca_mem_withdraw(struct rhca_mem *mem);
void rhca_mem_set_valid(struct rhca_mem *mem);
bool rhca_mem_is_idle(const struct rhca_mem *mem);
void rhca_mem_wait_idle(const struct rhca_mem *mem);
void rhca_mem_wait_past_users(const struct rhca_mem *mem);
void rhca_mem_put(struct rhca_mem *mem);
struct rhca_mem *rhca_mem_get(struct rhca_verbs_dev *dev, u32 key);
struct rhca_mem *rhca_mem_hold(struct rhca_mem **held,
			       struct rhca_verbs_dev *dev, u32 key);
bool rhca_mem_allows(const struct rhca_mem *mem, u64 addr, u64 length,
		     int access);
struct page *rhca_mem_page(const struct rhca_mem *mem, u64 addr,
			   unsigned int *offset, unsigned int *bytes);
int rhca_mem_fault(const struct rhca_mem *mem, u64 addr, u64 bytes, u64 ahead);
struct page *rhca_kernel_page(u64 addr);

/**
 * rhca_mem_release - Stop using the memory of rhca_mem_hold()
 * @held: the memory, or NULL; set to NULL
 *
 * Context: as rhca_mem_hold(), on the same CPU.
 */
static inline void rhca_mem_release(struct rhca_mem **held)
{
	if (!*held)
		return;
	rhca_mem_put(*held);
	*held = NULL;
}

#if IS_ENABLED(CONFIG_KUNIT)
void rhca_mem_pause(unsigned int us);
void rhca_mem_expedite(void);
#endif

#endif
