/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_CONTROL_NOTIFIERS_H
#define RHCA_CONTROL_NOTIFIERS_H

int rhca_notifiers_init(void);
void rhca_notifiers_exit(void);

#endif
