// SPDX-License-Identifier: GPL-2.0
/*
 * Access of memory keys: rights of verbs, and relaxed ordering on the bus. Commands that create a
 * key and requests that change one share a layout, but on some adapters requests cannot change all
 * of it.
 */
#include <linux/mlx5/device.h>
#include <linux/pci.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "key_access.h"

#define RIGHTS	(MLX5_MKEY_MASK_LR | MLX5_MKEY_MASK_LW | MLX5_MKEY_MASK_RR | \
		 MLX5_MKEY_MASK_RW)

/* On some adapters only if the host's configuration of the bus allows it */
static bool may_relax_reads(struct mlx5_core_dev *mdev)
{
	return rhca_mlx5_cap_relaxed_read(mdev) ||
	       (rhca_mlx5_cap_relaxed_read_pci(mdev) &&
		pcie_relaxed_ordering_enabled(mdev->pdev));
}

/*
 * Set the access of a memory key. @mkc: the key's context in a command or request; only bits that
 * are set are written. @access: IB_ACCESS_*; local read is always allowed, and relaxed ordering is
 * ignored if the adapter lacks it.
 */
void rhca_mlx5_set_key_access(struct mlx5_core_dev *mdev, void *mkc, int access)
{
	bool relaxed = access & IB_ACCESS_RELAXED_ORDERING;

	MLX5_SET(mkc, mkc, a, !!(access & IB_ACCESS_REMOTE_ATOMIC));
	MLX5_SET(mkc, mkc, rw, !!(access & IB_ACCESS_REMOTE_WRITE));
	MLX5_SET(mkc, mkc, rr, !!(access & IB_ACCESS_REMOTE_READ));
	MLX5_SET(mkc, mkc, lw, !!(access & IB_ACCESS_LOCAL_WRITE));
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, relaxed_ordering_write,
		 relaxed && MLX5_CAP_GEN(mdev, relaxed_ordering_write));
	MLX5_SET(mkc, mkc, relaxed_ordering_read,
		 relaxed && may_relax_reads(mdev));
}

/* The part of it that requests can change: MLX5_MKEY_MASK_* */
u64 rhca_mlx5_key_access_mask(const struct mlx5_core_dev *mdev)
{
	u64 mask = RIGHTS;

	if (MLX5_CAP_GEN(mdev, atomic) &&
	    !MLX5_CAP_GEN(mdev, umr_modify_atomic_disabled))
		mask |= MLX5_MKEY_MASK_A;
	if (MLX5_CAP_GEN(mdev, relaxed_ordering_write_umr))
		mask |= MLX5_MKEY_MASK_RELAXED_ORDERING_WRITE;
	if (MLX5_CAP_GEN(mdev, relaxed_ordering_read_umr))
		mask |= MLX5_MKEY_MASK_RELAXED_ORDERING_READ;
	return mask;
}

static bool fixes_order(const struct mlx5_core_dev *mdev)
{
	bool reads = rhca_mlx5_cap_relaxed_read(mdev) ||
		     rhca_mlx5_cap_relaxed_read_pci(mdev);

	return (MLX5_CAP_GEN(mdev, relaxed_ordering_write) &&
		!MLX5_CAP_GEN(mdev, relaxed_ordering_write_umr)) ||
	       (reads && !MLX5_CAP_GEN(mdev, relaxed_ordering_read_umr));
}

/*
 * The access that a key must be created with. @access: IB_ACCESS_* of the key, or the difference of
 * two keys. Returns those of @access that requests cannot change.
 */
int rhca_mlx5_unchangeable_access(const struct mlx5_core_dev *mdev, int access)
{
	int fixed = 0;

	if (MLX5_CAP_GEN(mdev, atomic) &&
	    MLX5_CAP_GEN(mdev, umr_modify_atomic_disabled))
		fixed |= IB_ACCESS_REMOTE_ATOMIC;
	if (fixes_order(mdev))
		fixed |= IB_ACCESS_RELAXED_ORDERING;
	return access & fixed;
}
