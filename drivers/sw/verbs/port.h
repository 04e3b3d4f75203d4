/* SPDX-License-Identifier: GPL-2.0 */
/* Ports that the software HCA serves, as packets find them. */
#ifndef RHCA_SW_VERBS_PORT_H
#define RHCA_SW_VERBS_PORT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rcupdate.h>

#include "core/port/port.h"

struct rhca_qp_handle;

/**
 * struct rhca_verbs_port - A port
 * @entry: in the list of all of them; RCU
 * @core: the core's part
 * @gsi: QP1, or NULL
 * @held_truesize: memory of packets that its QPs hold until others before them come
 * @quiesced: the transport listens for it no more
 * @transport: the transport's own
 */
struct rhca_verbs_port {
	struct list_head entry;
	struct rhca_port *core;
	struct rhca_qp_handle __rcu *gsi;
	atomic_long_t held_truesize;
	bool quiesced;
	void *transport;
};

static inline struct rhca_verbs_port *to_verbs_port(const struct rhca_port *port)
{
	return port->private;
}

int rhca_verbs_port_open(struct rhca_port *core, void *transport);
void *rhca_verbs_port_close(struct rhca_port *core);
struct rhca_port *rhca_port_find_gid(const struct rhca_gid_query *query,
				     u16 *index);
struct rhca_port *rhca_port_find_netdev(const struct net_device *ndev);

#endif
