// SPDX-License-Identifier: GPL-2.0
/*
 * Receives on UDP port 4791 of each namespace with a port of ours, and by EtherType 0x8915. Users
 * may move a netdev to another L3 domain at any time, and its VLANs may be in others, so there are
 * sockets for each VRF of the namespace.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_packet.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>
#include <rhca/compat.h>

#include "core/rules/policy.h"
#include "sw/verbs/port.h"
#include "sw/verbs/section.h"
#include "sw/rx/admit.h"
#include "sw/rx/receive.h"
#include "sw/rx/socket.h"
#include "borrowed/gso_intact.h"
#include "borrowed/nfqueue_drain.h"
#include "borrowed/reuseport.h"
#include "wire/headers.h"

/* Interval of retries while the UDP port is in use */
#define RETRY_INTERVAL	(2 * HZ)

/* The sockets of one L3 domain of a namespace */
struct listener {
	struct list_head entry;	/* in the namespace's list */
	int vrf;		/* ifindex of the VRF; 0: netdevs in no VRF */
	char name[IFNAMSIZ];	/* of the VRF */
	struct socket *ipv4;	/* socket, or NULL */
	struct socket *ipv6;	/* socket, or NULL */
	bool logged;		/* the busy port was reported */
};

/* Sockets of one namespace */
struct rhca_udp {
	refcount_t refs;		/* of the namespace and ports */
	struct mutex lock;		/* protects: */
	struct net *net;		/* the namespace; NULL after its exit */
	u32 users;			/* open ports, without quiesced ones */
	struct list_head listeners;	/* per VRF and for the rest, while there are users */
	bool whole;			/* blocks reach the sockets unsegmented */
	bool used;			/* a port has been open */
	struct delayed_work update;	/* opens missing sockets, closes obsolete ones */
};

static unsigned int net_id;

struct udp_net {
	struct rhca_udp *udp;
};

/* --- one socket, which receives like a tunnel's ------------------------------ */

/* skb->data is at the UDP header; always consumed */
static int udp_receive(struct sock *sk, struct sk_buff *skb)
{
	bool ipv4 = ip_hdr(skb)->version == 4;

	__skb_push(skb, -skb_network_offset(skb));
	rhca_receive(skb, ipv4 ? RHCA_V2_IPV4 : RHCA_V2_IPV6);
	return 0;
}

/* The type of kernel_bind()'s address changed in 6.19 */
static int bind_ipv4(struct socket *sock)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_port = htons(RHCA_UDP_PORT),
	};

	return kernel_bind(sock, (void *)&any, sizeof(any));
}

static int bind_ipv6(struct socket *sock)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(RHCA_UDP_PORT),
	};
	int ret;

	ret = ip6_sock_set_v6only(sock->sk);
	if (ret)
		return ret;
	udp_set_no_check6_rx(sock->sk, true);	/* RFC 6935 */
	return kernel_bind(sock, (void *)&any, sizeof(any));
}

static int bind_socket(struct socket *sock, int ifindex, sa_family_t family)
{
	int ret = 0;

	sock_set_reuseport(sock->sk);
	if (ifindex)
		ret = sock_bindtoindex(sock->sk, ifindex, true);
	if (ret)
		return ret;
	return family == AF_INET ? bind_ipv4(sock) : bind_ipv6(sock);
}

/* Accept GSO and GRO packets; both only save time */
static void take_blocks(struct socket *sock)
{
	int on = 1;

	udp_allow_gso(sock->sk);
	sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO, KERNEL_SOCKPTR(&on),
			      sizeof(on));
}

/*
 * Receive packets of a VRF, or of netdevs in none. The port number is shared until
 * rhca_udp_socket_share() ends that. Returns -EADDRINUSE if another socket has it, even one of ours
 * that is not shared.
 */
static int open_socket(struct net *net, int vrf, sa_family_t family, struct socket **out)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type	= 1,
		.encap_rcv	= udp_receive,
	};
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (ret)
		return ret;
	ret = bind_socket(sock, vrf, family);
	if (ret) {
		sock_release(sock);
		return ret;
	}
	setup_udp_tunnel_sock(net, rhca_tunnel_of(sock), &tunnel);
	take_blocks(sock);
	*out = sock;
	return 0;
}

