// SPDX-License-Identifier: GPL-2.0
/* Paths: shared by all senders to a destination. */
#include <linux/rculist.h>
#include <linux/slab.h>
#include <rhca/compat.h>

#include "sw/verbs/device.h"
#include "sw/verbs/port.h"
#include "sw/verbs/qp/path.h"

static void free_path(struct rhca_path *path)
{
	dst_cache_destroy(&path->second_route);
	dst_cache_destroy(&path->route);
	kfree(path);
}

static void free_path_after_readers(struct rcu_head *rcu)
{
	free_path(container_of(rcu, struct rhca_path, rcu));
}

/* A zeroed cache may be destroyed, so free_path() works after an error */
static int init_routes(struct rhca_path *path, gfp_t gfp)
{
	int ret = dst_cache_init(&path->route, gfp);

	if (ret || !rcu_access_pointer(path->address.port->second))
		return ret;
	return dst_cache_init(&path->second_route, gfp);
}

/*
 * Create a path to a resolved address, for handles and QPs of @pd. If @gfp does not allow to sleep,
 * each packet looks up its route: per-CPU memory is scarce then, and the CM creates a handle for
 * each message. Returns a path with one reference, or -ENOMEM.
 */
struct rhca_path *rhca_path_create(const struct rhca_address *address,
				   struct ib_pd *pd, gfp_t gfp)
{
	struct rhca_verbs_port *vport = to_verbs_port(address->port);
	struct rhca_path *path = kzalloc(sizeof(*path), gfp);
	unsigned long flags;
	int ret;

	if (!path)
		return ERR_PTR(-ENOMEM);
	refcount_set(&path->refs, 1);
	path->pd = pd;
	path->address = *address;
	ret = gfpflags_allow_blocking(gfp) ? init_routes(path, gfp) : 0;
	if (ret) {
		free_path(path);
		return ERR_PTR(ret);
	}
	spin_lock_irqsave(&vport->paths_lock, flags);
	list_add_rcu(&path->entry, &vport->paths);
	spin_unlock_irqrestore(&vport->paths_lock, flags);
	return path;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_path_create);

/* Drop a reference. @path: the path, or NULL. Any context. */
void rhca_path_put(struct rhca_path *path)
{
	struct rhca_verbs_port *vport;
	unsigned long flags;

	if (!path || !refcount_dec_and_test(&path->refs))
		return;
	vport = to_verbs_port(path->address.port);
	spin_lock_irqsave(&vport->paths_lock, flags);
	list_del_rcu(&path->entry);
	spin_unlock_irqrestore(&vport->paths_lock, flags);
	call_rcu(&path->rcu, free_path_after_readers);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_path_put);

/*
 * Release the routes of a port whose netdev is being unregistered: those of IPv6 and IPsec point
 * into the network namespace without a reference, and users may keep paths for longer. No packet
 * uses the port any more, so none is cached again. Paths without users are not found, but freed
 * before the unregistration ends, as that waits for RCU callbacks.
 */
void rhca_paths_forget_routes(struct rhca_verbs_port *vport)
{
	struct rhca_path *path;

	rcu_read_lock();
	list_for_each_entry_rcu(path, &vport->paths, entry) {
		dst_cache_reset_now(&path->route);
		dst_cache_reset_now(&path->second_route);
	}
	rcu_read_unlock();
}

/*
 * Get the path of a user's address handle. @number: from the work request. NULL if there is none or
 * it belongs to another domain than @pd, the QP's.
 */
struct rhca_path *rhca_path_get_number(struct rhca_verbs_dev *dev,
				       struct ib_pd *pd, u32 number)
{
	struct rhca_path *path;

	rcu_read_lock();
	path = xa_load(&dev->paths, number);
	if (path && (path->pd != pd || !refcount_inc_not_zero(&path->refs)))
		path = NULL;
	rcu_read_unlock();
	return path;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_path_get_number);
