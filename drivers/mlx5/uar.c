// SPDX-License-Identifier: GPL-2.0
/*
 * UARs of processes: objects of libmlx5, besides those of verbs. A process may write any doorbell
 * to a page that it has mapped; the adapter checks that the queue in it belongs to the same UAR.
 * The adapter does not release a UAR that a queue uses: a queue uses one of its own context, which
 * stays as long as the queue.
 */
#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_std_types.h>

#include "command.h"
#include "context.h"
#include "device.h"
#include "uar.h"

#define UVERBS_MODULE_NAME roce_hca_mlx5
#include <rdma/uverbs_named_ioctl.h>

/* Lower offsets are those of other requests of older libraries */
#define FIRST_PAGE_OFFSET	0x10000
/* In pages: the kind of request, above its parameter, which these lack */
#define CLOCK_PAGE_OFFSET	(MLX5_IB_MMAP_CORE_CLOCK << 8)
#define CLOCK_INFO_PAGE_OFFSET	(MLX5_IB_MMAP_CLOCK_INFO << 8)

/* A UAR that a process may map */
struct rhca_mlx5_uar {
	struct rdma_user_mmap_entry entry;	/* the mapping */
	refcount_t refs;	/* the entry, until object and mappings are gone, and queues */
	struct mlx5_core_dev *mdev;	/* the function */
	u32 number;		/* in commands */
	bool write_combining;	/* BlueFlame is possible */
};

static struct mlx5_core_dev *mdev_of(const struct ib_ucontext *context)
{
	return rhca_mlx5_mdev(context->device);
}

/*
 * If the host's pages are larger than 4 KiB a UAR is the first of all in one, and a queue pair may
 * name any of these.
 */
static u32 page_of(const struct mlx5_core_dev *mdev, u32 number)
{
	return number / (MLX5_CAP_GEN(mdev, uar_4k) ? MLX5_UARS_IN_PAGE : 1);
}

static phys_addr_t uar_address(const struct mlx5_core_dev *mdev, u32 number)
{
	return mdev->bar_addr + (phys_addr_t)page_of(mdev, number) * PAGE_SIZE;
}

static int make_read_only(struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	rhca_vm_flags_clear(vma, VM_MAYWRITE);
	return 0;
}

/*
 * The adapter's clock is in its initialization segment, alone in a page of 4 KiB. A larger page of
 * the host would also have UARs of others.
 */
static int mmap_clock(struct ib_ucontext *ibucontext,
		      struct vm_area_struct *vma)
{
	phys_addr_t timer = mdev_of(ibucontext)->bar_addr +
			    offsetof(struct mlx5_init_seg, internal_timer_h);
	int ret;

	if (!rhca_mlx5_offers_clock())
		return -EOPNOTSUPP;
	ret = make_read_only(vma);
	if (ret)
		return ret;
	return rdma_user_mmap_io(ibucontext, vma, timer >> PAGE_SHIFT,
				 PAGE_SIZE, pgprot_noncached(vma->vm_page_prot),
				 NULL);
}

/*
 * The relation of that clock to the time of day, which mlx5_core keeps in a page of memory. The
 * page stays while it is mapped.
 */
static int mmap_clock_info(struct ib_ucontext *ibucontext,
			   struct vm_area_struct *vma)
{
	const struct mlx5_core_dev *mdev = mdev_of(ibucontext);
	int ret;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	ret = make_read_only(vma);
	if (ret)
		return ret;
	if (!mdev->clock_info)
		return -EOPNOTSUPP;
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	return vm_insert_page(vma, vma->vm_start,
			      virt_to_page(mdev->clock_info));
}

int rhca_mlx5_mmap(struct ib_ucontext *ibucontext, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct rhca_mlx5_uar *uar;
	pgprot_t prot;
	int ret;

	if (vma->vm_pgoff == CLOCK_PAGE_OFFSET)
		return mmap_clock(ibucontext, vma);
	if (vma->vm_pgoff == CLOCK_INFO_PAGE_OFFSET)
		return mmap_clock_info(ibucontext, vma);
	entry = rdma_user_mmap_entry_get(ibucontext, vma);
	if (!entry)
		return -EINVAL;
	uar = container_of(entry, struct rhca_mlx5_uar, entry);
	prot = uar->write_combining ? pgprot_writecombine(vma->vm_page_prot) :
				      pgprot_noncached(vma->vm_page_prot);
	ret = rdma_user_mmap_io(ibucontext, vma,
				uar_address(mdev_of(ibucontext), uar->number) >>
				PAGE_SHIFT, PAGE_SIZE, prot, entry);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

static struct xarray *uars_of(struct ib_ucontext *context)
{
	return &container_of(context, struct rhca_mlx5_ucontext, ibucontext)->uars;
}

/*
 * The UAR that a queue is to name. Returns the UAR, which stays until rhca_mlx5_uar_put(), or
 * NULL where the context has none with that number.
 */
struct rhca_mlx5_uar *rhca_mlx5_uar_get(struct rhca_mlx5_ucontext *context, u32 number)
{
	struct rhca_mlx5_uar *uar;

	xa_lock(&context->uars);
	uar = xa_load(&context->uars, page_of(mdev_of(&context->ibucontext), number));
	if (uar)
		refcount_inc(&uar->refs);
	xa_unlock(&context->uars);
	return uar;
}

/* Drop a reference of a queue or of the mapping. @uar: may be NULL. May sleep. */
void rhca_mlx5_uar_put(struct rhca_mlx5_uar *uar)
{
	if (!uar || !refcount_dec_and_test(&uar->refs))
		return;
	rhca_mlx5_give_back(uar->mdev, MLX5_CMD_OP_DEALLOC_UAR, uar->number);
	kfree(uar);
}

/* ib_core calls this when neither the object nor a mapping is left */
void rhca_mlx5_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct rhca_mlx5_uar *uar = container_of(entry, struct rhca_mlx5_uar, entry);

	xa_erase(uars_of(entry->ucontext), page_of(uar->mdev, uar->number));
	rhca_mlx5_uar_put(uar);
}

