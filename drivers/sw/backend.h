/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_BACKEND_H
#define RHCA_SW_BACKEND_H

#include <rhca/backend.h>

int rhca_sw_init(void);
void rhca_sw_exit(void);

#endif
