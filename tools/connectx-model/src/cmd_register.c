// SPDX-License-Identifier: GPL-2.0
/* The command that reads and writes port and management registers. */
#include "commands.h"
#include "device.h"

#define MAX_MTU			9978u
#define LINK_100G_CR4		(1u << 20)
#define PORT_UP			1u
#define PORT_DOWN		2u
#define GROUP_802_3		0x0u	/* of port counters */
#define GROUP_EXTENDED		0x5u

struct access {
	struct command *cmd;
	bool write;
	const u8 *in;		/* the register as written by the driver */
	u8 *out;
	u32 bytes;
};

static void keep(struct access *a)
{
	(void)a;
}

static void mtu(struct access *a)
{
	struct port *port = &a->cmd->dev->port;

	if (a->write)
		port->mtu = GET(pmtu_reg, a->in, admin_mtu);
	SET(pmtu_reg, a->out, max_mtu, MAX_MTU);
	SET(pmtu_reg, a->out, admin_mtu, port->mtu);
	SET(pmtu_reg, a->out, oper_mtu, port->mtu);
}

static void link_type(struct access *a)
{
	SET(ptys_reg, a->out, eth_proto_capability, LINK_100G_CR4);
	SET(ptys_reg, a->out, eth_proto_admin, LINK_100G_CR4);
	SET(ptys_reg, a->out, eth_proto_oper,
	    port_is_up(&a->cmd->dev->port) ? LINK_100G_CR4 : 0);
}

static void admin_status(struct access *a)
{
	struct port *port = &a->cmd->dev->port;

	if (a->write && GET(paos_reg, a->in, ase))
		port_enable(port, GET(paos_reg, a->in, admin_status) == PORT_UP);
	SET(paos_reg, a->out, admin_status, port->enabled ? PORT_UP : PORT_DOWN);
	SET(paos_reg, a->out, oper_status, port_is_up(port) ? PORT_UP : PORT_DOWN);
}

/* Priority flow control: stored, without effect, as is that of the whole link. */
static void flow_control(struct access *a)
{
	struct port *port = &a->cmd->dev->port;
	u8 sent = GET(pfcc_reg, a->in, prio_mask_tx), heeded = GET(pfcc_reg, a->in, prio_mask_rx);

	if (a->write) {
		port->pfc_sent = (port->pfc_sent & ~sent) | (GET(pfcc_reg, a->in, pfctx) & sent);
		port->pfc_heeded = (port->pfc_heeded & ~heeded) |
				   (GET(pfcc_reg, a->in, pfcrx) & heeded);
	}
	SET(pfcc_reg, a->out, pfctx, port->pfc_sent);
	SET(pfcc_reg, a->out, pfcrx, port->pfc_heeded);
}

/* Source of a packet's priority, a VLAN or the DSCP: stored, without effect. */
static void trust(struct access *a)
{
	struct port *port = &a->cmd->dev->port;

	if (a->write)
		port->trust = GET(qpts_reg, a->in, trust_state);
	SET(qpts_reg, a->out, trust_state, port->trust);
}

static void dscp_priorities(struct access *a)
{
	struct port *port = &a->cmd->dev->port;
	u32 dscp, at = IFC_BYTES(qpdpm_reg) - DSCPS * IFC_BYTES(qpdpm_dscp_reg);

	for (dscp = 0; dscp < DSCPS; dscp++, at += IFC_BYTES(qpdpm_dscp_reg)) {
		if (a->write && GET(qpdpm_dscp_reg, a->in + at, e))
			port->dscp_priority[dscp] = GET(qpdpm_dscp_reg, a->in + at, prio);
		SET(qpdpm_dscp_reg, a->out + at, prio, port->dscp_priority[dscp]);
	}
}

/* Supported registers of quality of service. */
static void service_capabilities(struct access *a)
{
	SET(qcam_reg, a->out, qos_access_reg_cap_mask.reg_cap.qpts, 1);
	SET(qcam_reg, a->out, qos_access_reg_cap_mask.reg_cap.qpdpm, 1);
}

