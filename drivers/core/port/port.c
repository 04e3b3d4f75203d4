// SPDX-License-Identifier: GPL-2.0
/* Port attributes and link state, taken from the netdev. */
#include <linux/ethtool.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sysfs.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/port/device_types.h"
#include "core/port/port.h"
#include "core/rules/netdev.h"
#include "core/rules/policy.h"

static struct net_device *get_ref(struct net_device __rcu **member)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(*member);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/**
 * rhca_port_get_netdev - The port's netdev
 * @port: the port
 *
 * Return: the netdev with a reference, or NULL once it is released.
 */
struct net_device *rhca_port_get_netdev(struct rhca_port *port)
{
	return get_ref(&port->ndev);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_port_get_netdev);

static enum ib_port_state netdev_state(const struct net_device *ndev)
{
	return ndev && netif_running(ndev) && netif_carrier_ok(ndev) ?
		IB_PORT_ACTIVE : IB_PORT_DOWN;
}

/* IBTA vol. 1, 14.2.5.6: disabled by the administrator, or looking for a peer */
static enum ib_port_phys_state netdev_phys_state(const struct net_device *ndev)
{
	if (netdev_state(ndev) == IB_PORT_ACTIVE)
		return IB_PORT_PHYS_STATE_LINK_UP;
	return ndev && netif_running(ndev) ? IB_PORT_PHYS_STATE_POLLING :
					     IB_PORT_PHYS_STATE_DISABLED;
}

/* One working netdev is enough */
static enum ib_port_state port_state(struct rhca_port *port)
{
	enum ib_port_state state;

	rcu_read_lock();
	state = max(netdev_state(rcu_dereference(port->ndev)),
		    netdev_state(rcu_dereference(port->second)));
	rcu_read_unlock();
	return state;
}

static enum ib_mtu netdev_mtu(const struct net_device *ndev)
{
	enum ib_mtu mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));

	return mtu ? mtu : IB_MTU_256;
}

/* Initialise a port and take a reference to its netdev; rhca_dev_alloc() does the rest */
void rhca_port_init(struct rhca_port *port, struct rhca_dev *dev, u32 num,
		    struct net_device *ndev)
{
	port->dev = dev;
	port->num = num;
	port->cc = (struct rhca_cc)RHCA_CC_DEFAULT;
	port->state = netdev_state(ndev);
	port->qos.tclass.global = RHCA_TCLASS_OFF;
	mutex_init(&port->qos.tclass_lock);
	seqlock_init(&port->gids.lock);
	mutex_init(&port->pma.lock);
	netdev_hold(ndev, &port->ndev_tracker, GFP_KERNEL);
	port->gid_types = rhca_gid_types_enabled() &
			  rhca_netdev_gid_types(ndev);
	port->made_on = ndev;
	port->net = dev_net(ndev);
	rcu_assign_pointer(port->ndev, ndev);
}

/* Add a second netdev, with a reference, to a port that is not visible yet */
void rhca_port_set_second(struct rhca_port *port, struct net_device *ndev)
{
	netdev_hold(ndev, &port->second_tracker, GFP_KERNEL);
	rcu_assign_pointer(port->second, ndev);
	port->state = port_state(port);
}

/*
 * Release the netdevs, after a wait for packets that use them. @quiesce: called before the
 * references are dropped, unless NULL. May sleep; calls may overlap.
 */
void rhca_port_release_netdev(struct rhca_port *port,
			      void (*quiesce)(struct rhca_port *port))
{
	struct net_device *ndev = unrcu_pointer(xchg(&port->ndev, NULL));
	struct net_device *second = unrcu_pointer(xchg(&port->second, NULL));

	if (!ndev && !second)
		return;
	synchronize_net();
	if (quiesce)
		quiesce(port);
	netdev_put(ndev, &port->ndev_tracker);
	netdev_put(second, &port->second_tracker);
}

/**
 * rhca_port_get_net - The namespace that the port's netdev is in
 * @port: the port
 *
 * Return: the namespace with a reference, or NULL if it or the netdev is being removed.
 */
struct net *rhca_port_get_net(struct rhca_port *port)
{
	struct net_device *ndev;
	struct net *net;

	rcu_read_lock();
	ndev = rcu_dereference(port->ndev);
	net = ndev ? maybe_get_net(dev_net(ndev)) : NULL;
	rcu_read_unlock();
	return net;
}

