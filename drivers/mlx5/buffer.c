// SPDX-License-Identifier: GPL-2.0
/*
 * Queue memory. A process keeps doorbell records of many queues in one page, which is pinned and
 * accounted once.
 */
#include <linux/kmemleak.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rhca/compat.h>

#include "buffer.h"
#include "context.h"

#define RECORD_BYTES	8	/* a receive and a send counter */

/* A page of doorbell records of a process */
struct rhca_mlx5_record_page {
	struct list_head entry;	/* in the context's list */
	struct rhca_mlx5_ucontext *context;	/* its context */
	struct ib_umem *umem;	/* the pinned page */
	struct mm_struct *mm;	/* owner of the page: a forked child may share the context */
	u64 start;		/* user address of the page */
	u32 users;		/* queues with a record there; under the context's records_lock */
};

static struct rhca_mlx5_record_page *
find_record_page(struct rhca_mlx5_ucontext *context, u64 start)
{
	struct rhca_mlx5_record_page *page;

	lockdep_assert_held(&context->records_lock);
	list_for_each_entry(page, &context->records, entry)
		if (page->start == start && page->mm == current->mm)
			return page;
	return NULL;
}

static struct rhca_mlx5_record_page *
pin_record_page(struct rhca_mlx5_ucontext *context, u64 start)
{
	struct rhca_mlx5_record_page *page;
	int ret;

	lockdep_assert_held(&context->records_lock);
	page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);
	if (!page)
		return ERR_PTR(-ENOMEM);
	page->umem = ib_umem_get_va(context->ibucontext.device, start,
				    PAGE_SIZE, 0);
	if (IS_ERR(page->umem)) {
		ret = PTR_ERR(page->umem);
		kfree(page);
		return ERR_PTR(ret);
	}
	mmgrab(current->mm);
	page->mm = current->mm;
	page->context = context;
	page->start = start;
	list_add(&page->entry, &context->records);
	return page;
}

static struct rhca_mlx5_record_page *
get_record_page(struct rhca_mlx5_ucontext *context, u64 record)
{
	struct rhca_mlx5_record_page *page;

	if (record % RECORD_BYTES)
		return ERR_PTR(-EINVAL);
	mutex_lock(&context->records_lock);
	page = find_record_page(context, record & PAGE_MASK) ?:
	       pin_record_page(context, record & PAGE_MASK);
	if (!IS_ERR(page))
		page->users++;
	mutex_unlock(&context->records_lock);
	return page;
}

static void put_record_page(struct rhca_mlx5_record_page *page)
{
	struct rhca_mlx5_ucontext *context = page->context;
	bool last;

	mutex_lock(&context->records_lock);
	last = !--page->users;
	if (last)
		list_del(&page->entry);
	mutex_unlock(&context->records_lock);
	if (!last)
		return;
	mmdrop(page->mm);
	ib_umem_release(page->umem);
	kfree(page);
}

/*
 * Pin a process's memory for the entries only. Process context of the owner. Returns 0; -EINVAL if
 * it is not aligned as the adapter requires; an error of pinning.
 */
int rhca_mlx5_buffer_pin_entries(struct rhca_mlx5_buffer *buffer,
				 struct rhca_mlx5_ucontext *context,
				 const struct rhca_mlx5_user_queue *queue)
{
	u32 offset = offset_in_page(queue->address);

	/* The adapter counts the offset in 64ths of a page */
	if (!queue->bytes || offset % (PAGE_SIZE / 64))
		return -EINVAL;
	buffer->umem = ib_umem_get_va(context->ibucontext.device,
				      queue->address, queue->bytes,
				      queue->access);
	if (IS_ERR(buffer->umem))
		return PTR_ERR(buffer->umem);
	buffer->page_shift = PAGE_SHIFT;
	buffer->page_offset = offset / (PAGE_SIZE / 64);
	buffer->num_pages = ib_umem_num_dma_blocks(buffer->umem, PAGE_SIZE);
	return 0;
}

