/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traffic class, TTL and priority of a port's packets: values that the administrator forces over
 * the application's.
 */
#ifndef RHCA_CORE_RULES_QOS_H
#define RHCA_CORE_RULES_QOS_H

#include <linux/mutex.h>
#include <linux/types.h>

#include "core/rules/tclass.h"
#include "wire/encap.h"

/* Settings of a port */
struct rhca_qos {
	u8 ttl;					/* of RoCE v2; 0: the address vector's */
	u8 app_priority[RHCA_NUM_ENCAPS];	/* from the netdev's DCB APP table, or 0 */
	struct mutex tclass_lock;		/* protects: */
	struct rhca_tclass_table tclass;	/* of RC connections over RoCE v2 */
};

/* For a packet to be sent */
static inline u8 rhca_qos_hop_limit(const struct rhca_qos *qos,
				    const struct rhca_flow *flow)
{
	u8 ttl = READ_ONCE(qos->ttl);

	return ttl && flow->encap != RHCA_V1 ? ttl : flow->hop_limit;
}

/**
 * rhca_qos_priority - Priority of a packet, for VLAN tag, qdisc and NIC queue
 * @qos: of the port
 * @sl: service level of the address vector
 * @flow: network headers, with the effective traffic class
 *
 * Return: 0 to 7, the first that is not 0 of: service level, upper bits of the traffic class,
 * DCB APP table.
 */
static inline u8 rhca_qos_priority(const struct rhca_qos *qos, u8 sl,
				   const struct rhca_flow *flow)
{
	if (sl)
		return sl & 7;
	return flow->tclass >> 5 ?: READ_ONCE(qos->app_priority[flow->encap]);
}

#endif
