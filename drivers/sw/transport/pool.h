/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contiguous memory for segments, recycled.
 */
#ifndef RHCA_SW_TRANSPORT_POOL_H
#define RHCA_SW_TRANSPORT_POOL_H

#include <linux/types.h>

struct page;

/**
 * struct rhca_piece - Bytes in the pool
 * @page: compound page that they lie in
 * @offset: first byte
 * @bytes: how many
 */
struct rhca_piece {
	struct page *page;
	unsigned int offset;
	unsigned int bytes;
};

void *rhca_pool_room(unsigned int bytes);
void rhca_pool_take(unsigned int bytes, struct rhca_piece *piece);
void rhca_pool_give_up(void);
void rhca_pool_init(void);
void rhca_pool_exit(void);

#endif
