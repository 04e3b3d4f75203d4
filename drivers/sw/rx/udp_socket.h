/* SPDX-License-Identifier: GPL-2.0 */
/* One UDP socket of RoCE v2. */
#ifndef RHCA_SW_RX_UDP_SOCKET_H
#define RHCA_SW_RX_UDP_SOCKET_H

#include <linux/net.h>

struct net;

int rhca_udp_socket_open(struct net *net, int ifindex, sa_family_t family,
			 struct socket **out);
void rhca_udp_socket_close(struct socket **sock);

#endif
