// SPDX-License-Identifier: GPL-2.0
#include "core/device.h"
#include "core/settings.h"

/**
 * rhca_settings_cover - Can another device have all that the user has set for this one?
 * @dev: the device. LAGs and devices with several ports have more, and stay with
 *	software
 */
bool rhca_settings_cover(const struct rhca_dev *dev)
{
	return dev->num_ports == 1 && !dev->replaced.num_devices &&
	       !rcu_access_pointer(dev->ports[0].second);
}

/**
 * rhca_settings_save - Note what the user has set
 * @dev: a device with one port; its partitions are not changed any more: a tenant
 *	that is let in now would be forgotten
 * @settings: filled in
 *
 * Context: may sleep.
 */
void rhca_settings_save(struct rhca_dev *dev, struct rhca_settings *settings)
{
	struct rhca_port *port = &dev->ports[0];

	strscpy(settings->name, dev_name(&dev->ibdev.dev),
		sizeof(settings->name));
	rhca_pkeys_freeze(port, true);
	rhca_pkeys_copy(port, &settings->pkeys);
	mutex_lock(&port->qos.tclass_lock);
	settings->tclass = *port->qos.tclass;
	mutex_unlock(&port->qos.tclass_lock);
	settings->ttl = READ_ONCE(port->qos.ttl);
}

/**
 * rhca_settings_restore - Put in force what was noted
 * @dev: a device that nobody sees yet; its name and partitions come by its
 *	description, &struct rhca_dev_spec
 * @settings: the rest
 */
void rhca_settings_restore(struct rhca_dev *dev,
			   const struct rhca_settings *settings)
{
	struct rhca_qos *qos = &dev->ports[0].qos;

	*qos->tclass = settings->tclass;
	qos->ttl = settings->ttl;
}
