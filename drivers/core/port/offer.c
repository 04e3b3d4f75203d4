// SPDX-License-Identifier: GPL-2.0
/*
 * The list of offers. A backend adds its own with locks of a bus held, so only the list is touched
 * there.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <rhca/compat.h>

#include "core/port/offer.h"

static LIST_HEAD(offers);
static DEFINE_MUTEX(offers_mutex);	/* protects the list and the offers */
static DECLARE_WAIT_QUEUE_HEAD(users_gone);

/*
 * A withdrawal waits for users of the offer. rhca_offer.users_map shows this to lockdep as a lock
 * that both sides take, as flush_work() does with a work item's.
 */
static struct lock_class_key users_key;

/* Interval of the search for devices created from an offer as it was withdrawn */
#define WITHDRAW_INTERVAL	msecs_to_jiffies(100)

/**
 * rhca_offer_add - Add an offer of a backend to serve netdevs
 * @offer: owned by the backend, which must withdraw it before its exit
 *
 * Devices are created later, by a work item that holds none of the caller's locks.
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
 * rhca_offer_withdraw - Withdraw an offer when its hardware or driver is removed
 * @offer: a backend's own
 *
 * Context: may sleep, until the devices that the offer serves are quiesced,
 * unregistered and freed; RTNL not held. Locks of the bus may be held, so code
 * that creates or removes a device must not take them: no operation of the backend may.
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
 * Context: any. A new offer is announced through @rhca_lifecycle.
 */
bool rhca_offers_exist(void)
{
	return !list_empty(&offers);
}

/*
 * A device was created without a look at offers, one that was created from an offer has ended, or a
 * port no longer excludes hardware. May sleep.
 */
void rhca_offers_recheck(void)
{
	if (rhca_offers_exist())
		rhca_lifecycle.offers_changed();
}

/**
 * rhca_offer_find - Find an offer to serve a netdev
 * @ndev: the netdev
 *
 * Until its release the offer cannot be withdrawn: the caller must not take a lock under
 * which a backend withdraws its offers.
 *
 * Context: may sleep.
 * Return: an offer that is able, for rhca_offer_release() by the same thread, or
 * NULL. It may have a device already, see rhca_offer_claim().
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
 * rhca_offer_look - Get the state of the offer for a netdev
 * @ndev: the netdev
 * @own: the offer behind its present device, only compared, or NULL for any
 *
 * Context: may sleep.
 * Return: the state of the first offer that is able, if there is one; RHCA_OFFER_NONE if there
 * is no offer or @own was withdrawn.
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
 * rhca_offer_release - Undo rhca_offer_find()
 * @offer: the offer, which may be freed when this returns
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
 * Reserve an offer, which the caller holds, for a new device. It has one at a time: one that is
 * being unregistered still has objects and memory of the hardware. May sleep. Returns 0, for
 * rhca_offer_unclaim(); -EALREADY while there is a device, whose end raises an event.
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
 * Undo rhca_offer_claim() after the device has ended or could not be created. The offer may be
 * freed when this returns. May sleep. Locks taken at the end of a device need no map: a withdrawal
 * ends devices itself, so lockdep sees them there.
 */
void rhca_offer_unclaim(struct rhca_offer *offer)
{
	mutex_lock(&offers_mutex);
	offer->has_device = false;
	mutex_unlock(&offers_mutex);
	drop_user(offer);
}

/**
 * rhca_offer_fail - Note that no device could be created from an offer
 * @offer: an offer that the caller holds
 *
 * It is not tried again until it is added again; "rdma link add" still tries.
 *
 * Context: may sleep.
 */
void rhca_offer_fail(struct rhca_offer *offer)
{
	mutex_lock(&offers_mutex);
	offer->failed = true;
	mutex_unlock(&offers_mutex);
}
