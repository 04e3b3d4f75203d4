/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_BORROWED_REUSEPORT_H
#define RHCA_BORROWED_REUSEPORT_H

#include <linux/types.h>

struct socket;

void rhca_udp_socket_share(struct socket *sock, bool share);

#endif
