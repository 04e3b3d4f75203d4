/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address vectors, resolved: everything that a packet to one destination needs
 * besides its transport headers, with the values that the port's settings put
 * into effect.
 */
#ifndef RHCA_CORE_PORT_ADDRESS_H
#define RHCA_CORE_PORT_ADDRESS_H

#include <linux/if_ether.h>
#include <rdma/ib_verbs.h>

#include "core/port/device_types.h"
#include "core/rules/qos.h"
#include "wire/encap.h"

/* Above all rates that a user can ask for: no limit */
#define RHCA_STATIC_RATE_MOST	31

/**
 * struct rhca_address - Where packets go, and how they say so
 * @port: the port that they leave from
 * @sgid_index: index of the source GID in the port's table
 * @static_rate: enum ib_rate of the address vector; software has no use for it
 * @vlan_id: VLAN of that GID's netdev, RHCA_NO_VLAN without
 * @ifindex: that netdev, in the namespace of the port's netdev
 * @sl: service level of the address vector, 0 if it gives none; see
 *	rhca_address_priority()
 * @tclass: traffic class of the address vector; in @flow is what is in effect
 * @dmac: destination MAC, for RoCE v1 and for VLANs
 * @flow: network header fields; the UDP source port is set for connected QPs,
 *	else it is the sender's to choose
 */
struct rhca_address {
	struct rhca_port *port;
	u16 sgid_index : 11;	/* of RHCA_NUM_GIDS */
	u16 static_rate : 5;	/* a QP has several of these: another byte doubles it */
	u16 vlan_id;
	int ifindex;
	u8 sl;
	u8 tclass;
	u8 dmac[ETH_ALEN];
	struct rhca_flow flow;
};

/* Reliable connections, IBTA vol. 1, 9.7, and annex A14 */
static inline bool rhca_qp_type_is_reliable(enum ib_qp_type type)
{
	return type == IB_QPT_RC || type == IB_QPT_XRC_INI ||
	       type == IB_QPT_XRC_TGT;
}

/* IPv4 TTL, IPv6 hop limit or GRH hop limit, as the port's TTL has it now */
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
