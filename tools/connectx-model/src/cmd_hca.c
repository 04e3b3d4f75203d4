// SPDX-License-Identifier: GPL-2.0
/* Commands: life of the HCA, capabilities, firmware pages. */
#include <stdio.h>

#include "commands.h"
#include "device.h"

#define PAGES_BOOT		1
#define PAGES_INIT		2
#define MANAGE_CANT_GIVE	0
#define MANAGE_GIVE		1
#define MANAGE_TAKE		2
#define VENDOR_ID		0x2c9
#define BOARD_ID		"RHC0000000001"
#define CAP_CURRENT		1

enum command_status command_nothing(struct command *cmd)
{
	(void)cmd;
	return STATUS_OK;
}

enum command_status command_enable_hca(struct command *cmd)
{
	if (cmd->dev->state == HCA_DISABLED)
		cmd->dev->state = HCA_ENABLED;
	return STATUS_OK;
}

enum command_status command_disable_hca(struct command *cmd)
{
	if (cmd->dev->state != HCA_ENABLED)
		return command_fail(cmd, STATUS_BAD_SYS_STATE, SYND_HCA_STATE);
	cmd->dev->state = HCA_DISABLED;
	cmd->dev->issi = 0;
	cmd->dev->pages.count = 0;
	return STATUS_OK;
}

enum command_status command_init_hca(struct command *cmd)
{
	if (cmd->dev->state != HCA_ENABLED)
		return command_fail(cmd, STATUS_BAD_SYS_STATE, SYND_HCA_STATE);
	if (cmd->dev->pages.count < BOOT_PAGES + INIT_PAGES)
		return command_fail(cmd, STATUS_BAD_SYS_STATE, SYND_PAGES);
	cmd->dev->state = HCA_RUNNING;
	return STATUS_OK;
}

enum command_status command_teardown_hca(struct command *cmd)
{
	u32 left = resources_reset(&cmd->dev->objects);

	if (left)
		command_note(cmd, " (%u objects were left)", left);
	cmd->dev->state = HCA_ENABLED;
	memset(&cmd->dev->steering, 0, sizeof(cmd->dev->steering));
	lag_reset(cmd->dev);
	vport_reset(&cmd->dev->vport);
	return STATUS_OK;
}

enum command_status command_query_issi(struct command *cmd)
{
	SET(query_issi_out, cmd->out, current_issi, cmd->dev->issi);
	SET(query_issi_out, cmd->out, supported_issi_dw0, 3);
	return STATUS_OK;
}

enum command_status command_set_issi(struct command *cmd)
{
	if (GET(set_issi_in, cmd->in, current_issi) > 1)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_CAPABILITY);
	cmd->dev->issi = GET(set_issi_in, cmd->in, current_issi);
	return STATUS_OK;
}

enum command_status command_query_hca_cap(struct command *cmd)
{
	u32 type = cmd->op_mod >> 1;
	struct caps *caps = &cmd->dev->caps;

	command_note(cmd, " type %u", type);
	if (!caps_known(&cmd->dev->caps, type))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_OP_MOD);
	memcpy(cmd->out + 16,
	       cmd->op_mod & CAP_CURRENT ? caps->current[type] : caps->maximum[type],
	       MIN(cmd->out_bytes - 16, CAP_BYTES));
	return STATUS_OK;
}

enum command_status command_set_hca_cap(struct command *cmd)
{
	u32 type = cmd->op_mod >> 1;
	u32 bytes = MIN(command_rest(cmd, 16), CAP_BYTES);
	const u8 *wanted = cmd->in + 16;

	command_note(cmd, " type %u", type);
	if (cmd->dev->state == HCA_RUNNING)
		return command_fail(cmd, STATUS_BAD_SYS_STATE, SYND_HCA_STATE);
	if (!caps_known(&cmd->dev->caps, type))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_OP_MOD);
	if (!caps_within(&cmd->dev->caps, type, wanted, bytes))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_CAPABILITY);
	/* Of the atomic capabilities the driver may set only the byte order. */
	if (type == CAP_ATOMIC)
		SET(atomic_caps, cmd->dev->caps.current[type], atomic_req_8B_endianness_mode,
		    GET(atomic_caps, wanted, atomic_req_8B_endianness_mode));
	else
		memcpy(cmd->dev->caps.current[type], wanted, bytes);
	return STATUS_OK;
}

enum command_status command_query_adapter(struct command *cmd)
{
	u8 *adapter = AT(query_adapter_out, cmd->out, query_adapter_struct);

	SET(query_adapter_param_block, adapter, ieee_vendor_id, VENDOR_ID);
	memcpy(AT(query_adapter_param_block, adapter, vsd_contd_psid), BOARD_ID,
	       sizeof(BOARD_ID));
	return STATUS_OK;
}

enum command_status command_query_pages(struct command *cmd)
{
	u32 wanted = 0;

	if (cmd->op_mod == PAGES_BOOT)
		wanted = BOOT_PAGES;
	else if (cmd->op_mod == PAGES_INIT)
		wanted = INIT_PAGES;
	SET(query_pages_out, cmd->out, num_pages, wanted);
	return STATUS_OK;
}

static enum command_status give_pages(struct command *cmd, u32 count)
{
	const u8 *pas = AT(manage_pages_in, cmd->in, pas);
	struct pages *pages = &cmd->dev->pages;
	u32 i;

	if (command_rest(cmd, IFC_BYTES(manage_pages_in)) < count * 8 ||
	    count > MAX_PAGES - pages->count)
		return command_fail(cmd, STATUS_BAD_INPUT_LEN, SYND_PAS);
	for (i = 0; i < count; i++)
		pages->address[pages->count++] = be64_at(pas + 8 * i);
	return STATUS_OK;
}

static enum command_status take_pages(struct command *cmd, u32 count)
{
	u8 *pas = AT(manage_pages_out, cmd->out, pas);
	struct pages *pages = &cmd->dev->pages;
	u32 room = cmd->out_bytes > IFC_BYTES(manage_pages_out) ?
		   (cmd->out_bytes - IFC_BYTES(manage_pages_out)) / 8 : 0;
	u32 i;

	count = MIN(count, MIN(room, pages->count));
	for (i = 0; i < count; i++)
		put_be64(pas + 8 * i, pages->address[--pages->count]);
	SET(manage_pages_out, cmd->out, output_num_entries, count);
	return STATUS_OK;
}

enum command_status command_manage_pages(struct command *cmd)
{
	u32 count = GET(manage_pages_in, cmd->in, input_num_entries);

	command_note(cmd, " %u pages", count);
	switch (cmd->op_mod) {
	case MANAGE_CANT_GIVE:
		return STATUS_OK;
	case MANAGE_GIVE:
		return count > MAX_PAGES ? command_fail(cmd, STATUS_BAD_PARAM, SYND_PAS) :
					   give_pages(cmd, count);
	case MANAGE_TAKE:
		return take_pages(cmd, count);
	}
	return command_fail(cmd, STATUS_BAD_PARAM, SYND_OP_MOD);
}
