// SPDX-License-Identifier: GPL-2.0
/* A device: its identity, and how it is set up and torn down. */
#include <linux/etherdevice.h>
#include <net/addrconf.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "core/counters.h"
#include "core/device.h"
#include "core/gid_verbs.h"
#include "core/mcast.h"
#include "core/port/offer.h"
#include "core/port/gid_watch.h"
#include "core/port/port_pkeys.h"
#include "core/port/settings.h"
#include "core/qp/ah.h"
#include "core/qp/qp.h"
#include "core/rules/policy.h"

static int modify_device(struct ib_device *ibdev, int mask,
			 struct ib_device_modify *attr)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, attr->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

static ssize_t parent_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	struct rhca_dev *dev = rhca_dev_of(device);
	struct net_device *ndev;
	ssize_t len;

	rcu_read_lock();
	ndev = rcu_dereference(dev->ports[0].ndev);
	len = sysfs_emit(buf, "%s\n", ndev ? netdev_name(ndev) : "");
	rcu_read_unlock();
	return len;
}
static DEVICE_ATTR_RO(parent);

#define DEVICE_FILE(_name, format, value)					\
static ssize_t _name##_show(struct device *device,				\
			    struct device_attribute *attr, char *buf)		\
{										\
	const struct rhca_dev *dev = rhca_dev_of(device);			\
										\
	return sysfs_emit(buf, format "\n", value);				\
}										\
static DEVICE_ATTR_RO(_name)

DEVICE_FILE(backend, "%s", dev->backend->name);
/*
 * Identity, as of adapters. ibstat prints these files, and node_exporter drops the InfiniBand
 * devices of the whole host if one of them lacks them.
 */
DEVICE_FILE(hca_type, "%s", dev->hca_type);
DEVICE_FILE(hw_rev, "%x", dev->ibdev.attrs.hw_ver);
DEVICE_FILE(board_id, "%s", dev->board_id);

static struct attribute *device_attributes[] = {
	&dev_attr_parent.attr,
	&dev_attr_backend.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_board_id.attr,
	NULL
};

static const struct attribute_group device_attribute_group = {
	.attrs = device_attributes,
};

/**
 * rhca_is_device - Is it one of ours, whichever backend serves it?
 * @ibdev: any device; its owner may be another module
 */
bool rhca_is_device(const struct ib_device *ibdev)
{
	return ibdev->ops.device_group == &device_attribute_group;
}

static const struct ib_device_ops device_verbs = {
	.device_group		= &device_attribute_group,
	.modify_device		= modify_device,
};

static const struct ib_device_ops *const verbs_of_objects[] = {
	&device_verbs, &rhca_port_verbs, &rhca_gid_verbs, &rhca_counter_verbs,
	&rhca_mad_verbs, &rhca_ah_verbs, &rhca_qp_verbs, &rhca_mcast_verbs,
};

/* The backend's are set already: the first table that sets a field counts */
static void set_verbs(struct rhca_dev *dev)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs_of_objects); i++)
		ib_set_device_ops(&dev->ibdev, verbs_of_objects[i]);
}

/*
 * In EUI-64 form, from the MAC of the first port's netdev. Tunnels have no MAC, nor has netkit in
 * its L3 mode: use a random one, marked as locally administered, since a peer's CM takes two hosts
 * with one GUID, whose QP numbers begin alike, for one. Loopback, which has no such peers, keeps
 * the GUID of address 0: udev names the device after it.
 */
static void set_guid(struct ib_device *ibdev, const struct net_device *first)
{
	u8 mac[ETH_ALEN];

	if (first->addr_len == ETH_ALEN &&
	    (first->flags & IFF_LOOPBACK || !is_zero_ether_addr(first->dev_addr)))
		ether_addr_copy(mac, first->dev_addr);
	else
		eth_random_addr(mac);
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, mac);
}

