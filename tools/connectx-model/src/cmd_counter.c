// SPDX-License-Identifier: GPL-2.0
/* Commands: counters, and the parameters of congestion control. */
#include <stdlib.h>

#include "commands.h"
#include "device.h"

#define PROTOCOL_REACTION	1u	/* cong_protocol: r_roce_ecn_rp */
#define PROTOCOL_NOTIFICATION	2u	/* r_roce_ecn_np */
#define PARAMETERS_AT		IFC_OFFSET(query_cong_params_out, congestion_parameters)

static void put_traffic(u8 *out, const struct traffic *traffic)
{
	SET(traffic_counter, out, packets, traffic->packets);
	SET(traffic_counter, out, octets, traffic->bytes);
}

enum command_status command_query_vport_counter(struct command *cmd)
{
	const struct traffic (*t)[TRAFFIC_KINDS][CASTS] = cmd->dev->counters.traffic;
	u8 *out = cmd->out;

	if (!GET(cmd_hca_cap, cmd->dev->caps.current[CAP_GENERAL], vport_counters))
		return command_fail(cmd, STATUS_BAD_OP, SYND_CAPABILITY_MISSING);
#define PUT(field, direction, kind, cast) \
	put_traffic(AT(query_vport_counter_out, out, field), \
		    &t[COUNT_##direction][COUNT_##kind][CAST_##cast])
	PUT(received_ib_unicast, RX, ROCE, UNICAST);
	PUT(received_ib_multicast, RX, ROCE, MULTICAST);
	PUT(received_eth_unicast, RX, ETHERNET, UNICAST);
	PUT(received_eth_multicast, RX, ETHERNET, MULTICAST);
	PUT(received_eth_broadcast, RX, ETHERNET, BROADCAST);
	PUT(transmitted_ib_unicast, TX, ROCE, UNICAST);
	PUT(transmitted_ib_multicast, TX, ROCE, MULTICAST);
	PUT(transmitted_eth_unicast, TX, ETHERNET, UNICAST);
	PUT(transmitted_eth_multicast, TX, ETHERNET, MULTICAST);
	PUT(transmitted_eth_broadcast, TX, ETHERNET, BROADCAST);
#undef PUT
	return STATUS_OK;
}

enum command_status command_alloc_q_counter(struct command *cmd)
{
	struct q_counter *counter;

	if (!GET(cmd_hca_cap, cmd->dev->caps.current[CAP_GENERAL], max_qp_cnt))
		return command_fail(cmd, STATUS_LIMIT, SYND_CAPABILITY_MISSING);
	counter = zalloc(sizeof(*counter));
	if (!object_add(&cmd->dev->objects, OBJ_Q_COUNTER, &counter->object)) {
		free(counter);
		return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
	}
	SET(alloc_q_counter_out, cmd->out, counter_set_id, counter->object.id);
	return STATUS_OK;
}

enum command_status command_query_q_counter(struct command *cmd)
{
#define Q_BIT(name, field)	[name] = IFC_BIT(query_q_counter_out, field),
	static const u32 bit[Q_COUNT] = { Q_COUNTERS(Q_BIT) };
#undef Q_BIT
	struct q_counter *counter = find_object(struct q_counter, cmd->dev, OBJ_Q_COUNTER,
						GET(query_q_counter_in, cmd->in, counter_set_id));
	u32 i;

	if (!counter)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	for (i = 0; i < Q_COUNT; i++)
		put_be32(cmd->out + bit[i] / 8, counter->value[i]);
	if (GET(query_q_counter_in, cmd->in, clear))
		memset(counter->value, 0, sizeof(counter->value));
	return STATUS_OK;
}

/* may_see() and may_set() are checked first by each command about congestion. */
static bool may_see(const struct command *cmd)
{
	return GET(cmd_hca_cap, cmd->dev->caps.current[CAP_GENERAL], cc_query_allowed);
}

static bool may_set(const struct command *cmd)
{
	return GET(cmd_hca_cap, cmd->dev->caps.current[CAP_GENERAL], cc_modify_allowed);
}

enum command_status command_query_cong_status(struct command *cmd)
{
	u32 protocol = GET(query_cong_status_in, cmd->in, cong_protocol);
	const struct congestion *c = &cmd->dev->congestion;

	if (!may_see(cmd))
		return command_fail(cmd, STATUS_BAD_OP, SYND_CAPABILITY_MISSING);
	if (protocol != PROTOCOL_REACTION && protocol != PROTOCOL_NOTIFICATION)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_CONGESTION);
	SET(query_cong_status_out, cmd->out, enable, protocol == PROTOCOL_REACTION ?
	    c->reaction_enabled : c->notification_enabled);
	return STATUS_OK;
}

enum command_status command_modify_cong_status(struct command *cmd)
{
	u32 protocol = GET(modify_cong_status_in, cmd->in, cong_protocol);
	bool enable = GET(modify_cong_status_in, cmd->in, enable);

	if (!may_set(cmd))
		return command_fail(cmd, STATUS_BAD_OP, SYND_CAPABILITY_MISSING);
	if (protocol == PROTOCOL_REACTION)
		cmd->dev->congestion.reaction_enabled = enable;
	else if (protocol == PROTOCOL_NOTIFICATION)
		cmd->dev->congestion.notification_enabled = enable;
	else
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_CONGESTION);
	return STATUS_OK;
}

