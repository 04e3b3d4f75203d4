/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_CONTROL_SYSFS_H
#define RHCA_CONTROL_SYSFS_H

#include <linux/sysfs.h>

int rhca_sysfs_init(void);
void rhca_sysfs_exit(void);

extern const struct attribute_group rhca_lag_files;	/* lag_files.c */

#endif
