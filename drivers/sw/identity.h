/* SPDX-License-Identifier: GPL-2.0 */
/* A device of the software HCA: its setup and its attributes. */
#ifndef RHCA_SW_IDENTITY_H
#define RHCA_SW_IDENTITY_H

#include <rdma/ib_verbs.h>

struct rhca_dev;
struct rhca_transport_ops;

int rhca_verbs_dev_init(struct rhca_dev *core,
			const struct rhca_transport_ops *transport);
void rhca_verbs_dev_exit(struct rhca_dev *core);

extern const struct ib_device_ops rhca_identity_verbs;

#endif
