/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects that commands create and name by number. An object is found by its
 * kind and number, may be used by others, and cannot be destroyed while it is.
 */
#ifndef CONNECTX_RESOURCE_H
#define CONNECTX_RESOURCE_H

#include "util.h"

enum object_kind {
	OBJ_NONE,
	OBJ_FLOW_TABLE, OBJ_FLOW_GROUP, OBJ_FLOW_COUNTER,
	OBJ_TIR, OBJ_RQT,
	OBJ_QP, OBJ_SQ, OBJ_TIS, OBJ_RQ, OBJ_RMP, OBJ_SRQ, OBJ_XRC_SRQ,
	OBJ_CQ, OBJ_EQ,
	OBJ_MKEY, OBJ_PSV,
	OBJ_Q_COUNTER, OBJ_XRCD, OBJ_TRANSPORT_DOMAIN, OBJ_PD, OBJ_UAR,
	OBJ_KINDS
};

struct object {
	enum object_kind kind;
	u32 id;
	u32 users;
	void (*destroy)(struct object *object);
};

/* A series of numbers; several kinds may share it. */
struct number_space {
	struct object **slot;
	u32 slots;
	u32 first;
	u32 limit;
	u32 next;
};

enum object_space {
	SPACE_QUEUE, SPACE_CQ, SPACE_EQ, SPACE_MKEY, SPACE_UAR, SPACE_COUNTER,
	SPACE_FLOW, SPACE_OTHER, SPACES
};

struct resources {
	struct number_space space[SPACES];
	u32 count[OBJ_KINDS];
};

void resources_init(struct resources *resources);

/* Destroys all remaining objects, users before the objects they use. Return: how many. */
u32 resources_reset(struct resources *resources);

/**
 * object_add - Give an object its number
 *
 * Return: false when the kind's limit is reached; the object stays the caller's.
 */
bool object_add(struct resources *resources, enum object_kind kind, struct object *object);
struct object *object_find(struct resources *resources, enum object_kind kind, u32 id);

/* The structure that starts with the object of this number, or NULL. */
#define find_object(type, dev, kind, id)					\
	((type *)object_find(&(dev)->objects, (kind),				\
			     (id) + BUILD_ZERO(offsetof(type, object))))

/* Forgets the number and calls the object's destroy(). */
void object_remove(struct resources *resources, struct object *object);

static inline void object_use(struct object *object)
{
	if (object)
		object->users++;
}

static inline void object_unuse(struct object *object)
{
	if (object)
		object->users--;
}

/* Walk all objects of one series of numbers. */
#define each_object(resources, which, i, obj) \
	for (i = 0; i < (resources)->space[which].slots; i++) \
		if (((obj) = (resources)->space[which].slot[i]) != NULL)

const char *object_kind_name(enum object_kind kind);

#endif
