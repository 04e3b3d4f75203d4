// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions, IBTA vol. 1, 10.6, and the table of keys.
 */
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_umem.h>
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/charge.h"
#include "sw/verbs/mr.h"
#include "sw/verbs/mw.h"
#include "sw/verbs/odp.h"

#define ACCESS_SUPPORTED (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			  IB_ACCESS_MW_BIND | RHCA_ACCESS_FLUSH | \
			  IB_ACCESS_OPTIONAL)

/*
 * Many QPs may send from one region and write to it at the same time, so its
 * users are counted on each CPU. Keys that work requests and packets take away
 * have one counter, because those cannot look at all CPUs each time.
 */
static int alloc_users(struct rhca_mem *mem)
{
	if (mem->kind != RHCA_MEM_USER && mem->kind != RHCA_MEM_DMA)
		return 0;
	mem->cpu_users = alloc_percpu_gfp(atomic_t, GFP_KERNEL_ACCOUNT);
	return mem->cpu_users ? 0 : -ENOMEM;
}

/**
 * rhca_mem_publish - Give memory a key
 * @mem: zeroed but for what describes the memory; freed by the caller on error
 * @dev: the device
 * @pd: protection domain
 * @kind: what it is
 *
 * The entry is reserved first and filled when @mem is complete, so lookups
 * never see a half-made one. It starts out invalid.
 *
 * Return: 0 or -ENOMEM.
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

/**
 * rhca_mem_set_valid - Let users in
 * @mem: memory that is complete
 */
void rhca_mem_set_valid(struct rhca_mem *mem)
{
	/* What the key means before the state that lets users in */
	smp_store_release(&mem->state, RHCA_MEM_VALID);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_set_valid);

/**
 * rhca_mem_is_idle - Has everybody stopped using the memory?
 * @mem: memory whose state has been changed, so that no more can come
 *
 * Context: any. All accesses of the users have happened when it is true.
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

/**
 * rhca_mem_wait_idle - Wait for the packets that use the memory just now
 * @mem: memory whose state has been changed, so that no more can come
 *
 * Users run with bottom halves off, which is an RCU read side: after a grace
 * period they have gone. Busy memory is rare here, so it may take that long.
 *
 * Context: may sleep.
 */
void rhca_mem_wait_idle(const struct rhca_mem *mem)
{
	might_sleep();
	while (!rhca_mem_is_idle(mem))
		synchronize_rcu();
}

/**
 * rhca_mem_withdraw - Take the key away and wait for packets that use it
 * @mem: published memory in state RHCA_MEM_GONE
 *
 * What @mem points to may be freed afterwards, and @mem itself after a grace
 * period.
 *
 * Context: may sleep.
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

/**
 * rhca_mem_get - Find the memory that a key names
 * @dev: the device
 * @key: local or remote key, from a work request or a packet
 *
 * Nothing of what the key means changes until rhca_mem_put().
 *
 * Context: bottom halves off until rhca_mem_put().
 * Return: memory in use, or NULL when the key is not one that works now.
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
 * @held: memory in use from the last call, or NULL; set to what is returned
 * @dev: the device
 * @key: local or remote key, from a work request or a packet
 *
 * Packets that are handled together mostly name one key: it is looked up, and its
 * users are counted, once for all of them. Who takes the key away waits for
 * rhca_mem_release() as for rhca_mem_put(), but nothing begins to use the memory
 * once he has begun.
 *
 * Context: bottom halves off until rhca_mem_release().
 * Return: memory in use, or NULL when the key is not one that works now.
 */
struct rhca_mem *rhca_mem_hold(struct rhca_mem **held,
			       struct rhca_verbs_dev *dev, u32 key)
{
	struct rhca_mem *mem = *held;

	/* What the key means does not change as long as it is in use */
	if (mem && mem->key == key && is_valid(mem))
		return mem;
	rhca_mem_put(mem);
	*held = rhca_mem_get(dev, key);
	return *held;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_hold);

