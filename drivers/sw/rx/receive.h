/* SPDX-License-Identifier: GPL-2.0 */
/* Receive path: parse, admit, hand over. */
#ifndef RHCA_SW_RX_RECEIVE_H
#define RHCA_SW_RX_RECEIVE_H

#include <linux/skbuff.h>

#include "sw/packet/parse.h"
#include "sw/rx/admit.h"

void rhca_receive(struct sk_buff *skb, enum rhca_encap encap);
void rhca_receive_list(struct list_head *list, enum rhca_encap encap);

#endif
