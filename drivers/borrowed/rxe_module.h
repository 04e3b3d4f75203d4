/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_BORROWED_RXE_MODULE_H
#define RHCA_BORROWED_RXE_MODULE_H

#include <linux/types.h>

struct kobject;

struct kobject *rhca_in_tree_module(void);
bool rhca_in_tree_unloading(void);

#endif
