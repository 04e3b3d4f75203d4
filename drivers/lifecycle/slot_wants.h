/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which RDMA device a netdev should have: what is known of it, and what follows from
 * that. No state, no locks: Documentation/lifecycle.rst has the table.
 */
#ifndef RHCA_LIFECYCLE_SLOT_WANTS_H
#define RHCA_LIFECYCLE_SLOT_WANTS_H

#include <linux/types.h>

/**
 * enum rhca_slot_netdev - State of the netdev
 * @RHCA_NETDEV_GONE: it is being unregistered
 * @RHCA_NETDEV_DOWN: it is down, or its adapter is suspended
 * @RHCA_NETDEV_UP: it is up
 */
enum rhca_slot_netdev {
	RHCA_NETDEV_GONE,
	RHCA_NETDEV_DOWN,
	RHCA_NETDEV_UP,
};

/**
 * enum rhca_wish - What the user has asked for
 * @RHCA_WISH_NONE: nothing
 * @RHCA_WISH_RULE: a rule of netdevs= names the netdev
 * @RHCA_WISH_LINK: "rdma link add"
 * @RHCA_WISH_REMOVED: the user has removed the device
 */
enum rhca_wish {
	RHCA_WISH_NONE,
	RHCA_WISH_RULE,
	RHCA_WISH_LINK,
	RHCA_WISH_REMOVED,
};

/**
 * enum rhca_slot_has - The netdev's own device, of which it is the first port
 * @RHCA_HAS_NONE: there is none
 * @RHCA_HAS_SOFTWARE: one by software
 * @RHCA_HAS_HARDWARE: one by hardware
 * @RHCA_HAS_LAG: one by software in place of others: on a bond, or of a pair
 * @RHCA_HAS_LEAVING: one that is being unregistered, or that moves to another RDMA
 *	namespace; be it a further port of it
 */
enum rhca_slot_has {
	RHCA_HAS_NONE,
	RHCA_HAS_SOFTWARE,
	RHCA_HAS_HARDWARE,
	RHCA_HAS_LAG,
	RHCA_HAS_LEAVING,
};

/**
 * enum rhca_slot_leader - Which device of another netdev stands for this one
 * @RHCA_LEADER_NONE: none
 * @RHCA_LEADER_DEVICE: one that has the netdev as a further port
 * @RHCA_LEADER_LAG: that of the bond over it
 */
enum rhca_slot_leader {
	RHCA_LEADER_NONE,
	RHCA_LEADER_DEVICE,
	RHCA_LEADER_LAG,
};

/**
 * enum rhca_slot_offer - Does hardware offer to serve the netdev?
 * @RHCA_OFFER_NONE: no
 * @RHCA_OFFER_LISTED: it cannot for now
 * @RHCA_OFFER_BUSY: it has a device: this netdev's, or one that is ending
 * @RHCA_OFFER_FAILED: it could not, and nothing has changed since
 * @RHCA_OFFER_FREE: yes
 */
enum rhca_slot_offer {
	RHCA_OFFER_NONE,
	RHCA_OFFER_LISTED,
	RHCA_OFFER_BUSY,
	RHCA_OFFER_FAILED,
	RHCA_OFFER_FREE,
};

/**
 * enum rhca_slot_other - Does another driver have a device on the netdev?
 * @RHCA_OTHER_NONE: no
 * @RHCA_OTHER_CHANGING: one is being registered or unregistered
 * @RHCA_OTHER_SERVES: yes
 */
enum rhca_slot_other {
	RHCA_OTHER_NONE,
	RHCA_OTHER_CHANGING,
	RHCA_OTHER_SERVES,
};

/**
 * enum rhca_slot_lag - Is one device to stand for the members of a bond, or of a pair?
 * @RHCA_SLOT_LAG_NO: the netdev is in no such bond
 * @RHCA_SLOT_LAG_MEMBER: it is a member, or the second of a pair
 * @RHCA_SLOT_LAG_HERE: it is the bond
 */
enum rhca_slot_lag {
	RHCA_SLOT_LAG_NO,
	RHCA_SLOT_LAG_MEMBER,
	RHCA_SLOT_LAG_HERE,
};

