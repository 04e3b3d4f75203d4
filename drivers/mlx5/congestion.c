// SPDX-License-Identifier: GPL-2.0
/*
 * Parameters of congestion control (DCQCN) as files of the port, ports/1/cc/. They
 * are the function's: the firmware forgets them when it restarts, not when the
 * RDMA device goes.
 */
#include <linux/mutex.h>
#include <rdma/ib_sysfs.h>

#include "command.h"
#include "congestion.h"
#include "core/port/port.h"
#include "device.h"

static DEFINE_MUTEX(modify_mutex);	/* from reading a set to writing it back */

struct cc_file {
	struct ib_port_attribute attr;
	enum rhca_mlx5_cc_param param;
};

static ssize_t show_param(struct ib_device *ibdev, u32 port_num,
			  struct ib_port_attribute *attr, char *buf)
{
	const struct cc_file *file = container_of(attr, struct cc_file, attr);
	u32 value;
	int ret;

	ret = rhca_mlx5_query_cc_param(rhca_mlx5_mdev(ibdev), file->param,
				       &value);
	return ret ?: sysfs_emit(buf, "%u\n", value);
}

static ssize_t store_param(struct ib_device *ibdev, u32 port_num,
			   struct ib_port_attribute *attr, const char *buf,
			   size_t len)
{
	const struct cc_file *file = container_of(attr, struct cc_file, attr);
	u32 value;
	int ret;

	ret = kstrtou32(buf, 0, &value);
	if (ret)
		return ret;
	mutex_lock(&modify_mutex);
	ret = rhca_mlx5_modify_cc_param(rhca_mlx5_mdev(ibdev), file->param,
					value);
	mutex_unlock(&modify_mutex);
	return ret ?: len;
}

/* The names that mlx5_ib gives them in debugfs */
#define CC_PARAMS(ROW)							\
	ROW(RHCA_MLX5_RP_CLAMP_TGT_RATE, rp_clamp_tgt_rate)		\
	ROW(RHCA_MLX5_RP_CLAMP_TGT_RATE_ATI, rp_clamp_tgt_rate_ati)	\
	ROW(RHCA_MLX5_RP_TIME_RESET, rp_time_reset)			\
	ROW(RHCA_MLX5_RP_BYTE_RESET, rp_byte_reset)			\
	ROW(RHCA_MLX5_RP_THRESHOLD, rp_threshold)			\
	ROW(RHCA_MLX5_RP_MAX_RATE, rp_max_rate)				\
	ROW(RHCA_MLX5_RP_AI_RATE, rp_ai_rate)				\
	ROW(RHCA_MLX5_RP_HAI_RATE, rp_hai_rate)				\
	ROW(RHCA_MLX5_RP_MIN_DEC_FAC, rp_min_dec_fac)			\
	ROW(RHCA_MLX5_RP_MIN_RATE, rp_min_rate)				\
	ROW(RHCA_MLX5_RP_RATE_ON_FIRST_CNP, rp_rate_to_set_on_first_cnp)	\
	ROW(RHCA_MLX5_RP_DCE_TCP_G, rp_dce_tcp_g)			\
	ROW(RHCA_MLX5_RP_DCE_TCP_RTT, rp_dce_tcp_rtt)			\
	ROW(RHCA_MLX5_RP_RATE_REDUCE_PERIOD, rp_rate_reduce_monitor_period)	\
	ROW(RHCA_MLX5_RP_INITIAL_ALPHA, rp_initial_alpha_value)		\
	ROW(RHCA_MLX5_RP_GD, rp_gd)					\
	ROW(RHCA_MLX5_NP_MIN_TIME_BETWEEN_CNPS, np_min_time_between_cnps)	\
	ROW(RHCA_MLX5_NP_CNP_DSCP, np_cnp_dscp)				\
	ROW(RHCA_MLX5_NP_CNP_PRIO_MODE, np_cnp_prio_mode)		\
	ROW(RHCA_MLX5_NP_CNP_PRIO, np_cnp_prio)

static struct cc_file files[RHCA_MLX5_NUM_CC_PARAMS] = {
#define FILE_ROW(_param, _name)						\
	[_param] = {							\
		.attr	= __ATTR(_name, 0644, show_param, store_param),	\
		.param	= (_param),					\
	},
	CC_PARAMS(FILE_ROW)
#undef FILE_ROW
};

static struct attribute *attributes[RHCA_MLX5_NUM_CC_PARAMS + 1] = {
#define ATTRIBUTE_ROW(_param, _name)					\
	[_param] = &files[_param].attr.attr,
	CC_PARAMS(ATTRIBUTE_ROW)
#undef ATTRIBUTE_ROW
};

static const struct attribute_group group = {
	.name	= "cc",
	.attrs	= attributes,
};

static const struct attribute_group *port_groups[] = {
	&rhca_port_group,
	&group,
	NULL
};

static const struct ib_device_ops verbs = {
	.port_groups	= port_groups,
};

/**
 * rhca_mlx5_congestion_add_files - Give a device's port the files
 * @ibdev: not registered yet; without them where its firmware does not let us
 */
void rhca_mlx5_congestion_add_files(struct ib_device *ibdev)
{
	const struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibdev);

	if (MLX5_CAP_GEN(mdev, cc_query_allowed) &&
	    MLX5_CAP_GEN(mdev, cc_modify_allowed))
		ib_set_device_ops(ibdev, &verbs);
}