/*
 * Close a socket, or nothing if NULL. Unlike udp_tunnel_sock_release() up to 6.12 this does not
 * wait for a grace period, during which other users of RTNL would wait: nothing refers to the
 * socket, and the kernel frees it after one. Packets may still be in progress.
 */
static void close_socket(struct socket **sock)
{
	if (*sock) {
		kernel_sock_shutdown(*sock, SHUT_RDWR);
		sock_release(*sock);
	}
	*sock = NULL;
}

/* --- required sockets ------------------------------------------------------- */

static struct listener *find_listener(struct rhca_udp *udp, int vrf)
{
	struct listener *listener;

	lockdep_assert_held(&udp->lock);
	list_for_each_entry(listener, &udp->listeners, entry)
		if (listener->vrf == vrf)
			return listener;
	return NULL;
}

/* Find or add a listener; false without memory */
static bool have_listener(struct rhca_udp *udp, const struct net_device *vrf)
{
	struct listener *listener;

	if (find_listener(udp, vrf ? vrf->ifindex : 0))
		return true;
	listener = kzalloc(sizeof(*listener), GFP_ATOMIC);
	if (!listener)
		return false;
	if (vrf) {
		listener->vrf = vrf->ifindex;
		strscpy(listener->name, netdev_name(vrf),
			sizeof(listener->name));
	}
	list_add_tail(&listener->entry, &udp->listeners);
	return true;
}

static void remove_listener(struct listener *listener)
{
	close_socket(&listener->ipv4);
	close_socket(&listener->ipv6);
	list_del(&listener->entry);
	kfree(listener);
}

static void stop(struct rhca_udp *udp)
{
	struct listener *listener, *next;

	lockdep_assert_held(&udp->lock);
	list_for_each_entry_safe(listener, next, &udp->listeners, entry)
		remove_listener(listener);
	if (udp->whole)
		rhca_gso_intact_end(udp->net);
	udp->whole = false;
}

/* Returns false if memory ran out */
static bool update_listeners(struct rhca_udp *udp)
{
	struct listener *listener, *next;
	const struct net_device *ndev;
	bool all;

	list_for_each_entry_safe(listener, next, &udp->listeners, entry)
		if (listener->vrf && !netif_index_is_l3_master(udp->net, listener->vrf))
			remove_listener(listener);
	all = have_listener(udp, NULL);
	rcu_read_lock();
	for_each_netdev_rcu(udp->net, ndev)
		if (netif_is_l3_master(ndev))
			all &= have_listener(udp, ndev);
	rcu_read_unlock();
	return all;
}

/* --- opening ----------------------------------------------------------------- */

static void share_sockets(struct rhca_udp *udp, bool share)
{
	struct listener *listener;

	lockdep_assert_held(&udp->lock);
	list_for_each_entry(listener, &udp->listeners, entry) {
		if (listener->ipv4)
			rhca_udp_socket_share(listener->ipv4, share);
		if (listener->ipv6)
			rhca_udp_socket_share(listener->ipv6, share);
	}
}

static bool is_final(int error)
{
	return error == -EAFNOSUPPORT || error == -EPFNOSUPPORT ||
	       error == -EOPNOTSUPP;	/* a kernel without IPv6 */
}

static int open_missing(struct net *net, struct listener *listener)
{
	int ret = 0, ret6 = 0;

	if (!listener->ipv4)
		ret = open_socket(net, listener->vrf, AF_INET, &listener->ipv4);
	if (!listener->ipv6)
		ret6 = open_socket(net, listener->vrf, AF_INET6, &listener->ipv6);
	return ret ?: is_final(ret6) ? 0 : ret6;
}

static void log_taken(const struct listener *listener, int error)
{
	pr_warn("cannot listen on UDP port %d%s%s (error %d%s): RoCE v1 works, RoCE v2 will when the port is free%s\n",
		RHCA_UDP_PORT, listener->vrf ? " in VRF " : "", listener->name,
		error, error == -EADDRINUSE ? ", it is in use" : "",
		error == -EADDRINUSE ?
		" (unload rdma_rxe, or stop what \"ss -ulnp sport = 4791\" shows)" :
		"");
}

