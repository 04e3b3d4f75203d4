// SPDX-License-Identifier: GPL-2.0
/* Commands: flow tables, groups, entries and counters. */
#include <stdlib.h>

#include "commands.h"
#include "device.h"

#define MISS_TO_TABLE		1
#define MISS_TO_OTHER_DOMAIN	2
#define MODIFY_ROOT_RESET	1	/* op_mod of SET_FLOW_TABLE_ROOT */
#define SELECT_MISS		1u
#define SELECT_LAG_NEXT		(1u << 15)
#define CREATE_LAG_DEMUX	1	/* op_mod of CREATE_FLOW_TABLE */
#define KNOWN_ACTIONS		(FLOW_ALLOW | FLOW_DROP | FLOW_FORWARD | FLOW_COUNT)
#define DESTINATION_BYTES	8u

static struct flow_table *table_find(struct command *cmd, u32 type, u32 id)
{
	struct flow_table *table = find_object(struct flow_table, cmd->dev, OBJ_FLOW_TABLE, id);

	return table && table->type == type ? table : NULL;
}

/*
 * A demultiplexer precedes the tables of an aggregation's master and sorts the network interfaces'
 * frames; here they arrive at their own function anyway, so all that is left of it is the table
 * that follows.
 */
static void set_lag_next(struct flow_table *table, const u8 *c)
{
	table->miss_table = GET(flow_table_context, c, lag_master_next_table_id);
	table->miss_to_table = table->miss_table;
}

static void set_miss(struct flow_table *table, const u8 *c)
{
	u32 action = GET(flow_table_context, c, table_miss_action);

	table->miss_to_table = action == MISS_TO_TABLE;
	table->miss_to_other_domain = action == MISS_TO_OTHER_DOMAIN;
	table->miss_table = GET(flow_table_context, c, table_miss_id);
}

enum command_status command_create_flow_table(struct command *cmd)
{
	const u8 *c = AT(create_flow_table_in, cmd->in, flow_table_context);
	u32 type = GET(create_flow_table_in, cmd->in, table_type);
	struct flow_table *table;

	if (type >= FLOW_TABLE_TYPES || GET(flow_table_context, c, log_size) > 20)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_TABLE);
	if (type == FLOW_SWITCH && !cmd->dev->has_switch)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_TABLE);
	if (GET(flow_table_context, c, table_miss_action) == MISS_TO_OTHER_DOMAIN &&
	    (type != FLOW_RDMA_RECEIVE || !cmd->dev->has_switch))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_ACTION);
	if (cmd->op_mod > CREATE_LAG_DEMUX)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_OP_MOD);
	if (cmd->op_mod == CREATE_LAG_DEMUX && !cmd->dev->lag.spreads)
		return command_fail(cmd, STATUS_BAD_RES_STATE, SYND_LAG);
	table = zalloc(sizeof(*table));
	table->object.destroy = flow_table_destroy;
	table->type = type;
	table->level = GET(flow_table_context, c, level);
	table->log_size = GET(flow_table_context, c, log_size);
	table->lag_demux = cmd->op_mod == CREATE_LAG_DEMUX;
	if (table->lag_demux)
		set_lag_next(table, c);
	else
		set_miss(table, c);
	if (!object_add(&cmd->dev->objects, OBJ_FLOW_TABLE, &table->object)) {
		free(table);
		return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
	}
	SET(create_flow_table_out, cmd->out, table_id, table->object.id);
	command_note(cmd, " -> table %u type %u level %u", table->object.id, type, table->level);
	return STATUS_OK;
}

enum command_status command_modify_flow_table(struct command *cmd)
{
	const u8 *c = AT(modify_flow_table_in, cmd->in, flow_table_context);
	struct flow_table *table = table_find(cmd, GET(modify_flow_table_in, cmd->in, table_type),
					      GET(modify_flow_table_in, cmd->in, table_id));
	u32 select = GET(modify_flow_table_in, cmd->in, modify_field_select);

	if (!table)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_TABLE);
	if ((select & SELECT_LAG_NEXT) && !table->lag_demux)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LAG);
	if (select & SELECT_LAG_NEXT)
		set_lag_next(table, c);
	if (select & SELECT_MISS)
		set_miss(table, c);
	return STATUS_OK;
}

enum command_status command_destroy_flow_table(struct command *cmd)
{
	u32 id = GET(destroy_flow_table_in, cmd->in, table_id);
	u32 type = GET(destroy_flow_table_in, cmd->in, table_type);
	enum command_status status;

	if (!table_find(cmd, type, id))
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_TABLE);
	status = command_destroy(cmd, OBJ_FLOW_TABLE, id);
	if (!status && cmd->dev->steering.root[type] == id)
		cmd->dev->steering.root[type] = 0;
	return status;
}

enum command_status command_set_flow_table_root(struct command *cmd)
{
	u32 id = GET(set_flow_table_root_in, cmd->in, table_id);
	u32 type = GET(set_flow_table_root_in, cmd->in, table_type);