static void set_identity(struct rhca_dev *dev, struct net_device *first)
{
	struct ib_device *ibdev = &dev->ibdev;

	strscpy(dev->hca_type, "roce_hca", sizeof(dev->hca_type));
	strscpy(dev->board_id, dev->backend->name, sizeof(dev->board_id));
	strscpy(ibdev->node_desc, "roce-hca", sizeof(ibdev->node_desc));
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = dev->num_ports;
	set_guid(ibdev, first);
	/* Tests and tools find the netdev through the parent device, which both share */
	ibdev->dev.parent = first->dev.parent;
}

static void close_first_ports(struct rhca_dev *dev, u32 num)
{
	while (num)
		dev->backend->port_close(&dev->ports[--num]);
}

static int init_port(struct rhca_dev *dev, u32 i,
		     const struct rhca_dev_spec *spec)
{
	const struct rhca_settings *settings = spec->settings[i];
	struct rhca_port *port = &dev->ports[i];
	int ret;

	rhca_port_init(port, dev, i + 1, spec->netdevs[i]);
	/* Later moves are noticed, see rhca_dev_netdevs_stay() */
	ret = spec->net && !net_eq(port->net, spec->net) ? -ENODEV :
	      rhca_pkeys_init(port, spec->pkeys[i]);
	if (ret) {
		rhca_port_release_netdev(port, NULL);
		return ret;
	}
	rhca_gid_watch_init(port);
	if (settings) {
		port->qos.tclass = settings->tclass;
		port->qos.ttl = settings->ttl;
		port->cc = settings->cc;
	}
	return 0;
}

static void exit_ports(struct rhca_dev *dev, u32 num)
{
	struct rhca_port *port;

	while (num) {
		port = &dev->ports[--num];
		rhca_gid_watch_exit(port);
		rhca_port_release_netdev(port, NULL);
		rhca_pkeys_exit(port);
	}
}

/* Start accepting packets at all ports; after an error at none */
int rhca_dev_open_ports(struct rhca_dev *dev)
{
	u32 i;
	int ret;

	for (i = 0; i < dev->num_ports; i++) {
		ret = dev->backend->port_open(&dev->ports[i]);
		if (ret) {
			close_first_ports(dev, i);
			return ret;
		}
	}
	return 0;
}

/* Undo rhca_dev_open_ports(). No packet of the device is being handled when this returns. */
void rhca_dev_close_ports(struct rhca_dev *dev)
{
	close_first_ports(dev, dev->num_ports);
}

/**
 * rhca_dev_claim - Take responsibility for removing a device for good
 * @dev: the device
 *
 * Return: false if it is claimed already.
 */
bool rhca_dev_claim(struct rhca_dev *dev)
{
	return !test_and_set_bit(RHCA_DEV_REMOVED, &dev->flags);
}

static int init_ports(struct rhca_dev *dev, const struct rhca_dev_spec *spec)
{
	u32 i;
	int ret;

	for (i = 0; i < spec->num_ports; i++) {
		ret = init_port(dev, i, spec);
		if (ret) {
			exit_ports(dev, i);
			return ret;
		}
	}
	return 0;
}

/* Drop GID types that the netdev and roce_mode allow, but not the backend */
static int limit_gid_types(struct rhca_dev *dev)
{
	u32 i;

	for (i = 0; i < dev->num_ports; i++) {
		dev->ports[i].gid_types &= dev->caps.gid_types;
		if (!dev->ports[i].gid_types)
			return -EPROTONOSUPPORT;
	}
	return 0;
}

static atomic_t last_serial = ATOMIC_INIT(0);

