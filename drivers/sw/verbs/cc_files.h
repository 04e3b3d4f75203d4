/* SPDX-License-Identifier: GPL-2.0 */
/* Loss and congestion of a port of the software HCA as files, ports/1/cc/. */
#ifndef RHCA_SW_VERBS_CC_FILES_H
#define RHCA_SW_VERBS_CC_FILES_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops rhca_cc_verbs;

#endif
