// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows, and the work requests that change what a key means: bind,
 * fast registration, local and remote invalidation. IBTA vol. 1, 10.6.6-10.6.8.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"
#include "sw/verbs/mw.h"

#define WINDOW_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC)

/*
 * Serialises changes of what a key means. Lock order: inside QP locks; nothing
 * is taken inside.
 */
static DEFINE_SPINLOCK(binding_lock);

static bool is_window(const struct rhca_mem *mem)
{
	return mem->kind == RHCA_MEM_WINDOW_1 || mem->kind == RHCA_MEM_WINDOW_2;
}

static void detach(struct rhca_mem *window, enum rhca_mem_state state)
{
	lockdep_assert_held(&binding_lock);
	if (window->state == RHCA_MEM_VALID && window->region)
		window->region->num_windows--;
	window->region = NULL;
	WRITE_ONCE(window->state, state);
}

/**
 * rhca_region_retire - A region is to be deregistered: no new users or windows
 * @region: the region
 *
 * Return: 0, or -EINVAL when windows are bound to it, 10.6.7.2.6.
 */
int rhca_region_retire(struct rhca_mem *region)
{
	int ret = 0;

	spin_lock_bh(&binding_lock);
	if (region->num_windows)
		ret = -EINVAL;
	else
		WRITE_ONCE(region->state, RHCA_MEM_GONE);
	spin_unlock_bh(&binding_lock);
	return ret;
}

static bool remote_allowed(const struct rhca_mem *mem,
			   const struct rhca_remote *remote)
{
	return mem->key == remote->rkey && READ_ONCE(mem->pd) == remote->pd &&
	       (mem->kind != RHCA_MEM_WINDOW_2 ||
		mem->qp_num == remote->qp_num) &&
	       rhca_mem_allows(mem, remote->va, remote->length,
			       remote->access);
}

/* What is behind a window at this moment: its region, which has the pages */
static struct rhca_mem *look_through(struct rhca_mem *window,
				     const struct rhca_remote *remote)
{
	struct rhca_mem *region = NULL;

	spin_lock(&binding_lock);
	if (window->state == RHCA_MEM_VALID &&
	    remote_allowed(window, remote) && rhca_mem_hold(window->region))
		region = window->region;
	spin_unlock(&binding_lock);
	return region;
}

/**
 * rhca_mem_get_remote - The memory that a peer asks for, if it may have it
 * @remote: what it asks for
 *
 * Context: bottom halves off until rhca_mem_put().
 * Return: memory in use, whose addresses are those of @remote; or NULL.
 */
struct rhca_mem *rhca_mem_get_remote(const struct rhca_remote *remote)
{
	struct rhca_mem *mem = rhca_mem_get(remote->dev, remote->rkey);
	struct rhca_mem *region;

	if (!mem)
		return NULL;
	if (is_window(mem)) {
		region = look_through(mem, remote);
		rhca_mem_put(mem);
		return region;
	}
	if (remote_allowed(mem, remote))
		return mem;
	rhca_mem_put(mem);
	return NULL;
}

static int alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct rhca_mw *mw = to_rhca_mw(ibmw);
	int ret;

	mw->mem = kzalloc(sizeof(*mw->mem), GFP_KERNEL);
	if (!mw->mem)
		return -ENOMEM;
	ret = rhca_mem_publish(mw->mem, to_rhca_dev(ibmw->device), ibmw->pd,
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

	spin_lock_bh(&binding_lock);
	detach(mem, RHCA_MEM_GONE);
	spin_unlock_bh(&binding_lock);
	rhca_mem_withdraw(mem);
	kfree_rcu(mem, rcu);
	return 0;
}

/* The memory under a key, whatever its low byte and state; RCU read side */
static struct rhca_mem *find_by_index(struct rhca_dev *dev, u32 key)
{
	return xa_load(&dev->keys, RHCA_KEY_INDEX(key));
}

static int check_window(const struct rhca_mem *window,
			const struct rhca_bind *bind)
{
	if (!is_window(window) || window->state == RHCA_MEM_GONE ||
	    window->pd != bind->pd || window->key != bind->window_key)
		return -EINVAL;
	if (window->kind == RHCA_MEM_WINDOW_2) {
		/* Bound type 2 windows must be invalidated first, C10-70.2.1 */
		if (window->state == RHCA_MEM_VALID || !bind->length)
			return -EINVAL;
	}
	/* The index is the HCA's, the low byte the consumer's, and must change */
	if (RHCA_KEY_INDEX(bind->new_key) != RHCA_KEY_INDEX(window->key) ||
	    bind->new_key == window->key)
		return -EINVAL;
	return 0;
}

