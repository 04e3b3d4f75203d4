// SPDX-License-Identifier: GPL-2.0
/*
 * Packets come in by two doors: UDP port 4791 of each namespace that has a port
 * of ours, and EtherType 0x8915.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>
#include <rhca/compat.h>

#include "core/device.h"
#include "core/policy.h"
#include "sw/verbs/counters.h"
#include "sw/verbs/port.h"
#include "sw/transport/frame.h"
#include "sw/transport/receive.h"
#include "sw/transport/socket.h"
#include "wire/headers.h"

/* How often a port number that somebody else holds is tried again */
#define RETRY_INTERVAL	(2 * HZ)

/**
 * struct rhca_udp - Sockets of one namespace
 * @refs: the namespace, and ports
 * @lock: protects what follows
 * @net: the namespace; NULL once it has gone
 * @users: ports that are open
 * @ipv4: socket, or NULL
 * @ipv6: socket, or NULL
 * @used: a port has been open
 * @told: the log says already that the port number is taken
 * @retry: tries again to open what is missing
 */
struct rhca_udp {
	refcount_t refs;
	struct mutex lock;		/* protects: */
	struct net *net;
	u32 users;
	struct socket *ipv4;
	struct socket *ipv6;
	bool used;
	bool told;
	struct delayed_work retry;
};

static unsigned int net_id;

struct udp_net {
	struct rhca_udp *udp;
};

static void put_udp(struct rhca_udp *udp)
{
	if (refcount_dec_and_test(&udp->refs))
		kfree(udp);
}

/* skb->data is at the UDP header; always consumed */
static int udp_receive(struct sock *sk, struct sk_buff *skb)
{
	bool ipv4 = ip_hdr(skb)->version == 4;

	__skb_push(skb, -skb_network_offset(skb));
	rhca_receive(skb, ipv4 ? RHCA_V2_IPV4 : RHCA_V2_IPV6);
	return 0;
}

static int open_socket(struct net *net, sa_family_t family, struct socket **out)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type	= 1,
		.encap_rcv	= udp_receive,
	};
	struct udp_port_cfg port = {
		.family			= family,
		.local_udp_port		= htons(RHCA_UDP_PORT),
		.ipv6_v6only		= family == AF_INET6,
		.use_udp6_rx_checksums	= false,	/* RFC 6935 */
	};
	struct socket *sock;
	int ret;

	ret = udp_sock_create(net, &port, &sock);
	if (ret)
		return ret;
	setup_udp_tunnel_sock(net, rhca_tunnel_of(sock), &tunnel);
	udp_allow_gso(sock->sk);	/* blocks */
	*out = sock;
	return 0;
}

static void close_socket(struct socket **sock)
{
	if (*sock)
		udp_tunnel_sock_release(rhca_tunnel_of(*sock));
	*sock = NULL;
}

static bool is_final(int error)
{
	return error == -EAFNOSUPPORT || error == -EPFNOSUPPORT ||
	       error == -EOPNOTSUPP;	/* a kernel without IPv6 */
}

static int open_missing(struct rhca_udp *udp)
{
	int ret = 0, ret6 = 0;

	lockdep_assert_held(&udp->lock);
	if (!udp->ipv4)
		ret = open_socket(udp->net, AF_INET, &udp->ipv4);
	if (!udp->ipv6)
		ret6 = open_socket(udp->net, AF_INET6, &udp->ipv6);
	return ret ?: is_final(ret6) ? 0 : ret6;
}

/* Not an error of the device: RoCE v1 works, and v2 will as soon as it can */
static void open_or_retry(struct rhca_udp *udp)
{
	int ret = open_missing(udp);

	if (!ret) {
		if (udp->told)
			pr_info("UDP port %d is free again: RoCE v2 works\n",
				RHCA_UDP_PORT);
		udp->told = false;
		return;
	}
	if (!udp->told)
		pr_warn("cannot listen on UDP port %d (error %d%s): RoCE v1 works, RoCE v2 will when the port is free%s\n",
			RHCA_UDP_PORT, ret,
			ret == -EADDRINUSE ? ", it is in use" : "",
			ret == -EADDRINUSE ?
			" (unload rdma_rxe, or stop what \"ss -ulnp sport = 4791\" shows)" :
			"");
	udp->told = true;
	schedule_delayed_work(&udp->retry, RETRY_INTERVAL);
}

static void retry_open(struct work_struct *work)
{
	struct rhca_udp *udp = container_of(to_delayed_work(work),
					    struct rhca_udp, retry);

	mutex_lock(&udp->lock);
	if (udp->net && udp->users)
		open_or_retry(udp);
	mutex_unlock(&udp->lock);
}

