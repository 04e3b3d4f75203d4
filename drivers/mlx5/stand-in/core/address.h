#ifndef A_H
#define A_H
#include <linux/if_ether.h>
#include <rdma/ib_verbs.h>
#include "wire/encap.h"
struct rhca_port;
struct rhca_address { struct rhca_port *port; u16 sgid_index; u16 vlan_id; int ifindex; u8 sl; u8 tclass; u8 dmac[ETH_ALEN]; struct rhca_flow flow; };
static inline u8 rhca_address_hop_limit(const struct rhca_address *a) { return a->flow.hop_limit; }
static inline u8 rhca_address_priority(const struct rhca_address *a) { return a->sl & 7; }
#endif
