// SPDX-License-Identifier: GPL-2.0
#include "resource.h"

#include <stdlib.h>

static const struct {
	const char *name;
	enum object_space space;
	u32 limit;
} kinds[OBJ_KINDS] = {
	[OBJ_FLOW_TABLE]	= { "flow table", SPACE_FLOW, 4096 },
	[OBJ_FLOW_GROUP]	= { "flow group", SPACE_FLOW, 16384 },
	[OBJ_FLOW_COUNTER]	= { "flow counter", SPACE_COUNTER, 16384 },
	[OBJ_TIR]		= { "TIR", SPACE_OTHER, 4096 },
	[OBJ_RQT]		= { "RQT", SPACE_OTHER, 4096 },
	[OBJ_TIS]		= { "TIS", SPACE_OTHER, 4096 },
	[OBJ_QP]		= { "QP", SPACE_QUEUE, 1 << 17 },
	[OBJ_SQ]		= { "SQ", SPACE_QUEUE, 1 << 13 },
	[OBJ_RQ]		= { "RQ", SPACE_QUEUE, 1 << 13 },
	[OBJ_RMP]		= { "RMP", SPACE_QUEUE, 1 << 13 },
	[OBJ_SRQ]		= { "SRQ", SPACE_QUEUE, 1 << 13 },
	[OBJ_XRC_SRQ]		= { "XRC SRQ", SPACE_QUEUE, 1 << 13 },
	[OBJ_CQ]		= { "CQ", SPACE_CQ, 1 << 16 },
	[OBJ_EQ]		= { "EQ", SPACE_EQ, 32 },
	[OBJ_MKEY]		= { "mkey", SPACE_MKEY, 1 << 20 },
	[OBJ_PSV]		= { "PSV", SPACE_OTHER, 4096 },
	[OBJ_Q_COUNTER]		= { "Q counter", SPACE_COUNTER, 128 },
	[OBJ_XRCD]		= { "XRC domain", SPACE_OTHER, 1 << 12 },
	[OBJ_TRANSPORT_DOMAIN]	= { "transport domain", SPACE_OTHER, 1 << 12 },
	[OBJ_PD]		= { "PD", SPACE_OTHER, 1 << 16 },
	[OBJ_UAR]		= { "UAR", SPACE_UAR, 4096 },
};

/* Low numbers are skipped: 0 means none, and 1 is the GSI queue pair. */
static const struct {
	u32 first;
	u32 limit;
} series[SPACES] = {
	[SPACE_QUEUE]	= { 0x100, 1 << 18 },
	[SPACE_CQ]	= { 0x400, 1 << 17 },
	[SPACE_EQ]	= { 1, 64 },
	[SPACE_MKEY]	= { 0x1000, 1 << 21 },
	[SPACE_UAR]	= { 16, 8000 },
	[SPACE_COUNTER]	= { 1, 32768 },
	[SPACE_FLOW]	= { 1, 1 << 20 },
	[SPACE_OTHER]	= { 1, 1 << 20 },
};

const char *object_kind_name(enum object_kind kind)
{
	return kinds[kind].name;
}

void resources_init(struct resources *resources)
{
	u32 i;

	memset(resources, 0, sizeof(*resources));
	for (i = 0; i < SPACES; i++) {
		resources->space[i].first = series[i].first;
		resources->space[i].next = series[i].first;
		resources->space[i].limit = series[i].limit;
	}
}

static bool grow(struct number_space *space)
{
	u32 slots = space->slots ? space->slots * 2 : 256;
	struct object **slot;

	if (slots > space->limit)
		slots = space->limit;
	if (slots <= space->slots)
		return false;
	slot = realloc(space->slot, slots * sizeof(*slot));
	if (!slot)
		return false;
	memset(slot + space->slots, 0, (slots - space->slots) * sizeof(*slot));
	space->slot = slot;
	space->slots = slots;
	return true;
}

/* Numbers increase before they are reused, as on the real adapter. */
static u32 free_number(struct number_space *space)
{
	u32 i;

	do {
		for (i = space->next; i < space->slots; i++)
			if (!space->slot[i])
				return i;
	} while (grow(space));
	for (i = space->first; i < space->next; i++)
		if (!space->slot[i])
			return i;
	return 0;
}

bool object_add(struct resources *resources, enum object_kind kind, struct object *object)
{
	struct number_space *space = &resources->space[kinds[kind].space];
	u32 id;

	if (resources->count[kind] >= kinds[kind].limit)
		return false;
	id = free_number(space);
	if (!id)
		return false;
	object->kind = kind;
	object->id = id;
	space->slot[id] = object;
	space->next = id + 1;
	resources->count[kind]++;
	return true;
}

struct object *object_find(struct resources *resources, enum object_kind kind, u32 id)
{
	struct number_space *space = &resources->space[kinds[kind].space];

	if (id >= space->slots || !space->slot[id] || space->slot[id]->kind != kind)
		return NULL;
	return space->slot[id];
}

void object_remove(struct resources *resources, struct object *object)
{
	struct number_space *space = &resources->space[kinds[object->kind].space];

	space->slot[object->id] = NULL;
	resources->count[object->kind]--;
	if (object->destroy)
		object->destroy(object);
	else
		free(object);
}

static u32 remove_kind(struct resources *resources, enum object_kind kind)
{
	struct number_space *space = &resources->space[kinds[kind].space];
	u32 i, removed = 0;

	for (i = 0; i < space->slots; i++) {
		if (space->slot[i] && space->slot[i]->kind == kind) {
			object_remove(resources, space->slot[i]);
			removed++;
		}
	}
	return removed;
}

u32 resources_reset(struct resources *resources)
{
	u32 kind, i, removed = 0;

	for (kind = OBJ_NONE + 1; kind < OBJ_KINDS; kind++)
		removed += remove_kind(resources, kind);
	for (i = 0; i < SPACES; i++)
		free(resources->space[i].slot);
	resources_init(resources);
	return removed;
}
