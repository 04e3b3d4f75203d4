// SPDX-License-Identifier: GPL-2.0
/*
 * Commands for the parameters of congestion control (DCQCN). The firmware has two
 * sets of them: for the side that is told of congestion and slows down (reaction
 * point), and for the side that sees it and tells (notification point).
 */
#include <linux/mlx5/device.h>
#include <linux/slab.h>

#include "command.h"

enum {
	REACTION_POINT		= 1,
	NOTIFICATION_POINT	= 2,
};

/* One field of a set: where it is, and the bit that selects it for a change */
static const struct layout {
	u8 protocol;
	u8 select;
	u8 dword;
	u8 shift;
	u32 mask;
} layouts[RHCA_MLX5_NUM_CC_PARAMS] = {
#define AT(_protocol, _select, _type, _field) {				\
	.protocol	= (_protocol),					\
	.select		= (_select),					\
	.dword		= __mlx5_dw_off(cong_control_r_roce_ecn_##_type, \
					_field),			\
	.shift		= __mlx5_dw_bit_off(cong_control_r_roce_ecn_##_type, \
					    _field),			\
	.mask		= __mlx5_mask(cong_control_r_roce_ecn_##_type,	\
				      _field),				\
}
#define RP(_select, _field)	AT(REACTION_POINT, _select, rp, _field)
#define NP(_select, _field)	AT(NOTIFICATION_POINT, _select, np, _field)
	[RHCA_MLX5_RP_CLAMP_TGT_RATE]		= RP(1, clamp_tgt_rate),
	[RHCA_MLX5_RP_CLAMP_TGT_RATE_ATI]	=
		RP(2, clamp_tgt_rate_after_time_inc),
	[RHCA_MLX5_RP_TIME_RESET]		= RP(3, rpg_time_reset),
	[RHCA_MLX5_RP_BYTE_RESET]		= RP(4, rpg_byte_reset),
	[RHCA_MLX5_RP_THRESHOLD]		= RP(5, rpg_threshold),
	[RHCA_MLX5_RP_MAX_RATE]			= RP(6, rpg_max_rate),
	[RHCA_MLX5_RP_AI_RATE]			= RP(7, rpg_ai_rate),
	[RHCA_MLX5_RP_HAI_RATE]			= RP(8, rpg_hai_rate),
	[RHCA_MLX5_RP_MIN_DEC_FAC]		= RP(9, rpg_min_dec_fac),
	[RHCA_MLX5_RP_MIN_RATE]			= RP(10, rpg_min_rate),
	[RHCA_MLX5_RP_RATE_ON_FIRST_CNP]	=
		RP(11, rate_to_set_on_first_cnp),
	[RHCA_MLX5_RP_DCE_TCP_G]		= RP(12, dce_tcp_g),
	[RHCA_MLX5_RP_DCE_TCP_RTT]		= RP(13, dce_tcp_rtt),
	[RHCA_MLX5_RP_RATE_REDUCE_PERIOD]	=
		RP(14, rate_reduce_monitor_period),
	[RHCA_MLX5_RP_INITIAL_ALPHA]		= RP(15, initial_alpha_value),
	[RHCA_MLX5_RP_GD]			= RP(16, rpg_gd),
	[RHCA_MLX5_NP_MIN_TIME_BETWEEN_CNPS]	= NP(2, min_time_between_cnps),
	[RHCA_MLX5_NP_CNP_DSCP]			= NP(3, cnp_dscp),
	[RHCA_MLX5_NP_CNP_PRIO_MODE]		= NP(4, cnp_prio_mode),
	[RHCA_MLX5_NP_CNP_PRIO]			= NP(4, cnp_802p_prio),
#undef NP
#undef RP
#undef AT
};

