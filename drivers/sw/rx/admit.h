/* SPDX-License-Identifier: GPL-2.0 */
/* Which packets reach a QP. */
#ifndef RHCA_SW_RX_ADMIT_H
#define RHCA_SW_RX_ADMIT_H

#include "sw/verbs/counters.h"
#include "sw/packet/parse.h"

#define RHCA_GSI_QPN	1

struct rhca_qp_handle;
struct rhca_verbs_qp;
struct rhca_sw_qp;

int rhca_rx_ifindex(const struct sk_buff *skb, enum rhca_encap encap);

/* The netdev a packet arrived on: a VRF has replaced it in skb->dev. RCU read side */
static inline const struct net_device *rhca_rx_netdev(const struct rhca_rx *rx)
{
	const struct net_device *ndev = rx->skb->dev;

	return rx->ifindex == ndev->ifindex ? ndev :
	       dev_get_by_index_rcu(dev_net(ndev), rx->ifindex) ?: ndev;
}

bool rhca_rx_arrived_on(const struct rhca_rx *rx, int ifindex);
struct rhca_verbs_qp *rhca_rx_find_qp(struct rhca_rx *rx,
				      struct rhca_qp_handle *handle);
bool rhca_rx_to_group(const struct rhca_rx *rx);
bool rhca_rx_admissible(struct rhca_verbs_qp *qp, struct rhca_rx *rx);
bool rhca_rx_intact(const struct rhca_rx *rx, struct rhca_counters __percpu *c);
bool rhca_rx_in_partition(struct rhca_verbs_qp *qp, struct rhca_rx *rx);
void rhca_rx_note_mtu(struct rhca_sw_qp *qp, const struct rhca_rx *rx);
void rhca_rx_count_drop(const struct rhca_rx *rx, const struct rhca_flow *flow,
			enum rhca_counter which);
bool rhca_rx_cnp_admissible(struct rhca_verbs_qp *qp, struct rhca_rx *rx);
void rhca_rx_drop_at(struct rhca_port *port, const struct rhca_flow *flow,
		     enum rhca_counter which);
void rhca_rx_drop(const struct rhca_verbs_qp *qp, const struct rhca_rx *rx,
		  enum rhca_counter which);
void rhca_rx_count_fault(const struct rhca_rx *rx, const struct rhca_flow *flow,
			 enum rhca_parse fault);
void rhca_rx_count_malformed(struct rhca_rx *rx, enum rhca_encap encap,
			     enum rhca_parse fault);

#endif