static u8 *parameters(struct device *dev, u32 protocol)
{
	if (protocol == PROTOCOL_REACTION)
		return dev->congestion.reaction;
	return protocol == PROTOCOL_NOTIFICATION ? dev->congestion.notification : NULL;
}

enum command_status command_query_cong_params(struct command *cmd)
{
	u8 *values = parameters(cmd->dev, GET(query_cong_params_in, cmd->in, cong_protocol));

	if (!may_see(cmd))
		return command_fail(cmd, STATUS_BAD_OP, SYND_CAPABILITY_MISSING);
	if (!values)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_CONGESTION);
	if (cmd->out_bytes < PARAMETERS_AT + sizeof(cmd->dev->congestion.reaction))
		return command_fail(cmd, STATUS_BAD_OUTPUT_LEN, SYND_OUT_LENGTH);
	memcpy(cmd->out + PARAMETERS_AT, values, sizeof(cmd->dev->congestion.reaction));
	return STATUS_OK;
}

/* A bit of the field select, and the field of the parameters that it selects. */
struct parameter {
	u8 select;
	u32 bit;
	u32 bits;
	u64 maximum;
};

#define RP(select, field, maximum) \
	{ select, IFC_BIT(cong_control_r_roce_ecn_rp, field), \
	  IFC_WIDTH(cong_control_r_roce_ecn_rp, field), maximum }
#define NP(select, field, maximum) \
	{ select, IFC_BIT(cong_control_r_roce_ecn_np, field), \
	  IFC_WIDTH(cong_control_r_roce_ecn_np, field), maximum }
#define UNBOUNDED	UINT32_MAX

static const struct parameter reaction[] = {
	RP(1, clamp_tgt_rate, 1), RP(2, clamp_tgt_rate_after_time_inc, 1),
	RP(3, rpg_time_reset, UNBOUNDED), RP(4, rpg_byte_reset, UNBOUNDED),
	RP(5, rpg_threshold, 31), RP(6, rpg_max_rate, UNBOUNDED),
	RP(7, rpg_ai_rate, UNBOUNDED), RP(8, rpg_hai_rate, UNBOUNDED),
	RP(9, rpg_min_dec_fac, 100), RP(10, rpg_min_rate, UNBOUNDED),
	RP(11, rate_to_set_on_first_cnp, UNBOUNDED), RP(12, dce_tcp_g, 1023),
	RP(13, dce_tcp_rtt, UNBOUNDED), RP(14, rate_reduce_monitor_period, UNBOUNDED),
	RP(15, initial_alpha_value, 1023), RP(16, rpg_gd, 15),
};

static const struct parameter notification[] = {
	NP(2, min_time_between_cnps, UNBOUNDED), NP(3, cnp_dscp, 63),
	NP(4, cnp_prio_mode, 1), NP(4, cnp_802p_prio, 7),
};

enum command_status command_modify_cong_params(struct command *cmd)
{
	u32 protocol = GET(modify_cong_params_in, cmd->in, cong_protocol);
	u32 select = be32_at(AT(modify_cong_params_in, cmd->in, field_select));
	const u8 *from = AT(modify_cong_params_in, cmd->in, congestion_parameters);
	const struct parameter *table = protocol == PROTOCOL_REACTION ? reaction : notification;
	u32 rows = protocol == PROTOCOL_REACTION ? ARRAY_SIZE(reaction) :
						   ARRAY_SIZE(notification);
	u8 *values = parameters(cmd->dev, protocol);
	u32 i;

	if (!may_set(cmd))
		return command_fail(cmd, STATUS_BAD_OP, SYND_CAPABILITY_MISSING);
	if (!values)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_CONGESTION);
	for (i = 0; i < rows; i++)
		if ((select >> table[i].select & 1) &&
		    ifc_get_bits(from, table[i].bit, table[i].bits) > table[i].maximum)
			return command_fail(cmd, STATUS_BAD_PARAM, SYND_CONGESTION);
	for (i = 0; i < rows; i++)
		if (select >> table[i].select & 1)
			ifc_set_bits(values, table[i].bit, table[i].bits,
				     ifc_get_bits(from, table[i].bit, table[i].bits));
	return STATUS_OK;
}

enum command_status command_query_cong_statistics(struct command *cmd)
{
	const struct device_counters *c = &cmd->dev->counters;
	u8 *out = cmd->out;

	if (!may_see(cmd))
		return command_fail(cmd, STATUS_BAD_OP, SYND_CAPABILITY_MISSING);
	SET_HALVES(query_cong_statistics_out, out, rp_cnp_ignored, c->cnp_ignored);
	SET_HALVES(query_cong_statistics_out, out, rp_cnp_handled, c->cnp_handled);
	SET_HALVES(query_cong_statistics_out, out, np_ecn_marked_roce_packets, c->ecn_marked);
	SET_HALVES(query_cong_statistics_out, out, np_cnp_sent, c->cnp_sent);
	return STATUS_OK;
}
