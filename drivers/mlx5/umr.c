// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware has no command that changes a memory key: a request does, which takes less
 * time than a command, too. So keys are also filled with pages, and emptied, by requests.
 */
#include <rdma/ib_verbs.h>

#include "command.h"
#include "device.h"
#include "key_access.h"
#include "umr.h"
#include "umr_queue.h"

#define ANY_QP		0xffffff00

/* From here on a request needs more bits than all adapters have to say where it writes */
#define LONG_KEY_BYTES	((u64)SZ_64K << PAGE_SHIFT)

#define CONTENTS	(MLX5_MKEY_MASK_LEN | MLX5_MKEY_MASK_PAGE_SIZE | \
			 MLX5_MKEY_MASK_START_ADDR | MLX5_MKEY_MASK_PD | \
			 MLX5_MKEY_MASK_KEY | MLX5_MKEY_MASK_FREE)

/* Any queue pair may use the key; its low byte is its own */
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
 * Change a memory key that stays in use. @spec: its new protection domain and access, such as a
 * request can give it. @flags: IB_MR_REREG_*, which of these. May sleep, as long as the adapter
 * takes for one request. Returns what rhca_mlx5_umr_execute() says.
 */
int rhca_mlx5_change_key(struct rhca_mlx5 *hca,
			 const struct rhca_mlx5_key_spec *spec, u32 key,
			 int flags)
{
	u64 mask = (flags & IB_MR_REREG_PD ? MLX5_MKEY_MASK_PD : 0) |
		   (flags & IB_MR_REREG_ACCESS ?
		    rhca_mlx5_key_access_mask(hca->mdev) : 0);
	struct rhca_mlx5_umr_request request = {
		/* Fails where the key is free, and nobody's */
		.umr.flags	= MLX5_UMR_CHECK_FREE | MLX5_UMR_INLINE,
		.umr.mkey_mask	= cpu_to_be64(mask),
		.key.qpn_mkey7_0 = numbers_of(key),
		.key.flags_pd	= cpu_to_be32(spec->pd),
	};

	rhca_mlx5_set_key_access(hca->mdev, &request.key, spec->access);
	return execute(hca, &request, key);
}

/* May a key that requests fill be what is asked for? @spec: the key of a process's memory. */
bool rhca_mlx5_can_fill_key(const struct rhca_mlx5 *hca,
			    const struct rhca_mlx5_key_spec *spec)
{
	return !MLX5_CAP_GEN(hca->mdev, umr_modify_entity_size_disabled) &&
	       (MLX5_CAP_GEN(hca->mdev, umr_extended_translation_offset) ||
		spec->bytes < LONG_KEY_BYTES) &&
	       !READ_ONCE(hca->umr_queue->is_broken);
}

/*
 * Create a key for rhca_mlx5_fill_key(). @log_pages: it is to have room for as many. @access:
 * IB_ACCESS_*, what filling could not give it. May sleep.
 */
int rhca_mlx5_create_empty_key(struct rhca_mlx5 *hca, u8 log_pages, int access,
			       u32 *key)
{
	const struct rhca_mlx5_key_spec spec = {
		.pd		= hca->umr_queue->pd,
		.access		= access,
		/* No key of pages may be without a size of them, not even an empty one */
		.page_shift	= PAGE_SHIFT,
		.num_pages	= BIT(log_pages),
		.by_requests	= true,
	};

	return rhca_mlx5_create_key(hca->mdev, &spec, 0, key);
}

/* Of the list's last group, too, the adapter reads all: what is no page is empty */
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
 * Have the list's pages written to the key, behind @first others. The key stays free, and nobody
 * can use it, until the last part is there.
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
 * Let an empty key translate to a process's memory. @spec: allowed by rhca_mlx5_can_fill_key().
 * @key: has room for as many pages, and the low byte that it is to have. May sleep, as long as
 * the adapter takes for a request of each 8192 pages. Returns what rhca_mlx5_umr_execute() says.
 */
int rhca_mlx5_fill_key(struct rhca_mlx5 *hca,
		       const struct rhca_mlx5_key_spec *spec, u32 key)
{
	u64 mask = CONTENTS | rhca_mlx5_key_access_mask(hca->mdev);
	struct device *device = hca->mdev->device;
	struct rhca_mlx5_key_list *list;
	struct ib_block_iter it;
	u32 first = 0;
	int ret = -EIO;

	mutex_lock(&hca->umr_lock);
	/* The adapter may read the list yet, for the request that is on the queue still */
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
	ret = write_pages(hca, spec, key, first, mask);
unlock:
	mutex_unlock(&hca->umr_lock);
	return ret;
}

/*
 * Take a key's memory away. @key: a key that rhca_mlx5_fill_key() has filled; it may be empty
 * already. May sleep, as long as the adapter takes for one request. Returns 0, and the adapter
 * reads and writes nothing by the key any more; else what rhca_mlx5_umr_execute() says.
 */
int rhca_mlx5_empty_key(struct rhca_mlx5 *hca, u32 key)
{
	struct rhca_mlx5_umr_request request = {
		.umr.flags	= MLX5_UMR_INLINE,
		.umr.mkey_mask	= cpu_to_be64(MLX5_MKEY_MASK_FREE |
					      MLX5_MKEY_MASK_PD),
		.key.status	= MLX5_MKEY_STATUS_FREE,
		.key.qpn_mkey7_0 = numbers_of(key),
		/* The process's has to be destroyed some time */
		.key.flags_pd	= cpu_to_be32(hca->umr_queue->pd),
	};

	return execute(hca, &request, key);
}
