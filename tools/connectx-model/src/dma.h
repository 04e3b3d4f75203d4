/* SPDX-License-Identifier: GPL-2.0 */
/* Guest memory that the virtual machine lets the device access by DMA. */
#ifndef CONNECTX_DMA_H
#define CONNECTX_DMA_H

#include "util.h"

#define DMA_MAX_REGIONS	512

struct dma_region {
	u64 iova;
	u64 bytes;
	u8 *host;
};

struct dma {
	struct dma_region region[DMA_MAX_REGIONS];
	u32 count;
	u64 misses;		/* accesses outside any region */
};

/**
 * dma_add - Map a guest region
 * @fd: file that backs it; -1 for a region the device cannot map
 *
 * Return: 0 or a negative errno.
 */
int dma_add(struct dma *dma, u64 iova, u64 bytes, int fd, u64 offset, bool writable);
void dma_remove(struct dma *dma, u64 iova, u64 bytes);
void dma_remove_all(struct dma *dma);

/**
 * dma_at - Host address of a guest range
 *
 * Return: NULL unless the whole range is inside one mapped region.
 */
void *dma_at(struct dma *dma, u64 iova, u64 bytes);

/* Bytes from @iova to the end of its 4 KiB page, at most @bytes. */
u32 dma_page_rest(u64 iova, u64 bytes);

bool dma_read(struct dma *dma, u64 iova, void *to, u32 bytes);
bool dma_write(struct dma *dma, u64 iova, const void *from, u32 bytes);

#endif
