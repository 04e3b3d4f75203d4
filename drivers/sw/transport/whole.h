/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_TRANSPORT_WHOLE_H
#define RHCA_SW_TRANSPORT_WHOLE_H

struct net;

int rhca_whole_begin(struct net *net);
void rhca_whole_end(struct net *net);

#endif