/* Not an error of the device: RoCE v1 works, and v2 will once the port is free */
static bool open_listener(struct net *net, struct listener *listener)
{
	int ret = open_missing(net, listener);

	if (ret) {
		if (!listener->logged)
			log_taken(listener, ret);
	} else if (listener->logged) {
		pr_info("UDP port %d%s%s is free again: RoCE v2 works\n",
			RHCA_UDP_PORT, listener->vrf ? " in VRF " : "",
			listener->name);
	}
	listener->logged = ret;
	return !ret;
}

static void update_locked(struct rhca_udp *udp)
{
	struct listener *listener;
	bool all_open;

	lockdep_assert_held(&udp->lock);
	if (!udp->whole)
		udp->whole = !rhca_gso_intact_begin(udp->net);
	all_open = update_listeners(udp);
	share_sockets(udp, true);
	list_for_each_entry(listener, &udp->listeners, entry)
		all_open &= open_listener(udp->net, listener);
	share_sockets(udp, false);
	if (!all_open)
		schedule_delayed_work(&udp->update, RETRY_INTERVAL);
}

/* Sockets that share a port number must have the same owner: here, root */
static void update(struct work_struct *work)
{
	struct rhca_udp *udp = container_of(to_delayed_work(work),
					    struct rhca_udp, update);

	mutex_lock(&udp->lock);
	if (udp->net && udp->users &&
	    rhca_gid_type_enabled(IB_GID_TYPE_ROCE_UDP_ENCAP))
		update_locked(udp);
	mutex_unlock(&udp->lock);
}

/**
 * rhca_udp_open - Start receiving in a namespace for a port
 * @net: the namespace
 *
 * Context: may sleep.
 * Return: a reference for rhca_udp_close(). A busy port number is logged and retried; it is no
 * error.
 */
struct rhca_udp *rhca_udp_open(struct net *net)
{
	struct udp_net *per_net = net_generic(net, net_id);
	struct rhca_udp *udp = per_net->udp;
	bool first;

	refcount_inc(&udp->refs);
	mutex_lock(&udp->lock);
	udp->used = true;
	first = !udp->users++;
	mutex_unlock(&udp->lock);
	if (first) {
		schedule_delayed_work(&udp->update, 0);
		flush_delayed_work(&udp->update);
	}
	return udp;
}

/**
 * rhca_udp_quiesce - Stop receiving for a port; the last one closes the sockets
 * @udp: from rhca_udp_open(), still to be passed to rhca_udp_close(); its namespace may be gone
 *
 * Context: may sleep; RTNL may be held.
 */
void rhca_udp_quiesce(struct rhca_udp *udp)
{
	mutex_lock(&udp->lock);
	if (!--udp->users)
		stop(udp);
	mutex_unlock(&udp->lock);
}

/**
 * rhca_udp_close - Undo rhca_udp_open()
 * @udp: from there, after rhca_udp_quiesce()
 *
 * Context: may sleep.
 */
void rhca_udp_close(struct rhca_udp *udp)
{
	if (!refcount_dec_and_test(&udp->refs))
		return;
	cancel_delayed_work_sync(&udp->update);
	kfree(udp);
}

/**
 * rhca_udp_is_open - Can RoCE v2 be received?
 * @udp: from rhca_udp_open()
 * @vrf: ifindex of the netdev's VRF, or 0
 *
 * Context: may sleep.
 * Return: false if the port number is in use, for at least one IP version.
 */
bool rhca_udp_is_open(struct rhca_udp *udp, int vrf)
{
	const struct listener *listener;
	bool is_open;

	mutex_lock(&udp->lock);
	listener = find_listener(udp, vrf);
	is_open = listener && listener->ipv4 && !listener->logged;
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
	INIT_LIST_HEAD(&udp->listeners);
	INIT_DELAYED_WORK(&udp->update, update);
	udp->net = net;
	per_net->udp = udp;
	return 0;
}