/**
 * rhca_mem_release - Stop using the memory of rhca_mem_hold()
 * @held: the memory, or NULL; set to NULL
 *
 * Context: as rhca_mem_hold(), on the same CPU.
 */
void rhca_mem_release(struct rhca_mem **held)
{
	rhca_mem_put(*held);
	*held = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_mem_release);

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

static struct page *page_of_kernel_addr(u64 addr)
{
	const void *kaddr = (const void *)(uintptr_t)addr;

	if (is_vmalloc_addr(kaddr))
		return vmalloc_to_page(kaddr);
	return virt_addr_valid(kaddr) ? virt_to_page(kaddr) : NULL;
}

/**
 * rhca_mem_page - The page behind an address
 * @mem: the memory, or a window to it; rhca_mem_allows() has said yes
 * @addr: the address
 * @offset: set to the offset in the page
 * @bytes: set to the bytes from there to the end of the page
 *
 * Return: the page, not referenced: @mem keeps it; NULL for an address that is
 * no kernel memory, which only a kernel user can give, and for a page that is not
 * there: see rhca_mem_fault().
 */
struct page *rhca_mem_page(const struct rhca_mem *mem, u64 addr,
			   unsigned int *offset, unsigned int *bytes)
{
	struct page *page;
	u64 distance;

	if (mem->region)
		mem = mem->region;
	*offset = addr & ~PAGE_MASK;
	*bytes = PAGE_SIZE - *offset;
	if (mem->kind == RHCA_MEM_DMA)
		return page_of_kernel_addr(addr);

	distance = addr - mem->iova + mem->first_offset;
	*offset = distance & ~PAGE_MASK;
	*bytes = PAGE_SIZE - *offset;
	if (distance >> mem->page_shift >= mem->num_pages)
		return mem->odp ? rhca_odp_page(mem->odp, addr) : NULL;
	page = READ_ONCE(mem->pages[distance >> mem->page_shift]);
	if (!page)
		return NULL;
	return page + ((distance & (BIT_ULL(mem->page_shift) - 1)) >> PAGE_SHIFT);
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

static struct rhca_mr *alloc_mr_object(struct ib_pd *pd)
{
	struct rhca_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (mr) {
		mr->ibmr.pd = pd;
		mr->ibmr.device = pd->device;
	}
	return mr;
}

static int publish_mr(struct rhca_mr *mr, enum rhca_mem_kind kind)
{
	int ret = rhca_mem_publish(&mr->mem, to_verbs_dev(mr->ibmr.device),
				   mr->ibmr.pd, kind);

	if (ret)
		return ret;
	mr->ibmr.lkey = mr->mem.key;
	mr->ibmr.rkey = mr->mem.key;
	return 0;
}

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	struct rhca_mr *mr = alloc_mr_object(pd);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->mem.access = access;
	mr->mem.length = U64_MAX;
	ret = publish_mr(mr, RHCA_MEM_DMA);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	rhca_mem_set_valid(&mr->mem);
	return &mr->ibmr;
}

static int list_pages(struct rhca_mem *mem, struct ib_umem *umem)
{
	struct sg_page_iter iter;
	u32 i = 0;

	mem->max_pages = ib_umem_num_pages(umem);
	mem->pages = kvmalloc_array(mem->max_pages, sizeof(*mem->pages),
				    GFP_KERNEL_ACCOUNT);
	if (!mem->pages)
		return -ENOMEM;
	for_each_sgtable_page(&umem->sgt_append.sgt, &iter, 0) {
		if (i == mem->max_pages)
			break;
		mem->pages[i++] = sg_page_iter_page(&iter);
	}
	mem->num_pages = i;
	mem->page_shift = PAGE_SHIFT;
	mem->first_offset = ib_umem_offset(umem);
	return 0;
}

static bool is_persistent(const struct page *page)
{
	return region_intersects(page_to_phys(page), PAGE_SIZE, IORESOURCE_MEM,
				 IORES_DESC_PERSISTENT_MEMORY) ==
		REGION_INTERSECTS;
}

