/* SPDX-License-Identifier: GPL-2.0 */
/* Routes of RoCE v2 packets. */
#ifndef RHCA_SW_PACKET_ROUTE_H
#define RHCA_SW_PACKET_ROUTE_H

#include <linux/types.h>

struct dst_entry;
struct net;
struct rhca_path;

struct dst_entry *rhca_route_find(struct rhca_path *path, struct net *net,
				  u32 lag_member);

#endif
