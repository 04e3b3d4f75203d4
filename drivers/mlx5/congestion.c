// SPDX-License-Identifier: GPL-2.0
/*
 * Parameters of congestion control (DCQCN) as files of the port, ports/1/cc/. They belong to the
 * function: the firmware resets them when it restarts, not when the RDMA device is removed. There
 * are two sets: for the side that is notified and slows down (reaction point), and for the side
 * that sees congestion and notifies (notification point).
 */
#include <linux/mutex.h>
#include <linux/string.h>
#include <rdma/ib_sysfs.h>

#include "congestion.h"
#include "command.h"
#include "core/port/port.h"
#include "device.h"

enum { PROTOCOL_rp = 1, PROTOCOL_np = 2 };	/* the sets, as numbered in commands */

static DEFINE_MUTEX(modify_mutex);	/* from reading a set to writing it back */

/* A field of a set, and its file */
struct cc_file {
	struct ib_port_attribute attr;	/* the file */
	u8 protocol;		/* the set */
	u8 select;		/* bit that selects the field for a change */
	u8 dword;		/* offset of the field in the set */
	u8 shift;		/* offset of the field in its word */
	u32 mask;		/* largest value */
};

/* @out: struct query_cong_params_out */
static int query_set(struct mlx5_core_dev *mdev, u8 protocol, u32 *out)
{
	u32 in[MLX5_ST_SZ_DW(query_cong_params_in)] = {};

	MLX5_SET(query_cong_params_in, in, opcode,
		 MLX5_CMD_OP_QUERY_CONG_PARAMS);
	MLX5_SET(query_cong_params_in, in, cong_protocol, protocol);
	return rhca_mlx5_exec_inout(mdev, query_cong_params, in, out);
}

static ssize_t show_param(struct ib_device *ibdev, u32 port_num,
			  struct ib_port_attribute *attr, char *buf)
{
	const struct cc_file *file = container_of(attr, struct cc_file, attr);
	u32 out[MLX5_ST_SZ_DW(query_cong_params_out)] = {};
	const __be32 *set = MLX5_ADDR_OF(query_cong_params_out, out,
					 congestion_parameters);
	int ret = query_set(rhca_mlx5_mdev(ibdev), file->protocol, out);

	if (ret)
		return ret;
	return sysfs_emit(buf, "%u\n", be32_to_cpu(set[file->dword]) >>
				       file->shift & file->mask);
}

/*
 * A bit can select two fields (mode and priority of CNPs): the other one is written back as read.
 * But the priority is used in mode 0 only, so setting it sets that mode.
 */
static void set_field(__be32 *set, const struct cc_file *file, u32 value)
{
	u32 dword = be32_to_cpu(set[file->dword]);

	dword &= ~(file->mask << file->shift);
	set[file->dword] = cpu_to_be32(dword | value << file->shift);
	if (!strcmp(file->attr.attr.name, "np_cnp_prio"))
		MLX5_SET(cong_control_r_roce_ecn_np, set, cnp_prio_mode, 0);
}

static int modify_set(struct mlx5_core_dev *mdev, const struct cc_file *file,
		      u32 value)
{
	u32 in[MLX5_ST_SZ_DW(modify_cong_params_in)] = {};
	u32 out[MLX5_ST_SZ_DW(query_cong_params_out)] = {};
	void *set = MLX5_ADDR_OF(modify_cong_params_in, in,
				 congestion_parameters);
	__be32 *select = MLX5_ADDR_OF(modify_cong_params_in, in, field_select);
	int ret;

	lockdep_assert_held(&modify_mutex);
	ret = query_set(mdev, file->protocol, out);
	if (ret)
		return ret;
	memcpy(set, MLX5_ADDR_OF(query_cong_params_out, out,
				 congestion_parameters),
	       MLX5_FLD_SZ_BYTES(modify_cong_params_in,
				 congestion_parameters));
	set_field(set, file, value);
	*select = cpu_to_be32(BIT(file->select));
	MLX5_SET(modify_cong_params_in, in, opcode,
		 MLX5_CMD_OP_MODIFY_CONG_PARAMS);
	MLX5_SET(modify_cong_params_in, in, cong_protocol, file->protocol);
	return rhca_mlx5_exec_in(mdev, modify_cong_params, in);
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
	if (value > file->mask)
		return -EINVAL;
	mutex_lock(&modify_mutex);
	ret = modify_set(rhca_mlx5_mdev(ibdev), file, value);
	mutex_unlock(&modify_mutex);
	return ret ?: len;
}

#define CC_FILE(_name, _select, _set, _field)				\
	&((struct cc_file) {						\
		.attr	= __ATTR(_name, 0644, show_param, store_param),	\
		.protocol = PROTOCOL_##_set,				\
		.select	= (_select),					\
		.dword	= __mlx5_dw_off(cong_control_r_roce_ecn_##_set,	\
					_field),			\
		.shift	= __mlx5_dw_bit_off(cong_control_r_roce_ecn_##_set, \
					    _field),			\
		.mask	= __mlx5_mask(cong_control_r_roce_ecn_##_set, _field), \
	}).attr.attr

/* The names of mlx5_ib in debugfs; bit, set and field */
static struct attribute *attributes[] = {
	CC_FILE(rp_clamp_tgt_rate, 1, rp, clamp_tgt_rate),
	CC_FILE(rp_clamp_tgt_rate_ati, 2, rp, clamp_tgt_rate_after_time_inc),
	CC_FILE(rp_time_reset, 3, rp, rpg_time_reset),
	CC_FILE(rp_byte_reset, 4, rp, rpg_byte_reset),
	CC_FILE(rp_threshold, 5, rp, rpg_threshold),
	CC_FILE(rp_max_rate, 6, rp, rpg_max_rate),
	CC_FILE(rp_ai_rate, 7, rp, rpg_ai_rate),
	CC_FILE(rp_hai_rate, 8, rp, rpg_hai_rate),
	CC_FILE(rp_min_dec_fac, 9, rp, rpg_min_dec_fac),
	CC_FILE(rp_min_rate, 10, rp, rpg_min_rate),
	CC_FILE(rp_rate_to_set_on_first_cnp, 11, rp, rate_to_set_on_first_cnp),
	CC_FILE(rp_dce_tcp_g, 12, rp, dce_tcp_g),
	CC_FILE(rp_dce_tcp_rtt, 13, rp, dce_tcp_rtt),
	CC_FILE(rp_rate_reduce_monitor_period, 14, rp, rate_reduce_monitor_period),
	CC_FILE(rp_initial_alpha_value, 15, rp, initial_alpha_value),
	CC_FILE(rp_gd, 16, rp, rpg_gd),
	CC_FILE(np_min_time_between_cnps, 2, np, min_time_between_cnps),
	CC_FILE(np_cnp_dscp, 3, np, cnp_dscp),
	CC_FILE(np_cnp_prio_mode, 4, np, cnp_prio_mode),
	CC_FILE(np_cnp_prio, 4, np, cnp_802p_prio),
	NULL
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

/* Add the files to the port of a device that is not registered yet, if the firmware allows */
void rhca_mlx5_congestion_add_files(struct ib_device *ibdev)
{
	const struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibdev);

	if (MLX5_CAP_GEN(mdev, cc_query_allowed) &&
	    MLX5_CAP_GEN(mdev, cc_modify_allowed))
		ib_set_device_ops(ibdev, &verbs);
}
