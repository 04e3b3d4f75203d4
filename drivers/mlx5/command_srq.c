// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware commands for shared receive queues. A basic SRQ is a receive memory pool, which queue
 * pairs refer to; one of an XRC domain is another object, which senders refer to.
 */
#include <linux/slab.h>

#include "buffer.h"
#include "command.h"

#define LOG_ENTRY_UNIT	4	/* an XRC queue has its entries' size in units of 16 bytes */

static void set_wq(void *wq, const struct rhca_mlx5_srq_spec *spec)
{
	MLX5_SET(wq, wq, wq_type, MLX5_WQ_TYPE_LINKED_LIST);
	MLX5_SET(wq, wq, log_wq_pg_sz, rhca_mlx5_buffer_log_pages(spec->buffer));
	MLX5_SET(wq, wq, page_offset, spec->buffer->page_offset);
	MLX5_SET64(wq, wq, dbr_addr, spec->buffer->record);
	MLX5_SET(wq, wq, log_wq_sz, spec->log_entries);
	MLX5_SET(wq, wq, log_wq_stride, spec->log_entry_bytes);
	MLX5_SET(wq, wq, pd, spec->pd);
}

static void set_rmp(void *in, const struct rhca_mlx5_srq_spec *spec)
{
	void *rmpc = MLX5_ADDR_OF(create_rmp_in, in, ctx);

	MLX5_SET(create_rmp_in, in, opcode, MLX5_CMD_OP_CREATE_RMP);
	MLX5_SET(rmpc, rmpc, state, MLX5_RMPC_STATE_RDY);
	set_wq(MLX5_ADDR_OF(rmpc, rmpc, wq), spec);
	rhca_mlx5_buffer_addresses(spec->buffer,
				   MLX5_ADDR_OF(rmpc, rmpc, wq.pas));
}

static void set_xrc_srq(void *in, const struct rhca_mlx5_srq_spec *spec)
{
	void *srqc = MLX5_ADDR_OF(create_xrc_srq_in, in, xrc_srq_context_entry);
	u64 record = spec->buffer->record;

	MLX5_SET(create_xrc_srq_in, in, opcode, MLX5_CMD_OP_CREATE_XRC_SRQ);
	MLX5_SET(xrc_srqc, srqc, log_xrc_srq_size, spec->log_entries);
	MLX5_SET(xrc_srqc, srqc, log_rq_stride,
		 spec->log_entry_bytes - LOG_ENTRY_UNIT);
	MLX5_SET(xrc_srqc, srqc, log_page_size,
		 rhca_mlx5_buffer_log_pages(spec->buffer));
	MLX5_SET(xrc_srqc, srqc, page_offset, spec->buffer->page_offset);
	MLX5_SET(xrc_srqc, srqc, db_record_addr_h, upper_32_bits(record));
	MLX5_SET(xrc_srqc, srqc, db_record_addr_l, lower_32_bits(record) >> 2);
	MLX5_SET(xrc_srqc, srqc, pd, spec->pd);
	MLX5_SET(xrc_srqc, srqc, xrcd, spec->xrcd);
	MLX5_SET(xrc_srqc, srqc, cqn, spec->cq);
	MLX5_SET(xrc_srqc, srqc, user_index, spec->user_index);
	rhca_mlx5_buffer_addresses(spec->buffer,
				   MLX5_ADDR_OF(create_xrc_srq_in, in, pas));
}

int rhca_mlx5_create_hw_srq(struct mlx5_core_dev *mdev,
			    const struct rhca_mlx5_srq_spec *spec, u32 *number)
{
	size_t bytes = rhca_mlx5_buffer_list_bytes(spec->buffer) +
		       (spec->is_xrc ? MLX5_ST_SZ_BYTES(create_xrc_srq_in) :
				       MLX5_ST_SZ_BYTES(create_rmp_in));
	u32 out[MLX5_ST_SZ_DW(create_rmp_out)] = {};
	void *in;
	int ret;

	in = kvzalloc(bytes, GFP_KERNEL);
	if (!in)
		return -ENOMEM;
	if (spec->is_xrc)
		set_xrc_srq(in, spec);
	else
		set_rmp(in, spec);
	ret = rhca_mlx5_exec(mdev, in, bytes, out, sizeof(out));
	kvfree(in);
	if (!ret)	/* at the same place in both answers */
		*number = MLX5_GET(create_rmp_out, out, rmpn);
	return ret;
}