/* Who is promised persistence must have memory that can keep it, A19 */
static int check_persistence(const struct rhca_mem *mem, int access)
{
	u32 i;

	if (!(access & RHCA_ACCESS_FLUSH_PERSISTENT))
		return 0;
	for (i = 0; i < mem->num_pages; i++) {
		if (!is_persistent(mem->pages[i]))
			return -EINVAL;
		cond_resched();
	}
	return 0;
}

static struct ib_umem *pin(struct ib_pd *pd, u64 start, u64 length, int access)
{
	struct ib_umem *umem = ib_umem_get_va(pd->device, start, length,
					      access);

	if (umem == ERR_PTR(-ENOMEM))
		rhca_charge_explain(pd->device, length);	/* ib_core did not */
	return umem;
}

static int get_pinned(struct rhca_mr *mr, u64 start, int access)
{
	int ret;

	mr->umem = pin(mr->ibmr.pd, start, mr->mem.length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		mr->umem = NULL;
		return ret;
	}
	ret = list_pages(&mr->mem, mr->umem);
	return ret ?: check_persistence(&mr->mem, access);
}

/* What may be taken away has no place that it could be written back to, A19 */
static int get_on_demand(struct rhca_mr *mr, u64 start, int access)
{
	if (access & RHCA_ACCESS_FLUSH_PERSISTENT)
		return -EOPNOTSUPP;
	return rhca_odp_create(&mr->mem, mr->ibmr.device, start,
			       mr->mem.length, access);
}

static void put_user_memory(struct rhca_mr *mr)
{
	rhca_odp_destroy(&mr->mem);
	kvfree(mr->mem.pages);
	ib_umem_release(mr->umem);
}