/* Port counters: only the group of IEEE 802.3, and wrong ICRCs of the extended one. */
static void port_counters(struct access *a)
{
	const struct device *dev = a->cmd->dev;
	const u64 *packets = dev->port.wire_packets, *bytes = dev->port.wire_bytes;
	u8 *set = AT(ppcnt_reg, a->out, counter_set);

	switch (GET(ppcnt_reg, a->in, grp)) {
	case GROUP_802_3:
		SET_HALVES(eth_802_3_cntrs_grp_data_layout, set, a_frames_received_ok,
			   packets[COUNT_RX]);
		SET_HALVES(eth_802_3_cntrs_grp_data_layout, set, a_frames_transmitted_ok,
			   packets[COUNT_TX]);
		SET_HALVES(eth_802_3_cntrs_grp_data_layout, set, a_octets_received_ok,
			   bytes[COUNT_RX]);
		SET_HALVES(eth_802_3_cntrs_grp_data_layout, set, a_octets_transmitted_ok,
			   bytes[COUNT_TX]);
		break;
	case GROUP_EXTENDED:
		SET_HALVES(eth_extended_cntrs_grp_data_layout, set, rx_icrc_encapsulated,
			   dev->counters.rx_icrc_errors);
		break;
	}
}

/* Supported registers of ports, and their features. */
static void port_capabilities(struct access *a)
{
	u8 *features = AT(pcam_reg, a->out, feature_cap_mask);
	u8 *there = AT(pcam_reg, a->out, port_access_reg_cap_mask);

	SET(pcam_regs_5000_to_507f, there, ppcnt, 1);
	SET(pcam_enhanced_features, features, rx_icrc_encapsulated_counter, 1);
}

static const struct {
	u16 number;
	u32 bytes;			/* at least, in either direction */
	void (*access)(struct access *a);
} registers[] = {
	{ 0x4002, IFC_BYTES(qpts_reg), trust },
	{ 0x4013, IFC_BYTES(qpdpm_reg), dscp_priorities },
	{ 0x4019, IFC_BYTES(qcam_reg), service_capabilities },
	{ 0x5003, IFC_BYTES(pmtu_reg), mtu },
	{ 0x5004, IFC_BYTES(ptys_reg), link_type },
	{ 0x5006, IFC_BYTES(paos_reg), admin_status },
	{ 0x5007, IFC_BYTES(pfcc_reg), flow_control },
	{ 0x5008, IFC_BYTES(ppcnt_reg), port_counters },
	{ 0x507f, IFC_BYTES(pcam_reg), port_capabilities },
	{ 0x6001, 0, keep },		/* node description */
	{ 0x7004, 0, keep },		/* host endianness */
};

enum command_status command_access_register(struct command *cmd)
{
	u16 number = GET(access_register_in, cmd->in, register_id);
	u32 in_bytes = command_rest(cmd, IFC_BYTES(access_register_in));
	struct access access = { .cmd = cmd, .write = !cmd->op_mod,
				 .in = cmd->in + IFC_BYTES(access_register_in),
				 .out = cmd->out + IFC_BYTES(access_register_out) };
	u32 i;

	command_note(cmd, " register %#x %s", number, access.write ? "write" : "read");
	if (cmd->op_mod > 1)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_OP_MOD);
	access.bytes = MIN(in_bytes, cmd->out_bytes - IFC_BYTES(access_register_out));
	memcpy(access.out, access.in, access.bytes);
	for (i = 0; i < ARRAY_SIZE(registers); i++) {
		if (registers[i].number != number)
			continue;
		if (access.bytes < registers[i].bytes)
			return command_fail(cmd, STATUS_BAD_PARAM, SYND_REGISTER);
		registers[i].access(&access);
		return STATUS_OK;
	}
	return command_fail(cmd, STATUS_BAD_PARAM, SYND_REGISTER);
}
