// SPDX-License-Identifier: GPL-2.0
/* The files for forced values of a port, and the priority that its netdev assigns to RoCE. */
#include <linux/dcbnl.h>
#include <linux/if_vlan.h>
#include <linux/sysfs.h>
#include <net/dcbnl.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/port/device_types.h"
#include "core/qp/port_qos.h"
#include "core/qp/qp.h"
#include "core/rules/qos.h"
#include "wire/headers.h"

/* --- traffic class ---------------------------------------------------------- */

/* An adapter writes headers by itself, and gets the values at connect time only */
static bool reaches_connected(const struct rhca_port *port)
{
	return port->dev->backend->qp_readdress;
}

static void log_limits(const struct rhca_port *port)
{
	if (!reaches_connected(port))
		ibdev_info_ratelimited(&port->dev->ibdev,
				       "port %u: the adapter takes forced values for new connections only, and none for datagrams of processes\n",
				       port->num);
}

ssize_t rhca_tclass_show(struct rhca_port *port, char *buf)
{
	struct rhca_qos *qos = &port->qos;
	ssize_t len;

	mutex_lock(&qos->tclass_lock);
	len = rhca_tclass_emit(&qos->tclass, buf);
	mutex_unlock(&qos->tclass_lock);
	if (!reaches_connected(port))
		len += sysfs_emit_at(buf, len, "# new connections only\n");
	return len;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_tclass_show);

/* A QP that is being modified either reads the new rules or is readdressed after that */
int rhca_tclass_store(struct rhca_port *port, const char *text)
{
	struct rhca_qos *qos = &port->qos;
	struct rhca_tclass_rule rule;
	int ret;

	ret = rhca_tclass_parse(text, &rule);
	if (ret)
		return ret;
	mutex_lock(&qos->tclass_lock);
	ret = rhca_tclass_apply(&qos->tclass, &rule);
	mutex_unlock(&qos->tclass_lock);
	if (ret)
		return ret;
	rhca_qp_for_each(port->dev, rhca_qp_readdress);
	log_limits(port);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_tclass_store);

/* --- TTL -------------------------------------------------------------------- */

ssize_t rhca_ttl_show(struct rhca_port *port, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(port->qos.ttl));
}

/* Software reads it for each packet, so it takes effect at once */
int rhca_ttl_store(struct rhca_port *port, const char *text)
{
	int ttl;

	if (kstrtoint(text, 0, &ttl) || ttl < 0 || ttl > U8_MAX)
		return -EINVAL;
	WRITE_ONCE(port->qos.ttl, ttl);
	log_limits(port);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_ttl_store);

/* --- priority --------------------------------------------------------------- */

#define APPS_OF_ENCAP	2

/* Entries for RoCE in order of precedence; selector 0: none */
static const struct dcb_app apps[RHCA_NUM_ENCAPS][APPS_OF_ENCAP] = {
	[RHCA_V1]	= {
		{ IEEE_8021QAZ_APP_SEL_ETHERTYPE, .protocol = RHCA_ETHERTYPE },
	},
	[RHCA_V2_IPV4]	= {
		{ IEEE_8021QAZ_APP_SEL_DGRAM, .protocol = RHCA_UDP_PORT },
		{ IEEE_8021QAZ_APP_SEL_ANY, .protocol = RHCA_UDP_PORT },
	},
	[RHCA_V2_IPV6]	= {
		{ IEEE_8021QAZ_APP_SEL_DGRAM, .protocol = RHCA_UDP_PORT },
		{ IEEE_8021QAZ_APP_SEL_ANY, .protocol = RHCA_UDP_PORT },
	},
};

static u8 read_app(struct net_device *ndev, const struct dcb_app *candidates)
{
	struct dcb_app app;
	u8 priorities, i;

	for (i = 0; i < APPS_OF_ENCAP && candidates[i].selector; i++) {
		app = candidates[i];
		priorities = dcb_ieee_getapp_mask(ndev, &app);
		if (priorities)
			return fls(priorities) - 1;	/* the highest */
	}
	return 0;
}

/* Serialises updates, so that an older one does not overwrite a newer one */
static DEFINE_SPINLOCK(apps_lock);

/*
 * Read the priorities that a port's netdev assigns to RoCE. The kernel finds a table by ifindex
 * alone, which netdevs of other namespaces have as well: a container's veth would get the table of
 * the host's adapter. So require that the netdev's driver supports DCB. Any context but interrupts;
 * does not sleep.
 */
void rhca_qos_read_apps(struct rhca_port *port)
{
	struct net_device *ndev;
	u8 encap;

	if (!IS_ENABLED(CONFIG_DCB))
		return;
	rcu_read_lock();
	ndev = rcu_dereference(port->ndev);
	if (ndev && is_vlan_dev(ndev))
		ndev = vlan_dev_real_dev(ndev);
	if (ndev && !rhca_speaks_dcb(ndev))
		ndev = NULL;
	spin_lock_bh(&apps_lock);
	for (encap = 0; ndev && encap < RHCA_NUM_ENCAPS; encap++)
		WRITE_ONCE(port->qos.app_priority[encap],
			   read_app(ndev, apps[encap]));
	spin_unlock_bh(&apps_lock);
	rcu_read_unlock();
}
