/* SPDX-License-Identifier: GPL-2.0 */
/* What a port keeps when another backend serves it. */
#ifndef RHCA_CORE_PORT_SETTINGS_H
#define RHCA_CORE_PORT_SETTINGS_H

#include <rdma/ib_verbs.h>

#include "core/rules/cc.h"
#include "core/rules/pkey.h"
#include "core/rules/tclass.h"

struct rhca_dev;
struct rhca_port;

/**
 * struct rhca_settings - Settings of a port
 * @name: its device's name, or empty
 * @pkeys: partitions
 * @tclass: rules for the traffic class
 * @ttl: forced TTL, or 0
 * @cc: loss and congestion of software
 */
struct rhca_settings {
	char name[IB_DEVICE_NAME_MAX];
	struct rhca_pkey_table pkeys;
	struct rhca_tclass_table tclass;
	u8 ttl;
	struct rhca_cc cc;
};

bool rhca_settings_cover(const struct rhca_dev *dev);
void rhca_settings_save(struct rhca_port *port,
			struct rhca_settings *settings);
void rhca_settings_restore(struct rhca_port *port,
			   const struct rhca_settings *settings);

#endif
