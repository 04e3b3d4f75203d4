/* SPDX-License-Identifier: GPL-2.0 */
/* Devices of other drivers */
#ifndef RHCA_LIFECYCLE_OTHERS_H
#define RHCA_LIFECYCLE_OTHERS_H

#include <linux/types.h>

struct ib_device;
struct net_device;

int rhca_others_add(struct ib_device *ibdev);
void rhca_others_remove(struct ib_device *ibdev);
int rhca_others_serve(struct net_device *ndev, char *name);

#endif
