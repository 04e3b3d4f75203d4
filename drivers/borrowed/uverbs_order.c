// SPDX-License-Identifier: GPL-2.0
/*
 * When a device is unregistered, we hear of it before uverbs destroys what processes
 * have on it: their queue pairs go to ERR and their completions are there to be polled.
 *
 * We use:	an order: ib_core tells its clients of a device's end in the reverse order of
 *		their registration, so uverbs has to be there before us. A symbol of it makes
 *		us depend on it; newer kernels have what else we need of it elsewhere.
 * Where:	drivers/infiniband/core/device.c, disable_device() and assign_client_id();
 *		uverbs_marshall.c, which is part of ib_uverbs.
 * Since:	5.3 (the order), before 2.6.30 (the symbol); looked at in 6.12 and 7.3.
 * If it changes: a process loses completions of what it had posted when its device goes.
 * Test:	unplug-flush.
 */
#include <linux/compiler.h>
#include <rdma/ib_marshall.h>

static const void *const uverbs_comes_first __used = ib_copy_qp_attr_to_user;
