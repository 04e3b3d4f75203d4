// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: of processes, for DMA, and for fast registration, where a request on a send queue
 * fills the key (wqe.c). Memory windows of processes, whose keys are also filled by requests.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/mlx5-abi.h>

#include "command.h"
#include "context.h"
#include "device.h"
#include "key_access.h"
#include "key_cache.h"
#include "mkey.h"
#include "umr.h"

#define MAX_PAGE_SHIFT	31
#define MAX_PAGES	BIT(31)		/* the room of a key is a power of two, in 32 bits */
/* Huge pages are detected anyway, and addresses are the user's */
#define WITHOUT_EFFECT	(IB_ACCESS_HUGETLB | IB_ZERO_BASED)
#define SUPPORTED_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			  IB_ACCESS_MW_BIND | IB_ACCESS_OPTIONAL | \
			  WITHOUT_EFFECT)
#define REREG_FLAGS	(IB_MR_REREG_TRANS | IB_MR_REREG_PD | \
			 IB_MR_REREG_ACCESS)

/* The low byte of a new key, so that an old key with the same index is invalid */
static u8 next_variant(struct rhca_mlx5 *hca)
{
	return atomic_inc_return(&hca->key_variant);
}

/*
 * Get a key from the cache; or, if the adapter refuses to create or fill an empty key, by a command
 * with the list of pages. Not after a key that could not be destroyed, through which the adapter
 * may still use the memory, nor after a timeout.
 */
static int get_key(struct rhca_mlx5_mr *mr, const struct rhca_mlx5_key_spec *spec,
		   struct rhca_mlx5 *hca, u32 *key)
{
	u8 variant = next_variant(hca);
	int ret;

	if (mr->cached_pages) {
		ret = rhca_mlx5_cached_key_get(hca, spec, variant, key);
		if (!ret || *key || rhca_mlx5_is_no_answer(ret))
			return ret;
		mr->cached_pages = 0;
	}
	return rhca_mlx5_create_key(hca->mdev, spec, variant, key);
}

static int create_key(struct rhca_mlx5_mr *mr, struct ib_pd *ibpd,
		      struct rhca_mlx5_key_spec *spec)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibpd->device);
	u32 key;
	int ret;

	spec->pd = to_rhca_mlx5_pd(ibpd)->number;
	ret = get_key(mr, spec, hca, &key);
	mr->ibmr.lkey = key;
	mr->ibmr.rkey = key;
	if (ret)
		return ret;
	mr->ibmr.iova = spec->start;
	mr->ibmr.length = spec->bytes;
	return 0;
}

/* The largest page size that adapter and memory allow */
static unsigned long best_page_size(const struct mlx5_core_dev *mdev,
				    struct ib_umem *umem, u64 iova)
{
	u8 least = max_t(u8, MLX5_CAP_GEN_2(mdev, log_min_mkey_entity_size),
			 MLX5_ADAPTER_PAGE_SHIFT);

	return ib_umem_find_best_pgsz(umem, GENMASK_ULL(MAX_PAGE_SHIFT, least),
				      iova);
}

static int create_user_key(struct rhca_mlx5_mr *mr, struct ib_pd *ibpd,
			   u64 iova, int access)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibpd->device);
	unsigned long page_size = best_page_size(hca->mdev, mr->umem, iova);
	struct rhca_mlx5_key_spec spec = {
		.access		= access,
		.start		= iova,
		.bytes		= mr->umem->length,
		.umem		= mr->umem,
		/* As mlx5_ib: peer-to-peer behind a switch is slow or fails without both */
		.translated	= mr->umem->is_dmabuf && access & IB_ACCESS_RELAXED_ORDERING,
	};

	if (!page_size ||
	    ib_umem_num_dma_blocks(mr->umem, page_size) > MAX_PAGES)
		return -EINVAL;
	spec.page_shift = ilog2(page_size);
	spec.num_pages = ib_umem_num_dma_blocks(mr->umem, page_size);
	mr->ibmr.page_size = page_size;
	if (rhca_mlx5_can_fill_key(hca, &spec))
		mr->cached_pages = spec.num_pages;
	return create_key(mr, ibpd, &spec);
}

/* Create a region, which takes over the pinned memory; on error that is released */
static struct ib_mr *register_umem(struct ib_pd *ibpd, struct ib_umem *umem,
				   u64 iova, int access)
{
	struct rhca_mlx5_mr *mr;
	int ret = -ENOMEM;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		goto err_release;
	mr->umem = umem;
	mr->access = access;
	ret = create_user_key(mr, ibpd, iova, access);
	if (ret)
		goto err_free;
	return &mr->ibmr;

err_free:
	/*
	 * Leak the memory with a lost key, through which the adapter may still use it; and after a
	 * timeout of the command that creates a key with it, which may still be executed, unless it
	 * was cancelled before mlx5_core passed it on.
	 */
	if (mr->ibmr.lkey || (ret == -ETIMEDOUT && !mr->cached_pages)) {
		to_rhca_mlx5_pd(ibpd)->has_leaked = true;
		umem = NULL;
	}
	kfree(mr);
err_release:
	ib_umem_release(umem);
	return ERR_PTR(ret);
}

