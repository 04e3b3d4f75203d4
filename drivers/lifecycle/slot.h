/* SPDX-License-Identifier: GPL-2.0 */
/* Slots: the state kept for netdevs */
#ifndef RHCA_LIFECYCLE_SLOT_H
#define RHCA_LIFECYCLE_SLOT_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/types.h>

#include "core/port/device_types.h"
#include "core/port/settings.h"
#include "core/rules/lag.h"
#include "core/rules/netdev.h"
#include "lifecycle/slot_wants.h"

struct rhca_netdevs_rule;

/* State of a netdev */
enum rhca_slot_flag {
	RHCA_SLOT_WAS_HARDWARE	= BIT(0),	/* our hardware device there was withdrawn */
	/* The user wants no LAG with it; forgotten when it is unregistered */
	RHCA_SLOT_LAG_OFF	= BIT(1),
	/*
	 * On a bond: no LAG until a device is created on it or on a member, or a member is added or
	 * removed. Set if its members' P_Key tables differed, or the user removed a device on the
	 * bond itself: neither equal tables nor that removal may create a LAG
	 */
	RHCA_SLOT_LAG_WAITS	= BIT(2),
	/* On a bond: creating its LAG failed; no retry until a member is added or removed */
	RHCA_SLOT_LAG_FAILED	= BIT(3),
	RHCA_SLOT_RULE_DUE	= BIT(4),	/* of netdevs=: the netdev is new or renamed */
	/*
	 * A rule matched while there was still another device. If that was a pair that ends, or is
	 * dropped as an orphan, the rule is due
	 */
	RHCA_SLOT_RULE_MISSED	= BIT(5),
	RHCA_SLOT_KICKED	= BIT(6),	/* an event occurred: look at it */
	RHCA_SLOT_LATER		= BIT(7),	/* look at it again in the next pass */
	RHCA_SLOT_LOGGED	= BIT(8),	/* logged why hardware does not serve it */
	/*
	 * Its device was removed, but not by its user: create it again as soon as possible, which
	 * may be when the LAG that replaces it ends
	 */
	RHCA_SLOT_RETURNS	= BIT(9),
	/* The same for the LAG on it, a bond or the first of a pair */
	RHCA_SLOT_LAG_RETURNS	= BIT(10),
	RHCA_SLOT_IN_PASS	= BIT(11),	/* the present pass has yet to look at it */
};

/* Netdevs of one device */
struct rhca_slot_ports {
	u32 serial;					/* its number */
	u32 num;					/* how many */
	struct rhca_netdev_id netdev[RHCA_MAX_PORTS];	/* in the order of its ports */
};

/* Identifies a netdev that replaces another after a reload of its hardware */
struct rhca_slot_hardware {
	char parent[64];			/* name of the netdev's parent device */
	u8 perm_addr[MAX_ADDR_LEN];		/* all zero: none, as of a virtual function */
	u16 dev_port;				/* of adapters with several ports */
	unsigned int devlink_port;		/* of switches: ports may have one address */
};

/* A slot: the state kept for a netdev */
struct rhca_slot {
	struct list_head entry;			/* of those without @ndev the latest is last */
	const struct net_device *ndev;		/* NULL once it is unregistered */
	struct rhca_slot_hardware hardware;	/* valid once @ndev is NULL */
	enum rhca_wish wish;			/* what the user has asked for */
	/*
	 * The device was removed: its number (0: none), to recognise it if it is registered again,
	 * and the wish before that. A device that moves to another RDMA namespace looks removed on
	 * its way
	 */
	enum rhca_wish wish_before;
	u32 removed;
	const struct rhca_netdevs_rule *rule;	/* of netdevs=, if that is the wish */
	struct rhca_netdev_id pair;		/* second of a pair, if this is the first */
	unsigned int flags;			/* of enum rhca_slot_flag */
	struct rhca_slot_ports ports;		/* with RHCA_SLOT_RETURNS, of that device */
	bool has_settings;
	struct rhca_settings settings;		/* of the last port on it that was saved */
	struct rhca_settings lag;		/* of a LAG, with RHCA_SLOT_LAG_RETURNS */
	/* The last decision, and the facts it was based on; row 0: none yet for this netdev */
	enum rhca_slot_row row;
	enum rhca_slot_has has;
	bool changing;				/* another driver's device was changing */
	unsigned long since;			/* when it was first decided so, in jiffies */
};

/* Kept state that decides on a netdev's device */
struct rhca_slot_known {
	enum rhca_wish wish;			/* what the user has asked for */
	const struct rhca_netdevs_rule *rule;	/* of netdevs=, if that is the wish */
	struct rhca_netdev_id pair;		/* second of a pair, if this is the first */
	unsigned int flags;			/* of enum rhca_slot_flag */
	struct rhca_slot_ports ports;		/* with RHCA_SLOT_RETURNS, of that device */
	bool tenants;				/* partitions other than the default one */
};

/* For slot_events.c */
extern struct list_head rhca_slots;
extern struct mutex rhca_slots_mutex;

struct rhca_slot *rhca_slot_find(const struct net_device *ndev);
struct rhca_slot *rhca_slot_get(const struct net_device *ndev, bool removed);
void rhca_slot_forget(struct rhca_slot *slot);
void rhca_slot_follow_rule(const struct net_device *ndev);
void rhca_slot_end_pair(struct rhca_slot *first);

int rhca_slot_set(const struct net_device *ndev, unsigned int flags, bool on);
bool rhca_slot_is_set(const struct net_device *ndev, unsigned int flags);
bool rhca_slot_take(const struct net_device *ndev, enum rhca_slot_flag flag);
void rhca_slot_begin_pass(bool missed);
struct net_device *rhca_slot_take_next(void);
bool rhca_slot_is_unwanted(const struct net_device *ndev);
void rhca_slot_set_wish(struct net_device *ndev, enum rhca_wish wish,
			const struct rhca_netdevs_rule *rule);
void rhca_slot_note_ports(const struct rhca_dev *dev, struct rhca_slot_ports *ports);
int rhca_slot_set_returns(const struct net_device *ndev,
			  const struct rhca_slot_ports *ports);
bool rhca_slot_returns(const struct net_device *ndev);
bool rhca_slot_returning(const struct net_device *ndev,
			 struct rhca_lag_replaced *device,
			 struct rhca_pkey_table *pkeys);
int rhca_slot_set_pair(const struct net_device *first,
		       const struct net_device *second);
void rhca_slot_give_up_pair(const struct net_device *first);
struct net_device *rhca_slot_joined_to(const struct net_device *second);
void rhca_slot_read(const struct net_device *ndev,
		    struct rhca_slot_known *known);
unsigned long rhca_slot_decided(const struct net_device *ndev,
				const struct rhca_slot_facts *f,
				enum rhca_slot_row row);
void rhca_slot_exit(void);

#endif
