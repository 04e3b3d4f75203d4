// SPDX-License-Identifier: GPL-2.0
#include "ring.h"

#include <stdlib.h>

#define ADAPTER_PAGE_SHIFT	12
#define OFFSET_UNITS_SHIFT	6	/* page_offset counts 1/64 of a page */
#define MAX_PAGE_SHIFT		31

bool ring_init(struct ring *ring, const struct ring_layout *layout)
{
	u32 shift = layout->log_page_size + ADAPTER_PAGE_SHIFT;
	u64 pages;
	u32 i;

	if (shift > MAX_PAGE_SHIFT)
		return false;
	ring->page_shift = shift;
	ring->offset = layout->page_offset << (shift - OFFSET_UNITS_SHIFT);
	pages = (ring->offset + layout->bytes + (1ull << shift) - 1) >> shift;
	if (!pages || pages > layout->pas_bytes / sizeof(u64))
		return false;
	ring->pages = pages;
	ring->page = zalloc(pages * sizeof(u64));
	for (i = 0; i < pages; i++)
		ring->page[i] = be64_at(layout->pas + 8 * i) & ~0xfffull;
	return true;
}

void ring_free(struct ring *ring)
{
	free(ring->page);
	*ring = (struct ring){ 0 };
}

void *ring_at(struct dma *dma, const struct ring *ring, u32 at, u32 bytes)
{
	u64 where = (u64)at + ring->offset;
	u64 page = where >> ring->page_shift;

	if (page >= ring->pages)
		return NULL;
	where &= (1ull << ring->page_shift) - 1;
	if (bytes > (1ull << ring->page_shift) - where)
		return NULL;
	return dma_at(dma, ring->page[page] + where, bytes);
}

/* Bytes from @at to the end of its page. */
static u32 span(const struct ring *ring, u32 at, u32 bytes)
{
	u64 size = 1ull << ring->page_shift;
	u64 rest = size - (((u64)at + ring->offset) & (size - 1));

	return MIN(rest, bytes);
}

bool ring_read(struct dma *dma, const struct ring *ring, u32 at, void *to, u32 bytes)
{
	u32 part;
	void *from;

	for (; bytes; bytes -= part, at += part, to = (u8 *)to + part) {
		part = span(ring, at, bytes);
		from = ring_at(dma, ring, at, part);
		if (!from)
			return false;
		memcpy(to, from, part);
	}
	return true;
}

bool ring_write(struct dma *dma, const struct ring *ring, u32 at, const void *from, u32 bytes)
{
	u32 part;
	void *to;

	for (; bytes; bytes -= part, at += part, from = (const u8 *)from + part) {
		part = span(ring, at, bytes);
		to = ring_at(dma, ring, at, part);
		if (!to)
			return false;
		memcpy(to, from, part);
	}
	return true;
}
