// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: a region that pins nothing. It knows the pages that its process
 * has in memory just now. Who meets one that is missing asks for it and comes again,
 * since packets are handled where nobody may sleep: the requester pauses, the
 * responder says "receiver not ready" as an adapter does.
 *
 * The kernel takes a page away, to swap it out, to copy it on a write after fork(),
 * to unmap it, by rhca_odp's MMU notifier. That forgets the page, and then waits
 * for those who found it before: a region's users are counted.
 */
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_umem_odp.h>
#include <rhca/compat.h>

#include "sw/verbs/charge.h"
#include "sw/verbs/device.h"
#include "sw/verbs/mr.h"
#include "sw/verbs/odp.h"

/* Brought in at once: more than a requester has in flight */
#define MAX_FAULT_BYTES	SZ_1M
/*
 * Who met a page that cannot be brought in comes again sooner; who comes later asks
 * anew, since the process may have got memory there.
 */
#define FAILURE_LIFE	(HZ / 10)

/**
 * struct rhca_odp - The memory of a region with on-demand paging
 * @dev: the device
 * @mem: the region
 * @umem: ib_core's part: the process, and its notifier
 * @start: address that the process has for the region's first one
 * @write: pages are wanted for writing
 * @charge: the tables, which ib_core charges to nobody
 * @work: brings pages in
 * @lock: protects what follows
 * @wanted: @work has something to do, or is about to begin it:
 * @addr: from here
 * @bytes: these are needed
 * @ahead: and these are going to be
 * @failed: the page of @failed_addr could not be brought in
 * @failed_addr: this one
 * @failed_until: until when that counts, in jiffies
 */
struct rhca_odp {
	struct rhca_verbs_dev *dev;
	struct rhca_mem *mem;
	struct ib_umem_odp *umem;
	u64 start;
	bool write;
	struct rhca_charge charge;
	struct work_struct work;
	spinlock_t lock;		/* protects what follows */
	bool wanted;
	u64 addr;
	u64 bytes;
	u64 ahead;
	bool failed;
	u64 failed_addr;
	unsigned long failed_until;
};

/* --- the notifier ------------------------------------------------------------ */

static u64 index_of(const struct ib_umem_odp *umem, u64 user_addr)
{
	return (user_addr - umem->notifier.interval_tree.start) >> PAGE_SHIFT;
}

/* False when none of them was there */
static bool forget_pages(struct rhca_odp *odp, u64 start, u64 end)
{
	struct rhca_mem *mem = odp->mem;
	u64 i, last = index_of(odp->umem, end);
	bool any = false;

	lockdep_assert_held(&odp->umem->umem_mutex);
	for (i = index_of(odp->umem, start); i < last; i++) {
		if (!mem->pages[i])
			continue;
		WRITE_ONCE(mem->pages[i], NULL);
		any = true;
	}
	return any;
}

/*
 * Users that come now find no page; those that found one have gone after a grace
 * period, since they run with bottom halves off.
 */
static void wait_for_users(const struct rhca_mem *mem)
{
	if (!rhca_mem_is_idle(mem))
		synchronize_rcu_expedited();
}

static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct ib_umem_odp *umem = container_of(notifier, struct ib_umem_odp,
						notifier);
	/* NULL while it is created: nothing has been brought in */
	struct rhca_odp *odp = READ_ONCE(umem->private);
	u64 start, end;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, seq);
	start = max_t(u64, ib_umem_start(umem), range->start);
	end = min_t(u64, ib_umem_end(umem), range->end);
	if (odp && forget_pages(odp, start, end)) {
		wait_for_users(odp->mem);
		ib_umem_odp_unmap_dma_pages(umem, start, end);
	}
	mutex_unlock(&umem->umem_mutex);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

/* --- bringing pages in ------------------------------------------------------- */

/*
 * What is going to be written is dirty from now on: nobody sees the writing. Before
 * the kernel cleans a page, it takes it away from here.
 */
static void take_page(struct rhca_odp *odp, u64 index, struct page *page)
{
	lockdep_assert_held(&odp->umem->umem_mutex);
	if (odp->write)
		set_page_dirty(compound_head(page));
	WRITE_ONCE(odp->mem->pages[index], page);
}

/* -EFAULT when the process has nothing there, or not for writing */
static int bring_in(struct rhca_odp *odp, u64 addr, u64 bytes)
{
	struct ib_umem_odp *umem = odp->umem;
	u64 from = odp->start + (addr - odp->mem->iova);
	u64 i, last = index_of(umem, from + bytes - 1);
	unsigned long pfn;
	int ret;

	ret = ib_umem_odp_map_dma_and_lock(umem, from, bytes,
					   rhca_odp_access(odp->write), true);
	if (ret < 0)
		return ret;
	for (i = index_of(umem, from); i <= last; i++) {
		pfn = rhca_odp_pfns(umem)[i];
		if (pfn & HMM_PFN_VALID)
			take_page(odp, i, hmm_pfn_to_page(pfn));
	}
	mutex_unlock(&umem->umem_mutex);
	return 0;
}

static void note_failure(struct rhca_odp *odp, u64 addr)
{
	spin_lock_bh(&odp->lock);
	odp->failed = true;
	odp->failed_addr = addr;
	odp->failed_until = jiffies + FAILURE_LIFE;
	spin_unlock_bh(&odp->lock);
}