static struct ib_mr *register_user(struct ib_pd *ibpd, u64 start, u64 length,
				   u64 iova, int access)
{
	struct ib_umem *umem;

	if (access & ~SUPPORTED_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	umem = ib_umem_get_va(ibpd->device, start, length, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	return register_umem(ibpd, umem, iova, access);
}

struct ib_mr *rhca_mlx5_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				    u64 iova, int access,
				    rhca_dmah_arg struct ib_udata *udata)
{
	return register_user(ibpd, start, length, iova, access);
}

/* Memory of another device, pinned while it is registered */
struct ib_mr *rhca_mlx5_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					   u64 length, u64 iova, int fd,
					   int access,
					   rhca_dmah_arg rhca_reg_dmabuf_arg arg)
{
	struct ib_umem_dmabuf *dmabuf;

	if (access & ~SUPPORTED_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	dmabuf = ib_umem_dmabuf_get_pinned(ibpd->device, offset, length, fd,
					   access);
	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	return register_umem(ibpd, &dmabuf->umem, iova, access);
}

/* The key stays valid: peers continue with the new rights, or fail */
static int change_key(struct rhca_mlx5_mr *mr, int flags, int access,
		      struct ib_pd *ibpd)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(mr->ibmr.device);
	const struct rhca_mlx5_key_spec spec = {
		.pd	= to_rhca_mlx5_pd(ibpd)->number,
		.access	= access,
	};
	int ret;

	if (rhca_mlx5_unchangeable_access(hca->mdev, access ^ mr->access))
		return -EOPNOTSUPP;
	ret = rhca_mlx5_change_key(hca, &spec, mr->ibmr.lkey, flags);
	if (!ret)
		mr->access = access;
	return ret;
}

/* Register the same memory with a new key: pin it again by its address */
static struct ib_mr *register_again(const struct rhca_mlx5_mr *mr, int access,
				    struct ib_pd *ibpd)
{
	const struct ib_umem *umem = mr->umem;

	/* The file of a DMA buffer is not known; addresses are valid in their process only */
	if (umem->is_dmabuf || umem->owning_mm != current->mm)
		return ERR_PTR(-EOPNOTSUPP);
	return register_user(ibpd, umem->address, umem->length, mr->ibmr.iova,
			     access);
}

/*
 * The rereg_mr verb. If memory and address stay, keep the key and the pinned pages. But pages
 * pinned for reading must be pinned again for writing, and some adapters cannot change the right to
 * atomics or the ordering on the bus. Process context of the owner; ib_core excludes other users of
 * the region. Returns NULL if the region was changed; an error, with the region unchanged; or a new
 * region with a new key, with which ib_core replaces the old one. -EOPNOTSUPP if a new one is
 * needed for a DMA buffer or another process's memory. Other errors as from registration and
 * rhca_mlx5_change_key().
 */
struct ib_mr *rhca_mlx5_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				      u64 length, u64 iova, int access,
				      struct ib_pd *ibpd,
				      struct ib_udata *udata)
{
	struct rhca_mlx5_mr *mr = to_rhca_mlx5_mr(ibmr);
	int ret;

	if (flags & ~REREG_FLAGS)
		return ERR_PTR(-EOPNOTSUPP);
	/* Only the PD, and that is the same */
	if (!flags)
		return NULL;
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (access & ~SUPPORTED_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (flags & IB_MR_REREG_TRANS)
		return register_user(ibpd, start, length, iova, access);
	/* Pages pinned for reading only must not be written */
	if (!mr->umem->writable && ib_access_writable(access))
		return register_again(mr, access, ibpd);
	ret = change_key(mr, flags, access, ibpd);
	if (ret == -EOPNOTSUPP)
		return register_again(mr, access, ibpd);
	return ERR_PTR(ret);
}

struct ib_mr *rhca_mlx5_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct rhca_mlx5_key_spec spec = {
		/* Kernel users rely on completions only, and do not request this */
		.access		= access | IB_ACCESS_RELAXED_ORDERING,
		.unbounded	= true,
		.translated	= true,
	};
	struct rhca_mlx5_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	ret = create_key(mr, ibpd, &spec);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

/*
 * A list with gaps needs a key of pieces, whose memory is addressed through the key for all memory.
 * Adapters translate that more slowly, so it is used only on request.
 */
struct ib_mr *rhca_mlx5_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
				 u32 max_pages)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibpd->device);
	bool has_pieces = type == IB_MR_TYPE_SG_GAPS;
	struct rhca_mlx5_key_spec spec = {
		.access		= IB_ACCESS_RELAXED_ORDERING,	/* likewise */
		.page_shift	= has_pieces ? 0 : PAGE_SHIFT,
		.num_pages	= max_pages,
		.by_requests	= true,
		.has_pieces	= has_pieces,
		.translated	= !has_pieces,
	};
	struct rhca_mlx5_mr *mr;
	int ret;

	if (type != IB_MR_TYPE_MEM_REG && !has_pieces)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_pages || max_pages > rhca_mlx5_key_list_max(mdev))
		return ERR_PTR(-EINVAL);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->list.has_pieces = has_pieces;
	ret = rhca_mlx5_key_list_alloc(&mr->list, mdev->device, max_pages);
	if (ret)
		goto err_free;
	ret = create_key(mr, ibpd, &spec);
	if (ret)
		goto err_free_list;
	return &mr->ibmr;

