/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a queue: entries and doorbell record, pinned from a process or allocated for the
 * kernel. The adapter sees no difference.
 */
#ifndef RHCA_MLX5_BUFFER_H
#define RHCA_MLX5_BUFFER_H

#include <linux/mlx5/driver.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct ib_umem;
struct rhca_mlx5_ucontext;
struct rhca_mlx5_record_page;

/* Entries and doorbell record of one queue */
struct rhca_mlx5_buffer {
	dma_addr_t record;	/* bus address of the doorbell record */
	u32 num_pages;		/* number of addresses for the adapter */
	u8 page_shift;		/* size of these pages */
	u8 page_offset;		/* offset of the entries in the first page, in 64ths of a page */
	struct ib_umem *umem;	/* entries of a process; NULL for the kernel's or if none */
	/* the process's page with the doorbell record, NULL for the kernel's */
	struct rhca_mlx5_record_page *record_page;
	struct mlx5_frag_buf frags;	/* entries of the kernel */
	struct mlx5_db db;	/* doorbell record of the kernel */
};

/* A queue's memory as given by a process */
struct rhca_mlx5_user_queue {
	u64 address;	/* of the entries */
	size_t bytes;	/* of the entries */
	u64 record;	/* address of the doorbell record */
	/* 0 if the adapter only reads the entries, else IB_ACCESS_LOCAL_WRITE */
	int access;
};

int rhca_mlx5_buffer_pin(struct rhca_mlx5_buffer *buffer,
			 struct rhca_mlx5_ucontext *context,
			 const struct rhca_mlx5_user_queue *queue);
int rhca_mlx5_buffer_pin_entries(struct rhca_mlx5_buffer *buffer,
				 struct rhca_mlx5_ucontext *context,
				 const struct rhca_mlx5_user_queue *queue);
void rhca_mlx5_buffer_move_entries(struct rhca_mlx5_buffer *buffer,
				   const struct rhca_mlx5_buffer *entries);
int rhca_mlx5_buffer_alloc(struct rhca_mlx5_buffer *buffer,
			   struct mlx5_core_dev *mdev, size_t bytes);
void rhca_mlx5_buffer_free(struct rhca_mlx5_buffer *buffer,
			   struct mlx5_core_dev *mdev);
void rhca_mlx5_buffer_leak(const struct rhca_mlx5_buffer *buffer);
void rhca_mlx5_buffer_addresses(const struct rhca_mlx5_buffer *buffer,
				__be64 *addresses);

static inline size_t
rhca_mlx5_buffer_list_bytes(const struct rhca_mlx5_buffer *buffer)
{
	return buffer->num_pages * sizeof(__be64);
}

/* Page size as encoded in commands */
static inline u8
rhca_mlx5_buffer_log_pages(const struct rhca_mlx5_buffer *buffer)
{
	return buffer->page_shift - MLX5_ADAPTER_PAGE_SHIFT;
}

#endif
