// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of memory that requests fill keys with (fast registration): either pages, of one size and
 * without gaps; or pieces of any length, each addressed through the key for all memory, so that a
 * region may have gaps.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "command.h"
#include "key_list.h"

#define MIN_LIST_BYTES	2048	/* also the alignment of a list */

/*
 * Allocate a list. @list: with @has_pieces set. @max_entries: its capacity. May sleep. Returns 0 or
 * -ENOMEM.
 */
int rhca_mlx5_key_list_alloc(struct rhca_mlx5_key_list *list,
			     struct device *device, u32 max_entries)
{
	list->room = ALIGN(max_entries * rhca_mlx5_key_entry_bytes(list),
			   RHCA_MLX5_LIST_ALIGN);
	/* kmalloc() aligns sizes that are powers of two naturally */
	list->entries = kzalloc(roundup_pow_of_two(max_t(size_t, list->room,
							 MIN_LIST_BYTES)),
				GFP_KERNEL);
	if (!list->entries)
		return -ENOMEM;
	list->dma = dma_map_single(device, list->entries, list->room,
				   DMA_TO_DEVICE);
	if (dma_mapping_error(device, list->dma)) {
		kfree(list->entries);
		return -ENOMEM;
	}
	return 0;
}

void rhca_mlx5_key_list_free(struct rhca_mlx5_key_list *list,
			     struct device *device)
{
	dma_unmap_single(device, list->dma, list->room, DMA_TO_DEVICE);
	kfree(list->entries);
}

static bool is_full(const struct rhca_mlx5_key_list *list)
{
	return rhca_mlx5_key_list_bytes(list) >= list->room;
}

/* Start filling a list again. No request with it is pending. */
void rhca_mlx5_key_list_begin(struct rhca_mlx5_key_list *list,
			      struct device *device)
{
	list->num = 0;
	dma_sync_single_for_cpu(device, list->dma, list->room, DMA_TO_DEVICE);
}

/* Pass the list to the adapter, in whole groups. */
void rhca_mlx5_key_list_end(struct rhca_mlx5_key_list *list,
			    struct device *device)
{
	dma_sync_single_for_device(device, list->dma,
				   ALIGN(rhca_mlx5_key_list_bytes(list), RHCA_MLX5_LIST_ALIGN),
				   DMA_TO_DEVICE);
}

int rhca_mlx5_key_list_add_page(struct rhca_mlx5_key_list *list, u64 address)
{
	__be64 *pages = list->entries;

	if (is_full(list))
		return -ENOMEM;
	pages[list->num++] = cpu_to_be64(address | RHCA_MLX5_PAGE_RIGHTS);
	return 0;
}

/*
 * Fill an empty list of pieces, as ib_sg_to_pages() does with pages. Returns the number of entries
 * of @sg in the list.
 */
int rhca_mlx5_key_list_add_pieces(struct rhca_mlx5_key_list *list,
				  struct ib_mr *ibmr, struct scatterlist *sg,
				  int sg_entries, unsigned int *sg_offset)
{
	unsigned int skipped = sg_offset ? *sg_offset : 0;
	struct mlx5_klm *pieces = list->entries;
	struct scatterlist *entry;
	u32 bytes;
	int i;

	ibmr->iova = sg_dma_address(sg) + skipped;
	ibmr->length = 0;
	for_each_sg(sg, entry, sg_entries, i) {
		if (is_full(list))
			break;
		bytes = sg_dma_len(entry) - skipped;
		pieces[list->num++] = (struct mlx5_klm) {
			.bcount	= cpu_to_be32(bytes),
			.key	= cpu_to_be32(ibmr->pd->local_dma_lkey),
			.va	= cpu_to_be64(sg_dma_address(entry) + skipped),
		};
		ibmr->length += bytes;
		skipped = 0;
	}
	if (sg_offset)
		*sg_offset = skipped;
	return i;
}
