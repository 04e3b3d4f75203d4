/* SPDX-License-Identifier: GPL-2.0 */
/* What "rdma -dd resource show qp" says of a QP besides what ib_core knows. */
#ifndef RHCA_CORE_QP_RESTRACK_H
#define RHCA_CORE_QP_RESTRACK_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops rhca_restrack_verbs;

#endif