static struct rhca_dev *alloc_parts(const struct rhca_dev_spec *spec)
{
	struct rhca_dev *dev = ib_alloc_device(rhca_dev, ibdev);
	int ret;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->serial = atomic_inc_return(&last_serial);
	dev->backend = spec->backend;
	dev->offer = spec->offer;
	dev->num_ports = spec->num_ports;
	dev->replaced = spec->replaced;
	mutex_init(&dev->qps_lock);
	INIT_LIST_HEAD(&dev->qps);
	ret = init_ports(dev, spec);
	if (ret)
		goto err_dealloc;
	if (spec->second)
		rhca_port_set_second(&dev->ports[0], spec->second);
	/* The backend may change this in dev_init */
	set_identity(dev, spec->netdevs[0]);
	ib_set_device_ops(&dev->ibdev, dev->backend->verbs);
	ret = dev->backend->dev_init(dev);
	if (ret)
		goto err_exit_ports;
	ret = limit_gid_types(dev);
	if (ret)
		goto err_exit_dev;
	ret = rhca_counters_init(dev);
	if (ret)
		goto err_exit_dev;
	set_verbs(dev);
	/* An adapter writes headers itself, from what the process's library passes */
	if (!dev->backend->qp_readdress &&
	    rhca_policy.ud_gid_type != RHCA_UD_GID_AUTO)
		netdev_info(spec->netdevs[0],
			    "ud_gid_type is for the kernel's datagrams: processes choose by the GID's index\n");
	return dev;

err_exit_dev:
	dev->backend->dev_exit(dev);
err_exit_ports:
	exit_ports(dev, dev->num_ports);
err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ERR_PTR(ret);
}

/*
 * Allocate and set up a device that is not visible yet, with its ports closed. May sleep. Returns
 * it, or -ENOMEM; -EALREADY while its offer has another device; -ENODEV if a netdev has moved; an
 * error of the backend.
 */
struct rhca_dev *rhca_dev_alloc(const struct rhca_dev_spec *spec)
{
	struct rhca_dev *dev;
	int ret;

	ret = spec->offer ? rhca_offer_claim(spec->offer) : 0;
	if (ret)
		return ERR_PTR(ret);
	dev = alloc_parts(spec);
	if (IS_ERR(dev) && spec->offer)
		rhca_offer_unclaim(spec->offer);
	return dev;
}

/* Undo rhca_dev_alloc() after the ports are closed. ib_core frees the memory itself. */
void rhca_dev_free_parts(struct rhca_dev *dev)
{
	rhca_counters_exit(dev);
	dev->backend->dev_exit(dev);
	exit_ports(dev, dev->num_ports);
	if (dev->offer)
		rhca_offer_unclaim(dev->offer);
}

/* --- its netdevs --------------------------------------------------------------- */

/**
 * rhca_dev_is_lag - Does a device replace others, for which its settings are kept?
 * @dev: the device
 *
 * Context: any.
 */
bool rhca_dev_is_lag(const struct rhca_dev *dev)
{
	return dev->replaced.num_devices || rcu_access_pointer(dev->ports[0].second);
}

static bool netdev_stays(const struct rhca_port *port,
			 const struct net_device *ndev)
{
	return ndev && ndev->reg_state == NETREG_REGISTERED &&
	       net_eq(dev_net(ndev), port->net);
}

/**
 * rhca_dev_netdevs_stay - Are all netdevs of a device registered and in their old namespace?
 * @dev: the device
 *
 * Context: any.
 */
bool rhca_dev_netdevs_stay(const struct rhca_dev *dev)
{
	struct net_device *second;
	bool stay = true;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < dev->num_ports; i++) {
		second = rcu_dereference(dev->ports[i].second);
		stay &= net_eq(dev->ports[i].net, dev->ports[0].net);
		stay &= netdev_stays(&dev->ports[i],
				     rcu_dereference(dev->ports[i].ndev));
		stay &= !second || netdev_stays(&dev->ports[i], second);
	}
	rcu_read_unlock();
	return stay;
}

/*
 * Drop the references to the netdevs. The backend closes its sockets first, when no packet uses the
 * port any more, so they are closed when the unregistration of a netdev completes. May sleep; RTNL
 * may be held.
 */
void rhca_dev_release_netdevs(struct rhca_dev *dev)
{
	u32 i;

	for (i = 0; i < dev->num_ports; i++)
		rhca_port_release_netdev(&dev->ports[i],
					 dev->backend->port_quiesce);
}
