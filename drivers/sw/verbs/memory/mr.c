// SPDX-License-Identifier: GPL-2.0
/* Verbs that create and change memory regions, IBTA vol. 1, 10.6. */
#include <linux/ioport.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/memory/charge.h"
#include "sw/verbs/memory/mr.h"
#include "sw/verbs/memory/odp.h"

/* HUGETLB is a hint about the process's memory: all pages are taken as small ones */
#define ACCESS_SUPPORTED (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			  IB_ACCESS_MW_BIND | IB_ACCESS_HUGETLB | \
			  RHCA_ACCESS_FLUSH | IB_ACCESS_OPTIONAL)

static struct rhca_mr *alloc_mr_object(struct ib_pd *pd)
{
	struct rhca_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (mr) {
		mr->ibmr.pd = pd;
		mr->ibmr.device = pd->device;
	}
	return mr;
}

static void put_pages(struct rhca_mr *mr)
{
	rhca_odp_destroy(&mr->mem);
	kvfree(mr->mem.pages);
	kvfree(mr->mapping.pieces);
	ib_umem_release(mr->umem);
}

/* Free a region that has no key yet */
static struct ib_mr *give_up(struct rhca_mr *mr, int error)
{
	put_pages(mr);
	kfree(mr);
	return ERR_PTR(error);
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
	if (ret)
		return give_up(mr, ret);
	rhca_mem_set_valid(&mr->mem);
	return &mr->ibmr;
}

static int list_pages(struct rhca_mem *mem, struct ib_umem *umem)
{
	u32 i = 0, room = ib_umem_num_pages(umem);
	struct sg_page_iter iter;

	mem->pages = kvmalloc_array(room, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT);
	if (!mem->pages)
		return -ENOMEM;
	for_each_sgtable_page(&umem->sgt_append.sgt, &iter, 0) {
		if (i == room)
			break;
		mem->pages[i++] = sg_page_iter_page(&iter);
	}
	mem->num_pages = i;
	mem->first_offset = ib_umem_offset(umem);
	return 0;
}

/* Persistence can only be promised for memory that supports it, A19 */
static int check_persistence(const struct rhca_mem *mem, int access)
{
	u32 i;

	if (!(access & RHCA_ACCESS_FLUSH_PERSISTENT))
		return 0;
	for (i = 0; i < mem->num_pages; i++) {
		if (region_intersects(page_to_phys(mem->pages[i]), PAGE_SIZE, IORESOURCE_MEM,
				      IORES_DESC_PERSISTENT_MEMORY) != REGION_INTERSECTS)
			return -EINVAL;
		cond_resched();
	}
	return 0;
}

static int get_pinned(struct rhca_mr *mr, u64 start, int access)
{
	struct ib_device *ibdev = mr->ibmr.device;
	struct ib_umem *umem = ib_umem_get_va(ibdev, start, mr->mem.length, access);
	int ret;

	if (umem == ERR_PTR(-ENOMEM))
		rhca_charge_explain(ibdev, mr->mem.length);	/* ib_core did not */
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mr->umem = umem;
	ret = list_pages(&mr->mem, umem);
	return ret ?: check_persistence(&mr->mem, access);
}

/* Pages that may be removed have no fixed place to be written back to, A19 */
static int get_on_demand(struct rhca_mr *mr, u64 start, int access)
{
	if (access & RHCA_ACCESS_FLUSH_PERSISTENT)
		return -EOPNOTSUPP;
	return rhca_odp_create(&mr->mem, mr->ibmr.device, start, access);
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
	if (!ret)
		ret = publish_mr(mr, RHCA_MEM_USER);
	if (ret)
		return give_up(mr, ret);
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	rhca_mem_set_valid(&mr->mem);
	return &mr->ibmr;
}

static int check_rereg(const struct rhca_mr *mr, int flags, int access)
{
	if (flags & ~(IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return -EOPNOTSUPP;
	if (!(flags & IB_MR_REREG_ACCESS))
		return 0;
	/* Pages are faulted in with the old rights */
	if (mr->mem.odp)
		return -EOPNOTSUPP;
	if (access & ~ACCESS_SUPPORTED)
		return -EOPNOTSUPP;
	/* Pages were pinned for reading only */
	if (ib_access_writable(access) && !mr->umem->writable)
		return -EACCES;
	return check_persistence(&mr->mem, access);
}

/* Stop new users and windows. Fails while windows are bound to it, 10.6.7.2.6 */
static int suspend(struct rhca_mem *region, enum rhca_mem_state state)
{
	int ret = 0;

	spin_lock_bh(&region->binding_lock);
	if (region->num_windows)
		ret = -EINVAL;
	else
		WRITE_ONCE(region->state, state);
	spin_unlock_bh(&region->binding_lock);
	return ret;
}

/*
 * Only domain and rights may change, not the memory. When this returns the old rights have ended,
 * and no access has seen half of the new ones.
 */
static struct ib_mr *rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				   u64 length, u64 iova, int access,
				   struct ib_pd *pd, struct ib_udata *udata)
{
	struct rhca_mr *mr = to_rhca_mr(ibmr);
	int ret;

	ret = check_rereg(mr, flags, access);
	if (!ret)
		ret = suspend(&mr->mem, RHCA_MEM_INVALID);
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

static int alloc_lists(struct rhca_mr *mr, u32 max)
{
	mr->mapping.max_pieces = max;
	mr->mem.pieces = kvcalloc(max, sizeof(*mr->mem.pieces), GFP_KERNEL_ACCOUNT);
	mr->mapping.pieces = kvcalloc(max, sizeof(*mr->mapping.pieces), GFP_KERNEL_ACCOUNT);
	return mr->mem.pieces && mr->mapping.pieces ? 0 : -ENOMEM;
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
	ret = alloc_lists(mr, max_num_sg);
	if (!ret)
		ret = publish_mr(mr, RHCA_MEM_FAST_REG);
	return ret ? give_up(mr, ret) : &mr->ibmr;
}

static int set_piece(struct ib_mr *ibmr, u64 addr)
{
	struct rhca_mapping *mapping = &to_rhca_mr(ibmr)->mapping;

	if (!rhca_kernel_page(addr))
		return -EINVAL;
	if (mapping->num_pieces == mapping->max_pieces)
		return -ENOMEM;
	mapping->pieces[mapping->num_pieces++] = addr;
	return 0;
}

/* The consumer owns the mapping until its registration is posted, 10.6.4 */
static int map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		     unsigned int *sg_offset)
{
	struct rhca_mapping *mapping = &to_rhca_mr(ibmr)->mapping;
	int mapped;

	/* The user's choice: NVMe and iSER use 4 KiB whatever PAGE_SIZE is, RTRS 128 KiB */
	if (!is_power_of_2(ibmr->page_size))
		return -EINVAL;
	mapping->num_pieces = 0;
	mapping->piece_shift = ilog2(ibmr->page_size);
	mapped = ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, set_piece);
	mapping->first_offset = ibmr->iova & (ibmr->page_size - 1);
	mapping->is_new = true;
	return mapped;
}

/* Lookups may increment the count until the grace period ends */
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

	ret = suspend(&mr->mem, RHCA_MEM_GONE);
	if (ret)
		return ret;
	rhca_mem_withdraw(&mr->mem);
	put_pages(mr);
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