static int check_region(const struct rhca_mem *region,
			const struct rhca_bind *bind)
{
	if (region->state != RHCA_MEM_VALID || is_window(region) ||
	    region->kind == RHCA_MEM_DMA || region->pd != bind->pd ||
	    !(region->access & IB_ACCESS_MW_BIND))
		return -EINVAL;
	/* Local write is no right of a window, but applications ask for it */
	if (bind->access & ~(WINDOW_ACCESS | IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if ((bind->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(region->access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;	/* C10-75 */
	return rhca_mem_allows(region, bind->addr, bind->length, 0) ? 0 : -EINVAL;
}

static void attach(struct rhca_mem *window, struct rhca_mem *region,
		   const struct rhca_bind *bind)
{
	window->region = region;
	window->iova = bind->addr;
	window->length = bind->length;
	window->access = bind->access;
	window->qp_num = bind->qp_num;
	region->num_windows++;
	WRITE_ONCE(window->key, bind->new_key);
	/* The binding before the state that lets users in */
	smp_store_release(&window->state, RHCA_MEM_VALID);
}

static int bind_locked(struct rhca_mem *window, struct rhca_mem *region,
		       const struct rhca_bind *bind)
{
	int ret;

	lockdep_assert_held(&binding_lock);
	ret = check_window(window, bind);
	if (ret)
		return ret;
	if (bind->length) {
		if (!region)
			return -EINVAL;
		ret = check_region(region, bind);
		if (ret)
			return ret;
	}
	detach(window, RHCA_MEM_INVALID);
	if (bind->length)
		attach(window, region, bind);
	else
		WRITE_ONCE(window->key, bind->new_key);
	return 0;
}

/**
 * rhca_mw_bind - Carry out a bind work request
 * @dev: the device
 * @bind: the request
 *
 * Context: bottom halves off.
 * Return: 0; -EINVAL when any rule of 10.6.7.2 is broken, with nothing changed.
 */
int rhca_mw_bind(struct rhca_dev *dev, const struct rhca_bind *bind)
{
	struct rhca_mem *window, *region = NULL;
	int ret = -EINVAL;

	rcu_read_lock();
	window = find_by_index(dev, bind->window_key);
	if (bind->length)
		region = rhca_mem_get(dev, bind->region_key);
	if (window) {
		spin_lock(&binding_lock);
		ret = bind_locked(window, region, bind);
		spin_unlock(&binding_lock);
	}
	rhca_mem_put(region);
	rcu_read_unlock();
	return ret;
}

static int invalidate_locked(struct rhca_mem *mem, struct ib_pd *pd, u32 key,
			     u32 qp_num, bool remote)
{
	lockdep_assert_held(&binding_lock);
	if (mem->key != key || mem->pd != pd || mem->state == RHCA_MEM_GONE)
		return -EINVAL;
	switch (mem->kind) {
	case RHCA_MEM_FAST_REG:
		/* A peer may only invalidate what it was given rights to */
		if (remote && !(mem->access & WINDOW_ACCESS))
			return -EINVAL;
		WRITE_ONCE(mem->state, RHCA_MEM_INVALID);
		return 0;
	case RHCA_MEM_WINDOW_2:
		if (mem->state != RHCA_MEM_VALID || mem->qp_num != qp_num)
			return -EINVAL;
		detach(mem, RHCA_MEM_INVALID);
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * rhca_key_invalidate - Make a key unusable
 * @dev: the device
 * @pd: of the QP
 * @key: the key
 * @qp_num: the QP, for windows that are bound to one
 * @remote: a peer asks, by SEND with Invalidate
 *
 * Context: bottom halves off.
 * Return: 0, or -EINVAL when the key cannot be invalidated by this QP.
 */
int rhca_key_invalidate(struct rhca_dev *dev, struct ib_pd *pd, u32 key,
			u32 qp_num, bool remote)
{
	struct rhca_mem *mem, *region;
	int ret = -EINVAL;

	rcu_read_lock();
	mem = find_by_index(dev, key);
	if (mem) {
		spin_lock(&binding_lock);
		region = mem->region ?: mem;
		ret = invalidate_locked(mem, pd, key, qp_num, remote);
		spin_unlock(&binding_lock);
		/* Nothing touches the memory once this has completed */
		if (!ret)
			rhca_mem_wait_idle(region);
	}
	rcu_read_unlock();
	return ret;
}

/**
 * rhca_key_register - Carry out a fast registration
 * @ibmr: the region, mapped by ib_map_mr_sg()
 * @pd: of the QP
 * @key: key that it shall have; same index
 * @access: IB_ACCESS_*
 *
 * Context: bottom halves off.
 * Return: 0, or -EINVAL when the region is valid still, belongs to another
 * domain, or the key is not one of its own.
 */
int rhca_key_register(struct ib_mr *ibmr, struct ib_pd *pd, u32 key, int access)
{
	struct rhca_mem *mem = &to_rhca_mr(ibmr)->mem;
	int ret = -EINVAL;

	spin_lock(&binding_lock);
	if (mem->kind == RHCA_MEM_FAST_REG && mem->pd == pd &&
	    mem->state == RHCA_MEM_INVALID &&
	    RHCA_KEY_INDEX(key) == RHCA_KEY_INDEX(mem->key)) {
		mem->access = access;
		mem->iova = ibmr->iova;
		mem->length = ibmr->length;
		WRITE_ONCE(mem->key, key);
		/* The registration before the state that lets users in */
		smp_store_release(&mem->state, RHCA_MEM_VALID);
		ret = 0;
	}
	spin_unlock(&binding_lock);
	return ret;
}

const struct ib_device_ops rhca_mw_verbs = {
	.alloc_mw	= alloc_mw,
	.dealloc_mw	= dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_mw, rhca_mw, ibmw),
};
