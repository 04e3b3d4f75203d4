// SPDX-License-Identifier: GPL-2.0
/* Firmware commands for memory keys, completion queues, and any object with a number. */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "buffer.h"
#include "command.h"
#include "key_access.h"

#define ANY_QP		0xffffff
#define OCTWORDS_IN_GROUP 4
#define GIVE_BACK_TRIES	5
#define GIVE_BACK_MS	20

/* As mlx5_cmd_exec(), traced */
int rhca_mlx5_exec(struct mlx5_core_dev *mdev, void *in, int in_bytes, void *out,
		   int out_bytes)
{
	ktime_t began = trace_rhca_mlx5_command_enabled() ? ktime_get() : 0;
	int ret = mlx5_cmd_exec(mdev, in, in_bytes, out, out_bytes);

	/* Opcode, status and syndrome are at the same place in all commands and answers */
	if (began)
		trace_rhca_mlx5_command(dev_name(mdev->device), MLX5_GET(nop_in, in, opcode),
					MLX5_GET(nop_out, out, status),
					MLX5_GET(nop_out, out, syndrome),
					ktime_us_delta(ktime_get(), began), ret);
	return ret;
}

/*
 * As mlx5_cmd_exec(), whose -EBUSY has two meanings: the firmware reports that a resource is in
 * use, with a status in the answer; or no slot for the command became free for a minute. Turn the
 * latter, which the firmware has not seen, into a timeout (-ECANCELED).
 */
static int exec(struct mlx5_core_dev *mdev, void *in, int in_bytes, void *out,
		int out_bytes)
{
	int ret;

	MLX5_SET(nop_out, out, status, MLX5_CMD_STAT_OK);
	ret = rhca_mlx5_exec(mdev, in, in_bytes, out, out_bytes);
	if (ret == -EBUSY && MLX5_GET(nop_out, out, status) == MLX5_CMD_STAT_OK)
		ret = -ECANCELED;
	return ret;
}

/* All have the object's number at the same place */
#define NUMBERED(layout, number)					\
	static_assert(MLX5_ST_SZ_BYTES(layout) == MLX5_ST_SZ_BYTES(dealloc_uar_in) && \
		      __mlx5_dw_off(layout, number) == __mlx5_dw_off(dealloc_uar_in, uar) && \
		      !__mlx5_dw_bit_off(layout, number))
NUMBERED(dealloc_uar_in, uar);
NUMBERED(dealloc_xrcd_in, xrcd);
NUMBERED(dealloc_q_counter_in, counter_set_id);
NUMBERED(destroy_mkey_in, mkey_index);
NUMBERED(destroy_qp_in, qpn);
NUMBERED(qp_2rst_in, qpn);
NUMBERED(qp_2err_in, qpn);
NUMBERED(destroy_rmp_in, rmpn);
NUMBERED(destroy_xrc_srq_in, xrc_srqn);
NUMBERED(create_rmp_out, rmpn);
NUMBERED(create_xrc_srq_out, xrc_srqn);
NUMBERED(query_rmp_in, rmpn);
NUMBERED(query_xrc_srq_in, xrc_srqn);
NUMBERED(alloc_uar_out, uar);
NUMBERED(alloc_xrcd_out, xrcd);
NUMBERED(alloc_q_counter_out, counter_set_id);

/* Execute a command that creates an object without attributes. @number: set to the object's. */
int rhca_mlx5_alloc_number(struct mlx5_core_dev *mdev, u16 opcode, u32 *number)
{
	u32 out[MLX5_ST_SZ_DW(alloc_uar_out)] = {};
	u32 in[MLX5_ST_SZ_DW(alloc_uar_in)] = {};
	int ret;

	MLX5_SET(alloc_uar_in, in, opcode, opcode);
	ret = rhca_mlx5_exec_inout(mdev, alloc_uar, in, out);
	if (!ret)
		*number = MLX5_GET(alloc_uar_out, out, uar);
	return ret;
}

/* Execute a command that has only an object's number, and no answer but its status. */
int rhca_mlx5_command_on(struct mlx5_core_dev *mdev, u16 opcode, u32 number)
{
	u32 in[MLX5_ST_SZ_DW(dealloc_uar_in)] = {};

	MLX5_SET(dealloc_uar_in, in, opcode, opcode);
	MLX5_SET(dealloc_uar_in, in, uar, number);
	return rhca_mlx5_exec_in(mdev, dealloc_uar, in);
}

