/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of decisions beside the code that acts.
 */
#ifndef RHCA_LIFECYCLE_SLOT_LOOK_H
#define RHCA_LIFECYCLE_SLOT_LOOK_H

#include <linux/types.h>

struct workqueue_struct;

void rhca_slot_look_soon(void);
void rhca_slot_compare(bool compare);
void rhca_slot_look_init(struct workqueue_struct *wq, bool (*busy)(void));
void rhca_slot_look_stop(void);

#endif
