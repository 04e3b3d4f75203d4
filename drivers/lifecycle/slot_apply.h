/* SPDX-License-Identifier: GPL-2.0 */
/* Apply the decisions of slot_wants.h to netdevs. */
#ifndef RHCA_LIFECYCLE_SLOT_APPLY_H
#define RHCA_LIFECYCLE_SLOT_APPLY_H

#include <linux/types.h>

struct net_device;

int rhca_slot_request(const char *name, struct net_device *ndev);
void rhca_slot_kick(const struct net_device *ndev);
void rhca_slot_flush(void);
int rhca_slot_apply_init(void);
void rhca_slot_apply_start(void);
void rhca_slot_apply_stop(void);
void rhca_slot_apply_exit(void);

#endif
