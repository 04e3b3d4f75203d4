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
