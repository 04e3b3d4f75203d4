/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sockets of several VRFs have one UDP port number, and nobody else gets it.
 *
 * We use:	sk_reuseport of a socket that is bound already. The kernel reads it when
 *		another socket is bound, and not when packets come, where our sockets are in
 *		no group of sockets that share packets: they differ in the device they are
 *		bound to.
 * Where:	net/ipv4/udp.c, udp_lib_lport_inuse(), udp_lib_lport_inuse2() and
 *		udp_reuseport_add_sock().
 * Since:	3.9; looked at in 6.12 and 7.3.
 * If it changes: RoCE v2 works in no VRF beside netdevs in none ("cannot listen on UDP port
 *		4791"), or other programs of root can have the port as well.
 * Test:	vrf, port-taken.
 */
#ifndef RHCA_BORROWED_REUSEPORT_H
#define RHCA_BORROWED_REUSEPORT_H

#include <linux/net.h>
#include <net/sock.h>

/**
 * rhca_udp_socket_share - Let a socket of another L3 domain have the port number
 * @sock: the socket
 * @share: until it is called with false
 *
 * The kernel takes a socket that is bound to a VRF and one that is bound to no
 * device for rivals, unless both are shared and of one user. It asks when a socket
 * is bound, so no socket stays shared longer than that: the port is ours alone.
 *
 * Context: may sleep.
 */
static inline void rhca_udp_socket_share(struct socket *sock, bool share)
{
	lock_sock(sock->sk);
	sock->sk->sk_reuseport = share;
	release_sock(sock->sk);
}

#endif
