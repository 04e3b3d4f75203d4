/* SPDX-License-Identifier: GPL-2.0 */
/* Offers of hardware to serve netdevs; lifecycle/ decides which are used. */
#ifndef RHCA_CORE_OFFER_H
#define RHCA_CORE_OFFER_H

#include <rhca/backend.h>

struct net_device;

/**
 * struct rhca_lifecycle - Calls of the core to lifecycle/, which creates and removes devices
 * @offers_changed: An offer was added, or its device has ended.
 * @offer_withdrawn: No new device is created from this offer: unregister those that it
 *	serves, and return when that is done. Called again while there are any. May sleep.
 * @device_taken: Another driver has unregistered a device, which still exists but is on no
 *	list. May sleep.
 * @device_removed: The driver itself has unregistered a device, except for a LAG. It is still
 *	listed, but no file of its settings is left. Returns 0 or -ENOMEM. May sleep.
 * @device_ended: A device has ended.
 *
 * Locks of a bus or of ib_core may be held: work is deferred, except by those that may sleep.
 */
struct rhca_lifecycle {
	void (*offers_changed)(void);
	void (*offer_withdrawn)(struct rhca_offer *offer);
	void (*device_taken)(struct rhca_dev *dev);
	int (*device_removed)(struct rhca_dev *dev);
	void (*device_ended)(void);
};

extern const struct rhca_lifecycle rhca_lifecycle;	/* lifecycle/link.c */

/* Does hardware offer to serve a netdev? */
enum rhca_offer_state {
	RHCA_OFFER_NONE,
	RHCA_OFFER_LISTED,	/* it cannot at present */
	RHCA_OFFER_BUSY,	/* it has a device: this netdev's, or an ending one */
	RHCA_OFFER_FAILED,	/* it failed, and nothing has changed since */
	RHCA_OFFER_FREE,
};

bool rhca_offers_exist(void);
void rhca_offers_recheck(void);
struct rhca_offer *rhca_offer_find(const struct net_device *ndev);
void rhca_offer_release(struct rhca_offer *offer);
int rhca_offer_claim(struct rhca_offer *offer);
void rhca_offer_unclaim(struct rhca_offer *offer);
void rhca_offer_fail(struct rhca_offer *offer);
enum rhca_offer_state rhca_offer_look(const struct net_device *ndev,
				      const struct rhca_offer *own);

#endif
