// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware has no command that changes a memory key: a request does, which takes less
 * time than a command, too. So keys are also filled with pages, and emptied, by requests.
 */
#include <linux/dma-mapping.h>
#include <rdma/ib_verbs.h>

#include "command.h"
#include "device.h"
#include "umr.h"
#include "umr_queue.h"

#define ANY_QP		0xffffff00
#define LIST_ALIGN	64	/* of addresses that a request names */

#define RIGHTS		(MLX5_MKEY_MASK_LR | MLX5_MKEY_MASK_LW | \
			 MLX5_MKEY_MASK_RR | MLX5_MKEY_MASK_RW)
#define CONTENTS	(MLX5_MKEY_MASK_LEN | MLX5_MKEY_MASK_PAGE_SIZE | \
			 MLX5_MKEY_MASK_START_ADDR | MLX5_MKEY_MASK_PD | \
			 MLX5_MKEY_MASK_KEY | MLX5_MKEY_MASK_FREE)

static_assert(RHCA_MLX5_UMR_LIST_BYTES ==
	      sizeof(__be64) << RHCA_MLX5_UMR_MAX_PAGES_LOG);

/* Not every adapter can change the right to atomic operations of a key */
static bool can_change_atomic(const struct rhca_mlx5 *hca)
{
	return !MLX5_CAP_GEN(hca->mdev, umr_modify_atomic_disabled);
}

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

/* Parts of the key that change */
static u64 mask_of(const struct rhca_mlx5_key_change *change)
{
	u64 mask = 0;

	if (change->new_pd)
		mask |= MLX5_MKEY_MASK_PD;
	if (!change->new_access)
		return mask;
	mask |= RIGHTS;
	if ((change->access ^ change->old_rights) & IB_ACCESS_REMOTE_ATOMIC)
		mask |= MLX5_MKEY_MASK_A;
	return mask;
}

/**
 * rhca_mlx5_key_rights - Rights of a memory key as requests have them
 * @access: IB_ACCESS_*; local read is always allowed
 *
 * Return: MLX5_PERM_*.
 */
u8 rhca_mlx5_key_rights(int access)
{
	return MLX5_PERM_LOCAL_READ | MLX5_PERM_UMR_EN |
	       (access & IB_ACCESS_LOCAL_WRITE ? MLX5_PERM_LOCAL_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_READ ? MLX5_PERM_REMOTE_READ : 0) |
	       (access & IB_ACCESS_REMOTE_WRITE ? MLX5_PERM_REMOTE_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_ATOMIC ? MLX5_PERM_ATOMIC : 0);
}

/**
 * rhca_mlx5_change_key - Change a memory key that stays in use
 * @hca: the function
 * @change: what is to change
 *
 * Context: may sleep, as long as the adapter takes for one request.
 * Return: 0; -EOPNOTSUPP where the adapter cannot change a right that is asked for;
 * what rhca_mlx5_umr_execute() says.
 */
int rhca_mlx5_change_key(struct rhca_mlx5 *hca,
			 const struct rhca_mlx5_key_change *change)
{
	struct rhca_mlx5_umr_request request = {
		/* Fails where the key is free, and nobody's */
		.umr.flags	= MLX5_UMR_CHECK_FREE | MLX5_UMR_INLINE,
		.umr.mkey_mask	= cpu_to_be64(mask_of(change)),
		.key.flags	= rhca_mlx5_key_rights(change->access),
		.key.qpn_mkey7_0 = numbers_of(change->key),
		.key.flags_pd	= cpu_to_be32(change->pd),
	};

	if (mask_of(change) & MLX5_MKEY_MASK_A && !can_change_atomic(hca))
		return -EOPNOTSUPP;
	return execute(hca, &request, change->key);
}

/**
 * rhca_mlx5_can_fill_key - May a key that requests fill be what is asked for?
 * @hca: the function
 * @spec: the key of a process's memory
 */
bool rhca_mlx5_can_fill_key(const struct rhca_mlx5 *hca,
			    const struct rhca_mlx5_key_spec *spec)
{
	return spec->num_pages <= BIT(RHCA_MLX5_UMR_MAX_PAGES_LOG) &&
	       !MLX5_CAP_GEN(hca->mdev, umr_modify_entity_size_disabled) &&
	       (can_change_atomic(hca) ||
		!(spec->access & IB_ACCESS_REMOTE_ATOMIC)) &&
	       !READ_ONCE(hca->umr_queue->is_broken);
}

