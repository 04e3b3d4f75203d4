/* SPDX-License-Identifier: GPL-2.0 */
/* Settings that a port keeps when another backend serves it. */
#ifndef RHCA_CORE_PORT_SETTINGS_H
#define RHCA_CORE_PORT_SETTINGS_H

#include <rdma/ib_verbs.h>

#include "core/rules/cc.h"
#include "core/rules/pkey.h"
#include "core/rules/tclass.h"

/* Settings of a port */
struct rhca_settings {
	char name[IB_DEVICE_NAME_MAX];		/* its device's name, or empty */
	struct rhca_pkey_table pkeys;		/* partitions */
	struct rhca_tclass_table tclass;	/* rules for the traffic class */
	u8 ttl;					/* forced TTL, or 0 */
	struct rhca_cc cc;			/* loss and congestion of software */
};

#endif
