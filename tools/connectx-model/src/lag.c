// SPDX-License-Identifier: GPL-2.0
#include "lag.h"

#include "device.h"

bool lag_pair(struct device *first, struct device *second)
{
	if (first == second || first->partner || second->partner)
		return false;
	first->partner = second;
	first->port_number = 1;
	second->partner = first;
	second->port_number = 2;
	memcpy(second->vport.adapter_mac, first->vport.mac, MAC_BYTES);
	device_reset(first);
	device_reset(second);
	return true;
}

bool lag_is_master(const struct device *dev)
{
	return dev->port_number == 1;
}

struct lag *lag_of(struct device *dev)
{
	if (!dev->partner)
		return NULL;
	return lag_is_master(dev) ? &dev->lag : &dev->partner->lag;
}

struct port *lag_egress(struct device *dev, u32 affinity)
{
	const struct lag *lag = lag_of(dev);

	if (!affinity || affinity > LAG_PORTS || !lag || !lag->spreads || !lag_is_master(dev))
		return &dev->port;
	return lag->remap[affinity - 1] == dev->port_number ? &dev->port : &dev->partner->port;
}

struct device *lag_engine(struct device *dev)
{
	const struct lag *lag = lag_of(dev);

	return lag && lag->active && !lag_is_master(dev) ? dev->partner : dev;
}

void lag_reset(struct device *dev)
{
	if (lag_is_master(dev))
		memset(&dev->lag, 0, sizeof(dev->lag));
}