static int check_range(u64 start, u64 length, u64 iova, int access)
{
	if (rhca_odp_is_implicit(start, length, access))
		return iova ? -EINVAL : 0;
	return length > RHCA_MAX_MR_BYTES ? -EINVAL : 0;
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				 u64 iova, int access,
				 rhca_dmah_arg struct ib_udata *udata)
{
	struct rhca_mr *mr;
	int ret;

	if (access & ~(ACCESS_SUPPORTED | IB_ACCESS_ON_DEMAND))
		return ERR_PTR(-EOPNOTSUPP);
	ret = check_range(start, length, iova, access);
	if (ret)
		return ERR_PTR(ret);
	mr = alloc_mr_object(pd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->mem.access = access;
	mr->mem.iova = iova;
	mr->mem.length = length;
	ret = access & IB_ACCESS_ON_DEMAND ? get_on_demand(mr, start, access) :
					     get_pinned(mr, start, access);
	if (ret)
		goto err_free;
	ret = publish_mr(mr, RHCA_MEM_USER);
	if (ret)
		goto err_free;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	rhca_mem_set_valid(&mr->mem);
	return &mr->ibmr;

err_free:
	put_user_memory(mr);
	kfree(mr);
	return ERR_PTR(ret);
}

static int check_rereg(const struct rhca_mr *mr, int flags, int access)
{
	if (flags & ~(IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return -EOPNOTSUPP;
	if (!(flags & IB_MR_REREG_ACCESS))
		return 0;
	/* Pages were asked for by the old rights, and come by them */
	if (mr->mem.odp)
		return -EOPNOTSUPP;
	if (access & ~ACCESS_SUPPORTED)
		return -EOPNOTSUPP;
	/* Pages were pinned for reading only */
	if (ib_access_writable(access) && !mr->umem->writable)
		return -EACCES;
	return check_persistence(&mr->mem, access);
}

/*
 * Domain and rights may change; other memory is another registration. The old
 * rights have ended when this returns, and nobody sees half of the new ones.
 */
static struct ib_mr *rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				   u64 length, u64 iova, int access,
				   struct ib_pd *pd, struct ib_udata *udata)
{
	struct rhca_mr *mr = to_rhca_mr(ibmr);
	int ret;

	ret = check_rereg(mr, flags, access);
	if (!ret)
		ret = rhca_region_suspend(&mr->mem, RHCA_MEM_INVALID);
	if (ret)
		return ERR_PTR(ret);
	rhca_mem_wait_idle(&mr->mem);
	if (flags & IB_MR_REREG_ACCESS)
		mr->mem.access = access;
	if (flags & IB_MR_REREG_PD) {
		mr->ibmr.pd = pd;
		mr->mem.pd = pd;
	}
	rhca_mem_set_valid(&mr->mem);
	return NULL;
}

static void free_page_lists(struct rhca_mr *mr)
{
	kvfree(mr->mem.pages);
	kvfree(mr->mapping.pages);
}

static int alloc_page_lists(struct rhca_mr *mr, u32 max_pages)
{
	mr->mem.max_pages = max_pages;
	mr->mem.page_shift = PAGE_SHIFT;
	mr->mem.pages = kvcalloc(max_pages, sizeof(*mr->mem.pages),
				 GFP_KERNEL_ACCOUNT);
	mr->mapping.pages = kvcalloc(max_pages, sizeof(*mr->mapping.pages),
				     GFP_KERNEL_ACCOUNT);
	if (mr->mem.pages && mr->mapping.pages)
		return 0;
	free_page_lists(mr);
	return -ENOMEM;
}

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			      u32 max_num_sg)
{
	struct rhca_mr *mr;
	int ret;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > RHCA_MAX_FAST_REG_PAGES)
		return ERR_PTR(-EINVAL);
	mr = alloc_mr_object(pd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	ret = alloc_page_lists(mr, max_num_sg);
	if (ret)
		goto err_free;
	ret = publish_mr(mr, RHCA_MEM_FAST_REG);
	if (ret)
		goto err_free_pages;
	return &mr->ibmr;

err_free_pages:
	free_page_lists(mr);
err_free:
	kfree(mr);
	return ERR_PTR(ret);
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct rhca_mr *mr = to_rhca_mr(ibmr);
	struct page *page = page_of_kernel_addr(addr);

	if (!page)
		return -EINVAL;
	if (mr->mapping.num_pages == mr->mem.max_pages)
		return -ENOMEM;
	mr->mapping.pages[mr->mapping.num_pages++] = page;
	return 0;
}

/* The consumer owns the mapping until its registration is posted, 10.6.4 */
static int map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		     unsigned int *sg_offset)
{
	struct rhca_mapping *mapping = &to_rhca_mr(ibmr)->mapping;
	int mapped;

	/* One struct page an entry: what lies behind it may be vmalloc memory */
	if (ibmr->page_size != PAGE_SIZE)
		return -EINVAL;
	mapping->num_pages = 0;
	mapped = ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, set_page);
	mapping->first_offset = offset_in_page(ibmr->iova);
	mapping->is_new = true;
	return mapped;
}

/* Lookups may count themselves in until the grace period has ended */
static void free_mr(struct rcu_head *rcu)
{
	struct rhca_mr *mr = container_of(rcu, struct rhca_mr, mem.rcu);

	free_percpu(mr->mem.cpu_users);
	kfree(mr);
}

static int dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rhca_mr *mr = to_rhca_mr(ibmr);
	int ret;

	ret = rhca_region_suspend(&mr->mem, RHCA_MEM_GONE);
	if (ret)
		return ret;
	rhca_mem_withdraw(&mr->mem);
	put_user_memory(mr);
	kvfree(mr->mapping.pages);
	call_rcu(&mr->mem.rcu, free_mr);
	return 0;
}

const struct ib_device_ops rhca_mr_verbs = {
	.alloc_mr	= alloc_mr,
	.dereg_mr	= dereg_mr,
	.get_dma_mr	= get_dma_mr,
	.map_mr_sg	= map_mr_sg,
	.reg_user_mr	= reg_user_mr,
	.rereg_user_mr	= rereg_user_mr,
};
