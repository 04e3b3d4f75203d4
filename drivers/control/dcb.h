/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_CONTROL_DCB_H
#define RHCA_CONTROL_DCB_H

int rhca_dcb_init(void);
void rhca_dcb_exit(void);

#endif