/*
 * As rhca_mlx5_command_on(), to destroy an object where the caller does not retry. Since an error
 * may be temporary, try several times, but not after a timeout: the next command would take a
 * minute, too. An object that remains is lost until the function is reset; mlx5_core has logged
 * why. May sleep, for up to GIVE_BACK_TRIES times GIVE_BACK_MS besides the commands. Returns 0, or
 * the error of the last try, when the adapter may still use the object.
 */
int rhca_mlx5_give_back(struct mlx5_core_dev *mdev, u16 opcode, u32 number)
{
	u32 out[MLX5_ST_SZ_DW(dealloc_uar_out)] = {};
	u32 in[MLX5_ST_SZ_DW(dealloc_uar_in)] = {};
	int ret, tries = GIVE_BACK_TRIES;

	MLX5_SET(dealloc_uar_in, in, opcode, opcode);
	MLX5_SET(dealloc_uar_in, in, uar, number);
	while ((ret = exec(mdev, in, sizeof(in), out, sizeof(out))) &&
	       !rhca_mlx5_is_no_answer(ret) && --tries)
		msleep(GIVE_BACK_MS);
	return ret;
}

/* Destroy a memory key that has no other user, as rhca_mlx5_give_back(). */
int rhca_mlx5_give_key_back(struct mlx5_core_dev *mdev, u32 key)
{
	return rhca_mlx5_give_back(mdev, MLX5_CMD_OP_DESTROY_MKEY,
				   mlx5_mkey_to_idx(key));
}

/*
 * An octword holds two page addresses or one piece; octwords are allocated in groups. A window
 * needs one, and gets a group.
 */
static u32 octwords_of(const struct rhca_mlx5_key_spec *spec)
{
	if (spec->is_window)
		return OCTWORDS_IN_GROUP;
	return ALIGN(spec->has_pieces ? spec->num_pages :
					DIV_ROUND_UP(spec->num_pages, 2),
		     OCTWORDS_IN_GROUP);
}

static u8 access_mode(const struct rhca_mlx5_key_spec *spec)
{
	if (spec->is_window || spec->has_pieces)
		return MLX5_MKC_ACCESS_MODE_KLMS;
	return spec->unbounded ? MLX5_MKC_ACCESS_MODE_PA :
				 MLX5_MKC_ACCESS_MODE_MTT;
}

static void set_key(struct mlx5_core_dev *mdev, void *mkc,
		    const struct rhca_mlx5_key_spec *spec)
{
	MLX5_SET(mkc, mkc, access_mode_1_0, access_mode(spec));
	rhca_mlx5_set_key_access(mdev, mkc, spec->access);
	MLX5_SET(mkc, mkc, free, spec->by_requests);
	MLX5_SET(mkc, mkc, umr_en, !spec->unbounded);
	MLX5_SET(mkc, mkc, en_rinval, spec->remote_invalidate);
	MLX5_SET(mkc, mkc, ma_translation_mode,
		 spec->translated && MLX5_CAP_GEN(mdev, ats));
	MLX5_SET(mkc, mkc, qpn, ANY_QP);
	MLX5_SET(mkc, mkc, pd, spec->pd);
	MLX5_SET(mkc, mkc, length64, spec->unbounded);
	MLX5_SET64(mkc, mkc, start_addr, spec->start);
	MLX5_SET64(mkc, mkc, len, spec->bytes);
	MLX5_SET(mkc, mkc, log_page_size, spec->page_shift);
	MLX5_SET(mkc, mkc, translations_octword_size, octwords_of(spec));
}

/* List the key's pages, with rights in the addresses if the adapter supports that. */
static void list_pages(const struct mlx5_core_dev *mdev, void *in,
		       const struct rhca_mlx5_key_spec *spec)
{
	__be64 *list = MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt);
	bool with_rights = MLX5_CAP_GEN(mdev, pg);
	u64 rights = with_rights ? RHCA_MLX5_PAGE_RIGHTS : 0;
	struct ib_block_iter it;

	MLX5_SET(create_mkey_in, in, pg_access, with_rights);
	MLX5_SET(create_mkey_in, in, translations_octword_actual_size,
		 octwords_of(spec));
	rdma_umem_for_each_dma_block(spec->umem, &it, BIT(spec->page_shift)) {
		*list = cpu_to_be64(rdma_block_iter_dma_address(&it) | rights);
		list++;
	}
}

