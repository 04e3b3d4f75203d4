/* SPDX-License-Identifier: GPL-2.0 */
/* Traffic class, TTL and priority of a port: their files, and the DCB APP table. */
#ifndef RHCA_CORE_QP_PORT_QOS_H
#define RHCA_CORE_QP_PORT_QOS_H

#include <linux/types.h>

struct rhca_port;

void rhca_qos_read_apps(struct rhca_port *port);

ssize_t rhca_tclass_show(struct rhca_port *port, char *buf);
int rhca_tclass_store(struct rhca_port *port, const char *text);
ssize_t rhca_ttl_show(struct rhca_port *port, char *buf);
int rhca_ttl_store(struct rhca_port *port, const char *text);

#endif