	if (type >= FLOW_TABLE_TYPES)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_TABLE);
	if (cmd->op_mod == MODIFY_ROOT_RESET) {
		cmd->dev->steering.root[type] = 0;
		return STATUS_OK;
	}
	if (!table_find(cmd, type, id))
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_TABLE);
	cmd->dev->steering.root[type] = id;
	command_note(cmd, " type %u: table %u", type, id);
	return STATUS_OK;
}

static void group_destroy(struct object *object)
{
	free(container_of(object, struct flow_group, object));
}

static bool overlaps(struct command *cmd, u32 table, u32 first, u32 last)
{
	const struct flow_group *group;
	struct object *object;
	u32 i;

	each_object(&cmd->dev->objects, SPACE_FLOW, i, object) {
		if (object->kind != OBJ_FLOW_GROUP)
			continue;
		group = container_of(object, struct flow_group, object);
		if (group->table == table && first <= group->last && last >= group->first)
			return true;
	}
	return false;
}

enum command_status command_create_flow_group(struct command *cmd)
{
	u32 id = GET(create_flow_group_in, cmd->in, table_id);
	struct flow_table *table = table_find(cmd, GET(create_flow_group_in, cmd->in, table_type),
					      id);
	u32 first = GET(create_flow_group_in, cmd->in, start_flow_index);
	u32 last = GET(create_flow_group_in, cmd->in, end_flow_index);
	struct flow_group *group;

	if (!table)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_TABLE);
	if (first > last || last >= 1u << table->log_size || overlaps(cmd, id, first, last))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_GROUP);
	group = zalloc(sizeof(*group));
	group->object.destroy = group_destroy;
	group->table = id;
	group->first = first;
	group->last = last;
	memcpy(group->mask, AT(create_flow_group_in, cmd->in, match_criteria), MATCH_BYTES);
	if (!object_add(&cmd->dev->objects, OBJ_FLOW_GROUP, &group->object)) {
		free(group);
		return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
	}
	SET(create_flow_group_out, cmd->out, group_id, group->object.id);
	object_use(&table->object);
	return STATUS_OK;
}

enum command_status command_destroy_flow_group(struct command *cmd)
{
	u32 id = GET(destroy_flow_group_in, cmd->in, group_id);
	struct flow_table *table = table_find(cmd, GET(destroy_flow_group_in, cmd->in, table_type),
					      GET(destroy_flow_group_in, cmd->in, table_id));
	struct flow_group *group = find_object(struct flow_group, cmd->dev, OBJ_FLOW_GROUP, id);
	enum command_status status;

	if (!table)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_TABLE);
	if (!group || group->table != table->object.id)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_GROUP);
	status = command_destroy(cmd, OBJ_FLOW_GROUP, id);
	if (!status)
		object_unuse(&table->object);
	return status;
}

/* Position of an index in the sorted list: where it is, or where it would be inserted. */
static u32 position(const struct flow_table *table, u32 index)
{
	u32 i = 0;

	while (i < table->entries && table->entry[i]->index < index)
		i++;
	return i;
}

static enum command_status parse_entry(struct command *cmd, struct flow_entry *entry)
{
	const u8 *c = AT(set_fte_in, cmd->in, flow_context);
	const u8 *list = c + IFC_BYTES(flow_context);
	u32 forward, counters, i;

	entry->index = GET(set_fte_in, cmd->in, flow_index);
	entry->action = GET(flow_context, c, action);
	entry->tag = GET(flow_context, c, flow_tag);
	entry->group = GET(flow_context, c, group_id);
	memcpy(entry->value, AT(flow_context, c, match_value), MATCH_BYTES);
	forward = GET(flow_context, c, destination_list_size);
	counters = GET(flow_context, c, flow_counter_list_size);
	if (entry->action & ~KNOWN_ACTIONS || GET(flow_context, c, extended_destination))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_ACTION);
	if (forward > MAX_DESTINATIONS || counters > MAX_DESTINATIONS - forward ||
	    command_rest(cmd, list - cmd->in) < (forward + counters) * DESTINATION_BYTES)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_ACTION);
	for (i = 0; i < forward + counters; i++, list += DESTINATION_BYTES) {
		entry->destination[i].type = list[0];
		entry->destination[i].id = be32_at(list) & 0xffffff;
		if (i < forward)
			continue;
		entry->destination[i].type = DESTINATION_COUNTER;
		entry->destination[i].id = be32_at(list);
	}
	entry->destinations = forward + counters;
	return STATUS_OK;
}

static bool is_switch_port(const struct flow_table *table, const struct flow_destination *d)
{
	return table->type == FLOW_SWITCH && d->type == DESTINATION_VPORT &&
	       (d->id == SWITCH_MANAGER || d->id == SWITCH_UPLINK);
}

