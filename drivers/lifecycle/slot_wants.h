/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which RDMA device a netdev should have: the facts, and what follows from them. No state, no
 * locks: Documentation/lifecycle.rst has the table.
 */
#ifndef RHCA_LIFECYCLE_SLOT_WANTS_H
#define RHCA_LIFECYCLE_SLOT_WANTS_H

#include <linux/types.h>

#include "core/port/offer.h"

/* State of the netdev */
enum rhca_slot_netdev {
	RHCA_NETDEV_GONE,	/* being unregistered */
	RHCA_NETDEV_DOWN,	/* down, or its adapter is suspended */
	RHCA_NETDEV_UP,
};

/* What the user has asked for */
enum rhca_wish {
	RHCA_WISH_NONE,
	RHCA_WISH_RULE,		/* a rule of netdevs= matches the netdev */
	RHCA_WISH_LINK,		/* "rdma link add" */
	RHCA_WISH_REMOVED,	/* the user has removed the device */
};

/* The netdev's own device, of which it is the first port */
enum rhca_slot_has {
	RHCA_HAS_NONE,
	RHCA_HAS_SOFTWARE,
	RHCA_HAS_HARDWARE,
	RHCA_HAS_LAG,		/* a software device in place of others: on a bond, or of a pair */
	/*
	 * Registered, but it has missed that a netdev was unregistered or moved to another
	 * namespace: perhaps this one, which may be a further port
	 */
	RHCA_HAS_ORPHAN,
	/*
	 * Being unregistered, or moving to another RDMA namespace; the netdev may be a further port
	 */
	RHCA_HAS_LEAVING,
};

/* Which device of another netdev serves this one */
enum rhca_slot_leader {
	RHCA_LEADER_NONE,
	RHCA_LEADER_DEVICE,	/* has the netdev as a further port */
	RHCA_LEADER_LAG,	/* the LAG that it is a member of */
};

/* Does another driver have a device on the netdev? */
enum rhca_slot_other {
	RHCA_OTHER_NONE,
	RHCA_OTHER_CHANGING,	/* one is being registered or unregistered */
	RHCA_OTHER_SERVES,
};

/* Should one device replace those of the members of a bond or pair? */
enum rhca_slot_lag {
	RHCA_SLOT_LAG_NO,
	RHCA_SLOT_LAG_MEMBER,	/* the netdev is a member, or the second of a pair */
	RHCA_SLOT_LAG_HERE,	/* the netdev is the bond */
};

/* Has the user joined the netdev to another one? */
enum rhca_slot_pair {
	RHCA_PAIR_NO,
	RHCA_PAIR_WAITS,	/* yes, but the two cannot have one device now */
	RHCA_PAIR_USABLE,
};

/* What decides on the device of a netdev */
struct rhca_slot_facts {
	enum rhca_slot_netdev netdev;
	enum rhca_wish wish;
	enum rhca_slot_has has;
	enum rhca_slot_leader leader;
	enum rhca_offer_state offer;	/* core/port/offer.h */
	enum rhca_slot_other other;
	enum rhca_slot_lag lag;
	enum rhca_slot_pair pair;	/* if it is the first of a pair */
	bool can_roce;		/* link type and roce_mode allow it, and it is no VLAN */
	bool request;		/* "rdma link add" waits for the result */
	bool standin_rule;	/* netdevs= wants a stand-in while no other driver has a device */
	bool was_hardware;	/* our hardware device there was withdrawn */
	bool under_bond;	/* it is a port of a bond */
	bool tenants;		/* it has partitions other than the default one */
	bool one_port;		/* the device to be made has one port and is no LAG */
	bool ports_there;	/* all ports of the wished rule are available */
	bool rxe_leaving;	/* rdma_rxe is being unloaded, and unregisters devices */
	bool returns;		/* its device was removed, but not by its user */
};

/* What a netdev should have */
enum rhca_want {
	RHCA_WANT_NOTHING,	/* no device of its own */
	RHCA_WANT_KEEP,		/* the present one, if any */
	RHCA_WANT_SOFTWARE,
	RHCA_WANT_HARDWARE,
	RHCA_WANT_LAG,		/* a device in place of others */
};

/* Rows of the table, numbered as in lifecycle.rst, which says when they match */
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
	int error;		/* result of "rdma link add": 0 or a negative errno */
	unsigned int settle_ms;	/* act after the decision has been the same for so long */
	unsigned int again_ms;	/* look again after this time without an event; 0: no need */
};

void rhca_slot_wants(const struct rhca_slot_facts *f,
		     struct rhca_slot_decision *d);
bool rhca_slot_is_met(enum rhca_want want, enum rhca_slot_has has);

#endif
