/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_LIFECYCLE_LINK_H
#define RHCA_LIFECYCLE_LINK_H

int rhca_link_init(void);
void rhca_link_exit(void);

#endif