static void fault_work(struct work_struct *work)
{
	struct rhca_odp *odp = container_of(work, struct rhca_odp, work);
	u64 addr, bytes, ahead;
	int ret;

	spin_lock_bh(&odp->lock);
	addr = odp->addr;
	bytes = odp->bytes;
	ahead = odp->ahead;
	odp->wanted = false;
	spin_unlock_bh(&odp->lock);

	ret = bring_in(odp, addr, ahead);
	/* Behind what is needed there may be nothing */
	if (ret == -EFAULT && ahead > bytes)
		ret = bring_in(odp, addr, bytes);
	/* -EBUSY: it changed all the time. Who needs it asks again */
	if (ret && ret != -EBUSY && ret != -EAGAIN)
		note_failure(odp, addr);
}

/* A packet may ask twice: what is copied in the pass of the ICRC, and then is not */
static bool has_failed(struct rhca_odp *odp, u64 addr)
{
	lockdep_assert_held(&odp->lock);
	return odp->failed &&
	       addr >> PAGE_SHIFT == odp->failed_addr >> PAGE_SHIFT &&
	       time_before(jiffies, odp->failed_until);
}

/**
 * rhca_odp_fault - Ask for pages that are not there
 * @odp: of a region in use
 * @addr: address of the region, of a page that is not there
 * @bytes: that are needed from there; rhca_mem_allows() has said yes
 * @ahead: that are going to be needed from there, as far as the region goes; not
 *	less than @bytes
 *
 * Context: bottom halves off.
 * Return: -EINPROGRESS: try again soon; -EFAULT: the process has no such memory.
 */
int rhca_odp_fault(struct rhca_odp *odp, u64 addr, u64 bytes, u64 ahead)
{
	const struct rhca_mem *mem = odp->mem;
	u64 left = mem->length - (addr - mem->iova);
	int ret = -EINPROGRESS;

	spin_lock(&odp->lock);
	if (has_failed(odp, addr)) {
		ret = -EFAULT;
	} else if (!odp->wanted) {
		odp->wanted = true;
		odp->addr = addr;
		odp->bytes = bytes;
		odp->ahead = max(min3(ahead, left, (u64)MAX_FAULT_BYTES), bytes);
		queue_work(ib_wq, &odp->work);
	}
	spin_unlock(&odp->lock);
	return ret;
}

/* --- its life ---------------------------------------------------------------- */

static int charge_tables(struct rhca_odp *odp, struct ib_pd *pd, u64 num_pages)
{
	return rhca_charge_take(&odp->charge, pd->device,
				num_pages * RHCA_ODP_BYTES_A_PAGE);
}

/**
 * rhca_odp_create - Make a region that pins nothing
 * @mem: the region, with its addresses; not published
 * @pd: protection domain
 * @start: address in the calling process
 * @length: bytes
 * @access: IB_ACCESS_*
 *
 * Return: 0 with the odp and the pages of @mem set; -ENOMEM; -EINVAL for a range
 * that is none; nothing is kept after an error.
 */
int rhca_odp_create(struct rhca_mem *mem, struct ib_pd *pd, u64 start,
		    u64 length, int access)
{
	u64 num_pages = PAGE_ALIGN(offset_in_page(start) + length) >> PAGE_SHIFT;
	struct rhca_odp *odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!odp)
		return -ENOMEM;
	odp->dev = to_verbs_dev(pd->device);
	odp->mem = mem;
	odp->start = start;
	odp->write = ib_access_writable(access);
	spin_lock_init(&odp->lock);
	INIT_WORK(&odp->work, fault_work);
	ret = charge_tables(odp, pd, num_pages);
	if (ret)
		goto err_free;
	mem->pages = kvcalloc(num_pages, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT);
	if (!mem->pages) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	/* Huge pages are found as small ones */
	odp->umem = ib_umem_odp_get(pd->device, start, length,
				    access & ~IB_ACCESS_HUGETLB, &notifier_ops);
	if (IS_ERR(odp->umem)) {
		ret = PTR_ERR(odp->umem);
		goto err_free_pages;
	}
	WRITE_ONCE(odp->umem->private, odp);
	mem->num_pages = num_pages;
	mem->max_pages = num_pages;
	mem->page_shift = PAGE_SHIFT;
	mem->first_offset = offset_in_page(start);
	mem->odp = odp;
	atomic_inc(&odp->dev->num_on_demand);
	return 0;

err_free_pages:
	kvfree(mem->pages);
	mem->pages = NULL;
err_uncharge:
	rhca_charge_give(&odp->charge);
err_free:
	kfree(odp);
	return ret;
}

/**
 * rhca_odp_destroy - Undo rhca_odp_create(), but for the pages' list
 * @odp: of a region that nobody can find any more and that has no users; or NULL.
 *	Its list of pages is freed behind this
 *
 * Context: may sleep.
 */
void rhca_odp_destroy(struct rhca_odp *odp)
{
	if (!odp)
		return;
	cancel_work_sync(&odp->work);
	ib_umem_odp_release(odp->umem);
	atomic_dec(&odp->dev->num_on_demand);
	rhca_charge_give(&odp->charge);
	kfree(odp);
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
		.general_caps = IB_ODP_SUPPORT,
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
