// SPDX-License-Identifier: GPL-2.0
/*
 * The firmware has no command to change a memory key: that takes a request, which is also faster
 * than a command. So requests also fill keys with pages and empty them.
 */
#include <rdma/ib_verbs.h>

#include "command.h"
#include "device.h"
#include "key_access.h"
#include "umr.h"
#include "umr_queue.h"

#define ANY_QP		0xffffff00

/* From here on a request needs more bits for its offset than some adapters have */
#define LONG_KEY_BYTES	((u64)SZ_64K << PAGE_SHIFT)

#define CONTENTS	(MLX5_MKEY_MASK_LEN | MLX5_MKEY_MASK_PAGE_SIZE | \
			 MLX5_MKEY_MASK_START_ADDR | MLX5_MKEY_MASK_PD | \
			 MLX5_MKEY_MASK_KEY | MLX5_MKEY_MASK_FREE)

/* Any queue pair may use the key; its low byte is the variant */
static __be32 numbers_of(u32 key)
{
	return cpu_to_be32(ANY_QP | (key & 0xff));
}

static int execute(struct rhca_mlx5 *hca, struct rhca_mlx5_umr_request *request,
		   u32 key)
{
	int ret;

	mutex_lock(&hca->umr_lock);
	ret = rhca_mlx5_umr_execute(hca, request, key);
	mutex_unlock(&hca->umr_lock);
	return ret;
}

/*
 * Change a memory key in use. @spec: its new PD and access that requests can change. @flags:
 * IB_MR_REREG_*, which of these. May sleep, as long as the adapter takes for one request. Returns
 * as rhca_mlx5_umr_execute().
 */
int rhca_mlx5_change_key(struct rhca_mlx5 *hca,
			 const struct rhca_mlx5_key_spec *spec, u32 key,
			 int flags)
{
	u64 mask = (flags & IB_MR_REREG_PD ? MLX5_MKEY_MASK_PD : 0) |
		   (flags & IB_MR_REREG_ACCESS ?
		    rhca_mlx5_key_access_mask(hca->mdev) : 0);
	struct rhca_mlx5_umr_request request = {
		/* Fails if the key is free, so unused */
		.umr.flags	= MLX5_UMR_CHECK_FREE | MLX5_UMR_INLINE,
		.umr.mkey_mask	= cpu_to_be64(mask),
		.key.qpn_mkey7_0 = numbers_of(key),
		.key.flags_pd	= cpu_to_be32(spec->pd),
	};

	rhca_mlx5_set_key_access(hca->mdev, &request.key, spec->access);
	return execute(hca, &request, key);
}

/* Can requests fill the key of a process's memory? They cannot make it use ATS */
bool rhca_mlx5_can_fill_key(const struct rhca_mlx5 *hca,
			    const struct rhca_mlx5_key_spec *spec)
{
	return !MLX5_CAP_GEN(hca->mdev, umr_modify_entity_size_disabled) &&
	       (MLX5_CAP_GEN(hca->mdev, umr_extended_translation_offset) ||
		(spec->bytes < LONG_KEY_BYTES && spec->num_pages < SZ_64K)) &&
	       !(spec->translated && MLX5_CAP_GEN(hca->mdev, ats)) &&
	       !READ_ONCE(hca->umr_queue->is_broken);
}

/*
 * Create a key for rhca_mlx5_fill_key(). @log_pages: its room. @access: IB_ACCESS_* that filling
 * cannot set. May sleep.
 */
int rhca_mlx5_create_empty_key(struct rhca_mlx5 *hca, u8 log_pages, int access,
			       u32 *key)
{
	const struct rhca_mlx5_key_spec spec = {
		.pd		= hca->umr_queue->pd,
		.access		= access,
		/* Even an empty key of pages needs a page size */
		.page_shift	= PAGE_SHIFT,
		.num_pages	= BIT(log_pages),
		.by_requests	= true,
	};

	return rhca_mlx5_create_key(hca->mdev, &spec, 0, key);
}

/* The adapter reads whole groups: clear the rest of the last one */
static u32 finish_list(struct rhca_mlx5 *hca)
{
	struct rhca_mlx5_key_list *list = &hca->umr_queue->list;
	u32 bytes = rhca_mlx5_key_list_bytes(list);
	u32 whole = ALIGN(bytes, RHCA_MLX5_LIST_ALIGN);

	memset(list->entries + bytes, 0, whole - bytes);
	rhca_mlx5_key_list_end(list, hca->mdev->device);
	return whole;
}

