/* SPDX-License-Identifier: GPL-2.0 */
/* Events of netdevs, for the ports on them. */
#ifndef RHCA_CORE_PORT_EVENTS_H
#define RHCA_CORE_PORT_EVENTS_H

#include <linux/types.h>

struct net_device;

void rhca_port_changed(struct net_device *ndev, bool mtu_changed);
int rhca_port_events_init(void);
void rhca_port_events_exit(void);

#endif
