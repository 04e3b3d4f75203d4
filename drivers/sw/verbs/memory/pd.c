// SPDX-License-Identifier: GPL-2.0
/* Protection domains, IBTA vol. 1, 10.2.3. */
#include "sw/verbs/device.h"
#include "sw/verbs/memory/pd.h"

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return rhca_limit_take(to_verbs_dev(ibpd->device), RHCA_LIMIT_PD,
			       RHCA_MAX_PD) ? 0 : -ENOMEM;
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	rhca_limit_give(to_verbs_dev(ibpd->device), RHCA_LIMIT_PD);
	return 0;
}

const struct ib_device_ops rhca_pd_verbs = {
	.alloc_pd	= alloc_pd,
	.dealloc_pd	= dealloc_pd,

	INIT_RDMA_OBJ_SIZE(ib_pd, rhca_pd, ibpd),
};
