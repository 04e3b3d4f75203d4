// SPDX-License-Identifier: GPL-2.0
/* How many objects a device has, and may have. */
#include "sw/verbs/device.h"

/**
 * rhca_limit_take - Count an object that is about to be created
 * @dev: the device
 * @which: kind of object
 * @max: how many there may be
 *
 * Return: false when there are @max already.
 */
bool rhca_limit_take(struct rhca_verbs_dev *dev, enum rhca_limited which,
		     int max)
{
	return atomic_add_unless(&dev->num_objects[which], 1, max);
}

void rhca_limit_give(struct rhca_verbs_dev *dev, enum rhca_limited which)
{
	atomic_dec(&dev->num_objects[which]);
}

/* Protection domains, IBTA vol. 1, 10.2.3, are no more than that: objects compare the pointer */
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
	.size_ib_pd	= sizeof(struct ib_pd),
};
