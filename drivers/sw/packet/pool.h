/* SPDX-License-Identifier: GPL-2.0 */
/* Contiguous memory for segments, recycled. */
#ifndef RHCA_SW_PACKET_POOL_H
#define RHCA_SW_PACKET_POOL_H

#include <linux/mm.h>
#include <linux/sizes.h>

/* Half a block, or a page if that is larger */
#define RHCA_POOL_PAGE_BYTES	(PAGE_SHIFT < 15 ? SZ_32K : PAGE_SIZE)
#define RHCA_POOL_PAGES		(SZ_512K / RHCA_POOL_PAGE_BYTES)	/* a send window */

/* Bytes in the pool */
struct rhca_piece {
	struct page *page;	/* their compound page */
	unsigned int offset;	/* first byte */
	unsigned int bytes;	/* how many */
};

struct page *rhca_pool_new_page(void);
void *rhca_pool_room(unsigned int bytes);
void rhca_pool_take(unsigned int bytes, struct rhca_piece *piece);
void rhca_pool_give_up(void);
void rhca_pool_init(void);
void rhca_pool_exit(void);

#endif
