// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: a region that pins nothing. It knows which pages its process has in memory now,
 * see odp_range.c. Packets are handled in atomic context, so a missing page is requested and the
 * packet retried: the requester pauses, the responder sends an RNR NAK like an adapter.
 *
 * An explicit region has one range of addresses, whose pages are the region's list. An implicit one
 * is the whole address space of the process, see odp_range.h.
 *
 * The process, or whatever serves the page, may delay a page for ever. Deregistration does not wait
 * for that: the work then owns what it needs and frees it.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_umem_odp.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/verbs/memory/charge.h"
#include "sw/verbs/device.h"
#include "sw/verbs/memory/mem.h"
#include "sw/verbs/memory/odp.h"
#include "sw/verbs/memory/odp_lanes.h"
#include "sw/verbs/memory/odp_range.h"

/* Faulted in at once: more than a requester has in flight */
#define MAX_FAULT_BYTES	SZ_1M
/*
 * Consecutive allocation failures before a page counts as failed: half a second for a requester,
 * which retries less and less often
 */
#define MAX_MEMORYLESS	600
/* Failures remembered at a time, for concurrent users of a region */
#define MAX_FAILURES	32

/*
 * Pages of which at least one could not be faulted in: since it is unknown which, only accesses
 * that need all of them fail
 */
struct failure {
	u64 first;	/* number of the first page, from address 0 */
	u64 last;	/* number of the last page */
	u64 until;	/* expiry, in 64-bit jiffies */
};

/* The memory of a region with on-demand paging */
struct rhca_odp {
	refcount_t refs;		/* of the region, and of @work while @busy */
	struct ib_device *ibdev;	/* with a reference to the struct */
	bool gone;			/* the region has been deregistered; set under @lock */
	u64 start;			/* process address of the first page */
	u64 iova;			/* the region's first address */
	u64 length;			/* bytes of the region */
	struct rhca_odp_users users;	/* of the region */
	struct rhca_odp_range *range;	/* of an explicit region: all of it; else NULL */
	struct rhca_odp_ranges ranges;	/* of an implicit region */
	/* the tables, which ib_core does not charge; keeps the mm */
	struct rhca_charge charge;
	struct rhca_odp_lanes *lanes;	/* of the process; runs @work */
	struct work_struct work;	/* faults pages in */
	unsigned int memoryless;	/* consecutive allocation failures of @work */
	/*
	 * Protects what follows. Missing pages are found while the ICRC is computed, in atomic
	 * context even on PREEMPT_RT
	 */
	raw_spinlock_t lock;
	bool busy;			/* @work is queued or running */
	bool wanted;			/* work is pending and not yet started: */
	u64 addr;			/* from here */
	u64 bytes;			/* needed */
	u64 ahead;			/* going to be needed */
	struct failure failures[MAX_FAILURES];	/* the newest ones */
	u32 next_failure;		/* index of the next one, modulo MAX_FAILURES */
};

/* rhca_odp_ranges_page() of an implicit region in use */
struct page *rhca_odp_page(struct rhca_odp *odp, u64 addr)
{
	return rhca_odp_ranges_page(&odp->ranges, addr);
}

/* The last reference is the region's, or that of work which deregistration has not waited for */
static void put_odp(struct rhca_odp *odp)
{
	if (!refcount_dec_and_test(&odp->refs))
		return;
	rhca_odp_ranges_destroy(&odp->ranges);
	rhca_odp_range_destroy(odp->range);
	rhca_charge_give(&odp->charge);
	put_device(&odp->ibdev->dev);
	rhca_odp_lanes_put(odp->lanes);
	kfree(odp);
	module_put(THIS_MODULE);
}

/* --- faulting pages in ------------------------------------------------------- */

/* Returns -EFAULT if the process has no memory there, or no writable memory */
static int fault_in(struct rhca_odp *odp, u64 addr, u64 bytes)
{
	u64 from = odp->start + (addr - odp->iova);
	struct rhca_odp_range *range;
	u64 here;
	int ret;

	while (bytes && !READ_ONCE(odp->gone)) {
		range = odp->range ?: rhca_odp_ranges_get(&odp->ranges, from);
		if (IS_ERR(range))
			return PTR_ERR(range);
		here = min_t(u64, bytes, ib_umem_end(range->umem) - from);
		ret = rhca_odp_range_fault_in(range, from, here);
		if (ret)
			return ret;
		from += here;
		bytes -= here;
	}
	return 0;
}

static void note_failure(struct rhca_odp *odp, u64 addr, u64 bytes)
{
	struct failure *failure;

	raw_spin_lock_irq(&odp->lock);
	failure = &odp->failures[odp->next_failure++ % MAX_FAILURES];
	failure->first = addr >> PAGE_SHIFT;
	failure->last = (addr + bytes - 1) >> PAGE_SHIFT;
	failure->until = get_jiffies_64() + RHCA_ODP_FAILURE_LIFE;
	raw_spin_unlock_irq(&odp->lock);
}

