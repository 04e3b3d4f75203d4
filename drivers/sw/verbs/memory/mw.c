// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows, and the work requests that change what a key means: bind,
 * fast registration, local and remote invalidation. IBTA vol. 1, 10.6.6-10.6.8.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/memory/mr.h"
#include "sw/verbs/memory/mw.h"

#define WINDOW_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC | RHCA_ACCESS_FLUSH)

static bool is_window(const struct rhca_mem *mem)
{
	return mem->kind == RHCA_MEM_WINDOW_1 || mem->kind == RHCA_MEM_WINDOW_2;
}

/* Lock order: a window's binding_lock, then its region's; inside QP locks */
static void drop_region(struct rhca_mem *region)
{
	spin_lock_nested(&region->binding_lock, SINGLE_DEPTH_NESTING);
	region->num_windows--;
	spin_unlock(&region->binding_lock);
}

/* Stop new users. Present ones continue to use @region's pages */
static void detach(struct rhca_mem *window, enum rhca_mem_state state)
{
	lockdep_assert_held(&window->binding_lock);
	if (window->state == RHCA_MEM_VALID)
		drop_region(window->region);
	WRITE_ONCE(window->state, state);
}

static bool remote_allowed(const struct rhca_mem *mem,
			   const struct rhca_remote *remote)
{
	if (mem->pd != remote->pd ||
	    (mem->kind == RHCA_MEM_WINDOW_2 && mem->qp_num != remote->qp_num))
		return false;
	if (remote->whole)
		return mem->kind != RHCA_MEM_DMA &&
		       !(remote->access & ~mem->access);
	return rhca_mem_allows(mem, remote->va, remote->length,
			       remote->access);
}

/*
 * Invalidation waits for the copy of one packet, too short to test the wait. A kernel for tests can
 * prolong each eighth copy: smp-churn writes the time to this file.
 */
#define DWELL_FILE	"roce_hca_dwell_us"
#define DWELL_EACH	8
/* A softirq handles up to 64 packets and must not take seconds */
#define DWELL_MAX_US	1000U

static DEFINE_PER_CPU(unsigned int, num_dwells);
static u32 dwell_us;

static void dwell(void)
{
	if (IS_ENABLED(CONFIG_KUNIT) && unlikely(READ_ONCE(dwell_us)) &&
	    !(this_cpu_inc_return(num_dwells) % DWELL_EACH))
		udelay(min(READ_ONCE(dwell_us), DWELL_MAX_US));
}

void rhca_dwell_init(void)
{
	if (IS_ENABLED(CONFIG_KUNIT))
		debugfs_create_u32(DWELL_FILE, 0600, NULL, &dwell_us);
}

void rhca_dwell_exit(void)
{
	if (IS_ENABLED(CONFIG_KUNIT))
		debugfs_lookup_and_remove(DWELL_FILE, NULL);
}

/**
 * rhca_mem_hold_remote - Get the memory that a peer requests, if allowed
 * @held: as for rhca_mem_hold()
 * @remote: the request
 *
 * Context: as rhca_mem_hold().
 * Return: memory in use, addressed as in @remote; or NULL, in which case @held may still be in use.
 */
struct rhca_mem *rhca_mem_hold_remote(struct rhca_mem **held,
				      const struct rhca_remote *remote)
{
	struct rhca_mem *mem = rhca_mem_hold(held, remote->dev, remote->rkey);

	if (!mem || !remote_allowed(mem, remote))
		return NULL;
	dwell();
	return mem;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_hold_remote);

static int alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct rhca_mw *mw = to_rhca_mw(ibmw);
	int ret;

	mw->mem = kzalloc(sizeof(*mw->mem), GFP_KERNEL_ACCOUNT);
	if (!mw->mem)
		return -ENOMEM;
	ret = rhca_mem_publish(mw->mem, to_verbs_dev(ibmw->device), ibmw->pd,
			       ibmw->type == IB_MW_TYPE_1 ? RHCA_MEM_WINDOW_1 :
							    RHCA_MEM_WINDOW_2);
	if (ret) {
		kfree(mw->mem);
		return ret;
	}
	ibmw->rkey = mw->mem->key;
	return 0;
}

static int dealloc_mw(struct ib_mw *ibmw)
{
	struct rhca_mem *mem = to_rhca_mw(ibmw)->mem;

	spin_lock_bh(&mem->binding_lock);
	detach(mem, RHCA_MEM_GONE);
	spin_unlock_bh(&mem->binding_lock);
	rhca_mem_withdraw(mem);
	kfree_rcu(mem, rcu);
	return 0;
}

/* The memory of a key, ignoring its low byte and the state; RCU read side */
static struct rhca_mem *find_by_index(struct rhca_verbs_dev *dev, u32 key)
{
	return xa_load(&dev->keys, RHCA_KEY_INDEX(key));
}

