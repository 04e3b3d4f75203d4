// SPDX-License-Identifier: GPL-2.0
/*
 * UDP sockets on port 4791, whose packets never reach a receive queue: they are
 * taken where a tunnel's are.
 */
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>
#include <rhca/compat.h>

#include "sw/rx/receive.h"
#include "sw/rx/udp_socket.h"
#include "wire/headers.h"

/* skb->data is at the UDP header; always consumed */
static int udp_receive(struct sock *sk, struct sk_buff *skb)
{
	bool ipv4 = ip_hdr(skb)->version == 4;

	__skb_push(skb, -skb_network_offset(skb));
	rhca_receive(skb, ipv4 ? RHCA_V2_IPV4 : RHCA_V2_IPV6);
	return 0;
}

/* kernel_bind() has had another type for the address since 6.19 */
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

/* Those that come as such, and what GRO puts together; both only save time */
static void take_blocks(struct socket *sock)
{
	int on = 1;

	udp_allow_gso(sock->sk);
	sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO, KERNEL_SOCKPTR(&on),
			      sizeof(on));
}

/*
 * Receive RoCE v2 packets.
 * @ifindex: VRF whose packets are wanted, or 0 for those of netdevs that are in none
 * @out: set to the socket, which is shared until rhca_udp_socket_share() ends that
 * May sleep. Returns 0 or a negative error, -EADDRINUSE when somebody else has the port number,
 * a socket of ours that is not shared included.
 */
int rhca_udp_socket_open(struct net *net, int ifindex, sa_family_t family,
			 struct socket **out)
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
	ret = bind_socket(sock, ifindex, family);
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
 * Close a socket that may be open. Unlike udp_tunnel_sock_release() of 6.12 and older it waits
 * for no grace period, which who holds RTNL would have everybody wait for: nothing hangs on the
 * socket, and the kernel frees it after one. May sleep, RTNL may be held. Packets that came
 * before may still be under way in RCU read sides.
 */
void rhca_udp_socket_close(struct socket **sock)
{
	if (*sock) {
		kernel_sock_shutdown(*sock, SHUT_RDWR);
		sock_release(*sock);
	}
	*sock = NULL;
}