static int query_set(struct mlx5_core_dev *mdev, u8 protocol, void *out)
{
	u32 in[MLX5_ST_SZ_DW(query_cong_params_in)] = {};

	MLX5_SET(query_cong_params_in, in, opcode,
		 MLX5_CMD_OP_QUERY_CONG_PARAMS);
	MLX5_SET(query_cong_params_in, in, cong_protocol, protocol);
	return mlx5_cmd_exec(mdev, in, sizeof(in), out,
			     MLX5_ST_SZ_BYTES(query_cong_params_out));
}

static u32 get_field(const __be32 *set, const struct layout *layout)
{
	return be32_to_cpu(set[layout->dword]) >> layout->shift & layout->mask;
}

static void set_field(__be32 *set, const struct layout *layout, u32 value)
{
	u32 dword = be32_to_cpu(set[layout->dword]);

	dword &= ~(layout->mask << layout->shift);
	set[layout->dword] = cpu_to_be32(dword | value << layout->shift);
}

/* Read a parameter of congestion control. @value: set, in the firmware's unit. */
int rhca_mlx5_query_cc_param(struct mlx5_core_dev *mdev,
			     enum rhca_mlx5_cc_param param, u32 *value)
{
	const struct layout *layout = &layouts[param];
	void *out;
	int ret;

	out = kzalloc(MLX5_ST_SZ_BYTES(query_cong_params_out), GFP_KERNEL);
	if (!out)
		return -ENOMEM;
	ret = query_set(mdev, layout->protocol, out);
	if (!ret)
		*value = get_field(MLX5_ADDR_OF(query_cong_params_out, out,
						congestion_parameters), layout);
	kfree(out);
	return ret;
}

/*
 * A bit can select two fields (mode and priority of CNPs): what the other one has is
 * written back. But a priority counts in mode 0 alone, so who sets it wants that.
 */
static int modify_set(struct mlx5_core_dev *mdev,
		      enum rhca_mlx5_cc_param param, u32 value, void *in,
		      void *out)
{
	const struct layout *layout = &layouts[param];
	u32 answer[MLX5_ST_SZ_DW(modify_cong_params_out)] = {};
	void *set = MLX5_ADDR_OF(modify_cong_params_in, in,
				 congestion_parameters);
	__be32 *select = MLX5_ADDR_OF(modify_cong_params_in, in, field_select);
	int ret;

	ret = query_set(mdev, layout->protocol, out);
	if (ret)
		return ret;
	memcpy(set, MLX5_ADDR_OF(query_cong_params_out, out,
				 congestion_parameters),
	       MLX5_FLD_SZ_BYTES(modify_cong_params_in,
				 congestion_parameters));
	set_field(set, layout, value);
	if (param == RHCA_MLX5_NP_CNP_PRIO)
		set_field(set, &layouts[RHCA_MLX5_NP_CNP_PRIO_MODE], 0);
	*select = cpu_to_be32(BIT(layout->select));
	MLX5_SET(modify_cong_params_in, in, opcode,
		 MLX5_CMD_OP_MODIFY_CONG_PARAMS);
	MLX5_SET(modify_cong_params_in, in, cong_protocol, layout->protocol);
	return mlx5_cmd_exec(mdev, in, MLX5_ST_SZ_BYTES(modify_cong_params_in),
			     answer, sizeof(answer));
}

/*
 * Change a parameter of congestion control. @value: in the firmware's unit; -EINVAL where the
 * field is too small for it, or the firmware does not want it. Not twice at a time: it reads
 * what it writes back.
 */
int rhca_mlx5_modify_cc_param(struct mlx5_core_dev *mdev,
			      enum rhca_mlx5_cc_param param, u32 value)
{
	const struct layout *layout = &layouts[param];
	void *in, *out;
	int ret = -ENOMEM;

	if (value > layout->mask)
		return -EINVAL;
	in = kzalloc(MLX5_ST_SZ_BYTES(modify_cong_params_in), GFP_KERNEL);
	out = kzalloc(MLX5_ST_SZ_BYTES(query_cong_params_out), GFP_KERNEL);
	if (in && out)
		ret = modify_set(mdev, param, value, in, out);
	kfree(out);
	kfree(in);
	return ret;
}
