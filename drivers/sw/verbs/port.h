/* SPDX-License-Identifier: GPL-2.0 */
/* Ports of the software HCA that receive packets. */
#ifndef RHCA_SW_VERBS_PORT_H
#define RHCA_SW_VERBS_PORT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "core/port/port.h"

struct rhca_qp_handle;

/* Private data of such a port */
struct rhca_verbs_port {
	struct rhca_qp_handle __rcu *gsi;	/* QP1, or NULL */
	atomic_long_t held_truesize;	/* of out-of-order packets held by its QPs */
	bool quiesced;			/* the transport no longer receives for it */
	void *transport;		/* the transport's data */
	spinlock_t paths_lock;		/* writes to @paths */
	struct list_head paths;		/* those from this port */
};

static inline struct rhca_verbs_port *to_verbs_port(const struct rhca_port *port)
{
	return port->private;
}

struct rhca_port *rhca_port_find_gid(const struct rhca_gid_query *query,
				     u16 *index);
struct rhca_port *rhca_port_find_netdev(const struct net_device *ndev);

extern const struct ib_device_ops rhca_cc_verbs;	/* cc_files.c */

#endif
