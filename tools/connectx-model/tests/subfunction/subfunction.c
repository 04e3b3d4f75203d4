// SPDX-License-Identifier: GPL-2.0
/*
 * While it is loaded, the adapter's function appears as a subfunction to a driver that is bound to
 * it meanwhile. mlx5_core has subfunctions if built with MLX5_SF, which no kernel of Debian is.
 */
#include <linux/auxiliary_bus.h>
#include <linux/mlx5/driver.h>
#include <linux/module.h>
#include <linux/pci.h>

#define CONNECTX_5	0x1017

static struct device *function;

static enum mlx5_coredev_type swap_type(enum mlx5_coredev_type type)
{
	struct mlx5_core_dev *mdev = container_of(to_auxiliary_dev(function),
						  struct mlx5_adev, adev)->mdev;
	enum mlx5_coredev_type before = mdev->coredev_type;

	mdev->coredev_type = type;
	return before;
}

static int __init subfunction_init(void)
{
	struct pci_dev *pdev = pci_get_device(PCI_VENDOR_ID_MELLANOX, CONNECTX_5, NULL);

	if (pdev)
		function = device_find_child_by_name(&pdev->dev, "mlx5_core.rdma.0");
	pci_dev_put(pdev);
	if (!function)
		return -ENODEV;
	swap_type(MLX5_COREDEV_SF);
	return 0;
}

static void __exit subfunction_exit(void)
{
	swap_type(MLX5_COREDEV_PF);
	put_device(function);
}

module_init(subfunction_init);
module_exit(subfunction_exit);
MODULE_DESCRIPTION("A ConnectX function that says it is a subfunction");
MODULE_LICENSE("GPL");
