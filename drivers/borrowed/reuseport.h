/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Share one UDP port number among our sockets of several VRFs, and with no others.
 *
 * We use:	sk_reuseport of a socket that is bound already. The kernel reads it when
 *		another socket is bound, but not when packets arrive: our sockets are in no
 *		reuseport group, as they are bound to different devices.
 * Where:	net/ipv4/udp.c, udp_lib_lport_inuse(), udp_lib_lport_inuse2() and
 *		udp_reuseport_add_sock().
 * Since:	3.9; looked at in 6.12 and 7.3.
 * If it changes: RoCE v2 does not work both in a VRF and outside ("cannot listen on UDP
 *		port 4791"), or other programs of root can bind the port as well.
 * Test:	vrf, port-taken.
 */
#ifndef RHCA_BORROWED_REUSEPORT_H
#define RHCA_BORROWED_REUSEPORT_H

#include <linux/net.h>
#include <net/sock.h>

/**
 * rhca_udp_socket_share - Allow a socket of another L3 domain to bind the port number
 * @sock: the socket
 * @share: allow or forbid it
 *
 * For the kernel a socket bound to a VRF and one bound to no device conflict unless both
 * have reuseport and the same user. It checks this in bind(), so share sockets only meanwhile:
 * the port remains ours alone.
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