err_free_list:
	rhca_mlx5_key_list_free(&mr->list, mdev->device);
err_free:
	kfree(mr);
	return ERR_PTR(ret);
}

static int add_page(struct ib_mr *ibmr, u64 address)
{
	return rhca_mlx5_key_list_add_page(&to_rhca_mlx5_mr(ibmr)->list,
					   address);
}

int rhca_mlx5_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg,
			int sg_entries, unsigned int *sg_offset)
{
	struct device *device = rhca_mlx5_mdev(ibmr->device)->device;
	struct rhca_mlx5_key_list *list = &to_rhca_mlx5_mr(ibmr)->list;
	int num;

	rhca_mlx5_key_list_begin(list, device);
	num = list->has_pieces ?
	      rhca_mlx5_key_list_add_pieces(list, ibmr, sg, sg_entries,
					    sg_offset) :
	      ib_sg_to_pages(ibmr, sg, sg_entries, sg_offset, add_page);
	rhca_mlx5_key_list_end(list, device);
	return num;
}

/*
 * On success the adapter no longer uses a process's memory. Kernel users do not retry: a key of
 * theirs that the adapter holds is lost.
 */
int rhca_mlx5_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibmr->device);
	struct rhca_mlx5_mr *mr = to_rhca_mlx5_mr(ibmr);
	int ret;

	if (!mr->umem)
		ret = rhca_mlx5_give_key_back(hca->mdev, ibmr->lkey);
	else if (mr->cached_pages)
		ret = rhca_mlx5_cached_key_put(hca, mr->cached_pages,
					       mr->access, ibmr->lkey);
	else
		ret = mlx5_core_destroy_mkey(hca->mdev, ibmr->lkey);
	if (ret && mr->umem)
		return ret;
	if (ret)
		to_rhca_mlx5_pd(ibmr->pd)->has_leaked = true;
	if (mr->list.entries)
		rhca_mlx5_key_list_free(&mr->list, hca->mdev->device);
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}

/* Refuse windows over several regions, which verbs lack */
static int check_window(struct ib_udata *udata)
{
	struct mlx5_ib_alloc_mw cmd = {};
	int ret;

	ret = rhca_mlx5_take_request(udata, &cmd, sizeof(cmd), 0);
	if (ret)
		return ret;
	return cmd.comp_mask || cmd.num_klms > 1 || cmd.reserved1 ||
	       cmd.reserved2 ? -EOPNOTSUPP : 0;
}

static int answer_alloc_mw(struct ib_udata *udata)
{
	struct {
		__u32 comp_mask;
		__u32 response_length;
	} resp = {};

	resp.response_length = min(udata->outlen, sizeof(resp));
	return ib_copy_to_udata(udata, &resp, resp.response_length);
}

/*
 * A window is a key that maps another key, and that a process binds with a request. The peer may
 * invalidate a bound one of type 2.
 */
int rhca_mlx5_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibmw->device);
	const struct rhca_mlx5_key_spec spec = {
		.pd			= to_rhca_mlx5_pd(ibmw->pd)->number,
		.by_requests		= true,
		.is_window		= true,
		.remote_invalidate	= ibmw->type == IB_MW_TYPE_2,
	};
	int ret;

	if (!MLX5_CAP_GEN(hca->mdev, imaicl))
		return -EOPNOTSUPP;
	ret = check_window(udata);
	if (ret)
		return ret;
	ret = rhca_mlx5_create_key(hca->mdev, &spec, next_variant(hca),
				   &ibmw->rkey);
	/* It may still be executed */
	if (ret == -ETIMEDOUT)
		to_rhca_mlx5_pd(ibmw->pd)->has_leaked = true;
	if (ret)
		return ret;
	ret = answer_alloc_mw(udata);
	/* There is no retry */
	if (ret && rhca_mlx5_give_key_back(hca->mdev, ibmw->rkey))
		to_rhca_mlx5_pd(ibmw->pd)->has_leaked = true;
	return ret;
}

int rhca_mlx5_dealloc_mw(struct ib_mw *ibmw)
{
	return mlx5_core_destroy_mkey(rhca_mlx5_mdev(ibmw->device),
				      ibmw->rkey);
}