/**
 * rhca_udp_open - A port begins to receive in a namespace
 * @net: the namespace
 *
 * Return: what rhca_udp_close() takes. A port number that is taken is logged
 * and tried again; it is no error.
 */
struct rhca_udp *rhca_udp_open(struct net *net)
{
	struct udp_net *per_net = net_generic(net, net_id);
	struct rhca_udp *udp = per_net->udp;

	refcount_inc(&udp->refs);
	mutex_lock(&udp->lock);
	udp->used = true;
	if (!udp->users++ && rhca_gid_type_enabled(IB_GID_TYPE_ROCE_UDP_ENCAP))
		open_or_retry(udp);
	mutex_unlock(&udp->lock);
	return udp;
}

/**
 * rhca_udp_close - Undo rhca_udp_open()
 * @udp: from there; the namespace may have gone meanwhile
 */
void rhca_udp_close(struct rhca_udp *udp)
{
	mutex_lock(&udp->lock);
	if (!--udp->users) {
		close_socket(&udp->ipv4);
		close_socket(&udp->ipv6);
	}
	mutex_unlock(&udp->lock);
	cancel_delayed_work_sync(&udp->retry);
	mutex_lock(&udp->lock);
	/* Another port may have wanted the retry that was just cancelled */
	if (udp->net && udp->users && udp->told)
		schedule_delayed_work(&udp->retry, RETRY_INTERVAL);
	mutex_unlock(&udp->lock);
	put_udp(udp);
}

/**
 * rhca_udp_is_open - Does RoCE v2 come in?
 * @udp: from rhca_udp_open()
 *
 * Context: may sleep.
 * Return: false when the port number is taken, for one IP version at least.
 */
bool rhca_udp_is_open(struct rhca_udp *udp)
{
	bool is_open;

	mutex_lock(&udp->lock);
	is_open = udp->ipv4 && !udp->told;
	mutex_unlock(&udp->lock);
	return is_open;
}

static int __net_init init_net_udp(struct net *net)
{
	struct udp_net *per_net = net_generic(net, net_id);
	struct rhca_udp *udp = kzalloc(sizeof(*udp), GFP_KERNEL);

	if (!udp)
		return -ENOMEM;
	refcount_set(&udp->refs, 1);
	mutex_init(&udp->lock);
	INIT_DELAYED_WORK(&udp->retry, retry_open);
	udp->net = net;
	per_net->udp = udp;
	return 0;
}

/* Ports that still close do so without touching the namespace */
static void __net_exit exit_net_udp(struct net *net)
{
	struct udp_net *per_net = net_generic(net, net_id);
	struct rhca_udp *udp = per_net->udp;

	mutex_lock(&udp->lock);
	udp->net = NULL;
	close_socket(&udp->ipv4);
	close_socket(&udp->ipv6);
	mutex_unlock(&udp->lock);
	cancel_delayed_work_sync(&udp->retry);
	if (udp->used)
		rhca_frame_recall(net);
	put_udp(udp);
}

static struct pernet_operations net_ops = {
	.init	= init_net_udp,
	.exit	= exit_net_udp,
	.id	= &net_id,
	.size	= sizeof(struct udp_net),
};

static void count_no_memory(const struct net_device *ndev)
{
	struct rhca_port *port;

	rcu_read_lock();
	port = rhca_port_find_netdev(ndev);
	if (port)
		rhca_port_count(port, RHCA_RX_DROPPED_NO_MEMORY);
	rcu_read_unlock();
}

/* Taps may share the packet: take one that is ours alone */
static int ether_receive(struct sk_buff *skb, struct net_device *ndev,
			 struct packet_type *type, struct net_device *orig_ndev)
{
	if (skb->pkt_type == PACKET_OTHERHOST ||
	    skb->pkt_type == PACKET_OUTGOING) {
		kfree_skb(skb);
		return NET_RX_DROP;
	}
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb) {
		count_no_memory(ndev);
		return NET_RX_DROP;
	}
	rhca_receive(skb, RHCA_V1);
	return NET_RX_SUCCESS;
}

static struct packet_type ether_type = {
	.type	= cpu_to_be16(RHCA_ETHERTYPE),
	.func	= ether_receive,
};

/**
 * rhca_socket_init - Open both doors
 *
 * Return: 0, or the error of the namespace registration.
 */
int rhca_socket_init(void)
{
	int ret = register_pernet_subsys(&net_ops);

	if (ret)
		return ret;
	if (rhca_gid_type_enabled(IB_GID_TYPE_ROCE))
		dev_add_pack(&ether_type);
	return 0;
}

void rhca_socket_exit(void)
{
	if (rhca_gid_type_enabled(IB_GID_TYPE_ROCE))
		dev_remove_pack(&ether_type);
	unregister_pernet_subsys(&net_ops);
}
