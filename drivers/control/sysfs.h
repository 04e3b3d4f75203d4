/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_CONTROL_SYSFS_H
#define RHCA_CONTROL_SYSFS_H

int rhca_sysfs_init(void);
void rhca_sysfs_exit(void);

#endif