static enum command_status check_destinations(struct command *cmd, const struct flow_table *table,
					      const struct flow_entry *entry)
{
	static const enum object_kind kind[] = {
		[DESTINATION_TABLE] = OBJ_FLOW_TABLE, [DESTINATION_TIR] = OBJ_TIR,
		[DESTINATION_COUNTER] = OBJ_FLOW_COUNTER,
	};
	const struct flow_destination *d;
	u32 i;

	for (i = 0; i < entry->destinations; i++) {
		d = &entry->destination[i];
		if (is_switch_port(table, d))
			continue;
		if (d->type >= ARRAY_SIZE(kind) || !kind[d->type] ||
		    !object_find(&cmd->dev->objects, kind[d->type], d->id))
			return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_ACTION);
	}
	return STATUS_OK;
}

static void insert(struct flow_table *table, struct flow_entry *entry)
{
	u32 at = position(table, entry->index);

	if (at < table->entries && table->entry[at]->index == entry->index) {
		free(table->entry[at]);
		table->entry[at] = entry;
		return;
	}
	table->entry = realloc(table->entry, (table->entries + 1) * sizeof(*table->entry));
	memmove(table->entry + at + 1, table->entry + at,
		(table->entries - at) * sizeof(*table->entry));
	table->entry[at] = entry;
	table->entries++;
}

/* With op_mod 1 only the fields of the enable mask change. */
static void merge(const struct flow_table *table, struct flow_entry *entry, u32 mask)
{
	u32 at = position(table, entry->index);
	const struct flow_entry *old;

	if (at == table->entries || table->entry[at]->index != entry->index)
		return;
	old = table->entry[at];
	memcpy(entry->value, old->value, sizeof(entry->value));
	entry->group = old->group;
	if (!(mask & 1))
		entry->action = old->action;
	if (!(mask & 2))
		entry->tag = old->tag;
	if (!(mask & 4)) {
		memcpy(entry->destination, old->destination, sizeof(entry->destination));
		entry->destinations = old->destinations;
	}
}

enum command_status command_set_flow_entry(struct command *cmd)
{
	struct flow_table *table = table_find(cmd, GET(set_fte_in, cmd->in, table_type),
					      GET(set_fte_in, cmd->in, table_id));
	struct flow_entry *entry;
	struct flow_group *group;
	enum command_status status;

	if (!table)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_TABLE);
	entry = zalloc(sizeof(*entry));
	status = parse_entry(cmd, entry);
	if (!status)
		status = check_destinations(cmd, table, entry);
	if (!status && cmd->op_mod == 1)
		merge(table, entry, GET(set_fte_in, cmd->in, modify_enable_mask));
	group = find_object(struct flow_group, cmd->dev, OBJ_FLOW_GROUP, entry->group);
	if (!status && !group)
		status = command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_GROUP);
	if (!status && (entry->index < group->first || entry->index > group->last))
		status = command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_INDEX);
	if (status) {
		free(entry);
		return status;
	}
	insert(table, entry);
	command_note(cmd, " table %u[%u] action %#x", table->object.id, entry->index,
		     entry->action);
	return STATUS_OK;
}

enum command_status command_delete_flow_entry(struct command *cmd)
{
	struct flow_table *table = table_find(cmd, GET(delete_fte_in, cmd->in, table_type),
					      GET(delete_fte_in, cmd->in, table_id));
	u32 index = GET(delete_fte_in, cmd->in, flow_index), at;

	if (!table)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_FLOW_TABLE);
	at = position(table, index);
	if (at == table->entries || table->entry[at]->index != index)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_FLOW_INDEX);
	free(table->entry[at]);
	table->entries--;
	memmove(table->entry + at, table->entry + at + 1,
		(table->entries - at) * sizeof(*table->entry));
	return STATUS_OK;
}

enum command_status command_alloc_flow_counter(struct command *cmd)
{
	struct flow_counter *counter;

	if (GET(alloc_flow_counter_in, cmd->in, flow_counter_bulk))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LIMIT);
	counter = zalloc(sizeof(*counter));
	if (!object_add(&cmd->dev->objects, OBJ_FLOW_COUNTER, &counter->object)) {
		free(counter);
		return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
	}
	SET(alloc_flow_counter_out, cmd->out, flow_counter_id, counter->object.id);
	return STATUS_OK;
}

enum command_status command_query_flow_counter(struct command *cmd)
{
	const struct flow_counter *counter =
		find_object(struct flow_counter, cmd->dev, OBJ_FLOW_COUNTER,
			    GET(query_flow_counter_in, cmd->in, flow_counter_id));
	u8 *out = cmd->out + IFC_BYTES(query_flow_counter_out);

	if (!counter)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (cmd->out_bytes < IFC_BYTES(query_flow_counter_out) + IFC_BYTES(traffic_counter))
		return command_fail(cmd, STATUS_BAD_OUTPUT_LEN, SYND_OUT_LENGTH);
	SET(traffic_counter, out, packets, counter->packets);
	SET(traffic_counter, out, octets, counter->bytes);
	return STATUS_OK;
}
