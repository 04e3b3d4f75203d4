// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of adapters: binds mlx5_core's auxiliary devices and makes offers for them. The in-tree
 * driver has the same devices; the first one registered binds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/auxiliary_bus.h>
#include <linux/mlx5/driver.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rhca/compat.h>

#include "backend.h"
#include "device.h"
#include "lag.h"

#define CQE_VERSION	1	/* completions carry our number of the queue */

static char *ports = "all";

/* Does a list begin with a PCI address of this length, in the form of dev_name()? */
static bool is_address(const char *list, size_t bytes)
{
	u32 domain, bus, slot, function;
	char name[32];

	return sscanf(list, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4 &&
	       bytes == scnprintf(name, sizeof(name), "%04x:%02x:%02x.%x",
				  domain, bus, slot, function) &&
	       !strncasecmp(list, name, bytes);
}

static bool has_addresses_only(const char *list)
{
	size_t bytes;

	do {
		bytes = strcspn(list, ",");
		if (!is_address(list, bytes))
			return false;
		list += bytes;
	} while (*list++);
	return true;
}

static int set_ports(const char *value, const struct kernel_param *kp)
{
	if (strcmp(value, "all") && strcmp(value, "none") && !has_addresses_only(value)) {
		pr_err("ports=%s is not one of all, none, PCI addresses such as 0000:3b:00.0,0000:3b:00.1\n",
		       value);
		return -EINVAL;
	}
	return param_set_charp(value, kp);
}

static const struct kernel_param_ops ports_ops = {
	.set = set_ports,
	.get = param_get_charp,
	.free = param_free_charp,
};
module_param_cb(ports, &ports_ops, &ports, 0444);
MODULE_PARM_DESC(ports, "Adapters to serve: all, none, or PCI addresses separated by commas; the others stay with their driver (default: all)");

static bool names_function(const char *list, const char *name)
{
	size_t bytes;

	for (; *list; list += bytes + !!list[bytes]) {
		bytes = strcspn(list, ",");
		if (bytes == strlen(name) && !strncasecmp(list, name, bytes))
			return true;
	}
	return false;
}

static bool is_wanted(const struct mlx5_core_dev *mdev)
{
	if (!strcmp(ports, "all"))
		return true;
	return strcmp(ports, "none") &&
	       names_function(ports, dev_name(mdev->device));
}

enum { FUNCTION, REPRESENTORS };

/*
 * Why a function is left to the in-tree driver, or NULL. In switchdev mode a function has another
 * name on the bus, and its representors belong to it. A LAG of a switch is a normal one for its
 * virtual functions, which are served.
 */
static const char *reason_not_to_serve(struct mlx5_core_dev *mdev,
				       kernel_ulong_t kind)
{
	if (kind == REPRESENTORS)
		return "its switch is in switchdev mode";
	if (MLX5_CAP_GEN(mdev, port_type) != MLX5_CAP_PORT_TYPE_ETH)
		return "its port is InfiniBand's";
	if (mdev->coredev_type == MLX5_COREDEV_SF)
		return "it is a subfunction";
	if (mlx5_lag_is_active(mdev) && !mlx5_lag_is_roce(mdev))
		return "it belongs to a LAG of its switch";
	if (MLX5_CAP_GEN(mdev, num_vhca_ports) > 1)
		return "it shares an RDMA port";
	if (MLX5_CAP_GEN(mdev, cqe_version) != CQE_VERSION)
		return "its firmware is too old (version of completions)";
	return NULL;
}

static bool is_served(struct mlx5_core_dev *mdev, kernel_ulong_t kind)
{
	const char *reason = reason_not_to_serve(mdev, kind);

	if (reason)
		pr_info("%s is left to another driver: %s\n",
			dev_name(mdev->device), reason);
	return !reason;
}

static bool covers(const struct rhca_offer *offer,
		   const struct net_device *ndev)
{
	const struct rhca_mlx5 *hca = container_of(offer, struct rhca_mlx5,
						   offer);

	if (hca->lag_ports)
		return rhca_mlx5_lag_covers(hca, ndev);
	return ndev->dev.parent == hca->mdev->device;
}

/*
 * Bind a function even if its RoCE is off, and offer it as not able: otherwise the in-tree driver
 * would bind it, and serve its netdev. Context: devlink's lock is held, so nothing is registered
 * here.
 */
static int bind_function(struct auxiliary_device *adev,
			 const struct auxiliary_device_id *id)
{
	struct mlx5_core_dev *mdev = container_of(adev, struct mlx5_adev,
						  adev)->mdev;
	struct rhca_mlx5 *hca;

	if (!is_wanted(mdev) || !is_served(mdev, id->driver_data))
		return -ENODEV;
	hca = kzalloc(sizeof(*hca), GFP_KERNEL);
	if (!hca)
		return -ENOMEM;
	hca->mdev = mdev;
	/* mlx5_core unbinds the function before this changes, and binds it again after */
	if (mlx5_lag_is_active(mdev))
		hca->lag_ports = mlx5_lag_get_num_ports(mdev);
	hca->offer.backend = &rhca_mlx5_backend;
	hca->offer.dma_device = mdev->device;
	hca->offer.covers = covers;
	hca->offer.able = mlx5_get_roce_state(mdev);
	hca->offer.decides_lag = true;
	auxiliary_set_drvdata(adev, hca);
	rhca_offer_add(&hca->offer);
	return 0;
}

static void unbind_function(struct auxiliary_device *adev)
{
	struct rhca_mlx5 *hca = auxiliary_get_drvdata(adev);

	rhca_offer_withdraw(&hca->offer);
	kfree(hca);
}

/*
 * No MODULE_DEVICE_TABLE(): this module must be loaded by name, so that its installation alone
 * takes no adapter from the in-tree driver.
 */
static const struct auxiliary_device_id function_ids[] = {
	{ .name = MLX5_ADEV_NAME ".rdma", .driver_data = FUNCTION },
	{ .name = MLX5_ADEV_NAME ".rdma-rep", .driver_data = REPRESENTORS },
	{}
};

static struct auxiliary_driver function_driver = {
	.name		= "rdma",
	.probe		= bind_function,
	.remove		= unbind_function,
	.id_table	= function_ids,
};
module_auxiliary_driver(function_driver);

RHCA_IMPORT_CORE;
MODULE_AUTHOR("The roce-hca authors");
MODULE_DESCRIPTION("RoCE HCA of ConnectX adapters");
MODULE_LICENSE("GPL");
MODULE_VERSION(RHCA_VERSION);
