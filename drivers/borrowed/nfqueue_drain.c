// SPDX-License-Identifier: GPL-2.0
/*
 * Packets held by an NFQUEUE rule return to a function of ours: drop them at exit.
 *
 * We use:	a side effect: netfilter drops all queued packets of a namespace when a hook
 *		is unregistered there.
 * Where:	net/netfilter/core.c, __nf_unregister_net_hook(), which calls
 *		nf_queue_nf_hook_drop(); nfqnl_nf_hook_drop() in nfnetlink_queue.c.
 * Since:	long before 6.1; looked at in 6.12 and 7.3.
 * If it changes: a verdict after the module is unloaded jumps into freed text.
 * Test:	netfilter (a packet is held while the module is unloaded).
 */
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>

#include "borrowed/nfqueue_drain.h"

#ifdef CONFIG_NETFILTER
static unsigned int accept_packet(void *priv, struct sk_buff *skb,
				  const struct nf_hook_state *state)
{
	return NF_ACCEPT;
}

static const struct nf_hook_ops passing_hook = {
	.hook		= accept_packet,
	.pf		= NFPROTO_IPV4,
	.hooknum	= NF_INET_LOCAL_OUT,
	.priority	= NF_IP_PRI_FIRST,
};

/**
 * rhca_nfqueue_drain - Drop packets that an NFQUEUE rule holds
 * @net: a namespace in which we send nothing any more
 *
 * After the verdict such a packet continues in frame_post_routing() or frame_output(), which
 * are about to be unloaded. Other senders' packets are dropped, too. The second round is for
 * packets that a verdict has just passed to the next queue.
 *
 * Context: may sleep.
 */
void rhca_nfqueue_drain(struct net *net)
{
	int round;

	for (round = 0; round < 2; round++) {
		if (!nf_register_net_hook(net, &passing_hook))
			nf_unregister_net_hook(net, &passing_hook);
		synchronize_rcu();	/* verdicts in progress */
	}
}
#else
void rhca_nfqueue_drain(struct net *net)
{
}
#endif
