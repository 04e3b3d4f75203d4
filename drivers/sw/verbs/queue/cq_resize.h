/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_VERBS_QUEUE_CQ_RESIZE_H
#define RHCA_SW_VERBS_QUEUE_CQ_RESIZE_H

struct ib_device_ops;

extern const struct ib_device_ops rhca_cq_resize_verbs;

#endif
