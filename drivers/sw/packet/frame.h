/* SPDX-License-Identifier: GPL-2.0 */
/* Packets for which we build the Ethernet header: RoCE v1, VLANs, bonds. */
#ifndef RHCA_SW_PACKET_FRAME_H
#define RHCA_SW_PACKET_FRAME_H

#include <linux/types.h>

struct dst_entry;
struct net;
struct net_device;
struct rhca_path;
struct sk_buff;

int rhca_frame_send_v1(struct sk_buff *skb, struct rhca_path *path,
		       struct net_device *gid_ndev);
bool rhca_frame_needed(const struct dst_entry *dst);
bool rhca_frame_fits(const struct sk_buff *skb, unsigned int mtu);
int rhca_frame_send_ip(struct sk_buff *skb, struct rhca_path *path,
		       struct net *net);

#endif
