/* SPDX-License-Identifier: GPL-2.0 */
/* Management datagrams that the driver answers by itself. */
#ifndef RHCA_CORE_MAD_H
#define RHCA_CORE_MAD_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops rhca_mad_verbs;

#endif
