// SPDX-License-Identifier: GPL-2.0
#include "cq.h"

#include <stdlib.h>

#include "device.h"
#include "trace.h"

#define COUNTER_MASK	0xffffffu
#define ARM_SOLICITED	(1u << 24)	/* in the first word of a CQ doorbell */
#define ARM_EVENTS(word)	((word) >> 28 & 3)
#define CQ_ERROR_OVERRUN	1
#define NS_PER_US	1000ull

struct cq *cq_find(struct device *dev, u32 cqn)
{
	return find_object(struct cq, dev, OBJ_CQ, cqn);
}

static void notify(struct cq *cq)
{
	u8 data[EQE_DATA_BYTES] = { 0 };

	timer_cancel(&cq->moderation);
	cq->arm = CQ_NOT_ARMED;
	cq->events++;
	cq->since_event = 0;
	put_be32(data + 24, cq->object.id);
	cq->dev->counters.work.completion_events++;
	eq_deliver(cq->dev, cq->eq, EVENT_COMPLETION, 0, data);
}

void cq_moderation_expired(struct timer *timer)
{
	struct cq *cq = container_of(timer, struct cq, moderation);

	if (cq->arm != CQ_NOT_ARMED)
		notify(cq);
}

/* Several completions may share an event, within limits of count and time. */
static void notify_moderated(struct cq *cq)
{
	cq->since_event++;
	if (cq->max_count <= 1 || !cq->period_us || cq->since_event >= cq->max_count)
		notify(cq);
	else if (!cq->moderation.at_ns)
		timer_set(&cq->moderation, now_ns() + cq->period_us * NS_PER_US);
}

static void overrun(struct cq *cq)
{
	u8 data[EQE_DATA_BYTES] = { 0 };

	violation("dev%u: CQ %#x overrun", cq->dev->index, cq->object.id);
	cq->failed = true;
	put_be32(data, cq->object.id);
	data[11] = CQ_ERROR_OVERRUN;
	event_raise(cq->dev, EVENT_CQ_ERROR, 0, data);
}

u32 cq_outstanding(struct cq *cq)
{
	const u8 *record = dma_at(&cq->dev->dma, cq->doorbell, 8);

	return record ? (cq->produced - be32_at(record)) & COUNTER_MASK : 0;
}

static bool is_full(struct cq *cq)
{
	return !cq->overrun_ignored && cq_outstanding(cq) >> cq->log_size;
}

/* The last byte passes the entry to the driver, so it is written last. */
static bool write_entry(struct cq *cq, struct ring *ring, u32 log_size, const u8 *cqe,
			const u8 *before)
{
	u32 index = cq->produced & ((1u << log_size) - 1);
	u8 *entry = ring_at(&cq->dev->dma, ring, index * cq->cqe_bytes, cq->cqe_bytes);
	u8 owner = cq->produced >> log_size & 1;

	if (!entry)
		return false;
	if (before)
		memcpy(entry, before, CQE_BYTES);
	entry += cq->cqe_bytes - CQE_BYTES;
	memcpy(entry, cqe, CQE_OP_OWN);
	__atomic_store_n(&entry[CQE_OP_OWN], (cqe[CQE_OP_OWN] & ~1) | owner, __ATOMIC_RELEASE);
	cq->produced++;
	return true;
}

static void post(struct cq *cq, const u8 cqe[CQE_BYTES], bool solicited, const u8 *before)
{
	u8 copy[CQE_BYTES];
	u64 now = now_ns();

	if (cq->failed)
		return;
	if (is_full(cq)) {
		overrun(cq);
		return;
	}
	memcpy(copy, cqe, CQE_BYTES);
	if (copy[CQE_OP_OWN] >> 4 < CQE_REQUEST_ERROR)
		put_be64(copy + CQE_TIMESTAMP, now);
	trace(TRACE_CQE, "dev%u CQ %#x[%u] opcode %u qpn/op %#x wqe %u bytes %u syndrome %#x",
	      cq->dev->index, cq->object.id, cq->produced, copy[CQE_OP_OWN] >> 4,
	      be32_at(copy + CQE_QPN), be16_at(copy + CQE_WQE_COUNTER),
	      be32_at(copy + CQE_BYTE_COUNT),
	      copy[CQE_OP_OWN] >> 4 >= CQE_REQUEST_ERROR ? copy[CQE_ERR_SYNDROME] : 0);
	if (!write_entry(cq, &cq->ring, cq->log_size, copy, before))
		return;
	if (solicited)
		cq->last_solicited = cq->produced & COUNTER_MASK;
	if (cq->arm == CQ_ARMED_ANY || (cq->arm == CQ_ARMED_SOLICITED && solicited))
		notify_moderated(cq);
}

void cq_post(struct cq *cq, const u8 cqe[CQE_BYTES], bool solicited)
{
	post(cq, cqe, solicited, NULL);
}

void cq_post_with_data(struct cq *cq, const u8 cqe[CQE_BYTES], bool solicited, const u8 *data,
		       u32 bytes)
{
	u8 copy[CQE_BYTES], before[CQE_BYTES] = { 0 };
	bool is_half = cq->cqe_bytes == CQE_BYTES;

	memcpy(copy, cqe, CQE_BYTES);
	memcpy(is_half ? copy : before, data, bytes);
	copy[CQE_OP_OWN] |= is_half ? CQE_HAS_DATA_32 : CQE_HAS_DATA_64;
	post(cq, copy, solicited, is_half ? NULL : before);
}

void cq_doorbell(struct device *dev, u32 uar, u32 word, u32 cqn)
{
	u32 consumed = word & COUNTER_MASK;
	struct cq *cq = cq_find(dev, cqn);
	bool waiting;

	if (!cq || cq->uar != uar) {
		violation("dev%u: doorbell for CQ %#x, which does not exist or is not of UAR %u",
			  dev->index, cqn, uar);
		return;
	}
	dev->counters.work.arms++;
	/* The driver had not seen the last event, and arms again when it has. */
	if (ARM_EVENTS(word) != (cq->events & 3))
		return;
	cq->arm = word & ARM_SOLICITED ? CQ_ARMED_SOLICITED : CQ_ARMED_ANY;
	if (cq->arm == CQ_ARMED_ANY)
		waiting = (cq->produced & COUNTER_MASK) != consumed;
	else
		waiting = ((cq->last_solicited - consumed - 1) & COUNTER_MASK) <
			  COUNTER_MASK / 2 && cq->last_solicited != consumed;
	if (waiting)
		notify_moderated(cq);
}

void cq_resize(struct cq *cq, struct ring *ring, u32 log_size)
{
	u8 cqe[CQE_BYTES] = { 0 };

	cqe[CQE_OP_OWN] = CQE_RESIZE << 4;
	write_entry(cq, &cq->ring, cq->log_size, cqe, NULL);
	ring_free(&cq->ring);
	cq->ring = *ring;
	cq->log_size = log_size;
}

void cq_destroy(struct object *object)
{
	struct cq *cq = container_of(object, struct cq, object);

	timer_cancel(&cq->moderation);
	object_unuse(&cq->eq->object);
	object_unuse(cq->uar_object);
	ring_free(&cq->ring);
	free(cq);
}
