/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which RDMA device a netdev should have: what is known of it, and what follows from
 * that. No state, no locks: Documentation/lifecycle.rst has the table.
 */
#ifndef RHCA_LIFECYCLE_SLOT_WANTS_H
#define RHCA_LIFECYCLE_SLOT_WANTS_H

#include <linux/types.h>

#include "core/offer.h"

/* State of the netdev */
enum rhca_slot_netdev {
	RHCA_NETDEV_GONE,	/* it is being unregistered */
	RHCA_NETDEV_DOWN,	/* it is down, or its adapter is suspended */
	RHCA_NETDEV_UP,
};

/* What the user has asked for */
enum rhca_wish {
	RHCA_WISH_NONE,
	RHCA_WISH_RULE,		/* a rule of netdevs= names the netdev */
	RHCA_WISH_LINK,		/* "rdma link add" */
	RHCA_WISH_REMOVED,	/* the user has removed the device */
};

/* The netdev's own device, of which it is the first port */
enum rhca_slot_has {
	RHCA_HAS_NONE,
	RHCA_HAS_SOFTWARE,
	RHCA_HAS_HARDWARE,
	RHCA_HAS_LAG,		/* one by software in place of others: on a bond, or of a pair */
	/*
	 * One that is being unregistered, or that moves to another RDMA namespace; be it a
	 * further port of it
	 */
	RHCA_HAS_LEAVING,
};

/* Which device of another netdev stands for this one */
enum rhca_slot_leader {
	RHCA_LEADER_NONE,
	RHCA_LEADER_DEVICE,	/* one that has the netdev as a further port */
	RHCA_LEADER_LAG,	/* that of the bond over it */
};

/* Does another driver have a device on the netdev? */
enum rhca_slot_other {
	RHCA_OTHER_NONE,
	RHCA_OTHER_CHANGING,	/* one is being registered or unregistered */
	RHCA_OTHER_SERVES,
};

/* Is one device to stand for the members of a bond, or of a pair? */
enum rhca_slot_lag {
	RHCA_SLOT_LAG_NO,
	RHCA_SLOT_LAG_MEMBER,	/* the netdev is a member, or the second of a pair */
	RHCA_SLOT_LAG_HERE,	/* it is the bond */
};

/* Has the user joined the netdev to another one? */
enum rhca_slot_pair {
	RHCA_PAIR_NO,
	RHCA_PAIR_WAITS,	/* yes, but the two cannot have one device for now */
	RHCA_PAIR_USABLE,
};

/* What decides on the device of a netdev */
struct rhca_slot_facts {
	enum rhca_slot_netdev netdev;
	enum rhca_wish wish;
	enum rhca_slot_has has;
	enum rhca_slot_leader leader;
	enum rhca_offer_state offer;	/* core/offer.h */
	enum rhca_slot_other other;
	enum rhca_slot_lag lag;
	enum rhca_slot_pair pair;	/* if it is the first of one */
	bool can_roce;		/* link type and roce_mode allow it, and it is no VLAN */
	bool request;		/* "rdma link add" waits for the outcome */
	bool standin_rule;	/* netdevs= has a device there while no other driver has one */
	bool was_hardware;	/* hardware of ours served it until that was withdrawn */
	bool under_bond;	/* it is a port of a bond */
	bool tenants;		/* its partitions are others than the default one */
	bool one_port;		/* the device to be made has one port, and stands for no others */
	bool ports_there;	/* all ports of the rule that is the wish can be had */
	bool rxe_leaving;	/* rdma_rxe is being unloaded, which unregisters devices */
	bool returns;		/* its device was removed, which its user did not ask for */
};

/* What a netdev should have */
enum rhca_want {
	RHCA_WANT_NOTHING,	/* no device of its own */
	RHCA_WANT_KEEP,		/* what it has, if it has anything */
	RHCA_WANT_SOFTWARE,
	RHCA_WANT_HARDWARE,
	RHCA_WANT_LAG,		/* a device in place of others */
};

/* Rows of the table, by the numbers of lifecycle.rst, which says when they match */
enum rhca_slot_row {
	RHCA_ROW_NETDEV_GONE = 1,
	RHCA_ROW_NO_ROCE,
	RHCA_ROW_ASKED_TWICE,
	RHCA_ROW_USER_REMOVED,
	RHCA_ROW_LED,
	RHCA_ROW_LAG_ENDED,
	RHCA_ROW_OTHER_CHANGES,
	RHCA_ROW_OTHER_DISPLACES,
	RHCA_ROW_BESIDE_OTHER,
	RHCA_ROW_RXE_LEAVES,
	RHCA_ROW_LAG,
	RHCA_ROW_HARDWARE_SERVES,
	RHCA_ROW_HARDWARE,
	RHCA_ROW_HARDWARE_ENDS,
	RHCA_ROW_WANTED,
	RHCA_ROW_STANDS_IN,
	RHCA_ROW_MAY_STAND_IN,
	RHCA_ROW_OTHERWISE,
};

/* What follows from the facts */
struct rhca_slot_decision {
	enum rhca_want want;	/* what the netdev should have */
	enum rhca_slot_row row;	/* of the table */
	int error;		/* what "rdma link add" gets: 0 or a negative errno */
	unsigned int settle_ms;	/* do it when nothing has happened for so long */
	unsigned int again_ms;	/* look again then, without an event; 0: no need */
};

void rhca_slot_wants(const struct rhca_slot_facts *f,
		     struct rhca_slot_decision *d);
bool rhca_slot_is_met(enum rhca_want want, enum rhca_slot_has has);

#endif