/*
 * Switch to @entries of rhca_mlx5_buffer_pin_entries(), which the adapter uses now. @buffer owns
 * them; its old ones are released, its doorbell record stays.
 */
void rhca_mlx5_buffer_move_entries(struct rhca_mlx5_buffer *buffer,
				   const struct rhca_mlx5_buffer *entries)
{
	ib_umem_release(buffer->umem);
	buffer->umem = entries->umem;
	buffer->page_shift = entries->page_shift;
	buffer->page_offset = entries->page_offset;
	buffer->num_pages = entries->num_pages;
}

/*
 * As rhca_mlx5_buffer_pin_entries(), with the doorbell record; a queue without bytes has only that.
 */
int rhca_mlx5_buffer_pin(struct rhca_mlx5_buffer *buffer,
			 struct rhca_mlx5_ucontext *context,
			 const struct rhca_mlx5_user_queue *queue)
{
	int ret;

	ret = queue->bytes ?
	      rhca_mlx5_buffer_pin_entries(buffer, context, queue) : 0;
	if (ret)
		return ret;
	buffer->record_page = get_record_page(context, queue->record);
	if (IS_ERR(buffer->record_page)) {
		ib_umem_release(buffer->umem);
		return PTR_ERR(buffer->record_page);
	}
	buffer->record = sg_dma_address(buffer->record_page->umem->sgt_append.sgt.sgl) +
			 (queue->record & ~PAGE_MASK);
	return 0;
}

/*
 * Allocate memory for a queue of the kernel. @buffer: set up; entries and doorbell record are
 * zeroed. @bytes: of the entries. May sleep. Returns 0 or -ENOMEM.
 */
int rhca_mlx5_buffer_alloc(struct rhca_mlx5_buffer *buffer,
			   struct mlx5_core_dev *mdev, size_t bytes)
{
	int node = dev_to_node(mdev->device);
	int ret;

	ret = mlx5_db_alloc_node(mdev, &buffer->db, node);
	if (ret)
		return ret;
	ret = mlx5_frag_buf_alloc_node(mdev, bytes, &buffer->frags, node);
	if (ret) {
		mlx5_db_free(mdev, &buffer->db);
		return ret;
	}
	buffer->db.db[0] = 0;
	buffer->db.db[1] = 0;
	buffer->record = buffer->db.dma;
	buffer->page_shift = buffer->frags.page_shift;
	buffer->page_offset = 0;
	buffer->num_pages = buffer->frags.npages;
	return 0;
}

/* Release the memory of a queue, pinned or allocated, that the adapter no longer uses. */
void rhca_mlx5_buffer_free(struct rhca_mlx5_buffer *buffer,
			   struct mlx5_core_dev *mdev)
{
	if (buffer->record_page) {
		put_record_page(buffer->record_page);
		ib_umem_release(buffer->umem);
	} else {
		mlx5_frag_buf_free(mdev, &buffer->frags);
		mlx5_db_free(mdev, &buffer->db);
	}
}

/* The adapter holds a queue of the kernel: leak its memory on purpose. */
void rhca_mlx5_buffer_leak(const struct rhca_mlx5_buffer *buffer)
{
	if (!buffer->record_page && buffer->num_pages)
		kmemleak_not_leak(buffer->frags.frags);
}

/* List the pages for a command. @addresses: room for @buffer->num_pages. */
void rhca_mlx5_buffer_addresses(const struct rhca_mlx5_buffer *buffer,
				__be64 *addresses)
{
	struct ib_block_iter it;

	if (!buffer->num_pages)
		return;
	if (!buffer->umem) {
		mlx5_fill_page_frag_array((struct mlx5_frag_buf *)&buffer->frags,
					  addresses);
		return;
	}
	rdma_umem_for_each_dma_block(buffer->umem, &it, PAGE_SIZE) {
		*addresses = cpu_to_be64(rdma_block_iter_dma_address(&it));
		addresses++;
	}
}