static struct rhca_mlx5_uar *create_uar(struct ib_ucontext *context, bool write_combining)
{
	struct mlx5_core_dev *mdev = mdev_of(context);
	struct rhca_mlx5_uar *uar;
	int ret;

	uar = kzalloc(sizeof(*uar), GFP_KERNEL_ACCOUNT);
	if (!uar)
		return ERR_PTR(-ENOMEM);
	uar->write_combining = write_combining;
	uar->mdev = mdev;
	refcount_set(&uar->refs, 1);
	ret = rhca_mlx5_alloc_number(mdev, MLX5_CMD_OP_ALLOC_UAR, &uar->number);
	if (ret)
		goto err_free;
	ret = rdma_user_mmap_entry_insert_range(context, &uar->entry, PAGE_SIZE,
						FIRST_PAGE_OFFSET, U32_MAX);
	if (ret)
		goto err_put;
	ret = xa_err(xa_store(uars_of(context), page_of(mdev, uar->number), uar, GFP_KERNEL));
	if (!ret)
		return uar;
	rdma_user_mmap_entry_remove(&uar->entry);
	return ERR_PTR(ret);

err_put:
	rhca_mlx5_uar_put(uar);
	return ERR_PTR(ret);
err_free:
	kfree(uar);
	return ERR_PTR(ret);
}

static int uar_cleanup(struct ib_uobject *uobject, enum rdma_remove_reason why,
		       struct uverbs_attr_bundle *attrs)
{
	struct rhca_mlx5_uar *uar = uobject->object;

	rdma_user_mmap_entry_remove(&uar->entry);
	return 0;
}

static int take_type(const struct uverbs_attr_bundle *attrs,
		     struct mlx5_core_dev *mdev, bool *combining)
{
	enum mlx5_ib_uapi_uar_alloc_type type;
	int ret;

	ret = uverbs_get_const(&type, attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE);
	if (ret)
		return ret;
	if (type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF &&
	    type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		return -EOPNOTSUPP;
	*combining = type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF;
	/* libmlx5 retries without it */
	return *combining && !rhca_mlx5_write_combining(mdev) ? -EOPNOTSUPP : 0;
}

static int copy_uar(struct uverbs_attr_bundle *attrs, const struct rhca_mlx5_uar *uar)
{
	u64 offset = rdma_user_mmap_get_offset((struct rdma_user_mmap_entry *)
					       &uar->entry);
	u32 length = PAGE_SIZE;

	return uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET,
			      &offset, sizeof(offset)) ?:
	       uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID,
			      &uar->number, sizeof(uar->number)) ?:
	       uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH,
			      &length, sizeof(length));
}

#define ALLOC_HANDLER	UVERBS_HANDLER(MLX5_IB_METHOD_UAR_OBJ_ALLOC)

static int ALLOC_HANDLER(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs,
					MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	bool write_combining;
	struct rhca_mlx5_uar *uar;
	int ret;

	if (IS_ERR(context))
		return PTR_ERR(context);
	ret = take_type(attrs, mdev_of(context), &write_combining);
	if (ret)
		return ret;
	uar = create_uar(context, write_combining);
	if (IS_ERR(uar))
		return PTR_ERR(uar);
	uobject->object = uar;
	/* From here on ib_core calls uar_cleanup() on errors */
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	return copy_uar(attrs, uar);
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE,
					    MLX5_IB_OBJECT_UAR,
					    UVERBS_ACCESS_NEW, UA_MANDATORY),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE,
						 enum mlx5_ib_uapi_uar_alloc_type,
						 UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET,
						UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_UAR_OBJ_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE,
						    MLX5_IB_OBJECT_UAR,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_UAR,
			    UVERBS_TYPE_ALLOC_IDR(uar_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_DESTROY));

const struct uapi_definition rhca_mlx5_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_UAR),
	UAPI_DEF_CHAIN(rhca_mlx5_context_uapi),
	{}
};
