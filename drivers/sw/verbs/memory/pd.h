/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_VERBS_MEMORY_PD_H
#define RHCA_SW_VERBS_MEMORY_PD_H

#include <rdma/ib_verbs.h>

/* Protection domain; objects compare the pointer */
struct rhca_pd {
	struct ib_pd ibpd;	/* ib_core's part */
};

extern const struct ib_device_ops rhca_pd_verbs;

#endif
