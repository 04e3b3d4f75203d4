// SPDX-License-Identifier: GPL-2.0
/* Makes header fields from address vectors and a port's settings, for every backend. */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <net/inet_ecn.h>
#include <rdma/ib_cache.h>

#include "core/port/address.h"
#include "core/port/device_types.h"
#include "core/rules/policy.h"

#define DEFAULT_HOP_LIMIT	64	/* if the address vector has 0 */

/* Clear the ECN bits: no packet claims ECN capability unless its sender reacts to marks */
static u8 without_ecn(u8 tclass)
{
	return tclass & ~INET_ECN_MASK;
}

/* RoCE v2 carries IPv4 or IPv6, not one address of each */
static bool families_agree(const struct ib_gid_attr *sgid_attr,
			   const union ib_gid *dgid)
{
	return sgid_attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	       rhca_gid_is_ipv4(&sgid_attr->gid) == rhca_gid_is_ipv4(dgid);
}

static int check_attr(struct rhca_dev *dev, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;	/* RoCE has no LIDs: a GRH is a must, A16.4 */
	if (!rhca_port_of(dev, rdma_ah_get_port_num(attr)) || !grh->sgid_attr)
		return -EINVAL;
	if (!families_agree(grh->sgid_attr, &grh->dgid))
		return -EINVAL;
	return 0;
}

/*
 * ib_core makes GIDs of the addresses of uppers of the port's netdev, in any namespace. Software
 * looks netdevs up by index in the port's namespace, where an index may be that of another netdev.
 */
static bool in_reach(const struct rhca_port *port,
		     const struct net_device *ndev)
{
	return port->dev->caps.any_net || net_eq(dev_net(ndev), port->net);
}

/* Note the source GID's netdev, which may have been removed since the lookup */
static int take_netdev(struct rhca_address *address,
		       const struct ib_gid_attr *sgid)
{
	struct net_device *ndev;
	int ret = -ENODEV;

	rcu_read_lock();
	ndev = rcu_dereference(sgid->ndev);
	if (ndev && in_reach(address->port, ndev)) {
		address->ifindex = ndev->ifindex;
		address->vlan_id = is_vlan_dev(ndev) ? vlan_dev_vlan_id(ndev) :
						       RHCA_NO_VLAN;
		ret = 0;
	}
	rcu_read_unlock();
	return ret;
}

static int resolve_from(struct rhca_dev *dev, const struct rdma_ah_attr *attr,
			const struct ib_gid_attr *sgid,
			struct rhca_address *address)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	*address = (struct rhca_address) {
		.port		= rhca_port_of(dev, rdma_ah_get_port_num(attr)),
		.sgid_index	= sgid->index,
		.sl		= rdma_ah_get_sl(attr),
		.static_rate	= min_t(u8, rdma_ah_get_static_rate(attr),
					RHCA_STATIC_RATE_MAX),
		.tclass		= grh->traffic_class,
		.flow = {
			.encap		= rhca_encap_of(sgid->gid_type,
							&sgid->gid),
			.sgid		= sgid->gid,
			.dgid		= grh->dgid,
			.tclass		= without_ecn(grh->traffic_class),
			.hop_limit	= grh->hop_limit ?: DEFAULT_HOP_LIMIT,
			.flow_label	= grh->flow_label &
					  IB_GRH_FLOWLABEL_MASK,
		},
	};
	/*
	 * A route of datagrams serves many QP pairs. Look it up with this source port: the packets'
	 * own if there is a flow label, else one of RoCE's range, which routing rules may match
	 */
	address->flow.udp_sport = rdma_get_udp_sport(address->flow.flow_label, 0, 0);
	ether_addr_copy(address->dmac, attr->roce.dmac);
	return take_netdev(address, sgid);
}

/*
 * Resolve an address vector of ib_core, which has looked up the source GID and the MAC. Any
 * context. Returns 0; -EINVAL for an address that RoCE cannot express; -ENODEV if the GID's
 * netdev was removed, or is in a namespace that the backend does not reach.
 */
int rhca_address_resolve(struct rhca_dev *dev, const struct rdma_ah_attr *attr,
			 struct rhca_address *address)
{
	int ret = check_attr(dev, attr);

