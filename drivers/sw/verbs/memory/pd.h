/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_VERBS_MEMORY_PD_H
#define RHCA_SW_VERBS_MEMORY_PD_H

#include <rdma/ib_verbs.h>

/**
 * struct rhca_pd - Protection domain; objects compare the pointer
 * @ibpd: ib_core's part
 */
struct rhca_pd {
	struct ib_pd ibpd;
};

extern const struct ib_device_ops rhca_pd_verbs;

#endif
