/* SPDX-License-Identifier: GPL-2.0 */
/* Slots: what is known of netdevs */
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

/* What is or is not so of a netdev */
enum rhca_slot_flag {
	RHCA_SLOT_WAS_HARDWARE	= BIT(0),	/* hardware of ours served it until it went */
	/* Its user wants no LAG of it; forgotten when it is unregistered */
	RHCA_SLOT_LAG_OFF	= BIT(1),
	/*
	 * Of a bond: it is no LAG until a device is made on it or on a member, or it gets or
	 * loses one. Its members' P_Key tables differed when it was last looked at, or its
	 * user has removed a device of its own: neither end has a LAG appear
	 */
	RHCA_SLOT_LAG_WAITS	= BIT(2),
	/* Of a bond: its LAG could not be made, and it is none until it gets or loses a member */
	RHCA_SLOT_LAG_FAILED	= BIT(3),
	RHCA_SLOT_RULE_DUE	= BIT(4),	/* of netdevs=: it is new, or has a new name */
	/*
	 * A rule matched while another device was there still. If that leaves since it has
	 * lost its netdev, or is a pair that ends, the rule is due
	 */
	RHCA_SLOT_RULE_MISSED	= BIT(5),
	RHCA_SLOT_KICKED	= BIT(6),	/* something has happened: look at it */
	RHCA_SLOT_LATER		= BIT(7),	/* look at it again, then */
	RHCA_SLOT_TOLD		= BIT(8),	/* the log says why hardware does not serve it */
	/*
	 * Its device was removed, which its user did not ask for: it has one again when it
	 * can, which is when the LAG has ended that stands for it
	 */
	RHCA_SLOT_RETURNS	= BIT(9),
	/* So it is of the LAG on it, a bond or the first of a pair */
	RHCA_SLOT_LAG_RETURNS	= BIT(10),
};

/* Netdevs of one device */
struct rhca_slot_ports {
	u32 serial;					/* its number */
	u32 num;					/* how many */
	struct rhca_netdev_id netdev[RHCA_MAX_PORTS];	/* which, in the order of its ports */
};

/* By which a netdev is known that takes another one's place, after a reload of hardware */
struct rhca_slot_hardware {
	char parent[64];			/* name of the netdev's parent device */
	u8 perm_addr[MAX_ADDR_LEN];		/* all zero: none, as of a virtual function */
	u16 dev_port;				/* of adapters with several ports */
	unsigned int devlink_port;		/* of switches: ports may have one address */
};

/* What is known of a netdev */
struct rhca_slot {
	struct list_head entry;			/* of those without @ndev the last to go is last */
	const struct net_device *ndev;		/* until the notifier takes it away; then NULL */
	struct rhca_slot_hardware hardware;	/* that it was on, once @ndev is NULL */
	enum rhca_wish wish;			/* what the user has asked for */
	/*
	 * That it was removed: the wish until then, and the device's number, by which it is
	 * known when it is back (0: none). One that moves to another RDMA namespace looks
	 * removed on its way
	 */
	enum rhca_wish wish_before;
	u32 removed;
	const struct rhca_netdevs_rule *rule;	/* of netdevs=, if that is the wish */
	struct rhca_netdev_id pair;		/* that the user has joined this one to */
	unsigned int flags;			/* of enum rhca_slot_flag */
	struct rhca_slot_ports ports;		/* with RHCA_SLOT_RETURNS, of that device */
	bool has_settings;
	struct rhca_settings settings;		/* of the last port on it that was saved */
	struct rhca_settings lag;		/* of a LAG, with RHCA_SLOT_LAG_RETURNS */
	/* What was decided last, and on what; row 0: nothing, on this netdev, where it is */
	enum rhca_slot_row row;
	enum rhca_slot_has has;
	bool changing;				/* another driver's device was */
	unsigned long since;			/* when this became so, in jiffies */
};

/* What decides on a netdev's device, and is kept of it */
struct rhca_slot_known {
	enum rhca_wish wish;			/* what the user has asked for */
	const struct rhca_netdevs_rule *rule;	/* of netdevs=, if that is the wish */
	struct rhca_netdev_id pair;		/* that the user has joined this one to */
	unsigned int flags;			/* of enum rhca_slot_flag */
	struct rhca_slot_ports ports;		/* with RHCA_SLOT_RETURNS, what the device was on */
	bool tenants;				/* its next device has other partitions */
};

/* For slot_events.c */
extern struct list_head rhca_slots;
extern struct mutex rhca_slots_mutex;

struct rhca_slot *rhca_slot_find(const struct net_device *ndev);
struct rhca_slot *rhca_slot_get(const struct net_device *ndev, bool goes);
void rhca_slot_forget(struct rhca_slot *slot);
void rhca_slot_follow_rule(const struct net_device *ndev);
void rhca_slot_end_pair(struct rhca_slot *first);

int rhca_slot_set(const struct net_device *ndev, unsigned int flags, bool on);
bool rhca_slot_is_set(const struct net_device *ndev, unsigned int flags);
bool rhca_slot_take(const struct net_device *ndev, enum rhca_slot_flag flag);
void rhca_slot_look_anew(bool lost);
struct net_device *rhca_slot_take_kicked(void);
bool rhca_slot_is_unwanted(const struct net_device *ndev);
void rhca_slot_set_wish(struct net_device *ndev, enum rhca_wish wish,
			const struct rhca_netdevs_rule *rule);
void rhca_slot_note_ports(const struct rhca_dev *dev, struct rhca_slot_ports *ports);
int rhca_slot_set_returns(const struct net_device *ndev,
			  const struct rhca_slot_ports *ports);
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