/* Ahead of what is needed there may be no memory, or not enough free memory */
static int fault_in_some(struct rhca_odp *odp, u64 addr, u64 bytes, u64 ahead)
{
	int ret = fault_in(odp, addr, ahead);

	if ((ret == -EFAULT || ret == -ENOMEM) && ahead > bytes)
		ret = fault_in(odp, addr, bytes);
	return ret;
}

/* Charge tables to the process, though a kernel worker allocates them */
static int fault_in_charged(struct rhca_odp *odp, u64 addr, u64 bytes,
			    u64 ahead)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(odp->charge.mm);
	struct mem_cgroup *old = set_active_memcg(memcg);
	int ret = fault_in_some(odp, addr, bytes, ahead);

	set_active_memcg(old);
	mem_cgroup_put(memcg);
	return ret;
}

/* Should the user of the page just retry? */
static bool may_pass(struct rhca_odp *odp, int ret)
{
	if (ret == -ENOMEM)
		return ++odp->memoryless < MAX_MEMORYLESS;
	odp->memoryless = 0;
	/* -EBUSY: the mapping kept changing */
	return !ret || ret == -EBUSY || ret == -EAGAIN;
}

/*
 * Queue pending faults after those of other regions. Queued while this one runs, it would only wait
 * for it and occupy one of their slots.
 */
static bool queue_again(struct rhca_odp *odp)
{
	bool again;

	raw_spin_lock_irq(&odp->lock);
	again = odp->wanted && !odp->gone;
	odp->busy = again;
	/* Whoever sets @gone can cancel it */
	if (again)
		queue_work(odp->lanes->wq, &odp->work);
	raw_spin_unlock_irq(&odp->lock);
	return again;
}

static void fault_work(struct work_struct *work)
{
	struct rhca_odp *odp = container_of(work, struct rhca_odp, work);
	u64 addr, bytes, ahead;
	ktime_t begin = ktime_get();
	int ret;

	/* On PREEMPT_RT raw_spin_lock_bh() would not keep other tasks off the CPU */
	raw_spin_lock_irq(&odp->lock);
	addr = odp->addr;
	bytes = odp->bytes;
	ahead = odp->ahead;
	odp->wanted = false;
	raw_spin_unlock_irq(&odp->lock);

	ret = fault_in_charged(odp, addr, bytes, ahead);
	trace_rhca_odp(odp->start + (addr - odp->iova), ahead,
		       ktime_us_delta(ktime_get(), begin), ret);
	if (!may_pass(odp, ret))
		note_failure(odp, addr, bytes);
	if (!queue_again(odp))
		put_odp(odp);
}

/* A packet may check twice: during the early copy and again after it */
static bool has_failed(struct rhca_odp *odp, u64 addr, u64 bytes)
{
	const struct failure *failure = odp->failures;
	u64 first = addr >> PAGE_SHIFT, last = (addr + bytes - 1) >> PAGE_SHIFT;
	u64 now = get_jiffies_64();

	lockdep_assert_held(&odp->lock);
	for (; failure < odp->failures + MAX_FAILURES; failure++)
		if (failure->first >= first && failure->last <= last &&
		    time_before64(now, failure->until))
			return true;
	return false;
}

/*
 * rhca_mem_fault() for a region with on-demand paging, in use. @ahead may exceed the region. Also
 * called between rhca_crc32_begin() and rhca_crc32_end().
 */
int rhca_odp_fault(struct rhca_odp *odp, u64 addr, u64 bytes, u64 ahead)
{
	u64 left = odp->length - (addr - odp->iova);
	int ret = -EINPROGRESS;
	bool ask = false;

	raw_spin_lock(&odp->lock);
	if (has_failed(odp, addr, bytes)) {
		ret = -EFAULT;
	} else if (!odp->wanted) {
		ask = !odp->busy;
		odp->busy = true;
		odp->wanted = true;
		odp->addr = addr;
		odp->bytes = bytes;
		odp->ahead = max(min3(ahead, left, (u64)MAX_FAULT_BYTES), bytes);
	}
	raw_spin_unlock(&odp->lock);
	if (ask) {
		refcount_inc(&odp->refs);
		queue_work(odp->lanes->wq, &odp->work);
	}
	return ret;
}

/* --- life cycle -------------------------------------------------------------- */

static int create_explicit(struct rhca_odp *odp, struct rhca_mem *mem, int access)
{
	struct rhca_odp_range *range;

	range = rhca_odp_range_create(&odp->users,
				      ib_umem_odp_get(odp->ibdev, odp->start, odp->length,
						      access, &rhca_odp_notifier_ops));
	if (IS_ERR(range))
		return PTR_ERR(range);
	odp->range = range;
	mem->pages = range->pages;
	mem->num_pages = ib_umem_odp_num_pages(range->umem);
	mem->first_offset = offset_in_page(odp->start);
	return 0;
}

