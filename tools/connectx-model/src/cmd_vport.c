// SPDX-License-Identifier: GPL-2.0
/* Commands: vport state and context, the RoCE address table. */
#include "commands.h"
#include "device.h"
#include "eq.h"

#define VPORT_UP		1u
#define DEFAULT_PKEY		0xffffu
#define L3_IPV4			0u
#define ENTRY_BYTES		8u

enum command_status command_query_vport_state(struct command *cmd)
{
	struct device *dev = cmd->dev;

	SET(query_vport_state_out, cmd->out, admin_state, dev->vport.admin_state);
	SET(query_vport_state_out, cmd->out, state, port_is_up(&dev->port) ? VPORT_UP : 0);
	return STATUS_OK;
}

enum command_status command_modify_vport_state(struct command *cmd)
{
	cmd->dev->vport.admin_state = GET(modify_vport_state_in, cmd->in, admin_state);
	return STATUS_OK;
}

enum command_status command_query_nic_vport_context(struct command *cmd)
{
	u32 type = GET(query_nic_vport_context_in, cmd->in, allowed_list_type);
	const struct vport_list *list;
	u8 *c = cmd->out + 16;
	u32 room, count;

	if (type >= VPORT_LISTS || cmd->out_bytes < 16 + IFC_BYTES(nic_vport_context))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_VPORT);
	memcpy(c, cmd->dev->vport.context, IFC_BYTES(nic_vport_context));
	list = &cmd->dev->vport.list[type];
	room = (cmd->out_bytes - 16 - IFC_BYTES(nic_vport_context)) / ENTRY_BYTES;
	count = MIN(room, list->count);
	SET(nic_vport_context, c, allowed_list_type, type);
	SET(nic_vport_context, c, allowed_list_size, list->count);
	memcpy(c + IFC_BYTES(nic_vport_context), list->entry, count * ENTRY_BYTES);
	return STATUS_OK;
}

static enum command_status set_list(struct command *cmd, const u8 *c)
{
	u32 type = GET(nic_vport_context, c, allowed_list_type);
	u32 count = GET(nic_vport_context, c, allowed_list_size);
	const u8 *entries = c + IFC_BYTES(nic_vport_context);
	struct vport_list *list;

	if (type >= VPORT_LISTS || count > VPORT_LIST ||
	    command_rest(cmd, entries - cmd->in) < count * ENTRY_BYTES)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_VPORT);
	list = &cmd->dev->vport.list[type];
	list->count = count;
	memcpy(list->entry, entries, count * ENTRY_BYTES);
	command_note(cmd, " list %u: %u entries", type, count);
	return STATUS_OK;
}

/* A bit of the field select, and the field that it selects. */
#define SELECT(select, field)								\
	do {										\
		if (GET(modify_nic_vport_context_in, cmd->in, field_select.select))	\
			SET(nic_vport_context, own, field,				\
			    GET(nic_vport_context, c, field));				\
	} while (0)

enum command_status command_modify_nic_vport_context(struct command *cmd)
{
	const u8 *c = AT(modify_nic_vport_context_in, cmd->in, nic_vport_context);
	u8 *own = cmd->dev->vport.context;

	SELECT(roce_en, roce_en);
	SELECT(mtu, mtu);
	SELECT(disable_uc_local_lb, disable_uc_local_lb);
	SELECT(disable_mc_local_lb, disable_mc_local_lb);
	SELECT(node_guid, node_guid);
	SELECT(port_guid, port_guid);
	SELECT(min_inline, min_wqe_inline_mode);
	SELECT(promisc, promisc_uc);
	SELECT(promisc, promisc_mc);
	SELECT(promisc, promisc_all);
	SELECT(permanent_address, permanent_address.mac_addr_47_32);
	SELECT(permanent_address, permanent_address.mac_addr_31_0);
	if (GET(modify_nic_vport_context_in, cmd->in, field_select.addresses_list))
		return set_list(cmd, c);
	return STATUS_OK;
}

enum command_status command_query_hca_vport_pkey(struct command *cmd)
{
	if (cmd->out_bytes < 20)
		return command_fail(cmd, STATUS_BAD_OUTPUT_LEN, SYND_OUT_LENGTH);
	put_be32(cmd->out + 16, DEFAULT_PKEY);
	return STATUS_OK;
}

static enum roce_l3 l3_of(u32 version, u32 type)
{
	if (version == ROCE_V1)
		return ROCE_L3_GRH;
	return type == L3_IPV4 ? ROCE_L3_IPV4 : ROCE_L3_IPV6;
}

static bool is_empty(const u8 *bytes, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

enum command_status command_set_roce_address(struct command *cmd)
{
	const u8 *a = AT(set_roce_address_in, cmd->in, roce_address);
	u32 index = GET(set_roce_address_in, cmd->in, roce_address_index);
	u32 version = GET(roce_addr_layout, a, roce_version);
	struct roce_address *address;

	if (index >= ROCE_ADDRESSES)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_GID_INDEX);
	if (version != ROCE_V1 && version != ROCE_V2)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_GID_INDEX);
	if (!caps_have_roce(&cmd->dev->caps, version))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_GID_INDEX);
	address = &cmd->dev->vport.address[index];
	memset(address, 0, sizeof(*address));
	memcpy(address->raw, a, sizeof(address->raw));
	memcpy(address->gid, a, GID_BYTES);
	address->valid = !is_empty(a, GID_BYTES);
	address->l3 = l3_of(version, GET(roce_addr_layout, a, roce_l3_type));
	address->vlan_valid = GET(roce_addr_layout, a, vlan_valid);
	address->vlan = GET(roce_addr_layout, a, vlan_id);
	ifc_set_bits(address->mac, 0, 16, GET(roce_addr_layout, a, source_mac_47_32));
	ifc_set_bits(address->mac, 16, 32, GET(roce_addr_layout, a, source_mac_31_0));
	command_note(cmd, " [%u] version %u gid %016llx%016llx", index, version,
		     (unsigned long long)be64_at(address->gid),
		     (unsigned long long)be64_at(address->gid + 8));
	return STATUS_OK;
}

enum command_status command_query_roce_address(struct command *cmd)
{
	u32 index = GET(query_roce_address_in, cmd->in, roce_address_index);

	if (index >= ROCE_ADDRESSES ||
	    cmd->out_bytes < IFC_OFFSET(query_roce_address_out, roce_address) +
			     sizeof(cmd->dev->vport.address[0].raw))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_GID_INDEX);
	memcpy(AT(query_roce_address_out, cmd->out, roce_address),
	       cmd->dev->vport.address[index].raw, sizeof(cmd->dev->vport.address[0].raw));
	return STATUS_OK;
}
