/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resolved address vectors: all that a packet to a destination needs besides its transport headers,
 * after the port's settings are applied.
 */
#ifndef RHCA_CORE_PORT_ADDRESS_H
#define RHCA_CORE_PORT_ADDRESS_H

#include <linux/if_ether.h>
#include <rdma/ib_verbs.h>

#include "core/port/device_types.h"
#include "core/rules/qos.h"
#include "wire/encap.h"

/* Above all rates that a user can set: no limit */
#define RHCA_STATIC_RATE_MAX	31

/* A destination, with the header fields to reach it */
struct rhca_address {
	struct rhca_port *port;
	u16 sgid_index : 11;	/* of RHCA_NUM_GIDS */
	/* enum ib_rate. A QP has several of these structs: another byte doubles it */
	u16 static_rate : 5;
	u16 vlan_id;		/* of the source GID's netdev, or RHCA_NO_VLAN */
	int ifindex;		/* of that netdev, in the namespace of the port's */
	u8 sl;			/* see rhca_address_priority() */
	u8 tclass;		/* of the address vector; @flow has the effective one */
	u8 dmac[ETH_ALEN];	/* for RoCE v1 and for VLANs */
	struct rhca_flow flow;	/* its UDP source port is for connected QPs only */
};

/* Reliable connections, IBTA vol. 1, 9.7, and annex A14 */
static inline bool rhca_qp_type_is_reliable(enum ib_qp_type type)
{
	return type == IB_QPT_RC || type == IB_QPT_XRC_INI ||
	       type == IB_QPT_XRC_TGT;
}

/* IPv4 TTL, IPv6 hop limit or GRH hop limit, with the port's present TTL */
static inline u8 rhca_address_hop_limit(const struct rhca_address *address)
{
	return rhca_qos_hop_limit(&address->port->qos, &address->flow);
}

/* 0 to 7; see rhca_qos_priority() */
static inline u8 rhca_address_priority(const struct rhca_address *address)
{
	return rhca_qos_priority(&address->port->qos, address->sl,
				 &address->flow);
}

int rhca_address_resolve(struct rhca_dev *dev, const struct rdma_ah_attr *attr,
			 struct rhca_address *address);
int rhca_address_resolve_ud(struct rhca_dev *dev,
			    const struct rdma_ah_attr *attr,
			    const struct rhca_address *own,
			    struct rhca_address *address,
			    const struct ib_gid_attr **sgid);
void rhca_address_connect(struct rhca_address *address, enum ib_qp_type type,
			  u32 qpn, u32 dest_qpn);
bool rhca_address_renew(struct rhca_address *address, enum ib_qp_type type);

#endif
