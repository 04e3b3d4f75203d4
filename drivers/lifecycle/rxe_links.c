// SPDX-License-Identifier: GPL-2.0
/*
 * "rdma link add ... type rxe" for scripts written for the in-tree driver, if the administrator
 * wants a device of ours for them. ib_core has one set of link ops for each type, so rdma_rxe
 * cannot be loaded meanwhile.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <rdma/rdma_netlink.h>

#include "borrowed/rxe_module.h"
#include "lifecycle/rxe_links.h"
#include "lifecycle/slot_apply.h"

static bool rxe_links;
module_param(rxe_links, bool, 0444);
MODULE_PARM_DESC(rxe_links, "\"rdma link add ... type rxe\" makes devices of this driver; rdma_rxe is not let in then (default: N)");

static struct rdma_link_ops rxe_link_ops = {
	.type		= "rxe",
	.newlink	= rhca_slot_request,
};

static int refuse_in_tree_module(struct notifier_block *nb,
				 unsigned long state, void *data)
{
	const struct module *mod = data;

	if (state != MODULE_STATE_COMING || strcmp(mod->name, RHCA_IN_TREE_MODULE))
		return NOTIFY_DONE;
	pr_warn("rdma_rxe is refused: rxe_links=Y, so links of type rxe are made here\n");
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block module_notifier = {
	.notifier_call = refuse_in_tree_module,
};

/*
 * Refuse to let rdma_rxe load, if the parameter says so. Returns 0; -EBUSY, with a message, when
 * rdma_rxe is loaded already.
 */
int rhca_rxe_links_init(void)
{
	int ret;

	if (!rxe_links)
		return 0;
	ret = register_module_notifier(&module_notifier);
	if (ret)
		return ret;
	if (rhca_in_tree_loaded()) {
		pr_err("rxe_links=Y: rdma_rxe is loaded and makes links of type rxe: unload it first\n");
		unregister_module_notifier(&module_notifier);
		return -EBUSY;
	}
	return 0;
}

/* Undo rhca_rxe_links_init() */
void rhca_rxe_links_exit(void)
{
	if (rxe_links)
		unregister_module_notifier(&module_notifier);
}

/* Register link type rxe, if the parameter says so */
void rhca_rxe_links_start(void)
{
	if (rxe_links)
		rdma_link_register(&rxe_link_ops);
}

/* Undo rhca_rxe_links_start() */
void rhca_rxe_links_stop(void)
{
	if (rxe_links)
		rdma_link_unregister(&rxe_link_ops);
}
