// SPDX-License-Identifier: GPL-2.0
#include "recv_queue.h"

#include "device.h"
#include "eq.h"
#include "trace.h"

#define SEGMENT_BYTES		16u
#define INVALID_KEY		0x100u	/* ends a scatter list */
#define NEXT_INDEX		2	/* in the first segment of a linked entry */

u32 recv_queue_posted(struct device *dev, const struct recv_queue *queue)
{
	const u8 *record = dma_at(&dev->dma, queue->doorbell, 4);
	u16 posted;

	if (!record)
		return 0;
	posted = be32_at(record);
	return (u16)(posted - queue->consumed);
}

/* If it is more than possible: as much as possible */
static u32 sum(u32 a, u32 b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* @bytes: of the entry, as far as it was read */
static void parse(const struct recv_queue *queue, const u8 *entry, u32 bytes,
		  struct recv_wqe *wqe)
{
	struct segment *segment;
	u32 at = queue->linked ? SEGMENT_BYTES : 0;

	wqe->segments = 0;
	wqe->bytes = 0;
	for (; at + SEGMENT_BYTES <= bytes && wqe->segments < RECV_MAX_SEGMENTS;
	     at += SEGMENT_BYTES) {
		segment = &wqe->segment[wqe->segments];
		segment->bytes = be32_at(entry + at) & 0x7fffffff;
		segment->key = be32_at(entry + at + 4);
		segment->address = be64_at(entry + at + 8);
		segment->inline_data = NULL;
		if (segment->key == INVALID_KEY)
			break;
		if (!segment->bytes)
			segment->bytes = SEGMENT_WITHOUT_LENGTH;
		wqe->bytes = sum(wqe->bytes, segment->bytes);
		wqe->segments++;
	}
}

bool recv_queue_take(struct device *dev, struct recv_queue *queue, struct recv_wqe *wqe)
{
	u32 mask = (1u << queue->log_count) - 1;
	u8 entry[RECV_MAX_SEGMENTS * SEGMENT_BYTES + SEGMENT_BYTES] = { 0 };
	u32 posted = recv_queue_posted(dev, queue);
	u32 bytes = MIN(queue->stride, sizeof(entry));

	if (!posted)
		return false;
	if (posted > mask + 1) {
		violation("dev%u: receive doorbell record is %u ahead of a queue of %u",
			  dev->index, posted, mask + 1);
		return false;
	}
	wqe->index = queue->linked ? queue->next : queue->consumed;
	if (!ring_read(&dev->dma, &queue->ring,
		       queue->start + (wqe->index & mask) * queue->stride, entry, bytes))
		return false;
	parse(queue, entry, bytes, wqe);
	queue->next = be16_at(entry + NEXT_INDEX) & mask;
	queue->consumed++;
	return true;
}

struct srq *srq_find(struct device *dev, enum object_kind kind, u32 number)
{
	return find_object(struct srq, dev, kind, number);
}

void srq_check_limit(struct srq *srq)
{
	if (!srq->queue.limit || recv_queue_posted(srq->dev, &srq->queue) >= srq->queue.limit)
		return;
	srq->queue.limit = 0;
	event_queue_number(srq->dev, EVENT_SRQ_LIMIT, 0, srq->object.id);
}
