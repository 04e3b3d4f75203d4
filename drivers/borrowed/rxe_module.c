// SPDX-License-Identifier: GPL-2.0
/*
 * Is rdma_rxe loaded, and is it being unloaded? Its exit unregisters our devices.
 *
 * We use:	a lookup by name in the kset of all modules, reached through our own kobject,
 *		as find_module() and its lock are not exported. That a module is GOING while
 *		its exit runs. That its exit calls ib_unregister_driver() with a driver id that
 *		we share, since libibverbs finds the provider by it.
 * Where:	include/linux/module.h, struct module_kobject; kernel/module/main.c;
 *		drivers/infiniband/sw/rxe/rxe.c, rxe_module_exit().
 * Since:	5.1 (ib_unregister_driver), the rest longer; looked at in 6.12 and 7.3.
 * If it changes: our devices stay removed after "rmmod rdma_rxe", as if a user had removed
 *		them; or, with rxe_links=Y, both modules create links of type rxe.
 * Test:	coexist, rxe-links.
 */
#include <linux/kobject.h>
#include <linux/module.h>

#include "borrowed/rxe_module.h"

/* Its kobject, for kobject_put(), or NULL */
static struct kobject *find_in_tree(void)
{
	return kset_find_obj(THIS_MODULE->mkobj.kobj.kset, RHCA_IN_TREE_MODULE);
}

/**
 * rhca_in_tree_loaded - Is the in-tree software driver, which shares our driver id, loaded?
 *
 * Context: any that may sleep.
 */
bool rhca_in_tree_loaded(void)
{
	struct kobject *kobj = find_in_tree();

	kobject_put(kobj);
	return kobj;
}

/**
 * rhca_in_tree_unloading - Is the in-tree software driver being unloaded?
 *
 * A device cannot tell this from a removal by netlink, which happens while that module is
 * live or not loaded.
 *
 * Context: any that may sleep.
 */
bool rhca_in_tree_unloading(void)
{
	struct kobject *kobj = find_in_tree();
	struct module_kobject *mkobj;
	bool going;

	if (!kobj)
		return false;
	mkobj = container_of(kobj, struct module_kobject, kobj);
	going = mkobj->mod && mkobj->mod->state == MODULE_STATE_GOING;
	kobject_put(kobj);
	return going;
}
