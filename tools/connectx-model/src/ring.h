/* SPDX-License-Identifier: GPL-2.0 */
/* A queue buffer in guest memory, given as a list of pages. */
#ifndef CONNECTX_RING_H
#define CONNECTX_RING_H

#include "dma.h"

struct ring {
	u64 *page;
	u32 pages;
	u32 page_shift;
	u32 offset;		/* of the buffer in its first page, bytes */
};

/* The list of a queue's pages, and the buffer's layout in them. */
struct ring_layout {
	const u8 *pas;		/* big-endian addresses */
	u32 pas_bytes;		/* number of them in the command */
	u32 log_page_size;	/* relative to 4 KiB, as in firmware */
	u32 page_offset;	/* in units of page size / 64 */
	u64 bytes;		/* of the queue */
};

/* Return: false if the command has fewer pages than the queue needs. */
bool ring_init(struct ring *ring, const struct ring_layout *layout);
void ring_free(struct ring *ring);
bool ring_read(struct dma *dma, const struct ring *ring, u32 at, void *to, u32 bytes);
bool ring_write(struct dma *dma, const struct ring *ring, u32 at, const void *from, u32 bytes);

/* Host address of a range, or NULL if it crosses a page or is not in the queue. */
void *ring_at(struct dma *dma, const struct ring *ring, u32 at, u32 bytes);

#endif
