/* SPDX-License-Identifier: GPL-2.0 */
/* The GIDs that ib_core adds to ports and deletes. */
#ifndef RHCA_CORE_GID_VERBS_H
#define RHCA_CORE_GID_VERBS_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops rhca_gid_verbs;

#endif
