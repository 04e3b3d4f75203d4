/* SPDX-License-Identifier: GPL-2.0 */
/* A path to one destination: an address and the routes to it. */
#ifndef RHCA_SW_VERBS_QP_PATH_H
#define RHCA_SW_VERBS_QP_PATH_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <net/dst_cache.h>

#include "core/port/address.h"

struct rhca_verbs_dev;
struct rhca_verbs_port;

/* A path to one destination. Immutable once published */
struct rhca_path {
	refcount_t refs;		/* an address handle, a QP, a posted datagram */
	struct rcu_head rcu;		/* readers find it through RCU pointers */
	struct list_head entry;		/* in the port's list */
	struct ib_pd *pd;		/* of the address handle; no other domain may use it */
	struct rhca_address address;	/* the destination */
	struct dst_cache route;		/* IP route of v2, per CPU, or none; bottom halves off */
	struct dst_cache second_route;	/* by the port's second netdev, if any */
};

struct rhca_path *rhca_path_create(const struct rhca_address *address,
				   struct ib_pd *pd, gfp_t gfp);
void rhca_path_put(struct rhca_path *path);
void rhca_paths_forget_routes(struct rhca_verbs_port *vport);
struct rhca_path *rhca_path_get_number(struct rhca_verbs_dev *dev,
				       struct ib_pd *pd, u32 number);

static inline struct rhca_path *rhca_path_get(struct rhca_path *path)
{
	refcount_inc(&path->refs);
	return path;
}

#endif
