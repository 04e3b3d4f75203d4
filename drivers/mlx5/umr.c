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
#include "wqe.h"

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