/**
 * rhca_port_mtu - The largest path MTU that the netdev's MTU allows
 * @port: the port
 *
 * Context: any.
 */
enum ib_mtu rhca_port_mtu(struct rhca_port *port)
{
	struct net_device *ndev, *second;
	enum ib_mtu mtu = IB_MTU_256;

	rcu_read_lock();
	ndev = rcu_dereference(port->ndev);
	if (ndev)
		mtu = netdev_mtu(ndev);
	second = rcu_dereference(port->second);
	if (second)
		mtu = min(mtu, netdev_mtu(second));
	rcu_read_unlock();
	return mtu;
}

/* Number of GIDs of a port; two netdevs share the table, as on adapters. */
static u32 num_gids(const struct rhca_port *port)
{
	u32 num = port->dev->caps.num_gids;

	return rcu_access_pointer(port->second) ? num / 2 : num;
}

/* Raise an asynchronous event of the port. Any context; ib_core delivers it later. */
void rhca_port_event(struct rhca_port *port, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &port->dev->ibdev,
		.element.port_num = port->num,
		.event = type,
	};

	ib_dispatch_event(&event);
}

/**
 * rhca_port_update - Handle a change of the netdev's state, carrier or MTU
 * @port: the port
 * @mtu_changed: the MTU changed: users must query the port again
 *
 * Context: RTNL held, so calls do not overlap.
 */
void rhca_port_update(struct rhca_port *port, bool mtu_changed)
{
	enum ib_port_state state = port_state(port);

	if (state == port->state && !(mtu_changed && state == IB_PORT_ACTIVE))
		return;
	if (port->state == IB_PORT_ACTIVE && state != IB_PORT_ACTIVE)
		atomic_inc(&port->link_downed);
	port->state = state;
	rhca_port_event(port, state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
							IB_EVENT_PORT_ERR);
}

/*
 * Netdevs' speeds in InfiniBand's terms; ib_core's translation depends on the kernel, knows no more
 * than 100 or 400 Gb/s, and logs each query of a netdev without a speed.
 */
static const struct {
	u32 mbits;		/* the row is for this speed and what is below */
	u16 speed;
	u8 width;
} rates[] = {
	{ 2500,		IB_SPEED_SDR,	IB_WIDTH_1X },
	{ 5000,		IB_SPEED_DDR,	IB_WIDTH_1X },
	{ 10000,	IB_SPEED_FDR10,	IB_WIDTH_1X },
	{ 20000,	IB_SPEED_FDR10,	IB_WIDTH_2X },	/* 4X DDR is 16 Gb/s to UCX */
	{ 25000,	IB_SPEED_EDR,	IB_WIDTH_1X },
	{ 40000,	IB_SPEED_FDR10,	IB_WIDTH_4X },
	{ 50000,	IB_SPEED_EDR,	IB_WIDTH_2X },
	{ 56000,	IB_SPEED_FDR,	IB_WIDTH_4X },
	{ 80000,	IB_SPEED_FDR10,	IB_WIDTH_8X },
	{ 100000,	IB_SPEED_EDR,	IB_WIDTH_4X },
	{ 200000,	IB_SPEED_HDR,	IB_WIDTH_4X },
	{ 400000,	IB_SPEED_NDR,	IB_WIDTH_4X },
	{ U32_MAX,	IB_SPEED_NDR,	IB_WIDTH_8X },
};

/* Mbit/s that a netdev adds to a port of this state; 0 if unknown. The reference is dropped. */
static u32 put_mbits(struct net_device *ndev, enum ib_port_state state)
{
	struct ethtool_link_ksettings link = {};
	int ret = -ENODEV;

	if (!ndev)
		return 0;
	rtnl_lock();
	if (ndev->reg_state == NETREG_REGISTERED && netdev_state(ndev) == state)
		ret = __ethtool_get_link_ksettings(ndev, &link);
	rtnl_unlock();
	dev_put(ndev);
	return ret || link.base.speed == (u32)SPEED_UNKNOWN ? 0 : link.base.speed;
}

static void set_rate(struct rhca_port *port, struct ib_port_attr *attr)
{
	u32 mbits = put_mbits(get_ref(&port->ndev), attr->state) +
		    put_mbits(get_ref(&port->second), attr->state);
	size_t i = 0;

	while (rates[i].mbits < mbits)
		i++;
	attr->active_speed = rates[i].speed;
	attr->active_width = rates[i].width;
}

