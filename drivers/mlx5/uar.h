/* SPDX-License-Identifier: GPL-2.0 */
/* UARs: pages of the adapter's BAR that processes map to ring doorbells. */
#ifndef RHCA_MLX5_UAR_H
#define RHCA_MLX5_UAR_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct rhca_mlx5_uar;
struct rhca_mlx5_ucontext;

struct rhca_mlx5_uar *rhca_mlx5_uar_get(struct rhca_mlx5_ucontext *context, u32 number);
void rhca_mlx5_uar_put(struct rhca_mlx5_uar *uar);
int rhca_mlx5_mmap(struct ib_ucontext *ibucontext, struct vm_area_struct *vma);
void rhca_mlx5_mmap_free(struct rdma_user_mmap_entry *entry);

extern const struct uapi_definition rhca_mlx5_uapi[];

#endif
