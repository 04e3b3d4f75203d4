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
#include "core/rules/netdev_id.h"
#include "lifecycle/slot_wants.h"

struct rhca_netdevs_rule;

/**
 * enum rhca_slot_flag - What is or is not so of a netdev
 * @RHCA_SLOT_WAS_HARDWARE: hardware of ours served it until it went
 * @RHCA_SLOT_LAG_OFF: its user wants no LAG of it; forgotten when it is unregistered
 * @RHCA_SLOT_LAG_WAITS: of a bond: it is no LAG until a device is made on it or on a member,
 *	or it gets or loses one. Its members' P_Key tables differed when it was last looked
 *	at, or its user has removed a device of its own: neither end has a LAG appear
 * @RHCA_SLOT_LAG_FAILED: of a bond: its LAG could not be made, and it is none until it gets
 *	or loses a member
 * @RHCA_SLOT_RULE_DUE: a rule of netdevs= matches: it is new, or has a new name
 * @RHCA_SLOT_RULE_MISSED: a rule matched while another device was there still. If that
 *	leaves since it has lost its netdev, or is a pair that ends, the rule is due
 * @RHCA_SLOT_KICKED: something has happened: it is to be looked at
 * @RHCA_SLOT_LATER: it is to be looked at again, then
 * @RHCA_SLOT_TOLD: the log says why hardware that offers to serve it does not
 * @RHCA_SLOT_RETURNS: its device was removed, which its user did not ask for: it has one
 *	again when it can, which is when the LAG has ended that stands for it
 * @RHCA_SLOT_LAG_RETURNS: so it is of the LAG on it, a bond or the first of a pair
 */
enum rhca_slot_flag {
	RHCA_SLOT_WAS_HARDWARE		= BIT(0),
	RHCA_SLOT_LAG_OFF		= BIT(1),
	RHCA_SLOT_LAG_WAITS		= BIT(2),
	RHCA_SLOT_LAG_FAILED		= BIT(3),
	RHCA_SLOT_RULE_DUE		= BIT(4),
	RHCA_SLOT_RULE_MISSED		= BIT(5),
	RHCA_SLOT_KICKED		= BIT(6),
	RHCA_SLOT_LATER			= BIT(7),
	RHCA_SLOT_TOLD			= BIT(8),
	RHCA_SLOT_RETURNS		= BIT(9),
	RHCA_SLOT_LAG_RETURNS		= BIT(10),
};

/* Netdevs of one device */
struct rhca_slot_ports {
	u32 serial;					/* its number */
	u32 num;					/* how many */
	struct rhca_netdev_id netdev[RHCA_MAX_PORTS];	/* which, in the order of its ports */
};

/**
 * struct rhca_slot - What is known of a netdev
 * @entry: in the list of them; of those that are waited for, the last one to go is last
 * @ndev: its netdev, there until the notifier takes it away; NULL when it has gone
 * @parent: name of the netdev's parent device: after a reload or reset there is a
 *	new netdev on it
 * @perm_addr: the netdev's permanent address, which tells those on one parent
 *	apart; all zero: none, as of a virtual function at first
 * @dev_port: and so does this, on adapters with several ports
 * @devlink_port: and this, on switches: their ports may have one address; all ones: none
 * @wish: what the user has asked for
 * @wish_before: that it was removed: the wish until then. A device that moves to another
 *	RDMA namespace looks removed on its way
 * @removed: and its number, by which it is known when it is back; 0: none
 * @rule: of netdevs=, if that is the wish
 * @pair: the netdev that the user has joined this one to
 * @flags: of enum rhca_slot_flag
 * @ports: of the device that is to be there again, with RHCA_SLOT_RETURNS
 * @has_settings: @settings are those of the last port on it that was saved
 * @settings: what is kept
 * @lag: likewise of a LAG, with RHCA_SLOT_LAG_RETURNS
 * @row: of the table of decisions that matched last; 0: none, on this netdev, where it is
 * @has: and what the netdev had then
 * @changing: and that another driver's device was being registered or unregistered
 * @since: when the former two became so, in jiffies
 */
struct rhca_slot {
	struct list_head entry;
	const struct net_device *ndev;
	char parent[64];
	u8 perm_addr[MAX_ADDR_LEN];
	u16 dev_port;
	unsigned int devlink_port;
	enum rhca_wish wish;
	enum rhca_wish wish_before;
	u32 removed;
	const struct rhca_netdevs_rule *rule;
	struct rhca_netdev_id pair;
	unsigned int flags;
	struct rhca_slot_ports ports;
	bool has_settings;
	struct rhca_settings settings;
	struct rhca_settings lag;
	enum rhca_slot_row row;
	enum rhca_slot_has has;
	bool changing;
	unsigned long since;
};

/**
 * struct rhca_slot_known - What decides on a netdev's device, and is kept of it
 * @wish: what the user has asked for
 * @rule: of netdevs=, if that is the wish
 * @pair: the netdev that the user has joined this one to
 * @flags: of enum rhca_slot_flag
 * @ports: with RHCA_SLOT_RETURNS, what the device was on
 * @tenants: its next device has other partitions than the default one
 */
struct rhca_slot_known {
	enum rhca_wish wish;
	const struct rhca_netdevs_rule *rule;
	struct rhca_netdev_id pair;
	unsigned int flags;
	struct rhca_slot_ports ports;
	bool tenants;
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
