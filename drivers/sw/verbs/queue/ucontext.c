// SPDX-License-Identifier: GPL-2.0
/* Processes that have the device open. */
#include <linux/module.h>

#include "sw/verbs/queue/ring.h"
#include "sw/verbs/queue/ucontext.h"

/*
 * A process that has the device open keeps the module: ib_core lets go of it
 * for drivers that can be unplugged, but unloading is not unplugging. Each mapping
 * of a ring keeps it as well, see ring.c.
 */
static int alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	return try_module_get(THIS_MODULE) ? 0 : -ENODEV;
}

/* Also called when the device is unplugged under the process */
static void dealloc_ucontext(struct ib_ucontext *ibuc)
{
	module_put(THIS_MODULE);
}

/*
 * The device is removed while the process goes on. Mapped rings are plain memory, which
 * the mappings keep, so there is nothing to tear down; that this operation exists is what
 * lets ib_core remove the device without waiting for the process.
 */
static void disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

const struct ib_device_ops rhca_ucontext_verbs = {
	.alloc_ucontext		= alloc_ucontext,
	.dealloc_ucontext	= dealloc_ucontext,
	.disassociate_ucontext	= disassociate_ucontext,
	.mmap			= rhca_mmap,
	.mmap_free		= rhca_mmap_free,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, rhca_ucontext, ibuc),
};
