/* SPDX-License-Identifier: GPL-2.0 */
/* One function for each command, by the file that holds it. */
#ifndef CONNECTX_COMMANDS_H
#define CONNECTX_COMMANDS_H

#include "command.h"

#define COMMAND_FUNCTION(name) \
	enum command_status command_##name(struct command *cmd)

/* command.c: uses the kind of object in the row */
COMMAND_FUNCTION(add_object);
COMMAND_FUNCTION(destroy_object);

/* cmd_hca.c */
COMMAND_FUNCTION(nothing);
COMMAND_FUNCTION(enable_hca);
COMMAND_FUNCTION(disable_hca);
COMMAND_FUNCTION(init_hca);
COMMAND_FUNCTION(teardown_hca);
COMMAND_FUNCTION(query_issi);
COMMAND_FUNCTION(set_issi);
COMMAND_FUNCTION(query_hca_cap);
COMMAND_FUNCTION(set_hca_cap);
COMMAND_FUNCTION(query_adapter);
COMMAND_FUNCTION(query_pages);
COMMAND_FUNCTION(manage_pages);

/* cmd_register.c */
COMMAND_FUNCTION(access_register);

/* cmd_memory.c */
COMMAND_FUNCTION(query_special_contexts);
COMMAND_FUNCTION(create_mkey);
COMMAND_FUNCTION(query_mkey);
COMMAND_FUNCTION(create_psv);

/* cmd_completion.c */
COMMAND_FUNCTION(create_eq);
COMMAND_FUNCTION(query_eq);
COMMAND_FUNCTION(create_cq);
COMMAND_FUNCTION(query_cq);
COMMAND_FUNCTION(modify_cq);

/* cmd_qp.c */
COMMAND_FUNCTION(create_qp);
COMMAND_FUNCTION(query_qp);
COMMAND_FUNCTION(modify_qp);
COMMAND_FUNCTION(qp_to_error);
COMMAND_FUNCTION(qp_to_reset);
COMMAND_FUNCTION(attach_to_mcg);
COMMAND_FUNCTION(detach_from_mcg);

/* cmd_srq.c */
COMMAND_FUNCTION(create_srq);
COMMAND_FUNCTION(query_srq);
COMMAND_FUNCTION(arm_srq);
COMMAND_FUNCTION(create_xrc_srq);
COMMAND_FUNCTION(query_xrc_srq);
COMMAND_FUNCTION(arm_xrc_srq);
COMMAND_FUNCTION(create_rmp);
COMMAND_FUNCTION(modify_rmp);
COMMAND_FUNCTION(query_rmp);

/* cmd_vport.c */
COMMAND_FUNCTION(query_vport_state);
COMMAND_FUNCTION(modify_vport_state);
COMMAND_FUNCTION(query_nic_vport_context);
COMMAND_FUNCTION(modify_nic_vport_context);
COMMAND_FUNCTION(query_hca_vport_pkey);
COMMAND_FUNCTION(set_roce_address);
COMMAND_FUNCTION(query_roce_address);

/* cmd_lag.c */
COMMAND_FUNCTION(create_lag);
COMMAND_FUNCTION(modify_lag);
COMMAND_FUNCTION(query_lag);
COMMAND_FUNCTION(destroy_lag);
COMMAND_FUNCTION(create_vport_lag);
COMMAND_FUNCTION(destroy_vport_lag);

/* cmd_counter.c */
COMMAND_FUNCTION(query_vport_counter);
COMMAND_FUNCTION(alloc_q_counter);
COMMAND_FUNCTION(query_q_counter);
COMMAND_FUNCTION(query_cong_status);
COMMAND_FUNCTION(modify_cong_status);
COMMAND_FUNCTION(query_cong_params);
COMMAND_FUNCTION(modify_cong_params);
COMMAND_FUNCTION(query_cong_statistics);

/* cmd_ethernet.c */
COMMAND_FUNCTION(create_sq);
COMMAND_FUNCTION(modify_sq);
COMMAND_FUNCTION(query_sq);
COMMAND_FUNCTION(create_rq);
COMMAND_FUNCTION(modify_rq);
COMMAND_FUNCTION(query_rq);
COMMAND_FUNCTION(create_tis);
COMMAND_FUNCTION(modify_tis);
COMMAND_FUNCTION(create_tir);
COMMAND_FUNCTION(modify_tir);
COMMAND_FUNCTION(create_rqt);
COMMAND_FUNCTION(modify_rqt);

/* cmd_flow.c */
COMMAND_FUNCTION(create_flow_table);
COMMAND_FUNCTION(modify_flow_table);
COMMAND_FUNCTION(destroy_flow_table);
COMMAND_FUNCTION(set_flow_table_root);
COMMAND_FUNCTION(create_flow_group);
COMMAND_FUNCTION(destroy_flow_group);
COMMAND_FUNCTION(set_flow_entry);
COMMAND_FUNCTION(delete_flow_entry);
COMMAND_FUNCTION(alloc_flow_counter);
COMMAND_FUNCTION(query_flow_counter);

#undef COMMAND_FUNCTION

#endif