static int arm_rmp(struct mlx5_core_dev *mdev, u32 number, u16 limit)
{
	u32 in[MLX5_ST_SZ_DW(modify_rmp_in)] = {};
	void *rmpc = MLX5_ADDR_OF(modify_rmp_in, in, ctx);

	MLX5_SET(modify_rmp_in, in, opcode, MLX5_CMD_OP_MODIFY_RMP);
	MLX5_SET(modify_rmp_in, in, rmp_state, MLX5_RMPC_STATE_RDY);
	MLX5_SET(modify_rmp_in, in, rmpn, number);
	MLX5_SET(modify_rmp_in, in, bitmask.lwm, 1);
	MLX5_SET(rmpc, rmpc, state, MLX5_RMPC_STATE_RDY);
	MLX5_SET(rmpc, rmpc, wq.lwm, limit);
	return rhca_mlx5_exec_in(mdev, modify_rmp, in);
}

static int arm_xrc_srq(struct mlx5_core_dev *mdev, u32 number, u16 limit)
{
	u32 in[MLX5_ST_SZ_DW(arm_xrc_srq_in)] = {};

	MLX5_SET(arm_xrc_srq_in, in, opcode, MLX5_CMD_OP_ARM_XRC_SRQ);
	MLX5_SET(arm_xrc_srq_in, in, op_mod,
		 MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ);
	MLX5_SET(arm_xrc_srq_in, in, xrc_srqn, number);
	MLX5_SET(arm_xrc_srq_in, in, lwm, limit);
	return rhca_mlx5_exec_in(mdev, arm_xrc_srq, in);
}

/* Raise an event once when fewer than @limit receives are left */
int rhca_mlx5_arm_hw_srq(struct mlx5_core_dev *mdev, bool is_xrc, u32 number,
			 u16 limit)
{
	return is_xrc ? arm_xrc_srq(mdev, number, limit) :
			arm_rmp(mdev, number, limit);
}

int rhca_mlx5_query_hw_srq(struct mlx5_core_dev *mdev, bool is_xrc, u32 number,
			   u16 *limit)
{
	u32 xrc_srq[MLX5_ST_SZ_DW(query_xrc_srq_out)] = {};
	u32 rmp[MLX5_ST_SZ_DW(query_rmp_out)] = {};
	u32 in[MLX5_ST_SZ_DW(query_rmp_in)] = {};
	int ret;

	MLX5_SET(query_rmp_in, in, opcode, is_xrc ? MLX5_CMD_OP_QUERY_XRC_SRQ :
						    MLX5_CMD_OP_QUERY_RMP);
	MLX5_SET(query_rmp_in, in, rmpn, number);
	ret = rhca_mlx5_exec(mdev, in, sizeof(in), is_xrc ? xrc_srq : rmp,
			     is_xrc ? sizeof(xrc_srq) : sizeof(rmp));
	if (!ret)
		*limit = is_xrc ? MLX5_GET(query_xrc_srq_out, xrc_srq,
					   xrc_srq_context_entry.lwm) :
				  MLX5_GET(query_rmp_out, rmp,
					   rmp_context.wq.lwm);
	return ret;
}

int rhca_mlx5_destroy_hw_srq(struct mlx5_core_dev *mdev, bool is_xrc,
			     u32 number)
{
	return rhca_mlx5_command_on(mdev, is_xrc ? MLX5_CMD_OP_DESTROY_XRC_SRQ :
						   MLX5_CMD_OP_DESTROY_RMP,
				    number);
}