/* Ports that are still open close without touching the namespace */
static void __net_exit exit_net_udp(struct net *net)
{
	struct udp_net *per_net = net_generic(net, net_id);
	struct rhca_udp *udp = per_net->udp;

	mutex_lock(&udp->lock);
	stop(udp);
	udp->net = NULL;
	mutex_unlock(&udp->lock);
	if (udp->used)
		rhca_nfqueue_drain(net);
	rhca_udp_close(udp);
}

static struct pernet_operations net_ops = {
	.init	= init_net_udp,
	.exit	= exit_net_udp,
	.id	= &net_id,
	.size	= sizeof(struct udp_net),
};

/* An unbound socket does not receive from netdevs of a VRF */
static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	const struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct udp_net *per_net;

	if ((event == NETDEV_REGISTER || event == NETDEV_UNREGISTER) &&
	    netif_is_l3_master(ndev)) {
		per_net = net_generic(dev_net(ndev), net_id);
		/* Now, even if a retry for a busy port number is pending */
		mod_delayed_work(system_long_wq, &per_net->udp->update, 0);
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

static void count_no_memory(const struct net_device *ndev)
{
	struct rhca_port *port;

	rcu_read_lock();
	port = rhca_port_find_netdev(ndev);
	if (port)
		rhca_rx_drop_at(port, NULL, RHCA_RX_DROPPED_NO_MEMORY);
	rcu_read_unlock();
}

/* Get a private skb, as taps may share it. NULL if it is not for us */
static struct sk_buff *take_frame(struct sk_buff *skb,
				  const struct net_device *ndev)
{
	if (skb->pkt_type == PACKET_OTHERHOST ||
	    skb->pkt_type == PACKET_OUTGOING) {
		kfree_skb(skb);
		return NULL;
	}
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		count_no_memory(ndev);
	return skb;
}

static int ether_receive(struct sk_buff *skb, struct net_device *ndev,
			 struct packet_type *type, struct net_device *orig_ndev)
{
	skb = take_frame(skb, ndev);
	if (!skb)
		return NET_RX_DROP;
	rhca_receive(skb, RHCA_V1);
	return NET_RX_SUCCESS;
}

/* Process the packets of a NAPI poll in portions */
static void ether_receive_list(struct list_head *list, struct packet_type *type,
			       struct net_device *orig_ndev)
{
	struct rhca_allowance left = RHCA_WHOLE_ALLOWANCE;
	struct sk_buff *skb, *next;
	LIST_HEAD(frames);

	list_for_each_entry_safe(skb, next, list, list) {
		skb_list_del_init(skb);
		skb = take_frame(skb, skb->dev);
		if (!skb)
			continue;
		if (skb_is_gso(skb)) {
			rhca_receive(skb, RHCA_V1);
			continue;
		}
		if (!rhca_allows(&left, skb->len)) {
			rhca_receive_list(&frames, RHCA_V1);
			left = RHCA_WHOLE_ALLOWANCE;
		}
		list_add_tail(&skb->list, &frames);
		rhca_allowance_use(&left, 1, skb->len);
	}
	rhca_receive_list(&frames, RHCA_V1);
}

static struct packet_type ether_type = {
	.type	= cpu_to_be16(RHCA_ETHERTYPE),
	.func	= ether_receive,
	.list_func = ether_receive_list,
};

/**
 * rhca_socket_init - Start receiving packets
 *
 * Return: 0, or the error of a registration, with nothing left open.
 */
int rhca_socket_init(void)
{
	int ret = register_pernet_subsys(&net_ops);

	if (ret)
		return ret;
	ret = register_netdevice_notifier(&netdev_notifier);
	if (ret) {
		unregister_pernet_subsys(&net_ops);
		return ret;
	}
	if (rhca_gid_type_enabled(IB_GID_TYPE_ROCE))
		dev_add_pack(&ether_type);
	return 0;
}

void rhca_socket_exit(void)
{
	if (rhca_gid_type_enabled(IB_GID_TYPE_ROCE))
		dev_remove_pack(&ether_type);
	unregister_netdevice_notifier(&netdev_notifier);
	unregister_pernet_subsys(&net_ops);
}
