/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_VERBS_QUEUE_UCONTEXT_H
#define RHCA_SW_VERBS_QUEUE_UCONTEXT_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* A process that has the device open */
struct rhca_ucontext {
	struct ib_ucontext ibuc;	/* ib_core's part, which holds the mmap offsets */
};

extern const struct ib_device_ops rhca_ucontext_verbs;

#endif