static int query_port(struct ib_device *ibdev, u32 port_num,
		      struct ib_port_attr *attr)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);

	if (!port)
		return -EINVAL;
	attr->state = port_state(port);
	rcu_read_lock();
	attr->phys_state = attr->state == IB_PORT_ACTIVE ?
		IB_PORT_PHYS_STATE_LINK_UP :
		netdev_phys_state(rcu_dereference(port->ndev));
	rcu_read_unlock();
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = rhca_port_mtu(port);
	attr->gid_tbl_len = num_gids(port);
	attr->pkey_tbl_len = port->dev->caps.num_pkeys;
	attr->max_msg_sz = port->dev->caps.max_msg_bytes;
	attr->max_vl_num = 1;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_UVERBS_PCF_CM_SUP;
	attr->bad_pkey_cntr = atomic_read(&port->pkey_violations);
	attr->qkey_viol_cntr = atomic_read(&port->qkey_violations);
	set_rate(port, attr);
	return 0;
}

static int query_pkey(struct ib_device *ibdev, u32 port_num, u16 index,
		      u16 *pkey)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);

	if (!port || index >= port->dev->caps.num_pkeys)
		return -EINVAL;
	rcu_read_lock();
	*pkey = rhca_pkey_at(&port->pkeys, index);
	rcu_read_unlock();
	return 0;
}

static int modify_port(struct ib_device *ibdev, u32 port_num, int mask,
		       struct ib_port_modify *attr)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);

	if (!port)
		return -EINVAL;
	if (mask & ~IB_PORT_RESET_QKEY_CNTR)
		return -EOPNOTSUPP;
	if (mask & IB_PORT_RESET_QKEY_CNTR)
		atomic_set(&port->qkey_violations, 0);
	return 0;
}

static int get_port_immutable(struct ib_device *ibdev, u32 port_num,
			      struct ib_port_immutable *immutable)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);

	if (!port)
		return -EINVAL;
	immutable->gid_tbl_len = num_gids(port);
	immutable->pkey_tbl_len = port->dev->caps.num_pkeys;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	if (rhca_port_has_gid_type(port, IB_GID_TYPE_ROCE))
		immutable->core_cap_flags |= RDMA_CORE_PORT_IBA_ROCE;
	if (rhca_port_has_gid_type(port, IB_GID_TYPE_ROCE_UDP_ENCAP))
		immutable->core_cap_flags |= RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ibdev,
					   u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

/*
 * Do not use ib_device_set_netdev(): the in-tree software driver takes any device with its driver
 * id that it finds by a netdev as its own.
 */
static struct net_device *get_netdev(struct ib_device *ibdev, u32 port_num)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);

	return port ? rhca_port_get_netdev(port) : NULL;
}

static bool speaks(struct rhca_port *port, enum ib_gid_type type)
{
	const struct rhca_backend_ops *backend = port->dev->backend;

	return rhca_port_has_gid_type(port, type) &&
	       (!backend->port_speaks || backend->port_speaks(port, type));
}

/* May differ from the GID types: UDP port 4791 may be in use by another socket */
static ssize_t roce_versions_show(struct ib_device *ibdev, u32 port_num,
				  struct ib_port_attribute *attr, char *buf)
{
	struct rhca_port *port = rhca_port_of(to_rhca_dev(ibdev), port_num);
	bool v1 = speaks(port, IB_GID_TYPE_ROCE);
	bool v2 = speaks(port, IB_GID_TYPE_ROCE_UDP_ENCAP);

	return sysfs_emit(buf, "%s%s%s\n", v1 ? "v1" : "", v1 && v2 ? " " : "",
			  v2 ? "v2" : "");
}

static IB_PORT_ATTR_RO(roce_versions);

static struct attribute *port_attributes[] = {
	&ib_port_attr_roce_versions.attr,
	NULL
};

/* Files of each port; a backend with more adds its own group */
const struct attribute_group rhca_port_group = {
	.attrs	= port_attributes,
};
RHCA_EXPORT(rhca_port_group);

static const struct attribute_group *port_groups[] = {
	&rhca_port_group,
	NULL
};

const struct ib_device_ops rhca_port_verbs = {
	.port_groups		= port_groups,
	.get_link_layer		= get_link_layer,
	.get_netdev		= get_netdev,
	.get_port_immutable	= get_port_immutable,
	.modify_port		= modify_port,
	.query_pkey		= query_pkey,
	.query_port		= query_port,
};
