// SPDX-License-Identifier: GPL-2.0
/* What a netdev can carry, and how to remember one without a reference. */
#include <linux/bits.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>
#include <rhca/compat.h>

#include "core/rules/netdev.h"

/* --- what it can carry ---------------------------------------------------------- */

/*
 * RoCE v2 is UDP and needs IP: link types that the IP stack assigns addresses to and that have no
 * RDMA of their own, as IPoIB (ARPHRD_INFINIBAND) has in the InfiniBand adapter.
 */
static const unsigned short ip_link_types[] = {
	ARPHRD_ETHER,		/* and veth, bridge, macvlan, team, vxlan ... */
	ARPHRD_LOOPBACK,
	ARPHRD_NONE,		/* tun, WireGuard, xfrm */
	ARPHRD_TUNNEL,		/* ipip, vti */
	ARPHRD_TUNNEL6,
	ARPHRD_SIT,
	ARPHRD_IPGRE,
	ARPHRD_IP6GRE,
	ARPHRD_PPP,
	ARPHRD_RAWIP,		/* mobile broadband modems */
};

static bool carries_ip(const struct net_device *ndev)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ip_link_types); i++)
		if (ndev->type == ip_link_types[i])
			return true;
	return false;
}

static bool is_kind(const struct net_device *ndev, const char *kind)
{
	return ndev->rtnl_link_ops && !strcmp(ndev->rtnl_link_ops->kind, kind);
}

/*
 * RoCE v1 has its own EtherType and needs Ethernet frames. ipvlan netdevs share the MAC address of
 * the netdev below, which demultiplexes by IP address and keeps other frames. A VRF drops what is
 * not IP. netkit in L3 mode has an all-zero address, to which no RoCE v1 packet can be sent.
 */
static bool carries_frames(const struct net_device *ndev)
{
	if (ndev->type == ARPHRD_LOOPBACK)
		return true;
	return ndev->type == ARPHRD_ETHER && !is_kind(ndev, "ipvlan") &&
	       !is_kind(ndev, "vrf") && !is_zero_ether_addr(ndev->dev_addr);
}

/**
 * rhca_netdev_gid_types - The RoCE versions that a netdev can carry
 * @ndev: the netdev
 *
 * Context: any.
 * Return: a bit for each enum ib_gid_type, regardless of roce_mode; 0 if the netdev carries
 * no IP.
 */
unsigned long rhca_netdev_gid_types(const struct net_device *ndev)
{
	unsigned long types = 0;

	if (carries_ip(ndev))
		types |= BIT(IB_GID_TYPE_ROCE_UDP_ENCAP);
	if (carries_frames(ndev))
		types |= BIT(IB_GID_TYPE_ROCE);
	return types;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdev_gid_types);

/**
 * rhca_netdev_on_bus - Does a netdev belong to a device on a bus, as hardware does?
 * @ndev: the netdev
 *
 * A parent device alone is not enough: radios of mac80211_hwsim have one, and any user can
 * create those in a user namespace, with any address.
 *
 * Context: any.
 */
bool rhca_netdev_on_bus(const struct net_device *ndev)
{
	return ndev->dev.parent && ndev->dev.parent->bus;
}

/* --- remembering one ----------------------------------------------------------------- */

/**
 * rhca_netdev_note - Remember a netdev
 * @id: filled in
 * @ndev: the netdev, or NULL for none
 *
 * Context: RTNL or RCU read side, or the caller has a reference.
 */
void rhca_netdev_note(struct rhca_netdev_id *id, const struct net_device *ndev)
{
	*id = (struct rhca_netdev_id) {};
	if (!ndev)
		return;
	rcu_read_lock();
	id->net_cookie = dev_net(ndev)->net_cookie;
	id->ifindex = ndev->ifindex;
	rcu_read_unlock();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdev_note);

/**
 * rhca_netdev_is - Is it the netdev that was remembered?
 * @ndev: a netdev; the caller has a reference, RTNL or the RCU read side
 * @id: from rhca_netdev_note()
 */
bool rhca_netdev_is(const struct net_device *ndev,
		    const struct rhca_netdev_id *id)
{
	struct rhca_netdev_id own;

	rhca_netdev_note(&own, ndev);
	return own.ifindex && own.ifindex == id->ifindex &&
	       own.net_cookie == id->net_cookie;
}

/**
 * rhca_netdev_get - Get the netdev that was remembered
 * @id: from rhca_netdev_note()
 *
 * Context: any.
 * Return: the netdev with a reference, for dev_put(); NULL if it was removed or moved to
 * another namespace. It may be a new one with the same index.
 */
struct net_device *rhca_netdev_get(const struct rhca_netdev_id *id)
{
	struct net_device *ndev = NULL;
	struct net *net;

	if (!id->ifindex)
		return NULL;
	rcu_read_lock();
	for_each_net_rcu(net) {
		if (net->net_cookie != id->net_cookie)
			continue;
		ndev = dev_get_by_index_rcu(net, id->ifindex);
		dev_hold(ndev);
		break;
	}
	rcu_read_unlock();
	return ndev;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_netdev_get);

/**
 * rhca_netdev_beside - Another netdev of the same namespace
 * @ndev: a netdev; the caller holds a reference
 * @name: of the other one
 *
 * Uses RCU: a netdev that leaves a namespace does not keep that from being freed.
 *
 * Context: any.
 * Return: the netdev with a reference, for dev_put(), or NULL.
 */
struct net_device *rhca_netdev_beside(const struct net_device *ndev,
				      const char *name)
{
	struct net_device *other;

	rcu_read_lock();
	other = dev_get_by_name_rcu(dev_net(ndev), name);
	dev_hold(other);
	rcu_read_unlock();
	return other;
}