/**
 * enum rhca_slot_pair - Has the user joined the netdev to another one?
 * @RHCA_PAIR_NO: no
 * @RHCA_PAIR_WAITS: yes, but the two cannot have one device for now
 * @RHCA_PAIR_USABLE: yes
 */
enum rhca_slot_pair {
	RHCA_PAIR_NO,
	RHCA_PAIR_WAITS,
	RHCA_PAIR_USABLE,
};

/**
 * struct rhca_slot_facts - What decides on the device of a netdev
 * @netdev: its state
 * @wish: what the user has asked for
 * @has: its own device
 * @leader: the device of another netdev that stands for it
 * @offer: of hardware
 * @other: devices of other drivers
 * @lag: its part in a bond that is one device
 * @pair: likewise in a pair without a bond, if it is the first of that
 * @stopping: the module is being unloaded
 * @can_roce: its link type carries a RoCE version that is enabled, and it is no VLAN
 * @request: "rdma link add" waits for the outcome
 * @standin_rule: netdevs= says that a device is there while no other driver has one
 * @was_hardware: hardware of ours served it until that was withdrawn
 * @under_bond: it is a port of a bond
 * @tenants: its partitions are others than the default one
 * @one_port: the device to be made has one port, and stands for no others
 * @ports_there: all ports of the rule that is the wish can be had
 * @rxe_leaving: rdma_rxe is being unloaded, which unregisters software's devices
 * @returns: its device was removed, which its user did not ask for
 */
struct rhca_slot_facts {
	enum rhca_slot_netdev netdev;
	enum rhca_wish wish;
	enum rhca_slot_has has;
	enum rhca_slot_leader leader;
	enum rhca_slot_offer offer;
	enum rhca_slot_other other;
	enum rhca_slot_lag lag;
	enum rhca_slot_pair pair;
	bool stopping;
	bool can_roce;
	bool request;
	bool standin_rule;
	bool was_hardware;
	bool under_bond;
	bool tenants;
	bool one_port;
	bool ports_there;
	bool rxe_leaving;
	bool returns;
};

/**
 * enum rhca_want - What a netdev should have
 * @RHCA_WANT_NOTHING: no device of its own
 * @RHCA_WANT_KEEP: what it has, if it has anything
 * @RHCA_WANT_SOFTWARE: a device by software
 * @RHCA_WANT_HARDWARE: a device by hardware
 * @RHCA_WANT_LAG: a device in place of others
 */
enum rhca_want {
	RHCA_WANT_NOTHING,
	RHCA_WANT_KEEP,
	RHCA_WANT_SOFTWARE,
	RHCA_WANT_HARDWARE,
	RHCA_WANT_LAG,
};

/**
 * enum rhca_slot_row - Rows of the table, by the numbers of lifecycle.rst
 * @RHCA_ROW_NETDEV_GONE: the netdev goes, or the module does
 * @RHCA_ROW_NO_ROCE: there can be no RoCE on it
 * @RHCA_ROW_ASKED_TWICE: a user asks for a device, and there is one
 * @RHCA_ROW_USER_REMOVED: its user has removed the device
 * @RHCA_ROW_LED: a device of another netdev stands for it
 * @RHCA_ROW_LAG_ENDED: the reason for its LAG is gone
 * @RHCA_ROW_OTHER_CHANGES: another driver's device comes or goes
 * @RHCA_ROW_OTHER_DISPLACES: another driver's device is in place of ours
 * @RHCA_ROW_BESIDE_OTHER: another driver has a device
 * @RHCA_ROW_RXE_LEAVES: rdma_rxe is being unloaded
 * @RHCA_ROW_LAG: it stands for others
 * @RHCA_ROW_HARDWARE_SERVES: hardware serves it
 * @RHCA_ROW_HARDWARE: hardware can serve it
 * @RHCA_ROW_HARDWARE_ENDS: hardware can when its last device has ended
 * @RHCA_ROW_WANTED: somebody wants a device
 * @RHCA_ROW_STANDS_IN: ours stands in
 * @RHCA_ROW_MAY_STAND_IN: ours stands in, when it can
 * @RHCA_ROW_OTHERWISE: none of these
 */
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
