/* SPDX-License-Identifier: GPL-2.0 */
/* Event queues: how the device notifies the driver. */
#ifndef CONNECTX_EQ_H
#define CONNECTX_EQ_H

#include "resource.h"
#include "ring.h"

struct device;

#define EQE_BYTES	64
#define EQE_DATA_BYTES	28

enum event_type {
	EVENT_COMPLETION	= 0x00,
	EVENT_COMM_ESTABLISHED	= 0x02,
	EVENT_SQ_DRAINED	= 0x03,
	EVENT_CQ_ERROR		= 0x04,
	EVENT_QP_CATASTROPHIC	= 0x05,
	EVENT_PORT_CHANGE	= 0x09,
	EVENT_PAGE_REQUEST	= 0x0b,
	EVENT_INVALID_REQUEST	= 0x10,
	EVENT_ACCESS_ERROR	= 0x11,
	EVENT_SRQ_CATASTROPHIC	= 0x12,
	EVENT_SRQ_LAST_WQE	= 0x13,
	EVENT_SRQ_LIMIT		= 0x14,
};

enum event_queue_kind { EVENT_FROM_QP = 0, EVENT_FROM_RQ = 1, EVENT_FROM_SQ = 2 };

struct eq {
	struct object object;
	struct ring ring;
	u32 log_size;
	u32 uar;
	struct object *uar_object;
	u32 vector;
	bool armed;
	u32 produced;
	u32 consumed;
	u64 events[4];
};

/* Is there an EQ for this type? */
bool eq_wanted(struct device *dev, u32 type);

/* Put an event into the EQ for its type. */
void event_raise(struct device *dev, u32 type, u32 subtype, const u8 data[EQE_DATA_BYTES]);

/* An event about a QP, RQ, SQ or SRQ. */
void event_queue_number(struct device *dev, u32 type, u32 kind, u32 number);
void eq_deliver(struct device *dev, struct eq *eq, u32 type, u32 subtype,
		const u8 data[EQE_DATA_BYTES]);
void eq_doorbell(struct device *dev, u32 uar, u32 eqn, u32 consumed, bool arm);

#endif
