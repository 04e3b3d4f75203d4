/* SPDX-License-Identifier: GPL-2.0 */
/* Partitions of a port: the P_Key table that packets are checked against, and writes to it. */
#ifndef RHCA_CORE_PORT_PORT_PKEYS_H
#define RHCA_CORE_PORT_PORT_PKEYS_H

#include <linux/types.h>

struct rhca_dev;
struct rhca_pkey_table;
struct rhca_pkey_violation;
struct rhca_port;

int rhca_pkeys_init(struct rhca_port *port,
		    const struct rhca_pkey_table *initial);
void rhca_pkeys_exit(struct rhca_port *port);
void rhca_pkeys_freeze(struct rhca_dev *dev, bool frozen);
void rhca_pkeys_copy(struct rhca_port *port, struct rhca_pkey_table *to);
void rhca_pkey_violated(struct rhca_port *port,
			const struct rhca_pkey_violation *violation);

ssize_t rhca_pkeys_show(struct rhca_port *port, char *buf);
int rhca_pkeys_store(struct rhca_port *port, const char *text);

#endif
