/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses that nobody answers for.
 */
#ifndef RHCA_CONTROL_NEIGHBOURS_H
#define RHCA_CONTROL_NEIGHBOURS_H

void rhca_neighbours_init(void);
void rhca_neighbours_exit(void);

#endif
