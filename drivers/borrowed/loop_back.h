/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loop back a frame to a group, or to the host's own address, as if received.
 *
 * We use:	that the IP stack looks up no route for a received packet that has one, as
 *		those of dev_loopback_xmit() have. Without one, a packet from one of the host's
 *		own addresses is dropped as spoofed ("martian source").
 * Where:	net/ipv4/ip_input.c, ip_rcv_finish_core(); net/ipv6/ip6_input.c,
 *		ip6_rcv_finish_core(): skb_valid_dst().
 * Since:	before 6.1; looked at in 6.12 and 7.3.
 * If it changes: QPs of the sending host get no copy of a datagram to their group that
 *		is sent on a VLAN or bond.
 * Test:	mcast.
 */
#ifndef RHCA_BORROWED_LOOP_BACK_H
#define RHCA_BORROWED_LOOP_BACK_H

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>

/**
 * rhca_loop_back - Receive a packet that this host sends
 * @skb: at its Ethernet header, consumed; with its route if that is a local one
 * @gid_ndev: the netdev to receive it on
 *
 * Context: bottom halves off.
 * Return: as netif_rx().
 */
static inline int rhca_loop_back(struct sk_buff *skb, struct net_device *gid_ndev)
{
	skb->dev = gid_ndev;
	__vlan_hwaccel_clear_tag(skb);
	skb->protocol = eth_type_trans(skb, gid_ndev);
	return netif_rx(skb);
}

#endif