/**
 * rhca_mlx5_create_empty_key - Create a key for rhca_mlx5_fill_key()
 * @hca: the function
 * @log_pages: it is to have room for as many
 * @key: the key
 *
 * Context: may sleep.
 */
int rhca_mlx5_create_empty_key(struct rhca_mlx5 *hca, u8 log_pages, u32 *key)
{
	const struct rhca_mlx5_key_spec spec = {
		.pd		= hca->umr_queue->pd,
		.num_pages	= BIT(log_pages),
		.by_requests	= true,
	};

	return rhca_mlx5_create_key(hca->mdev, &spec, 0, key);
}

static u32 write_list(struct rhca_mlx5_umr_queue *queue, struct rhca_mlx5 *hca,
		      const struct rhca_mlx5_key_spec *spec)
{
	u32 bytes = ALIGN(spec->num_pages * sizeof(*queue->list), LIST_ALIGN);

	dma_sync_single_for_cpu(hca->mdev->device, queue->list_dma, bytes,
				DMA_TO_DEVICE);
	memset(queue->list, 0, bytes);
	rhca_mlx5_list_pages(spec, queue->list);
	dma_sync_single_for_device(hca->mdev->device, queue->list_dma, bytes,
				   DMA_TO_DEVICE);
	return bytes;
}

static int fill_locked(struct rhca_mlx5 *hca,
		       const struct rhca_mlx5_key_spec *spec, u32 key)
{
	struct rhca_mlx5_umr_queue *queue = hca->umr_queue;
	u64 atomic = can_change_atomic(hca) ? MLX5_MKEY_MASK_A : 0;
	u32 bytes;

	lockdep_assert_held(&hca->umr_lock);
	bytes = write_list(queue, hca, spec);
	return rhca_mlx5_umr_execute(hca, &(struct rhca_mlx5_umr_request) {
		.umr = {
			.flags		= MLX5_UMR_CHECK_NOT_FREE,
			.xlt_octowords	= cpu_to_be16(bytes / MLX5_OCTWORD),
			.mkey_mask	= cpu_to_be64(CONTENTS | RIGHTS | atomic),
		},
		.key = {
			.flags		= rhca_mlx5_key_rights(spec->access),
			.qpn_mkey7_0	= numbers_of(key),
			.flags_pd	= cpu_to_be32(spec->pd),
			.start_addr	= cpu_to_be64(spec->start),
			.len		= cpu_to_be64(spec->bytes),
			.log2_page_size	= spec->page_shift,
		},
		.list = {
			.byte_count	= cpu_to_be32(bytes),
			.lkey		= cpu_to_be32(queue->bus_key),
			.addr		= cpu_to_be64(queue->list_dma),
		},
	}, key);
}

/**
 * rhca_mlx5_fill_key - Let an empty key translate to a process's memory
 * @hca: the function
 * @spec: what the key is to be; allowed by rhca_mlx5_can_fill_key()
 * @key: the key, with room for as many pages, and the low byte that it is to have
 *
 * Context: may sleep, as long as the adapter takes for one request.
 * Return: what rhca_mlx5_umr_execute() says.
 */
int rhca_mlx5_fill_key(struct rhca_mlx5 *hca,
		       const struct rhca_mlx5_key_spec *spec, u32 key)
{
	int ret;

	mutex_lock(&hca->umr_lock);
	ret = fill_locked(hca, spec, key);
	mutex_unlock(&hca->umr_lock);
	return ret;
}

/**
 * rhca_mlx5_empty_key - Take a key's memory away
 * @hca: the function
 * @key: a key that rhca_mlx5_fill_key() has filled; it may be empty already
 *
 * Context: may sleep, as long as the adapter takes for one request.
 * Return: 0, and the adapter reads and writes nothing by the key any more; else what
 * rhca_mlx5_umr_execute() says.
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

int rhca_mlx5_umr_init(struct rhca_mlx5 *hca)
{
	int ret;

	mutex_init(&hca->umr_lock);
	ret = rhca_mlx5_umr_queue_create(hca);
	if (ret)
		mutex_destroy(&hca->umr_lock);
	return ret;
}

/* No region is left */
void rhca_mlx5_umr_exit(struct rhca_mlx5 *hca)
{
	rhca_mlx5_umr_queue_destroy(hca);
	mutex_destroy(&hca->umr_lock);
}
