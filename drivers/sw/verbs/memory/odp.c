// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: a region that pins nothing. It knows the pages that its process
 * has in memory just now, see odp_range.c. Who meets one that is missing asks for it
 * and comes again, since packets are handled where nobody may sleep: the requester
 * pauses, the responder says "receiver not ready" as an adapter does.
 *
 * An explicit region has one range of addresses, whose pages are the region's list.
 * An implicit one is the whole address space of the process, see odp_range.h.
 *
 * A page may not come for as long as the process, or whoever serves the page, likes. Who
 * deregisters the region does not wait for that: what the work needs is the work's then,
 * and freed behind it.
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

/* Brought in at once: more than a requester has in flight */
#define MAX_FAULT_BYTES	SZ_1M
/*
 * Times in a row that there may be no memory, before a page counts as one that cannot
 * be brought in: for half a second of a requester, which asks less and less often
 */
#define MAX_MEMORYLESS	600
/* Remembered at once: users of one region that meet bad pages at the same time */
#define MAX_FAILURES	32

/*
 * Pages that could not be brought in, one of them at least: which one is not known, so that
 * only who needs all of them has failed
 */
struct failure {
	u64 first;	/* number of the first one, from address 0 */
	u64 last;	/* of the last one */
	u64 until;	/* until when that counts, in 64-bit jiffies */
};

/* The memory of a region with on-demand paging */
struct rhca_odp {
	refcount_t refs;		/* the region's, and @work's as long as it is @busy */
	struct ib_device *ibdev;	/* of which the struct is held */
	bool gone;			/* the region has been deregistered; set under @lock */
	u64 start;			/* address that the process has for the first one */
	u64 iova;			/* the region's first address */
	u64 length;			/* bytes of the region */
	struct rhca_odp_users users;	/* of the region */
	struct rhca_odp_range *range;	/* of an explicit region: all of it; else NULL */
	struct rhca_odp_ranges ranges;	/* of an implicit region */
	/* the tables, which ib_core charges to nobody; holds the process's memory map */
	struct rhca_charge charge;
	struct rhca_odp_lanes *lanes;	/* of the process; @work is done there */
	struct work_struct work;	/* brings pages in */
	unsigned int memoryless;	/* times in a row that @work got no memory for it */
	/*
	 * Protects what follows. A packet's memory is found missing while its ICRC is
	 * computed, where nobody may sleep, on PREEMPT_RT either
	 */
	raw_spinlock_t lock;
	bool busy;			/* @work is queued, or has begun */
	bool wanted;			/* it has something to do that it has not begun: */
	u64 addr;			/* from here */
	u64 bytes;			/* these are needed */
	u64 ahead;			/* and these are going to be */
	struct failure failures[MAX_FAILURES];	/* the newest ones */
	u32 next_failure;		/* where the next one goes, modulo MAX_FAILURES */
};

/* rhca_odp_ranges_page() of an implicit region in use */
struct page *rhca_odp_page(struct rhca_odp *odp, u64 addr)
{
	return rhca_odp_ranges_page(&odp->ranges, addr);
}

/* The last one: the region's end, or that of work that it has not waited for */
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

/* --- bringing pages in ------------------------------------------------------- */

/* -EFAULT when the process has nothing there, or not for writing */
static int bring_in(struct rhca_odp *odp, u64 addr, u64 bytes)
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
		ret = rhca_odp_range_bring_in(range, from, here);
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

/* Behind what is needed there may be nothing, and memory for all of it neither */
static int bring_in_some(struct rhca_odp *odp, u64 addr, u64 bytes, u64 ahead)
{
	int ret = bring_in(odp, addr, ahead);

	if ((ret == -EFAULT || ret == -ENOMEM) && ahead > bytes)
		ret = bring_in(odp, addr, bytes);
	return ret;
}

