/* SPDX-License-Identifier: GPL-2.0 */
/* What a QP has sent and the host has not: bytes in the queues of netdevs. */
#ifndef RHCA_SW_PACKET_UNDER_WAY_H
#define RHCA_SW_PACKET_UNDER_WAY_H

#include <linux/skbuff.h>
#include <net/sock.h>

#include "sw/verbs/qp/qp.h"

/*
 * Bytes of memory, of what nothing else limits: datagrams, UC, responses to READs, and
 * what an RC requester sends again. What that sends for the first time is limited by its
 * window, 128 packets, acknowledgements by requests: to charge them would cost a request of
 * 64 bytes a tenth of its time where there are many QPs. What must not overtake packets that
 * are charged is charged, too: a GRO that meets skbs of a host's own (behind a veth) keeps
 * those of each owner apart, and may so change their order.
 */
#define RHCA_UNDER_WAY_MAX	(2U << 20)

int rhca_under_way_open(struct rhca_verbs_qp *qp);
void rhca_under_way_close(struct rhca_verbs_qp *qp);

/* Charge @skb to @qp until it is freed, or handed to another host */
static inline void rhca_under_way_charge(const struct rhca_verbs_qp *qp,
					 struct sk_buff *skb)
{
	struct socket *owner = qp->owner;

	if (likely(owner))
		skb_set_owner_w(skb, owner->sk);
}

/* Is so much under way that nothing is to be added? */
static inline bool rhca_under_way_full(const struct rhca_verbs_qp *qp)
{
	const struct socket *owner = qp->owner;

	return owner && sk_wmem_alloc_get(owner->sk) >= RHCA_UNDER_WAY_MAX;
}

#endif
