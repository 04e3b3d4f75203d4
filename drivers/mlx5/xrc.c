// SPDX-License-Identifier: GPL-2.0
/*
 * XRC domains, and the objects that every XRC queue pair must refer to. The first one creates
 * these, since few hosts need any.
 */
#include <linux/kmemleak.h>
#include <linux/slab.h>

#include "command.h"
#include "device.h"
#include "xrc.h"

#define LOG_ENTRIES		1	/* the minimum of a queue */
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
 * If freeing a domain without a file fails once, ib_core keeps it for ever, as it then counts a
 * user too many: so retry here.
 */
static int free_xrcd(struct mlx5_core_dev *mdev, u32 number)
{
	return rhca_mlx5_give_back(mdev, MLX5_CMD_OP_DEALLOC_XRCD, number);
}

int rhca_mlx5_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	const struct rhca_mlx5_xrcd *xrcd = to_rhca_mlx5_xrcd(ibxrcd);
	int ret = free_xrcd(rhca_mlx5_mdev(ibxrcd->device), xrcd->number);

	return xrcd->has_leaked ? 0 : ret;
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

static int create_parts(struct rhca_mlx5 *hca)
{
	struct mlx5_core_dev *mdev = hca->mdev;
	struct rhca_mlx5_xrc_parts *parts;
	int ret;

	parts = kzalloc(sizeof(*parts), GFP_KERNEL);
	if (!parts)
		return -ENOMEM;
	ret = mlx5_core_alloc_pd(mdev, &parts->pd);
	if (ret)
		goto err_free;
	ret = rhca_mlx5_own_cq_create(&parts->cq, hca);
	if (ret)
		goto err_dealloc_pd;
	ret = rhca_mlx5_alloc_number(mdev, MLX5_CMD_OP_ALLOC_XRCD,
				     &parts->srq_xrcd);
	if (ret)
		goto err_destroy_cq;
	ret = rhca_mlx5_alloc_number(mdev, MLX5_CMD_OP_ALLOC_XRCD,
				     &parts->empty_xrcd);
	if (ret)
		goto err_free_srq_xrcd;
	ret = create_srq(parts, hca);
	if (ret)
		goto err_free_empty_xrcd;
	hca->xrc_parts = parts;
	return 0;

err_free_empty_xrcd:
	free_xrcd(mdev, parts->empty_xrcd);
err_free_srq_xrcd:
	free_xrcd(mdev, parts->srq_xrcd);
err_destroy_cq:
	rhca_mlx5_destroy_cq(&parts->cq.ibcq, NULL);
err_dealloc_pd:
	mlx5_core_dealloc_pd(mdev, parts->pd);
err_free:
	kfree(parts);
	return ret;
}

/* If the adapter does not release a part, leak all */
static void destroy_parts(struct rhca_mlx5_xrc_parts *parts,
			  struct rhca_mlx5 *hca)
{
	if (destroy_srq(parts, hca) ||
	    free_xrcd(hca->mdev, parts->empty_xrcd) ||
	    free_xrcd(hca->mdev, parts->srq_xrcd) ||
	    rhca_mlx5_destroy_cq(&parts->cq.ibcq, NULL) ||
	    mlx5_core_dealloc_pd(hca->mdev, parts->pd))
		kmemleak_not_leak(parts);
	else
		kfree(parts);
}

/*
 * Get the objects that an XRC queue pair must refer to. May sleep. Returns the parts, which stay
 * until rhca_mlx5_xrc_exit(), or an error.
 */
const struct rhca_mlx5_xrc_parts *rhca_mlx5_xrc_parts(struct rhca_mlx5 *hca)
{
	int ret;

	mutex_lock(&hca->xrc_lock);
	ret = hca->xrc_parts ? 0 : create_parts(hca);
	mutex_unlock(&hca->xrc_lock);
	return ret ? ERR_PTR(ret) : hca->xrc_parts;
}

/* Called when no queue pair is left */
void rhca_mlx5_xrc_exit(struct rhca_mlx5 *hca)
{
	if (hca->xrc_parts)
		destroy_parts(hca->xrc_parts, hca);
	hca->xrc_parts = NULL;
	mutex_destroy(&hca->xrc_lock);
}
