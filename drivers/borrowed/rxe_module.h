/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_BORROWED_RXE_MODULE_H
#define RHCA_BORROWED_RXE_MODULE_H

#include <linux/types.h>

#define RHCA_IN_TREE_MODULE	"rdma_rxe"

bool rhca_in_tree_loaded(void);
bool rhca_in_tree_unloading(void);

#endif
