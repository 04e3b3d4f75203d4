// SPDX-License-Identifier: GPL-2.0
/*
 * The table of commands. A row has name, layout in mlx5_ifc.h, function, and the state of the HCA
 * it needs. For how to add a command see README.md.
 */
#include <stddef.h>
#include <string.h>

#include "command.h"
#include "commands.h"
#include "device.h"

#include "tables.inc"

#define ROW(name, layout, function, state, least)			\
		.opcode = MLX5_CMD_OP_##name,				\
		.needs = state,						\
		.in_bytes = IFC_BYTES(layout##_in),			\
		.out_bytes = least,					\
		.in_fields = layout##_in_fields,			\
		.out_fields = layout##_out_fields,			\
		.execute = command_##function

#define COMMAND_LEAST(name, layout, function, state, least)		\
	{ ROW(name, layout, function, state, least) }

#define COMMAND(name, layout, function, state)				\
	COMMAND_LEAST(name, layout, function, state, IFC_BYTES(layout##_out))

/* Most commands: named like their layout and their function, for a running HCA. */
#define RUNNING(name, same)	COMMAND(name, same, same, HCA_RUNNING)

/* Objects that are just a number, and the destruction of any object, whose number is in @field. */
#define ADDS(name, layout, object)					\
	{								\
		ROW(name, layout, add_object, HCA_RUNNING, IFC_BYTES(layout##_out)), \
		.kind = object,						\
	}

#define DESTROYS(name, layout, object, field)				\
	{								\
		ROW(name, layout, destroy_object, HCA_RUNNING, IFC_BYTES(layout##_out)), \
		.kind = object,						\
		.number_bit = IFC_BIT(layout##_in, field),		\
		.number_bits = IFC_WIDTH(layout##_in, field),		\
	}

/* The output has grown: an older driver only reads the queue pair's context. */
#define QUERY_QP_LEAST	(IFC_OFFSET(query_qp_out, qpc) + IFC_BYTES(qpc))

const struct command_row command_table[] = {
	/* Life of the HCA */
	COMMAND(ENABLE_HCA, enable_hca, enable_hca, HCA_DISABLED),
	COMMAND(DISABLE_HCA, disable_hca, disable_hca, HCA_ENABLED),
	COMMAND(INIT_HCA, init_hca, init_hca, HCA_ENABLED),
	COMMAND(TEARDOWN_HCA, teardown_hca, teardown_hca, HCA_ENABLED),
	COMMAND(QUERY_ISSI, query_issi, query_issi, HCA_ENABLED),
	COMMAND(SET_ISSI, set_issi, set_issi, HCA_ENABLED),
	COMMAND(SET_DRIVER_VERSION, set_driver_version, nothing, HCA_ENABLED),
	COMMAND(QUERY_HCA_CAP, query_hca_cap, query_hca_cap, HCA_ENABLED),
	COMMAND(SET_HCA_CAP, set_hca_cap, set_hca_cap, HCA_ENABLED),
	COMMAND(QUERY_ADAPTER, query_adapter, query_adapter, HCA_ENABLED),
	COMMAND(QUERY_PAGES, query_pages, query_pages, HCA_ENABLED),
	COMMAND(MANAGE_PAGES, manage_pages, manage_pages, HCA_ENABLED),
	COMMAND(ACCESS_REG, access_register, access_register, HCA_ENABLED),
	COMMAND(NOP, nop, nothing, HCA_ENABLED),
	/* Plain handles */
	ADDS(ALLOC_PD, alloc_pd, OBJ_PD),
	DESTROYS(DEALLOC_PD, dealloc_pd, OBJ_PD, pd),
	ADDS(ALLOC_UAR, alloc_uar, OBJ_UAR),
	DESTROYS(DEALLOC_UAR, dealloc_uar, OBJ_UAR, uar),
	ADDS(ALLOC_XRCD, alloc_xrcd, OBJ_XRCD),
	DESTROYS(DEALLOC_XRCD, dealloc_xrcd, OBJ_XRCD, xrcd),
	ADDS(ALLOC_TRANSPORT_DOMAIN, alloc_transport_domain, OBJ_TRANSPORT_DOMAIN),
	DESTROYS(DEALLOC_TRANSPORT_DOMAIN, dealloc_transport_domain, OBJ_TRANSPORT_DOMAIN,
		 transport_domain),
	RUNNING(QUERY_SPECIAL_CONTEXTS, query_special_contexts),
	/* Memory */
	RUNNING(CREATE_MKEY, create_mkey),
	RUNNING(QUERY_MKEY, query_mkey),
	DESTROYS(DESTROY_MKEY, destroy_mkey, OBJ_MKEY, mkey_index),
	RUNNING(CREATE_PSV, create_psv),
	DESTROYS(DESTROY_PSV, destroy_psv, OBJ_PSV, psvn),
	/* Event and completion queues */
	RUNNING(CREATE_EQ, create_eq),
	DESTROYS(DESTROY_EQ, destroy_eq, OBJ_EQ, eq_number),
	RUNNING(QUERY_EQ, query_eq),
	RUNNING(CREATE_CQ, create_cq),
	DESTROYS(DESTROY_CQ, destroy_cq, OBJ_CQ, cqn),
	RUNNING(QUERY_CQ, query_cq),
	RUNNING(MODIFY_CQ, modify_cq),
	/* Queue pairs */
	RUNNING(CREATE_QP, create_qp),
	DESTROYS(DESTROY_QP, destroy_qp, OBJ_QP, qpn),
	COMMAND_LEAST(QUERY_QP, query_qp, query_qp, HCA_RUNNING, QUERY_QP_LEAST),
	COMMAND(RST2INIT_QP, rst2init_qp, modify_qp, HCA_RUNNING),
	COMMAND(INIT2INIT_QP, init2init_qp, modify_qp, HCA_RUNNING),
	COMMAND(INIT2RTR_QP, init2rtr_qp, modify_qp, HCA_RUNNING),
	COMMAND(RTR2RTS_QP, rtr2rts_qp, modify_qp, HCA_RUNNING),
	COMMAND(RTS2RTS_QP, rts2rts_qp, modify_qp, HCA_RUNNING),
	COMMAND(SQERR2RTS_QP, sqerr2rts_qp, modify_qp, HCA_RUNNING),
	COMMAND(SQD_RTS_QP, sqd2rts_qp, modify_qp, HCA_RUNNING),
	COMMAND(2ERR_QP, qp_2err, qp_to_error, HCA_RUNNING),
	COMMAND(2RST_QP, qp_2rst, qp_to_reset, HCA_RUNNING),
	RUNNING(ATTACH_TO_MCG, attach_to_mcg),
	RUNNING(DETACH_FROM_MCG, detach_from_mcg),
	/* Shared receive queues */
	RUNNING(CREATE_SRQ, create_srq),
	DESTROYS(DESTROY_SRQ, destroy_srq, OBJ_SRQ, srqn),
	RUNNING(QUERY_SRQ, query_srq),
	COMMAND(ARM_RQ, arm_rq, arm_srq, HCA_RUNNING),
	RUNNING(CREATE_XRC_SRQ, create_xrc_srq),
	DESTROYS(DESTROY_XRC_SRQ, destroy_xrc_srq, OBJ_XRC_SRQ, xrc_srqn),
	RUNNING(QUERY_XRC_SRQ, query_xrc_srq),
	RUNNING(ARM_XRC_SRQ, arm_xrc_srq),
	RUNNING(CREATE_RMP, create_rmp),
	RUNNING(MODIFY_RMP, modify_rmp),
	DESTROYS(DESTROY_RMP, destroy_rmp, OBJ_RMP, rmpn),
	RUNNING(QUERY_RMP, query_rmp),
	/* Port, addresses, counters */
	RUNNING(QUERY_VPORT_STATE, query_vport_state),
	RUNNING(MODIFY_VPORT_STATE, modify_vport_state),
	RUNNING(QUERY_NIC_VPORT_CONTEXT, query_nic_vport_context),
	RUNNING(MODIFY_NIC_VPORT_CONTEXT, modify_nic_vport_context),
	RUNNING(QUERY_HCA_VPORT_PKEY, query_hca_vport_pkey),
	RUNNING(SET_ROCE_ADDRESS, set_roce_address),
	RUNNING(QUERY_ROCE_ADDRESS, query_roce_address),
	RUNNING(CREATE_LAG, create_lag),
	RUNNING(MODIFY_LAG, modify_lag),
	RUNNING(QUERY_LAG, query_lag),
	RUNNING(DESTROY_LAG, destroy_lag),
	RUNNING(CREATE_VPORT_LAG, create_vport_lag),
	RUNNING(DESTROY_VPORT_LAG, destroy_vport_lag),
	RUNNING(QUERY_VPORT_COUNTER, query_vport_counter),
	RUNNING(ALLOC_Q_COUNTER, alloc_q_counter),
	DESTROYS(DEALLOC_Q_COUNTER, dealloc_q_counter, OBJ_Q_COUNTER, counter_set_id),
	RUNNING(QUERY_Q_COUNTER, query_q_counter),
	RUNNING(QUERY_CONG_STATUS, query_cong_status),
	RUNNING(MODIFY_CONG_STATUS, modify_cong_status),
	RUNNING(QUERY_CONG_PARAMS, query_cong_params),
	RUNNING(MODIFY_CONG_PARAMS, modify_cong_params),
	RUNNING(QUERY_CONG_STATISTICS, query_cong_statistics),
	/* Ethernet queues */
	RUNNING(CREATE_SQ, create_sq),
	RUNNING(MODIFY_SQ, modify_sq),
	DESTROYS(DESTROY_SQ, destroy_sq, OBJ_SQ, sqn),
	RUNNING(QUERY_SQ, query_sq),
	RUNNING(CREATE_RQ, create_rq),
	RUNNING(MODIFY_RQ, modify_rq),
	DESTROYS(DESTROY_RQ, destroy_rq, OBJ_RQ, rqn),
	RUNNING(QUERY_RQ, query_rq),
	RUNNING(CREATE_TIS, create_tis),
	RUNNING(MODIFY_TIS, modify_tis),
	DESTROYS(DESTROY_TIS, destroy_tis, OBJ_TIS, tisn),
	RUNNING(CREATE_TIR, create_tir),
	RUNNING(MODIFY_TIR, modify_tir),
	DESTROYS(DESTROY_TIR, destroy_tir, OBJ_TIR, tirn),
	RUNNING(CREATE_RQT, create_rqt),
	RUNNING(MODIFY_RQT, modify_rqt),
	DESTROYS(DESTROY_RQT, destroy_rqt, OBJ_RQT, rqtn),
	/* Steering */
	RUNNING(CREATE_FLOW_TABLE, create_flow_table),
	RUNNING(MODIFY_FLOW_TABLE, modify_flow_table),
	RUNNING(DESTROY_FLOW_TABLE, destroy_flow_table),
	RUNNING(SET_FLOW_TABLE_ROOT, set_flow_table_root),
	RUNNING(CREATE_FLOW_GROUP, create_flow_group),
	RUNNING(DESTROY_FLOW_GROUP, destroy_flow_group),
	COMMAND(SET_FLOW_TABLE_ENTRY, set_fte, set_flow_entry, HCA_RUNNING),
	COMMAND(DELETE_FLOW_TABLE_ENTRY, delete_fte, delete_flow_entry, HCA_RUNNING),
	RUNNING(ALLOC_FLOW_COUNTER, alloc_flow_counter),
	DESTROYS(DEALLOC_FLOW_COUNTER, dealloc_flow_counter, OBJ_FLOW_COUNTER, flow_counter_id),
	RUNNING(QUERY_FLOW_COUNTER, query_flow_counter),
	COMMAND(SET_L2_TABLE_ENTRY, set_l2_table_entry, nothing, HCA_RUNNING),
	COMMAND(DELETE_L2_TABLE_ENTRY, delete_l2_table_entry, nothing, HCA_RUNNING),
};

_Static_assert(ARRAY_SIZE(command_table) <= COMMAND_ROWS_MAX, "each row is counted");

const u32 command_table_rows = ARRAY_SIZE(command_table);

/*
 * Commands for which op_mods other than 0 are defined. If it is a kind of capability they check it
 * themselves.
 */
static const struct {
	u16 opcode;
	u32 op_mods;		/* a bit for each */
} with_op_mod[] = {
	{ MLX5_CMD_OP_QUERY_HCA_CAP, ~0u },
	{ MLX5_CMD_OP_SET_HCA_CAP, ~0u },
	{ MLX5_CMD_OP_QUERY_PAGES, 1 << 1 | 1 << 2 | 1 << 3 },	/* at boot, at init, later */
	{ MLX5_CMD_OP_MANAGE_PAGES, 1 << 0 | 1 << 1 | 1 << 2 },
	{ MLX5_CMD_OP_ACCESS_REG, 1 << 0 | 1 << 1 },		/* write, read */
	{ MLX5_CMD_OP_MODIFY_CQ, 1 << 0 | 1 << 1 },		/* moderate, resize */
	{ MLX5_CMD_OP_ARM_RQ, 1 << 1 },				/* of a shared queue */
	{ MLX5_CMD_OP_ARM_XRC_SRQ, 1 << 1 },
	{ MLX5_CMD_OP_QUERY_VPORT_STATE, 1 << 0 | 1 << 1 | 1 << 2 }, /* VNIC, switch, uplink */
	{ MLX5_CMD_OP_MODIFY_VPORT_STATE, 1 << 0 | 1 << 1 | 1 << 2 },
	{ MLX5_CMD_OP_CREATE_FLOW_TABLE, 1 << 0 | 1 << 1 },	/* plain, of a LAG */
	{ MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, 1 << 0 | 1 << 1 },	/* set, reset */
	{ MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 1 << 0 | 1 << 1 },	/* create, modify */
};

bool command_knows_op_mod(u16 opcode, u16 op_mod)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(with_op_mod); i++)
		if (with_op_mod[i].opcode == opcode)
			return with_op_mod[i].op_mods == ~0u ||
			       (op_mod < 32 && with_op_mod[i].op_mods >> op_mod & 1);
	return !op_mod;
}

u16 command_opcode(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ifc_opcodes); i++)
		if (!strcmp(ifc_opcodes[i].name, name))
			return ifc_opcodes[i].opcode;
	return 0;
}

const char *command_name(u16 opcode)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ifc_opcodes); i++)
		if (ifc_opcodes[i].opcode == opcode)
			return ifc_opcodes[i].name;
	return "unknown command";
}