	if (ret)
		return ret;
	return resolve_from(dev, attr, rdma_ah_read_grh(attr)->sgid_attr,
			    address);
}

/* Is the type of the handle's GID the one that ud_gid_type demands? */
static bool ud_type_fits(enum ib_gid_type type)
{
	switch (rhca_policy.ud_gid_type) {
	case RHCA_UD_GID_V1:
		return type == IB_GID_TYPE_ROCE;
	case RHCA_UD_GID_V2:
		return type == IB_GID_TYPE_ROCE_UDP_ENCAP;
	default:
		return true;
	}
}

/* The entry with the same GID and netdev and the other type */
static const struct ib_gid_attr *sibling_gid(struct rhca_dev *dev,
					     const struct ib_gid_attr *attr)
{
	enum ib_gid_type other = attr->gid_type == IB_GID_TYPE_ROCE ?
		IB_GID_TYPE_ROCE_UDP_ENCAP : IB_GID_TYPE_ROCE;
	const struct ib_gid_attr *found;
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	found = rdma_find_gid_by_port(&dev->ibdev, &attr->gid, other,
				      attr->port_num, ndev);
	rcu_read_unlock();
	return found;
}

/*
 * Resolve an address vector for a process's datagrams. @own: the result of rhca_address_resolve().
 * @address: a copy, but with the GID of the type that ud_gid_type demands, if there is one. @sgid:
 * that GID, which keeps its index until rdma_put_gid_attr(); or NULL, as after an error. Any
 * context. Returns 0, or -ENODEV as rhca_address_resolve().
 */
int rhca_address_resolve_ud(struct rhca_dev *dev,
			    const struct rdma_ah_attr *attr,
			    const struct rhca_address *own,
			    struct rhca_address *address,
			    const struct ib_gid_attr **sgid)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sibling;
	int ret = 0;

	*sgid = NULL;
	*address = *own;
	if (ud_type_fits(grh->sgid_attr->gid_type))
		return 0;
	sibling = sibling_gid(dev, grh->sgid_attr);
	if (IS_ERR(sibling))
		return 0;
	if (!families_agree(sibling, &grh->dgid))
		goto put;
	ret = resolve_from(dev, attr, sibling, address);
	if (ret)
		goto put;
	*sgid = sibling;
	return 0;

put:
	rdma_put_gid_attr(sibling);
	return ret;
}

/*
 * A rule of the port forces the class of reliable connections over RoCE v2. Others have the one of
 * the address vector, where rdma_cm puts what the application set (rdma_set_option) or
 * default_roce_tos.
 */
static u8 tclass_in_effect(const struct rhca_address *address,
			   enum ib_qp_type type)
{
	struct rhca_qos *qos = &address->port->qos;
	const struct rhca_flow *flow = &address->flow;
	int forced = RHCA_TCLASS_OFF;

	if (rhca_qp_type_is_reliable(type) && flow->encap != RHCA_V1) {
		mutex_lock(&qos->tclass_lock);
		forced = rhca_tclass_find(&qos->tclass, &flow->sgid, &flow->dgid);
		mutex_unlock(&qos->tclass_lock);
	}
	return without_ecn(forced == RHCA_TCLASS_OFF ? address->tclass : forced);
}

/*
 * Set the connection's part of a resolved address: the traffic class, forced or not, and the UDP
 * source port, A17.4.5. May sleep.
 */
void rhca_address_connect(struct rhca_address *address, enum ib_qp_type type,
			  u32 qpn, u32 dest_qpn)
{
	address->flow.udp_sport = rdma_get_udp_sport(address->flow.flow_label,
						     qpn, dest_qpn);
	address->flow.tclass = tclass_in_effect(address, type);
}

/*
 * Update the traffic class of a connected QP's address after a change of the rules. May sleep.
 * Returns whether it has changed.
 */
bool rhca_address_renew(struct rhca_address *address, enum ib_qp_type type)
{
	u8 tclass = tclass_in_effect(address, type);
	bool changed = tclass != address->flow.tclass;

	address->flow.tclass = tclass;
	return changed;
}
