// SPDX-License-Identifier: GPL-2.0
#include "dma.h"

#include <errno.h>
#include <sys/mman.h>

#define DMA_PAGE	4096u

static void drop(struct dma *dma, u32 i)
{
	if (dma->region[i].host)
		munmap(dma->region[i].host, dma->region[i].bytes);
	dma->region[i] = dma->region[--dma->count];
}

int dma_add(struct dma *dma, u64 iova, u64 bytes, int fd, u64 offset, bool writable)
{
	int protection = PROT_READ | (writable ? PROT_WRITE : 0);
	struct dma_region *region;

	if (dma->count == DMA_MAX_REGIONS)
		return -ENOSPC;
	region = &dma->region[dma->count];
	*region = (struct dma_region){ .iova = iova, .bytes = bytes };
	/* We never write to a read-only region: leave it unmapped. */
	if (fd >= 0 && writable) {
		region->host = mmap(NULL, bytes, protection, MAP_SHARED, fd, offset);
		if (region->host == MAP_FAILED)
			return -errno;
	}
	dma->count++;
	return 0;
}

void dma_remove(struct dma *dma, u64 iova, u64 bytes)
{
	u32 i;

	for (i = 0; i < dma->count; i++) {
		if (dma->region[i].iova == iova && dma->region[i].bytes == bytes) {
			drop(dma, i);
			return;
		}
	}
}

void dma_remove_all(struct dma *dma)
{
	while (dma->count)
		drop(dma, 0);
}

void *dma_at(struct dma *dma, u64 iova, u64 bytes)
{
	struct dma_region *region;
	u32 i;

	for (i = 0; i < dma->count; i++) {
		region = &dma->region[i];
		if (!region->host || iova < region->iova)
			continue;
		if (iova - region->iova < region->bytes &&
		    bytes <= region->bytes - (iova - region->iova))
			return region->host + (iova - region->iova);
	}
	dma->misses++;
	return NULL;
}

u32 dma_page_rest(u64 iova, u64 bytes)
{
	u64 rest = DMA_PAGE - iova % DMA_PAGE;

	return MIN(rest, bytes);
}

bool dma_read(struct dma *dma, u64 iova, void *to, u32 bytes)
{
	const void *from = dma_at(dma, iova, bytes);

	if (from)
		memcpy(to, from, bytes);
	return from;
}

bool dma_write(struct dma *dma, u64 iova, const void *from, u32 bytes)
{
	void *to = dma_at(dma, iova, bytes);

	if (to)
		memcpy(to, from, bytes);
	return to;
}
