// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: of processes, for DMA, and for fast registration, where a
 * request on a send queue fills the key (wqe.c). Memory windows, whose keys are
 * filled by requests as well, those of processes.
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
/* Pages of 2 MiB and more are found in any case, and addresses are as their user says */
#define WITHOUT_EFFECT	(IB_ACCESS_HUGETLB | IB_ZERO_BASED)
#define SUPPORTED_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			  IB_ACCESS_MW_BIND | IB_ACCESS_OPTIONAL | \
			  WITHOUT_EFFECT)
#define REREG_FLAGS	(IB_MR_REREG_TRANS | IB_MR_REREG_PD | \
			 IB_MR_REREG_ACCESS)

/* The low byte of a new key, so that an old one of the same index fails */
static u8 next_variant(struct rhca_mlx5 *hca)
{
	return atomic_inc_return(&hca->key_variant);
}

/*
 * From the cache; or by a command, which has the list of pages with it, where the adapter
 * does not want to make or to fill an empty key. By a key that could not be destroyed
 * after that it may still reach the memory. Where it did not answer for a minute, it is
 * not asked for another one.
 */
static int get_key(struct rhca_mlx5_mr *mr, const struct rhca_mlx5_key_spec *spec,
		   struct rhca_mlx5 *hca, u32 *key)
{
	u8 variant = next_variant(hca);
	int ret;

	if (mr->cached_pages) {
		ret = rhca_mlx5_cached_key_get(hca, spec, variant, key);
		if (!ret || *key || rhca_mlx5_is_silence(ret))
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

/* Pages as large as the adapter can have them and the memory allows */
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
	};

	if (!page_size)
		return -EINVAL;
	spec.page_shift = ilog2(page_size);
	spec.num_pages = ib_umem_num_dma_blocks(mr->umem, page_size);
	mr->ibmr.page_size = page_size;
	if (rhca_mlx5_can_fill_key(hca, &spec))
		mr->cached_pages = spec.num_pages;
	return create_key(mr, ibpd, &spec);
}

/* A region of pinned memory, which is the region's from now on, or released */
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
	 * By a key that is lost the adapter may still use the memory: so is that. One that
	 * it was told to make of the memory, and has not answered, it may make yet; not
	 * so one of a command that was cancelled before it was handed over.
	 */
	if (mr->ibmr.lkey || (ret == -ETIMEDOUT && !mr->cached_pages))
		umem = NULL;
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

/* Memory of another device. It stays where it is while it is registered */
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

/* The key stays: peers that know it go on with the new rights, or fail */
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

/* The same memory with a new key: it is pinned again, by its address */
static struct ib_mr *register_again(const struct rhca_mlx5_mr *mr, int access,
				    struct ib_pd *ibpd)
{
	const struct ib_umem *umem = mr->umem;

	/* A DMA buffer's file nobody remembers; addresses are their owner's */
	if (umem->is_dmabuf || umem->owning_mm != current->mm)
		return ERR_PTR(-EOPNOTSUPP);
	return register_user(ibpd, umem->address, umem->length, mr->ibmr.iova,
			     access);
}

/*
 * The rereg_mr verb. Where memory and address stay, so do the key and the pinned pages. But
 * pages that were pinned for reading have to be pinned anew for writing, and an adapter may not
 * be able to change the right to atomic operations or the order on the bus.
 * Process context of the owner; ib_core lets nobody else use the region. Returns NULL when the
 * region has changed, with what it had before in an error; or a new region with a new key,
 * which ib_core puts in the place of the old one and deregisters that. -EOPNOTSUPP where it
 * would have to be new, but is a DMA buffer or another process's memory. What registering or
 * rhca_mlx5_change_key() says.
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
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (access & ~SUPPORTED_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (flags & IB_MR_REREG_TRANS)
		return register_user(ibpd, start, length, iova, access);
	/* Pages that were pinned for reading only cannot be written to */
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
		/* Users in the kernel rely on completions alone, and do not ask */
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
 * A key for a list with gaps is one of pieces, whose memory is named by the key that has
 * all of it: an adapter translates those more slowly, and only who asks gets one.
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
 * Afterwards the adapter neither reads nor writes a process's memory. A user in the kernel does
 * not try again: a key of one that the adapter keeps is lost.
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
		to_rhca_mlx5_pd(ibmr->pd)->has_lost = true;
	if (mr->list.entries)
		rhca_mlx5_key_list_free(&mr->list, hca->mdev->device);
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}

/* Windows onto several regions, which verbs do not have, are refused */
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
 * A window is a key that translates to another key, and that a process binds to it
 * by a request. A bound one of type 2 may be invalidated by the peer.
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
	if (ret)
		return ret;
	ret = answer_alloc_mw(udata);
	/* Nobody can try again */
	if (ret && rhca_mlx5_give_key_back(hca->mdev, ibmw->rkey))
		to_rhca_mlx5_pd(ibmw->pd)->has_lost = true;
	return ret;
}

int rhca_mlx5_dealloc_mw(struct ib_mw *ibmw)
{
	return mlx5_core_destroy_mkey(rhca_mlx5_mdev(ibmw->device),
				      ibmw->rkey);
}
