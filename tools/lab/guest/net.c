// SPDX-License-Identifier: GPL-2.0
/*
 * The wire: for each RDMA device that a host has, a bridge in the initial network
 * namespace is a switch, and a veth pair is a cable to it.
 *
 *	host a: eth0 10.66.0.1 ==== a0 \
 *	                                sw0
 *	host b: eth0 10.66.0.2 ==== b0 /
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "guest.h"

/* Socket for the switches, in their namespace */
static int switch_index[LAB_MAX_DEVICES];

int link_index(const char *name)
{
	return if_nametoindex(name);
}

char *port_name(unsigned int host, unsigned int device)
{
	return text("%s%u", host_name(host), device);
}

char *address_of(unsigned int host, unsigned int device)
{
	return text("10.66.%u.%u", device, host + 1);
}

char *address6_of(unsigned int host, unsigned int device)
{
	return text("fd66:0:0:%x::%x", device, host + 1);
}

static void check_net(int ret, const char *what, const char *name)
{
	if (ret)
		die("%s %s: %s", what, name, strerror(-ret));
}

static void begin_link(struct netlink *nl, uint16_t flags, int index, bool up)
{
	struct ifinfomsg info = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = index,
		.ifi_flags = up ? IFF_UP : 0,
		.ifi_change = IFF_UP,
	};

	netlink_begin(nl, RTM_NEWLINK, flags, &info, sizeof(info));
}

static void set_up(struct netlink *nl, const char *name, int index)
{
	begin_link(nl, 0, index, true);
	check_net(netlink_do(nl), "cannot bring up", name);
}

int port_up(const char *port, bool up)
{
	struct netlink nl;

	netlink_open(&nl, NETLINK_ROUTE);
	begin_link(&nl, 0, link_index(port), up);
	return netlink_do(&nl);
}

void loopback_up(struct netlink *nl)
{
	set_up(nl, "lo", 1);
}

void switch_add(unsigned int device, unsigned int mtu)
{
	char *name = text("sw%u", device);
	struct netlink nl;
	size_t info;

	netlink_open(&nl, NETLINK_ROUTE);
	begin_link(&nl, NLM_F_CREATE | NLM_F_EXCL, 0, true);
	netlink_put_text(&nl, IFLA_IFNAME, name);
	netlink_put_u32(&nl, IFLA_MTU, mtu);
	info = netlink_nest(&nl, IFLA_LINKINFO);
	netlink_put_text(&nl, IFLA_INFO_KIND, "bridge");
	netlink_unnest(&nl, info);
	check_net(netlink_do(&nl), "cannot make the switch", name);
	switch_index[device] = link_index(name);
	/* There is no IGMP querier, and hosts have no other way to join a group. */
	write_file(text("/sys/class/net/%s/bridge/multicast_snooping", name), "0");
}

static void put_mac(struct netlink *nl, unsigned int kind, unsigned int host,
		    unsigned int device)
{
	unsigned char mac[6] = { 0x02, 0x66, 0, kind, device, host + 1 };

	netlink_put(nl, IFLA_ADDRESS, mac, sizeof(mac));
}

static void add_veth(struct netlink *nl, const char *name, const char *port, int outside_ns,
		     const struct job *job, unsigned int host, unsigned int device)
{
	struct ifinfomsg peer_info = { .ifi_family = AF_UNSPEC };
	size_t info, data, peer;

	begin_link(nl, NLM_F_CREATE | NLM_F_EXCL, 0, false);
	netlink_put_text(nl, IFLA_IFNAME, name);
	netlink_put_u32(nl, IFLA_MTU, job->mtu);
	put_mac(nl, 0, host, device);
	info = netlink_nest(nl, IFLA_LINKINFO);
	netlink_put_text(nl, IFLA_INFO_KIND, "veth");
	data = netlink_nest(nl, IFLA_INFO_DATA);
	peer = netlink_nest(nl, VETH_INFO_PEER);
	/* The peer's attributes follow its ifinfomsg. */
	memcpy(nl->text + nl->size, &peer_info, sizeof(peer_info));
	nl->size += NLMSG_ALIGN(sizeof(peer_info));
	netlink_put_text(nl, IFLA_IFNAME, port);
	netlink_put_u32(nl, IFLA_MTU, job->mtu);
	put_mac(nl, 1, host, device);
	netlink_put_u32(nl, IFLA_NET_NS_FD, outside_ns);
	netlink_unnest(nl, peer);
	netlink_unnest(nl, data);
	netlink_unnest(nl, info);
	check_net(netlink_do(nl), "cannot make the netdev", name);
}

static void add_vlan(struct netlink *nl, const char *name, int below, uint16_t id)
{
	size_t info, data;

	begin_link(nl, NLM_F_CREATE | NLM_F_EXCL, 0, true);
	netlink_put_text(nl, IFLA_IFNAME, name);
	netlink_put_u32(nl, IFLA_LINK, below);
	info = netlink_nest(nl, IFLA_LINKINFO);
	netlink_put_text(nl, IFLA_INFO_KIND, "vlan");
	data = netlink_nest(nl, IFLA_INFO_DATA);
	netlink_put(nl, IFLA_VLAN_ID, &id, sizeof(id));
	netlink_unnest(nl, data);
	netlink_unnest(nl, info);
	check_net(netlink_do(nl), "cannot make the VLAN", name);
}

static void add_address(struct netlink *nl, int index, const char *address)
{
	unsigned char bytes[16];
	struct ifaddrmsg msg = { .ifa_index = index, .ifa_flags = IFA_F_PERMANENT };
	bool six = strchr(address, ':');

	msg.ifa_family = six ? AF_INET6 : AF_INET;
	msg.ifa_prefixlen = six ? 64 : 24;
	if (six)
		msg.ifa_flags |= IFA_F_NODAD;
	inet_pton(msg.ifa_family, address, bytes);
	netlink_begin(nl, RTM_NEWADDR, NLM_F_CREATE, &msg, sizeof(msg));
	netlink_put(nl, IFA_LOCAL, bytes, six ? 16 : 4);
	netlink_put(nl, IFA_ADDRESS, bytes, six ? 16 : 4);
	check_net(netlink_do(nl), "cannot give the address", address);
}

/*
 * The index of the netdev that has the addresses. Called in the host's namespace, with a socket of
 * the switch's
 */
int port_add(struct netlink *outside, int outside_ns, struct netlink *inside,
	     const struct job *job, unsigned int host, unsigned int device)
{
	char *name = text("eth%u", device), *port = port_name(host, device);
	struct ifinfomsg msg = {
		.ifi_family = AF_UNSPEC,
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP,
	};
	int index;

	add_veth(inside, name, port, outside_ns, job, host, device);
	netlink_begin(outside, RTM_NEWLINK, 0, &msg, sizeof(msg));
	netlink_put_text(outside, IFLA_IFNAME, port);
	netlink_put_u32(outside, IFLA_MASTER, switch_index[device]);
	check_net(netlink_do(outside), "cannot plug in", port);
	index = link_index(name);
	set_up(inside, name, index);
	if (job->vlan) {
		name = text("%s.%u", name, job->vlan);
		add_vlan(inside, name, index, job->vlan);
		index = link_index(name);
	}
	return index;
}

/* The device's GID table has this order. Returns the last one. */
char *port_give_addresses(const struct job *job, struct netlink *inside, int index,
			  unsigned int host, unsigned int device)
{
	char *address = address_of(host, device);

	add_address(inside, index, address);
	if (job->mtu < IPV6_MIN_MTU)
		return address;
	address = address6_of(host, device);
	add_address(inside, index, address);
	return address;
}
