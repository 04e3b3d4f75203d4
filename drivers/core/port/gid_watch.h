/* SPDX-License-Identifier: GPL-2.0 */
/* GIDs on netdevs whose addresses ib_core does not watch. */
#ifndef RHCA_CORE_PORT_GID_WATCH_H
#define RHCA_CORE_PORT_GID_WATCH_H

#include <linux/types.h>

struct rhca_dev;
struct rhca_port;

void rhca_gid_watch_init(struct rhca_port *port);
void rhca_gid_watch_exit(struct rhca_port *port);
void rhca_gid_watch_address(struct rhca_port *port, bool removed);
void rhca_gid_watch_registered(struct rhca_dev *dev);

#endif
