// SPDX-License-Identifier: GPL-2.0
/* News of DCB APP tables, which "dcb app" or an LLDP agent writes. */
#include <linux/notifier.h>
#include <net/dcbevent.h>
#include <net/dcbnl.h>

#include "control/dcb.h"
#include "core/port_events.h"

static int apps_changed(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	const struct dcb_app_type *changed = ptr;

	if (event == DCB_APP_EVENT)
		rhca_port_apps_changed(changed->ifindex);
	return NOTIFY_DONE;
}

static struct notifier_block dcb_notifier = {
	.notifier_call = apps_changed,
};

int rhca_dcb_init(void)
{
	return register_dcbevent_notifier(&dcb_notifier);
}

void rhca_dcb_exit(void)
{
	unregister_dcbevent_notifier(&dcb_notifier);
}
