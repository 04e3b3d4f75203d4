// SPDX-License-Identifier: GPL-2.0
#include "core/port/device_types.h"
#include "core/port/port_pkeys.h"
#include "core/port/settings.h"

/**
 * rhca_settings_save - Note what the user has set
 * @port: the port. A tenant that is let into a partition afterwards is forgotten, see
 *	rhca_pkeys_freeze()
 * @settings: filled in
 *
 * Context: may sleep.
 */
void rhca_settings_save(struct rhca_port *port, struct rhca_settings *settings)
{
	strscpy(settings->name, dev_name(&port->dev->ibdev.dev),
		sizeof(settings->name));
	rhca_pkeys_copy(port, &settings->pkeys);
	mutex_lock(&port->qos.tclass_lock);
	settings->tclass = port->qos.tclass;
	mutex_unlock(&port->qos.tclass_lock);
	settings->ttl = READ_ONCE(port->qos.ttl);
	settings->cc = port->cc;
}

/*
 * Put in force what was noted, on a port of a device that nobody sees yet; its name and
 * partitions come by &struct rhca_dev_spec
 */
void rhca_settings_restore(struct rhca_port *port,
			   const struct rhca_settings *settings)
{
	port->qos.tclass = settings->tclass;
	port->qos.ttl = settings->ttl;
	port->cc = settings->cc;
}