int rhca_mlx5_create_key(struct mlx5_core_dev *mdev,
			 const struct rhca_mlx5_key_spec *spec, u8 variant,
			 u32 *key)
{
	size_t bytes = MLX5_ST_SZ_BYTES(create_mkey_in);
	u32 out[MLX5_ST_SZ_DW(create_mkey_out)] = {};
	void *mkc;
	u32 *in;
	int ret;

	*key = 0;
	if (spec->umem)
		bytes += (size_t)octwords_of(spec) * MLX5_OCTWORD;
	/* A command's length is an int */
	in = bytes > INT_MAX ? NULL : kvzalloc(bytes, GFP_KERNEL);
	if (!in)
		return -ENOMEM;
	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	set_key(mdev, mkc, spec);
	MLX5_SET(mkc, mkc, mkey_7_0, variant);
	if (spec->umem)
		list_pages(mdev, in, spec);
	ret = exec(mdev, in, bytes, out, sizeof(out));
	if (!ret)
		*key = mlx5_idx_to_mkey(MLX5_GET(create_mkey_out, out,
						 mkey_index)) | variant;
	kvfree(in);
	return ret;
}

static void set_cq_entries(void *cqc, const struct rhca_mlx5_cq_spec *spec)
{
	MLX5_SET(cqc, cqc, log_page_size,
		 rhca_mlx5_buffer_log_pages(spec->buffer));
	MLX5_SET(cqc, cqc, page_offset, spec->buffer->page_offset);
	MLX5_SET(cqc, cqc, cqe_sz, cqe_sz_to_mlx_sz(spec->cqe_bytes, 0));
	MLX5_SET(cqc, cqc, log_cq_size, spec->log_entries);
}

int rhca_mlx5_create_hw_cq(struct mlx5_core_dev *mdev,
			   const struct rhca_mlx5_cq_spec *spec,
			   struct mlx5_core_cq *cq)
{
	size_t bytes = MLX5_ST_SZ_BYTES(create_cq_in) +
		       rhca_mlx5_buffer_list_bytes(spec->buffer);
	u32 out[MLX5_ST_SZ_DW(create_cq_out)] = {};
	void *cqc;
	u32 *in;
	int ret;

	in = kvzalloc(bytes, GFP_KERNEL);
	if (!in)
		return -ENOMEM;
	rhca_mlx5_buffer_addresses(spec->buffer,
				   MLX5_ADDR_OF(create_cq_in, in, pas));
	cqc = MLX5_ADDR_OF(create_cq_in, in, cq_context);
	set_cq_entries(cqc, spec);
	MLX5_SET64(cqc, cqc, dbr_addr, spec->buffer->record);
	MLX5_SET(cqc, cqc, uar_page, spec->uar);
	MLX5_SET(cqc, cqc, c_eqn_or_apu_element, spec->eqn);
	MLX5_SET(cqc, cqc, oi, spec->ignore_overrun);
	ret = mlx5_core_create_cq(mdev, cq, in, bytes, out, sizeof(out));
	kvfree(in);
	return ret;
}

/*
 * Replace the entries of a completion queue. @spec: memory, size and number of the new ones; the
 * rest is ignored.
 */
int rhca_mlx5_resize_hw_cq(struct mlx5_core_dev *mdev,
			   const struct rhca_mlx5_cq_spec *spec,
			   struct mlx5_core_cq *cq)
{
	size_t bytes = MLX5_ST_SZ_BYTES(modify_cq_in) +
		       rhca_mlx5_buffer_list_bytes(spec->buffer);
	u32 *in;
	int ret;

	in = kvzalloc(bytes, GFP_KERNEL);
	if (!in)
		return -ENOMEM;
	MLX5_SET(modify_cq_in, in, op_mod, MLX5_CQ_OPMOD_RESIZE);
	MLX5_SET(modify_cq_in, in, cqn, cq->cqn);
	MLX5_SET(modify_cq_in, in,
		 modify_field_select_resize_field_select.resize_field_select.resize_field_select,
		 MLX5_MODIFY_CQ_MASK_LOG_SIZE | MLX5_MODIFY_CQ_MASK_PG_OFFSET |
		 MLX5_MODIFY_CQ_MASK_PG_SIZE);
	set_cq_entries(MLX5_ADDR_OF(modify_cq_in, in, cq_context), spec);
	rhca_mlx5_buffer_addresses(spec->buffer,
				   MLX5_ADDR_OF(modify_cq_in, in, pas));
	ret = mlx5_core_modify_cq(mdev, cq, in, bytes);
	kvfree(in);
	return ret;
}
