// SPDX-License-Identifier: GPL-2.0
/*
 * The list of offers. A backend adds its own where a bus holds locks, so nothing
 * but the list is touched there.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <rhca/compat.h>

#include "core/offer.h"

static LIST_HEAD(offers);
static DEFINE_MUTEX(offers_mutex);	/* protects it, and what is in it */
static DECLARE_WAIT_QUEUE_HEAD(users_gone);

/*
 * A withdrawal waits for whoever has found the offer: rhca_offer.users_map shows lockdep a lock
 * that both hold, as that of a work item does for flush_work().
 */
static struct lock_class_key users_key;

/* Between two looks for devices that were made of an offer as it was withdrawn */
#define WITHDRAW_INTERVAL	msecs_to_jiffies(100)

/**
 * rhca_offer_add - A backend can serve netdevs
 * @offer: what it can; stays the backend's, which withdraws it before it goes
 *
 * Devices are registered later, by a work item that holds none of the caller's locks.
 *
 * Context: may sleep; locks of the bus may be held.
 */
void rhca_offer_add(struct rhca_offer *offer)
{
	atomic_set(&offer->users, 0);
	lockdep_init_map(&offer->users_map, "rhca_offer.users", &users_key, 0);
	mutex_lock(&offers_mutex);
	offer->has_device = false;
	offer->failed = false;
	list_add_tail(&offer->entry, &offers);
	mutex_unlock(&offers_mutex);
	rhca_lifecycle.offers_changed();
}
RHCA_EXPORT(rhca_offer_add);

/**
 * rhca_offer_withdraw - The hardware goes, or its driver
 * @offer: a backend's own
 *
 * Context: may sleep, until the devices that the offer serves are quiesced,
 * unregistered and freed; RTNL not held. Locks of the bus may be held, so nothing
 * that makes or removes a device may ask for them: no operation of the backend.
 */
void rhca_offer_withdraw(struct rhca_offer *offer)
{
	mutex_lock(&offers_mutex);
	list_del(&offer->entry);
	mutex_unlock(&offers_mutex);
	lock_map_acquire(&offer->users_map);
	lock_map_release(&offer->users_map);
	do {
		rhca_lifecycle.offer_withdrawn(offer);
	} while (!wait_event_timeout(users_gone, !atomic_read(&offer->users),
				     WITHDRAW_INTERVAL));
}
RHCA_EXPORT(rhca_offer_withdraw);

/**
 * rhca_offers_exist - Is there an offer at all?
 *
 * Context: any. One that comes meanwhile is told by @rhca_lifecycle.
 */
bool rhca_offers_exist(void)
{
	return !list_empty(&offers);
}

/*
 * A device was made that did not ask for offers, one that was made of an offer has gone, or
 * what kept hardware from a port has. May sleep.
 */
void rhca_offers_recheck(void)
{
	if (rhca_offers_exist())
		rhca_lifecycle.offers_changed();
}

/**
 * rhca_offer_find - Who offers to serve a netdev?
 * @ndev: the netdev
 *
 * Until it is released the offer is not withdrawn: nothing in between may ask for a
 * lock under which a backend withdraws its offers.
 *
 * Context: may sleep.
 * Return: an offer that is able, for rhca_offer_release() by the same thread, or
 * NULL. There may be a device of it, see rhca_offer_claim().
 */
struct rhca_offer *rhca_offer_find(const struct net_device *ndev)
{
	struct rhca_offer *offer, *found = NULL;

	mutex_lock(&offers_mutex);
	rcu_read_lock();
	list_for_each_entry(offer, &offers, entry) {
		if (offer->able && offer->covers(offer, ndev)) {
			atomic_inc(&offer->users);
			found = offer;
			break;
		}
	}
	rcu_read_unlock();
	mutex_unlock(&offers_mutex);
	if (found)
		lock_map_acquire_read(&found->users_map);
	return found;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_offer_find);

static enum rhca_offer_state state_of(const struct rhca_offer *offer)
{
	if (!offer->able)
		return RHCA_OFFER_LISTED;
	if (offer->has_device)
		return RHCA_OFFER_BUSY;
	return offer->failed ? RHCA_OFFER_FAILED : RHCA_OFFER_FREE;
}

/**
 * rhca_offer_look - What is offered for a netdev?
 * @ndev: the netdev
 * @own: the offer that its device was made of, to compare, or NULL for any
 *
 * Context: may sleep.
 * Return: of an offer that is able, if there is one; RHCA_OFFER_NONE: there is none, or @own
 * has been withdrawn.
 */
enum rhca_offer_state rhca_offer_look(const struct net_device *ndev,
				      const struct rhca_offer *own)
{
	enum rhca_offer_state state = RHCA_OFFER_NONE;
	const struct rhca_offer *offer;

	mutex_lock(&offers_mutex);
	rcu_read_lock();
	list_for_each_entry(offer, &offers, entry) {
		if (own ? offer != own : !offer->covers(offer, ndev))
			continue;
		state = own ? RHCA_OFFER_BUSY : state_of(offer);
		if (state != RHCA_OFFER_LISTED)
			break;
	}
	rcu_read_unlock();
	mutex_unlock(&offers_mutex);
	return state;
}

static void drop_user(struct rhca_offer *offer)
{
	if (atomic_dec_and_test(&offer->users))
		wake_up_all(&users_gone);
}

/**
 * rhca_offer_release - Who has found an offer needs it no more
 * @offer: from rhca_offer_find(), may be gone when this returns
 *
 * Context: any.
 */
void rhca_offer_release(struct rhca_offer *offer)
{
	lock_map_release(&offer->users_map);
	drop_user(offer);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_offer_release);

/*
 * A device is to be made of an offer that the caller holds. It has one at a time: one that is
 * being unregistered still has objects, and memory of the hardware. May sleep. Returns 0, for
 * rhca_offer_unclaim(); -EALREADY while there is a device, whose end is told.
 */
int rhca_offer_claim(struct rhca_offer *offer)
{
	int ret = -EALREADY;

	mutex_lock(&offers_mutex);
	if (!offer->has_device) {
		offer->has_device = true;
		offer->failed = false;
		atomic_inc(&offer->users);
		ret = 0;
	}
	mutex_unlock(&offers_mutex);
	return ret;
}

/*
 * Undo rhca_offer_claim(): the device has ended, or none was made. The offer may be gone when
 * this returns. May sleep. What the end of a device takes needs no map: a withdrawal ends
 * devices itself, so lockdep sees the same locks there.
 */
void rhca_offer_unclaim(struct rhca_offer *offer)
{
	mutex_lock(&offers_mutex);
	offer->has_device = false;
	mutex_unlock(&offers_mutex);
	drop_user(offer);
}

/**
 * rhca_offer_fail - No device could be made of an offer
 * @offer: an offer that the caller holds
 *
 * Nobody tries again but a user who asks for a device, until it is offered anew.
 *
 * Context: may sleep.
 */
void rhca_offer_fail(struct rhca_offer *offer)
{
	mutex_lock(&offers_mutex);
	offer->failed = true;
	mutex_unlock(&offers_mutex);
}
