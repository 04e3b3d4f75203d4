/* SPDX-License-Identifier: GPL-2.0 */
/* roce_lag_enable and roce_lag_ecmp_dev in a device's folder. */
#ifndef RHCA_CONTROL_LAG_FILES_H
#define RHCA_CONTROL_LAG_FILES_H

#include <linux/sysfs.h>

extern const struct attribute_group rhca_lag_files;

#endif
