/* SPDX-License-Identifier: GPL-2.0 */
/* IP addresses of netdevs that come and go. */
#ifndef RHCA_CONTROL_ADDRESSES_H
#define RHCA_CONTROL_ADDRESSES_H

void rhca_addresses_init(void);
void rhca_addresses_exit(void);

#endif
