/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of decisions beside the code that acts.
 */
#ifndef RHCA_LIFECYCLE_SLOT_LOOK_H
#define RHCA_LIFECYCLE_SLOT_LOOK_H

#include <linux/types.h>

void rhca_slot_kick(void);
void rhca_slot_compare(bool compare);
int rhca_slot_look_init(bool (*busy)(void));
void rhca_slot_look_stop(void);
void rhca_slot_look_exit(void);

#endif
