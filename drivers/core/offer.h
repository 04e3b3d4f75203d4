/* SPDX-License-Identifier: GPL-2.0 */
/* Who offers to serve which netdev; which offer is taken is control's to decide. */
#ifndef RHCA_CORE_OFFER_H
#define RHCA_CORE_OFFER_H

#include <rhca/backend.h>

struct net_device;

/**
 * struct rhca_offer_listener - Who makes devices of offers
 * @changed: There is an offer more, or its device has gone. Any context that may
 *	sleep; locks of a bus may be held: only leaves word.
 * @withdrawn: No new device is made of this offer: remove those that it serves,
 *	and return when they have been unregistered. Called again while there
 *	are some. May sleep.
 */
struct rhca_offer_listener {
	void (*changed)(void);
	void (*withdrawn)(struct rhca_offer *offer);
};

/* Does hardware offer to serve a netdev? */
enum rhca_offer_state {
	RHCA_OFFER_NONE,
	RHCA_OFFER_LISTED,	/* it cannot for now */
	RHCA_OFFER_BUSY,	/* it has a device: this netdev's, or one that is ending */
	RHCA_OFFER_FAILED,	/* it could not, and nothing has changed since */
	RHCA_OFFER_FREE,
};

void rhca_offers_listen(const struct rhca_offer_listener *listener);
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