static int check_window(const struct rhca_mem *window, struct ib_pd *pd,
			const struct rhca_bind *bind)
{
	if (!is_window(window) || window->state == RHCA_MEM_GONE ||
	    window->pd != pd || window->key != bind->window_key)
		return -EINVAL;
	if (window->kind == RHCA_MEM_WINDOW_2) {
		/* Bound type 2 windows must be invalidated first, C10-70.2.1 */
		if (window->state == RHCA_MEM_VALID || !bind->length)
			return -EINVAL;
	}
	/* The HCA chooses the index, the consumer the low byte, which must change */
	if (RHCA_KEY_INDEX(bind->new_key) != RHCA_KEY_INDEX(window->key) ||
	    bind->new_key == window->key)
		return -EINVAL;
	return 0;
}

static int check_region(const struct rhca_mem *region, struct ib_pd *pd,
			const struct rhca_bind *bind)
{
	if (region->state != RHCA_MEM_VALID ||
	    region->kind == RHCA_MEM_DMA || region->pd != pd ||
	    !(region->access & IB_ACCESS_MW_BIND))
		return -EINVAL;
	/* Local write does not apply to windows, but applications set it */
	if (bind->access & ~(WINDOW_ACCESS | IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if ((bind->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(region->access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;	/* C10-75 */
	if (bind->access & RHCA_ACCESS_FLUSH & ~region->access)
		return -EINVAL;	/* A19 */
	return rhca_mem_allows(region, bind->addr, bind->length, 0) ? 0 : -EINVAL;
}

/* The region cannot change while a window is bound to it */
static int take_region(struct rhca_mem *region, struct ib_pd *pd,
		       const struct rhca_bind *bind)
{
	int ret;

	/* Check this before locking: the locks of two windows have no order */
	if (!region || is_window(region))
		return -EINVAL;
	spin_lock_nested(&region->binding_lock, SINGLE_DEPTH_NESTING);
	ret = check_region(region, pd, bind);
	if (!ret)
		region->num_windows++;
	spin_unlock(&region->binding_lock);
	return ret;
}

static void attach(struct rhca_mem *window, struct rhca_mem *region,
		   const struct rhca_bind *bind)
{
	window->region = region;
	window->iova = bind->addr;
	window->length = bind->length;
	window->access = bind->access;
	WRITE_ONCE(window->key, bind->new_key);
	rhca_mem_set_valid(window);
}

static int bind_locked(struct rhca_mem *window, struct rhca_mem *region,
		       struct ib_pd *pd, u32 qp_num, const struct rhca_bind *bind)
{
	int ret;

	lockdep_assert_held(&window->binding_lock);
	ret = check_window(window, pd, bind);
	if (!ret && bind->length)
		ret = take_region(region, pd, bind);
	if (ret)
		return ret;
	detach(window, RHCA_MEM_INVALID);
	if (!rhca_mem_is_idle(window)) {
		if (bind->length)
			drop_region(region);
		return -EINPROGRESS;
	}
	window->qp_num = qp_num;
	if (bind->length)
		attach(window, region, bind);
	else
		WRITE_ONCE(window->key, bind->new_key);
	return 0;
}

/**
 * rhca_mw_bind - Execute a bind work request
 * @dev: the device
 * @pd: of the QP
 * @qp_num: of the QP
 * @bind: the request
 *
 * Context: bottom halves off.
 * Return: 0; -EINVAL if it violates a rule of 10.6.7.2, with nothing changed; -EINPROGRESS while
 * packets still use the old binding, which is already invalid: retry.
 */
int rhca_mw_bind(struct rhca_verbs_dev *dev, struct ib_pd *pd, u32 qp_num,
		 const struct rhca_bind *bind)
{
	struct rhca_mem *window, *region = NULL;
	int ret = -EINVAL;

	rcu_read_lock();
	window = find_by_index(dev, bind->window_key);
	if (bind->length)
		region = rhca_mem_get(dev, bind->region_key);
	if (window) {
		spin_lock(&window->binding_lock);
		ret = bind_locked(window, region, pd, qp_num, bind);
		spin_unlock(&window->binding_lock);
	}
	rhca_mem_put(region);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mw_bind);

static int invalidate_locked(struct rhca_mem *mem, struct ib_pd *pd, u32 key,
			     u32 qp_num, bool remote)
{
	lockdep_assert_held(&mem->binding_lock);
	if (mem->key != key || mem->pd != pd || mem->state == RHCA_MEM_GONE)
		return -EINVAL;
	switch (mem->kind) {
	case RHCA_MEM_FAST_REG:
		/* A peer may only invalidate regions it has rights to */
		if (remote && !(mem->access & WINDOW_ACCESS))
			return -EINVAL;
		WRITE_ONCE(mem->state, RHCA_MEM_INVALID);
		break;
	case RHCA_MEM_WINDOW_2:
		if (mem->state != RHCA_MEM_VALID || mem->qp_num != qp_num)
			return -EINVAL;
		detach(mem, RHCA_MEM_INVALID);
		break;
	default:
		return -EINVAL;
	}
	return rhca_mem_is_idle(mem) ? 0 : -EINPROGRESS;
}

/**
 * rhca_key_invalidate - Invalidate a key
 * @dev: the device
 * @pd: of the QP
 * @key: the key
 * @qp_num: the QP, for windows bound to one
 * @remote: requested by the peer, with SEND with Invalidate
 *
 * Context: bottom halves off.
 * Return: 0; -EINVAL if this QP may not invalidate the key; -EINPROGRESS if it is invalid now but
 * earlier packets use the memory until rhca_key_is_idle().
 */
int rhca_key_invalidate(struct rhca_verbs_dev *dev, struct ib_pd *pd, u32 key,
			u32 qp_num, bool remote)
{
	struct rhca_mem *mem;
	int ret = -EINVAL;

	rcu_read_lock();
	mem = find_by_index(dev, key);
	if (mem) {
		spin_lock(&mem->binding_lock);
		ret = invalidate_locked(mem, pd, key, qp_num, remote);
		spin_unlock(&mem->binding_lock);
	}
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_key_invalidate);

/**
 * rhca_key_is_idle - Is the memory of an invalidated key unused?
 * @dev: the device
 * @key: the key. The memory may have been deregistered or got another key meanwhile, both of which
 *	wait for users
 *
 * Context: any but hardirq.
 */
bool rhca_key_is_idle(struct rhca_verbs_dev *dev, u32 key)
{
	struct rhca_mem *mem;
	bool idle;

	rcu_read_lock();
	mem = find_by_index(dev, key);
	idle = !mem || READ_ONCE(mem->key) != key ||
	       READ_ONCE(mem->state) == RHCA_MEM_VALID || rhca_mem_is_idle(mem);
	rcu_read_unlock();
	return idle;
}

/* A region registered again without a new mapping keeps its pages */
static void use_mapping(struct rhca_mr *mr)
{
	lockdep_assert_held(&mr->mem.binding_lock);
	if (!mr->mapping.is_new)
		return;
	swap(mr->mem.pieces, mr->mapping.pieces);
	mr->mem.num_pages = mr->mapping.num_pieces;
	mr->mem.first_offset = mr->mapping.first_offset;
	mr->mem.piece_shift = mr->mapping.piece_shift;
	mr->mapping.is_new = false;
}

static int register_locked(struct ib_mr *ibmr, struct ib_pd *pd, u32 key,
			   int access)
{
	struct rhca_mem *mem = &to_rhca_mr(ibmr)->mem;

	lockdep_assert_held(&mem->binding_lock);
	if (mem->kind != RHCA_MEM_FAST_REG || mem->pd != pd ||
	    mem->state != RHCA_MEM_INVALID)
		return -EINVAL;
	if (!rhca_mem_is_idle(mem))
		return -EINPROGRESS;
	use_mapping(to_rhca_mr(ibmr));
	mem->access = access;
	mem->iova = ibmr->iova;		/* NFS changes it after mapping */
	mem->length = ibmr->length;
	WRITE_ONCE(mem->key, key);
	rhca_mem_set_valid(mem);
	return 0;
}

/**
 * rhca_key_register - Execute a fast registration
 * @dev: the device
 * @pd: of the QP
 * @ibmr: the region, mapped by ib_map_mr_sg(). A user may have deregistered it since it posted the
 *	request: it is only looked at if its key leads to it
 * @key: new key; same index
 * @access: IB_ACCESS_*
 *
 * Context: bottom halves off.
 * Return: 0; -EINVAL if the region is still valid, is in another domain or gone, or the key is not
 * one of its keys; -EINPROGRESS while packets use the former key: retry.
 */
int rhca_key_register(struct rhca_verbs_dev *dev, struct ib_pd *pd,
		      struct ib_mr *ibmr, u32 key, int access)
{
	struct rhca_mem *mem = &to_rhca_mr(ibmr)->mem;
	int ret = -EINVAL;

	rcu_read_lock();
	if (find_by_index(dev, key) == mem) {
		spin_lock(&mem->binding_lock);
		ret = register_locked(ibmr, pd, key, access);
		spin_unlock(&mem->binding_lock);
	}
	rcu_read_unlock();
	return ret;
}

const struct ib_device_ops rhca_mw_verbs = {
	.alloc_mw	= alloc_mw,
	.dealloc_mw	= dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_mw, rhca_mw, ibmw),
};