/* Tables are the process's, though a worker makes them, which is nobody's */
static int bring_in_charged(struct rhca_odp *odp, u64 addr, u64 bytes,
			    u64 ahead)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(odp->charge.mm);
	struct mem_cgroup *old = set_active_memcg(memcg);
	int ret = bring_in_some(odp, addr, bytes, ahead);

	set_active_memcg(old);
	mem_cgroup_put(memcg);
	return ret;
}

/* Whether who needs the page finds out by asking again */
static bool may_pass(struct rhca_odp *odp, int ret)
{
	if (ret == -ENOMEM)
		return ++odp->memoryless < MAX_MEMORYLESS;
	odp->memoryless = 0;
	/* -EBUSY: it changed all the time */
	return !ret || ret == -EBUSY || ret == -EAGAIN;
}

/*
 * What has been asked for meanwhile comes behind the faults of other regions. Queued while this
 * one goes on it would only wait for it, in a place that one of theirs could have.
 */
static bool goes_on(struct rhca_odp *odp)
{
	bool again;

	raw_spin_lock_irq(&odp->lock);
	again = odp->wanted && !odp->gone;
	odp->busy = again;
	/* Who sets @gone finds it in the queue */
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

	ret = bring_in_charged(odp, addr, bytes, ahead);
	trace_rhca_odp(odp->start + (addr - odp->iova), ahead,
		       ktime_us_delta(ktime_get(), begin), ret);
	if (!may_pass(odp, ret))
		note_failure(odp, addr, bytes);
	if (!goes_on(odp))
		put_odp(odp);
}

/* A packet may ask twice: what is copied in the pass of the ICRC, and then is not */
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
 * rhca_mem_fault() of a region in use with on-demand paging. @ahead may go beyond the region's
 * end. Also between rhca_crc32_begin() and rhca_crc32_end().
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

/* --- its life ---------------------------------------------------------------- */

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
	struct rhca_odp *odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);

	if (!odp)
		return NULL;
	odp->lanes = rhca_odp_lanes_get();
	if (!odp->lanes) {
		kfree(odp);
		return NULL;
	}
	refcount_set(&odp->refs, 1);
	get_device(&ibdev->dev);
	__module_get(THIS_MODULE);	/* the process has it */
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

/* The whole address space is asked for with a length that none can have, as of all drivers */
bool rhca_odp_is_implicit(u64 start, u64 length, int access)
{
	return access & IB_ACCESS_ON_DEMAND && !start && length == U64_MAX;
}

/*
 * Make a region that pins nothing. @mem: the region, with its addresses; not published. @start:
 * address in the calling process. Returns 0 with the odp and the pages of @mem set; -ENOMEM;
 * -EINVAL for a range that is none; nothing is kept after an error.
 */
int rhca_odp_create(struct rhca_mem *mem, struct ib_device *ibdev, u64 start,
		    int access)
{
	bool is_implicit = rhca_odp_is_implicit(start, mem->length, access);
	/* Of an implicit one all that there may be: a peer decides when tables are made */
	u64 bytes = is_implicit ? RHCA_ODP_MAX_RANGES * RHCA_ODP_RANGE_BYTES :
				  PAGE_ALIGN(offset_in_page(start) + mem->length);
	struct rhca_odp *odp = alloc_odp(mem, ibdev, start);
	int ret;

	if (!odp)
		return -ENOMEM;
	access &= ~IB_ACCESS_HUGETLB;	/* huge pages are found as small ones */
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
 * Undo rhca_odp_create(). A page that is being brought in is not waited for. Until it comes, or
 * is refused, the tables are charged and the module cannot be unloaded. @mem: a region that
 * nobody can find any more and that has no users; nothing happens to one without on-demand
 * paging. May sleep.
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
 * rhca_odp_query - Say what works without pinned memory
 * @attr: gets the capabilities
 *
 * A datagram that meets a missing page is lost, as is the message of an unreliable
 * connection; so those transports promise it for what they send.
 */
void rhca_odp_query(struct ib_device_attr *attr)
{
	if (!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		return;
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
