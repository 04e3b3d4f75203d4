// SPDX-License-Identifier: GPL-2.0
#include "eq.h"

#include "device.h"
#include "trace.h"

#define COUNTER_MASK	0xffffffu

enum { EQE_TYPE = 1, EQE_SUBTYPE = 3, EQE_DATA = 32, EQE_OWNER = 63 };

static struct eq *find_taker(struct device *dev, u32 type)
{
	struct object *object;
	struct eq *eq;
	u32 i;

	if (type == EVENT_COMPLETION)
		return NULL;
	each_object(&dev->objects, SPACE_EQ, i, object) {
		eq = container_of(object, struct eq, object);
		if (eq->events[type / 64] >> (type % 64) & 1)
			return eq;
	}
	return NULL;
}

bool eq_wanted(struct device *dev, u32 type)
{
	return find_taker(dev, type) != NULL;
}

void eq_deliver(struct device *dev, struct eq *eq, u32 type, u32 subtype,
		const u8 data[EQE_DATA_BYTES])
{
	u32 index = eq->produced & ((1u << eq->log_size) - 1);
	u8 *entry = ring_at(&dev->dma, &eq->ring, index * EQE_BYTES, EQE_BYTES);

	if (!entry || ((eq->produced - eq->consumed) & COUNTER_MASK) >> eq->log_size) {
		violation("dev%u: EQ %u overrun, event type %#x lost", dev->index,
			  eq->object.id, type);
		return;
	}
	entry[EQE_TYPE] = type;
	entry[EQE_SUBTYPE] = subtype;
	memcpy(entry + EQE_DATA, data, EQE_DATA_BYTES);
	__atomic_store_n(&entry[EQE_OWNER], eq->produced >> eq->log_size & 1, __ATOMIC_RELEASE);
	eq->produced++;
	if (eq->armed) {
		eq->armed = false;
		vfio_user_interrupt(&dev->guest, eq->vector);
	}
}

void event_raise(struct device *dev, u32 type, u32 subtype, const u8 data[EQE_DATA_BYTES])
{
	struct eq *eq = find_taker(dev, type);

	trace_note("dev%u event %#x/%u%s", dev->index, type, subtype, eq ? "" : " (no taker)");
	if (eq)
		eq_deliver(dev, eq, type, subtype, data);
}

void event_queue_number(struct device *dev, u32 type, u32 kind, u32 number)
{
	u8 data[EQE_DATA_BYTES] = { 0 };

	data[20] = kind;
	put_be32(data + 24, number);
	event_raise(dev, type, 0, data);
}

void eq_doorbell(struct device *dev, u32 uar, u32 eqn, u32 consumed, bool arm)
{
	struct eq *eq = find_object(struct eq, dev, OBJ_EQ, eqn);

	if (!eq || eq->uar != uar) {
		violation("dev%u: doorbell for EQ %u, which does not exist or is not of UAR %u",
			  dev->index, eqn, uar);
		return;
	}
	eq->consumed = consumed & COUNTER_MASK;
	if (!arm)
		return;
	if ((eq->produced & COUNTER_MASK) == eq->consumed)
		eq->armed = true;
	else
		vfio_user_interrupt(&dev->guest, eq->vector);
}
