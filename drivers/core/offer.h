/* SPDX-License-Identifier: GPL-2.0 */
/* Who offers to serve which netdev; which offer is taken is control's to decide. */
#ifndef RHCA_CORE_OFFER_H
#define RHCA_CORE_OFFER_H

#include <rhca/backend.h>

struct net_device;

/**
 * struct rhca_lifecycle - What the core tells who makes and removes devices
 * @offers_changed: There is an offer more, or its device has gone.
 * @offer_withdrawn: No new device is made of this offer: remove those that it serves,
 *	and return when they have been unregistered. Called again while there
 *	are some. May sleep.
 * @device_lost: A device is removed because a netdev of it was unregistered, or has moved, while
 *	the device was not registered: it was in the way of what should have been made on
 *	its netdevs meanwhile.
 * @device_taken: Another driver has unregistered a device, which is there for the moment, and
 *	on no list. May sleep.
 * @device_ended: A device is no more.
 *
 * Locks of a bus or of ib_core may be held: all but @offer_withdrawn only leave word.
 */
struct rhca_lifecycle {
	void (*offers_changed)(void);
	void (*offer_withdrawn)(struct rhca_offer *offer);
	void (*device_lost)(struct rhca_dev *dev);
	void (*device_taken)(struct rhca_dev *dev);
	void (*device_ended)(void);
};

extern const struct rhca_lifecycle rhca_lifecycle;	/* lifecycle/link.c */

/* Does hardware offer to serve a netdev? */
enum rhca_offer_state {
	RHCA_OFFER_NONE,
	RHCA_OFFER_LISTED,	/* it cannot for now */
	RHCA_OFFER_BUSY,	/* it has a device: this netdev's, or one that is ending */
	RHCA_OFFER_FAILED,	/* it could not, and nothing has changed since */
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
