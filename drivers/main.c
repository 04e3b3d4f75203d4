// SPDX-License-Identifier: GPL-2.0
/* A RoCE HCA on every Ethernet port: module parameters, init and exit. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>

#include "control/sysfs.h"
#include "core/mcast.h"
#include "core/port_events.h"
#include "core/rules/policy.h"
#include "lifecycle/link.h"
#include "sw/backend.h"
#include "wire/crc32.h"
#include "wire/icrc.h"

static int set_roce_mode(const char *value, const struct kernel_param *kp)
{
	int mode = rhca_roce_mode_parse(value);

	if (mode < 0) {
		pr_err("roce_mode=%s is not one of 0 or v1 (RoCE v1), 2 or v2 (RoCE v2), 4 or both\n",
		       value);
		return mode;
	}
	rhca_policy.roce_mode = mode;
	return 0;
}

static const struct kernel_param_ops roce_mode_ops = {
	.set = set_roce_mode,
	.get = param_get_int,
};
module_param_cb(roce_mode, &roce_mode_ops, &rhca_policy.roce_mode, 0444);
MODULE_PARM_DESC(roce_mode, "RoCE versions of all ports: 0 or v1, 2 or v2, 4 or both (default: both)");

static int set_ud_gid_type(const char *value, const struct kernel_param *kp)
{
	int type = rhca_ud_gid_type_parse(value);

	if (type < 0) {
		pr_err("ud_gid_type=%s is not one of 0 or v1 (RoCE v1), 2 or v2 (RoCE v2), auto (as the address handle)\n",
		       value);
		return type;
	}
	rhca_policy.ud_gid_type = type;
	return 0;
}

static int get_ud_gid_type(char *buffer, const struct kernel_param *kp)
{
	if (rhca_policy.ud_gid_type == RHCA_UD_GID_AUTO)
		return sysfs_emit(buffer, "auto\n");
	return sysfs_emit(buffer, "%d\n", rhca_policy.ud_gid_type);
}

static const struct kernel_param_ops ud_gid_type_ops = {
	.set = set_ud_gid_type,
	.get = get_ud_gid_type,
};
module_param_cb(ud_gid_type, &ud_gid_type_ops, NULL, 0444);
MODULE_PARM_DESC(ud_gid_type, "GID type of user datagrams: 0 or v1, 2 or v2, auto = that of the address handle's GID (default: auto)");

static int set_crc32(const char *value, const struct kernel_param *kp)
{
	int ret = rhca_crc32_choose(value);

	if (ret == -EINVAL)
		pr_err("crc32=%s is not one of auto, 512, 256, 128, kernel\n",
		       value);
	return ret;
}

static int get_crc32(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", rhca_crc32_name());
}

static const struct kernel_param_ops crc32_ops = {
	.set = set_crc32,
	.get = get_crc32,
};
module_param_cb(crc32, &crc32_ops, NULL, 0444);
MODULE_PARM_DESC(crc32, "CRC-32: vectors of 512, 256 or 128 bits, kernel = crc32_le() (default: auto = fastest)");

static int __init rhca_init(void)
{
	int ret;

	rhca_icrc_init();
	ret = rhca_crc32_init();
	if (ret)
		return ret;
	ret = rhca_sw_init();
	if (ret)
		return ret;
	ret = rhca_port_events_init();
	if (ret)
		goto err_exit_sw;
	ret = rhca_sysfs_init();
	if (ret)
		goto err_exit_port_events;
	ret = rhca_link_init();
	if (ret)
		goto err_exit_sysfs;
	pr_info("ports speak %s; CRC-32: %s\n",
		rhca_roce_mode_name(rhca_policy.roce_mode), rhca_crc32_name());
	return 0;

err_exit_sysfs:
	rhca_sysfs_exit();
err_exit_port_events:
	rhca_port_events_exit();
err_exit_sw:
	rhca_sw_exit();
	return ret;
}

static void __exit rhca_exit(void)
{
	rhca_link_exit();
	rhca_sysfs_exit();
	rhca_port_events_exit();
	rcu_barrier();		/* paths and regions are freed in RCU callbacks */
	rhca_mcast_exit();
	rhca_sw_exit();
}

module_init(rhca_init);
module_exit(rhca_exit);

MODULE_AUTHOR("The roce-hca authors");
MODULE_DESCRIPTION("RoCE HCA on any Ethernet port");
MODULE_LICENSE("GPL");
MODULE_VERSION(RHCA_VERSION);
