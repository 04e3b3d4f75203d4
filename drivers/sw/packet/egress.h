/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_PACKET_EGRESS_H
#define RHCA_SW_PACKET_EGRESS_H

#include <linux/types.h>

struct dst_entry;
struct net;
struct net_device;
struct rhca_path;

struct dst_entry *rhca_route_find(struct rhca_path *path, struct net *net,
				  u32 lag_member);
bool rhca_egress_needs_checksum(struct net_device *ndev);
bool rhca_egress_takes_blocks(struct rhca_path *path, u32 lag_member);

#endif
