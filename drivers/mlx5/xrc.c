// SPDX-License-Identifier: GPL-2.0
/*
 * XRC domains, and the objects that every XRC queue pair has to name. Those are made
 * when the first one needs them, since few hosts have any.
 */
#include <linux/kmemleak.h>
#include <linux/slab.h>

#include "command.h"
#include "device.h"
#include "xrc.h"

#define LOG_ENTRIES		1	/* the fewest that a queue may have */
#define LOG_SRQ_ENTRY_BYTES	5	/* a link, and one piece of memory */

int rhca_mlx5_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	if (!MLX5_CAP_GEN(rhca_mlx5_mdev(ibxrcd->device), xrc))
		return -EOPNOTSUPP;
	return rhca_mlx5_alloc_number(rhca_mlx5_mdev(ibxrcd->device),
				      MLX5_CMD_OP_ALLOC_XRCD,
				      &to_rhca_mlx5_xrcd(ibxrcd)->number);
}

/*
 * To ib_core a domain without a file, whose freeing was refused once, is in use for ever:
 * it counts a user too many.
 */
static int free_xrcd(struct mlx5_core_dev *mdev, u32 number)
{
	return rhca_mlx5_give_back(mdev, MLX5_CMD_OP_DEALLOC_XRCD, number);
}

int rhca_mlx5_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	const struct rhca_mlx5_xrcd *xrcd = to_rhca_mlx5_xrcd(ibxrcd);
	int ret = free_xrcd(rhca_mlx5_mdev(ibxrcd->device), xrcd->number);

	return xrcd->has_lost ? 0 : ret;
}

static int create_cq(struct rhca_mlx5_xrc_parts *parts, struct rhca_mlx5 *hca)
{
	return rhca_mlx5_own_cq_create(&parts->cq, hca, LOG_ENTRIES);
}

static int destroy_cq(struct rhca_mlx5_xrc_parts *parts, struct rhca_mlx5 *hca)
{
	return rhca_mlx5_own_cq_destroy(&parts->cq, hca);
}

static int create_srq(struct rhca_mlx5_xrc_parts *parts, struct rhca_mlx5 *hca)
{
	const struct rhca_mlx5_srq_spec spec = {
		.buffer		 = &parts->srq_buffer,
		.log_entries	 = LOG_ENTRIES,
		.log_entry_bytes = LOG_SRQ_ENTRY_BYTES,
		.pd		 = parts->pd,
		.is_xrc		 = true,
		.xrcd		 = parts->srq_xrcd,
		.cq		 = parts->cq.hw.cqn,
		.user_index	 = RHCA_MLX5_NO_USER_INDEX,
	};
	int ret;

	ret = rhca_mlx5_buffer_alloc(&parts->srq_buffer, hca->mdev,
				     BIT(LOG_ENTRIES + LOG_SRQ_ENTRY_BYTES));
	if (ret)
		return ret;
	ret = rhca_mlx5_create_hw_srq(hca->mdev, &spec, &parts->srq);
	if (ret)
		rhca_mlx5_buffer_free(&parts->srq_buffer, hca->mdev);
	return ret;
}

static int destroy_srq(struct rhca_mlx5_xrc_parts *parts,
		       struct rhca_mlx5 *hca)
{
	int ret = rhca_mlx5_destroy_hw_srq(hca->mdev, true, parts->srq);

	if (!ret)
		rhca_mlx5_buffer_free(&parts->srq_buffer, hca->mdev);
	return ret;
}

static int create_pd(struct rhca_mlx5_xrc_parts *parts, struct rhca_mlx5 *hca)
{
	return mlx5_core_alloc_pd(hca->mdev, &parts->pd);
}

static int destroy_pd(struct rhca_mlx5_xrc_parts *parts, struct rhca_mlx5 *hca)
{
	return mlx5_core_dealloc_pd(hca->mdev, parts->pd);
}

static int create_domains(struct rhca_mlx5_xrc_parts *parts,
			  struct rhca_mlx5 *hca)
{
	int ret;

	ret = rhca_mlx5_alloc_number(hca->mdev, MLX5_CMD_OP_ALLOC_XRCD,
				     &parts->srq_xrcd);
	if (ret)
		return ret;
	ret = rhca_mlx5_alloc_number(hca->mdev, MLX5_CMD_OP_ALLOC_XRCD,
				     &parts->empty_xrcd);
	if (ret)
		free_xrcd(hca->mdev, parts->srq_xrcd);
	return ret;
}

static int destroy_domains(struct rhca_mlx5_xrc_parts *parts,
			   struct rhca_mlx5 *hca)
{
	return free_xrcd(hca->mdev, parts->empty_xrcd) ?:
	       free_xrcd(hca->mdev, parts->srq_xrcd);
}

/* In the order in which one needs another */
static const struct part {
	int (*create)(struct rhca_mlx5_xrc_parts *parts, struct rhca_mlx5 *hca);
	int (*destroy)(struct rhca_mlx5_xrc_parts *parts,
		       struct rhca_mlx5 *hca);
} all_parts[] = {
	{ create_pd, destroy_pd },
	{ create_cq, destroy_cq },
	{ create_domains, destroy_domains },
	{ create_srq, destroy_srq },
};

/* What the adapter does not give back is lost, and all that it needs with it */
static void destroy_parts(struct rhca_mlx5_xrc_parts *parts,
			  struct rhca_mlx5 *hca, size_t num)
{
	while (num--) {
		if (all_parts[num].destroy(parts, hca)) {
			kmemleak_not_leak(parts);
			return;
		}
	}
	kfree(parts);
}

static struct rhca_mlx5_xrc_parts *create_parts(struct rhca_mlx5 *hca)
{
	struct rhca_mlx5_xrc_parts *parts;
	size_t i;
	int ret;

	parts = kzalloc(sizeof(*parts), GFP_KERNEL);
	if (!parts)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < ARRAY_SIZE(all_parts); i++) {
		ret = all_parts[i].create(parts, hca);
		if (ret) {
			destroy_parts(parts, hca, i);
			return ERR_PTR(ret);
		}
	}
	return parts;
}

/*
 * What an XRC queue pair has to name. May sleep. Returns the parts, which stay until
 * rhca_mlx5_xrc_exit(), or an error.
 */
const struct rhca_mlx5_xrc_parts *rhca_mlx5_xrc_parts(struct rhca_mlx5 *hca)
{
	struct rhca_mlx5_xrc_parts *parts;

	mutex_lock(&hca->xrc_lock);
	parts = hca->xrc_parts;
	if (!parts) {
		parts = create_parts(hca);
		if (!IS_ERR(parts))
			hca->xrc_parts = parts;
	}
	mutex_unlock(&hca->xrc_lock);
	return parts;
}

void rhca_mlx5_xrc_init(struct rhca_mlx5 *hca)
{
	mutex_init(&hca->xrc_lock);
	hca->xrc_parts = NULL;
}

/* No queue pair is left */
void rhca_mlx5_xrc_exit(struct rhca_mlx5 *hca)
{
	if (hca->xrc_parts)
		destroy_parts(hca->xrc_parts, hca, ARRAY_SIZE(all_parts));
	mutex_destroy(&hca->xrc_lock);
}
