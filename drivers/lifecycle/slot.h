/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slots: what is known of netdevs
 */
#ifndef RHCA_LIFECYCLE_SLOT_H
#define RHCA_LIFECYCLE_SLOT_H

#include <linux/types.h>

#include "core/rules/netdev_id.h"
#include "lifecycle/slot_wants.h"

struct net_device;
struct rhca_dev;
struct rhca_netdevs_rule;
struct rhca_pkey_table;
struct rhca_settings;

/**
 * struct rhca_slot_known - What decides on a netdev's device, and is kept of it
 * @wish: what the user has asked for
 * @rule: of netdevs=, if that is the wish
 * @pair: the netdev that the user has joined this one to
 * @was_hardware: hardware of ours served it until it went
 * @failed: what it should have could not be made
 * @rule_due: a rule of netdevs= matches, which has not been acted on
 * @tables_differed: of a bond: its members' P_Key tables did when it was last looked at
 * @tenants: its next device has other partitions than the default one
 */
struct rhca_slot_known {
	enum rhca_wish wish;
	const struct rhca_netdevs_rule *rule;
	struct rhca_netdev_id pair;
	bool was_hardware;
	bool failed;
	bool rule_due;
	bool tables_differed;
	bool tenants;
};

/**
 * struct rhca_slot_seen - A look at a netdev
 * @facts: what there was
 * @events: how much had happened to all netdevs until then
 * @times: looks in a row that saw the same
 */
struct rhca_slot_seen {
	struct rhca_slot_facts facts;
	unsigned int events;
	unsigned int times;
};

int rhca_slot_save(struct rhca_dev *dev);
void rhca_slot_member(const struct net_device *ndev, bool goes, const char *name,
		      const struct rhca_pkey_table *pkeys);
int rhca_slot_want_standin(const struct net_device *ndev);
struct rhca_settings *rhca_slot_copy(const struct net_device *ndev);
void rhca_slot_netdev_came(const struct net_device *ndev);
void rhca_slot_netdev_goes(const struct net_device *ndev);
void rhca_slot_device_removed(struct rhca_dev *dev, bool by_user);
void rhca_slot_device_added(struct rhca_dev *dev);
bool rhca_slot_is_unwanted(const struct net_device *ndev);
bool rhca_slot_tell_once(const struct net_device *ndev);
void rhca_slot_set_wish(struct net_device *ndev, enum rhca_wish wish,
			const struct rhca_netdevs_rule *rule);
void rhca_slot_set_pair(const struct net_device *first,
			const struct net_device *second);
void rhca_slot_set_failed(const struct net_device *ndev);
void rhca_slot_set_rule_missed(const struct net_device *ndev);
void rhca_slot_set_rule_due(const struct net_device *ndev);
void rhca_slot_missed_rules_due(void);
bool rhca_slot_take_rule(const struct net_device *ndev);
void rhca_slot_set_tables_differed(const struct net_device *bond,
				   bool differed);
bool rhca_slot_lag_is_off(const struct net_device *ndev);
int rhca_slot_set_lag_off(const struct net_device *ndev, bool off);
void rhca_slot_read(const struct net_device *ndev,
		    struct rhca_slot_known *known);
unsigned int rhca_slot_note_look(const struct net_device *ndev,
				 const struct rhca_slot_seen *seen);
unsigned long rhca_slot_decided(const struct net_device *ndev, unsigned int row,
				enum rhca_slot_has has);
void rhca_slot_exit(void);

#endif
