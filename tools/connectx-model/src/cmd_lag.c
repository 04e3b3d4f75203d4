// SPDX-License-Identifier: GPL-2.0
/* Commands: link aggregation of the two ports of an adapter. */
#include "commands.h"
#include "device.h"

#define BY_QUEUE_AFFINITY	0	/* lagc.port_select_mode, the only one supported */
#define STATE_ACTIVE		1	/* of lagc.lag_state */
#define SELECT_REMAP		1u	/* field_select of MODIFY_LAG */

/* An adapter with one port does not have these commands. */
static enum command_status check_state(struct command *cmd, bool active)
{
	const struct lag *lag = lag_of(cmd->dev);

	if (!lag)
		return command_fail(cmd, STATUS_BAD_OP, SYND_LAG);
	if (!lag_is_master(cmd->dev))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LAG);
	if (lag->active != active)
		return command_fail(cmd, STATUS_BAD_RES_STATE, SYND_LAG);
	return STATUS_OK;
}

static enum command_status set_remap(struct command *cmd, const u8 *c)
{
	u32 first = GET(lagc, c, tx_remap_affinity_1), second = GET(lagc, c, tx_remap_affinity_2);
	struct lag *lag = lag_of(cmd->dev);

	if (!first || first > LAG_PORTS || !second || second > LAG_PORTS)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LAG);
	lag->remap[0] = first;
	lag->remap[1] = second;
	command_note(cmd, " affinity 1 by port %u, 2 by port %u", first, second);
	return STATUS_OK;
}

enum command_status command_create_lag(struct command *cmd)
{
	const u8 *c = AT(create_lag_in, cmd->in, ctx);
	enum command_status status = check_state(cmd, false);

	if (status)
		return status;
	if (GET(lagc, c, port_select_mode) != BY_QUEUE_AFFINITY || GET(lagc, c, active_port) ||
	    GET(lagc, c, fdb_selection_mode))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LAG);
	if (cmd->dev->partner->state != HCA_RUNNING)
		return command_fail(cmd, STATUS_BAD_SYS_STATE, SYND_HCA_STATE);
	status = set_remap(cmd, c);
	if (!status)
		cmd->dev->lag.active = true;
	return status;
}

enum command_status command_modify_lag(struct command *cmd)
{
	enum command_status status = check_state(cmd, true);

	if (status)
		return status;
	if (GET(modify_lag_in, cmd->in, field_select) != SELECT_REMAP)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LAG);
	return set_remap(cmd, AT(modify_lag_in, cmd->in, ctx));
}

enum command_status command_query_lag(struct command *cmd)
{
	enum command_status status = check_state(cmd, true);
	const struct lag *lag = lag_of(cmd->dev);
	u8 *c = AT(query_lag_out, cmd->out, ctx);

	if (status)
		return status;
	SET(lagc, c, port_select_mode, BY_QUEUE_AFFINITY);
	SET(lagc, c, lag_state, STATE_ACTIVE);
	SET(lagc, c, tx_remap_affinity_1, lag->remap[0]);
	SET(lagc, c, tx_remap_affinity_2, lag->remap[1]);
	return STATUS_OK;
}

enum command_status command_destroy_lag(struct command *cmd)
{
	enum command_status status = check_state(cmd, true);

	if (status)
		return status;
	if (cmd->dev->lag.spreads)
		return command_fail(cmd, STATUS_RESOURCE_BUSY, SYND_BUSY);
	cmd->dev->lag.active = false;
	return STATUS_OK;
}

static enum command_status set_spreads(struct command *cmd, bool spreads)
{
	enum command_status status = check_state(cmd, true);

	if (status)
		return status;
	if (cmd->dev->lag.spreads == spreads)
		return command_fail(cmd, STATUS_BAD_RES_STATE, SYND_LAG);
	cmd->dev->lag.spreads = spreads;
	return STATUS_OK;
}

enum command_status command_create_vport_lag(struct command *cmd)
{
	return set_spreads(cmd, true);
}

enum command_status command_destroy_vport_lag(struct command *cmd)
{
	return set_spreads(cmd, false);
}
