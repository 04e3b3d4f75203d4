/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_BORROWED_NFQUEUE_DRAIN_H
#define RHCA_BORROWED_NFQUEUE_DRAIN_H

struct net;

void rhca_nfqueue_drain(struct net *net);

#endif