/*
 * Write the list's pages to the key, after the first @first. The key stays free and unusable until
 * the last part is written.
 */
static int write_pages(struct rhca_mlx5 *hca,
		       const struct rhca_mlx5_key_spec *spec, u32 key,
		       u32 first, u64 mask)
{
	const struct rhca_mlx5_umr_queue *queue = hca->umr_queue;
	u32 at = first * sizeof(__be64) / MLX5_OCTWORD;
	u32 bytes = finish_list(hca);
	struct rhca_mlx5_umr_request request = {
		.umr = {
			.flags		= MLX5_UMR_CHECK_NOT_FREE |
					  MLX5_UMR_TRANSLATION_OFFSET_EN,
			.xlt_octowords	= cpu_to_be16(bytes / MLX5_OCTWORD),
			.xlt_offset	= cpu_to_be16(at & U16_MAX),
			.xlt_offset_47_16 = cpu_to_be32(at >> 16),
			.mkey_mask	= cpu_to_be64(mask),
		},
		.key = {
			.qpn_mkey7_0	= numbers_of(key),
			.flags_pd	= cpu_to_be32(spec->pd),
			.start_addr	= cpu_to_be64(spec->start),
			.len		= cpu_to_be64(spec->bytes),
			.log2_page_size	= spec->page_shift,
		},
		.list = {
			.byte_count	= cpu_to_be32(bytes),
			.lkey		= cpu_to_be32(queue->bus_key),
			.addr		= cpu_to_be64(queue->list.dma),
		},
	};

	lockdep_assert_held(&hca->umr_lock);
	rhca_mlx5_set_key_access(hca->mdev, &request.key, spec->access);
	return rhca_mlx5_umr_execute(hca, &request, key);
}

/*
 * Fill an empty key with a process's memory. @spec: allowed by rhca_mlx5_can_fill_key(). @key: with
 * enough room. @variant: its new low byte, which it gets with the last part. May sleep, as long as
 * the adapter takes for one request per 8192 pages. Returns as rhca_mlx5_umr_execute().
 */
int rhca_mlx5_fill_key(struct rhca_mlx5 *hca,
		       const struct rhca_mlx5_key_spec *spec, u32 key, u8 variant)
{
	u64 mask = CONTENTS | rhca_mlx5_key_access_mask(hca->mdev);
	struct device *device = hca->mdev->device;
	struct rhca_mlx5_key_list *list;
	struct ib_block_iter it;
	u32 first = 0;
	int ret = -EIO;

	mutex_lock(&hca->umr_lock);
	/* The adapter may still read the list, for a request that timed out */
	if (hca->umr_queue->is_broken)
		goto unlock;
	list = &hca->umr_queue->list;
	rhca_mlx5_key_list_begin(list, device);
	rdma_umem_for_each_dma_block(spec->umem, &it, BIT(spec->page_shift)) {
		if (list->num == RHCA_MLX5_UMR_LIST_PAGES) {
			ret = write_pages(hca, spec, key, first, 0);
			if (ret)
				goto unlock;
			first += list->num;
			rhca_mlx5_key_list_begin(list, device);
		}
		rhca_mlx5_key_list_add_page(list, rdma_block_iter_dma_address(&it));
	}
	ret = write_pages(hca, spec, (key & ~0xff) | variant, first, mask);
unlock:
	mutex_unlock(&hca->umr_lock);
	return ret;
}

/*
 * Empty a key from rhca_mlx5_fill_key(), or an empty one. May sleep, as long as the adapter takes
 * for one request. Returns 0, after which the adapter no longer uses the memory through the key; or
 * as rhca_mlx5_umr_execute().
 */
int rhca_mlx5_empty_key(struct rhca_mlx5 *hca, u32 key)
{
	struct rhca_mlx5_umr_request request = {
		.umr.flags	= MLX5_UMR_INLINE,
		.umr.mkey_mask	= cpu_to_be64(MLX5_MKEY_MASK_FREE |
					      MLX5_MKEY_MASK_PD),
		.key.status	= MLX5_MKEY_STATUS_FREE,
		.key.qpn_mkey7_0 = numbers_of(key),
		/* The process's PD must remain destroyable */
		.key.flags_pd	= cpu_to_be32(hca->umr_queue->pd),
	};

	return execute(hca, &request, key);
}
