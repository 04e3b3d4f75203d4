// SPDX-License-Identifier: GPL-2.0
/*
 * When a device is unregistered, we must be called before uverbs destroys the objects of
 * processes: we move their queue pairs to ERR, so that they can poll all completions.
 *
 * We use:	an order: ib_core removes a device from its clients in the reverse order of
 *		their registration, so uverbs must be loaded before us. A reference to one of
 *		its symbols makes us depend on it; newer kernels moved the others elsewhere.
 * Where:	drivers/infiniband/core/device.c, disable_device() and assign_client_id();
 *		uverbs_marshall.c, which is part of ib_uverbs.
 * Since:	5.3 (the order), before 2.6.30 (the symbol); looked at in 6.12 and 7.3.
 * If it changes: a process loses completions when its device is unregistered.
 * Test:	unplug-flush.
 */
#include <linux/compiler.h>
#include <rdma/ib_marshall.h>

static const void *const uverbs_comes_first __used = ib_copy_qp_attr_to_user;