static int create_implicit(struct rhca_odp *odp, int access)
{
	struct ib_umem_odp *root = ib_umem_odp_alloc_implicit(odp->ibdev, access);

	if (IS_ERR(root))
		return PTR_ERR(root);
	odp->ranges.root = root;
	return 0;
}

static struct rhca_odp *alloc_odp(struct rhca_mem *mem, struct ib_device *ibdev,
				  u64 start)
{
	struct rhca_odp *odp;

	/* A process holds the module, a kernel user such as RDS does not */
	if (!try_module_get(THIS_MODULE))
		return NULL;
	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (odp)
		odp->lanes = rhca_odp_lanes_get();
	if (!odp || !odp->lanes) {
		kfree(odp);
		module_put(THIS_MODULE);
		return NULL;
	}
	refcount_set(&odp->refs, 1);
	get_device(&ibdev->dev);
	odp->ibdev = ibdev;
	odp->start = start;
	odp->iova = mem->iova;
	odp->length = mem->length;
	init_rwsem(&odp->users.lock);
	odp->users.mem = mem;
	odp->ranges.users = &odp->users;
	xa_init(&odp->ranges.ranges);
	raw_spin_lock_init(&odp->lock);
	INIT_WORK(&odp->work, fault_work);
	return odp;
}

/* As in all drivers, an impossible length selects the whole address space */
bool rhca_odp_is_implicit(u64 start, u64 length, int access)
{
	return access & IB_ACCESS_ON_DEMAND && !start && length == U64_MAX;
}

/*
 * Create a region that pins nothing. @mem: the region, with its addresses; not published. @start:
 * address in the calling process. Returns 0 with the odp and pages of @mem set; -ENOMEM; -EINVAL
 * for an invalid range; nothing is kept on error.
 */
int rhca_odp_create(struct rhca_mem *mem, struct ib_device *ibdev, u64 start,
		    int access)
{
	bool is_implicit = rhca_odp_is_implicit(start, mem->length, access);
	/* For an implicit one charge the maximum: peers decide when tables are allocated */
	u64 bytes = is_implicit ? RHCA_ODP_MAX_RANGES * RHCA_ODP_RANGE_BYTES :
				  PAGE_ALIGN(offset_in_page(start) + mem->length);
	struct rhca_odp *odp = alloc_odp(mem, ibdev, start);
	int ret;

	if (!odp)
		return -ENOMEM;
	access &= ~IB_ACCESS_HUGETLB;	/* huge pages are handled as small ones */
	ret = rhca_charge_take(&odp->charge, ibdev,
			       (bytes >> PAGE_SHIFT) * RHCA_ODP_BYTES_A_PAGE);
	if (!ret)
		ret = is_implicit ? create_implicit(odp, access) :
				    create_explicit(odp, mem, access);
	if (ret) {
		put_odp(odp);
		return ret;
	}
	mem->odp = odp;
	atomic_inc(&to_verbs_dev(ibdev)->num_on_demand);
	return 0;
}

/*
 * Undo rhca_odp_create() without waiting for a running fault. Until that ends, the tables stay
 * charged and the module cannot be unloaded. @mem: a region that cannot be found any more and has
 * no users; no effect without on-demand paging. May sleep.
 */
void rhca_odp_destroy(struct rhca_mem *mem)
{
	struct rhca_odp *odp = mem->odp;

	if (!odp)
		return;
	mem->pages = NULL;
	mem->odp = NULL;
	atomic_dec(&to_verbs_dev(odp->ibdev)->num_on_demand);
	raw_spin_lock_irq(&odp->lock);
	WRITE_ONCE(odp->gone, true);
	raw_spin_unlock_irq(&odp->lock);
	down_write(&odp->users.lock);
	odp->users.mem = NULL;
	up_write(&odp->users.lock);
	if (cancel_work(&odp->work))
		put_odp(odp);
	put_odp(odp);
}

/**
 * rhca_odp_query - Report on-demand paging capabilities
 * @attr: gets the capabilities
 *
 * A datagram or a message of an unreliable connection is lost if it meets a missing page, so those
 * transports only support sending.
 */
void rhca_odp_query(struct ib_device_attr *attr)
{
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps = (struct ib_odp_caps) {
		.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT,
		.per_transport_caps = {
			.rc_odp_caps = IB_ODP_SUPPORT_SEND |
				       IB_ODP_SUPPORT_RECV |
				       IB_ODP_SUPPORT_WRITE |
				       IB_ODP_SUPPORT_READ |
				       IB_ODP_SUPPORT_ATOMIC |
				       IB_ODP_SUPPORT_SRQ_RECV,
			.uc_odp_caps = IB_ODP_SUPPORT_SEND,
			.ud_odp_caps = IB_ODP_SUPPORT_SEND,
		},
	};
}
