/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive sockets: UDP tunnel sockets in each network namespace with a port (RoCE v2), and a packet
 * handler (RoCE v1).
 */
#ifndef RHCA_SW_RX_SOCKET_H
#define RHCA_SW_RX_SOCKET_H

#include <linux/types.h>

struct net;
struct rhca_udp;

int rhca_socket_init(void);
void rhca_socket_exit(void);
struct rhca_udp *rhca_udp_open(struct net *net);
void rhca_udp_quiesce(struct rhca_udp *udp);
void rhca_udp_close(struct rhca_udp *udp);
bool rhca_udp_is_open(struct rhca_udp *udp, int vrf);

#endif
