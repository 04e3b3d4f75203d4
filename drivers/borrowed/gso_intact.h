/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_BORROWED_GSO_INTACT_H
#define RHCA_BORROWED_GSO_INTACT_H

struct net;
struct nf_hook_state;
struct sk_buff;

int rhca_gso_intact_begin(struct net *net);
void rhca_gso_intact_end(struct net *net);
unsigned int rhca_gso_intact_keep(void *priv, struct sk_buff *skb,
				  const struct nf_hook_state *state);

#endif
